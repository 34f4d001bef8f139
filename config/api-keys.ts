import Joi from 'joi';
import { compileBody, compileMembers, schemaOfMembers } from './documents.ts';
import { inBody, invalidField, type Problem } from './errors.ts';
import { mustError } from './invalid-body.ts';
import type { KeyAudit, KeyOperation, KeyScope, Model } from './model.ts';
import { didYouMean, show, showAll } from './suggest.ts';
import { readDatetime } from './times.ts';
import { hasDrafts } from './traits.ts';

type Targets = Pick<Model, 'collections' | 'globals'>;

const operationsOfAll: readonly KeyOperation[] = ['read', 'create', 'update', 'delete'];

/** The operations that a scope may name: `draft` only if the configuration has drafts. */
export function keyOperationsOf(model: Targets): readonly KeyOperation[] {
  return hasDrafts(model) ? [...operationsOfAll, 'draft'] : operationsOfAll;
}

/** The audit rights that a key may be given: parts of the history, and the right to erase. */
export const keyAudits: readonly KeyAudit[] = ['headers', 'payloads', 'export', 'erase'];
/** The maximum number of keys that are not revoked. */
export const maxKeys = 1000;
/** The maximum length of a key's name, in characters. */
export const maxKeyName = 100;
/** The maximum number of scopes of a key. */
export const maxKeyScopes = 100;
/** The longest time for which the previous secret stays valid after a rotation: 7 days. */
export const maxOverlapSeconds = 604_800;

/** The request for a new key; `expiresAt` is in UTC with milliseconds. */
export type KeyRequest = { name: string; scopes: KeyScope[]; audit: KeyAudit[]; expiresAt: string | null };

const name = Joi.string()
  .min(0)
  .custom((value: string, helpers) => {
    const text = value.trim();
    const isRight = text.length >= 1 && text.length <= maxKeyName && text.isWellFormed() && !/\p{Cc}/u.test(text);
    const problem = `be one line of 1 to ${maxKeyName} characters`;
    if (!isRight && text.length > maxKeyName)
      return mustError(helpers, { code: 'max_length', problem, limit: maxKeyName });
    if (!isRight) return mustError(helpers, { code: text === '' ? 'required' : 'unsafe_characters', problem });
    // Lists and the log show the name, so nothing in it may change the order in which its characters are shown.
    const turning = /\p{Bidi_Control}/u.exec(text)?.[0];
    if (turning === undefined) return text;
    const code = `U+${turning.charCodeAt(0).toString(16).toUpperCase().padStart(4, '0')}`;
    return mustError(helpers, {
      code: 'unsafe_characters',
      problem: `not hold ${code}, which changes the direction of text`,
    });
  })
  .required();

const expiresAt = Joi.string()
  .min(0)
  .custom((value: string, helpers) => {
    const time = readDatetime(value);
    const problem = 'be a date and time with a zone such as "2027-01-31T00:00:00Z"';
    return time ?? mustError(helpers, { code: 'format', problem });
  })
  .allow(null)
  .default(null);

/** The schema of a list of some of these words, each at most once. */
function some(words: readonly string[]): Joi.ArraySchema {
  return Joi.array()
    .items(Joi.valid(...words))
    .unique();
}

const overlapSeconds = Joi.number()
  .strict()
  .custom((value: number, helpers) => {
    const isRight = Number.isInteger(value) && value >= 0 && value <= maxOverlapSeconds;
    const problem = `be a whole number of seconds from 0 to ${maxOverlapSeconds}, which is 7 days`;
    if (isRight) return value;
    if (value > maxOverlapSeconds) return mustError(helpers, { code: 'max', problem, limit: maxOverlapSeconds });
    return mustError(helpers, value < 0 ? { code: 'min', problem, limit: 0 } : { code: 'type', problem });
  })
  .default(0);

/** Reads the body of a rotation, which gives a key a new secret. @throws InvalidBody with every wrong member. */
export const readKeyRotation = compileMembers<{ overlapSeconds: number }>({ overlapSeconds });

/** Reads the id of the key that the operator revokes. @throws InvalidBody with every wrong member. */
export const readKeyEnd = compileMembers<{ id: string }>({ id: Joi.string().min(0).required() });

/**
 * Compiles the reader of requests for new keys. Their scopes may name the collections and globals of the configuration.
 *
 * @returns a function that reads a body and throws InvalidBody with every wrong member; `now` is milliseconds since the
 * epoch.
 */
export function compileKeyRequest(model: Targets): (body: unknown, now: number) => KeyRequest {
  const scope = scopeOf(model);
  const read = compileBody<KeyRequest>(
    schemaOfMembers({
      name,
      scopes: Joi.array()
        .items(scope)
        .custom((value: KeyScope[], helpers) => {
          return value.length <= maxKeyScopes
            ? value
            : mustError(helpers, {
                code: 'max_items',
                problem: `have at most ${maxKeyScopes} scopes`,
                limit: maxKeyScopes,
              });
        })
        .default([]),
      audit: some(keyAudits).default([]),
      expiresAt,
    }),
  );

  return (body, now) => {
    const asked = read(body);
    if (asked.expiresAt !== null && Date.parse(asked.expiresAt) <= now)
      throw invalidField(inBody('expiresAt', 'out_of_range'), `must be in the future, got ${show(asked.expiresAt)}`);
    return asked;
  };
}

/** The schema of a scope, which may name the collections and globals of the configuration. */
function scopeOf(model: Targets): Joi.Schema {
  const { collections, globals } = model;
  const keyOperations = keyOperationsOf(model);
  return schemaOfMembers({
    collections: slugsOf(collections.keys(), 'collection'),
    globals: slugsOf(globals.keys(), 'global'),
    operations: some(keyOperations).required(),
  }).custom((value: KeyScope, helpers) => {
    const { collections, globals, operations } = value;
    if (collections.length === 0 && globals.length === 0)
      return mustError(helpers, { code: 'required', problem: 'name at least one collection or global' });
    if (operations.length === 0)
      return mustError(helpers, {
        code: 'required',
        problem: `name at least one operation of ${showAll(keyOperations)}`,
      });
    const without = operations.includes('draft') ? withoutDrafts(model, value) : [];
    if (without.length > 0)
      return mustError(helpers, {
        code: 'not_allowed',
        problem: `allow "draft" only where there are drafts (there are none in ${showAll(without)})`,
      });
    return value;
  });
}

/** The collections and globals without drafts that a scope names; `*` names none. */
function withoutDrafts(model: Targets, { collections, globals }: KeyScope): string[] {
  const named = (slugs: KeyScope['globals']) => (slugs === '*' ? [] : slugs);
  return [
    ...named(collections).filter((slug) => !model.collections.get(slug)?.drafts),
    ...named(globals).flatMap((slug) => (model.globals.get(slug)?.drafts ? [] : [`globals/${slug}`])),
  ];
}

/** The schema of a list of configured slugs, or `*`. */
function slugsOf(keys: Iterable<string>, what: string): Joi.Schema {
  const known = [...keys];
  return Joi.any()
    .custom((value: unknown, helpers) => {
      if (value === '*') return value;
      const wrong = problemOf(value, known, what);
      return wrong === undefined ? value : mustError(helpers, wrong);
    })
    .default([]);
}

function problemOf(value: unknown, known: readonly string[], what: string): Problem | undefined {
  if (!Array.isArray(value)) return { code: 'type', problem: `be "*" or a list of slugs of ${what}s` };
  const wrong = value.find((slug) => !known.includes(slug));
  if (wrong !== undefined) {
    const named = known.length === 0 ? `there is no ${what}` : `allowed: ${showAll(known)}`;
    const problem = `name ${what}s of the configuration, which ${show(wrong)} is not${didYouMean(wrong, known)}; ${named}`;
    return { code: 'not_allowed', problem };
  }
  return new Set(value).size < value.length ? { code: 'duplicate', problem: 'name each slug once' } : undefined;
}
