import type { Request } from '@hapi/hapi';
import { DomainError } from '../../config/errors.ts';
import type { AuditScope } from '../../config/model.ts';
import { showAll } from '../../config/suggest.ts';
import { schemaKey } from '../../events/upcasters.ts';
import type { App } from '../app.ts';
import { actorOf, madeKeyOf, requestId, userOf, viewOf } from '../http/requests.ts';
import { readsStream } from './key-scopes.ts';

/** The parts of the history that a caller may see. */
export type AuditRights = {
  has: (scope: AuditScope) => boolean;
  /**
   * Whether the payloads of a stream are for this caller: to a key, accounts are what they are everywhere else, and to one that was
   * made at run time, so are its scopes.
   */
  seesPayloadsOf: (stream: string) => boolean;
};

const scopes: readonly AuditScope[] = ['headers', 'payloads', 'export'];
const none: ReadonlySet<AuditScope> = new Set();
const every: ReadonlySet<AuditScope> = new Set(scopes);

/**
 * The rights of the caller to the history, by the configuration's audit rule; without one, users of the admin collection, API
 * keys and the operator may see everything. A key that was made at run time has what it was given. The rule is asked in every request; one that throws admits no caller.
 */
export async function auditRightsOf(app: App, request: Request): Promise<AuditRights> {
  const key = madeKeyOf(request);
  const granted: ReadonlySet<AuditScope | 'erase'> = key ? new Set(key.audit) : await scopesOf(app, request);
  const isKey = actorOf(request).type === 'apiKey';
  const has = (scope: AuditScope) => granted.has(scope) || (scope === 'headers' && granted.has('payloads'));
  function seesPayloadsOf(stream: string): boolean {
    if (!has('payloads') || (isKey && isClosedToKeys(app, stream))) return false;
    return key === null || readsStream(key.scopes, stream);
  }
  return { has, seesPayloadsOf };
}

/** The scopes that the caller has, in the order of the documentation. */
export async function grantedScopes(app: App, request: Request): Promise<AuditScope[]> {
  const { has } = await auditRightsOf(app, request);
  return scopes.filter(has);
}

/**
 * Lets a request pass that has a right, and gives all its rights.
 *
 * @throws DomainError `unauthorized` without a credential, `forbidden` with one.
 */
export async function requireAudit(app: App, request: Request, scope: AuditScope): Promise<AuditRights> {
  const rights = await auditRightsOf(app, request);
  if (rights.has(scope)) return rights;
  if (actorOf(request).type === 'anonymous') throw new DomainError('unauthorized', 'an API key or a token is needed');
  throw new DomainError('forbidden', `you may not look into the history: the scope ${scope} is needed`);
}

async function scopesOf(app: App, request: Request): Promise<ReadonlySet<AuditScope>> {
  const { type, id = null } = actorOf(request);
  if (type === 'system') return every;
  const { audit, adminCollection } = app.model;
  const user = userOf(request);
  if (!audit) return type === 'apiKey' || (user && user.collection === adminCollection) ? every : none;
  try {
    return readAnswer(await audit({ user, apiKey: type === 'apiKey' ? id : null, req: viewOf(request) }));
  } catch (err) {
    app.log.error({ err, requestId: requestId(request) }, 'the audit rule failed: it admits no caller');
    return none;
  }
}

function readAnswer(answer: unknown): ReadonlySet<AuditScope> {
  if (answer === true) return every;
  // A member that a rule reads from a user may have no value: that is no permission.
  if (answer === false || answer === undefined || answer === null) return none;
  const isList = Array.isArray(answer) && answer.every((one) => scopes.includes(one));
  if (!isList) throw new Error(`the audit rule must return true, false or a list of ${showAll(scopes)}`);
  return new Set(answer);
}

/** As the routes of an auth collection are to a key, unless `useAPIKey` opens them. */
export function isClosedToKeys({ model, removedAuthCollections }: App, stream: string): boolean {
  const key = schemaKey(stream);
  const slug = key === 'accounts' ? (stream.split('/')[1] ?? '') : key;
  const collection = model.collections.get(slug);
  // Accounts of a collection that is gone are accounts still.
  if (!collection) return key === 'accounts' || removedAuthCollections().has(slug);
  return collection.auth !== null && !collection.auth.useAPIKey;
}
