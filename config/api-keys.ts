import Joi from 'joi';
import { compileBody, compileMembers, schemaOfMembers } from './documents.ts';
import { invalidField } from './errors.ts';
import type { KeyAudit, KeyScope, Model, Operation } from './model.ts';
import { didYouMean, show, showAll } from './suggest.ts';
import { readDatetime } from './times.ts';

/** The operations that a scope may name. */
export const keyOperations: readonly Operation[] = ['read', 'create', 'update', 'delete'];
/** The parts of the history that a key may be given, and the right to erase. */
export const keyAudits: readonly KeyAudit[] = ['headers', 'payloads', 'export', 'erase'];
/** The most keys that are not revoked. */
export const maxKeys = 1000;
/** The longest name of a key, in characters. */
export const maxKeyName = 100;
/** The most scopes of a key. */
export const maxKeyScopes = 100;
/** The longest time for which the secret before is still valid: 7 days. */
export const maxOverlapSeconds = 604_800;

/** The key that is asked for; `expiresAt` in UTC with milliseconds. */
export type KeyRequest = { name: string; scopes: KeyScope[]; audit: KeyAudit[]; expiresAt: string | null };

const name = Joi.string()
  .min(0)
  .custom((value: string, helpers) => {
    const text = value.trim();
    const isRight = text.length >= 1 && text.length <= maxKeyName && text.isWellFormed() && !/\p{Cc}/u.test(text);
    if (!isRight) return helpers.error('must', { must: `be one line of 1 to ${maxKeyName} characters` });
    // It is shown in lists and in the log: its characters must stand there in their order.
    const turning = /\p{Bidi_Control}/u.exec(text)?.[0];
    if (turning === undefined) return text;
    const code = `U+${turning.charCodeAt(0).toString(16).toUpperCase().padStart(4, '0')}`;
    return helpers.error('must', { must: `not hold ${code}, which changes the direction of text` });
  })
  .required();

const expiresAt = Joi.string()
  .min(0)
  .custom((value: string, helpers) => {
    const time = readDatetime(value);
    return time ?? helpers.error('must', { must: 'be a date and time with a zone such as "2027-01-31T00:00:00Z"' });
  })
  .allow(null)
  .default(null);

/** A list of some of these words, each once. */
function some(words: readonly string[]): Joi.ArraySchema {
  return Joi.array()
    .items(Joi.valid(...words))
    .unique();
}

const overlapSeconds = Joi.number()
  .strict()
  .custom((value: number, helpers) => {
    const isRight = Number.isInteger(value) && value >= 0 && value <= maxOverlapSeconds;
    const must = `be a whole number of seconds from 0 to ${maxOverlapSeconds}, which is 7 days`;
    return isRight ? value : helpers.error('must', { must });
  })
  .default(0);

/** Reads how a key is to be given a new secret. @throws InvalidBody with every wrong member. */
export const readKeyRotation = compileMembers<{ overlapSeconds: number }>({ overlapSeconds });

/** Reads which key the operator revokes. @throws InvalidBody with every wrong member. */
export const readKeyEnd = compileMembers<{ id: string }>({ id: Joi.string().min(0).required() });

/**
 * Prepares the reading of the keys that are asked for, whose scopes name collections and globals of a configuration.
 *
 * @returns a function that reads a body; `now` is milliseconds since the epoch. It throws InvalidBody with every wrong
 * member.
 */
export function compileKeyRequest({
  collections,
  globals,
}: Pick<Model, 'collections' | 'globals'>): (body: unknown, now: number) => KeyRequest {
  const scope = schemaOfMembers({
    collections: slugsOf(collections.keys(), 'collection'),
    globals: slugsOf(globals.keys(), 'global'),
    operations: some(keyOperations).required(),
  }).custom((value: KeyScope, helpers) => {
    const { collections, globals, operations } = value;
    if (collections.length === 0 && globals.length === 0)
      return helpers.error('must', { must: 'name at least one collection or global' });
    if (operations.length === 0)
      return helpers.error('must', { must: `name at least one operation of ${showAll(keyOperations)}` });
    return value;
  });
  const read = compileBody<KeyRequest>(
    schemaOfMembers({
      name,
      scopes: Joi.array()
        .items(scope)
        .custom((value: KeyScope[], helpers) => {
          return value.length <= maxKeyScopes
            ? value
            : helpers.error('must', { must: `have at most ${maxKeyScopes} scopes` });
        })
        .default([]),
      audit: some(keyAudits).default([]),
      expiresAt,
    }),
  );

  return (body, now) => {
    const asked = read(body);
    if (asked.expiresAt !== null && Date.parse(asked.expiresAt) <= now)
      throw invalidField('expiresAt', `must be in the future, got ${show(asked.expiresAt)}`);
    return asked;
  };
}

/** Slugs of what is configured, or `*`. */
function slugsOf(keys: Iterable<string>, what: string): Joi.Schema {
  const known = [...keys];
  return Joi.any()
    .custom((value: unknown, helpers) => {
      if (value === '*') return value;
      const must = problemOf(value, known, what);
      return must === undefined ? value : helpers.error('must', { must });
    })
    .default([]);
}

function problemOf(value: unknown, known: readonly string[], what: string): string | undefined {
  if (!Array.isArray(value)) return `be "*" or a list of slugs of ${what}s`;
  const wrong = value.find((slug) => !known.includes(slug));
  if (wrong !== undefined) {
    const named = known.length === 0 ? `there is no ${what}` : `allowed: ${showAll(known)}`;
    return `name ${what}s of the configuration, which ${show(wrong)} is not${didYouMean(wrong, known)}; ${named}`;
  }
  return new Set(value).size < value.length ? 'name each slug once' : undefined;
}
