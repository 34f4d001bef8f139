import { DomainError } from '../../../config/errors.ts';
import type { JsonObject } from '../../../config/schema.ts';
import { splitStream } from '../../../events/facts/catalogue.ts';
import type { Actor } from '../../../events/facts/envelope.ts';
import type { Editors } from '../../../events/facts/lines.ts';
import { authorize, authorizeAny, may, mayRead, refuse, verdictOf } from '../../access/access.ts';
import { requireScope } from '../../access/key-scopes.ts';
import type { Right, RuleSubject } from '../../access/rules.ts';
import type { App, Call } from '../../app.ts';
import { actorOf, isTrusted, madeKeyOf } from '../../http/requests.ts';
import type { Line } from '../write/current.ts';

/** A document as a request would make it public, the public one now, and the callers who changed the difference. */
type Becoming = { document: JsonObject; published: JsonObject | null; editors: readonly string[] };

/** Whether the caller may see one line of a document, as it is today or as it was at a position of the log. */
export function maySee(call: Call, line: Line, document: JsonObject, position?: number): Promise<boolean> {
  if (line === 'public') return mayRead(call, document, position);
  const at = position === undefined ? {} : { position };
  return may(call, 'readDrafts', { doc: () => document, data: null, isDraft: true, ...at });
}

/**
 * Refuses a caller who may not read a draft, before anything is recorded that the answer would show.
 *
 * @throws DomainError `unauthorized` or `forbidden`.
 */
export async function authorizeDraft(call: Call, document: JsonObject): Promise<void> {
  await authorize(call, 'readDrafts', { doc: () => document, data: null, isDraft: true });
}

/**
 * As {@link authorizeDraft}, of a draft that is yet to be made. Whether it meets a condition is known only afterwards.
 */
export async function authorizeNewDraft(call: Call, document: JsonObject): Promise<void> {
  const subject = { doc: () => document, data: null, isDraft: true };
  if ((await verdictOf(call, 'readDrafts', subject)) === 'refused') refuse(call, 'readDrafts', true);
}

/** Refuses a caller who may publish nothing at all. @throws DomainError `unauthorized` or `forbidden`. */
export function authorizeAnyPublishing(call: Call): Promise<void> {
  return authorizeAny(call, 'publish');
}

/**
 * Refuses a caller who may do nothing of the kind to any document with drafts: to drafts, or to what is public.
 *
 * @throws DomainError `unauthorized` or `forbidden`.
 */
export async function authorizeAnyLine(call: Call, right: Right, isDraft: boolean): Promise<void> {
  // The scopes of a key hold either; with them no rule is asked.
  if (isDraft && madeKeyOf(call.request)) return requireScope(call.request, call.target.model, right, true);
  await authorizeAny(call, right);
  if (!isDraft && right !== 'publish' && call.target.lines) await authorizeAnyPublic(call);
}

/** Refuses a caller who may not make a draft public. @throws DomainError `unauthorized` or `forbidden`. */
export function authorizePublishing(call: Call, becoming: Becoming, data: unknown = null): Promise<void> {
  return authorize(call, 'publish', subjectOf(becoming, data));
}

/**
 * As {@link authorizeAnyPublishing}, for a write that changes what is public, whose own right the caller has: with the
 * scope of that write, an API key needs no other.
 */
export async function authorizeAnyPublic(call: Call): Promise<void> {
  if (isTrusted(call.request, call.target.model)) return;
  if ((await verdictOf(call, 'publish', null)) === 'refused') refusePublic(call);
}

/** As {@link authorizeAnyPublic}, of what the write would make public. `isDraft`: a condition is asked of the draft. */
export async function authorizePublic(call: Call, becoming: Becoming, asked: Partial<RuleSubject> = {}): Promise<void> {
  if (isTrusted(call.request, call.target.model)) return;
  const subject = { ...subjectOf(becoming, null), isDraft: false, ...asked };
  if (!(await may(call, 'publish', subject))) refusePublic(call);
}

function subjectOf({ document, published, editors }: Becoming, data: unknown): RuleSubject {
  return { doc: () => document, data, isDraft: true, publishing: () => ({ published, editors }) };
}

function refusePublic(call: Call): never {
  const { request, target } = call;
  if (actorOf(request).type === 'anonymous') refuse(call, 'publish');
  throw new DomainError('forbidden', `you may not publish ${target.slug}: send draft=true to save a draft`);
}

/**
 * The callers who changed fields that are not public, each once: users by the present slug of their collection.
 *
 * @param caller the actor of the request, if it changes them too.
 */
export function editorsOf({ names }: Pick<App, 'names'>, editors: Editors, caller: Actor | null = null): string[] {
  const ids = Object.values(editors).flat();
  if (caller) ids.push(caller.id ?? caller.type);
  return [...new Set(ids)].map((id) => {
    const [category, rest] = splitStream(id);
    return id.includes('/') ? `${names.slugFor(category)}/${rest}` : id;
  });
}
