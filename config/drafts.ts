import Joi from 'joi';
import { compileMembers } from './documents.ts';
import { invalidBody, type Problem } from './errors.ts';
import { mustError } from './invalid-body.ts';
import { isObject, type JsonObject } from './schema.ts';

/** Deeper than any form, and shallow enough for `JSON.stringify`. */
const maxDepth = 1000;

/** The request for a preview: the values of a form, valid or not. */
export type DraftRequest = { collection: string; id: string; data: JsonObject };

const anyText = Joi.string().min(0).required();

const data = Joi.object()
  .custom((value: JsonObject, helpers) => {
    const wrong = problemOf(value);
    return wrong === undefined ? value : mustError(helpers, wrong);
  })
  .required();

/** Reads the body that asks for a preview. @throws InvalidBody with every wrong member. */
export const readDraft = compileMembers<DraftRequest>({ collection: anyText, id: anyText, data });

/**
 * Unsaved changes that a user keeps. `version` is the version of the document that they change, null for a document
 * that does not exist yet.
 */
export type OwnDraftRequest = { data: JsonObject; version: number | null };

const withoutPassword = data.custom((value: JsonObject, helpers) => {
  return holdsPassword(value)
    ? mustError(helpers, { code: 'misplaced', problem: 'hold no password, at any depth' })
    : value;
});

/** Reads the body that keeps unsaved changes. @throws InvalidBody with every wrong member. */
export const readOwnDraft = compileMembers<OwnDraftRequest>({
  data: withoutPassword,
  version: Joi.number().integer().min(0).allow(null).default(null),
});

function holdsPassword(value: JsonObject): boolean {
  const pending: unknown[] = [value];
  for (const item of pending) {
    if (typeof item !== 'object' || item === null) continue;
    if (Object.hasOwn(item, 'password')) return true;
    for (const inner of Object.values(item)) pending.push(inner);
  }
  return false;
}

/**
 * Reads a body that is any JSON object.
 *
 * @throws DomainError `validation_failed` for other JSON, and for an object that could not be returned exactly as it
 * came.
 */
export function readObject(body: unknown): JsonObject {
  if (!isObject(body)) throw invalidBody('type', 'the body must be a JSON object');
  const wrong = problemOf(body);
  if (wrong !== undefined) throw invalidBody(wrong.code, `the body must ${wrong.problem}`);
  return body;
}

/** The reason why a value cannot be returned exactly as it came, as the end of "must …"; undefined if it can. */
function problemOf(value: JsonObject): Problem | undefined {
  let level: unknown[] = [value];
  for (let depth = 0; level.length > 0; depth += 1) {
    if (depth > maxDepth)
      return { code: 'too_deep', problem: `be nested at most ${maxDepth} levels deep`, limit: maxDepth };
    const next: unknown[] = [];
    for (const item of level) {
      // JSON.parse reads 1e400 as Infinity, which JSON cannot represent.
      if (typeof item === 'number' && !Number.isFinite(item))
        return { code: 'type', problem: 'hold only finite numbers' };
      if (typeof item === 'object' && item !== null) for (const inner of Object.values(item)) next.push(inner);
    }
    level = next;
  }
  return undefined;
}
