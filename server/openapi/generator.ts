import { createRequire, registerHooks } from 'node:module';
import type { Plugin } from '@hapi/hapi';
import { carriedFile } from '../platform/carried.ts';

const require = createRequire(import.meta.url);
const standIn = require.resolve('./stand-in.cjs');
const joi = require.resolve('joi');

/** The modules that replace packages of hapi-swagger. */
const given: Record<string, string> = {
  // Ours, whichever lies beside it: it is made for an older one, and of that uses nothing that has changed.
  joi,
  // They are not needed here, and most of its load: swagger-ui-dist alone would evaluate 1.7 MB of
  // code for browsers: a fifth of a second, 60 MB, and a warning of Node about localStorage.
  '@apidevtools/json-schema-ref-parser': standIn,
  'http-status': standIn,
  'swagger-parser': standIn,
  'swagger-ui-dist': standIn,
};

/** Loads hapi-swagger, when there is a document to make. */
export function loadHapiSwagger(): Plugin<object> {
  const index = carriedFile('hapi-swagger/index.js');
  const hooks = registerHooks({
    resolve: (specifier, context, next) => next(given[specifier] ?? specifier, context),
  });
  try {
    return require(index);
  } finally {
    hooks.deregister();
  }
}
