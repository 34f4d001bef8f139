import { setTimeout as wait } from 'node:timers/promises';
import type { Logger } from 'pino';
import { BlobsUnavailableError } from '../../../storage/blobs.ts';
import { once } from '../../platform/once.ts';

/** A store on its way to be used. */
type Readiness = {
  /** Resolves once the store is ready; tries to make it so at each call. @throws as the store's `prepare`. */
  ready: () => Promise<void>;
  /**
   * Tries for a few seconds, and then retries in the background: documents are of use without their files.
   *
   * @throws BlobsRefusedError when it never will work.
   */
  start: () => Promise<void>;
  close: () => void;
};

type Options = {
  prepare: () => Promise<void>;
  log: Logger;
  /** How long a start waits, and the pauses between tries, which grow from the shortest to the longest. */
  milliseconds?: { patience: number; shortest: number; longest: number };
};

const usual = { patience: 5000, shortest: 2000, longest: 60_000 };

/** Prepares a store, and refuses its use until it is known not to be the store of another log. */
export function createReadiness({ prepare, log, milliseconds = usual }: Options): Readiness {
  const ready = once(prepare);
  const closing = new AbortController();
  const { signal } = closing;

  async function start(): Promise<void> {
    try {
      await Promise.race([ready(), patience()]);
    } catch (error) {
      if (!(error instanceof BlobsUnavailableError)) throw error;
      if (signal.aborted) return;
      log.warn(`${error.message}; documents are served, files are not until it works`);
      goOn().catch((err) => {
        if (!signal.aborted) log.error({ err }, 'files are not served: their store refuses');
      });
    }
  }

  async function patience(): Promise<void> {
    await wait(milliseconds.patience, undefined, { ref: false, signal }).catch(() => {});
    throw new BlobsUnavailableError('unreachable', 'the store of files does not answer');
  }

  async function goOn(): Promise<void> {
    for (let pause = milliseconds.shortest; ; pause = Math.min(2 * pause, milliseconds.longest)) {
      await wait(pause, undefined, { ref: false, signal });
      try {
        await ready();
        log.info('the store of files works: they are served');
        return;
      } catch (error) {
        if (!(error instanceof BlobsUnavailableError)) throw error;
      }
    }
  }

  return { ready, start, close: () => closing.abort() };
}
