import Hapi, { type Plugin, type RequestRoute } from '@hapi/hapi';
import type { Model } from '../../config/model.ts';
import type { App } from '../app.ts';
import { version } from '../platform/version.ts';
import type { Api } from '../ports.ts';
import { auditSchemasOf } from './audit/components.ts';
import { refusalsOf, schemesOf, securityOf, withSite } from './callers.ts';
import { componentsOf } from './components.ts';
import { ofGlobalsTag, ofTag } from './descriptions.ts';
import type { ApiSchema } from './fields.ts';
import { loadHapiSwagger } from './generator.ts';
import { type GeneratedDocument, mend } from './mend.ts';
import type { ApiOperation } from './operation.ts';
import { shareParts } from './shared-parts.ts';

const jsonPath = '/openapi.json';

const description = [
  'Reads, filters, searches and writes the documents of each collection and global, restores their past versions, and ' +
    'manages accounts, API keys and webhooks. Every answer is JSON, except files.',
  'A document has all its fields, except those that `select` does not name or that the caller may not read. A write by a ' +
    'caller who may not read the document answers its id, its times and the fields that were sent. Documents written under ' +
    'an earlier configuration are returned unchanged, and so are the results of read hooks: both may break the rules ' +
    'described here. Texts may not contain NUL characters or lone surrogates.',
  'If the configuration limits calls (429), `RateLimit` and `RateLimit-Policy` of counted calls say how many are left. If ' +
    'the log is in PostgreSQL, the answer to a write has the header `Annals-Position`, which later reads may send back. Any ' +
    'request may then be answered with 503 and `Retry-After`, because this node does not see the writes of other nodes, or ' +
    'because the outcome of a write is not known; a retry with the same `Idempotency-Key` finds it out.',
].join('\n\n');

const auditDescription =
  'The history of documents and accounts with authors and reasons, and the proofs of it. These routes are not part of ' +
  '`/api/openapi.json`. Events written under an earlier configuration are returned unchanged.';

type ServiceParts = Pick<App, 'model' | 'site' | 'basePath'>;

type Contents = {
  title: (name: string) => string;
  description: string;
  tags: (model: Model) => Tag[];
  schemas: (model: Model) => Record<string, ApiSchema>;
};

const contents: Record<Api, Contents> = {
  contract: { title: (name) => name, description, tags: tagsOf, schemas: componentsOf },
  audit: {
    title: (name) => `${name}: audit`,
    description: auditDescription,
    tags: () => auditTags,
    schemas: auditSchemasOf,
  },
};

/**
 * Makes an OpenAPI document of the service: hapi-swagger writes it from the routes, on a server of its own that never
 * listens, and {@link mend} adds what it cannot know. This takes a tenth of a second and more: do it once.
 *
 * @param routes all of the service; those that describe an operation of this document are in it.
 */
export async function makeOpenApi<A extends ServiceParts>(
  app: A,
  routes: Plugin<{ app: A }>,
  api: Api = 'contract',
): Promise<string> {
  const { tags, schemas } = contents[api];
  const server = Hapi.server({ debug: false });
  await server.register({ plugin: routes, options: { app } });
  const described = server.table().filter(({ path }) => apiOf(path) === api);
  const operations = new Map(described.flatMap((route) => describe(route, app)));
  await server.register({
    plugin: loadHapiSwagger(),
    options: {
      OAS: 'v3.0',
      jsonPath,
      documentationPage: false,
      swaggerUI: false,
      // By default only routes with the tag `api` are shown, and never under it; but a collection may be called that.
      routeTag: (tags: string[]) => tags.length > 0,
      tagsGroupingFilter: () => true,
      grouping: 'tags',
      info: infoOf(app.model, api),
      tags: tags(app.model),
      securityDefinitions: schemesOf(app.model, app.site),
    },
  });
  const { statusCode, result } = await server.inject(jsonPath);
  if (statusCode !== 200) throw new Error(`hapi-swagger answered ${statusCode}: ${JSON.stringify(result)}`);
  const parts = { operations, schemas: schemas(app.model), basePath: app.basePath };
  return JSON.stringify(shareParts(mend(result as GeneratedDocument, parts)));
}

/** The author's words where there are some, but for the audit routes, which are the same in every service. */
function infoOf({ openapi }: Model, api: Api): Record<'title' | 'version' | 'description', string> {
  const { title, description: ours } = contents[api];
  return {
    title: title(openapi.title ?? 'Annals'),
    version: openapi.version ?? version(),
    description: api === 'contract' ? (openapi.description ?? ours) : ours,
  };
}

function apiOf(path: string): Api {
  return path.startsWith('/api/audit/') ? 'audit' : 'contract';
}

/** Tells hapi-swagger about a route, in its words. A route without an operation is not part of the API. */
function describe(
  { method, path, settings }: RequestRoute,
  { model, site }: ServiceParts,
): [id: string, ApiOperation][] {
  const { plugins = {} } = settings;
  if (!plugins.openApi) return [];
  const operation = plugins.openApi();
  const { id, tag, summary, description, params, headers, caller } = operation;
  settings.tags = [tag];
  settings.description = summary;
  settings.notes = description;
  const credentials = securityOf(model, caller);
  // Routes outside of the API belong to the process.
  const security = site !== null && path.startsWith('/api/') ? withSite(credentials) : credentials;
  Object.assign(plugins, { 'hapi-swagger': { id, validate: { params, headers }, security } });
  return [[id, { ...operation, answers: { ...refusalsOf(model, caller, method !== 'get'), ...operation.answers } }]];
}

type Tag = { name: string; description: string };

const auditTags: Tag[] = [
  { name: 'histories', description: 'The histories of documents, globals, accounts and invitations.' },
  { name: 'events', description: 'The events of the whole log.' },
  { name: 'proofs', description: 'Checkpoints and proofs of the log, for independent verification.' },
  { name: 'exports', description: 'Evidence packs, and ranges of the log.' },
  { name: 'erasures', description: 'Erasing documents, and the progress of erasures.' },
  { name: 'system', description: 'This description.' },
];

function tagsOf(model: Model): Tag[] {
  const collections = [...model.collections.values()].map((one) => ({ name: one.slug, description: ofTag(one) }));
  const globals = [...model.globals.values()];
  return [
    ...collections,
    ...(globals.length > 0 ? [{ name: 'globals', description: ofGlobalsTag(globals) }] : []),
    {
      name: 'system',
      description:
        'The configuration, bulk calls, API keys, webhooks, previews of drafts, and the health of the service.',
    },
  ];
}
