import { counted } from '../../config/counted.ts';
import { isList } from '../../config/field-types.ts';
import { blocksOf, partsOf } from '../../config/nesting.ts';
import { dataFields, type FieldSchema, type Schema } from '../../config/schema.ts';
import { byNearness } from '../../config/suggest.ts';
import { type KeyedFields, keyedFields } from '../../events/facts/lineage.ts';
import { previousOf } from '../../events/facts/upcasters.ts';
import type { Sqlite } from '../../storage/sqlite.ts';
import { jsonPath, quote } from '../tables/tables.ts';
import { isOtherJson } from './schema-fit.ts';

/**
 * A possible effect of a new schema on existing documents, which a query over the read tables of the former schema
 * counts. Only documents with the effect count: a field without any value is no loss.
 */
type Question = {
  /** As in {@link Tables}: `posts`, or `globals/site`. */
  key: string;
  /** SQL over `doc`, true for the counted documents; null: all documents. */
  condition: string | null;
  /** The values of the condition's `?`. */
  values: string[];
  /** Whether documents show less with the new schema. */
  isLoss: boolean;
  /** @param documents the number of documents, at least 1, in words: `3 documents`. */
  tell: (documents: string) => string;
};

/** An effect of a new schema on documents, in one line. */
export type SchemaChange = Pick<Question, 'isLoss'> & { line: string };

/**
 * The schemas before and after a change; `returning`: the paths of fields of the later schema that get back values of
 * an earlier schema.
 */
export type Succession = { before: Schema; after: Schema; returning: ReadonlySet<string> };

/** A list of fields: its name for people, and how SQL reaches its values. */
type FieldList = {
  name: string;
  /** The JSON with its values, and the path in it. */
  json: string;
  path: string[];
  /**
   * Turns a condition on that JSON into a condition on the document, which has several such objects if the fields
   * belong to items.
   */
  within: (condition: string) => string;
  depth: number;
  /** Whether it is the list of fields of a collection itself. */
  isTop: boolean;
};

type Ask = { place: FieldList; condition: string; values?: string[]; isLoss?: boolean; tell: Question['tell'] };

/** The questions about the effects of a schema that follows another. Labels, bounds and additions have none. */
export function questionsAbout({ before, after, returning }: Succession): Question[] {
  const now = new Map(keyedFields(after).map((one) => [one.key, one]));
  const old = new Map(keyedFields(before).map((one) => [one.key, one]));
  return [...old.values()].flatMap((former): Question[] => {
    const { key, fields } = former;
    const next = now.get(key);
    if (!next) {
      const added = [...now.values()].filter((other) => !old.has(other.key));
      const hint = likely(former, added);
      const tell = (documents: string) =>
        `${former.name} is gone, with ${documents}: the log keeps them, and they are back when it is declared again${hint}`;
      return [{ key, condition: null, values: [], isLoss: true, tell }];
    }
    const { name } = next;
    const isTop = !key.startsWith('globals/');
    const top: FieldList = { name, json: 'doc', path: [], within: (condition) => condition, depth: 0, isTop };
    const asks = [...asksAbout(top, fields, { after: next.fields, returning })].map((ask) => {
      const { place, condition, values = [], isLoss = false, tell } = ask;
      return { key, condition: place.within(condition), values, isLoss, tell };
    });
    return name === former.name ? asks : [renamed(former, name), ...asks];
  });
}

/** The question about a renamed collection, whose documents have other paths. */
function renamed({ key, name: former }: KeyedFields, name: string): Question {
  const tell = (documents: string) =>
    `${name} was ${former}: ${documents} and all that is recorded of it are under the new name, and nothing is under the former one`;
  return { key, condition: null, values: [], isLoss: false, tell };
}

/**
 * The end of a message about a removed collection: how to keep it if a new one, with some of its fields, is probably
 * the same.
 */
function likely({ name: gone, fields }: KeyedFields, added: readonly KeyedFields[]): string {
  const isGlobal = gone.startsWith('globals/');
  const names = storedIn(fields);
  const alike = added.flatMap(({ name: other, fields: theirs }) => {
    const common = [...storedIn(theirs).keys()].filter((name) => names.has(name)).length;
    return other.startsWith('globals/') === isGlobal && common > 0 ? [{ other, common }] : [];
  });
  const most = Math.max(...alike.map(({ common }) => common));
  const nearest = alike.filter(({ common }) => common === most).map(({ other }) => other);
  const [found] = byNearness(gone, nearest);
  if (found === undefined) return '';
  if (!isGlobal) return `; if it is ${found} now, write renamedFrom: '${gone}' there`;
  const slug = gone.slice('globals/'.length);
  return `; if it is ${found} now, write slug: '${slug}' there, for a slug stays, and its new name as label`;
}

/** SQLite allows 2,000 columns in a result, and a schema can change in more ways. */
const mostAtOnce = 500;

/**
 * The effects of a new schema on documents. One pass over the documents of a collection answers all its questions.
 *
 * @param db the read file of the former schema.
 */
export function changesIn(db: Sqlite, succession: Succession): SchemaChange[] {
  const changes: SchemaChange[] = [];
  const questions = questionsAbout(succession);
  for (const [key, about] of Map.groupBy(questions, ({ key }) => key)) {
    for (let from = 0; from < about.length; from += mostAtOnce) {
      const some = about.slice(from, from + mostAtOnce);
      const sums = some.map(({ condition }) => (condition === null ? 'count(*)' : `coalesce(sum(${condition}), 0)`));
      const counts = db
        .prepare<unknown[], number[]>(`SELECT ${sums.join(', ')} FROM ${quote(`texts ${key}`)}`)
        .raw()
        .get(some.flatMap(({ values }) => values));
      for (const [index, { isLoss, tell }] of some.entries()) {
        const count = counts?.[index] ?? 0;
        if (count > 0) changes.push({ isLoss, line: tell(counted(count, 'document')) });
      }
    }
  }
  return changes;
}

type NextFields = { after: readonly FieldSchema[]; returning: Succession['returning'] };

function* asksAbout(
  place: FieldList,
  before: readonly FieldSchema[],
  { after, returning }: NextFields,
): Generator<Ask> {
  const old = storedIn(before);
  const now = [...storedIn(after).values()].map((field) => ({ field, previous: previousOf(field, old) }));
  const kept = new Set(now.map(({ previous }) => previous?.name));
  const added = now.flatMap(({ field, previous }) => (previous ? [] : [field]));
  for (const field of old.values()) if (!kept.has(field.name)) yield gone(place, field, added);
  for (const { field, previous } of now) {
    // The number of values is not known before they are back.
    const isBack = returning.has(`${place.name}.${field.name}`);
    if (field.required && !previous?.required && !isBack) yield lacking(place, field, previous);
    if (previous) yield* asksInside(place, previous, { field, returning });
  }
}

/** The fields of which documents have values, by name. */
function storedIn(fields: readonly FieldSchema[]) {
  const stored = dataFields(fields).filter(({ type }) => type !== 'join');
  return new Map(stored.map((field) => [field.name, field]));
}

type Field = ReturnType<typeof dataFields>[number];

function gone(place: FieldList, field: Field, added: readonly Field[]): Ask {
  const alike = added.filter((other) => other.type === field.type && isList(other) === isList(field));
  const nearest = byNearness(
    field.name,
    alike.map(({ name }) => name),
  ).slice(0, 3);
  const names = nearest.map((name) => `${place.name}.${name}`).join(' or ');
  const hint = names === '' ? '' : `; did you mean renamedFrom: '${field.name}' in ${names}?`;
  const tell = (documents: string) => `${place.name}.${field.name} is gone: ${documents} had a value of it${hint}`;
  return { place, condition: holds(field, place), isLoss: true, tell };
}

/** The question about documents that would be refused as new ones: see `required` in `config/fields.ts`. */
function lacking(place: FieldList, field: Field, previous: Field | undefined): Ask {
  const tell = (documents: string) =>
    `${place.name}.${field.name} is required now: ${documents} had no value of it, and have none until one is written; a default is for new documents`;
  // A required field can only be missing in an object that exists.
  const container = place.path.length > 0 ? `json_type(${place.json}, ${at(place.path)}) = 'object' AND ` : '';
  const missing = previous ? `NOT coalesce(${fills(previous, place)}, 0)` : '1';
  return { place, condition: `(${container}${missing})`, tell };
}

type NextField = { field: Field } & Pick<NextFields, 'returning'>;

function* asksInside(place: FieldList, before: Field, { field: after, returning }: NextField): Generator<Ask> {
  const name = `${place.name}.${after.name}`;
  // A change that is refused anyway names its documents in the refusal.
  const isTold = kindOf(before) !== kindOf(after) && !(place.isTop && isOtherJson(before, after));
  if (isTold) yield otherwise(place, before, after);
  if (before.options && after.options) {
    const left = new Set(after.options.map(({ value }) => value));
    for (const { value } of before.options) {
      if (left.has(value)) continue;
      const tell = (documents: string) =>
        `${name} has no option ${JSON.stringify(value)} any more: ${documents} had it chosen, and keep it until another is`;
      yield { place, condition: chooses(before, place), values: [value], tell };
    }
  }
  if (before.type !== after.type) return;
  const now = new Map(partsOf(after).map(({ slug, fields }) => [slug, fields]));
  for (const { slug, fields } of partsOf(before)) {
    const at = slug === null ? name : `${name}.${slug}`;
    const inside: FieldList = isList(before)
      ? itemsOf(place, before, { name: at, block: slug })
      : { ...place, name: at, path: [...place.path, before.name], isTop: false };
    const tell = (documents: string) =>
      `${name} has no block "${slug}" any more: ${documents} had one, and keep it as it is`;
    const next = now.get(slug);
    if (next) yield* asksAbout(inside, fields, { after: next, returning });
    else yield { place: inside, condition: '1', tell };
  }
}

/** The meaning of values. Types with the same values and meaning are one kind. */
function kindOf({ type, hasMany, relationTo }: Field): string {
  const same = type === 'textarea' ? 'text' : type === 'radio' ? 'select' : type;
  return `${same}${relationTo === undefined ? '' : ` to ${relationTo}`}${hasMany ? ' with hasMany' : ''}`;
}

/**
 * The question about values that were written as one type and are answered as another. A text that is an option counts
 * as chosen.
 */
function otherwise(place: FieldList, before: Field, after: Field): Ask {
  const isChosen = after.options !== undefined && !before.options && !isList(before) && !isList(after);
  const value = `json_extract(${memberIn(before, place)})`;
  const unfit = isChosen ? ` AND ${value} NOT IN (SELECT value FROM json_each(?))` : '';
  const values = isChosen ? [JSON.stringify(after.options?.map((option) => option.value))] : [];
  // A list of one kind shows only its own fields of the objects in a list of blocks.
  const isLoss = blocksOf(before).length > 0 && partsOf(after).length > blocksOf(after).length;
  const then = isLoss
    ? 'show of it what the fields of the list are called'
    : 'keep it as it is until another is written';
  const what = isChosen ? 'a value that is not one of its options' : 'a value of it';
  const tell = (documents: string) =>
    `${place.name}.${after.name} is ${kindOf(after)} now and was ${kindOf(before)}: ${documents} had ${what}, and ${then}`;
  return { place, condition: `(${holds(before, place)}${unfit})`, values, isLoss, tell };
}

/** The fields of the items of a list, or of its blocks of one kind. */
function itemsOf(place: FieldList, field: Field, { name, block }: { name: string; block: string | null }): FieldList {
  const depth = place.depth + 1;
  const item = `item${depth}`;
  const list = `json_each(${place.json}, ${at([...place.path, field.name])})`;
  const kind = block === null ? '' : ` AND ${item}.value ->> '$.blockType' = '${block}'`;
  return {
    name,
    json: `${item}.value`,
    path: [],
    within: (condition) =>
      place.within(`EXISTS (SELECT 1 FROM ${list} AS ${item} WHERE ${item}.type = 'object'${kind} AND ${condition})`),
    depth,
    isTop: false,
  };
}

function at(path: readonly string[]): string {
  return `'${jsonPath(path)}'`;
}

function memberIn({ name }: Field, { json, path }: FieldList): string {
  return `${json}, ${at([...path, name])}`;
}

function holds(field: Field, place: FieldList): string {
  const value = memberIn(field, place);
  return isList(field) ? `json_array_length(${value}) > 0` : `json_type(${value}) <> 'null'`;
}

const emptyTexts: readonly string[] = ['text', 'textarea', 'email', 'url'];

function fills(field: Field, place: FieldList): string {
  const held = holds(field, place);
  return emptyTexts.includes(field.type) ? `(${held} AND json_extract(${memberIn(field, place)}) <> '')` : held;
}

function chooses(field: Field, place: FieldList): string {
  const value = memberIn(field, place);
  if (!isList(field)) return `json_extract(${value}) = ?`;
  const option = `option${place.depth}`;
  return `EXISTS (SELECT 1 FROM json_each(${value}) AS ${option} WHERE ${option}.value = ?)`;
}
