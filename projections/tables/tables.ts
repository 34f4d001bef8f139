import { hash } from 'node:crypto';
import { type Affinity, affinityOf, typeFacts } from '../../config/field-types.ts';
import { fieldsOfObject, withParts } from '../../config/nesting.ts';
import {
  type CollectionSchema,
  categoryOf,
  type DataField,
  dataFields,
  type FieldSchema,
  type JsonObject,
  type Schema,
} from '../../config/schema.ts';
import { globalStream } from '../../events/facts/catalogue.ts';
import type { Upcaster } from '../../events/facts/upcasters.ts';
import type { Sqlite } from '../../storage/sqlite.ts';
import { createAccountTables } from './account-fold.ts';
import { createApiKeyTable } from './api-keys.ts';
import { createAuditTables } from './audit.ts';
import { createReleaseTables } from './releases.ts';

/** Part of the projection hash: raise it when the tables or what is written to them change, and they are rebuilt. */
const engineVersion = 11;
/** Also part of the hash: what one version of Unicode has folded, another may not find. */
const { unicode } = process.versions;

/** Whether an index of texts can find rows of these tables: it holds the public documents of today. */
export function isInTextIndex({ isPast = false, overlay, line }: Tables): boolean {
  return !isPast && overlay === undefined && line !== 'draft';
}

/** A column that serves `where` and `sort`: the value at `path` of a document. */
export type Column = {
  name: string;
  path: string[];
  affinity: Affinity;
  /** False: computed from the document on demand. Long texts are not worth a second copy in every row. */
  isStored: boolean;
  isIndexed: boolean;
  /** Whether two of its texts can differ and be folded alike. Ids, dates and times have one case. */
  hasCase: boolean;
  /** The column beside it with the folded text, if an index has to serve sorting too. */
  key: string | null;
};

/** A list of ids of related documents, kept as rows so that it can be followed backwards. */
type LinkField = { name: string };

/** The public states of documents, or the drafts that differ from them. */
type Line = 'public' | 'draft';

/**
 * The columns about the two lines of a document, beside the columns of its fields. `versions` have them too, except
 * `head`, the version of the whole stream: the greater of those in both tables.
 */
export const lineColumns = {
  public: { published_at: 'INTEGER NOT NULL' },
  draft: {
    published_at: 'INTEGER',
    is_public: 'INTEGER NOT NULL',
    editors: 'TEXT NOT NULL',
    review: 'TEXT',
    review_version: 'INTEGER',
  },
} as const satisfies Record<Line, Record<string, string>>;

/**
 * The read tables of one collection or global. `documents` holds the values by which live documents are found and
 * sorted, `texts` the documents themselves; `versions` and `pastTexts` hold the same for past versions, with the
 * positions between which each held. The key of a document is the position that created it, the keys of a past version
 * are the positions that made and ended it.
 */
export type Tables = {
  /**
   * The key of the schema that its streams follow: the category of a collection, such as `posts`, or `globals/site`.
   */
  key: string;
  /** The present name: the slug of a collection, or `globals/site`. */
  name: string;
  /** The id of a global is its slug, which has no time in it. */
  isGlobal: boolean;
  /** The documents are files, whose URLs are made from what is recorded. */
  isUpload: boolean;
  /** The line that the rows hold; null in a collection or global without drafts. */
  line: Line | null;
  /** The tables of the drafts that differ from the public state; null without drafts, and in those tables. */
  drafts: Tables | null;
  fields: DataField[];
  columns: Column[];
  links: LinkField[];
  documents: string;
  texts: string;
  versions: string;
  pastTexts: string;
  /** Empty if no field holds a list of ids. */
  linkTable: string;
  /** The past links, as `versions` has past documents; empty likewise. */
  pastLinks: string;
  indexes: string[];
  /** The columns of each index of `documents`, except the index of the id. Copies of `documents` get these indexes. */
  copyIndexes: string[];
  /** True for tables as of a position: then names of tables may be queries in brackets. */
  isPast?: boolean;
  /** True if queries check at some of the rows whether they may proceed, see {@link interruptible}. */
  isInterruptible?: boolean;
  /** The part of `documents` with the row of one document, whose id is an SQL expression. */
  documentBy?: (id: string) => string;
  /** Set if the rows are those of two tables, see {@link Overlay}. */
  overlay?: Overlay;
};

/**
 * Tables over other tables: a row of `over` takes the place of the row of `under` with its id. `select` is the text of
 * the two queries for their rows, before and after the name of each table; their column `is_over` says of which table a
 * row is.
 */
export type Overlay = { under: Tables; over: Tables; select: { under: SelectText; over: SelectText } };

type SelectText = readonly [before: string, after: string];

/** The tables of every collection and global of a schema; those of drafts beside the public ones. */
export function tablesOf(schema: Schema): Tables[] {
  return [
    ...schema.collections.flatMap((one) => {
      const { slug: name, fields, upload, drafts } = one;
      return linesOf(categoryOf(one), { name, isGlobal: false, isUpload: upload !== undefined }, { fields, drafts });
    }),
    ...schema.globals.flatMap(({ slug, fields, drafts }) => {
      const key = globalStream(slug);
      return linesOf(key, { name: key, isGlobal: true, isUpload: false }, { fields, drafts });
    }),
  ];
}

/** The key of the tables of drafts, and of their numbers of documents. A slug has no such character. */
export function draftKey(key: string): string {
  return `${key}#draft`;
}

type Declared = Pick<CollectionSchema, 'fields'> & { drafts: CollectionSchema['drafts'] | undefined };

type Kind = Pick<Tables, 'name' | 'isGlobal' | 'isUpload'>;

function linesOf(key: string, kind: Kind, { fields, drafts }: Declared): Tables[] {
  if (!drafts) return [describe(key, { ...kind, line: null }, fields)];
  const draft = describe(draftKey(key), { ...kind, line: 'draft' }, fields);
  return [{ ...describe(key, { ...kind, line: 'public' }, fields), drafts: draft }, draft];
}

function describe(key: string, kind: Kind & Pick<Tables, 'line'>, declared: readonly FieldSchema[]): Tables {
  const fields = dataFields(declared);
  const documents = quote(`documents ${key}`);
  const links = fields
    .filter((field) => field.hasMany === true && (field.type === 'relationship' || field.type === 'upload'))
    .map((field) => ({ name: field.name }));
  const indexed = indexedPaths(fields);
  const columns = columnsOf(fields, indexed);
  // With the id, which orders ties. One index serves both sorting and equality, for every write pays for each index.
  // Texts with one folded text may differ, and are compared in the index itself.
  const ordered = columns
    .filter(({ isIndexed }) => isIndexed)
    .map(({ path, key, name }) => ({ path, on: key ? `${key}, id, ${name}` : `${name}, id` }));
  return {
    key,
    ...kind,
    drafts: null,
    fields,
    columns,
    links,
    documents,
    texts: quote(`texts ${key}`),
    versions: quote(`versions ${key}`),
    pastTexts: quote(`past texts ${key}`),
    linkTable: links.length > 0 ? quote(`links ${key}`) : '',
    pastLinks: links.length > 0 ? quote(`past links ${key}`) : '',
    indexes: [
      // Its keys are random, so it is made after a bulk load; `documents` needs its index from the start, to be found
      // by id. SQLite appends `valid_to`, the key of the rows, to the id: the version that held at a position is one
      // look-up.
      `CREATE INDEX ${quote(`versions ${key} id`)} ON ${quote(`versions ${key}`)} (id)`,
      `CREATE INDEX ${quote(`documents ${key} updated`)} ON ${documents} (updated_at, id)`,
      ...ordered.map(({ path, on }) => {
        return `CREATE INDEX ${quote(`documents ${key} f.${path.join('.')}`)} ON ${documents} (${on})`;
      }),
      ...(kind.line === 'draft'
        ? [`CREATE INDEX ${quote(`documents ${key} review`)} ON ${documents} (id) WHERE review = 'open'`]
        : []),
    ],
    copyIndexes: ['updated_at, id', ...ordered.map(({ on }) => on)],
  };
}

/** Dotted paths of the fields that an index serves: `unique`, `index`, and relationships to one document. */
function indexedPaths(fields: readonly DataField[], prefix = ''): Set<string> {
  const paths = new Set<string>();
  for (const field of fields) {
    const path = prefix + field.name;
    const members = fieldsOfObject(field);
    if (members) {
      for (const inside of indexedPaths(dataFields(members), `${path}.`)) paths.add(inside);
    } else if (affinityOf(field) && (field.unique || field.index || (field.relationTo && !prefix))) {
      paths.add(path);
    }
  }
  return paths;
}

/** Every scalar field of the top level has a column; a field inside an object only if it is indexed. */
function columnsOf(fields: readonly DataField[], indexed: Set<string>, prefix: string[] = []): Column[] {
  return fields.flatMap((field) => {
    const path = [...prefix, field.name];
    const members = fieldsOfObject(field);
    if (members) return columnsOf(dataFields(members), indexed, path);
    const affinity = affinityOf(field);
    const isIndexed = indexed.has(path.join('.'));
    if (!affinity || (prefix.length > 0 && !isIndexed)) return [];
    const hasCase = affinity === 'TEXT' && !field.relationTo && !typeFacts[field.type].time;
    const key = hasCase && isIndexed ? quote(`k.${path.join('.')}`) : null;
    const isStored = field.type !== 'textarea' || isIndexed;
    return [{ name: quote(`f.${path.join('.')}`), path, affinity, isStored, isIndexed, hasCase, key }];
  });
}

/** The value of a column as SQLite keeps it; null if the document's value has another type. */
export function columnValue({ path, affinity }: Column, document: JsonObject): string | number | null {
  let value: unknown = document;
  for (const key of path) {
    value = typeof value === 'object' && value !== null && Object.hasOwn(value, key) ? Reflect.get(value, key) : null;
  }
  if (typeof value === 'boolean') return affinity === 'INTEGER' ? Number(value) : null;
  if (typeof value === 'number') return affinity === 'REAL' ? value : null;
  if (typeof value === 'string') return affinity === 'TEXT' ? value : null;
  return null;
}

/** Makes the tables in an empty file; the secondary indexes are made by {@link createIndexes}, after a bulk load. */
export function createTables(db: Sqlite, all: readonly Tables[]): void {
  db.exec(`
    CREATE TABLE checkpoint (position INTEGER NOT NULL, root BLOB NOT NULL) STRICT;
    CREATE TABLE counts (key TEXT PRIMARY KEY, documents INTEGER NOT NULL) STRICT, WITHOUT ROWID;
    CREATE TABLE erasures (count INTEGER NOT NULL) STRICT;
    INSERT INTO erasures VALUES (0);
  `);
  createAccountTables(db);
  createApiKeyTable(db);
  createReleaseTables(db);
  createAuditTables(db);
  const count = db.prepare('INSERT INTO counts VALUES (?, 0)');
  for (const { key } of all) count.run(key);
  for (const tables of all) createDocumentTables(db, tables);
}

/** Makes the tables of one collection or global, in the file or, for one connection, in its memory. */
export function createDocumentTables(db: Sqlite, tables: Tables, place: 'TABLE' | 'TEMP TABLE' = 'TABLE'): void {
  const { documents, texts, versions, pastTexts, columns, linkTable, pastLinks, line } = tables;
  const stored = columns.map((column) => (column.isStored ? `, ${column.name} ${column.affinity}` : '')).join('');
  const keys = columns.map(({ key }) => (key ? `, ${key} TEXT` : '')).join('');
  const computed = columns.map((column) => (column.isStored ? '' : `, ${declareComputed(column)}`)).join('');
  const own = Object.entries(line ? lineColumns[line] : {})
    .map(([name, type]) => `, ${name} ${type}`)
    .join('');
  const common = `id TEXT NOT NULL, version INTEGER NOT NULL, created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL${own}${stored}`;
  const head = line ? ', head INTEGER NOT NULL' : '';
  db.exec(`
    CREATE ${place} ${documents} (
      key INTEGER PRIMARY KEY, valid_from INTEGER NOT NULL, ${common}${keys}${head}, UNIQUE (id)
    ) STRICT;
    CREATE ${place} ${texts} (key INTEGER PRIMARY KEY, doc TEXT NOT NULL${computed}) STRICT;
    CREATE ${place} ${versions} (
      valid_to INTEGER PRIMARY KEY, valid_from INTEGER NOT NULL, ${common}
    ) STRICT;
    CREATE ${place} ${pastTexts} (valid_from INTEGER PRIMARY KEY, doc TEXT NOT NULL${computed}) STRICT;
  `);
  if (linkTable) {
    const ends = 'field TEXT NOT NULL, target TEXT NOT NULL, source TEXT NOT NULL, valid_from INTEGER NOT NULL';
    db.exec(`
      CREATE ${place} ${linkTable} (${ends}, PRIMARY KEY (field, target, source)) STRICT, WITHOUT ROWID;
      CREATE ${place} ${pastLinks} (
        ${ends}, valid_to INTEGER NOT NULL, PRIMARY KEY (field, target, source, valid_from)
      ) STRICT, WITHOUT ROWID;
    `);
  }
}

function declareComputed({ name, path }: Column): string {
  const json = `'${jsonPath(path)}'`;
  return `${name} TEXT AS (CASE json_type(doc, ${json}) WHEN 'text' THEN doc ->> ${json} END) VIRTUAL`;
}

/** Makes the secondary indexes. */
export function createIndexes(db: Sqlite, all: readonly Tables[]): void {
  for (const { indexes } of all) for (const sql of indexes) db.exec(sql);
}

/**
 * Names the read file: 16 hexadecimal digits over all that decides its content beside the events. Labels, validation
 * and other options that no row depends on are left out, so changing them rebuilds nothing.
 */
export function projectionHash(schema: Schema, upcaster: Upcaster): string {
  const content = tablesOf(schema).map(({ key, name, isUpload, line, fields, columns, links, indexes }) => {
    // The name is part of the URLs of files.
    return { key, isUpload: isUpload && name, line, fields: fields.map(contentOf), columns, links, indexes };
  });
  return hash(
    'sha256',
    JSON.stringify({ engineVersion, unicode, renames: upcaster.fingerprint, content }),
    'hex',
  ).slice(0, 16);
}

function contentOf(field: DataField): object {
  const { name, type, hasMany } = field;
  return { name, type, hasMany, ...withParts(field, (fields) => dataFields(fields).map(contentOf)) };
}

/** An SQL identifier. Names come from the checked configuration, never from a request. */
export function quote(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

/** The name in an identifier of {@link quote}. */
export function unquoted(identifier: string): string {
  return identifier.slice(1, -1).replaceAll('""', '"');
}

/** A path as SQLite's JSON functions take it: `$."seo"."code"`. */
export function jsonPath(path: readonly string[]): string {
  return `$${path.map((name) => `.${quote(name)}`).join('')}`;
}
