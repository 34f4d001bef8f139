import { hash } from 'node:crypto';
import { type Affinity, affinityOf, typeFacts } from '../../config/field-types.ts';
import { fieldsOfObject, withParts } from '../../config/nesting.ts';
import {
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

/** Part of the projection hash: raise it when the tables or what is written to them change, and they are rebuilt. */
const engineVersion = 10;
/** Part of it too: what is folded by one version of Unicode may not be found by another. */
const { unicode } = process.versions;

/** A column that serves `where` and `sort`: the value at `path` of a document. */
export type Column = {
  name: string;
  path: string[];
  affinity: Affinity;
  /** False: computed from the document when it is asked for. Long texts are not worth a second copy in every row. */
  isStored: boolean;
  isIndexed: boolean;
  /** Whether its texts can differ and be folded alike: not ids, nor dates and times, whose form has one case. */
  hasCase: boolean;
  /** The column beside it that keeps the folded text, where an index has to serve sorting too. */
  key: string | null;
};

/** A list of ids of related documents, kept as rows so that it can be followed backwards. */
export type LinkField = { name: string };

/**
 * The read tables of one collection or global: `documents` holds what every live document is found and sorted by,
 * `texts` the document itself; `versions` and `pastTexts` the same of every version that was, with the positions
 * between which it held. A document is keyed by the position that created it, a version that was by those that made and
 * ended it.
 */
export type Tables = {
  /**
   * The key of the schema that its streams follow: the category of a collection, such as `posts`, or `globals/site`.
   */
  key: string;
  /** As it is called today: the slug of a collection, or `globals/site`. */
  name: string;
  /** Its id is its slug, and tells no time. */
  isGlobal: boolean;
  /** Its documents are files, whose URLs are made of what is recorded. */
  isUpload: boolean;
  fields: DataField[];
  columns: Column[];
  links: LinkField[];
  documents: string;
  texts: string;
  versions: string;
  pastTexts: string;
  /** Empty when no field holds a list of ids. */
  linkTable: string;
  /** The links that were, as `versions` are to `documents`; empty likewise. */
  pastLinks: string;
  indexes: string[];
  /** The columns of each index of `documents` but that of the id, which its copies have too. */
  copyIndexes: string[];
  /** True of what {@link Tables} are as of a position: then names of tables may be queries in brackets. */
  isPast?: boolean;
  /** True where queries ask at some of the rows whether they may go on. */
  isInterruptible?: boolean;
  /** As `documents`, the row of one document alone, whose id an expression of SQL gives. */
  documentBy?: (id: string) => string;
};

/** The tables of every collection and global of a schema. */
export function tablesOf(schema: Schema): Tables[] {
  return [
    ...schema.collections.map((one) => {
      const { slug: name, fields, upload } = one;
      return describe(categoryOf(one), { name, isGlobal: false, isUpload: upload !== undefined }, fields);
    }),
    ...schema.globals.map(({ slug, fields }) => {
      const key = globalStream(slug);
      return describe(key, { name: key, isGlobal: true, isUpload: false }, fields);
    }),
  ];
}

function describe(
  key: string,
  kind: Pick<Tables, 'name' | 'isGlobal' | 'isUpload'>,
  declared: readonly FieldSchema[],
): Tables {
  const fields = dataFields(declared);
  const documents = quote(`documents ${key}`);
  const links = fields
    .filter((field) => field.hasMany === true && (field.type === 'relationship' || field.type === 'upload'))
    .map((field) => ({ name: field.name }));
  const indexed = indexedPaths(fields);
  const columns = columnsOf(fields, indexed);
  // With the id, for ties are in its order. One index serves sorting and equality alike: every write pays for each.
  // Texts of one key may differ, and are compared in the index itself.
  const ordered = columns
    .filter(({ isIndexed }) => isIndexed)
    .map(({ path, key, name }) => ({ path, on: key ? `${key}, id, ${name}` : `${name}, id` }));
  return {
    key,
    ...kind,
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
      // Random keys, so made after a bulk load; `documents` needs its own from the start, to be found by id. After the
      // id stands `valid_to`, the key of the rows: the version that held at a position is one look-up.
      `CREATE INDEX ${quote(`versions ${key} id`)} ON ${quote(`versions ${key}`)} (id)`,
      `CREATE INDEX ${quote(`documents ${key} updated`)} ON ${documents} (updated_at, id)`,
      ...ordered.map(({ path, on }) => {
        return `CREATE INDEX ${quote(`documents ${key} f.${path.join('.')}`)} ON ${documents} (${on})`;
      }),
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

/** Every scalar field of the top level has a column; one inside an object only when it is indexed. */
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

/** The value of a column: what SQLite keeps of it, or null when the document's value is of another type. */
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
  createAuditTables(db);
  const count = db.prepare('INSERT INTO counts VALUES (?, 0)');
  for (const { key } of all) count.run(key);
  for (const { documents, texts, versions, pastTexts, columns, linkTable, pastLinks } of all) {
    const stored = columns.map((column) => (column.isStored ? `, ${column.name} ${column.affinity}` : '')).join('');
    const keys = columns.map(({ key }) => (key ? `, ${key} TEXT` : '')).join('');
    const computed = columns.map((column) => (column.isStored ? '' : `, ${declareComputed(column)}`)).join('');
    const common = `id TEXT NOT NULL, version INTEGER NOT NULL, created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL${stored}`;
    db.exec(`
      CREATE TABLE ${documents} (
        key INTEGER PRIMARY KEY, valid_from INTEGER NOT NULL, ${common}${keys}, UNIQUE (id)
      ) STRICT;
      CREATE TABLE ${texts} (key INTEGER PRIMARY KEY, doc TEXT NOT NULL${computed}) STRICT;
      CREATE TABLE ${versions} (
        valid_to INTEGER PRIMARY KEY, valid_from INTEGER NOT NULL, ${common}
      ) STRICT;
      CREATE TABLE ${pastTexts} (valid_from INTEGER PRIMARY KEY, doc TEXT NOT NULL${computed}) STRICT;
    `);
    if (linkTable) {
      const ends = 'field TEXT NOT NULL, target TEXT NOT NULL, source TEXT NOT NULL, valid_from INTEGER NOT NULL';
      db.exec(`
        CREATE TABLE ${linkTable} (${ends}, PRIMARY KEY (field, target, source)) STRICT, WITHOUT ROWID;
        CREATE TABLE ${pastLinks} (
          ${ends}, valid_to INTEGER NOT NULL, PRIMARY KEY (field, target, source, valid_from)
        ) STRICT, WITHOUT ROWID;
      `);
    }
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
 * and other options that no row depends on are left out, so that changing them rebuilds nothing.
 */
export function projectionHash(schema: Schema, upcaster: Upcaster): string {
  const content = tablesOf(schema).map(({ key, name, isUpload, fields, columns, links, indexes }) => {
    // The URLs of files have the name.
    return { key, isUpload: isUpload && name, fields: fields.map(contentOf), columns, links, indexes };
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

/** The name that an identifier of {@link quote} stands for. */
export function unquoted(identifier: string): string {
  return identifier.slice(1, -1).replaceAll('""', '"');
}

/** A path as SQLite's JSON functions take it: `$."seo"."code"`. */
export function jsonPath(path: readonly string[]): string {
  return `$${path.map((name) => `.${quote(name)}`).join('')}`;
}
