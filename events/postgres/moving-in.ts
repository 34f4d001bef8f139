import { setTimeout as pause } from 'node:timers/promises';
import { isBusy, openDatabase, type Sqlite } from '../../storage/sqlite.ts';
import type { Tree } from '../proof/merkle.ts';
import { type Copying, openCopying } from '../replica/copying.ts';
import { openLogToRead } from '../store/log-file.ts';
import { markMoved, movedTo } from '../store/moved.ts';
import { type Arrival, MoveError } from './arrival.ts';
import { compareRows, openComparison } from './comparing.ts';

/** Tells how far a step of a move is. */
export type MoveProgress = { copied: (done: number, total: number) => void; compared: MoveProgress['copied'] };

/** Something that moves with the log, while that is written to by nothing else. */
export type Companion = {
  /** Locks it. */
  begin: () => void;
  copy: () => Promise<void>;
  /** Marks it as moved, and ends the lock. */
  commit: () => void;
  /** Ends the lock where there is one. */
  rollBack: () => void;
};

/** A log that has moved: how many events, and for how many milliseconds writes had to wait. */
export type MovedIn = { size: number; frozen: number };

type Parts = { file: string; arrival: Arrival; companion: Companion; progress: MoveProgress };

/** The longest time for which writes wait, in milliseconds: the writer of a service gives up after five seconds. */
const longestFreeze = 4000;

/** With more events than this, in one more round rather than while writes wait. */
const mostInFreeze = 500;

const rounds = 50;
const tries = 10;
const pauseMilliseconds = 500;

/**
 * Moves a log from its file into PostgreSQL, while a service may work on it. Until the last step, which is one commit
 * in that file, the log is there; from it on it is in PostgreSQL, and writes to the file are refused.
 *
 * @throws MoveError; what was copied stays, and the next move goes on from there.
 */
export async function moveIn({ file, arrival, companion, progress }: Parts): Promise<MovedIn> {
  const reading = openLogToRead(file);
  const writing = openDatabase(file, { durability: 'full' });
  try {
    const token = movedTo(reading);
    if (token !== null) return await finish({ copying: openCopying(reading), token, arrival, companion });
    const copying = openCopying(reading);
    const mover = openMover(copying, arrival, progress);
    await mover.copyTo(copying, copying.head().size);
    await mover.compareTo(copying, arrival.head().size);
    await within(reading, 'BEGIN', () => mover.all(copying));
    for (let left = rounds; mover.isFar(); left -= 1) {
      if (left === 0)
        throw new MoveError('more is written than can be copied meanwhile; try again when less is written');
      await within(reading, 'BEGIN', () => mover.round(copying));
    }
    const catchUp = () => within(reading, 'BEGIN', () => mover.round(copying));
    return await freeze({ writing, mover, arrival, companion, catchUp });
  } finally {
    writing.close();
    reading.close();
  }
}

type Mover = ReturnType<typeof openMover>;

/** Copies what is new, and holds it against the log. */
function openMover(reading: Copying, arrival: Arrival, progress: MoveProgress) {
  let tree = treeOf(reading, arrival);
  const comparison = openComparison(arrival);
  /** The events whose claims and attempts are there as well. */
  let synced = 0;

  async function copyTo(copying: Copying, upTo: number): Promise<void> {
    let shipped: Promise<void> = Promise.resolve();
    while (tree.size < upTo) {
      // The next page is read while PostgreSQL writes the last one.
      const page = copying.page(tree, upTo);
      await shipped;
      progress.copied(page.from, upTo);
      shipped = arrival.ship(page);
      shipped.catch(() => {});
    }
    await shipped;
    progress.copied(upTo, upTo);
  }

  async function compareTo(copying: Copying, upTo: number): Promise<void> {
    await comparison.events(copying, { upTo, isStill: false, progress: (done) => progress.compared(done, upTo) });
  }

  /** Copies all claims and attempts of a snapshot, and the events that are new in it. */
  async function all(copying: Copying): Promise<void> {
    const { size } = copying.head();
    await copyTo(copying, size);
    await arrival.replaceClaims(copying.claims(), null);
    await arrival.removeAttempts();
    await arrival.keepAttempts(copying.attempts(0));
    await arrival.setErasures(copying.erasures());
    await comparison.events(copying, { upTo: size, isStill: true });
    await compareRows({ copying, arrival });
    await comparison.counts(copying);
    synced = size;
  }

  /** Copies what is new in a snapshot. */
  async function round(copying: Copying): Promise<void> {
    const { size } = copying.head();
    const before = synced;
    await copyTo(copying, size);
    const { streams, hasNewSchema } = copying.touched(before, size);
    // With a new schema streams may hold other values, though nothing happened to them.
    if (hasNewSchema) {
      await all(copying);
      return;
    }
    if (streams.length > 0) await arrival.replaceClaims(copying.claims(streams), streams);
    await arrival.keepAttempts(copying.attempts(before));
    await arrival.setErasures(copying.erasures());
    await comparison.events(copying, { upTo: size, isStill: true });
    await comparison.counts(copying);
    synced = size;
  }

  /** Goes on after the connection was ended: the last page may be there or not. */
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
    isFarIn: (copying: Copying): boolean => isFarFrom(copying, synced),
  };

  function isFarFrom(copying: Copying, position: number): boolean {
    const { size } = copying.head();
    return size - position > mostInFreeze || copying.touched(position, size).hasNewSchema;
  }
}

/** The tree of what is in PostgreSQL already. @throws MoveError where that is of another log. */
function treeOf(copying: Copying, arrival: Arrival): Tree {
  const { size, root } = arrival.head();
  if (size > copying.head().size || !copying.rootAt(size).equals(root))
    throw new MoveError(
      `PostgreSQL has ${size} events of this log that are not in log.db: this is not the log that was moved there before`,
    );
  return copying.treeAt(size);
}

/** The last step: nothing else writes while it lasts. */
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
}): Promise<MovedIn> {
  const copying = openCopying(writing);
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

  async function tryFreeze(): Promise<MovedIn | null> {
    let timer: NodeJS.Timeout | undefined;
    try {
      writing.exec('BEGIN IMMEDIATE');
      const started = performance.now();
      timer = setTimeout(() => {
        isEnded = true;
        arrival.destroy();
      }, longestFreeze);
      if (mover.isFarIn(copying)) return null;
      companion.begin();
      await mover.round(copying);
      await companion.copy();
      if (isEnded || performance.now() > started + longestFreeze) return null;
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

/** Ends a move that was stopped after its last commit in the file. */
async function finish({
  copying,
  token,
  arrival,
  companion,
}: Pick<Parts, 'arrival' | 'companion'> & { copying: Copying; token: string }): Promise<MovedIn> {
  const [there, here] = [arrival.head(), copying.head()];
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
