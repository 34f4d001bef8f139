import { randomUUID } from 'node:crypto';
import type { Request } from '@hapi/hapi';
import { DomainError } from '../../config/errors.ts';
import type { Collection, Global, RequestView, User } from '../../config/model.ts';
import type { Category, JsonObject } from '../../config/schema.ts';
import type { AccountRef } from '../../events/facts/accounts.ts';
import type { KeyGrant } from '../../events/facts/api-keys.ts';
import type { Actor, Context } from '../../events/facts/envelope.ts';
import type { IdempotencyRecord } from '../../events/facts/log.ts';

/**
 * An API key that was made at run time, under which a request came alone. `credential` is that of the secret that came.
 */
export type MadeKey = KeyGrant & { id: string; credential: string };

/** How far a request may look back: to every document that was there, or to those that live today. */
export type ReadScope = 'every' | 'living';

/** A document as the events of its stream make it, in the names of today, and its version. */
export type Folded = { document: JsonObject; version: number };

/**
 * A position of the log that a request looks back to; `scopeFor` is null where the caller may not. `fold` is there for
 * a request whose answer is to be proven: it folds a stream from the log; null where there was no document.
 */
export type AsOf = {
  position: number;
  fold: ((stream: string) => Promise<Folded | null>) | null;
  scopeFor: (target: { model: Collection | Global; slug: string; category: Category }) => ReadScope | null;
};

declare module '@hapi/hapi' {
  interface RequestApplicationState {
    requestId?: string;
    /** The caller's address, by the proxy where that is trusted; absent on routes that have no strategy. */
    ip?: string;
    /** Reads the user whose token came; absent for other callers. */
    readUser?: () => User | null;
    user?: User | null;
    /** The name of this write, by its `Idempotency-Key`; null without one. */
    idempotency?: IdempotencyRecord | null;
    /** Advice for the line of the log; absent without any. */
    advice?: string;
    /** The indexes that it took long without, for the line of the log; absent without any. */
    missingIndexes?: readonly string[];
    /** The moment that the request looks back to; absent when it looks at today. */
    asOf?: AsOf;
    /** Why the caller writes, once that was looked at; null where it is not told. */
    reason?: string | null;
    /** The rule that admits the write, once one was asked. */
    rule?: string;
  }
  interface UserCredentials {
    /** The actor that events name as their cause. */
    actor: Actor;
    /** The session of the token that came, and the account of its user. */
    session: (AccountRef & { sid: string }) | null;
    /**
     * The key that came alone, where it was made at run time: it gives the rights of its scopes. Absent for all other
     * callers.
     */
    key?: MadeKey;
  }
}

/**
 * The id of a request: in the log line, in the `x-request-id` header and, as `correlationId`, in every event it causes.
 * Always our own: what a client sends may be anything and would stand in the log for ever.
 */
export function requestId({ app }: Request): string {
  app.requestId ??= randomUUID();
  return app.requestId;
}

/** The refusal of a request that there is no route for. */
export function noRoute({ method, path }: Request): DomainError {
  return new DomainError('not-found', `there is no ${method.toUpperCase()} ${path.slice(0, 200)}`);
}

/** The `{id}` of the path, as it came: any text. */
export function idOf({ params }: Request): string {
  return String(params.id);
}

/** The caller's address; the empty text over a Unix socket, of which hapi's type does not know. */
export function addressOf({ app, info }: Request): string {
  return app.ip ?? (info.remoteAddress as string | undefined) ?? '';
}

/** The moment that the request looks back to; null when it looks at today. */
export function asOfFor({ app }: Request): AsOf | null {
  return app.asOf ?? null;
}

/** The actor of the events that this request records. */
export function actorOf({ auth }: Request): Actor {
  return auth.credentials?.user?.actor ?? { type: 'anonymous' };
}

/** The user who calls, as rules and hooks see it; null for other callers. */
export function userOf({ app }: Request): User | null {
  app.user ??= app.readUser?.() ?? null;
  return app.user;
}

/** The API key that was made at run time and under which the caller comes; null for all other callers. */
export function madeKeyOf({ auth }: Request): MadeKey | null {
  return auth.credentials?.user?.key ?? null;
}

/**
 * Whether the caller is trusted code, which no rule is asked about: an API key, and on accounts only where `useAPIKey`
 * lets it; and the operator of the service. The scopes of a key that was made at run time are looked at besides.
 */
export function isTrusted(request: Request, model: Collection | Global): boolean {
  const { type } = actorOf(request);
  if (type === 'apiKey') return model.kind === 'global' || !model.auth || model.auth.useAPIKey;
  return type === 'system';
}

const maxUserAgent = 500;

/** The personal data of a request: kept in the payloads of its events, where it can be erased. */
export function contextOf(request: Request): Context {
  const userAgent: unknown = request.headers['user-agent'];
  const { reason, rule } = request.app;
  const ip = addressOf(request);
  const context: Context = ip === '' ? {} : { ip };
  if (typeof userAgent === 'string') context.userAgent = userAgent.slice(0, maxUserAgent).toWellFormed();
  if (typeof reason === 'string') context.reason = reason;
  if (rule !== undefined) context.rule = rule;
  return context;
}

/** The request as access rules see it: nothing that would let them in as the caller. */
export function viewOf(request: Request): RequestView {
  const { method, path, headers } = request;
  const { 'x-api-key': _key, authorization: _token, cookie: _cookie, ...rest } = headers;
  return { method: method.toUpperCase(), path, headers: rest as Record<string, string>, ip: addressOf(request) };
}
