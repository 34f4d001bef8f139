import Joi from 'joi';
import { compileMembers } from '../../../config/documents.ts';
import { mustError } from '../../../config/invalid-body.ts';
import { readDatetime } from '../../../config/times.ts';
import type { PreviewView } from './tokens.ts';

/** The body that asks for a token: what it shows, and for how many seconds. */
export type ViewRequest = { view: PreviewView; expiresIn: number };

const time = Joi.string().custom((value: string, helpers) => {
  const read = readDatetime(value);
  if (read !== undefined) return read;
  return mustError(helpers, { code: 'format', problem: 'be a time with a zone like "2026-12-24T18:00:00Z"' });
});

const daySeconds = 24 * 60 * 60;

/** Reads the body that asks for a token of a view. @throws InvalidBody with every wrong member. */
export const readViewRequest = compileMembers<ViewRequest>({
  view: Joi.object({ release: Joi.string(), draft: Joi.boolean().valid(true), asOf: time })
    .xor('release', 'draft', 'asOf')
    .required(),
  expiresIn: Joi.number()
    .integer()
    .min(60)
    .max(30 * daySeconds)
    .default(7 * daySeconds),
});
