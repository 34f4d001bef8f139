import type { Server } from '@hapi/hapi';
import { contentSecurityPolicy, ownFile, serveFile } from '../../http/static.ts';
import { carriedFile } from '../../platform/package.ts';

/** All that the page needs, by its path: nothing comes from elsewhere, and no other file can be reached. */
const files: Record<string, { file: string; type: string }> = {
  '/api/docs': { file: ownFile('./index.html', import.meta.url), type: 'text/html' },
  '/api/docs/docs.js': { file: ownFile('./docs.js', import.meta.url), type: 'text/javascript' },
  '/api/docs/docs.css': { file: ownFile('./docs.css', import.meta.url), type: 'text/css' },
  '/api/docs/swagger-ui-bundle.js': {
    file: carriedFile('swagger-ui-dist/swagger-ui-bundle.js'),
    type: 'text/javascript',
  },
  '/api/docs/swagger-ui.css': { file: carriedFile('swagger-ui-dist/swagger-ui.css'), type: 'text/css' },
};

const headers = { 'content-security-policy': contentSecurityPolicy };

/** The API's documentation for people: Swagger UI over `/api/openapi.json`. The page is public, the documents that it loads need not be. */
export function docs(server: Server): void {
  for (const [path, file] of Object.entries(files)) serveFile(server, path, { ...file, headers });
}
