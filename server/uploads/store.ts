import { accessSync, constants } from 'node:fs';
import { join, resolve } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import type { Logger } from 'pino';
import { DomainError } from '../../config/errors.ts';
import { type BlobSettings, BlobsRefusedError, BlobsUnavailableError } from '../../storage/blobs.ts';
import { clearIncoming } from '../../storage/incoming.ts';
import { isDiskFull } from '../../storage/sqlite.ts';
import { once } from '../once.ts';
import type { Settings } from '../settings.ts';

/** Where uploads are kept: in the data directory, or in a bucket. */
export function blobSettingsOf({ data, bucket }: Pick<Settings, 'data' | 'bucket'>): BlobSettings {
  const directory = resolve(data);
  if (!bucket) return { kind: 'folder', folder: join(directory, 'blobs') };
  const { name, ...reach } = bucket;
  return { kind: 'bucket', incoming: join(directory, 'incoming'), bucket: name, ...reach };
}

/** Names a store in one way, under whatever address and path it is reached, for those that work on the same log. */
export function storeName(settings: BlobSettings): string {
  return settings.kind === 'folder' ? 'the folder "blobs" of the data directory' : `the bucket "${settings.bucket}"`;
}

/** Makes the folder in which files are received, and empties it. @throws BlobsRefusedError when it cannot be written. */
export function prepareIncoming(folder: string): void {
  try {
    clearIncoming(folder);
    accessSync(folder, constants.W_OK | constants.X_OK);
  } catch (error) {
    if (isDiskFull(error)) throw error;
    throw new BlobsRefusedError(`files cannot be received in ${folder}: ${(error as Error).message}`, { cause: error });
  }
}

/** A store on its way to be used. */
export type Readiness = {
  /** Resolves once the store is ready; tries to make it so at each call. @throws as the store's `prepare`. */
  ready: () => Promise<void>;
  /**
   * Tries for a few seconds, and then goes on trying in the background: documents are of use without their files.
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

/** Makes a store ready, and keeps from being used one that may be another log's. */
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

/** Makes of an error of the store the refusal that a caller is told. */
export async function orUnavailable<T>(work: Promise<T>, messageOf: (error: Error) => string): Promise<T> {
  try {
    return await work;
  } catch (error) {
    if (!(error instanceof BlobsUnavailableError || error instanceof BlobsRefusedError)) throw error;
    throw new DomainError('unavailable', messageOf(error));
  }
}
