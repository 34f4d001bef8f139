import { hash } from 'node:crypto';
import type { Server } from '@hapi/hapi';
import { type AssetName, readAsset } from '../platform/carried.ts';
import { once } from '../platform/once.ts';

/** A file that is served as it is, with headers beside its type. */
export type StaticFile = { asset: AssetName; type: string; headers: Record<string, string> };

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

/** Serves a file to everybody. It is read once, and not sent to a caller who has it. */
export function serveFile(server: Server, path: string, { asset, type, headers }: StaticFile): void {
  const read = once(async () => {
    const content = await readAsset(asset);
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
