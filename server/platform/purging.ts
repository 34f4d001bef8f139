import { setTimeout as wait } from 'node:timers/promises';
import { every } from './ticks.ts';

type Options = {
  /** Deletes some of what has expired; true if there may be more. */
  purgeSome: () => Promise<boolean>;
  /** Takes what was deleted off the disk. */
  leaveNoTrace: () => Promise<void>;
  /** Called when what has expired could not be deleted; it is tried again. */
  onFailure: (error: Error) => void;
};

const purgeMilliseconds = 30_000;
/** Between two steps of a purge, so that a long one does not hold up others. */
const restMilliseconds = 20;

/** Deletes what has expired now, and again every half a minute, until it is closed. */
export function startPurging({ purgeSome, leaveNoTrace, onFailure }: Options) {
  let isClosed = false;
  let purging: Promise<void> | null = null;
  const endPurging = every(purgeMilliseconds, purgeInBackground);
  purgeInBackground();

  function purgeInBackground(): void {
    purge().catch((error) => {
      if (!isClosed) onFailure(error);
    });
  }

  /** Deletes all that has expired, from the disk too. */
  function purge(): Promise<void> {
    purging ??= purgeAll().finally(() => {
      purging = null;
    });
    return purging;
  }

  async function purgeAll(): Promise<void> {
    while (!isClosed && (await purgeSome())) await wait(restMilliseconds, undefined, { ref: false });
    if (!isClosed) await leaveNoTrace();
  }

  return {
    purge,
    /** Ends the purge that runs, and begins no other. */
    async close(): Promise<void> {
      isClosed = true;
      endPurging();
      await purging?.catch(() => {});
    },
  };
}
