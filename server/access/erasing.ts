import type { Request } from '@hapi/hapi';
import type { ErasureRequest } from '../../config/erasures.ts';
import { DomainError } from '../../config/errors.ts';
import type { AuditArgs, EraseArgs, EraseRule } from '../../config/model.ts';
import type { JsonObject } from '../../config/schema.ts';
import { accountStream, documentStream } from '../../events/facts/catalogue.ts';
import type { App, Call, RouteCall } from '../app.ts';
import { actorOf, madeKeyOf, userOf, viewOf } from '../http/requests.ts';
import { whenReadable } from '../queries/moments.ts';
import { credentialNeeded, may } from './access.ts';
import { requireScope } from './key-scopes.ts';
import { auditRightsOf, isClosedToKeys } from './rights.ts';
import { mayInAdvance } from './rules.ts';
import { saysYes } from './top-rules.ts';

/** A document that is to be erased; `lastAt` is the position of its last state if it is deleted, else null. */
type Erasable = { document: JsonObject; lastAt: number | null };

/**
 * Refuses a caller who may erase nothing at all, before it is known what is to be erased.
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
 * Refuses an API key that may not erase a document. Accounts are closed to keys, here as everywhere, also accounts of a
 * removed collection. An erasure deletes, so a key that was made at run time needs the scope to delete.
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

/** The document as it is, or as it last was; null if that is not known: see `EraseArgs`. */
export async function erasableOf(app: App, { collection: slug, id }: ErasureRequest): Promise<Erasable | null> {
  const target = app.collections.get(slug);
  if (!target) return null;
  await whenReadable(app, app.events.head().size);
  const current = target.documents.current(id);
  if (current) return { document: current.document, lastAt: null };
  const stream = documentStream(target.category, id);
  const version = app.events.versionOf(stream);
  if (version === 0) return null;
  const lastAt = app.events.positionOf(stream, version) - 1;
  const last = target.documents.asOf(id, lastAt);
  return last && { document: JSON.parse(last.text), lastAt };
}

/**
 * Whether the caller may erase a document. The operator may, and a key that was made at run time with this right. Else
 * the `erase` rule decides. Without that rule, API keys of the environment may, and users of the admin collection whom
 * the `delete` rule admits and who see all payloads of the document.
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
  // No rule can be asked about a document that is not known.
  if (!target || !erasable || userOf(request)?.collection !== app.model.adminCollection) return false;
  const { sightOf } = await auditRightsOf(app, request);
  if (!(await sightOf(documentStream(target.category, id))).isWhole) return false;
  const call = { app, request, target };
  const { document, lastAt } = erasable;
  return may(call, 'delete', { doc: () => document, data: null, ...(lastAt !== null && { position: lastAt }) });
}

/** Whether the caller may erase some document, before one is known: true also if the rule looks at the document. */
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
 * Tells why a user may not give a key the right to erase; null if the user may. No rule is asked about a key, so its
 * maker must be allowed to erase every document.
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
 * The answer of the rule before a document is known (undefined if it throws), and what it looked at beside the user.
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
    const reads = right === 'all' || (right === 'byRules' && (await mayToSome(call, 'read')));
    if (reads && (await mayToSome(call, 'delete'))) return true;
  }
  return false;
}

function mayToSome(call: Call, operation: 'read' | 'delete'): Promise<boolean> {
  return mayInAdvance(call, operation).catch(() => false);
}

function callerOf(request: Request): AuditArgs {
  const { type, id = null } = actorOf(request);
  return { user: userOf(request), apiKey: type === 'apiKey' ? id : null, req: viewOf(request) };
}
