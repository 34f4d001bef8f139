import { setTimeout as pause } from 'node:timers/promises';
import { freezeMilliseconds } from '../../storage/postgres/durations.ts';
import { isBusy, openDatabase, type Sqlite } from '../../storage/sqlite.ts';
import type { Tree } from '../proof/merkle.ts';
import { openRowSource, type RowSource } from '../replica/row-source.ts';
import { openLogToRead } from '../store/log-file.ts';
import { markMoved, movedTo } from '../store/moved.ts';
import type { Arrival } from './arrival.ts';
import { compareRows, openComparison } from './comparing.ts';
import { MoveError } from './move-error.ts';

/** The functions that are told the progress of a move. */
type MoveProgress = { copied: (done: number, total: number) => void; compared: MoveProgress['copied'] };

/** Something that moves with the log, while nothing else writes to the log. */
export type Companion = {
  /** Locks it. */
  begin: () => void;
  copy: () => Promise<void>;
  /** Marks it as moved, and ends the lock. */
  commit: () => void;
  /** Ends the lock if there is one. */
  rollBack: () => void;
};

/** A log that has moved. `size`: its events; `frozen`: the milliseconds for which writes had to wait. */
type MoveResult = { size: number; frozen: number };

type Parts = { file: string; arrival: Arrival; companion: Companion; progress: MoveProgress };

/** If more events than this are to be copied, they are copied in one more round before writes have to wait. */
const mostInFreeze = 500;

const rounds = 50;
const tries = 10;
const pauseMilliseconds = 500;

/**
 * Moves a log from its file into PostgreSQL, while a service may work on it. The last step is one commit in the file:
 * before it the log is in the file; after it the log is in PostgreSQL, and writes to the file are refused.
 *
 * @throws MoveError; the copied rows stay, and the next move goes on from there.
 */
export async function moveIn({ file, arrival, companion, progress }: Parts): Promise<MoveResult> {
  const reading = openLogToRead(file);
  const writing = openDatabase(file, { durability: 'full' });
  try {
    const token = movedTo(reading);
    if (token !== null) return await finish({ source: openRowSource(reading), token, arrival, companion });
    const source = openRowSource(reading);
    const mover = openMover(source, arrival, progress);
    await mover.copyTo(source, source.head().size);
    await mover.compareTo(source, arrival.head().size);
    await within(reading, 'BEGIN', () => mover.all(source));
    for (let left = rounds; mover.isFar(); left -= 1) {
      if (left === 0)
        throw new MoveError('more is written than can be copied meanwhile; try again when less is written');
      await within(reading, 'BEGIN', () => mover.round(source));
    }
    const catchUp = () => within(reading, 'BEGIN', () => mover.round(source));
    return await freeze({ writing, mover, arrival, companion, catchUp });
  } finally {
    writing.close();
    reading.close();
  }
}

type Mover = ReturnType<typeof openMover>;

/** Copies new rows, and compares them with the log. */
function openMover(reading: RowSource, arrival: Arrival, progress: MoveProgress) {
  let tree = treeOf(reading, arrival);
  const comparison = openComparison(arrival);
  /** The number of events whose claims and idempotency records are there as well. */
  let synced = 0;

  async function copyTo(source: RowSource, upTo: number): Promise<void> {
    let writing: Promise<void> = Promise.resolve();
    while (tree.size < upTo) {
      // The next page is read while PostgreSQL writes the last one.
      const page = source.page(tree, upTo);
      await writing;
      progress.copied(page.from, upTo);
      writing = arrival.ship(page);
      // The next round throws the error.
      writing.catch(() => {});
    }
    await writing;
    progress.copied(upTo, upTo);
  }

  async function compareTo(source: RowSource, upTo: number): Promise<void> {
    await comparison.events(source, { upTo, isStill: false, progress: (done) => progress.compared(done, upTo) });
  }

  /** Copies all claims and idempotency records of a snapshot, and the events that are new in it. */
  async function all(source: RowSource): Promise<void> {
    const { size } = source.head();
    await copyTo(source, size);
    await arrival.replaceClaims(source.claims(), null);
    await arrival.removeIdempotencyRecords();
    await arrival.keepIdempotencyRecords(source.idempotencyRecords(0));
    await arrival.setErasures(source.erasures());
    await comparison.events(source, { upTo: size, isStill: true });
    await compareRows({ source, arrival });
    await comparison.counts(source);
    synced = size;
  }

  /** Copies the rows that are new in a snapshot. */
  async function round(source: RowSource): Promise<void> {
    const { size } = source.head();
    const before = synced;
    await copyTo(source, size);
    const { streams, hasNewSchema } = source.touched(before, size);
    // With a new schema streams may hold other values without an event of their own.
    if (hasNewSchema) {
      await all(source);
      return;
    }
    if (streams.length > 0) await arrival.replaceClaims(source.claims(streams), streams);
    await arrival.keepIdempotencyRecords(source.idempotencyRecords(before));
    await arrival.setErasures(source.erasures());
    await comparison.events(source, { upTo: size, isStill: true });
    await comparison.counts(source);
    synced = size;
  }

  /** Goes on after the connection was ended: the last page may have been written or not. */
  async function resume(): Promise<void> {
    await arrival.resume();
    tree = treeOf(reading, arrival);
  }

  return {
    copyTo,
    compareTo,
    all,
    round,
    resume,
    isFar: (): boolean => isFarFrom(reading, synced),
    isFarIn: (source: RowSource): boolean => isFarFrom(source, synced),
  };

  function isFarFrom(source: RowSource, position: number): boolean {
    const { size } = source.head();
    return size - position > mostInFreeze || source.touched(position, size).hasNewSchema;
  }
}

/** The tree of the events that are in PostgreSQL already. @throws MoveError if they are of another log. */
function treeOf(source: RowSource, arrival: Arrival): Tree {
  const { size, root } = arrival.head();
  if (size > source.head().size || !source.rootAt(size).equals(root))
    throw new MoveError(
      `PostgreSQL has ${size} events of this log that are not in log.db: this is not the log that was moved there before`,
    );
  return source.treeAt(size);
}

/** The last step. Nothing else writes meanwhile. */
async function freeze({
  writing,
  mover,
  arrival,
  companion,
  catchUp,
}: {
  writing: Sqlite;
  mover: Mover;
  arrival: Arrival;
  companion: Companion;
  catchUp: () => Promise<void>;
}): Promise<MoveResult> {
  const source = openRowSource(writing);
  let isEnded = false;
  for (let left = tries; left > 0; left -= 1) {
    const moved = await tryFreeze();
    if (moved) return moved;
    await pause(pauseMilliseconds);
    if (isEnded) await mover.resume();
    isEnded = false;
    await catchUp();
  }
  throw new MoveError('the log was not still for long enough; try again when less is written');

  async function tryFreeze(): Promise<MoveResult | null> {
    let timer: NodeJS.Timeout | undefined;
    try {
      writing.exec('BEGIN IMMEDIATE');
      const started = performance.now();
      timer = setTimeout(() => {
        isEnded = true;
        arrival.destroy();
      }, freezeMilliseconds);
      if (mover.isFarIn(source)) return null;
      companion.begin();
      await mover.round(source);
      await companion.copy();
      if (isEnded || performance.now() > started + freezeMilliseconds) return null;
      markMoved(writing, arrival.head().token);
      // From here on the log is in PostgreSQL.
      writing.exec('COMMIT');
      clearTimeout(timer);
      companion.commit();
      const frozen = performance.now() - started;
      await arrival.end();
      return { size: arrival.head().size, frozen };
    } catch (error) {
      if (isBusy(error) || isEnded) return null;
      throw error;
    } finally {
      clearTimeout(timer);
      companion.rollBack();
      if (writing.inTransaction) writing.exec('ROLLBACK');
    }
  }
}

async function within(db: Sqlite, begin: string, run: () => Promise<void>): Promise<void> {
  db.exec(begin);
  try {
    await run();
  } finally {
    db.exec('COMMIT');
  }
}

/** Finishes a move that was stopped after its commit in the file. */
async function finish({
  source,
  token,
  arrival,
  companion,
}: Pick<Parts, 'arrival' | 'companion'> & { source: RowSource; token: string }): Promise<MoveResult> {
  const [there, here] = [arrival.head(), source.head()];
  if (there.token !== token) throw new MoveError('this log has moved to another database already');
  if (there.state === 'here') return { size: here.size, frozen: 0 };
  if (there.size !== here.size || !there.root.equals(here.root))
    throw new MoveError('what is in PostgreSQL is not what was moved there');
  companion.begin();
  try {
    await companion.copy();
    companion.commit();
  } finally {
    companion.rollBack();
  }
  await arrival.end();
  return { size: here.size, frozen: 0 };
}
