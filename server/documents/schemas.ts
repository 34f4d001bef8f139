import { hash } from 'node:crypto';
import type { Request, Server } from '@hapi/hapi';
import { type CollectionSchema, type GlobalSchema, globalsCategory } from '../../config/schema.ts';
import { epochsOf } from '../../projections/tables/epochs.ts';
import { requireSchemaAccess } from '../access/access.ts';
import { erasesSome } from '../access/erasing.ts';
import { rightsToFields } from '../access/field-access.ts';
import { managesKeys } from '../access/key-management.ts';
import { isOutsideScopes } from '../access/key-scopes.ts';
import { rightsOf } from '../access/list-scope.ts';
import { grantedScopes } from '../access/rights.ts';
import type { App, Target } from '../app.ts';
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
 * The fields of the collections and globals (contract, section 4.5), with what the caller may do. Of the schemas as
 * they were, the rights are those of today.
 */
export function schemas(server: Server, app: App): void {
  const { model } = app;
  const all = showSchemas(model.schema, model);
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
      const then = epoch?.schema ?? { collections: [], globals: [] };
      const schema = moment ? withNamesOfToday(then, app.names) : model.schema;
      const shown = moment ? showSchemas(schema, model) : all;
      const { admin, richText = null } = model;
      const text = JSON.stringify({
        ...(await withAccess(request, shown, schema)),
        admin: admin && { title: admin.title, logo: admin.logo },
        richText,
        ...(await aboutCaller(request)),
      });
      return tellPosition(request, sendTagged(h, text, hash('sha256', text, 'base64url').slice(0, 16)));
    },
  });

  /** A key that was made at run time is told of what it may read, and where all is public, of all. */
  function readableIn(request: Request, { collections, globals }: ShownSchemas): ShownSchemas {
    if (model.publicSchema) return { collections, globals };
    return {
      collections: collections.filter((one) => !isOutsideScopes(request, { ...one, kind: 'collection' }, 'read')),
      globals: globals.filter(({ slug }) => {
        return !isOutsideScopes(request, { kind: 'global', slug, category: globalsCategory }, 'read');
      }),
    };
  }

  async function withAccess(request: Request, shown: ShownSchemas, schema: typeof model.schema): Promise<ShownSchemas> {
    if (madeKeyOf(request)) return readableIn(request, shown);
    if (actorOf(request).type !== 'user') return shown;
    const [collections, globals] = await Promise.all([
      withRights(request, { shown: shown.collections, declared: schema.collections, targets: app.collections }),
      withRights(request, { shown: shown.globals, declared: schema.globals, targets: app.globals }),
    ]);
    return { collections, globals };
  }

  type Entries<T> = {
    shown: readonly T[];
    declared: readonly (CollectionSchema | GlobalSchema)[];
    targets: ReadonlyMap<string, Target>;
  };

  function withRights<T extends { slug: string }>(request: Request, { shown, declared, targets }: Entries<T>) {
    return Promise.all(
      shown.map(async (entry, index) => {
        const target = targets.get(entry.slug);
        // No caller reads or writes what is configured no longer.
        if (!target) return { ...entry, access: {} };
        const call = { app, request, target };
        const [access, rights] = await Promise.all([rightsOf(call, tellOnce), rightsToFields(call)]);
        const fields = showFields(declared[index]?.fields ?? [], { models: target.model.fields, rights });
        return { ...entry, fields, access };
      }),
    );
  }

  /** For callers with a credential. */
  async function aboutCaller(request: Request) {
    if (actorOf(request).type === 'anonymous') return {};
    const call = { app, request };
    const [audit, keys, erase] = await Promise.all([grantedScopes(app, request), managesKeys(call), erasesSome(call)]);
    const missingIndexes = keys ? await missing() : [];
    return {
      user: { audit, keys, erase },
      limits: model.limits,
      version: version(),
      ...(missingIndexes.length > 0 ? { missingIndexes } : {}),
    };
  }

  /** For those who run the service. The main thread, which has the list, may be about to end. */
  async function missing(): Promise<SeenMissing[]> {
    const listed = await app.missingIndexes.all().catch(() => []);
    return stillMissing(listed, model.schema);
  }

  function tellOnce(rule: string, err: unknown): void {
    if (told.has(rule)) return;
    told.add(rule);
    app.log.error({ err }, `${rule} failed: its flag in /api/schemas is false. This is logged once`);
  }
}
