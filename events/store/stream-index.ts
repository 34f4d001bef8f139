import { pluckLate, prepareLate, type Sqlite } from '../../storage/sqlite.ts';
import { missingVersion } from './altered.ts';

/** The position of a version of a stream. */
type StreamPosition = { position: number; version: number };

type StreamRange = [stream: string, after: number, upTo: number];

/** Reads the positions of the versions of streams from the index of streams; a gap in it is an AlteredEventError. */
export function readStreamIndex(db: Sqlite) {
  const selectPositions = prepareLate<StreamRange, StreamPosition>(
    db,
    'SELECT position, version FROM events WHERE stream = ? AND version > ? AND version <= ? ORDER BY version',
  );
  // The plus sign makes SQLite use the index of streams: a stream has fewer events than the log.
  const selectPositionsWithin = prepareLate<[...StreamRange, limit: number], StreamPosition>(
    db,
    'SELECT position, version FROM events WHERE stream = ? AND +position > ? AND +position <= ? ORDER BY version LIMIT ? + 0',
  );
  // SQLite looks at a bare `?` here and plans anew for each value, which costs four times the look-up.
  const selectVersion = pluckLate<[stream: string], number | null>(
    db,
    'SELECT max(version) FROM events WHERE stream = (SELECT ?)',
  );
  // Every name that begins with a prefix sorts before the names that begin with the next character.
  const selectUnder = pluckLate<[from: string, to: string], string>(
    db,
    'SELECT DISTINCT stream FROM events WHERE stream >= ? AND stream < ? ORDER BY stream',
  );
  const selectOneUnder = pluckLate<[from: string, to: string], number>(
    db,
    'SELECT 1 FROM events WHERE stream >= ? AND stream < ? LIMIT 1',
  );
  const selectLast = prepareLate<[stream: string, upTo: number], StreamPosition>(
    db,
    'SELECT position, version FROM events WHERE stream = (SELECT ?) AND position <= ? ORDER BY version DESC LIMIT 1',
  );

  /** The version of the newest event of a stream; 0 for a stream without events. */
  function versionOf(name: string): number {
    return selectVersion().get(name) ?? 0;
  }

  /** The positions of the versions `after + 1` to `upTo` of a stream, in their order. */
  function positionsOf(name: string, after: number, upTo: number): number[] {
    const rows = inStream(name, after, selectPositions().all(name, after, upTo));
    const next = after + rows.length + 1;
    // The stream may have grown meanwhile: an event is missing only if the newest version counts it.
    if (next <= upTo && next <= versionOf(name) && selectPositions().get(name, next - 1, next) === undefined)
      throw missingVersion(name, next);
    return rows.map(({ position }) => position);
  }

  /** The position of an existing version of a stream. */
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

  /** The newest version of a stream, with its position, when the log held `upTo` events; null before the first. */
  function lastOf(name: string, upTo: number): StreamPosition | null {
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

/** Checks that rows of a stream have no gap in their versions. @throws AlteredEventError */
export function inStream<T extends StreamPosition>(stream: string, after: number, rows: T[]): T[] {
  const at = rows.findIndex(({ version }, index) => version !== after + index + 1);
  if (at >= 0) throw missingVersion(stream, after + at + 1);
  return rows;
}
