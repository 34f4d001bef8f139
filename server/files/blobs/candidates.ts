import Joi from 'joi';
import { compileMembers } from '../../../config/documents.ts';
import type { Candidates } from '../../ports.ts';
import { maxCandidates } from './collector.ts';

/** Reads what a command sends to have files removed. @throws InvalidBody with every wrong member. */
export const readCandidates = compileMembers<Candidates>({
  store: Joi.string().required(),
  position: Joi.number().strict().integer().min(0).required(),
  sha256: Joi.array()
    .items(Joi.string().pattern(/^[0-9a-f]{64}$/))
    .max(maxCandidates)
    .required(),
});
