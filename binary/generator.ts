import { createRequire } from 'node:module';
import type { Plugin } from '@hapi/hapi';

const require = createRequire(import.meta.url);

/**
 * In the place of server/openapi/generator.ts: hapi-swagger is in the bundle, without the packages that are not needed.
 */
export function loadHapiSwagger(): Plugin<object> {
  return require('hapi-swagger');
}
