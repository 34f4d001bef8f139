import { hash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import type { Server } from '@hapi/hapi';
import { once } from '../once.ts';

const { resolve } = createRequire(import.meta.url);
const own = (name: string) => fileURLToPath(new URL(`../docs/${name}`, import.meta.url));

/** All that the page needs, by its path: nothing comes from elsewhere, and no other file can be reached. */
const files: Record<string, { file: string; type: string }> = {
  '/api/docs': { file: own('index.html'), type: 'text/html' },
  '/api/docs/docs.js': { file: own('docs.js'), type: 'text/javascript' },
  '/api/docs/docs.css': { file: own('docs.css'), type: 'text/css' },
  '/api/docs/swagger-ui-bundle.js': { file: resolve('swagger-ui-dist/swagger-ui-bundle.js'), type: 'text/javascript' },
  '/api/docs/swagger-ui.css': { file: resolve('swagger-ui-dist/swagger-ui.css'), type: 'text/css' },
};

/** Scripts, styles and requests of our own origin only. Swagger UI's pictures are in its style sheet, as `data:`. */
const policy = [
  "default-src 'self'",
  "img-src 'self' data:",
  "object-src 'none'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

/** The API's documentation for people: Swagger UI over `/api/openapi.json`. The page is public, what it loads need not be. */
export function docs(server: Server): void {
  for (const [path, { file, type }] of Object.entries(files)) {
    const read = once(async () => {
      const content = await readFile(file);
      return { content, tag: hash('sha256', content, 'base64url') };
    });
    server.route({
      method: 'GET',
      path,
      options: { auth: false },
      handler: async (_request, h) => {
        const { content, tag } = await read();
        return h.response(content).type(type).etag(tag).header('content-security-policy', policy);
      },
    });
  }
}
