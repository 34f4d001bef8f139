import type { Operator } from '../../config/operators.ts';
import { fold } from '../tables/fold.ts';
import { interruptibleOnce, interruptibleScan } from '../tables/interruption.ts';
import { isInTextIndex, jsonPath, type Tables } from '../tables/tables.ts';
import {
  columnOf,
  eachOf,
  isInColumn,
  rowOf,
  type TableRow,
  type ValueKind,
  type ValueLocation,
  type ValueSql,
  valueAt,
} from '../tables/value-locations.ts';
import { compileSearch, compileTrigrams, type Search, type ServingIndex } from './search.ts';

/** A step of a path. */
export type PathStep =
  /** Into the object `name`. */
  | { kind: 'member'; name: string }
  /** Into some item of the list of objects `name`; of blocks, only into blocks of these types. */
  | { kind: 'items'; name: string; blockTypes: readonly string[] | null }
  /** To some document that `name` points at, if it meets `filter`: the caller may see it. */
  | { kind: 'related'; name: string; isList: boolean; tables: Tables; filter: Where | null };

/** The value at the end of the steps. The server's own fields are columns of every table. */
export type Leaf = { name: string; kind: ValueKind };

/** A value as SQLite binds it. */
export type Bound = string | number | null;

/** A condition on documents, with names resolved and values typed. */
export type Where =
  | { and: readonly Where[] }
  | { or: readonly Where[] }
  /** `trigrams`: an index that serves a `like`. */
  | { steps: readonly PathStep[]; leaf: Leaf; operator: Operator; values: readonly Bound[]; trigrams?: ServingIndex }
  | Today
  | { search: Search };

/**
 * A condition, in tables as of a position, on the document as it is today; `orGone`: a document that is gone today
 * passes too.
 */
export type Today = { today: Where | null; tables: Tables; orGone: boolean };

/** SQL text with its values, in their order in the text. */
export type Sql = { text: string; values: Bound[] };

/** One key of a sort: a path without lists, and the direction. */
export type SortKey = { steps: readonly PathStep[]; leaf: Leaf; isDescending: boolean };

type Condition = Extract<Where, { leaf: Leaf }>;

/**
 * Compiles a condition for the rows of a table under `alias`. Values are always bound; names come from the
 * configuration. A null equals no value, and differs from every value.
 *
 * @param row with `onlyIndex`, at most the index of this path can find the rows.
 */
export function compileWhere(where: Where, row: TableRow): Sql {
  return compile(where, spotIn(row, { lastAlias: 0 }));
}

/**
 * As {@link compileWhere}, for one known row: the documents that it points at are looked up by id, one after the other,
 * and no table is read from end to end. For many rows it is cheaper to find first the documents that they must point
 * at.
 */
export function compileForOne(where: Where, row: TableRow): Sql {
  return compile(where, spotIn({ ...row, onlyIndex: 'id' }, { lastAlias: 0, isForOne: true }));
}

/**
 * A location in a query that is being compiled. All of the query shares `aliases`, so each of its tables has another
 * name; `isForOne`: see {@link compileForOne}.
 */
export type QueryLocation = ValueLocation & { aliases: { lastAlias: number; isForOne?: boolean } };

/** The location of a row's document, in a query. */
export function spotIn(row: TableRow, aliases: QueryLocation['aliases']): QueryLocation {
  return { ...rowOf(row), aliases };
}

/** A name for another table of a query. */
export function nextAlias({ aliases }: QueryLocation): string {
  aliases.lastAlias += 1;
  return `t${aliases.lastAlias}`;
}

/** Compiles a condition at a location in a query; null is the condition that everything meets. */
export function compile(where: Where | null, spot: QueryLocation): Sql {
  if (where === null) return { text: '1', values: [] };
  if ('and' in where) return combine(where.and, { word: 'AND', empty: '1' }, spot);
  if ('or' in where) return combine(where.or, { word: 'OR', empty: '0' }, spot);
  if ('today' in where) return compileToday(where, spot);
  if ('search' in where) return compileSearch(where.search, spot);
  const crossesMany = where.steps.some((step) => step.kind !== 'member');
  if (!crossesMany) return compileLeaf(where, advance(spot, where.steps));

  const present = withPresence(where);
  if (present !== where) return compile(present, spot);
  // Over several values, "not equal" means that none of them is equal.
  const positive = positiveOf(where);
  const inner = compileSteps(positive, 0, spot);
  return positive === where ? inner : { text: `NOT coalesce((${inner.text}), 0)`, values: inner.values };
}

function combine(parts: readonly Where[], { word, empty }: { word: string; empty: string }, spot: QueryLocation): Sql {
  if (parts.length === 0) return { text: empty, values: [] };
  const compiled = parts.map((part) => compile(part, spot));
  return {
    text: `(${compiled.map(({ text }) => text).join(` ${word} `)})`,
    values: compiled.flatMap(({ values }) => values),
  };
}

function compileToday({ today, tables, orGone }: Today, spot: QueryLocation): Sql {
  if (!spot.row) throw new Error('only a document has a state of today');
  const alias = nextAlias(spot);
  const condition = compile(today, spotIn({ tables, alias }, spot.aliases));
  const live = `SELECT 1 FROM ${tables.documents} AS ${alias} WHERE ${alias}.id = ${spot.row.alias}.id`;
  const passes = `EXISTS (${live} AND ${condition.text})`;
  return { text: orGone ? `(NOT EXISTS (${live}) OR ${passes})` : passes, values: condition.values };
}

/**
 * A condition over other tables: `tablesFor` gives the table that replaces a document's own. The part about today
 * stays.
 */
export function withTables(where: Where, tablesFor: (tables: Tables) => Tables): Where {
  if ('and' in where) return { and: where.and.map((part) => withTables(part, tablesFor)) };
  if ('or' in where) return { or: where.or.map((part) => withTables(part, tablesFor)) };
  if ('today' in where || 'search' in where) return where;
  return { ...where, steps: where.steps.map((step) => stepWithTables(step, tablesFor)) };
}

/** As {@link withTables}, for paths, such as the keys of a sort. */
export function pathsWithTables<P extends { steps: readonly PathStep[] }>(
  paths: readonly P[],
  tablesFor: (tables: Tables) => Tables,
): P[] {
  return paths.map((path) => ({ ...path, steps: path.steps.map((step) => stepWithTables(step, tablesFor)) }));
}

function stepWithTables(step: PathStep, tablesFor: (tables: Tables) => Tables): PathStep {
  if (step.kind !== 'related') return step;
  return { ...step, tables: tablesFor(step.tables), filter: step.filter && withTables(step.filter, tablesFor) };
}

/**
 * A condition on null, over a path through single relationships, as one on whether there is a value: a document that
 * points at none, or at one that the caller may not see, has no value there.
 */
function withPresence(where: Condition): Where {
  const { steps, leaf, operator, values } = where;
  const isNegated = operator === 'not_equals' || operator === 'not_in';
  if (!(isNegated || operator === 'equals' || operator === 'in') || !values.includes(null)) return where;
  if (leaf.kind === 'list' || steps.some((step) => step.kind === 'items' || (step.kind === 'related' && step.isList)))
    return where;
  const presence: Condition = { steps, leaf, operator: 'exists', values: [isNegated ? 1 : 0] };
  const others = values.filter((value) => value !== null);
  if (others.length === 0) return presence;
  const rest: Condition = { ...where, values: others };
  return isNegated ? { and: [rest, presence] } : { or: [rest, presence] };
}

function positiveOf(where: Condition): Condition {
  if (where.operator === 'not_equals') return { ...where, operator: 'equals' };
  if (where.operator === 'not_in') return { ...where, operator: 'in' };
  if (where.operator === 'exists' && where.values[0] === 0) return { ...where, values: [1] };
  return where;
}

/** The location that steps into objects lead to. */
export function advance(spot: QueryLocation, steps: readonly PathStep[]): QueryLocation {
  return { ...spot, path: [...spot.path, ...steps.map(({ name }) => name)] };
}

function compileSteps(where: Condition, index: number, spot: QueryLocation): Sql {
  const step = where.steps[index];
  if (!step) return compileLeaf(where, spot);
  const at = advance(spot, [step]);
  if (step.kind === 'member') return compileSteps(where, index + 1, at);

  const alias = nextAlias(spot);
  if (step.kind === 'items') {
    const item: QueryLocation = { expression: `${alias}.value`, path: [], row: null, aliases: spot.aliases };
    const inner = compileSteps(where, index + 1, item);
    const blockTypes = step.blockTypes ?? [];
    const type = `${alias}.value ->> '$.blockType'`;
    const condition = step.blockTypes ? `${type} IN (${holes(blockTypes)}) AND ${inner.text}` : inner.text;
    // A list whose field has another type now may hold values that are no objects, and SQLite fails on a path into
    // them.
    return {
      text: interruptibleOnce(
        at.row,
        `EXISTS (SELECT 1 FROM ${eachOf(at)} AS ${alias} WHERE CASE ${alias}.type WHEN 'object' THEN ${condition} END)`,
      ),
      values: [...blockTypes, ...inner.values],
    };
  }
  const { tables, filter } = step;
  const { isForOne = false } = spot.aliases;
  const related = spotIn({ tables, alias, ...(isForOne && { onlyIndex: 'id' }) }, spot.aliases);
  const inner = compileSteps(where, index + 1, related);
  const allowed = compile(filter, related);
  const values = [...inner.values, ...allowed.values];
  const found = (documents: string) => `${documents} AS ${alias} WHERE ${inner.text} AND ${allowed.text}`;
  if (isForOne) {
    const points = (id: string) => `EXISTS (SELECT 1 FROM ${found(oneOf(tables, id))})`;
    return { text: step.isList ? someIn(at, points) : points(valueAt(at, 'text').text), values };
  }
  const rows = `${tables.documents} AS ${alias} WHERE ${interruptibleScan(tables, alias)}${inner.text} AND ${allowed.text}`;
  const ids: Sql = { text: `SELECT ${alias}.id FROM ${rows}`, values };
  return step.isList ? someOf(at, ids) : { text: `${valueAt(at, 'text').text} IN (${ids.text})`, values: ids.values };
}

/** The row of one document. Its id is inside the query: for an id outside, SQLite would look through all of a view. */
export function oneOf({ documents, documentBy, overlay }: Tables, id: string): string {
  if (!overlay) return documentBy?.(id) ?? `(SELECT * FROM ${documents} WHERE id = ${id})`;
  const { under, over, select } = overlay;
  const rowOf = ([before, after]: readonly [string, string], tables: Tables) => before + oneOf(tables, id) + after;
  return `(${rowOf(select.under, under)} UNION ALL ${rowOf(select.over, over)})`;
}

/** Whether some entry of a list of texts is among others, by the rows of the link table if there are any. */
function someOf(spot: QueryLocation, among: Sql): Sql {
  const { row, path, aliases } = spot;
  const [field, ...deeper] = path;
  if (
    row &&
    !aliases.isForOne &&
    field !== undefined &&
    deeper.length === 0 &&
    row.tables.links.some(({ name }) => name === field)
  ) {
    return {
      text: `${columnOf(row, 'id', 'id')} IN (SELECT source FROM ${row.tables.linkTable} WHERE field = ? AND target IN (${among.text}))`,
      values: [field, ...among.values],
    };
  }
  return { text: someIn(spot, (entry) => `${entry} IN (${among.text})`), values: among.values };
}

function someIn(spot: QueryLocation, meets: (entry: string) => string): string {
  const alias = nextAlias(spot);
  return interruptibleOnce(
    spot.row,
    `EXISTS (SELECT 1 FROM ${eachOf(spot)} AS ${alias} WHERE ${meets(`${alias}.value`)})`,
  );
}

function compileLeaf({ leaf, operator, values, trigrams }: Condition, at: QueryLocation): Sql {
  const place = { ...at, path: [...at.path, leaf.name] };
  if (leaf.name === '__editors' && place.row && place.path.length === 1)
    return compileEditors(place.row, operator, values);
  if (leaf.kind === 'list' && operator !== 'exists') {
    const among = someOf(place, { text: holes(values), values: [...values] });
    return operator === 'not_in' ? { text: `NOT ${among.text}`, values: among.values } : among;
  }
  if (leaf.kind === 'list' || leaf.kind === 'json') {
    const isThere = `coalesce(json_type(${place.expression}, '${jsonPath(place.path)}'), 'null') <> 'null'`;
    return { text: interruptibleOnce(place.row, values[0] === 1 ? isThere : `NOT ${isThere}`), values: [] };
  }
  if (place.row && !place.row.tables.isGlobal && leaf.name === 'createdAt' && place.path.length === 1) {
    const age = compareAge(columnOf(place.row, 'id', 'id'), operator, values);
    if (age) return age;
  }
  const compared = operators[operator](valueAt(place, leaf.kind), values);
  const condition = isInColumn(place) ? compared : { ...compared, text: interruptibleOnce(place.row, compared.text) };
  const { onlyIndex = null } = place.row ?? {};
  if (!trigrams || !place.row || onlyIndex !== null || !isInTextIndex(place.row.tables)) return condition;
  const found = compileTrigrams(trigrams, place.row, String(values[0]));
  return { text: `(${found.text} AND ${condition.text})`, values: [...found.values, ...condition.values] };
}

/** A condition on the callers who changed what is not public, by the ids in the column `editors`. */
function compileEditors({ tables, alias }: TableRow, operator: Operator, values: readonly Bound[]): Sql {
  if (!tables.overlay && tables.line !== 'draft') return { text: operator === 'not_in' ? '1' : '0', values: [] };
  if (operator === 'exists') return { text: `${alias}.editors ${values[0] === 1 ? '<>' : '='} '{}'`, values: [] };
  const among = `EXISTS (SELECT 1 FROM json_tree(${alias}.editors) AS e WHERE e.type = 'text' AND e.atom IN (${holes(values)}))`;
  return { text: operator === 'not_in' ? `NOT ${among}` : among, values: [...values] };
}

/**
 * A bound on `createdAt` as a bound on the id, which begins with the millisecond and has an index: the ids of a
 * millisecond lie between its text and the text of the next millisecond.
 */
function compareAge(id: string, operator: Operator, [from]: readonly Bound[]): Sql | null {
  // No id has a time before 1970.
  if (typeof from !== 'number' || from < 0) return null;
  const bound = ages[operator];
  return bound ? { text: `${id} ${bound.sign} ?`, values: [idsFrom(from + bound.later)] } : null;
}

/** For each operator on a time: the operator on the id, and the offset in milliseconds. */
const ages: { [operator in Operator]?: { sign: string; later: number } } = {
  greater_than: { sign: '>=', later: 1 },
  greater_than_equal: { sign: '>=', later: 0 },
  less_than: { sign: '<', later: 0 },
  less_than_equal: { sign: '<', later: 1 },
};

/** The beginning of the ids that were made at a moment, in milliseconds since the epoch. */
function idsFrom(milliseconds: number): string {
  const time = milliseconds.toString(16).padStart(12, '0');
  return `${time.slice(0, 8)}-${time.slice(8)}`;
}

/** One entry per operator on a single value: SQL expressions and typed values in, SQL out. */
const operators: Record<Operator, (value: ValueSql, values: readonly Bound[]) => Sql> = {
  equals: ({ text, key }, [wanted = null]) => {
    if (wanted === null) return { text: `${key ?? text} IS NULL`, values: [] };
    // The index is on the key. Texts with one key may differ in case, or in how they are composed.
    return key
      ? { text: `(${key} = ${hole} AND ${text} = ${hole})`, values: [foldBound(wanted), wanted] }
      : { text: `${text} = ${hole}`, values: [wanted] };
  },
  // NULL is "not equal" to any value for a reader of the API, but not for SQL's <>.
  not_equals: ({ text }, [wanted = null]) => ({ text: `${text} IS NOT ?`, values: [wanted] }),
  like: ({ folded }, [wanted]) => ({ text: `instr(${folded}, ?) > 0`, values: [fold(String(wanted))] }),
  contains: (value, values) => operators.equals(value, values),
  in: ({ text, key }, values) => {
    const present = values.filter((one) => one !== null);
    const isNull = present.length < values.length ? `${key ?? text} IS NULL OR ` : '';
    const among = (column: string) => `${column} IN (${holes(present)})`;
    return key
      ? { text: `(${isNull}(${among(key)} AND ${among(text)}))`, values: [...present.map(foldBound), ...present] }
      : { text: `(${isNull}${among(text)})`, values: present };
  },
  not_in: ({ text }, values) => {
    const present = values.filter((one) => one !== null);
    const nulls = present.length < values.length ? `${text} IS NOT NULL AND` : `${text} IS NULL OR`;
    return { text: `(${nulls} ${text} NOT IN (${holes(present)}))`, values: present };
  },
  greater_than: ({ text }, [bound = null]) => ({ text: `${text} > ?`, values: [bound] }),
  less_than: ({ text }, [bound = null]) => ({ text: `${text} < ?`, values: [bound] }),
  greater_than_equal: ({ text }, [bound = null]) => ({ text: `${text} >= ?`, values: [bound] }),
  less_than_equal: ({ text }, [bound = null]) => ({ text: `${text} <= ?`, values: [bound] }),
  exists: ({ text, key }, [isThere]) => ({ text: `${key ?? text} IS ${isThere === 1 ? 'NOT ' : ''}NULL`, values: [] }),
};

/**
 * The placeholder of a value in a comparison. At a bare `?` SQLite looks at the value and plans anew for each, which
 * costs 10 µs.
 */
const hole = '(SELECT ?)';

function foldBound(value: Bound): Bound {
  return typeof value === 'string' ? fold(value) : value;
}

function holes(values: readonly Bound[]): string {
  return values.map(() => '?').join(', ');
}
