import { randomBytes } from 'node:crypto';
import { type KeyRequest, maxKeys } from '../../../config/api-keys.ts';
import { DomainError } from '../../../config/errors.ts';
import type { KeyScope } from '../../../config/model.ts';
import { show } from '../../../config/suggest.ts';
import { decideKey, decideKeyEnd, decideKeyRotation } from '../../../events/facts/api-keys.ts';
import type { Change } from '../../../events/facts/log.ts';
import type { ApiKeyRecord } from '../../../projections/tables/api-keys.ts';
import { requireGrantable } from '../../access/key-grants.ts';
import type { App, RouteCall } from '../../app.ts';
import { appendOf } from '../../callers/append.ts';
import { requireLiving } from '../../callers/sessions.ts';
import { actorOf, contextOf, requestId } from '../../http/requests.ts';
import type { AnswerOf } from '../../openapi/answers.ts';
import type { PageRequest } from '../../queries/pages.ts';

/** A key as answers show it. Only the answers to making and to rotating a key have the `secret`. */
type KeyView = AnswerOf<'ApiKey'> & { secret?: string };

/** Other requests may change keys meanwhile. */
const maxTries = 100;

/** A page of the keys that are not revoked, oldest first, and their number. */
export async function listKeys({ app }: RouteCall, asked: PageRequest): Promise<{ keys: KeyView[]; total: number }> {
  const uses = await app.keyService.uses();
  const { found, total } = app.apiKeys.page(asked);
  return { keys: found.map((key) => viewOf(named(app, key), uses[key.id])), total };
}

/** A key that is not revoked. @throws DomainError `not_found`. */
export async function showKey(call: RouteCall, id: string): Promise<KeyView> {
  const uses = await call.app.keyService.uses();
  return viewOf(found(call, id), uses[id]);
}

/**
 * Makes a key.
 *
 * @throws DomainError `forbidden` for rights that the caller does not have; `conflict` if there are too many keys.
 */
export async function makeKey(call: RouteCall, { name, scopes, audit, expiresAt }: KeyRequest): Promise<KeyView> {
  const { app } = call;
  await requireGrantable(call, { scopes, audit });
  const id = randomBytes(8).toString('hex');
  const secret = secretOf(id);
  const credential = await app.keyService.store(secret);
  const recorded = renamed(scopes, app.names.categoryFor);
  const key = {
    id,
    name,
    scopes: recorded,
    audit,
    expiresAt: expiresAt === null ? null : new Date(expiresAt),
    credential,
  };
  await change(call, (version) => {
    if (app.apiKeys.all().length >= maxKeys)
      throw new DomainError('conflict', `there are ${maxKeys} API keys already: revoke those that are not needed`);
    return decideKey(key, version);
  });
  return { ...viewOf(found(call, id)), secret };
}

/**
 * Gives a key a new secret; the one before stays valid for some seconds.
 *
 * @throws DomainError `not_found`; `forbidden` if the key has rights that the caller does not have; `conflict` if the
 * key has expired.
 */
export async function rotateKey(call: RouteCall, id: string, overlapSeconds: number): Promise<KeyView> {
  const { app } = call;
  await requireRotatable(call, id);
  const secret = secretOf(id);
  const credential = await app.keyService.store(secret);
  const now = app.clock.believed();
  await change(call, (version) => {
    const { expiresAt } = found(call, id);
    if (expiresAt !== null && expiresAt <= now)
      throw new DomainError('conflict', `the API key ${show(id)} has expired: make another`);
    const previousUntil = overlapSeconds === 0 ? null : new Date(now + overlapSeconds * 1000);
    return decideKeyRotation({ id, credential, previousUntil }, version);
  });
  await tidy(call);
  const uses = await app.keyService.uses();
  return { ...viewOf(found(call, id), uses[id]), secret };
}

/** Refuses callers who may not rotate a key. @throws DomainError `not_found`, `forbidden`. */
export async function requireRotatable(call: RouteCall, id: string): Promise<void> {
  await requireGrantable(call, found(call, id));
}

/** Ends a key: no thread accepts it from now on. @returns the key as it was. @throws DomainError `not_found`. */
export async function revokeKey(call: RouteCall, id: string): Promise<KeyView> {
  const { app } = call;
  const uses = await app.keyService.uses();
  let revoked = found(call, id);
  await change(call, (version) => {
    revoked = found(call, id);
    return decideKeyEnd(id, version);
  });
  const { credential, previous } = revoked;
  await app.keyService.forget(
    id,
    [credential, previous].filter((one) => one !== null),
  );
  return viewOf(revoked, uses[id]);
}

function secretOf(id: string): string {
  return `annals_${id}_${randomBytes(32).toString('base64url')}`;
}

function found({ app }: RouteCall, id: string): ApiKeyRecord {
  const key = app.apiKeys.find(id);
  if (!key || key.isRevoked) throw new DomainError('not_found', `there is no API key ${show(id)}`);
  return named(app, key);
}

/** Names the collections of scopes by slugs, as answers do: events name them by categories. */
function named({ names }: App, key: ApiKeyRecord): ApiKeyRecord {
  return { ...key, scopes: renamed(key.scopes, names.slugFor) };
}

function renamed(scopes: readonly KeyScope[], nameOf: (collection: string) => string): KeyScope[] {
  return scopes.map(({ collections, ...rest }) => {
    return { ...rest, collections: collections === '*' ? collections : collections.map(nameOf) };
  });
}

/** Decides by the keys as they are, and appends. Repeats both if another change came in between. */
async function change({ app, request }: RouteCall, decide: (version: number) => Change): Promise<void> {
  const append = appendOf(app, request);
  const who = { actor: actorOf(request), correlationId: requestId(request), context: contextOf(request) };
  for (let count = 1; count <= maxTries; count += 1) {
    // The version is read first: if the state that is read then is newer, the append is refused and tried again.
    const version = app.apiKeys.version();
    const decided = decide(version);
    requireLiving(app, request);
    if ((await append({ ...decided, ...who })).ok) return;
  }
  throw new DomainError('write_conflict', 'others keep changing API keys; try again');
}

/** Deletes what the vault has about secrets that are no longer valid. */
async function tidy({ app }: RouteCall): Promise<void> {
  const now = app.clock.believed();
  const valid = app.apiKeys.all().flatMap(({ credential, previous, previousUntil }) => {
    return [credential, previousUntil !== null && previousUntil > now ? previous : null];
  });
  await app.keyService.retain(valid.filter((one) => one !== null));
}

function viewOf(key: ApiKeyRecord, usedAt?: number): KeyView {
  const { id, name, scopes, audit, createdAt, createdBy, expiresAt } = key;
  return {
    id,
    name,
    scopes,
    audit,
    createdAt: new Date(createdAt).toISOString(),
    // Anonymous callers make no keys.
    createdBy: { ...createdBy } as KeyView['createdBy'],
    expiresAt: timeOf(expiresAt),
    lastUsedAt: timeOf(usedAt ?? null),
  };
}

function timeOf(time: number | null): string | null {
  return time === null ? null : new Date(time).toISOString();
}
