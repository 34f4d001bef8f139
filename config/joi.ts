import { createRequire } from 'node:module';
import type Joi from 'joi';

const require = createRequire(import.meta.url);

/**
 * joi, loaded when the first schema is made. That saves 5 MB in a thread that reads a configuration and checks no body.
 */
export const joi = (): Joi.Root => require('joi');
