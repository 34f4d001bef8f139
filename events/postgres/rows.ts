import { hash } from 'node:crypto';
import type { PostgresStatement, StatementResult } from '../../storage/postgres/connection.ts';
import type { MissingRows, SharedHead, Shipment, ShippedClaim, ShippedIdempotencyRecord } from '../log/shipment.ts';
import { LogMovedError } from '../replica/shared-log.ts';
import { erasingStatements, type LogTables, partStatements } from './parts.ts';

/** The location of a log: in PostgreSQL, on its way there, or in a data directory again. */
export type LogLocation = 'here' | 'arriving' | 'left';

type HeadRow = { name: string; size: number; root: Buffer; recorded_at: string; state: LogLocation };

/** The statement that reads the head of a log. */
export function headQuery(log: number): PostgresStatement {
  return {
    name: 'head',
    text: 'SELECT name, size, root, recorded_at, state FROM annals.heads WHERE log = $1',
    values: [log],
  };
}

/** The same; it also locks the head until the end of the transaction. */
export function lockQuery(log: number): PostgresStatement {
  const { text, values } = headQuery(log) as { text: string; values: unknown[] };
  return { name: 'lock', text: `${text} FOR UPDATE`, values };
}

/** @throws LogMovedError if nodes may not work on the log; Error if there is no such log any more. */
export function headOf(result: StatementResult | undefined): SharedHead {
  const row: HeadRow | undefined = result?.rows[0];
  if (!row) throw new Error('PostgreSQL has no such log any more');
  requireHere(row.state);
  return { log: row.name, size: row.size, root: row.root, recordedAt: row.recorded_at };
}

/** @throws LogMovedError unless the whole log is in PostgreSQL. */
export function requireHere(state: LogLocation): void {
  if (state === 'arriving')
    throw new LogMovedError('the log is not all in PostgreSQL yet: annals log move goes on where it was stopped');
  if (state === 'left')
    throw new LogMovedError(
      'the log is not in PostgreSQL any more: annals log move has moved it into a data directory',
    );
}

/**
 * The statements that read the rows after a position, for {@link missingOf}. They have to run after the head was read.
 */
export function missingQueries(log: number, after: number, limit: number): PostgresStatement[] {
  const values = [log, after, after + limit];
  return [
    {
      name: 'missing-events',
      text: `SELECT e.position, e.id, e.stream, e.version, e.header, p.body
             FROM annals.events AS e LEFT JOIN annals.payloads AS p ON p.log = e.log AND p.position = e.position
               AND p.log = $1 AND p.position > $2 AND p.position <= $3
             WHERE e.log = $1 AND e.position > $2 AND e.position <= $3 ORDER BY e.position`,
      values,
    },
    {
      name: 'missing-claims',
      text: `SELECT since, position, stream, scope, value, is_taken AS "isTaken" FROM annals.claim_changes
             WHERE log = $1 AND since > $2 AND since <= $3 ORDER BY since, at`,
      values,
    },
    {
      name: 'missing-idempotency',
      text: `SELECT since, key, fingerprint, position, stream, version, recorded_at AS "recordedAt" FROM annals.attempts
             WHERE log = $1 AND since > $2 AND since <= $3 ORDER BY since, position`,
      // Records of commands without an event come before the next event.
      values: [log, after, after + limit + 1],
    },
    {
      name: 'missing-erasures',
      text: `SELECT position, files FROM annals.erasures
             WHERE log = $1 AND position > $2 AND position <= $3 ORDER BY position`,
      values,
    },
  ];
}

/**
 * The rows that a replica lacks, of the results of {@link missingQueries}. Rows after the head, which was read before,
 * are left for the next time.
 *
 * @param from the end of the replica: the position that was asked for, or a later one.
 */
export function missingOf(head: SharedHead, from: number, results: readonly StatementResult[]): MissingRows {
  const [events, claims, idempotencyRecords, erasures] = results;
  const found: MissingRows['events'] = (events?.rows ?? []).filter(
    ({ position }) => position > from && position <= head.size,
  );
  const last = found.at(-1)?.position ?? from;
  const isWhole = last === head.size;
  const upTo = <R>(result: StatementResult | undefined, end: number): R[] =>
    (result?.rows ?? []).flatMap(({ since, ...row }) => (since > from && since <= end ? [row] : []));
  return {
    from,
    head: isWhole ? head : null,
    events: found,
    claims: upTo<ShippedClaim>(claims, last),
    idempotencyRecords: upTo<ShippedIdempotencyRecord>(idempotencyRecords, isWhole ? last + 1 : last),
    erasures: (erasures?.rows ?? []).flatMap(({ position, files }) =>
      position > from && position <= last ? [{ position, files: JSON.parse(files) }] : [],
    ),
  };
}

/**
 * The statements that append a shipment to a log that is taken, all in the transaction of the lock. `body` is null if
 * the payload was erased before.
 */
export function shipStatements(
  tables: LogTables,
  shipment: Omit<Shipment, 'events'> & Pick<MissingRows, 'events'>,
): PostgresStatement[] {
  const { log } = tables;
  const { head, events, erasures } = shipment;
  const erased = new Set(erasures.flatMap(({ payloads }) => payloads));
  const kept = events.filter(({ position, body }) => body !== null && !erased.has(position));
  return [
    ...partStatements(tables, shipment.from, head.size),
    insertion('events', log, {
      columns: ['position bigint', 'id uuid', 'stream text', 'version bigint', 'header text'],
      rows: events.map(({ position, id, stream, version, header }) => [position, id, stream, version, header]),
    }),
    insertion('payloads', log, {
      columns: ['position bigint', 'enc int', 'body text'],
      rows: kept.map(({ position, body }) => [position, 0, body]),
    }),
    ...(erasures.length > 0 ? erasing(tables, shipment) : []),
    ...claimStatements(log, withoutErased(shipment), shipment),
    idempotencyStatement(log, idempotencyRecordsLeft(shipment), shipment.from),
    {
      name: 'move-head',
      text: 'UPDATE annals.heads SET size = $2, root = $3, recorded_at = $4 WHERE log = $1 AND size = $5',
      values: [log, head.size, head.root, head.recordedAt, shipment.from],
    },
  ].filter((statement) => statement !== null);
}

/** One statement for any number of rows, with an array for each column; null for no rows. */
function insertion(
  table: string,
  log: number,
  { columns, rows, otherwise = '' }: { columns: readonly string[]; rows: readonly unknown[][]; otherwise?: string },
): PostgresStatement | null {
  if (rows.length === 0) return null;
  const names = columns.map((column) => column.split(' ')[0]);
  const arrays = columns.map((column, at) => `$${at + 2}::${column.split(' ')[1]}[]`);
  return {
    name: `insert-${table}`,
    text: `INSERT INTO annals.${table} (log, ${names.join(', ')})
           SELECT $1::int, ${names.join(', ')} FROM unnest(${arrays.join(', ')}) AS rows (${names.join(', ')}) ${otherwise}`,
    values: [log, ...columns.map((_, at) => rows.map((row) => row[at]))],
  };
}

/** The statements that delete erased rows of before the shipment; erased rows of the shipment are not inserted. */
function erasing(tables: LogTables, { erasures }: Pick<Shipment, 'erasures'>): (PostgresStatement | null)[] {
  const { log } = tables;
  const idempotencyOf = erasures.flatMap((erasure) => erasure.idempotencyOf);
  return [
    ...erasingStatements(tables, erasures),
    { text: 'DELETE FROM annals.attempts WHERE log = $1 AND stream = ANY($2::text[])', values: [log, idempotencyOf] },
    insertion('erasures', log, {
      columns: ['position bigint', 'files text'],
      rows: erasures.map(({ position, files }) => [position, JSON.stringify(files)]),
    }),
  ];
}

function withoutErased({ claims, erasures }: Pick<Shipment, 'claims' | 'erasures'>): ShippedClaim[] {
  return claims.filter(
    ({ stream, position }) =>
      !erasures.some((erasure) => position <= erasure.position && erasure.streams.includes(stream)),
  );
}

/** The idempotency records of a shipment that no erasure in it takes, the last one of each key. */
function idempotencyRecordsLeft({
  idempotencyRecords,
  erasures,
}: Pick<Shipment, 'idempotencyRecords' | 'erasures'>): ShippedIdempotencyRecord[] {
  const left = idempotencyRecords.filter(
    ({ stream, position }) =>
      // The record of an erasure itself is at its position, and stays.
      !erasures.some((erasure) => position < erasure.position && erasure.idempotencyOf.includes(stream)),
  );
  return [...new Map(left.map((one) => [one.key, one])).values()];
}

const idempotencyColumns = [
  'key text',
  'fingerprint text',
  'since bigint',
  'position bigint',
  'stream text',
  'version bigint',
  'recorded_at bigint',
];

/** The statement that keeps idempotency records of a log that ended at `from` before. */
export function idempotencyStatement(
  log: number,
  idempotencyRecords: readonly ShippedIdempotencyRecord[],
  from: number,
): PostgresStatement | null {
  return insertion('attempts', log, {
    columns: idempotencyColumns,
    rows: idempotencyRecords.map((one) => [
      one.key,
      one.fingerprint,
      sinceOf(one, from),
      one.position,
      one.stream,
      one.version,
      one.recordedAt,
    ]),
    // An older record with this key may not be repeated any more.
    otherwise: `ON CONFLICT (log, key) DO UPDATE SET fingerprint = excluded.fingerprint, since = excluded.since, position = excluded.position,
                stream = excluded.stream, version = excluded.version, recorded_at = excluded.recorded_at`,
  });
}

/**
 * The first event with which a replica needs a row. A command without events has the position of the event before it.
 */
function sinceOf({ position }: { position: number }, from: number): number {
  return Math.max(position, from + 1);
}

const claimColumns = [
  'since bigint',
  'at int',
  'position bigint',
  'stream text',
  'scope text',
  'value text',
  'is_taken boolean',
];

/** The statements that change claims of a log that ended at `from` before. @param at the number of the first change. */
export function claimStatements(
  log: number,
  changes: readonly ShippedClaim[],
  { from, at = 0 }: { from: number; at?: number },
): (PostgresStatement | null)[] {
  if (changes.length === 0) return [];
  const byValue = Map.groupBy(changes, ({ scope, value }) => claimHash(scope, value));
  const given = [...byValue].flatMap(([claim, [first]]) => (first?.isTaken === false ? [claim] : []));
  const taken = [...byValue].flatMap(([claim, all]) => {
    const last = all.at(-1);
    return last?.isTaken ? [[Buffer.from(claim, 'hex'), last.stream]] : [];
  });
  return [
    given.length === 0
      ? null
      : {
          name: 'give-claims',
          text: 'DELETE FROM annals.claims WHERE log = $1 AND claim = ANY($2::bytea[])',
          values: [log, given.map((claim) => Buffer.from(claim, 'hex'))],
        },
    insertion('claims', log, { columns: ['claim bytea', 'stream text'], rows: taken }),
    insertion('claim_changes', log, {
      columns: claimColumns,
      rows: changes.map((one, index) => [
        sinceOf(one, from),
        at + index,
        one.position,
        one.stream,
        one.scope,
        one.value,
        one.isTaken,
      ]),
    }),
  ];
}

/** The key of a claim: a value may be longer than a key of PostgreSQL. */
export function claimHash(scope: string, value: string): string {
  return hash('sha256', JSON.stringify([scope, value]), 'hex');
}
