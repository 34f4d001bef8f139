import type {
  AuditScope,
  CollectionAdmin,
  CollectionSchema,
  GlobalAdmin,
  GlobalSchema,
  MissingIndex,
  Schemas,
} from '../../../client/index.ts';
import { type Field, inWords } from './fields.ts';

type Rights = { read: boolean; create: boolean; update: boolean; delete: boolean } & DraftRights;

/** The rights to drafts; both false without drafts. */
type DraftRights = { readDrafts: boolean; publish: boolean };

/** A collection as the application shows it. */
export type Collection = {
  slug: string;
  /** The first part of the names of its streams: the slug that the collection was created with. */
  category: string;
  singular: string;
  plural: string;
  fields: Field[];
  isAuth: boolean;
  upload: false | { maxFileSize: number; mimeTypes?: string[] };
  hasPublicHistory: boolean;
  requireReason: boolean;
  hasDrafts: boolean;
  hints: CollectionAdmin;
  /** The rights of the user. With drafts, who neither reads drafts nor publishes has no right to write. */
  access: Rights;
};

/** A global as the application shows it. */
export type Global = {
  slug: string;
  label: string;
  fields: Field[];
  hasDrafts: boolean;
  hints: GlobalAdmin;
  access: { read: boolean; update: boolean } & DraftRights;
};

/** The configuration as the user may see it, by slug. */
export type Model = {
  collections: Map<string, Collection>;
  globals: Map<string, Global>;
  title: string;
  logo: string | null;
  /** The features of the editor of rich text; null: all. */
  richText: string[] | null;
  audit: Set<AuditScope>;
  /** Whether the user manages API keys. */
  managesKeys: boolean;
  /** The indexes whose lack made reads slow; empty for users who do not manage API keys. */
  missingIndexes: MissingIndex[];
  limits: { body: number; bulkBody: number };
  version: string;
};

/** Reads the answer of `/api/schemas`. */
export function modelOf(schemas: Schemas): Model {
  return {
    collections: new Map(schemas.collections.map((schema) => [schema.slug, collectionOf(schema)])),
    globals: new Map(schemas.globals.map((schema) => [schema.slug, globalOf(schema)])),
    title: schemas.admin?.title ?? 'Annals',
    logo: schemas.admin?.logo ?? null,
    richText: schemas.richText?.features ?? null,
    audit: new Set(schemas.user?.audit),
    managesKeys: schemas.user?.keys === true,
    missingIndexes: schemas.missingIndexes ?? [],
    limits: schemas.limits ?? { body: 1024 * 1024, bulkBody: 8 * 1024 * 1024 },
    version: schemas.version ?? '',
  };
}

function collectionOf(schema: CollectionSchema): Collection {
  const plural = schema.labels?.plural ?? inWords(schema.slug);
  return {
    slug: schema.slug,
    category: schema.category,
    singular: schema.labels?.singular ?? plural,
    plural,
    fields: schema.fields,
    isAuth: schema.auth,
    upload: schema.upload,
    hasPublicHistory: schema.history === 'public',
    requireReason: schema.requireReason,
    hasDrafts: schema.drafts !== undefined,
    hints: schema.admin ?? {},
    access: rightsOf(schema, schema.access ?? { read: true, create: false, update: false, delete: false }),
  };
}

function globalOf(schema: GlobalSchema): Global {
  return {
    slug: schema.slug,
    label: schema.label ?? inWords(schema.slug),
    fields: schema.fields,
    hasDrafts: schema.drafts !== undefined,
    hints: schema.admin ?? {},
    access: rightsOf(schema, schema.access ?? { read: true, update: false }),
  };
}

/** The rights to a target, with those to drafts. A write that saves no draft publishes, so it needs that right too. */
function rightsOf<Shown extends { read: boolean; readDrafts?: boolean; publish?: boolean }>(
  { drafts }: { drafts?: unknown },
  shown: Shown,
): Shown & DraftRights {
  const { read } = shown;
  if (drafts === undefined) return { ...shown, readDrafts: false, publish: false };
  const [readDrafts, publish] = [shown.readDrafts === true, shown.publish === true];
  const rights = { ...shown, readDrafts, publish };
  if (readDrafts || publish) return rights;
  const names = Object.keys(shown) as (keyof Shown)[];
  return { ...rights, ...Object.fromEntries(names.map((name) => [name, false])), read };
}

/**
 * Whether the user works on drafts of a collection or global: reads and writes are then of drafts, and publishing is a
 * step of its own. Everybody else reads what is public, and publishes by each save.
 */
export function isOfDrafts({ hasDrafts, access }: Pick<Collection | Global, 'hasDrafts' | 'access'>): boolean {
  return hasDrafts && access.readDrafts;
}

/** The option of calls to a target that are about drafts; none where they are about what is public. */
export function viewOf(target: Pick<Collection | Global, 'hasDrafts' | 'access'>): { draft?: true } {
  return isOfDrafts(target) ? { draft: true } : {};
}

/** The option of calls about all collections: the drafts of those on which the user works. */
export function viewOfAny({ collections }: Pick<Model, 'collections'>): { draft?: true } {
  return [...collections.values()].some(isOfDrafts) ? { draft: true } : {};
}

/** The collection whose streams begin with a name; undefined if it is gone or hidden from the user. */
export function collectionRecordedAs({ collections }: Model, category: string): Collection | undefined {
  return [...collections.values()].find((one) => one.category === category);
}

/** The entries below one heading of the navigation; `name` is null for the entries without a group. */
type Group = { name: string | null; collections: Collection[]; globals: Global[] };

/**
 * The collections and globals of the navigation, in the order of the configuration; those without a group come first.
 */
export function groupsOf(model: Model): Group[] {
  const groups = new Map<string | null, Group>([[null, { name: null, collections: [], globals: [] }]]);
  const groupOf = (name: string | null): Group => {
    const group = groups.get(name) ?? { name, collections: [], globals: [] };
    groups.set(name, group);
    return group;
  };
  for (const collection of model.collections.values()) {
    const isElsewhere = collection.isAuth || collection.slug.startsWith('__');
    if (collection.hints.hidden || isElsewhere || !collection.access.read) continue;
    groupOf(collection.hints.group ?? null).collections.push(collection);
  }
  for (const global of model.globals.values()) {
    if (!global.hints.hidden && global.access.read) groupOf(global.hints.group ?? null).globals.push(global);
  }
  return [...groups.values()].filter((group) => group.collections.length + group.globals.length > 0);
}
