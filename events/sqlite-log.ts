import { errorOf } from '../storage/errors.ts';
import { isFailure, type Sqlite } from '../storage/sqlite.ts';
import { keepCheckpoints } from './checkpoints.ts';
import { type Ids, timeOfId } from './ids.ts';
import type { Claim, Command, Outcome, RecordedEvent } from './log.ts';
import { BrokenLogError, requireSealed, UnsealedError } from './log-file.ts';
import { readLog } from './log-reader.ts';
import { type Batch, openTip } from './log-tip.ts';
import { openRecorder } from './recorder.ts';
import { openSegments } from './sealing.ts';
import type { Seals } from './seals.ts';

export type SqliteLog = ReturnType<typeof openLog>;

/** The tools that a log is written with. */
export type LogTools = { ids: Ids; now: () => number; seals: Seals };

/** The result of a batch: each command's outcome, in order, and the events that were recorded. */
export type BatchResult = { outcomes: (Outcome | Error)[]; recorded: RecordedEvent[] };

/**
 * Opens a log for appending, after the checks that can be made without reading it all: the newest event is where the
 * head says, the tiles give the head's root, and the head is sealed by the key that seals it with each commit, unless the operator
 * takes it as it is.
 *
 * @throws BrokenLogError when they do not.
 */
export function openLog(db: Sqlite, { ids, now, seals }: LogTools) {
  const reader = readLog(db);
  const tip = openTip(db, reader, seals);
  const head = tip.head();
  const [newest] = reader.range(Math.max(head.size - 1, 0), head.size);
  // Ids go on from the newest event, also when the clock was set back while the server was down.
  if (newest) ids.raise(Math.max(timeOfId(newest.header.id), Date.parse(head.recordedAt)));
  if (!seals.acceptsUnsealed) requireSealed(seals, head);

  const { record, prune, replaceClaims, erasing } = openRecorder(db, { reader, tip, ids, now });
  const transaction = openTransactions(db, tip);

  /**
   * Appends all commands in one transaction with one fsync. A command that conflicts, or that SQLite refuses, is undone
   * alone. When this throws, nothing of the batch was recorded.
   */
  function append(commands: readonly Command[]): BatchResult {
    try {
      return appendAll(commands, record);
    } catch (error) {
      if (isFailure(error) || error instanceof UnsealedError) throw error;
      // A refusal that no check foresaw: once more, to find out whose it is. SQLite then copies every page that a command changes, a
      // tenth of the cost of a create; conflicts need no undoing, for they are found before anything is written.
      return appendAll(commands, (command, batch) => transaction.undoable(batch, () => record(command, batch)));
    }
  }

  function appendAll(commands: readonly Command[], recordOne: (command: Command, batch: Batch) => Outcome | Error) {
    return transaction.commit((batch) => {
      prune();
      return { outcomes: commands.map((command) => recordOne(command, batch)), recorded: batch.recorded };
    });
  }

  /**
   * Records a changed schema together with the claims that hold under it, in one transaction: the log never holds a
   * schema without its claims. Of two streams with one value, the second holds it under its former text.
   */
  function changeSchema(command: Command, claims: Iterable<{ claim: Claim; stream: string }>): void {
    transaction.commit((batch) => {
      replaceClaims(claims);
      const outcome = record(command, batch);
      if (!outcome.ok) throw new BrokenLogError(`stream ${command.stream} moved while its schema was being changed`);
    });
  }

  const { setFiles, finish } = erasing;
  return {
    ...reader,
    head: tip.head,
    append,
    /** How many milliseconds the last commit took: its fsync most of all. */
    commitMilliseconds: transaction.milliseconds,
    changeSchema,
    keepCheckpoint: keepCheckpoints(db),
    erasing: { setFiles, finish },
    segments: openSegments(db),
  };
}

/** Runs transactions that move the tip of a log; when one fails, the tip is where the file says. */
function openTransactions(db: Sqlite, tip: ReturnType<typeof openTip>) {
  const begin = db.prepare('BEGIN IMMEDIATE');
  const end = db.prepare('COMMIT');
  const savepoint = db.prepare('SAVEPOINT command');
  const release = db.prepare('RELEASE command');
  const rollbackTo = db.prepare('ROLLBACK TO command');

  let milliseconds = 0;

  function commit<T>(run: (batch: Batch) => T): T {
    const batch: Batch = { recorded: [], leaves: [] };
    try {
      begin.run();
      const result = run(batch);
      const after = tip.extend(batch);
      const ending = performance.now();
      end.run();
      milliseconds = performance.now() - ending;
      tip.moveTo(after);
      return result;
    } catch (error) {
      if (db.inTransaction) db.exec('ROLLBACK');
      tip.reload();
      throw error;
    }
  }

  /** Gives the error of a part that SQLite refuses, after undoing that part alone. */
  function undoable<T>({ recorded, leaves }: Batch, run: () => T): T | Error {
    const mark = recorded.length;
    savepoint.run();
    try {
      const outcome = run();
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

  return { commit, undoable, milliseconds: () => milliseconds };
}
