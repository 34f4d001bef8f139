import type { Server } from '@hapi/hapi';
import type { App } from '../app.ts';

/** `/health`: the process answers. `/ready`: it also takes requests; 503 while it stops. */
export function health(server: Server, app: App): void {
  server.route([
    { method: 'GET', path: '/health', options: { auth: false }, handler: () => ({ status: 'ok' }) },
    {
      method: 'GET',
      path: '/ready',
      options: { auth: false },
      handler: (_request, h) =>
        h.response({ status: app.isReady ? 'ready' : 'stopping' }).code(app.isReady ? 200 : 503),
    },
  ]);
}
