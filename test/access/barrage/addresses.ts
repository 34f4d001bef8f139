import { checkConfig } from '../../../config/check.ts';
import type { Collection, Field, Global } from '../../../config/model.ts';
import { common } from './canaries.ts';
import { config } from './config.ts';
import type { Route } from './routes.ts';
import type { Ids } from './world.ts';

const { collections, globals } = checkConfig(config);

/** A request address; `isBase`: without a query. */
export type Address = { route: Route; path: string; isBase: boolean };

/**
 * All addresses of routes: each place in each path, and behind each the values of each query parameter that the route
 * declares.
 */
export function addressesOf(routes: readonly Route[], ids: Ids): Address[] {
  return routes.flatMap((route) => pathsOf(route, ids).flatMap((path) => withQueries(route, path, ids)));
}

function withQueries(route: Route, path: string, ids: Ids): Address[] {
  const declared = Object.keys(route.operation?.query ?? {});
  const fields = fieldPaths(collections.get(route.slug) ?? globals.get(route.slug));
  const valuesOf = (name: string) => values[name]?.({ fields, ids }) ?? unknown(route, `the query parameter ${name}`);
  const each = declared.flatMap((name) => valuesOf(name).map((value) => pair(name, value)));
  // Parameters that look back or deeper, together with those that say what to show.
  const [first, ...rest] = ['asOf', 'depth', 'q', 'where', 'proven'].filter((name) => declared.includes(name));
  const together =
    first === undefined
      ? []
      : rest.map((name) => `${pair(first, valuesOf(first).at(-1))}&${pair(name, valuesOf(name).at(-1))}`);
  return [
    { route, path, isBase: true },
    ...[...each, ...together].map((query) => ({ route, path: `${path}?${query}`, isBase: false })),
  ];
}

const pair = (name: string, value = '') => `${name}=${encodeURIComponent(value)}`;

/** The paths of a route with all that can stand in the place of its parameters. */
export function pathsOf(route: Route, ids: Ids): string[] {
  const { path } = route;
  if (path.startsWith('/api/media/')) return [...ids.files];
  const name = /\{(\w+)\*?\}/.exec(path)?.[1];
  if (name === undefined) return [path];
  if (name === 'slug') {
    const isGlobal = /\/globals\/\{slug\}/.test(path);
    const slugs = isGlobal
      ? [...globals.keys()]
      : [...collections.values()].filter(({ auth }) => auth || !/accounts/.test(path)).map(({ slug }) => slug);
    return slugs.flatMap((slug) => pathsOf({ ...route, path: path.replace('{slug}', slug) }, ids));
  }
  const found = places[name]?.({ path, ids }) ?? unknown(route, `the part {${name}} of its path`);
  return found.flatMap((value) => pathsOf({ ...route, path: path.replace(/\{\w+\*?\}/, value) }, ids));
}

function unknown(route: Route, what: string): never {
  throw new Error(`${route.name}: test/access/barrage/addresses.ts has no values for ${what}`);
}

/** The values of each parameter of a path. */
const places: Record<string, (asked: { path: string; ids: Ids }) => readonly string[]> = {
  id: ({ path, ids }) => {
    if (/\/invit(es|ations)\/\{id\}/.test(path)) return [ids.invitation];
    if (path.startsWith('/api/keys/')) return [ids.key];
    if (path.startsWith('/api/releases/')) return [ids.release];
    if (path.startsWith('/api/preview-tokens/')) return [ids.viewToken];
    if (path.startsWith('/api/webhooks/')) return [ids.delivery];
    const [, slug = ''] = /\/([\w-]+)\/\{id\}/.exec(path) ?? [];
    return ids.documents[slug] ?? [];
  },
  document: ({ path, ids }) => {
    const [, slug = ''] = /\/items\/([\w-]+)\//.exec(path) ?? [];
    return (ids.documents[slug] ?? []).slice(0, 1);
  },
  version: () => ['1', '2'],
  position: ({ path, ids }) => (path.includes('erasures') ? [String(ids.erasure)] : ['1', String(ids.position)]),
  sid: ({ ids }) => [ids.session],
  batch: ({ ids }) => [ids.batch],
  path: ({ path, ids }) =>
    path.includes('/tile/') ? ['0/000', `entries/000.p/${ids.position}`, 'entries/000'] : ['', 'collections/posts'],
  name: ({ path }) => (path.startsWith('/api/webhooks/') ? ['front'] : ['index.js']),
  any: () => ['nothing', '.env', 'api/collections'],
};

type Asked = { fields: readonly string[]; ids: Ids };

const each = ({ fields }: Asked) => fields;
const some = ({ fields }: Asked) => fields.slice(0, 8);
const numbers = () => ['0', '1', '2'];
const flags = () => ['true', 'false'];
const ofActors = () => ['true'];
const slugs = () => [
  ...collections.keys(),
  ...[...globals.keys()].map((slug) => `globals/${slug}`),
  'system',
  'accounts',
];

/** The values of each query parameter. */
const values: Record<string, (asked: Asked) => readonly string[]> = {
  limit: () => ['1', '100'],
  page: () => ['2'],
  next: () => ['', '1', '1000'],
  count: () => ['none', 'all'],
  depth: () => ['1', '3'],
  select: ({ fields }) => [...fields, fields.slice(0, 20).join(',')],
  sort: each,
  where: ({ fields }) => fields.map((field) => JSON.stringify({ [field]: { like: common } })),
  q: () => [common, 'open'],
  asOf: ({ ids }) => ['1', String(Math.ceil(ids.position / 2)), String(ids.position)],
  groupBy: each,
  field: each,
  min: each,
  // The other functions are read as "min" is.
  max: some,
  sum: some,
  avg: some,
  collections: () => [...collections.keys()],
  collection: slugs,
  token: () => ['x', 'a.b.c'],
  stream: ({ ids }) => Object.entries(ids.documents).flatMap(([slug, all]) => all.map((id) => `${slug}/${id}`)),
  batch: ({ ids }) => [ids.batch],
  type: () => ['document.created', 'apikey.created', 'invite.created'],
  actor: () => ['user', 'apiKey', 'anonymous'],
  from: numbers,
  to: ({ ids }) => ['1', String(ids.position)],
  since: numbers,
  actors: ofActors,
  format: () => ['ndjson', 'csv', 'json'],
  covers: numbers,
  version: numbers,
  files: flags,
  complete: flags,
  state: () => ['parked', 'pending'],
  dryRun: () => ['true'],
  draft: () => ['true'],
  release: ({ ids }) => [ids.release],
  preview: () => ['x'],
  proven: () => ['true'],
};

/**
 * The paths of the fields of a collection or global, also of those inside of others, and of those that a relationship
 * leads to.
 */
export function fieldPaths(model: Collection | Global | undefined, hops = 1): string[] {
  if (!model) return ['id'];
  return ['id', 'createdAt', ...model.fields.flatMap((field) => pathsOfField(field, hops))];
}

function pathsOfField(field: Field, hops: number): string[] {
  const { name, relationTo, collection } = field;
  const inside = [...(field.fields ?? []), ...(field.blocks ?? []).flatMap(({ fields }) => fields)];
  const target = collections.get(relationTo ?? collection ?? '');
  const further = target && hops > 0 ? fieldPaths(target, hops - 1) : [];
  const deeper = [...inside.flatMap((one) => pathsOfField(one, hops)), ...further];
  return [name, ...deeper.map((path) => `${name}.${path}`)];
}
