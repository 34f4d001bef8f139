import { createRequire } from 'node:module';
import type { Plugin } from '@hapi/hapi';

const require = createRequire(import.meta.url);

/** Replaces server/openapi/generator.ts: the bundle contains hapi-swagger without the packages that are not needed. */
export function loadHapiSwagger(): Plugin<object> {
  return require('hapi-swagger');
}
