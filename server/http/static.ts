import type { Server } from '@hapi/hapi';
import Inert from '@hapi/inert';
import { type AssetName, assetPath } from '../platform/carried.ts';

/** A file that is served as it is, with additional headers. */
export type StaticFile = { asset: AssetName; type: string; headers: Record<string, string> };

/**
 * The headers of our own pages: scripts, styles and requests only of our own origin, and no frames in other pages.
 * Style sheets may have pictures as `data:`.
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
 * Serves a file to everybody, with the plugin inert of {@link registerStatic}; a caller who has the file gets a 304.
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
