import { setTimeout as wait } from 'node:timers/promises';
import { readLog } from '../../../events/log/log-reader.ts';
import { readCheckpoints } from '../../../events/proof/checkpoints.ts';
import { BrokenLogError } from '../../../events/store/log-file.ts';
import { openDatabase, type Sqlite } from '../../../storage/sqlite.ts';
import { isStoreFailure } from '../../http/store-refusals.ts';
import { StartError } from '../../writer/writer.ts';
import { anchored, checkInLog, paddedSize, trustedKeys } from './checkpoint-checks.ts';
import { couriersOf, type Destinations } from './destinations.ts';
import { disowningsOf, type LogServices, tellDisownings } from './keys.ts';

/** Copies checkpoints to places where a person who can alter the log may not be able to alter them. */
export type Anchoring = {
  /**
   * Compares the log with the newest anchored checkpoints. If the store does not answer in a few seconds, this is done
   * in the background.
   *
   * @throws StartError if the log is not the one that was anchored.
   */
  start: () => Promise<void>;
  /** A checkpoint has been signed. */
  wake: () => void;
  close: () => Promise<void>;
};

type Options = LogServices &
  Destinations & {
    /** Resolves when the log here has all that was recorded before the call, by any node. */
    upToDate?: () => Promise<void>;
    /** Called if a check after the start finds that the log is not the one that was anchored. */
    onContradiction: (error: Error) => void;
    milliseconds?: { patience: number; shortest: number; longest: number };
  };

const usual = { patience: 5000, shortest: 2000, longest: 60_000 };

/** Copies checkpoints to all destinations, and checks the copies in the store of files at the start. */
export function openAnchoring(options: Options): Anchoring {
  const { file, onContradiction, log, milliseconds = usual } = options;
  const db = openDatabase(file, { readonly: true, cacheMiB: 4 });
  const closing = new AbortController();
  const { signal } = closing;
  let isChecked = false;
  const couriers = couriersOf(options, db, () => isChecked);

  function wake(): void {
    for (const courier of couriers) courier.wake();
  }

  async function check(): Promise<void> {
    await checkAnchored(options, db);
    isChecked = true;
  }

  async function start(): Promise<void> {
    const first = check();
    const late = wait(milliseconds.patience, 'it does not answer', { ref: false, signal });
    const outcome = await Promise.race([first, late]).catch((error) => error);
    if (outcome instanceof BrokenLogError) throw new StartError(outcome.message);
    if (outcome !== undefined) {
      if (outcome instanceof Error && !isStoreFailure(outcome)) throw outcome;
      const reason = outcome instanceof Error ? outcome.message : outcome;
      log.warn(`the log is not held against the anchored checkpoints until their store works: ${reason}`);
      goOn(first).catch((err) => log.error({ err }, 'the anchored checkpoints cannot be looked at'));
    }
    wake();
  }

  async function goOn(first: Promise<void>): Promise<void> {
    let checking = first;
    for (let pause = milliseconds.shortest; !isChecked; pause = Math.min(2 * pause, milliseconds.longest)) {
      try {
        await checking;
      } catch (error) {
        if (signal.aborted) return;
        if (error instanceof BrokenLogError) {
          onContradiction(error);
          return;
        }
        if (!isStoreFailure(error)) throw error;
        await wait(pause, undefined, { ref: false, signal }).catch(() => {});
        if (signal.aborted) return;
        checking = check();
      }
    }
    log.info('the log has been held against the anchored checkpoints, and is the one that was signed');
    wake();
  }

  return {
    start,
    wake,
    async close() {
      closing.abort();
      await Promise.all(couriers.map((courier) => courier.close()));
      db.close();
    },
  };
}

/**
 * Checks anchored checkpoints, from the newest on that the log knows to be stored: it covers those before it.
 *
 * @throws BrokenLogError if the log is not the one that was anchored.
 */
async function checkAnchored({ keys, store, log, upToDate }: Options, db: Sqlite): Promise<void> {
  const reader = readLog(db);
  const { log: logId } = reader.head();
  await keys.current(logId);
  const known = await keys.known(logId);
  const disownings = disowningsOf(reader, known, await keys.disowned(logId));
  for (const line of tellDisownings({ ...disownings, events: [] })) log.warn(line);
  const trust = trustedKeys(known, disownings.ids);
  const others = { unknown: 0, disowned: 0 };
  const from = paddedSize(readCheckpoints(db).newestStored() ?? 0);
  for await (const { name, read } of (await store()).anchors(from)) {
    const note = { name: anchored(name), note: await read() };
    // Another node may have anchored it just now.
    if ('finding' in checkInLog(reader, trust, note)) await upToDate?.();
    const checked = checkInLog(reader, trust, note);
    if ('finding' in checked) throw new BrokenLogError(checked.finding);
    if (checked.verdict !== 'sound') others[checked.verdict] += 1;
  }
  if (others.unknown > 0) {
    log.warn(`anchored checkpoints signed by a key that vault.db does not know: ${others.unknown}; they fit the log`);
  }
  if (others.disowned > 0) {
    log.warn(`anchored checkpoints that the log is not held against, for their key was given up: ${others.disowned}`);
  }
}
