import { affinityOf, isList } from '../../config/field-types.ts';
import { fieldsOfObject, isNesting } from '../../config/nesting.ts';
import {
  type Category,
  type CollectionSchema,
  categoryOf,
  type DataField,
  dataFields,
  type FieldSchema,
  type Json,
  type Schema,
} from '../../config/schema.ts';
import { documentStream } from '../../events/facts/catalogue.ts';
import { amongDrafts, claimOf, type UniqueField, uniqueFields } from '../../events/facts/claims.ts';
import type { Claim } from '../../events/facts/log.ts';
import { previousOf } from '../../events/facts/upcasters.ts';
import type { LogReader } from '../../events/log/log-reader.ts';
import type { Finding } from '../../events/proof/seen-heads.ts';
import type { Sqlite } from '../../storage/sqlite.ts';
import { draftKey, jsonPath, quote } from '../tables/tables.ts';

/** Gives the path under which the documents of a read file have the value of a field; null if they have none. */
type Locate = (category: Category, path: readonly string[]) => readonly string[] | null;

type HolderOf = LogReader['holderOf'];

/**
 * A schema that documents must fit. `holderOf` gives the holder of a unique value in the log; `locate` is needed if the
 * read file has another schema.
 */
type Fit = { schema: Schema; holderOf: HolderOf; locate?: Locate };

/**
 * The obstacles to a schema in the live documents of a read file, one line each: values of another type, and shared
 * values of a field that becomes unique.
 */
export function obstaclesTo(db: Sqlite, { schema, holderOf, locate = (_category, path) => path }: Fit): string[] {
  return [...misfits(db, schema, locate), ...duplicates(db, { schema, holderOf, locate })];
}

/** Locates the values of a schema's fields in a read file of the former schema. */
export function locateIn(before: Schema, after: Schema): Locate {
  const old = new Map(before.collections.map((one) => [categoryOf(one), one.fields]));
  const now = new Map(after.collections.map((one) => [categoryOf(one), one.fields]));
  return (category, path) => previousPath(old.get(category), now.get(category) ?? [], path);
}

function previousPath(
  before: readonly FieldSchema[] | undefined,
  after: readonly FieldSchema[],
  [name, ...rest]: readonly string[],
): string[] | null {
  const field = dataFields(after).find((one) => one.name === name);
  const old = new Map(dataFields(before ?? []).map((one) => [one.name, one]));
  const previous = field && previousOf(field, old);
  if (!previous) return null;
  if (rest.length === 0) return [previous.name];
  const inside = previousPath(fieldsOfObject(previous) ?? undefined, fieldsOfObject(field) ?? [], rest);
  return inside && [previous.name, ...inside];
}

/** The live documents of a collection: their ids and texts. @param key of its tables */
function documentsIn(key: string): string {
  return `${quote(`documents ${key}`)} JOIN ${quote(`texts ${key}`)} USING (key)`;
}

/**
 * The documents among which a value is unique: those that are public, and, if the read file has drafts, the newest
 * states of all.
 */
function linesIn(db: Sqlite, category: Category): { from: string; what: string }[] {
  const published = { from: documentsIn(category), what: 'documents' };
  const key = draftKey(category);
  const hasDrafts = db.prepare('SELECT 1 FROM sqlite_schema WHERE name = ?').get(`documents ${key}`) !== undefined;
  if (!hasDrafts) return [published];
  const others = `SELECT key, id, doc FROM ${documentsIn(category)}
    WHERE id NOT IN (SELECT id FROM ${quote(`documents ${key}`)})`;
  return [published, { from: `(SELECT key, id, doc FROM ${documentsIn(key)} UNION ALL ${others})`, what: 'drafts' }];
}

/** The shared values of fields that became unique, the first five of each field. */
function duplicates(db: Sqlite, { schema, holderOf, locate }: Required<Fit>): string[] {
  return schema.collections.flatMap((one) => {
    const category = categoryOf(one);
    return uniqueFields(category, one.fields).flatMap((field) => {
      const at = locate(category, field.path);
      if (!at) return [];
      const streamsOf = (ids: string) => ids.split(', ').map((id) => documentStream(category, id));
      return linesIn(db, category).flatMap(({ from, what }) => {
        const shared = sharedValues(db, from, at).filter(
          ({ value, ids }) => !wereTwoValues(claimOf(field, value), streamsOf(ids), holderOf),
        );
        return [...shared.take(5)].map(({ value, ids }) => {
          const some = ids.length > 400 ? `${ids.slice(0, 400)} …` : ids;
          const name = [one.slug, ...field.path].join('.');
          return `${name} is unique now, but these ${what} share ${JSON.stringify(value)}: ${some}`;
        });
      });
    });
  });
}

/** A value that several documents have, and their ids, separated by commas. */
type SharedValue = { value: Json; ids: string };

function sharedValues(db: Sqlite, from: string, path: readonly string[]): IteratorObject<SharedValue> {
  const rows = db
    .prepare<[path: string], SharedValue>(
      `SELECT doc ->> ? AS value, group_concat(id, ', ') AS ids FROM ${from}
       WHERE value IS NOT NULL GROUP BY value HAVING count(*) > 1 ORDER BY min(key)`,
    )
    .iterate(jsonPath(path));
  return Iterator.from(rows);
}

/**
 * Whether two documents share a time because `10:00` and `10:00:00` once were two values: each holds one of them, and
 * keeps it.
 */
function wereTwoValues({ scope, value, former }: Claim, streams: readonly string[], holderOf: HolderOf): boolean {
  if (former === undefined) return false;
  const holders = [value, former].map((one) => holderOf(scope, one));
  return streams.length === 2 && streams.every((stream) => holders.includes(stream));
}

/** Every claim that the live documents of a read file hold under a schema, read from the columns of the fields. */
export function* claimsIn(db: Sqlite, schema: Schema): Generator<{ claim: Claim; stream: string }> {
  for (const one of schema.collections) {
    const category = categoryOf(one);
    for (const { rows, unique } of claimingRows(one)) {
      for (const field of unique) {
        const column = quote(`f.${field.path.join('.')}`);
        const found = db
          .prepare<[], { id: string; value: string | number }>(
            `SELECT id, ${column} AS value FROM ${rows} AND ${column} IS NOT NULL`,
          )
          .iterate();
        for (const { id, value } of found) yield { claim: claimOf(field, value), stream: documentStream(category, id) };
      }
    }
  }
}

/**
 * The rows of a collection that hold unique values, as SQL after `FROM` that may go on with `AND`, and the fields with
 * the scopes in which they hold them. With drafts each document holds values among drafts too: those of its draft, if
 * that differs.
 */
export function claimingRows(one: CollectionSchema): { rows: string; unique: UniqueField[] }[] {
  const category = categoryOf(one);
  const unique = uniqueFields(category, one.fields);
  const documents = quote(`documents ${category}`);
  const drafts = quote(`documents ${draftKey(category)}`);
  const rows = [{ rows: `${documents} WHERE 1`, unique }];
  if (!one.drafts) return rows;
  const draftUnique = amongDrafts(unique);
  return [
    ...rows,
    { rows: `${documents} WHERE id NOT IN (SELECT id FROM ${drafts})`, unique: draftUnique },
    { rows: `${drafts} WHERE 1`, unique: draftUnique },
  ];
}

/** Compares the claims of a log with the claims of documents. */
export function checkClaims(db: Sqlite, expected: ReturnType<typeof claimsIn>): Finding | null {
  const select = db.prepare('SELECT stream FROM claims WHERE scope = ? AND value = ?').pluck();
  let count = 0;
  for (const { claim, stream } of expected) {
    count += 1;
    const { scope, value, former } = claim;
    const holder = select.get(scope, value);
    const isHeld = holder === stream || (former !== undefined && select.get(scope, former) === stream);
    if (!isHeld) return `claims: ${claim.scope} = ${claim.value} is held by ${holder ?? 'no stream'}, not by ${stream}`;
  }
  const stored = db.prepare('SELECT count(*) FROM claims').pluck().get();
  return stored === count ? null : `claims: ${stored} are stored, the documents make ${count}`;
}

/** The problems of fields whose type changed while documents hold values of the old type. */
function misfits(db: Sqlite, schema: Schema, locate: Locate): string[] {
  const problems: string[] = [];
  for (const one of schema.collections) {
    const category = categoryOf(one);
    for (const field of dataFields(one.fields)) {
      const types = jsonTypes(field);
      const at = types && locate(category, [field.name]);
      if (!at) continue;
      const ids = db
        .prepare<[path: string], string | null>(
          `SELECT group_concat(id, ', ') FROM (SELECT id FROM ${documentsIn(category)}
           WHERE coalesce(json_type(doc, ?), 'null') NOT IN ('null', ${types.map((type) => `'${type}'`).join(', ')}) LIMIT 5)`,
        )
        .pluck()
        .get(jsonPath(at));
      if (ids)
        problems.push(`${one.slug}.${field.name} is ${field.type} now, but these documents hold another type: ${ids}`);
    }
  }
  return problems;
}

/**
 * Whether two fields have no JSON type in common: at the top level of a collection, a start is refused for each value.
 */
export function isOtherJson(before: DataField, after: DataField): boolean {
  const [was, is] = [jsonTypes(before), jsonTypes(after)];
  return was !== undefined && is !== undefined && !was.some((type) => is.includes(type));
}

function jsonTypes(field: DataField): string[] | undefined {
  if (field.type === 'join') return undefined;
  if (isList(field)) return ['array'];
  if (isNesting(field)) return ['object'];
  const affinity = affinityOf(field);
  return affinity ? jsonTypesOf[affinity] : undefined;
}

const jsonTypesOf = { TEXT: ['text'], REAL: ['integer', 'real'], INTEGER: ['true', 'false'] };
