import Joi from 'joi';
import { compileMembers } from './documents.ts';
import { reasonText } from './erasures.ts';

/**
 * The request to change the key that signs the log: `rotate` with a hand-over by the present key, `replace` without
 * one.
 */
type KeyChangeRequest = { way: 'rotate' | 'replace'; reason: string };

/** Reads the body that requests another key. @throws InvalidBody with every wrong member. */
export const readKeyChange = compileMembers<KeyChangeRequest>({
  way: Joi.valid('rotate', 'replace').required(),
  reason: reasonText,
});
