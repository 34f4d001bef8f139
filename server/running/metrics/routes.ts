import { hash, timingSafeEqual } from 'node:crypto';
import type { Server } from '@hapi/hapi';
import { DomainError } from '../../../config/errors.ts';
import type { ThreadMetrics } from './counting.ts';

/** The exposition format of Prometheus, version 0.0.4. */
export const metricsType = 'text/plain; version=0.0.4; charset=utf-8';

/**
 * `GET /metrics` for a caller with the token. Without a token, or if metrics have a separate address, the route does
 * not exist.
 */
export function metricsRoute(server: Server, metrics: ThreadMetrics | null): void {
  const tokenHash = metrics?.tokenHash ?? null;
  if (!metrics || !tokenHash) return;
  server.route({
    method: 'GET',
    path: '/metrics',
    options: { auth: false },
    handler: async (request, h) => {
      if (!mayRead(request.headers.authorization, tokenHash))
        throw new DomainError('unauthorized', 'the metrics need their token, as Authorization: Bearer');
      const text = await metrics.text();
      return h.response(text).type(metricsType).header('cache-control', 'no-store');
    },
  });
}

/** Hashes a token, so that tokens of all lengths are compared in the same time. */
export function hashOfToken(token: string): Buffer {
  return hash('sha256', token, 'buffer');
}

/** Whether a header has the token. The time that the answer takes does not tell how much of it is right. */
export function mayRead(authorization: unknown, tokenHash: Uint8Array): boolean {
  const [, token] = /^bearer +(\S+) *$/i.exec(typeof authorization === 'string' ? authorization : '') ?? [];
  return token !== undefined && timingSafeEqual(hashOfToken(token), tokenHash);
}
