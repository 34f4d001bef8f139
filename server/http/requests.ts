import { randomUUID } from 'node:crypto';
import type { Request } from '@hapi/hapi';
import { DomainError } from '../../config/errors.ts';
import type { Collection, Global, RequestView, User } from '../../config/model.ts';
import type { Category, JsonObject } from '../../config/schema.ts';
import type { AccountRef } from '../../events/facts/accounts.ts';
import type { KeyGrant } from '../../events/facts/api-keys.ts';
import type { Actor, Context } from '../../events/facts/envelope.ts';
import type { IdempotencyRecord } from '../../events/facts/log.ts';
import type { Target } from '../app.ts';

/**
 * The API key of a request, if it was made at run time and came without a token. `credential`: that of its secret.
 */
export type MadeKey = KeyGrant & { id: string; credential: string };

/** How far a request may look back: to every document that existed, or only to those that exist today. */
export type ReadScope = 'every' | 'living';

/** A document folded from the events of its stream, in the names of today, and its version. */
type FoldedDocument = { document: JsonObject; version: number };

/**
 * A position of the log that a request looks back to. `scopeFor` gives null if the caller may not look back at a
 * target. `fold` folds a stream from the log, null if there was no document: only set if the answer has to be proven.
 */
export type AsOf = {
  position: number;
  fold: ((stream: string) => Promise<FoldedDocument | null>) | null;
  scopeFor: (target: { model: Collection | Global; slug: string; category: Category }) => ReadScope | null;
};

declare module '@hapi/hapi' {
  interface RequestApplicationState {
    requestId?: string;
    /** The caller's address, from the proxy if that is trusted; absent on routes without a strategy. */
    ip?: string;
    /** Reads the user whose token came; absent for other callers. */
    readUser?: () => User | null;
    user?: User | null;
    /** The idempotency key of this write. */
    idempotency?: IdempotencyRecord | null;
    /** Advice for the log line of the request; absent if not given. */
    advice?: string;
    /** The indexes that a slow read was missing, for the log line; absent if there are none. */
    missingIndexes?: readonly string[];
    /** The moment that the request looks back to; absent when it looks at today. */
    asOf?: AsOf;
    /** The targets in the view of drafts, if the request reads it: by the keys of their tables, as they are opened. */
    view?: Map<string, Target>;
    /**
     * Set if the request reads the site as it would be. `position`: the public state that this is made of; `isApart`:
     * its tables are in the memory of this thread.
     */
    ahead?: { position: number; isApart: boolean };
    /** Set if the request reads drafts by a preview token: as the maker of the token would send it. */
    draftsOf?: Request;
    /** The reason of the write, once it was read; null if no reason was given. */
    reason?: string | null;
    /** The rule that admits the write, once one was asked. */
    rule?: string;
    /** The kind of bulk call, and the batch that it undoes; absent for other requests. */
    bulk?: Pick<Context, 'call' | 'undoes'>;
  }
  interface UserCredentials {
    /** The actor that events name as their cause. */
    actor: Actor;
    /** The session of the token that came, and the account of its user. */
    session: (AccountRef & { sid: string }) | null;
    /**
     * The API key, if it was made at run time and came without a token: its scopes are the rights of the caller. Absent
     * for all other callers.
     */
    key?: MadeKey;
  }
}

/**
 * The id of a request: in the log line, in the `x-request-id` header and, as `correlationId`, in every event it causes.
 * Always made here: an id from a client could be anything, and would be in the log for ever.
 */
export function requestId({ app }: Request): string {
  app.requestId ??= randomUUID();
  return app.requestId;
}

/** The refusal of a request that there is no route for. */
export function noRoute({ method, path }: Request): DomainError {
  return new DomainError('route_not_found', `there is no ${method.toUpperCase()} ${path.slice(0, 200)}`);
}

/** The `{id}` of the path, as it came: any text. */
export function idOf({ params }: Request): string {
  return String(params.id);
}

/** The caller's address; empty over a Unix socket, which hapi's type does not know. */
export function addressOf({ app, info }: Request): string {
  return app.ip ?? (info.remoteAddress as string | undefined) ?? '';
}

/** The moment that the request looks back to; null: today. */
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

/** The API key of the caller, if it was made at run time; null for all other callers. */
export function madeKeyOf({ auth }: Request): MadeKey | null {
  return auth.credentials?.user?.key ?? null;
}

/**
 * Whether the caller is trusted code, about which no rule is asked: the operator of the service, and an API key; on
 * accounts a key only if `useAPIKey` is set. The scopes of a key that was made at run time are checked besides.
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
  const { reason, rule, bulk } = request.app;
  const ip = addressOf(request);
  const context: Context = ip === '' ? {} : { ip };
  if (typeof userAgent === 'string') context.userAgent = userAgent.slice(0, maxUserAgent).toWellFormed();
  if (typeof reason === 'string') context.reason = reason;
  if (rule !== undefined) context.rule = rule;
  return { ...context, ...bulk };
}

/** The request as access rules see it, without the credentials of the caller. */
export function viewOf(request: Request): RequestView {
  const { method, path, headers } = request;
  const { 'x-api-key': _key, authorization: _token, cookie: _cookie, 'annals-preview': _preview, ...rest } = headers;
  return { method: method.toUpperCase(), path, headers: rest as Record<string, string>, ip: addressOf(request) };
}
