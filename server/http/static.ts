import { hash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import type { Server } from '@hapi/hapi';
import { once } from '../platform/once.ts';

/** A file that is served as it is, with headers beside its type. */
export type StaticFile = { file: string; type: string; headers: Record<string, string> };

/**
 * The headers of our own pages: scripts, styles and requests of our own origin only, and no frames in other pages.
 * Pictures may stand in a style sheet, as `data:`.
 */
export const contentSecurityPolicy = [
  "default-src 'self'",
  "img-src 'self' data:",
  "object-src 'none'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

/** Where a file of our own is, by its path from a module. @param from `import.meta.url` of the caller. */
export function ownFile(path: string, from: string): string {
  return fileURLToPath(new URL(path, from));
}

/** Serves a file to everybody. It is read once, and not sent to a caller who has it. */
export function serveFile(server: Server, path: string, { file, type, headers }: StaticFile): void {
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
      const response = h.response(content).type(type).etag(tag);
      for (const [name, value] of Object.entries(headers)) response.header(name, value);
      return response;
    },
  });
}
