import type { Connection, PostgresStatement } from '../../storage/postgres/connection.ts';
import type { ShippedErasure } from '../log/shipment.ts';

/**
 * A log as its tables know it. `log`: its number. `partSize`: the positions of a part of the tables whose rows can be
 * erased; null for a database that does not keep erased rows in its files.
 */
export type LogTables = { log: number; partSize: number | null };

/**
 * A part of a table, which can be made anew by itself. `part`: its number in the order of positions; 0 for a table with
 * one part for each log.
 */
export type TablePart = { what: PartedTable; part: number };

/**
 * The tables whose rows can be erased. `by`: the column by which the rows of a log are divided into parts; `text`: the
 * column with erasable text.
 */
export const partedTables = {
  payloads: { by: 'position', text: 'body' },
  claim_changes: { by: 'since', text: 'value' },
  claims: { by: null, text: 'claim' },
  erasures: { by: null, text: 'files' },
} as const;

export type PartedTable = keyof typeof partedTables;

/**
 * A part of 65,536 events of 1.5 KB is copied in about two seconds, and there are some hundreds of them at ten million
 * events.
 */
export const usualPartSize = 65_536;

/** The rights that a part must not give, as its table does not; see `forbidden` in `tables.ts`. */
const without: Partial<Record<PartedTable, string>> = { payloads: 'UPDATE, TRUNCATE' };

/** Whether the tables of this database have parts. */
export async function areDivided(connection: Connection): Promise<boolean> {
  const [found] = await connection.run({
    text: `SELECT 1 FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
           WHERE n.nspname = 'annals' AND c.relname = 'payloads' AND c.relkind = 'p'`,
  });
  return found?.rowCount === 1;
}

/** The tables of a log, as this database has them. */
export async function tablesOf(connection: Connection, log: number): Promise<LogTables> {
  return { log, partSize: (await areDivided(connection)) ? usualPartSize : null };
}

function partOf(position: number, partSize: number): number {
  return Math.floor((position - 1) / partSize);
}

export function nameOf({ log }: LogTables, { what, part }: TablePart): string {
  return partedTables[what].by === null ? `${what}_${log}` : `${what}_${log}_${part}`;
}

/** The statements that make the parts whose first position is after `from` and not after `to`. */
export function partStatements(tables: LogTables, from: number, to: number): PostgresStatement[] {
  const { partSize } = tables;
  if (partSize === null) return [];
  const first = Math.ceil(from / partSize);
  const parts = Array.from({ length: Math.max(partOf(to, partSize) - first + 1, 0) }, (_, at) => first + at);
  const made = parts.flatMap((part) => [
    { what: 'payloads', part } as const,
    { what: 'claim_changes', part } as const,
    ...(part === 0 ? [{ what: 'claims', part } as const, { what: 'erasures', part } as const] : []),
  ]);
  return made.flatMap((one) => [...tableStatements(nameOf(tables, one), one.what), attachStatement(tables, one)]);
}

/**
 * The statements that make a table which can become a part. The statistics leave out its text, of which they would keep
 * samples.
 */
export function tableStatements(name: string, what: PartedTable): PostgresStatement[] {
  const rights = without[what];
  return [
    { text: `CREATE TABLE annals.${name} (LIKE annals.${what} INCLUDING ALL)` },
    { text: `ALTER TABLE annals.${name} ALTER COLUMN ${partedTables[what].text} SET STATISTICS 0` },
    ...(rights === undefined ? [] : [{ text: `REVOKE ${rights} ON annals.${name} FROM CURRENT_USER` }]),
  ];
}

/**
 * The statement that makes a table a part. It waits for no reader, as CREATE TABLE … PARTITION OF would: a dump reads
 * for hours.
 */
export function attachStatement(tables: LogTables, one: TablePart): PostgresStatement {
  const { log, partSize } = tables;
  const size = partSize ?? 0;
  const bounds =
    partedTables[one.what].by === null
      ? `IN (${log})`
      : // Claims that came when the log was moved here have no event: they are at 0.
        `FROM (${log}, ${one.part === 0 ? 'MINVALUE' : one.part * size + 1}) TO (${log}, ${(one.part + 1) * size + 1})`;
  return { text: `ALTER TABLE annals.${one.what} ATTACH PARTITION annals.${nameOf(tables, one)} FOR VALUES ${bounds}` };
}

/** The statements that delete erased rows of before a shipment, and note which parts are to be made anew. */
export function erasingStatements(tables: LogTables, erasures: readonly ShippedErasure[]): PostgresStatement[] {
  const positions = erasures.flatMap(({ payloads }) => payloads);
  const streams = erasures.flatMap((erasure) => erasure.streams);
  const newest = erasures.at(-1)?.position ?? 0;
  return [
    ...removals(tables, [['payloads', 'position = ANY($2::bigint[])', positions]], newest),
    ...removalOfClaims(tables, streams, newest),
  ];
}

/**
 * The statements that delete the claims of some streams, or of all, and note which parts are to be made anew.
 *
 * @param at the end of the log.
 */
export function removalOfClaims(tables: LogTables, streams: readonly string[] | null, at: number): PostgresStatement[] {
  const which = streams ? 'stream = ANY($2::text[])' : '$2::text[] IS NULL';
  const gone = (['claim_changes', 'claims'] as const).map((what): Removal => [what, which, streams]);
  return removals(tables, gone, at);
}

type Removal = [PartedTable, string, unknown];

function removals(tables: LogTables, gone: readonly Removal[], newest: number): PostgresStatement[] {
  const { log, partSize } = tables;
  return gone.flatMap(([what, condition, values]): PostgresStatement[] => {
    const text = `DELETE FROM annals.${what} WHERE log = $1 AND ${condition}`;
    if (partSize === null) return [{ text, values: [log, values] }];
    const { by } = partedTables[what];
    // A value that was given up has left its claim in the table too, so both follow from the changes.
    if (by === null) return [{ text, values: [log, values] }];
    const notes = (table: string, part: string) =>
      `INSERT INTO annals.rewrites SELECT DISTINCT $1::int, '${table}', ${part}, $3::bigint FROM gone
       ON CONFLICT (log, what, part) DO UPDATE SET since = excluded.since`;
    const also = what === 'claim_changes' ? `, claims AS (${notes('claims', '0')})` : '';
    return [
      {
        text: `WITH gone AS (${text} RETURNING (${by} - 1) / ${partSize} AS part)${also} ${notes(what, 'part')}`,
        values: [log, values, newest],
      },
    ];
  });
}
