import { isFailure, openDatabase, type Sqlite } from '../storage/sqlite.ts';
import { schemaVersionOf } from './catalogue.ts';
import { commitmentOf, encodeHeader, encodePayload, type Header, type Payload } from './envelope.ts';
import type { Ids } from './ids.ts';
import type { Claim, Command, NewEvent, Outcome, RecordedEvent } from './log.ts';
import { appendLeaf, emptyRoot, type HashSource, leafHash, rootOf, type Tree, tileWidth, treeAt } from './merkle.ts';

/** Kept in the file's `user_version`: the version of the tables below and of the bytes in them. */
export const logFormat = 1;

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
CREATE TRIGGER payloads_delete BEFORE DELETE ON payloads BEGIN SELECT RAISE(ABORT, 'payloads are append-only'); END;
CREATE TRIGGER payloads_insert BEFORE INSERT ON payloads
  WHEN EXISTS (SELECT 1 FROM payloads WHERE position = NEW.position)
  BEGIN SELECT RAISE(ABORT, 'payloads are append-only'); END;
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
  db.prepare('INSERT INTO head VALUES (?, 0, ?, ?)').run(logId, emptyRoot, '');
  db.pragma(`application_id = ${logApplication}`);
  db.pragma(`user_version = ${logFormat}`);
  db.exec('COMMIT');
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

/** What {@link schemaOf} gives for a log as this version makes it. */
export function expectedSchema(): unknown[] {
  const db = openDatabase(':memory:');
  createLog(db, 'none');
  const schema = schemaOf(db);
  db.close();
  return schema;
}

export type LogReader = ReturnType<typeof readLog>;

/** Reads a log. Safe beside a running writer: every call sees a whole batch or nothing of it. */
export function readLog(db: Sqlite) {
  const selectHead = db.prepare('SELECT log, size, root, recorded_at AS recordedAt FROM head');
  const selectRange = db.prepare(
    'SELECT header, body FROM events LEFT JOIN payloads USING (position) WHERE position > ? AND position <= ? ORDER BY position',
  );
  const selectStream = db.prepare(
    'SELECT header, body FROM events LEFT JOIN payloads USING (position) WHERE stream = ? ORDER BY version',
  );
  const selectVersion = db.prepare('SELECT max(version) FROM events WHERE stream = ?').pluck();
  const selectHeaders = db
    .prepare('SELECT header FROM events WHERE position > ? AND position <= ? ORDER BY position')
    .pluck();
  const selectTile = db.prepare('SELECT hashes FROM tiles WHERE level = ? AND idx = ?').pluck();

  function head(): Head {
    const rows = selectHead.all() as Head[];
    if (rows.length !== 1) throw new BrokenLogError(`log.db has ${rows.length} heads`);
    const [found] = rows as [Head];
    if (!Number.isSafeInteger(found.size) || !Buffer.isBuffer(found.root))
      throw new BrokenLogError('the head of log.db is damaged');
    return found;
  }

  /** The events at positions `after + 1` to `upTo`, in order. */
  function range(after: number, upTo: number): RecordedEvent[] {
    return (selectRange.all(after, upTo) as EventRow[]).map(fromRow);
  }

  /** All events of a stream, oldest first. */
  function stream(name: string): RecordedEvent[] {
    return (selectStream.all(name) as EventRow[]).map(fromRow);
  }

  function versionOf(name: string): number {
    return (selectVersion.get(name) as number | null) ?? 0;
  }

  /** Hashes of the tree: from stored tiles, and at its right edge, which has no full tile yet, from the headers. */
  const hashes: HashSource = (level, start, count) => {
    const index = Math.floor(start / tileWidth);
    const stored = selectTile.get(level, index) as Buffer | undefined;
    const at = (start % tileWidth) * 32;
    if (stored && stored.length >= at + count * 32) {
      return Array.from({ length: count }, (_, i) => stored.subarray(at + i * 32, at + (i + 1) * 32));
    }
    if (level > 0) throw new BrokenLogError(`tile ${level}/${index} is missing or short`);
    const headers = selectHeaders.all(start, start + count) as string[];
    if (headers.length !== count) throw new BrokenLogError(`events ${start + 1} to ${start + count} are missing`);
    return headers.map(leafHash);
  };

  /** The root the tree had when it held `size` events. */
  function rootAt(size: number): Buffer {
    return rootOf(treeAt(size, hashes));
  }

  return { head, range, stream, versionOf, hashes, rootAt };
}

type EventRow = { header: string; body: string | null };

function fromRow({ header, body }: EventRow): RecordedEvent {
  return {
    header: JSON.parse(header) as Header,
    data: body === null ? null : (JSON.parse(body) as Payload).data,
  };
}

export type SqliteLog = ReturnType<typeof openLog>;

/** What a batch came to: each command's outcome, in order, and the events that were recorded. */
export type BatchResult = { outcomes: (Outcome | Error)[]; recorded: RecordedEvent[] };

/**
 * Opens a log for appending, after the checks that can be made without reading it all: the newest event is where the
 * head says, and the tiles give the head's root.
 *
 * @throws BrokenLogError when they do not.
 */
export function openLog(db: Sqlite, ids: Ids, now: () => number) {
  const reader = readLog(db);
  const begin = db.prepare('BEGIN IMMEDIATE');
  const commit = db.prepare('COMMIT');
  const savepoint = db.prepare('SAVEPOINT command');
  const release = db.prepare('RELEASE command');
  const rollbackTo = db.prepare('ROLLBACK TO command');
  const insertEvent = db.prepare('INSERT INTO events VALUES (?, ?, ?, ?, ?)');
  const insertPayload = db.prepare('INSERT INTO payloads VALUES (?, 0, ?)');
  const insertClaim = db.prepare('INSERT INTO claims VALUES (?, ?, ?) ON CONFLICT DO NOTHING');
  const deleteClaim = db.prepare('DELETE FROM claims WHERE scope = ? AND value = ? AND stream = ?');
  const upsertTile = db.prepare(
    // || makes a text even of two blobs.
    `INSERT INTO tiles VALUES (?, ?, ?)
     ON CONFLICT (level, idx) DO UPDATE SET hashes = CAST(tiles.hashes || excluded.hashes AS BLOB)`,
  );
  const updateHead = db.prepare('UPDATE head SET size = ?, root = ?, recorded_at = ?');

  let head = reader.head();
  let tree = checkedTree();
  /** Leaf hashes of the level-0 tile that is not full yet. */
  let openTile = edgeOf(tree.size);

  function checkedTree(): Tree {
    const last = db.prepare('SELECT max(position) FROM events').pluck().get() as number | null;
    if ((last ?? 0) !== head.size) {
      throw new BrokenLogError(`log.db ends at position ${last ?? 0}, its head says ${head.size}`);
    }
    const found = treeAt(head.size, reader.hashes);
    if (!rootOf(found).equals(head.root)) {
      throw new BrokenLogError(`the tree of log.db does not give the root of its head at position ${head.size}`);
    }
    return found;
  }

  function edgeOf(size: number): Buffer[] {
    const full = Math.floor(size / tileWidth) * tileWidth;
    return full === size ? [] : reader.hashes(0, full, size - full);
  }

  function recover(): void {
    if (db.inTransaction) db.exec('ROLLBACK');
    head = reader.head();
    tree = treeAt(head.size, reader.hashes);
    openTile = edgeOf(tree.size);
  }

  /**
   * Appends all commands in one transaction with one fsync. A command that conflicts, or that SQLite refuses, is undone
   * alone. When this throws, nothing of the batch was recorded.
   */
  function append(commands: readonly Command[]): BatchResult {
    const outcomes: (Outcome | Error)[] = [];
    const recorded: RecordedEvent[] = [];
    const leaves: string[] = [];
    try {
      begin.run();
      for (const command of commands) outcomes.push(appendOne(command, recorded, leaves));
      if (leaves.length > 0) extend(leaves, recorded);
      commit.run();
    } catch (error) {
      recover();
      throw error;
    }
    if (leaves.length > 0) head = { ...head, size: tree.size, root: rootOf(tree), recordedAt: lastTime(recorded) };
    return { outcomes, recorded };
  }

  function appendOne(command: Command, recorded: RecordedEvent[], leaves: string[]): Outcome | Error {
    const mark = recorded.length;
    savepoint.run();
    try {
      const outcome = record(command, recorded, leaves);
      if (outcome.ok) {
        release.run();
        return outcome;
      }
      undo();
      return outcome;
    } catch (error) {
      if (isFailure(error) || !db.inTransaction) throw error;
      undo();
      return error as Error;
    }

    function undo(): void {
      rollbackTo.run();
      release.run();
      recorded.length = mark;
      leaves.length = mark;
    }
  }

  function record(command: Command, recorded: RecordedEvent[], leaves: string[]): Outcome {
    const { stream, expectedVersion, events, claims, releases } = command;
    const version = reader.versionOf(stream);
    if (version !== expectedVersion) return { ok: false, conflict: 'version', version };

    const position = tree.size + leaves.length + 1;
    for (const { scope, value } of releases) {
      if (deleteClaim.run(scope, value, stream).changes !== 1) {
        throw new BrokenLogError(`stream ${stream} does not hold its value of ${scope}`);
      }
    }
    for (const claim of claims) {
      if (insertClaim.run(claim.scope, claim.value, stream).changes !== 1) {
        return { ok: false, conflict: 'claim', claim };
      }
    }
    const recordedAt = timeAfter(recorded);
    events.forEach((event, index) => {
      const header = insert(command, event, position + index, version + index + 1, recordedAt);
      recorded.push({ header: header.header, data: event.data });
      leaves.push(header.text);
    });
    return { ok: true, position: tree.size + leaves.length, version: version + events.length, recordedAt };
  }

  function insert(command: Command, event: NewEvent, position: number, version: number, recordedAt: string) {
    const body = encodePayload(event.data, command.context);
    const header: Header = {
      v: 1,
      log: head.log,
      position,
      id: ids.next().id,
      stream: command.stream,
      version,
      type: event.type,
      schemaVersion: schemaVersionOf[event.type],
      recordedAt,
      actor: command.actor,
      correlationId: command.correlationId,
      payload: commitmentOf(body),
    };
    const text = encodeHeader(header);
    insertEvent.run(position, header.id, header.stream, version, text);
    insertPayload.run(position, body);
    return { header, text };
  }

  function timeAfter(recorded: readonly RecordedEvent[]): string {
    const last = recorded.length > 0 ? lastTime(recorded) : head.recordedAt;
    const time = new Date(now()).toISOString();
    return [last, time].sort().at(-1) as string;
  }

  function extend(leaves: readonly string[], recorded: readonly RecordedEvent[]): void {
    const above: { level: number; index: number; hash: Buffer }[] = [];
    for (const header of leaves) {
      appendLeaf(tree, leafHash(header), (height, node) => {
        if (height === 0) openTile.push(node);
        else if (height % 8 === 0) above.push(tileEntry(height, node));
      });
      if (openTile.length < tileWidth) continue;
      upsertTile.run(0, tree.size / tileWidth - 1, Buffer.concat(openTile));
      openTile = [];
    }
    for (const { level, index, hash } of above) upsertTile.run(level, Math.floor(index / tileWidth), hash);
    updateHead.run(tree.size, rootOf(tree), lastTime(recorded));
  }

  function tileEntry(height: number, hash: Buffer) {
    const level = height / 8;
    // appendLeaf counts the leaf only after it has told its subtrees.
    return { level, index: (tree.size + 1) / 2 ** height - 1, hash };
  }

  /**
   * Records a changed schema together with the claims that hold under it, in one transaction: the log never holds a
   * schema without its claims.
   */
  function changeSchema(command: Command, claims: Iterable<{ claim: Claim; stream: string }>): void {
    try {
      begin.run();
      db.exec('DELETE FROM claims');
      for (const { claim, stream } of claims) {
        if (insertClaim.run(claim.scope, claim.value, stream).changes !== 1) {
          throw new BrokenLogError(`two streams hold the same value of ${claim.scope}`);
        }
      }
      const recorded: RecordedEvent[] = [];
      const leaves: string[] = [];
      const outcome = record(command, recorded, leaves);
      if (!outcome.ok) throw new BrokenLogError(`stream ${command.stream} moved while its schema was being changed`);
      extend(leaves, recorded);
      commit.run();
      head = reader.head();
    } catch (error) {
      recover();
      throw error;
    }
  }

  return { ...reader, head: () => head, append, changeSchema };
}

function lastTime(recorded: readonly RecordedEvent[]): string {
  return recorded.at(-1)?.header.recordedAt ?? '';
}
