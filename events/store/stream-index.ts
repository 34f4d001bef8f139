import { pluckLate, prepareLate, type Sqlite } from '../../storage/sqlite.ts';
import { missingVersion } from './altered.ts';

export type StreamIndex = ReturnType<typeof readStreamIndex>;

/** Where a version of a stream stands in the log. */
export type Place = { position: number; version: number };

type StreamRange = [stream: string, after: number, upTo: number];

/** Reads where the versions of streams stand, as the index of streams has it; a gap in it is an AlteredEventError. */
export function readStreamIndex(db: Sqlite) {
  const selectPositions = prepareLate<StreamRange, Place>(
    db,
    'SELECT position, version FROM events WHERE stream = ? AND version > ? AND version <= ? ORDER BY version',
  );
  // The plus sign keeps it to the index of streams: there are fewer events in one than in the log.
  const selectPositionsWithin = prepareLate<[...StreamRange, limit: number], Place>(
    db,
    'SELECT position, version FROM events WHERE stream = ? AND +position > ? AND +position <= ? ORDER BY version LIMIT ? + 0',
  );
  // SQLite looks at a bare `?` here and plans anew for each value, which costs four times the look-up.
  const selectVersion = pluckLate<[stream: string], number | null>(
    db,
    'SELECT max(version) FROM events WHERE stream = (SELECT ?)',
  );
  // Everything that begins with a prefix is before what begins with the next character.
  const selectUnder = pluckLate<[from: string, to: string], string>(
    db,
    'SELECT DISTINCT stream FROM events WHERE stream >= ? AND stream < ? ORDER BY stream',
  );
  const selectOneUnder = pluckLate<[from: string, to: string], number>(
    db,
    'SELECT 1 FROM events WHERE stream >= ? AND stream < ? LIMIT 1',
  );
  const selectLast = prepareLate<[stream: string, upTo: number], Place>(
    db,
    'SELECT position, version FROM events WHERE stream = (SELECT ?) AND position <= ? ORDER BY version DESC LIMIT 1',
  );

  /** The version of the newest event of a stream; 0 for a stream without events. */
  function versionOf(name: string): number {
    return selectVersion().get(name) ?? 0;
  }

  /** Where the versions `after + 1` to `upTo` of a stream stand in the log, in their order. */
  function positionsOf(name: string, after: number, upTo: number): number[] {
    const rows = inStream(name, after, selectPositions().all(name, after, upTo));
    const next = after + rows.length + 1;
    // An event that is appended meanwhile is there when the newest version says so.
    if (next <= upTo && next <= versionOf(name) && selectPositions().get(name, next - 1, next) === undefined)
      throw missingVersion(name, next);
    return rows.map(({ position }) => position);
  }

  /** Where an existing version of a stream stands. */
  function positionOf(name: string, version: number): number {
    const [position] = positionsOf(name, version - 1, version);
    if (position === undefined) throw missingVersion(name, version);
    return position;
  }

  /** The positions of a stream's events after `after` up to `upTo`, the first `limit` of them. */
  function positionsWithin(name: string, { after, upTo, limit }: { after: number; upTo: number; limit: number }) {
    const rows = selectPositionsWithin().all(name, after, upTo, limit);
    return inStream(name, (rows[0]?.version ?? 1) - 1, rows).map(({ position }) => position);
  }

  /** Where a stream stood when the log held `upTo` events; null when it had not begun. */
  function lastOf(name: string, upTo: number): Place | null {
    return selectLast().get(name, upTo) ?? null;
  }

  /** The names of all streams that begin with a prefix that ends in a slash, in their order. */
  function streamsUnder(prefix: string): string[] {
    return selectUnder().all(prefix, `${prefix.slice(0, -1)}0`);
  }

  /** Whether some stream begins with a prefix that ends in a slash. */
  function hasUnder(prefix: string): boolean {
    return selectOneUnder().get(prefix, `${prefix.slice(0, -1)}0`) !== undefined;
  }

  return { versionOf, positionsOf, positionOf, positionsWithin, lastOf, streamsUnder, hasUnder };
}

/** Rows of a stream, checked to be without a gap in their versions. @throws AlteredEventError. */
export function inStream<T extends Place>(stream: string, after: number, rows: T[]): T[] {
  const at = rows.findIndex(({ version }, index) => version !== after + index + 1);
  if (at >= 0) throw missingVersion(stream, after + at + 1);
  return rows;
}
