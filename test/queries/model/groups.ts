import { isList } from '../../../config/field-types.ts';
import type { Field } from '../../../config/model.ts';
import type { Json, JsonObject } from '../../../config/schema.ts';
import { blockType, caseless, type End, fieldsOf, own, type Slug } from '../../projections/filters.ts';
import type { World } from '../../projections/matching.ts';

/** A path to group by; `part`: the year, month or day of a time. */
export type By = { end: End; part: 'year' | 'month' | 'day' | null };
export type Figure = { kind: 'sum' | 'avg' | 'min' | 'max'; end: End };
/** A term of the order of groups; a key and a figure by their index. */
export type Term = { by: 'count' | 'key' | 'figure'; index: number; isDescending: boolean };

export type Group = { keys: Json[]; count: number; figures: (number | string | null)[] };

const lengths = { year: 4, month: 7, day: 10 };

export function nameOf({ end, part }: By): string {
  return part === null ? end.path : `${end.path}.${part}`;
}

/** The paths of a request as a tree: those through one list are about one item. */
type Tree = { end: End | null; children: Map<string, Tree> };

function treeOf(ends: readonly End[]): Tree {
  const root: Tree = { end: null, children: new Map() };
  for (const end of ends) {
    let at = root;
    for (const name of end.path.split('.')) {
      const child = at.children.get(name) ?? { end: null, children: new Map() };
      at.children.set(name, child);
      at = child;
    }
    at.end = end;
  }
  return root;
}

/** The combinations of the items of a document, each with a value for each path. */
function rowsOf(world: World, values: JsonObject | null, fields: readonly Field[], tree: Tree): JsonObject[] {
  let rows: JsonObject[] = [{}];
  for (const [name, child] of tree.children) {
    const field = fields.find((one) => one.name === name);
    const value = (field && values?.[name]) ?? null;
    const items = Array.isArray(value) && value.length > 0 && field && isList(field) ? value : [value];
    const own = items.flatMap((item) => rowsOfItem(world, Array.isArray(item) ? null : item, field, child));
    rows = rows.flatMap((row) => own.map((more) => ({ ...row, ...more })));
  }
  return rows;
}

function rowsOfItem(world: World, item: Json, field: Field | undefined, tree: Tree): JsonObject[] {
  const { end } = tree;
  const leaf = end ? { [end.path]: field?.type === end.field.type ? item : null } : {};
  const [values, fields] = insideOf(world, item, field);
  return rowsOf(world, values, fields, tree).map((row) => ({ ...leaf, ...row }));
}

function insideOf(world: World, item: Json, field: Field | undefined): [JsonObject | null, readonly Field[]] {
  if (item === null || !field) return [null, []];
  if (field.relationTo) {
    const slug = field.relationTo as Slug;
    const found = world[slug].find(({ id }) => id === item);
    return [found && world.isShown(found, slug) ? found : null, [...own, ...fieldsOf(slug)]];
  }
  const values = item as JsonObject;
  if (!field.blocks) return [values, field.fields ?? []];
  const block = field.blocks.find(({ slug }) => slug === values.blockType);
  return [values, [blockType, ...(block?.fields ?? [])]];
}

/** The groups of documents, in no order. */
export function groupsIn(
  world: World,
  documents: readonly JsonObject[],
  { by, figures }: { by: readonly By[]; figures: readonly Figure[] },
): Group[] {
  const tree = treeOf([...by, ...figures].map(({ end }) => end));
  const rows = documents.flatMap((doc) => rowsOf(world, doc, [...own, ...fieldsOf('things')], tree));
  const keyed = Map.groupBy(rows, (row) => JSON.stringify(by.map((one) => keyIn(row, one))));
  if (by.length === 0 && rows.length === 0) keyed.set('[]', []);
  return [...keyed].map(([key, some]) => ({
    keys: JSON.parse(key),
    count: some.length,
    figures: figures.map((figure) => figureIn(some, figure)),
  }));
}

function keyIn(row: JsonObject, { end, part }: By): Json {
  const value = row[end.path] ?? null;
  return part === null || value === null ? value : String(value).slice(0, lengths[part]);
}

function figureIn(rows: readonly JsonObject[], { kind, end }: Figure): number | string | null {
  const values = rows.map((row) => row[end.path] ?? null).filter((one) => one !== null) as (number | string)[];
  if (values.length === 0) return null;
  const sorted = values.toSorted(compareValues);
  if (kind === 'min') return sorted[0] ?? null;
  if (kind === 'max') return sorted.at(-1) ?? null;
  const sum = sumOf(values.map(Number));
  return kind === 'sum' ? sum : sum / values.length;
}

/** The sum with what each addition lost (Neumaier), for large numbers that cancel each other. */
function sumOf(numbers: readonly number[]): number {
  let [sum, lost] = [0, 0];
  for (const one of numbers) {
    const next = sum + one;
    lost += Math.abs(sum) >= Math.abs(one) ? sum - next + one : one - next + sum;
    sum = next;
  }
  return sum + lost;
}

function compareValues(one: Json, other: Json): number {
  if (typeof one === 'string') return Buffer.compare(Buffer.from(one), Buffer.from(String(other)));
  return Number(one) - Number(other);
}

function compareFolded(one: Json, other: Json): number {
  return typeof one === 'string' && typeof other === 'string'
    ? compareValues(caseless(one), caseless(other))
    : compareValues(one, other);
}

function nullsLast(one: Json, other: Json, compare: (one: Json, other: Json) => number, isDescending: boolean): number {
  if (one === null || other === null) return Number(one === null) - Number(other === null);
  return isDescending ? -compare(one, other) : compare(one, other);
}

/** The order of groups: their terms, then their keys. */
export function compareGroups(terms: readonly Term[], one: Group, other: Group): number {
  for (const { by, index, isDescending } of terms) {
    const order =
      by === 'count'
        ? nullsLast(one.count, other.count, compareValues, isDescending)
        : by === 'figure'
          ? nullsLast(one.figures[index] ?? null, other.figures[index] ?? null, compareValues, isDescending)
          : compareKeys(one, other, { index, isDescending });
    if (order !== 0) return order;
  }
  for (const index of one.keys.keys()) {
    const order = compareKeys(one, other, { index, isDescending: false });
    if (order !== 0) return order;
  }
  return 0;
}

function compareKeys(one: Group, other: Group, { index, isDescending }: Omit<Term, 'by'>): number {
  const [a = null, b = null] = [one.keys[index], other.keys[index]];
  return nullsLast(a, b, compareFolded, isDescending) || nullsLast(a, b, compareValues, isDescending);
}
