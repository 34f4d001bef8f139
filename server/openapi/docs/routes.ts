import type { Server } from '@hapi/hapi';
import { contentSecurityPolicy, type StaticFile, serveFile } from '../../http/static.ts';

/** All that the page needs, by its path: nothing comes from elsewhere, and no other file can be reached. */
const files: Record<string, Pick<StaticFile, 'asset' | 'type'>> = {
  '/api/docs': { asset: 'server/openapi/docs/index.html', type: 'text/html' },
  '/api/docs/docs.js': { asset: 'server/openapi/docs/docs.js', type: 'text/javascript' },
  '/api/docs/overview.js': { asset: 'server/openapi/docs/overview.js', type: 'text/javascript' },
  '/api/docs/swagger.js': { asset: 'server/openapi/docs/swagger.js', type: 'text/javascript' },
  '/api/docs/docs.css': { asset: 'server/openapi/docs/docs.css', type: 'text/css' },
  '/api/docs/swagger-ui-bundle.js': {
    asset: 'swagger-ui-dist/swagger-ui-bundle.js',
    type: 'text/javascript',
  },
  '/api/docs/swagger-ui.css': { asset: 'swagger-ui-dist/swagger-ui.css', type: 'text/css' },
};

const headers = { 'content-security-policy': contentSecurityPolicy, 'cross-origin-opener-policy': 'same-origin' };

/**
 * The API's documentation for people: an overview of `/api/openapi.json`, and Swagger UI over it. The page is public,
 * the documents that it loads need not be.
 */
export function docs(server: Server): void {
  for (const [path, file] of Object.entries(files)) serveFile(server, path, { ...file, headers });
}
