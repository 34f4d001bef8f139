import { createHmac } from 'node:crypto';
import type { Request, ResponseObject } from '@hapi/hapi';
import { DomainError, inHeader, invalidBody, invalidField } from '../../../config/errors.ts';
import { isObject, memberOf } from '../../../config/schema.ts';
import { show } from '../../../config/suggest.ts';
import type { IdempotencyRecord } from '../../../events/facts/log.ts';
import type { App } from '../../app.ts';
import { actorOf } from '../../http/requests.ts';
import type { Write } from '../write/write-steps.ts';

const header = 'idempotency-key';
const maxLength = 255;
/** Deeper than any field; a body that is deeper would be refused anyway. */
const maxDepth = 500;

/** Whether a request has an idempotency key, valid or not. */
export function hasIdempotencyKey({ headers }: Request): boolean {
  return headers[header] !== undefined;
}

/**
 * Refuses to dry-run under an idempotency key: nothing is done that could be done twice.
 *
 * @throws DomainError `validation_failed` naming the header.
 */
export function refuseKeyOfDryRun(request: Request): void {
  if (hasIdempotencyKey(request))
    throw invalidField(inHeader(header, 'contradiction'), 'does not go with dryRun, which does nothing');
}

/** Refuses an idempotency key of a request with a password. @throws DomainError `validation_failed`. */
export function refuseKeyOfPassword(request: Request): void {
  if (!hasIdempotencyKey(request)) return;
  const problem = 'does not go with a password, of which nothing is kept to know it by';
  throw invalidField(inHeader(header, 'contradiction'), problem);
}

/** Refuses an idempotency key that came with another request before. @throws DomainError `idempotency_key_reused`. */
export function refuseOther({ fingerprint }: IdempotencyRecord, first: { fingerprint: string }): void {
  if (first.fingerprint === fingerprint) return;
  const message = `${header} was used before, for another request`;
  throw new DomainError('idempotency_key_reused', message, [
    { ...inHeader(header, 'idempotency_key_reused'), message },
  ]);
}

/** Marks an answer that was given before. */
export function sendReplayed(response: ResponseObject): ResponseObject {
  return response.header('idempotent-replayed', 'true');
}

/**
 * The idempotency key of a request, and a fingerprint of the rest of it, both as keyed hashes; null without a key.
 *
 * @throws DomainError `validation_failed` for a key that is not valid, without a credential, or beside a password.
 */
export function recordOf({ app, request, body, target, upload = null }: IdempotentCall): IdempotencyRecord | null {
  const given: unknown = request.headers[header];
  if (given === undefined) return null;
  const name = String(given);
  if (name.length > maxLength || !/^[\x21-\x7e]+$/.test(name)) {
    throw invalidField(
      inHeader(header, 'format'),
      `must be 1 to ${maxLength} visible ASCII characters, got ${show(name)}`,
    );
  }
  if (actorOf(request).type === 'anonymous')
    throw invalidField(inHeader(header, 'misplaced'), 'needs a credential: callers without one cannot be told apart');
  const isAccount = target?.model.kind === 'collection' && target.model.auth !== null;
  if (isAccount && isObject(body) && memberOf(body, 'password') !== undefined) refuseKeyOfPassword(request);
  const { query, headers } = request;
  const about = [headers['if-match'], headers['x-change-reason']].map((value) => value ?? null);
  const sent = [canonical(body ?? null), canonical(query), about, upload ? canonical(upload.values) : null];
  return { key: keyOf(app, request), fingerprint: keyed(app, 'fingerprint', sent) };
}

/** A write, or a bulk call: that has neither `target` nor `upload`. */
type IdempotentCall = Pick<Write, 'app' | 'request' | 'body'> & Partial<Pick<Write, 'target' | 'upload'>>;

/** A key by caller and route: the same key of another caller is another key. */
export function keyOf(app: App, request: Request): string {
  const { type, id = null } = actorOf(request);
  const { method, path, headers } = request;
  return keyed(app, 'key', [type, id, method, path, String(headers[header])]);
}

/** A keyed hash: without the secret not even a guess can be checked. */
function keyed({ idempotencySecret }: App, kind: string, what: readonly unknown[]): string {
  return createHmac('sha256', idempotencySecret)
    .update(JSON.stringify([kind, ...what]))
    .digest('base64url');
}

/** A text that is the same for bodies that differ only in the order of their members. */
function canonical(value: unknown, depth = 0): string {
  if (depth > maxDepth)
    throw invalidBody('too_deep', `the body must not nest more than ${maxDepth} levels`, { limit: maxDepth });
  if (Array.isArray(value)) return `[${value.map((item) => canonical(item, depth + 1))}]`;
  if (!isObject(value)) return JSON.stringify(value) ?? 'null';
  const names = Object.keys(value).sort();
  return `{${names.map((name) => `${JSON.stringify(name)}:${canonical(value[name], depth + 1)}`)}}`;
}
