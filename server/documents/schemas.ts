import type { Request, Server } from '@hapi/hapi';
import type { Schema } from '../../config/schema.ts';
import { epochsOf } from '../../projections/epochs.ts';
import { requireSchemaAccess } from '../access/access.ts';
import { rightsOf } from '../access/list-scope.ts';
import type { App, Target } from '../app.ts';
import { strategy } from '../callers/authentication.ts';
import { actorOf } from '../http/requests.ts';
import { schemasOperation } from '../openapi/system-operations.ts';
import { readQuery } from '../queries/parameters.ts';
import { momentParameter } from '../queries/query.ts';
import { readSchemasAsOf, tellPosition } from './past/as-of.ts';
import { sendText } from './sending.ts';

/**
 * The fields of the collections and globals (contract, section 4.5), as text that is made once. Only for a user it is
 * made anew, with what this one may do.
 */
export function schemas(server: Server, app: App): void {
  const { model } = app;
  const all = schemasOf(model.schema);
  const text = JSON.stringify(all);
  /** The rules that have been logged: each page built on this would log them again. */
  const told = new Set<string>();
  server.route({
    method: 'GET',
    path: '/api/schemas',
    options: { auth: strategy, plugins: { openApi: () => schemasOperation(model) } },
    handler: async (request, h) => {
      requireSchemaAccess(model, request);
      const moment = await readSchemasAsOf(app, request);
      readQuery(momentParameter, request.query, app);
      const epoch = moment && epochsOf(app.events).findLast(({ position }) => position <= moment.position);
      // Before the first there was nothing.
      const shown = moment ? schemasOf(epoch?.schema ?? { collections: [], globals: [] }) : all;
      if (actorOf(request).type === 'user') return tellPosition(request, sendText(h, await textFor(request, shown)));
      return tellPosition(request, sendText(h, moment ? JSON.stringify(shown) : text));
    },
  });

  async function textFor(request: Request, shown: typeof all): Promise<string> {
    const [collections, globals] = await Promise.all([
      withRights(request, shown.collections, app.collections),
      withRights(request, shown.globals, app.globals),
    ]);
    return JSON.stringify({ collections, globals });
  }

  function withRights<T extends { slug: string }>(
    request: Request,
    entries: readonly T[],
    targets: ReadonlyMap<string, Target>,
  ) {
    return Promise.all(
      entries.map(async (entry) => {
        const target = targets.get(entry.slug);
        // No caller reads or writes what is configured no longer.
        return { ...entry, access: target ? await rightsOf({ app, request, target }, tellOnce) : {} };
      }),
    );
  }

  function tellOnce(rule: string, err: unknown): void {
    if (told.has(rule)) return;
    told.add(rule);
    app.log.error({ err }, `${rule} failed: its flag in /api/schemas is false. This is logged once`);
  }
}

/** Every member is present, whatever the configuration leaves out. */
function schemasOf({ collections, globals }: Schema) {
  return {
    collections: collections.map(({ slug, labels = null, fields, auth = false, upload = false }) => {
      return { slug, labels, fields, auth, upload };
    }),
    globals: globals.map(({ slug, label = null, fields }) => ({ slug, label, fields })),
  };
}
