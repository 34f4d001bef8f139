import type { Server } from '@hapi/hapi';
import type { App } from '../app.ts';
import { rejectQuery } from '../queries/parameters.ts';

const path = '/.well-known/security.txt';
const dayMilliseconds = 24 * 60 * 60 * 1000;
/** A file should be valid for less than a year (RFC 9116, section 2.5.5). */
const validDays = 180;

/**
 * The public route that tells where to report a vulnerability (RFC 9116); only if the configuration names a contact.
 */
export function securityTxt(server: Server, { model, clock, baseUrl }: App): void {
  const { securityContact } = model;
  if (securityContact.length === 0) return;
  server.route({
    method: 'GET',
    path,
    options: { auth: false },
    handler: (request, h) => {
      rejectQuery(request.query);
      // The text is the same all day, so that caches may keep it that long.
      const today = Math.floor(clock.believed() / dayMilliseconds);
      const lines = [
        ...securityContact.map((contact) => `Contact: ${contact}`),
        `Expires: ${new Date((today + validDays) * dayMilliseconds).toISOString()}`,
        ...(baseUrl === null ? [] : [`Canonical: ${baseUrl}${path}`]),
      ];
      return h
        .response(`${lines.join('\n')}\n`)
        .type('text/plain; charset=utf-8')
        .header('cache-control', 'public, max-age=86400');
    },
  });
}
