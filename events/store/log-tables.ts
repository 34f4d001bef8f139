import { openDatabase, type Sqlite } from '../../storage/sqlite.ts';

/**
 * The version of the tables below and of the bytes in them, kept in the file's `user_version`. Earlier formats are read
 * for ever.
 */
export const logFormat = 5;

/** "Anns" in ASCII: marks the file as a log (`PRAGMA application_id`). */
export const logApplication = 0x416e6e73;

/** The head in format 3 and newer. `mac` seals the other columns. */
export const headTable = `
CREATE TABLE head (
  log TEXT PRIMARY KEY,
  size INTEGER NOT NULL,
  root BLOB NOT NULL CHECK (length(root) = 32),
  recorded_at TEXT NOT NULL,
  mac BLOB NOT NULL CHECK (length(mac) = 32)
) STRICT;
`;

/** The head in formats 1 and 2. */
const headWithoutMac = headTable.replace(/,\n {2}mac BLOB .*/, '');

/** The events in formats 1 to 4, with the text of each header. */
export const formerEvents = `
CREATE TABLE events (
  position INTEGER PRIMARY KEY,
  id TEXT NOT NULL,
  stream TEXT NOT NULL,
  version INTEGER NOT NULL CHECK (version >= 1),
  header TEXT NOT NULL
) STRICT;
`;

/** The view `headers` of format 5, for a connection that reads an earlier format. */
export const formerHeaders =
  'CREATE TEMP VIEW headers AS SELECT position, id, stream, version, header FROM main.events';

/** An id in 16 bytes, as text. */
const idText = (column: string) => {
  const part = (from: number, bytes: number) => `substr(${column}, ${from}, ${bytes})`;
  const parts = [part(1, 4), part(5, 2), part(7, 2), part(9, 2), part(11, 6)].map((bytes) => `hex(${bytes})`);
  return `lower(${parts.join(" || '-' || ")})`;
};
const idOrText = (column: string) => `CASE typeof(${column}) WHEN 'blob' THEN ${idText(column)} ELSE ${column} END`;

/**
 * The events in format 5. Their columns are the members of the header, ids in 16 bytes and the commitment in 32; the
 * view `headers` puts them together again. A header that the view would not give is in `whole`, and the columns from
 * `v` on are null.
 */
export const eventsTable = `
CREATE TABLE events (
  position INTEGER PRIMARY KEY,
  id ANY NOT NULL,
  stream TEXT NOT NULL,
  version INTEGER NOT NULL CHECK (version >= 1),
  v INTEGER,
  type TEXT,
  schema_version INTEGER,
  recorded_at INTEGER,
  actor_type TEXT,
  actor_id TEXT,
  correlation ANY,
  batch BLOB,
  payload BLOB,
  whole TEXT
) STRICT;
CREATE VIEW headers AS SELECT position, ${idOrText('id')} AS id, stream, version, coalesce(whole,
  '{"actor":{' || coalesce('"id":"' || actor_id || '",', '') || '"type":"' || actor_type ||
  '"}' || CASE WHEN batch IS NULL THEN '' ELSE ',"batch":"' || ${idText('batch')} || '"' END ||
  ',"correlationId":"' || ${idOrText('correlation')} ||
  '","id":"' || ${idOrText('id')} ||
  '","log":"' || (SELECT log FROM head) || '","payload":"sha256:' || lower(hex(payload)) ||
  '","position":' || position || ',"recordedAt":"' || strftime('%Y-%m-%dT%H:%M:%S.', recorded_at / 1000, 'unixepoch') ||
  substr(1000 + recorded_at % 1000, 2) || 'Z","schemaVersion":' || schema_version || ',"stream":"' || stream ||
  '","type":"' || type || '","v":' || v || ',"version":' || version || '}', '') AS header FROM events;
`;

export const eventIndexes = `
CREATE UNIQUE INDEX events_stream ON events (stream, version);
CREATE UNIQUE INDEX events_id ON events (id);
`;

/**
 * The triggers stop mistakes of honest programs; the tree reveals all other changes. INSERT OR REPLACE bypasses
 * triggers against UPDATE and DELETE in a connection without `recursive_triggers`, so inserting has its own trigger.
 */
export const eventGuards = `
CREATE TRIGGER events_update BEFORE UPDATE ON events BEGIN SELECT RAISE(ABORT, 'events are append-only'); END;
CREATE TRIGGER events_delete BEFORE DELETE ON events BEGIN SELECT RAISE(ABORT, 'events are append-only'); END;
CREATE TRIGGER events_insert BEFORE INSERT ON events
  WHEN NEW.position IS NOT (SELECT coalesce(max(position), 0) + 1 FROM events)
    OR EXISTS (SELECT 1 FROM events WHERE stream = NEW.stream AND version = NEW.version)
    OR EXISTS (SELECT 1 FROM events WHERE id = NEW.id)
  BEGIN SELECT RAISE(ABORT, 'events are append-only'); END;
`;

/**
 * The tables that all formats have, except the head and the events. Every index except the two unique ones is in the
 * read file.
 */
const tables = `
CREATE TABLE payloads (
  position INTEGER PRIMARY KEY REFERENCES events (position),
  enc INTEGER NOT NULL,
  body ANY NOT NULL
) STRICT;

CREATE TABLE claims (
  scope TEXT NOT NULL,
  value TEXT NOT NULL,
  stream TEXT NOT NULL,
  PRIMARY KEY (scope, value)
) STRICT, WITHOUT ROWID;

CREATE TABLE tiles (
  level INTEGER NOT NULL,
  idx INTEGER NOT NULL,
  hashes BLOB NOT NULL,
  PRIMARY KEY (level, idx)
) STRICT;

CREATE TRIGGER payloads_update BEFORE UPDATE ON payloads BEGIN SELECT RAISE(ABORT, 'payloads are append-only'); END;
CREATE TRIGGER payloads_insert BEFORE INSERT ON payloads
  WHEN EXISTS (SELECT 1 FROM payloads WHERE position = NEW.position)
  BEGIN SELECT RAISE(ABORT, 'payloads are append-only'); END;
`;

/** The guard of format 1. */
const formerDeleteGuard = `
CREATE TRIGGER payloads_delete BEFORE DELETE ON payloads BEGIN SELECT RAISE(ABORT, 'payloads are append-only'); END;
`;

/** The tables that format 2 added. */
export const addedTables = `
-- Attempts that clients may repeat, by the keyed hash of their Idempotency-Key.
CREATE TABLE commands (
  key TEXT PRIMARY KEY,
  fingerprint TEXT NOT NULL,
  stream TEXT NOT NULL,
  position INTEGER NOT NULL,
  version INTEGER NOT NULL,
  recorded_at INTEGER NOT NULL
) STRICT;

-- Signed tree heads, and where copies of them have gone.
CREATE TABLE checkpoints (
  size INTEGER PRIMARY KEY,
  note TEXT NOT NULL,
  signed_at TEXT NOT NULL,
  stored INTEGER NOT NULL DEFAULT 0,
  posted INTEGER NOT NULL DEFAULT 0
) STRICT;

-- Erasures by the position of their event. While one is not done, payloads may be deleted.
CREATE TABLE erasures (
  position INTEGER PRIMARY KEY REFERENCES events (position),
  files TEXT NOT NULL,
  done INTEGER NOT NULL DEFAULT 0
) STRICT;
`;

export const deleteGuard = `
CREATE TRIGGER payloads_delete BEFORE DELETE ON payloads
  WHEN NOT EXISTS (SELECT 1 FROM erasures WHERE done = 0)
  BEGIN SELECT RAISE(ABORT, 'payloads are append-only'); END;
`;

/** The table that format 3 added, for the time-stamp tokens (RFC 3161) of checkpoints. */
export const timestampsTable = `
CREATE TABLE timestamps (
  size INTEGER NOT NULL,
  authority TEXT NOT NULL,
  token BLOB NOT NULL,
  received_at TEXT NOT NULL,
  PRIMARY KEY (size, authority)
) STRICT;
`;

/** The tables that format 4 added. It also changed the guard: a payload that is in a segment may leave the table. */
export const segmentTables = `
-- Files with payloads of earlier positions, from 1 on and without a gap.
CREATE TABLE segments (
  first INTEGER PRIMARY KEY,
  last INTEGER NOT NULL,
  file TEXT NOT NULL,
  sha256 BLOB NOT NULL CHECK (length(sha256) = 32),
  bytes INTEGER NOT NULL,
  raw INTEGER NOT NULL
) STRICT;

-- Positions whose payloads were erased, and are not removed from the file of their segment yet.
CREATE TABLE removals (
  position INTEGER PRIMARY KEY REFERENCES events (position)
) STRICT;
`;

export const segmentDeleteGuard = `
CREATE TRIGGER payloads_delete BEFORE DELETE ON payloads
  WHEN OLD.position > (SELECT coalesce((SELECT last FROM segments ORDER BY first DESC LIMIT 1), 0))
    AND NOT EXISTS (SELECT 1 FROM erasures WHERE done = 0)
  BEGIN SELECT RAISE(ABORT, 'payloads are append-only'); END;
`;

/** Makes the tables of a format in an empty file, inside of a transaction. */
export function makeTables(db: Sqlite, format: number): void {
  db.exec(format < 3 ? headWithoutMac : headTable);
  db.exec(`${format < 5 ? formerEvents : eventsTable}${eventIndexes}${eventGuards}${tables}`);
  if (format > 1) db.exec(addedTables);
  if (format > 2) db.exec(timestampsTable);
  if (format > 3) db.exec(segmentTables);
  db.exec(guardOf(format));
  db.pragma(`application_id = ${logApplication}`);
  db.pragma(`user_version = ${format}`);
}

function guardOf(format: number): string {
  if (format === 1) return formerDeleteGuard;
  return format < 4 ? deleteGuard : segmentDeleteGuard;
}

/** The SQL of every table, index and trigger of a file. */
export function schemaOf(db: Sqlite): unknown[] {
  return db.prepare('SELECT type, name, sql FROM main.sqlite_schema ORDER BY type, name').all();
}

const expected = new Map<number, unknown[]>();

/** The result of {@link schemaOf} for a log of a format. */
export function expectedSchema(format: number): readonly unknown[] {
  const schema = expected.get(format) ?? makeSchema(format);
  expected.set(format, schema);
  return schema;
}

function makeSchema(format: number): unknown[] {
  const db = openDatabase(':memory:');
  makeTables(db, format);
  const schema = schemaOf(db);
  db.close();
  return schema;
}
