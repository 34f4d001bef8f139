import { createRequire } from 'node:module';
import type Joi from 'joi';

const require = createRequire(import.meta.url);

/** joi, loaded for the first schema that is made: 5 MB of a thread that reads a configuration and checks no body. */
export const joi = (): Joi.Root => require('joi');
