import { isFailure, type Sqlite } from '../../storage/sqlite.ts';
import type { Claim, Command, Outcome, RecordedEvent } from '../facts/log.ts';
import { keepCheckpoints } from '../proof/checkpoints.ts';
import type { Seals } from '../proof/seals.ts';
import { openSegments } from '../segments/segment-writer.ts';
import { type Ids, timeOfId } from '../store/ids.ts';
import { BrokenLogError, requireSealed, UnsealedError } from '../store/log-file.ts';
import { requireHere } from '../store/moved.ts';
import { openIngest } from './ingesting.ts';
import { readLog } from './log-reader.ts';
import { type Batch, openTip } from './log-tip.ts';
import { openRecorder } from './recorder.ts';
import { newRows, type Rows, type Shipment, shipmentOf } from './shipment.ts';
import { openTransactions } from './transactions.ts';

export type SqliteLog = ReturnType<typeof openLog>;

/** The tools that a log is written with. */
export type LogTools = { ids: Ids; now: () => number; seals: Seals };

/** The result of a batch: each command's outcome, in order, and the events that were recorded. */
export type BatchResult = { outcomes: (Outcome | Error)[]; recorded: RecordedEvent[] };

/** A batch that is decided and written, and not committed yet. One of both functions is to be called, once. */
export type Prepared = BatchResult & { shipment: Shipment; commit: () => void; rollBack: () => void };

/**
 * Opens a log for appending, after the checks that can be made without reading it all: the newest event is where the
 * head says, the tiles give the head's root, and the head is sealed by the key that seals it with each commit, unless
 * the operator takes it as it is.
 *
 * @throws BrokenLogError when they do not; MovedAwayError for a log that has moved.
 */
export function openLog(db: Sqlite, { ids, now, seals }: LogTools) {
  requireHere(db);
  const reader = readLog(db);
  const tip = openTip(db, reader, seals);
  const head = tip.head();
  const [newest] = reader.range(Math.max(head.size - 1, 0), head.size);
  // Ids go on from the newest event, also when the clock was set back while the server was down.
  if (newest) ids.raise(Math.max(timeOfId(newest.header.id), Date.parse(head.recordedAt)));
  if (!seals.acceptsUnsealed) requireSealed(seals, head);

  const { record, prune, claims, erasing, idempotencyRecords } = openRecorder(db, { reader, tip, ids, now });
  const transaction = openTransactions(db, tip);

  /**
   * Appends all commands in one transaction with one fsync. A command that conflicts, or that SQLite refuses, is undone
   * alone. When this throws, nothing of the batch was recorded.
   */
  function append(commands: readonly Command[]): BatchResult {
    return recording(commands, transaction.commit);
  }

  /**
   * The first half of {@link append}, for a log that others append to as well: decides, writes all rows, and gives
   * those that the others need. The transaction stays open until the batch is settled; until then the log can be asked
   * for nothing, for its connection sees what is not committed.
   */
  function prepare(commands: readonly Command[]): Prepared {
    return recording(commands, prepared);
  }

  function prepared(run: (batch: Batch, rows: Rows) => BatchResult): Prepared {
    const before = tip.head();
    const rows = newRows();
    const { result, batch, after } = transaction.begin((batch) => run(batch, rows), rows);
    return {
      ...result,
      shipment: shipmentOf({ ...batch, rows }, { before, after }),
      commit: () => transaction.settle(batch),
      rollBack: () => transaction.rollBack(batch),
    };
  }

  /** Records commands in a transaction. @param within runs it. */
  function recording<T>(commands: readonly Command[], within: (run: (batch: Batch) => BatchResult) => T): T {
    try {
      return within((batch) => recordAll(commands, batch, record));
    } catch (error) {
      if (isFailure(error) || error instanceof UnsealedError) throw error;
      // A refusal that no check foresaw: once more, to find out whose it is. SQLite then copies every page that a
      // command changes, a tenth of the cost of a create; conflicts need no undoing, for they are found before anything
      // is written.
      const undoing = (command: Command, batch: Batch) => transaction.undoable(batch, () => record(command, batch));
      return within((batch) => recordAll(commands, batch, undoing));
    }
  }

  function recordAll(
    commands: readonly Command[],
    batch: Batch,
    recordOne: (command: Command, batch: Batch) => Outcome | Error,
  ): BatchResult {
    prune();
    return { outcomes: commands.map((command) => recordOne(command, batch)), recorded: batch.recorded };
  }

  /**
   * Records a changed schema together with the claims that hold under it, in one transaction: the log never holds a
   * schema without its claims. Of two streams with one value, the second holds it under its former text.
   */
  function changeSchema(command: Command, held: Iterable<{ claim: Claim; stream: string }>): void {
    transaction.commit((batch) => {
      claims.replaceAll(held);
      recordSchema(command, batch);
    });
  }

  /** The same for a log that others append to as well, as {@link prepare}. */
  function prepareSchema(command: Command, held: Iterable<{ claim: Claim; stream: string }>): Prepared {
    const position = tip.head().size + 1;
    return prepared((batch, rows) => {
      for (const change of claims.exchangeAll(held)) rows.claims.push({ ...change, position });
      return recordSchema(command, batch);
    });
  }

  function recordSchema(command: Command, batch: Batch): BatchResult {
    const outcome = record(command, batch);
    if (!outcome.ok) throw new BrokenLogError(`stream ${command.stream} moved while its schema was being changed`);
    return { outcomes: [outcome], recorded: batch.recorded };
  }

  /** The same function, refused while a batch is prepared: what it writes would be settled with that. */
  function settled<Values extends unknown[], T>(run: (...values: Values) => T): (...values: Values) => T {
    return (...values) => {
      transaction.requireSettled();
      return run(...values);
    };
  }

  const segments = openSegments(db);
  return {
    ...reader,
    head: tip.head,
    append,
    prepare,
    ingest: openIngest(db, { tip, ids, transaction, prune, erasing, idempotencyRecords }),
    /** How many milliseconds the last commit took: its fsync most of all. */
    commitMilliseconds: transaction.milliseconds,
    changeSchema,
    prepareSchema,
    keepCheckpoint: settled(keepCheckpoints(db)),
    erasing: { setFiles: settled(erasing.setFiles), finish: settled(erasing.finish) },
    segments: {
      ...segments,
      keep: settled(segments.keep),
      shed: settled(segments.shed),
      shrink: settled(segments.shrink),
      rewriteNow: settled(segments.rewriteNow),
    },
  };
}
