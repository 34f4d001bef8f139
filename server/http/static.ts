import type { Server } from '@hapi/hapi';
import Inert from '@hapi/inert';
import { type AssetName, assetPath } from '../platform/carried.ts';

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

/**
 * Serves a file to everybody, by the plugin inert, which {@link registerStatic} brings; it is not sent to a caller who
 * has it.
 */
export function serveFile(server: Server, path: string, { asset, type, headers }: StaticFile): void {
  // The files are known by name: no path of a request is looked up.
  const options = { confine: false, etagMethod: 'hash' } as const;
  server.route({
    method: 'GET',
    path,
    options: { auth: false },
    handler: (_request, h) => {
      const response = h.file(assetPath(asset), options).type(type);
      for (const [name, value] of Object.entries(headers)) response.header(name, value);
      return response;
    },
  });
}

/** Prepares a server for {@link serveFile}. */
export function registerStatic(server: Server): Promise<void> {
  return server.register(Inert);
}
