import Joi from 'joi';
import { compileMembers } from './documents.ts';
import type { JsonObject } from './schema.ts';

/** Far deeper than any form, and less than what JSON can be written of. */
const maxDepth = 1000;

/** A preview before a write: values of a document as a form has them, right or wrong. */
export type DraftRequest = { collection: string; id: string; data: JsonObject };

const anyText = Joi.string().min(0).required();

const data = Joi.object()
  .custom((value: JsonObject, helpers) => {
    const must = problemOf(value);
    return must === undefined ? value : helpers.error('must', { must });
  })
  .required();

/** Reads the body that asks for a preview. @throws InvalidBody with every wrong member. */
export const readDraft = compileMembers<DraftRequest>({ collection: anyText, id: anyText, data });

/** Why a value cannot be given back as it came, as the end of "must …"; undefined when it can. */
function problemOf(value: JsonObject): string | undefined {
  let level: unknown[] = [value];
  for (let depth = 0; level.length > 0; depth += 1) {
    if (depth > maxDepth) return `be nested at most ${maxDepth} levels deep`;
    const next: unknown[] = [];
    for (const item of level) {
      // JSON.parse reads 1e400 as Infinity, which JSON cannot write again.
      if (typeof item === 'number' && !Number.isFinite(item)) return 'hold only finite numbers';
      if (typeof item === 'object' && item !== null) for (const inner of Object.values(item)) next.push(inner);
    }
    level = next;
  }
  return undefined;
}
