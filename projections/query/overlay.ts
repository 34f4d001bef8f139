import { interruptible } from '../tables/interruption.ts';
import { columnsOf } from '../tables/past-tables.ts';
import type { lineColumns, Overlay, Tables } from '../tables/tables.ts';
import { type Bound, compileWhere, type Sql, type Where } from './where.ts';

/**
 * The rows that an overlay shows of two tables, as conditions; null for all. A row of `over` that is not shown leaves
 * the row of `under` with its id in its place.
 */
export type Shown = { under: Where | null; over: Where | null };

/** The parts of an overlay. */
type Layers = { under: Tables; over: Tables; shown: Shown };

/** Tables of an overlay, with the conditions that are part of its texts. */
export type OverlayTables = Tables & { overlay: Overlay & { shown: Shown } };

/**
 * Tables whose `documents` are a query over the rows of two tables. Its conditions are part of the text, with their
 * values, so it can stand wherever a table can.
 */
export function overlayOf({ under, over, shown }: Layers): OverlayTables {
  const select = { under: underText({ under, over, shown }), over: overText({ under, over, shown }) };
  const [beforeUnder, afterUnder] = select.under;
  const [beforeOver, afterOver] = select.over;
  const { isInterruptible = false, isPast = false } = under;
  return {
    ...under,
    drafts: null,
    documents: `(${beforeUnder}${under.documents}${afterUnder} UNION ALL ${beforeOver}${over.documents}${afterOver})`,
    linkTable: under.linkTable && linksOf({ under, over, shown }),
    overlay: { under, over, shown, select },
    ...(isInterruptible && { isInterruptible }),
    ...(isPast && { isPast }),
  };
}

/** The overlay of tables; null if they are none. */
export function overlayIn(tables: Tables): OverlayTables['overlay'] | null {
  return isOverlay(tables) ? tables.overlay : null;
}

function isOverlay(tables: Tables): tables is OverlayTables {
  return tables.overlay !== undefined && 'shown' in tables.overlay;
}

/** The same tables, but their queries call the check of `interruptible`; those of both tables of an overlay. */
export function interruptibleLayers(tables: Tables): Tables {
  const overlay = overlayIn(tables);
  if (!overlay) return interruptible(tables);
  const { under, over, shown } = overlay;
  return overlayOf({ under: interruptible(under), over: interruptible(over), shown });
}

/** The condition that a row of `over` under an alias is shown, with its values in the text. */
export function overMet({ over, shown }: Pick<Layers, 'over' | 'shown'>, alias: string): string {
  return shown.over ? inlined(compileWhere(shown.over, { tables: over, alias })) : '1';
}

/** The condition that no shown row takes the place of the row of `under` with this id. */
export function isNotReplaced(layers: Pick<Layers, 'over' | 'shown'>, id: string): string {
  const { over, shown } = layers;
  // Without a condition SQLite looks the id up in the index of the table.
  if (!shown.over) return `${id} NOT IN (SELECT id FROM ${over.documents})`;
  return `NOT EXISTS (SELECT 1 FROM ${over.documents} AS o WHERE o.id = ${id} AND ${overMet(layers, 'o')})`;
}

function underText(layers: Layers): Overlay['select']['under'] {
  const { under, over, shown } = layers;
  const columns = namesOf(under, over).map((name) => `${columnUnder(under, name)} AS ${name}`);
  const met = shown.under ? ` AND ${inlined(compileWhere(shown.under, { tables: under, alias: 'u' }))}` : '';
  return [`SELECT 0 AS is_over, ${columns.join(', ')} FROM `, ` AS u WHERE ${isNotReplaced(layers, 'u.id')}${met}`];
}

function overText(layers: Layers): Overlay['select']['over'] {
  const columns = namesOf(layers.under, layers.over).map((name) => `o.${name} AS ${name}`);
  return [`SELECT 1 AS is_over, ${columns.join(', ')} FROM `, ` AS o WHERE ${overMet(layers, 'o')}`];
}

/** The columns of the rows of an overlay, beside `is_over`. */
function namesOf(under: Tables, over: Tables): string[] {
  return [...new Set([...columnsOf(under), ...columnsOf(over)].map(({ name }) => name))];
}

/** The values of a public row in the columns that only drafts have. */
const ofPublic: { [column in keyof typeof lineColumns.draft]?: string } = {
  is_public: '1',
  editors: `'{}'`,
  review: 'NULL',
  review_version: 'NULL',
};

function columnUnder({ line }: Tables, name: string): string {
  if (line === 'public' && Object.hasOwn(ofPublic, name)) return ofPublic[name as keyof typeof ofPublic] ?? 'NULL';
  return `u.${name}`;
}

/** The links of the shown rows. */
function linksOf(layers: Layers): string {
  const { under, over, shown } = layers;
  const links = (table: string, met: string) => `SELECT field, target, source FROM ${table} AS k WHERE ${met}`;
  const isShownUnder = shown.under
    ? ` AND EXISTS (SELECT 1 FROM ${under.documents} AS u WHERE u.id = k.source AND ${inlined(compileWhere(shown.under, { tables: under, alias: 'u' }))})`
    : '';
  const isShownOver = shown.over
    ? `EXISTS (SELECT 1 FROM ${over.documents} AS o WHERE o.id = k.source AND ${overMet(layers, 'o')})`
    : '1';
  return `(${links(under.linkTable, isNotReplaced(layers, 'k.source') + isShownUnder)} UNION ALL
    ${links(over.linkTable, isShownOver)})`;
}

/** A condition with its values in its text. Its text has no other question marks: names have none. */
function inlined({ text, values }: Sql): string {
  const [first = '', ...rest] = text.split('?');
  if (rest.length !== values.length) throw new Error('a condition has another number of values than its text');
  return first + rest.map((part, index) => literal(values[index] ?? null) + part).join('');
}

/** A value as SQL. Texts with other than plain characters are written as bytes, in which nothing can be escaped. */
function literal(value: Bound): string {
  if (value === null) return 'NULL';
  if (typeof value === 'number') return String(value);
  if (/^[\w-]*$/.test(value)) return `'${value}'`;
  return `CAST(x'${Buffer.from(value).toString('hex')}' AS TEXT)`;
}
