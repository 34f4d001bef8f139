import Joi from 'joi';
import { compileMembers } from './documents.ts';
import { reasonText } from './erasures.ts';

/**
 * The change of the key that signs the log, and its reason: `rotate` with a hand-over by the present key, `replace`
 * without.
 */
type KeyChangeRequest = { way: 'rotate' | 'replace'; reason: string };

/** Reads the body that asks for another key. @throws InvalidBody with every wrong member. */
export const readKeyChange = compileMembers<KeyChangeRequest>({
  way: Joi.valid('rotate', 'replace').required(),
  reason: reasonText,
});
