import { resolve } from 'node:path';
import type { Logger } from 'pino';
import { DomainError } from '../../../config/errors.ts';
import type { Model } from '../../../config/model.ts';
import { openTail } from '../../../events/service-events/blobs.ts';
import { logFile } from '../../../projections/tables/files.ts';
import { openBlobStore } from '../../../storage/blob-store.ts';
import { type BlobStore, BlobsRefusedError } from '../../../storage/blobs.ts';
import { largestObject } from '../../../storage/bucket/store.ts';
import { openDatabase } from '../../../storage/sqlite.ts';
import { isStoreFailure, type StoreFailure, storeRefusal } from '../../http/store-refusals.ts';
import type { Pins } from '../../ports.ts';
import type { Settings } from '../../settings/settings.ts';
import type { Writer } from '../../writer/writer.ts';
import { createCollector } from './collector.ts';
import { createDiscarding } from './discarding.ts';
import { type FileErasing, openFileErasing } from './erasing.ts';
import type { PinBoard } from './pins.ts';
import { createReadiness } from './readiness.ts';
import { blobSettingsOf, prepareIncoming, storeName } from './store.ts';

/**
 * Decides in the main thread when files may be stored and removed: none in a store of another log, none that is needed.
 */
export type BlobGuard = FileErasing & {
  /**
   * The functions for a thread that answers requests. `release` is called when the thread has ended, and frees its pins
   * as soon as no event can name the files any more.
   */
  join: () => Pins & { release: () => Promise<void> };
  /** The store itself, once it is ready. @throws BlobsUnavailableError, BlobsRefusedError */
  store: () => Promise<BlobStore>;
  close: () => void;
};

type Options = {
  settings: Settings;
  model: Model;
  /** The log in the data directory. */
  logId: string;
  writer: Pick<Writer, 'settled' | 'hasFailed'>;
  pins: PinBoard;
  /** Resolves when the log here has all that was recorded before the call, by any node. */
  upToDate?: () => Promise<void>;
  /** Leave the store alone until something is asked of it. */
  isBrief: boolean;
  log: Logger;
};

/**
 * Prepares the store, and opens the functions for threads. A service without uploads needs no store, unless a bucket is
 * configured: then the bucket is meant to be used.
 *
 * @throws BlobsRefusedError if the store will not work as it is configured.
 */
export async function openBlobGuard(options: Options): Promise<BlobGuard> {
  const { settings, model, logId, writer, pins, isBrief, log, upToDate = async () => {} } = options;
  const blobSettings = blobSettingsOf(settings);
  const blobs = openBlobStore(blobSettings);
  const { ready, start, close } = createReadiness({ prepare: () => blobs.prepare(logId), log });
  const isUsed = blobSettings.kind === 'bucket' || [...model.collections.values()].some(({ upload }) => upload);
  try {
    if (isUsed && !isBrief) {
      if (blobSettings.kind === 'bucket') requireFit(model);
      await start();
      prepareIncoming(blobs.incoming);
    }
  } catch (error) {
    close();
    blobs.close();
    throw error;
  }
  const db = openDatabase(logFile(resolve(settings.data)), { readonly: true, cacheMiB: 4 });
  async function remove(sha256: string): Promise<void> {
    if (writer.hasFailed()) throw new DomainError('unavailable', inDoubt);
    await blobs.remove(sha256);
  }
  const collector = createCollector({
    store: storeName(blobSettings),
    remove,
    ready,
    pins,
    upToDate,
    isNamed: openTail(db),
  });

  const { erase, neededBeside } = openFileErasing({ db, pins, remove, ready, upToDate });
  const discarding = createDiscarding(erase, log);

  return {
    erase,
    neededBeside,
    join() {
      const { pin, unpin, release } = pins.hold();
      return {
        // Every upload pins its file here, before it is stored or removed.
        async pin(sha256) {
          await asRefusal(ready(), storeRefusal);
          await pin(sha256);
        },
        unpin,
        discard: async (sha256) => discarding.discard(sha256),
        // Only the operator calls this, and is told why.
        collect: (candidates) =>
          asRefusal(collector(candidates), ({ message }) => new DomainError('unavailable', message)),
        async release() {
          // The writer may still record commands of a thread that has ended. If that is unknown, the pins of the thread
          // stay.
          if (await writer.settled()) await release();
        },
      };
    },
    async store() {
      await ready();
      return blobs;
    },
    close() {
      close();
      discarding.close();
      blobs.close();
      db.close();
    },
  };
}

/** After such an end, a log that does not name a file does not prove that no event will. */
const inDoubt = 'the writer of the log has failed: no file is removed before the service has been started again';

/**
 * Requires that a bucket takes all files that a configuration does: else one could be sent whole, each time, and be
 * refused in the end.
 *
 * @throws BlobsRefusedError
 */
export function requireFit({ collections }: Model): void {
  for (const { slug, upload } of collections.values()) {
    if (!upload || upload.maxFileSize <= largestObject) continue;
    const limit = `a bucket takes files of up to ${largestObject} bytes`;
    throw new BlobsRefusedError(
      `${limit}, and ${slug} takes ${upload.maxFileSize}: its maxFileSize must be at most that`,
    );
  }
}

/** Between threads a refusal keeps its type, and any other error does not. */
function asRefusal<T>(work: Promise<T>, refusalOf: (failure: StoreFailure) => DomainError): Promise<T> {
  return work.catch((error) => {
    throw isStoreFailure(error) ? refusalOf(error) : error;
  });
}
