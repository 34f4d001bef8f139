import Joi from 'joi';
import { compileMembers } from './documents.ts';

/** In characters. */
const maxReason = 500;

/** The erasure that is asked for, and its reason. */
export type ErasureRequest = { collection: string; id: string; reason: string };

/** Why something is done that is recorded for ever. */
export const reasonText = Joi.string()
  .custom((value: string, helpers) => {
    const text = value.trim();
    if (text.length >= 1 && text.length <= maxReason && text.isWellFormed()) return text;
    return helpers.error('must', { must: `be a text of 1 to ${maxReason} characters that says why` });
  })
  .min(0)
  .required();

const anyText = Joi.string().min(0).required();
/** Reads the body that asks for an erasure. @throws InvalidBody with every wrong member. */
export const readErasure = compileMembers<ErasureRequest>({ collection: anyText, id: anyText, reason: reasonText });
