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
import { type Batch, openTip, type Tip } from './log-tip.ts';
import { openRecorder, type Recorder } from './recorder.ts';
import { newRows, type Rows, type Shipment, shipmentOf } from './shipment.ts';
import { openTransactions, type Transactions } from './transactions.ts';

export type SqliteLog = ReturnType<typeof openLog>;

/** The tools that a log is written with. */
export type LogTools = { ids: Ids; now: () => number; seals: Seals };

/** The result of a batch: the outcome of each command, in order, and the events that were recorded. */
export type BatchResult = { outcomes: (Outcome | Error)[]; recorded: RecordedEvent[] };

/** A batch that is decided and written, and not committed yet. Its owner calls one of both functions, once. */
export type PreparedBatch = BatchResult & { shipment: Shipment; commit: () => void; rollBack: () => void };

/** The parts of a log with which batches are written. */
type LogParts = { tip: Tip; recorder: Recorder; transaction: Transactions };

/** The claims that documents hold under a schema, each with its stream. */
type HeldClaims = Iterable<{ claim: Claim; stream: string }>;

/**
 * Opens a log for appending, after the checks that need not read it all: the newest event is where the head says, the
 * tiles give the head's root, and the head is sealed by the vault's key, unless the operator accepts it unsealed.
 *
 * @throws BrokenLogError if one of the checks fails; MovedAwayError for a log that has moved.
 */
export function openLog(db: Sqlite, { ids, now, seals }: LogTools) {
  requireHere(db);
  const reader = readLog(db);
  const tip = openTip(db, reader, seals);
  const head = tip.head();
  const [newest] = reader.range(Math.max(head.size - 1, 0), head.size);
  // Ids follow the newest event, also if the clock was set back while the server was down.
  if (newest) ids.raise(Math.max(timeOfId(newest.header.id), Date.parse(head.recordedAt)));
  if (!seals.acceptsUnsealed) requireSealed(seals, head);

  const recorder = openRecorder(db, { reader, tip, ids, now });
  const transaction = openTransactions(db, tip);
  const parts: LogParts = { tip, recorder, transaction };
  const prepareIn = (run: (batch: Batch, rows: Rows) => BatchResult) => prepareBatch(parts, run);
  const { erasing } = recorder;
  const segments = openSegments(db);

  /** Refuses a function while a batch is prepared: what it writes would be settled with the batch. */
  function settled<Values extends unknown[], T>(run: (...values: Values) => T): (...values: Values) => T {
    return (...values) => {
      transaction.requireSettled();
      return run(...values);
    };
  }

  return {
    ...reader,
    head: tip.head,
    /**
     * Appends all commands in one transaction with one fsync. A command that conflicts, or that SQLite refuses, is
     * undone alone. If this throws, nothing of the batch was recorded.
     */
    append: (commands: readonly Command[]): BatchResult => recordBatch(parts, commands, transaction.commit),
    /**
     * The first half of `append`, for a log that others append to as well: decides, writes all rows, and gives those
     * that the others need. The transaction stays open until the batch is settled. Until then the log must not be read,
     * for its connection sees what is not committed.
     */
    prepare: (commands: readonly Command[]): PreparedBatch => recordBatch(parts, commands, prepareIn),
    ingest: openIngest(db, { ...recorder, tip, ids, transaction }),
    /** How many milliseconds the last commit took: its fsync most of all. */
    commitMilliseconds: transaction.milliseconds,
    changeSchema: (command: Command, held: HeldClaims): void => changeSchema(parts, command, held),
    prepareSchema: (command: Command, held: HeldClaims): PreparedBatch => prepareSchema(parts, command, held),
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

/** Records commands in a transaction. @param within runs it. */
function recordBatch<T>(
  { recorder, transaction }: LogParts,
  commands: readonly Command[],
  within: (run: (batch: Batch) => BatchResult) => T,
): T {
  const { record, prune } = recorder;
  try {
    return within((batch) => {
      prune();
      return { outcomes: commands.map((command) => record(command, batch)), recorded: batch.recorded };
    });
  } catch (error) {
    if (isFailure(error) || error instanceof UnsealedError) throw error;
    // A refusal that no check foresaw: the batch runs again, to find the refused command. With savepoints SQLite copies
    // every page that a command changes, a tenth of the cost of a create. Conflicts need none: they are found before
    // anything is written.
    return within((batch) => {
      prune();
      const undoable = (command: Command) => transaction.undoable(batch, () => record(command, batch));
      return { outcomes: commands.map(undoable), recorded: batch.recorded };
    });
  }
}

function prepareBatch({ tip, transaction }: LogParts, run: (batch: Batch, rows: Rows) => BatchResult): PreparedBatch {
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

/**
 * Records a changed schema together with the claims that hold under it, in one transaction: the log never holds a
 * schema without its claims. Of two streams with one value, the second holds it under its former text.
 */
function changeSchema({ recorder, transaction }: LogParts, command: Command, held: HeldClaims): void {
  transaction.commit((batch) => {
    recorder.claims.replaceAll(held);
    recordSchema(recorder, command, batch);
  });
}

/** Does the first half of {@link changeSchema}, for a log that others append to as well. */
function prepareSchema(parts: LogParts, command: Command, held: HeldClaims): PreparedBatch {
  const { tip, recorder } = parts;
  const position = tip.head().size + 1;
  return prepareBatch(parts, (batch, rows) => {
    for (const change of recorder.claims.exchangeAll(held)) rows.claims.push({ ...change, position });
    return recordSchema(recorder, command, batch);
  });
}

function recordSchema({ record }: Recorder, command: Command, batch: Batch): BatchResult {
  const outcome = record(command, batch);
  if (!outcome.ok) throw new BrokenLogError(`stream ${command.stream} moved while its schema was being changed`);
  return { outcomes: [outcome], recorded: batch.recorded };
}
