import type { Server } from '@hapi/hapi';
import type { App } from '../../app.ts';
import { strategy } from '../../callers/authentication.ts';
import { sendText } from '../../documents/read/sending.ts';
import { pageText } from '../../documents/read/serialize.ts';
import { whenReadable } from '../../queries/moments.ts';
import { readQuery } from '../../queries/parameters.ts';
import { batchOperation } from './operations.ts';
import { batchParameters } from './parameters.ts';
import { readBatch } from './reading.ts';

/** The route of a bulk call. */
export function batches(server: Server, app: App): void {
  server.route({
    method: 'GET',
    path: '/api/batches/{batch}',
    options: { auth: strategy, plugins: { openApi: batchOperation } },
    handler: async (request, h) => {
      // The rules are asked about the state after all events that the log has by now.
      await whenReadable(app, app.events.head().size);
      const query = readQuery(batchParameters, request.query, app);
      const { call, docs, total } = await readBatch({ app, request }, String(request.params.batch), query);
      return sendText(h, `${JSON.stringify(call).slice(0, -1)},${pageText(docs, total, query).slice(1)}`);
    },
  });
}
