import Joi from 'joi';
import { compileMembers } from './documents.ts';
import { mustError } from './invalid-body.ts';

/** The maximum length of a reason, in characters. */
const maxReason = 500;

/** The request for an erasure: the document, and the reason. */
export type ErasureRequest = { collection: string; id: string; reason: string };

/** The schema of a reason that the log records for ever. */
export const reasonText = Joi.string()
  .custom((value: string, helpers) => {
    const text = value.trim();
    if (text.length >= 1 && text.length <= maxReason && text.isWellFormed()) return text;
    const problem = `be a text of 1 to ${maxReason} characters that says why`;
    return mustError(
      helpers,
      text === '' ? { code: 'required', problem } : { code: 'max_length', problem, limit: maxReason },
    );
  })
  .min(0)
  .required();

const anyText = Joi.string().min(0).required();
/** Reads the body that asks for an erasure. @throws InvalidBody with every wrong member. */
export const readErasure = compileMembers<ErasureRequest>({ collection: anyText, id: anyText, reason: reasonText });
