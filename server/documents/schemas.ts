import { hash } from 'node:crypto';
import type { Server } from '@hapi/hapi';
import { type CollectionSchema, type GlobalSchema, globalsCategory, type Schema } from '../../config/schema.ts';
import { epochsOf } from '../../projections/tables/epochs.ts';
import { requireSchemaAccess } from '../access/access.ts';
import { erasesSome } from '../access/erasing.ts';
import { rightsToFields } from '../access/field-access.ts';
import { managesKeys } from '../access/key-management.ts';
import { isOutsideScopes } from '../access/key-scopes.ts';
import { rightsOf } from '../access/list-scope.ts';
import { grantedScopes } from '../access/rights.ts';
import type { App, RouteCall, Target } from '../app.ts';
import { strategy } from '../callers/authentication.ts';
import { actorOf, madeKeyOf } from '../http/requests.ts';
import { schemasOperation } from '../openapi/system-operations.ts';
import { version } from '../platform/version.ts';
import { readQuery } from '../queries/parameters.ts';
import { momentParameter } from '../queries/query.ts';
import { stillMissing } from '../reads/missing-index.ts';
import type { SeenMissing } from '../reads/missing-list.ts';
import { readSchemasAsOf, tellPosition } from './past/as-of.ts';
import { withNamesOfToday } from './past/schema-names.ts';
import { sendTagged } from './read/sending.ts';
import { type ShownSchemas, showFields, showSchemas } from './schema-answers.ts';

/**
 * The fields of the collections and globals (contract, section 4.5), with the rights of the caller. With `asOf` the
 * schemas are as of that moment, and the rights those of today.
 */
export function schemas(server: Server, app: App): void {
  const { model } = app;
  const all = showSchemas(model.schema, model);
  server.route({
    method: 'GET',
    path: '/api/schemas',
    options: { auth: strategy, plugins: { openApi: () => schemasOperation(model) } },
    handler: async (request, h) => {
      requireSchemaAccess(model, request);
      const moment = await readSchemasAsOf(app, request);
      readQuery(momentParameter, request.query, app);
      const epoch = moment && epochsOf(app.events).findLast(({ position }) => position <= moment.position);
      // Before the first epoch there was no schema.
      const then = epoch?.schema ?? { collections: [], globals: [] };
      const schema = moment ? withNamesOfToday(then, app.names) : model.schema;
      const shown = moment ? showSchemas(schema, model) : all;
      const { admin, richText = null } = model;
      const text = JSON.stringify({
        ...(await withAccess({ app, request }, shown, schema)),
        admin: admin && { title: admin.title, logo: admin.logo },
        richText,
        ...(await aboutCaller({ app, request })),
      });
      return tellPosition(request, sendTagged(h, text, hash('sha256', text, 'base64url').slice(0, 16)));
    },
  });
}

async function withAccess(call: RouteCall, shown: ShownSchemas, schema: Schema): Promise<ShownSchemas> {
  const { app, request } = call;
  if (madeKeyOf(request)) return readableIn(call, shown);
  if (actorOf(request).type !== 'user') return shown;
  const [collections, globals] = await Promise.all([
    withRights(call, { shown: shown.collections, declared: schema.collections, targets: app.collections }),
    withRights(call, { shown: shown.globals, declared: schema.globals, targets: app.globals }),
  ]);
  return { collections, globals };
}

/** The schemas that an API key made at run time may read: all of them, if the configuration makes them public. */
function readableIn({ app, request }: RouteCall, { collections, globals }: ShownSchemas): ShownSchemas {
  if (app.model.publicSchema) return { collections, globals };
  return {
    collections: collections.filter((one) => !isOutsideScopes(request, { ...one, kind: 'collection' }, 'read')),
    globals: globals.filter(({ slug }) => {
      return !isOutsideScopes(request, { kind: 'global', slug, category: globalsCategory }, 'read');
    }),
  };
}

type Entries<T> = {
  shown: readonly T[];
  declared: readonly (CollectionSchema | GlobalSchema)[];
  targets: ReadonlyMap<string, Target>;
};

function withRights<T extends { slug: string }>({ app, request }: RouteCall, { shown, declared, targets }: Entries<T>) {
  return Promise.all(
    shown.map(async (entry, index) => {
      const target = targets.get(entry.slug);
      // No caller reads or writes a target that is no longer configured.
      if (!target) return { ...entry, access: {} };
      const call = { app, request, target };
      const access = await rightsOf(call);
      const { read = false, update = false, create = update } = access;
      const rights = await rightsToFields(call, { read, create, update });
      const fields = showFields(declared[index]?.fields ?? [], { models: target.model.fields, rights });
      return { ...entry, fields, access };
    }),
  );
}

/** The members about the caller; none for a caller without a credential. */
async function aboutCaller(call: RouteCall) {
  const { app, request } = call;
  if (actorOf(request).type === 'anonymous') return {};
  const [audit, keys, erase] = await Promise.all([grantedScopes(app, request), managesKeys(call), erasesSome(call)]);
  const missingIndexes = keys ? await missingIn(app) : [];
  return {
    user: { audit, keys, erase },
    limits: app.model.limits,
    version: version(),
    ...(missingIndexes.length > 0 ? { missingIndexes } : {}),
  };
}

/** The missing indexes, for callers who run the service. The main thread, which has the list, may be about to end. */
async function missingIn({ missingIndexes, model }: App): Promise<SeenMissing[]> {
  return stillMissing(await missingIndexes.all().catch(() => []), model.schema);
}
