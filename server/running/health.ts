import type { Server } from '@hapi/hapi';
import type { App } from '../app.ts';
import { answerState } from '../http/errors.ts';
import { healthOperation, readyOperation } from '../openapi/system-operations.ts';

/** `/health`: the process answers. `/ready`: it is also meant to be used, 503 during the first load and at the end. */
export function health(server: Server, app: App): void {
  server.route([
    {
      method: 'GET',
      path: '/health',
      options: { auth: false, plugins: { openApi: healthOperation } },
      handler: () => ({ status: 'ok' }),
    },
    {
      method: 'GET',
      path: '/ready',
      options: { auth: false, plugins: { openApi: readyOperation } },
      handler: (_request, h) => answerState(h, app.state()),
    },
  ]);
}
