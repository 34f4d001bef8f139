import { statSync } from 'node:fs';
import { isDiskFull, openDatabase, type Sqlite } from '../storage/sqlite.ts';
import { emptyRoot } from './merkle.ts';

/** Kept in the file's `user_version`: the version of the tables below and of the bytes in them. */
export const logFormat = 2;

/** "Anns" in ASCII: marks the file as a log (`PRAGMA application_id`). */
export const logApplication = 0x416e6e73;

/**
 * The tables of `log.db`. Every index but the two unique ones belongs to the read file.
 *
 * The triggers keep honest programs honest; the tree is what finds the others. INSERT OR REPLACE walks past triggers
 * against UPDATE and DELETE in a connection without `recursive_triggers`, so inserting is guarded by itself.
 */
const tables = `
CREATE TABLE head (
  log TEXT PRIMARY KEY,
  size INTEGER NOT NULL,
  root BLOB NOT NULL CHECK (length(root) = 32),
  recorded_at TEXT NOT NULL
) STRICT;

CREATE TABLE events (
  position INTEGER PRIMARY KEY,
  id TEXT NOT NULL,
  stream TEXT NOT NULL,
  version INTEGER NOT NULL CHECK (version >= 1),
  header TEXT NOT NULL
) STRICT;
CREATE UNIQUE INDEX events_stream ON events (stream, version);
CREATE UNIQUE INDEX events_id ON events (id);

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

CREATE TRIGGER events_update BEFORE UPDATE ON events BEGIN SELECT RAISE(ABORT, 'events are append-only'); END;
CREATE TRIGGER events_delete BEFORE DELETE ON events BEGIN SELECT RAISE(ABORT, 'events are append-only'); END;
CREATE TRIGGER events_insert BEFORE INSERT ON events
  WHEN NEW.position IS NOT (SELECT coalesce(max(position), 0) + 1 FROM events)
    OR EXISTS (SELECT 1 FROM events WHERE stream = NEW.stream AND version = NEW.version)
    OR EXISTS (SELECT 1 FROM events WHERE id = NEW.id)
  BEGIN SELECT RAISE(ABORT, 'events are append-only'); END;
CREATE TRIGGER payloads_update BEFORE UPDATE ON payloads BEGIN SELECT RAISE(ABORT, 'payloads are append-only'); END;
CREATE TRIGGER payloads_insert BEFORE INSERT ON payloads
  WHEN EXISTS (SELECT 1 FROM payloads WHERE position = NEW.position)
  BEGIN SELECT RAISE(ABORT, 'payloads are append-only'); END;
`;

/** What format 2 added. */
const addedTables = `
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

CREATE TRIGGER payloads_delete BEFORE DELETE ON payloads
  WHEN NOT EXISTS (SELECT 1 FROM erasures WHERE done = 0)
  BEGIN SELECT RAISE(ABORT, 'payloads are append-only'); END;
`;

/** What time-stamp authorities (RFC 3161) said of checkpoints. */
const timestampsTable = `
CREATE TABLE timestamps (
  size INTEGER NOT NULL,
  authority TEXT NOT NULL,
  token BLOB NOT NULL,
  received_at TEXT NOT NULL,
  PRIMARY KEY (size, authority)
) STRICT;
`;

/** Thrown when `log.db` is not what its own head says: nothing may be written to it. */
export class BrokenLogError extends Error {
  override name = 'BrokenLogError';
}

/** The last word of the log: how many events, under which root, recorded when. */
export type Head = { log: string; size: number; root: Buffer; recordedAt: string };

/** Makes the tables in an empty file. `logId` names the log for ever; it is part of every header. */
export function createLog(db: Sqlite, logId: string): void {
  db.exec('BEGIN IMMEDIATE');
  db.exec(tables);
  db.exec(addedTables);
  db.exec(timestampsTable);
  db.prepare('INSERT INTO head VALUES (?, 0, ?, ?)').run(logId, emptyRoot, '');
  db.pragma(`application_id = ${logApplication}`);
  db.pragma(`user_version = ${logFormat}`);
  db.exec('COMMIT');
}

/** Brings a log of an earlier format to this one: what events say is never changed by that. */
export function upgradeLog(db: Sqlite): void {
  const pragma = (name: string) => db.pragma(name, { simple: true });
  if (pragma('application_id') !== logApplication || pragma('user_version') !== 1) return;
  db.exec('BEGIN IMMEDIATE');
  db.exec('DROP TRIGGER payloads_delete');
  db.exec(addedTables);
  db.exec(timestampsTable);
  db.pragma(`user_version = ${logFormat}`);
  db.exec('COMMIT');
}

/**
 * Decides what a commit has left open whose sync failed. Its frame may be in the write-ahead log: recovery finds it, by whoever opens
 * the log alone; who shares it with somebody who had it open before does not see it. What is written next takes the place of a
 * frame that is not seen, and comes after one that is: so this writes something that changes nothing. For the only process that may
 * write the log, before it believes that something is not there.
 */
export function settleLog(db: Sqlite): void {
  const frames = statSync(`${db.name}-wal`, { throwIfNoEntry: false })?.size ?? 0;
  if (frames === 0) return;
  try {
    db.pragma(`user_version = ${logFormat}`);
  } catch (error) {
    // In the place of a frame there is room for another: where there is none, there is no frame that nobody sees.
    if (!isDiskFull(error)) throw error;
  }
}

/** True when the file has the tables of a log; throws when it is something else or of a newer format. */
export function isLog(db: Sqlite): boolean {
  const empty = db.prepare('SELECT count(*) = 0 FROM sqlite_schema').pluck().get() === 1;
  if (empty) return false;
  if (db.pragma('application_id', { simple: true }) !== logApplication) {
    throw new BrokenLogError('log.db is not an Annals log');
  }
  const format = db.pragma('user_version', { simple: true });
  if (format !== logFormat) {
    throw new BrokenLogError(`log.db has format ${String(format)}; this version of Annals reads format ${logFormat}`);
  }
  return true;
}

/** The SQL of every table, index and trigger of a file. */
export function schemaOf(db: Sqlite): unknown[] {
  return db.prepare('SELECT type, name, sql FROM sqlite_schema ORDER BY type, name').all();
}

let expected: unknown[] | null = null;

/** What {@link schemaOf} gives for a log as this version makes it. */
export function expectedSchema(): readonly unknown[] {
  expected ??= makeSchema();
  return expected;
}

function makeSchema(): unknown[] {
  const db = openDatabase(':memory:');
  createLog(db, 'none');
  const schema = schemaOf(db);
  db.close();
  return schema;
}
