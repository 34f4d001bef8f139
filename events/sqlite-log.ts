import { isDeepStrictEqual } from 'node:util';
import { errorOf } from '../storage/errors.ts';
import { isFailure, type Sqlite } from '../storage/sqlite.ts';
import { keepAttempts } from './attempts.ts';
import { clockStream, schemaVersionOf } from './catalogue.ts';
import { keepCheckpoints } from './checkpoints.ts';
import { commitmentOf, encodeHeader, encodePayload, type Header } from './envelope.ts';
import { openErasing } from './erasing.ts';
import { type ErasedStream, erasedStreams } from './erasures.ts';
import { type Ids, timeOfId } from './ids.ts';
import type { Change, Claim, Command, NewEvent, Outcome, RecordedEvent } from './log.ts';
import { BrokenLogError, type Head, requireSealed, UnsealedError } from './log-file.ts';
import { readLog } from './log-reader.ts';
import { appendLeaf, leafHash, rootOf, type Tree, tileWidth, treeAt } from './merkle.ts';
import { macOf, type Seals, sealKeyOf } from './seals.ts';

export type SqliteLog = ReturnType<typeof openLog>;

/** What a batch came to: each command's outcome, in order, and the events that were recorded. */
export type BatchResult = { outcomes: (Outcome | Error)[]; recorded: RecordedEvent[] };

/** Where and when an event is recorded. */
type Place = Pick<Header, 'stream' | 'version' | 'position' | 'recordedAt'>;

/**
 * Opens a log for appending, after the checks that can be made without reading it all: the newest event is where the
 * head says, the tiles give the head's root, and the head is sealed by the key that seals it with each commit, unless the operator
 * takes it as it is.
 *
 * @throws BrokenLogError when they do not.
 */
export function openLog(db: Sqlite, ids: Ids, now: () => number, seals: Seals) {
  const reader = readLog(db);
  const key = sealKeyOf(seals.key);
  const begin = db.prepare('BEGIN IMMEDIATE');
  const commit = db.prepare('COMMIT');
  const savepoint = db.prepare('SAVEPOINT command');
  const release = db.prepare('RELEASE command');
  const rollbackTo = db.prepare('ROLLBACK TO command');
  const insertEvent = db.prepare('INSERT INTO events VALUES (?, ?, ?, ?, ?)');
  const insertPayload = db.prepare('INSERT INTO payloads VALUES (?, 0, ?)');
  const insertClaim = db.prepare('INSERT INTO claims VALUES (?, ?, ?)');
  const deleteClaim = db.prepare('DELETE FROM claims WHERE scope = ? AND value = ? AND stream = ?');
  const upsertTile = db.prepare(
    // || makes a text even of two blobs.
    `INSERT INTO tiles VALUES (?, ?, ?)
     ON CONFLICT (level, idx) DO UPDATE SET hashes = CAST(tiles.hashes || excluded.hashes AS BLOB)`,
  );
  const attempts = keepAttempts(db);
  const updateHead = db.prepare('UPDATE head SET size = ?, root = ?, recorded_at = ?, mac = ?');

  const erasing = openErasing(db);

  let head = reader.head();
  let tree = checkedTree();
  const [newest] = reader.range(Math.max(head.size - 1, 0), head.size);
  // Ids go on from the newest event, also when the clock was set back while the server was down.
  if (newest) ids.raise(Math.max(timeOfId(newest.header.id), Date.parse(head.recordedAt)));
  if (!seals.acceptsUnsealed) requireSealed(seals, head);
  /** Leaf hashes of the level-0 tile that is not full yet. */
  let openTile = edgeOf(tree.size);

  function checkedTree(): Tree {
    const last = db.prepare<[], number | null>('SELECT max(position) FROM events').pluck().get() ?? 0;
    if (last !== head.size) {
      throw new BrokenLogError(`log.db ends at position ${last}, its head says ${head.size}`);
    }
    const found = treeAt(head.size, reader.storedHashes);
    if (!rootOf(found).equals(head.root)) {
      throw new BrokenLogError(`the tree of log.db does not give the root of its head at position ${head.size}`);
    }
    return found;
  }

  function edgeOf(size: number): Buffer[] {
    const full = Math.floor(size / tileWidth) * tileWidth;
    return full === size ? [] : reader.storedHashes(0, full, size - full);
  }

  function recover(): void {
    if (db.inTransaction) db.exec('ROLLBACK');
    // What was in the way of a batch may be what somebody else wrote.
    const found = reader.head();
    if (!isDeepStrictEqual(found, head)) requireSealed(seals, found);
    head = found;
    tree = treeAt(head.size, reader.storedHashes);
    openTile = edgeOf(tree.size);
  }

  /**
   * Appends all commands in one transaction with one fsync. A command that conflicts, or that SQLite refuses, is undone
   * alone. When this throws, nothing of the batch was recorded.
   */
  function append(commands: readonly Command[]): BatchResult {
    try {
      return appendAll(commands, false);
    } catch (error) {
      if (isFailure(error) || error instanceof UnsealedError) throw error;
      // A refusal that no check foresaw: once more, to find out whose it is.
      return appendAll(commands, true);
    }
  }

  /**
   * @param hasSavepoints whether each command can be undone alone. SQLite then copies every page that a command changes,
   * a tenth of the cost of a create; conflicts need no undoing, for they are found before anything is written.
   */
  function appendAll(commands: readonly Command[], hasSavepoints: boolean): BatchResult {
    const outcomes: (Outcome | Error)[] = [];
    const recorded: RecordedEvent[] = [];
    const leaves: string[] = [];
    try {
      begin.run();
      // The log's own time stays ahead where a clock that was wrong for a moment has been put back.
      attempts.prune(Math.min(Date.parse(head.recordedAt) || 0, now()));
      for (const command of commands) {
        outcomes.push((hasSavepoints ? recordAlone : record)(command, recorded, leaves));
      }
      const after = leaves.length > 0 ? extend(leaves, recorded) : head;
      commit.run();
      head = after;
    } catch (error) {
      recover();
      throw error;
    }
    return { outcomes, recorded };
  }

  function recordAlone(command: Command, recorded: RecordedEvent[], leaves: string[]): Outcome | Error {
    const mark = recorded.length;
    savepoint.run();
    try {
      const outcome = record(command, recorded, leaves);
      release.run();
      return outcome;
    } catch (error) {
      if (isFailure(error) || !db.inTransaction) throw error;
      rollbackTo.run();
      release.run();
      recorded.length = mark;
      leaves.length = mark;
      return errorOf(error);
    }
  }

  /** Nothing is written before every conflict of every change has been looked for. */
  function record(command: Command, recorded: RecordedEvent[], leaves: string[]): Outcome {
    const { stream, expectedVersion, events, claims, also = [], attempt } = command;
    // Before all else: what was done once conflicts with itself.
    const first = attempt && attempts.find(attempt.key, now());
    if (first) return { ok: false, conflict: 'attempt', first };
    const before = reader.versionOf(stream);
    if (isStale(expectedVersion, before)) return { ok: false, conflict: 'version', version: before };
    // Most commands are about one stream alone, and are spared what several need.
    const conflict = also.length > 0 ? conflictAmong([command, ...also]) : claimConflict(claims);
    if (conflict) return conflict;

    // Only a correction of the clock may be earlier than what is before it.
    const recordedAt = stream === clockStream ? timeNow() : timeAfter(recorded);
    const erased = declaredBy(command);
    write(command, before);
    const position = tree.size + leaves.length;
    for (const change of also) write(change, reader.versionOf(change.stream));
    if (erased.length > 0) erasing.erase(position, erased);
    const version = before + events.length;
    if (attempt) attempts.keep(attempt, { stream, position, version }, now());
    return { ok: true, position, version, recordedAt };

    function write({ stream, events, claims, releases }: Change, before: number): void {
      for (const { scope, value, former } of releases) {
        const isReleased = [value, former].some((text) => text && deleteClaim.run(scope, text, stream).changes === 1);
        if (!isReleased) throw new BrokenLogError(`stream ${stream} does not hold its value of ${scope}`);
      }
      for (const { scope, value } of claims) insertClaim.run(scope, value, stream);
      const after = tree.size + leaves.length;
      events.forEach((event, index) => {
        const place = { stream, version: before + index + 1, position: after + index + 1, recordedAt };
        const { header, text } = insert(command, event, place);
        recorded.push({ header, data: event.data, context: command.context });
        leaves.push(text);
      });
    }
  }

  /** The streams to be erased: what goes must be what the event says, and no more than there is. */
  function declaredBy({ stream, events, erases = [] }: Command): ErasedStream[] {
    if (erases.length === 0) return [];
    const declared = erasedStreams(events[0]?.data ?? null);
    const isMeant = isDeepStrictEqual(
      declared.map(({ stream }) => stream),
      erases,
    );
    if (!isMeant || declared.some(({ stream, versions }) => versions > reader.versionOf(stream)))
      throw new Error(`the erasure of ${stream} does not declare what it takes`);
    return declared;
  }

  /** Of several changes, each finds those before it: their events count, and their values are taken. */
  function conflictAmong(changes: readonly Change[]): Outcome | null {
    const versions = new Map<string, number>();
    for (const { stream, expectedVersion, events } of changes) {
      const version = versions.get(stream) ?? reader.versionOf(stream);
      if (isStale(expectedVersion, version)) return { ok: false, conflict: 'version', version };
      versions.set(stream, version + events.length);
    }
    return claimConflict(changes.flatMap(({ claims }) => claims));
  }

  function claimConflict(claims: readonly Claim[]): Outcome | null {
    const taken = claims.find(({ scope, value, former }, index) => {
      const first = claims.findIndex((other) => other.scope === scope && other.value === value);
      return (
        first < index || reader.holderOf(scope, value) !== null || (former && reader.holderOf(scope, former) !== null)
      );
    });
    return taken ? { ok: false, conflict: 'claim', claim: taken } : null;
  }

  function insert(command: Command, event: NewEvent, { stream, version, position, recordedAt }: Place) {
    const body = encodePayload(event.data, command.context);
    const header: Header = {
      v: 2,
      log: head.log,
      position,
      id: ids.next().id,
      stream,
      version,
      type: event.type,
      schemaVersion: schemaVersionOf[event.type],
      recordedAt,
      actor: command.actor,
      correlationId: command.correlationId,
      ...(command.batch === undefined ? {} : { batch: command.batch }),
      payload: commitmentOf(body),
    };
    const text = encodeHeader(header);
    insertEvent.run(position, header.id, stream, version, text);
    insertPayload.run(position, body);
    return { header, text };
  }

  function timeAfter(recorded: readonly RecordedEvent[]): string {
    const last = recorded.length > 0 ? lastTime(recorded) : head.recordedAt;
    const time = timeNow();
    return time > last ? time : last;
  }

  function timeNow(): string {
    return new Date(now()).toISOString();
  }

  /** Adds events to the tree. @returns the head after them, which is written. */
  function extend(leaves: readonly string[], recorded: readonly RecordedEvent[]): Head {
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
    const after = { log: head.log, size: tree.size, root: rootOf(tree), recordedAt: lastTime(recorded) };
    const mac = macOf(key, after);
    updateHead.run(after.size, after.root, after.recordedAt, mac);
    return { ...after, mac };
  }

  function tileEntry(height: number, hash: Buffer) {
    const level = height / 8;
    // appendLeaf counts the leaf only after it has told its subtrees.
    return { level, index: (tree.size + 1) / 2 ** height - 1, hash };
  }

  /**
   * Records a changed schema together with the claims that hold under it, in one transaction: the log never holds a
   * schema without its claims. Of two streams with one value, the second holds it under its former text.
   */
  function changeSchema(command: Command, claims: Iterable<{ claim: Claim; stream: string }>): void {
    try {
      begin.run();
      db.exec('DELETE FROM claims');
      for (const { claim, stream } of claims) {
        const { scope, value, former } = claim;
        insertClaim.run(scope, former && reader.holderOf(scope, value) !== null ? former : value, stream);
      }
      const recorded: RecordedEvent[] = [];
      const leaves: string[] = [];
      const outcome = record(command, recorded, leaves);
      if (!outcome.ok) throw new BrokenLogError(`stream ${command.stream} moved while its schema was being changed`);
      const after = extend(leaves, recorded);
      commit.run();
      head = after;
    } catch (error) {
      recover();
      throw error;
    }
  }

  const { setFiles, finish } = erasing;
  return {
    ...reader,
    head: () => head,
    append,
    changeSchema,
    keepCheckpoint: keepCheckpoints(db),
    erasing: { setFiles, finish },
  };
}

function isStale(expectedVersion: number | null, version: number): boolean {
  return expectedVersion !== null && expectedVersion !== version;
}

function lastTime(recorded: readonly RecordedEvent[]): string {
  return recorded.at(-1)?.header.recordedAt ?? '';
}
