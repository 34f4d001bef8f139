import type { Request } from '@hapi/hapi';
import type { ErasureRequest } from '../../config/erasures.ts';
import { DomainError } from '../../config/errors.ts';
import type { AuditArgs, EraseArgs, EraseRule } from '../../config/model.ts';
import type { JsonObject } from '../../config/schema.ts';
import { accountStream, documentStream } from '../../events/facts/catalogue.ts';
import type { App, Call, RouteCall } from '../app.ts';
import { actorOf, madeKeyOf, userOf, viewOf } from '../http/requests.ts';
import { whenReadable } from '../queries/moments.ts';
import { allows, credentialNeeded, mayThen } from './access.ts';
import { mayInAdvance, unlessRefused } from './asking.ts';
import { requireScope } from './key-scopes.ts';
import { auditRightsOf, isClosedToKeys } from './rights.ts';
import { saysYes } from './top-rules.ts';

/** The document that is to be erased: `goneAt` is the position of its last state, null of one that is there. */
type Erasable = { document: JsonObject; goneAt: number | null };

/**
 * Refuses a caller who may erase nothing at all, before it is known what.
 *
 * @throws DomainError `unauthorized` without a credential, `forbidden` with one.
 */
export async function requireEraser(call: RouteCall): Promise<void> {
  const { app, request } = call;
  if (actorOf(request).type === 'anonymous') throw credentialNeeded();
  const key = madeKeyOf(request);
  if (key && !key.audit.includes('erase'))
    throw new DomainError('forbidden', 'you may not erase: this API key was not given the right to');
  if (app.model.erase || actorOf(request).type !== 'user') return;
  if (userOf(request)?.collection !== app.model.adminCollection)
    throw new DomainError('forbidden', 'without an erase rule only users of the admin collection may erase');
}

/**
 * To a key accounts are closed here as they are everywhere else, also those of a collection that is gone. An erasure
 * deletes too, so one that was made at run time needs a scope for that.
 *
 * @throws DomainError `forbidden`.
 */
export function requireOpenToKey({ app, request }: RouteCall, { collection: slug, id }: ErasureRequest): void {
  if (actorOf(request).type !== 'apiKey') return;
  const category = app.names.categoryFor(slug);
  requireScope(request, { kind: 'collection', slug, category }, 'delete');
  const isAccount = app.events.versionOf(accountStream(category, id)) > 0;
  const stream = isAccount ? accountStream(category, id) : documentStream(category, id);
  if (isClosedToKeys(app, stream)) {
    throw new DomainError('forbidden', `an API key may not erase accounts of ${slug}: its useAPIKey is not set`);
  }
}

/** The document as it is, or as it last was; null where that is not known: see `EraseArgs`. */
export async function erasableOf(app: App, { collection: slug, id }: ErasureRequest): Promise<Erasable | null> {
  const target = app.collections.get(slug);
  if (!target) return null;
  await whenReadable(app, app.events.head().size);
  const current = target.documents.current(id);
  if (current) return { document: current.document, goneAt: null };
  const stream = documentStream(target.category, id);
  const version = app.events.versionOf(stream);
  if (version === 0) return null;
  const goneAt = app.events.positionOf(stream, version) - 1;
  const last = target.documents.asOf(id, goneAt);
  return last && { document: JSON.parse(last.text), goneAt };
}

/**
 * Whether the caller may erase a document: by the rule `erase` of the configuration; without one, under an API key, and
 * of users of the admin collection those whom the rule `delete` admits, and who see all of its payloads. The operator
 * may, and a key that was made at run time and given the right.
 */
export async function mayErase(call: RouteCall, asked: ErasureRequest, erasable: Erasable | null): Promise<boolean> {
  const { app, request } = call;
  const { type } = actorOf(request);
  if (type === 'system' || madeKeyOf(request)) return true;
  const { erase } = app.model;
  if (!erase) return type === 'apiKey' || mayByDefault(call, asked, erasable);
  const { collection, id } = asked;
  const args = { ...callerOf(request), collection, id, doc: erasable?.document ?? null };
  return saysYes(call, 'erase', () => erase(args));
}

async function mayByDefault(
  { app, request }: RouteCall,
  { collection, id }: ErasureRequest,
  erasable: Erasable | null,
): Promise<boolean> {
  const target = app.collections.get(collection);
  // Of what is not known no rule can be asked.
  if (!target || !erasable || userOf(request)?.collection !== app.model.adminCollection) return false;
  const { sightOf } = await auditRightsOf(app, request);
  if (!(await sightOf(documentStream(target.category, id))).isWhole) return false;
  const call = { app, request, target };
  const { document, goneAt } = erasable;
  if (goneAt !== null) return mayThen(call, 'delete', { document, position: goneAt });
  return unlessRefused(allows(call, 'delete', { doc: () => document, data: null }), false);
}

/** Whether the caller may erase something, before it is known what: true also where a rule looks at what it is. */
export async function erasesSome(call: RouteCall): Promise<boolean> {
  const { app, request } = call;
  try {
    await requireEraser(call);
  } catch {
    return false;
  }
  const { erase } = app.model;
  const { type } = actorOf(request);
  if (type === 'system' || madeKeyOf(request)) return true;
  if (erase) return admitsSome(call, erase);
  return type === 'apiKey' || erasesByDefault(call);
}

async function admitsSome(call: RouteCall, erase: EraseRule): Promise<boolean> {
  const { answer, read } = await askInAdvance(call, erase);
  return answer === true || read.has('collection') || read.has('id') || read.has('doc');
}

/**
 * The problem of a user who is about to give a key the right to erase: a key is asked about no rule, so its maker must
 * be allowed to erase every document; null without one.
 */
export async function problemOfErasing(call: RouteCall): Promise<string | null> {
  const { app, request } = call;
  const { erase } = app.model;
  if (erase) {
    const { answer, read } = await askInAdvance(call, erase);
    if (read.size > 0)
      return 'a key has no user, so the erase rule, which decides by more than the user, cannot be asked about it';
    return answer === true ? null : 'you may not erase';
  }
  if (userOf(request)?.collection !== app.model.adminCollection) return 'you may not erase';
  const { toPayloadsOf } = await auditRightsOf(app, request);
  const right = toPayloadsOf('');
  if (right !== 'byRules') return right === 'all' ? null : 'you may not erase';
  return 'you erase what the rules for reading show you, and no rule is asked about a key: an erase rule is needed';
}

/**
 * The answer of the rule before a document is known, and what it has looked at but the user. Undefined where it throws.
 */
async function askInAdvance({ request }: RouteCall, erase: EraseRule) {
  const read = new Set<string>();
  const note = <T>(name: string, value: T): T => {
    read.add(name);
    return value;
  };
  const { user, apiKey, req } = callerOf(request);
  const args: EraseArgs = {
    user,
    apiKey,
    get req() {
      return note('req', req);
    },
    get collection() {
      return note('collection', '');
    },
    get id() {
      return note('id', '');
    },
    get doc() {
      return note('doc', null);
    },
  };
  const answer = await Promise.resolve(args)
    .then(erase)
    .catch(() => undefined);
  return { answer, read };
}

async function erasesByDefault({ app, request }: RouteCall): Promise<boolean> {
  const { toPayloadsOf } = await auditRightsOf(app, request);
  for (const target of app.collections.values()) {
    const call = { app, request, target };
    const right = toPayloadsOf(documentStream(target.category, ''));
    const reads = right === 'all' || (right === 'byRules' && (await may(call, 'read')));
    if (reads && (await may(call, 'delete'))) return true;
  }
  return false;
}

function may(call: Call, operation: 'read' | 'delete'): Promise<boolean> {
  return mayInAdvance(call, operation).catch(() => false);
}

function callerOf(request: Request): AuditArgs {
  const { type, id = null } = actorOf(request);
  return { user: userOf(request), apiKey: type === 'apiKey' ? id : null, req: viewOf(request) };
}
