import type { Request, Server } from '@hapi/hapi';
import type { Schema } from '../../config/schema.ts';
import { requireSchemaAccess, rightsOf } from '../access.ts';
import { sendText } from '../answers.ts';
import type { App, Target } from '../app.ts';
import { strategy } from '../authentication.ts';
import { schemasOperation } from '../openapi/operations.ts';
import { readNoQuery } from '../query.ts';
import { actorOf } from '../requests.ts';

/**
 * What the collections and globals are made of (contract, section 4.5), as text that is made once. Only for a user it is
 * made anew, with what this one may do.
 */
export function schemas(server: Server, app: App): void {
  const { model } = app;
  const all = schemasOf(model.schema);
  const text = JSON.stringify(all);
  server.route({
    method: 'GET',
    path: '/api/schemas',
    options: { auth: strategy, plugins: { openApi: () => schemasOperation(model) } },
    handler: async (request, h) => {
      requireSchemaAccess(model, request);
      readNoQuery(request.query);
      return sendText(h, actorOf(request).type === 'user' ? await textFor(request) : text);
    },
  });

  async function textFor(request: Request): Promise<string> {
    const [collections, globals] = await Promise.all([
      withRights(request, all.collections, app.collections),
      withRights(request, all.globals, app.globals),
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
        return { ...entry, access: await rightsOf(app, request, targets.get(entry.slug) as Target) };
      }),
    );
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
