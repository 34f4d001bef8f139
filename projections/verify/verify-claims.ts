import { type CollectionSchema, categoryOf, type Schema } from '../../config/schema.ts';
import { documentStream } from '../../events/facts/catalogue.ts';
import { claimOf, type UniqueField } from '../../events/facts/claims.ts';
import type { LogReader } from '../../events/log/log-reader.ts';
import type { Finding } from '../../events/proof/seen-heads.ts';
import type { Sqlite } from '../../storage/sqlite.ts';
import type { Bound } from '../query/where.ts';
import { claimingRows } from '../start/schema-fit.ts';
import { draftKey, quote } from '../tables/tables.ts';

/** A log, and the read file that is made from it. */
export type LogAndTables = { db: Sqlite; log: LogReader; read: Sqlite };

/** The number of rows that are read at a time. */
const chunk = 100;
/** How often a row is looked at again while the read file is behind the log. */
const mostTries = 20;

/**
 * Compares the claims of a log with the unique values of the live documents in a read file, beside a service that keeps
 * writing: each value must be held by its document, and, if nothing was written meanwhile, no other value may be held.
 * Each step is a separate read. Findings name no value, which may be an address.
 */
export function* checkClaims(files: LogAndTables, schema: Schema): Generator<void, Finding | null> {
  const { db, log, read } = files;
  const selectReached = read.prepare<[], number>('SELECT position FROM checkpoint').pluck();
  const { size } = log.head();
  const isApplied = selectReached.get() === size;
  // A hundred look-ups in one transaction, for beginning one takes longer than a look-up.
  const together = db.transaction((look: () => Doubt[]) => look());
  let values = 0;
  for (const one of schema.collections) {
    const category = categoryOf(one);
    for (const { rows: from, unique } of claimingRows(one)) {
      const columns = unique.map((field) => uniqueColumn(files, one, { field, from }));
      if (columns.length === 0) continue;
      const names = columns.map(({ name }) => name).join(', ');
      const select = read
        .prepare<[after: number, limit: number], [key: number, id: string, ...values: Bound[]]>(
          `SELECT key, id, ${names} FROM ${from} AND key > ? ORDER BY key LIMIT ? + 0`,
        )
        .raw();
      for (let rows = select.all(0, chunk), last = rows.at(-1); last; last = rows.at(-1)) {
        const doubts = together(() =>
          rows.flatMap(([, id, ...held]) => {
            const stream = documentStream(category, id);
            return held.flatMap((value, at): Doubt[] => {
              if (value === null) return [];
              values += 1;
              const column = columns[at] as UniqueColumn;
              return column.holds(stream, value) ? [] : [{ column, id, stream }];
            });
          }),
        );
        for (const doubt of doubts) {
          if (!(yield* isWrong(files, doubt))) continue;
          return `claims: the value of ${doubt.column.scope} that ${doubt.stream} has is not held by it`;
        }
        yield;
        rows = select.all(last[0], chunk);
      }
    }
  }
  // Claims and the head change in one transaction.
  const counts = db
    .prepare<[], { claims: number; size: number }>('SELECT size, (SELECT count(*) FROM claims) AS claims FROM head')
    .get();
  if (!isApplied || counts?.size !== size || counts.claims === values) return null;
  return `claims: ${counts.claims} are stored, the documents make ${values}`;
}

type UniqueColumn = ReturnType<typeof uniqueColumn>;

type ClaimingField = { field: UniqueField; from: string };

function uniqueColumn({ db, read }: LogAndTables, one: CollectionSchema, { field, from }: ClaimingField) {
  const category = categoryOf(one);
  const { scope, path } = field;
  const name = quote(`f.${path.join('.')}`);
  const selectHolder = db
    .prepare<[scope: string, value: string], string>('SELECT stream FROM claims WHERE scope = ? AND value = ?')
    .pluck();
  // With drafts the version of the stream is in one of the two rows.
  const headIn = (key: string) => `coalesce((SELECT head FROM ${quote(`documents ${key}`)} WHERE id = @id), 0)`;
  const version = one.drafts ? `max(${headIn(category)}, ${headIn(draftKey(category))})` : 'version';
  const selectRow = read.prepare<[{ id: string }], { version: number; value: Bound }>(
    `SELECT ${version} AS version, ${name} AS value FROM ${from} AND id = @id`,
  );

  function holds(stream: string, value: string | number): boolean {
    const claim = claimOf(field, value);
    if (selectHolder.get(scope, claim.value) === stream) return true;
    return claim.former !== undefined && selectHolder.get(scope, claim.former) === stream;
  }

  return { scope, name, holds, rowOf: (id: string) => selectRow.get({ id }) ?? null };
}

type Doubt = { column: UniqueColumn; id: string; stream: string };

/**
 * Looks again until log and read file have the same version of a document, which may have changed between two reads.
 */
function* isWrong({ log }: LogAndTables, { column, id, stream }: Doubt): Generator<void, boolean> {
  for (let tries = 0; tries < mostTries; tries += 1) {
    const version = log.versionOf(stream);
    const row = column.rowOf(id);
    if (row === null || row.value === null || column.holds(stream, row.value)) return false;
    if (row.version === version && log.versionOf(stream) === version) return true;
    yield;
  }
  return false;
}
