import { createRequire } from 'node:module';
import { dirname } from 'node:path';
import type { Plugin } from '@hapi/hapi';

const require = createRequire(import.meta.url);

/**
 * Loads hapi-swagger, when there is a document to make. It asks swagger-ui-dist for its folder, and that package's index
 * would evaluate 1.7 MB of code for browsers: a fifth of a second, 60 MB, and a warning of Node about localStorage. So
 * what it is asked for stands in its place.
 */
export function loadHapiSwagger(): Plugin<object> {
  const index = createRequire(require.resolve('hapi-swagger')).resolve('swagger-ui-dist');
  const standIn = Object.assign(Object.create(null), { id: index, filename: index, loaded: true });
  require.cache[index] ??= { ...standIn, exports: { getAbsoluteFSPath: () => dirname(index) } };
  return require('hapi-swagger');
}
