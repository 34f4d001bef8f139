import type { Request } from '@hapi/hapi';
import { DomainError } from '../../config/errors.ts';
import type { AuditScope } from '../../config/model.ts';
import { isObject } from '../../config/schema.ts';
import { showAll } from '../../config/suggest.ts';
import { splitAccountStream, splitStream } from '../../events/facts/catalogue.ts';
import type { App } from '../app.ts';
import { actorOf, madeKeyOf, requestId, userOf, viewOf } from '../http/requests.ts';
import { readsStream } from './key-scopes.ts';
import { type Sight, seesAll, seesNothing, sightByRules } from './sight.ts';

/** The parts of the history that a caller may see. */
export type AuditRights = {
  has: (scope: AuditScope) => boolean;
  /**
   * Which payloads of a stream the caller may see, decided by the name of the stream alone. Accounts are closed to API
   * keys unless `useAPIKey` is set, and a key that was made at run time sees only the streams of its scopes. For
   * `byRules`, a route asks the rules, or calls `sightOf`.
   */
  toPayloadsOf: (stream: string) => 'all' | 'byRules' | 'none';
  /** The caller's sight of the payloads of a stream. */
  sightOf: (stream: string) => Promise<Sight>;
};

const scopes: readonly AuditScope[] = ['headers', 'payloads', 'export'];
const none: ReadonlySet<AuditScope> = new Set();
const every: ReadonlySet<AuditScope> = new Set(scopes);

/**
 * The rights of the caller to the history. The `audit` rule of the configuration is asked in every request; if it
 * throws, it admits no caller. Without the rule, API keys and the operator see everything; users of the admin
 * collection see headers, and the payloads that the `read` rules show today. A key that was made at run time has the
 * rights it was given.
 *
 * @param onRequestRead called if the rule looks at `req`.
 */
export async function auditRightsOf(app: App, request: Request, onRequestRead = () => {}): Promise<AuditRights> {
  const key = madeKeyOf(request);
  const granted: ReadonlySet<AuditScope | 'erase'> = key
    ? new Set(key.audit)
    : await scopesOf(app, request, onRequestRead);
  const { type } = actorOf(request);
  const isKey = type === 'apiKey';
  // Without an audit rule, the read rules say what a user sees.
  const right = type === 'user' && !app.model.audit ? 'byRules' : 'all';
  const has = (scope: AuditScope) => granted.has(scope) || (scope === 'headers' && granted.has('payloads'));
  function toPayloadsOf(stream: string) {
    if (!has('payloads') || (isKey && isClosedToKeys(app, stream))) return 'none';
    return key === null || readsStream(key.scopes, stream) ? right : 'none';
  }
  const sights = {
    all: () => seesAll,
    byRules: (stream: string) => sightByRules({ app, request }, stream),
    none: () => seesNothing,
  };
  return { has, toPayloadsOf, sightOf: async (stream) => sights[toPayloadsOf(stream)](stream) };
}

/** The scopes that the caller has, in the order of the documentation. */
export async function grantedScopes(app: App, request: Request): Promise<AuditScope[]> {
  const { has } = await auditRightsOf(app, request);
  return scopes.filter(has);
}

/**
 * Refuses a caller without a right to the history; gives all rights of the caller.
 *
 * @throws DomainError `unauthorized` without a credential, `forbidden` with one.
 */
export async function requireAudit(app: App, request: Request, scope: AuditScope): Promise<AuditRights> {
  const rights = await auditRightsOf(app, request);
  if (rights.has(scope)) return rights;
  if (actorOf(request).type === 'anonymous') throw new DomainError('unauthorized', 'an API key or a token is needed');
  throw new DomainError('forbidden', `you may not look into the history: the scope ${scope} is needed`);
}

async function scopesOf(app: App, request: Request, onRequestRead: () => void): Promise<ReadonlySet<AuditScope>> {
  const { type, id = null } = actorOf(request);
  if (type === 'system') return every;
  const { audit, adminCollection } = app.model;
  const user = userOf(request);
  if (!audit) return type === 'apiKey' || (user && user.collection === adminCollection) ? every : none;
  try {
    const args = {
      user,
      apiKey: type === 'apiKey' ? id : null,
      get req() {
        onRequestRead();
        return viewOf(request);
      },
    };
    return readAnswer(await audit(args));
  } catch (err) {
    app.log.error({ err, requestId: requestId(request) }, 'the audit rule failed: it admits no caller');
    return none;
  }
}

function readAnswer(answer: unknown): ReadonlySet<AuditScope> {
  if (answer === true) return every;
  // A member that a rule reads from a user may have no value: that is no permission.
  if (answer === false || answer === undefined || answer === null) return none;
  const wrong = new Error(`the audit rule must return true, false, or a list or an object of ${showAll(scopes)}`);
  const named = Array.isArray(answer) ? answer : isObject(answer) ? Object.keys(answer) : null;
  if (!named?.every((one) => scopes.includes(one))) throw wrong;
  if (!isObject(answer)) return new Set(named);
  // As above: a member without a value is no permission.
  if (!Object.values(answer).every((one) => typeof one === 'boolean' || one === undefined || one === null)) throw wrong;
  return new Set(scopes.filter((scope) => answer[scope] === true));
}

/** Whether a stream is about an auth collection that is closed to API keys, since `useAPIKey` is not set. */
export function isClosedToKeys({ byCategory, removedAuthCollections }: App, stream: string): boolean {
  const account = splitAccountStream(stream);
  const category = account?.category ?? splitStream(stream)[0];
  const auth = byCategory.get(category)?.model.auth;
  // Accounts of a removed collection are still accounts.
  if (auth === undefined) return account !== null || removedAuthCollections().has(category);
  return auth !== null && !auth.useAPIKey;
}
