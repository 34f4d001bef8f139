import { accessSync, constants } from 'node:fs';
import { join, resolve } from 'node:path';
import { type BlobSettings, BlobsRefusedError } from '../../../storage/blobs.ts';
import { messageOf } from '../../../storage/errors.ts';
import { clearIncoming } from '../../../storage/incoming.ts';
import { isDiskFull } from '../../../storage/sqlite.ts';
import type { Settings } from '../../settings/settings.ts';

/** The place of uploads: a bucket, or the data directory. */
export function blobSettingsOf({ data, bucket }: Pick<Settings, 'data' | 'bucket'>): BlobSettings {
  const directory = resolve(data);
  if (!bucket) return { kind: 'folder', folder: join(directory, 'blobs') };
  const { name, ...reach } = bucket;
  return { kind: 'bucket', incoming: join(directory, 'incoming'), bucket: name, ...reach };
}

/**
 * The name of a store, the same for all processes that work on the same log, by whatever address or path they reach it.
 */
export function storeName(settings: BlobSettings): string {
  return settings.kind === 'folder' ? 'the folder "blobs" of the data directory' : `the bucket "${settings.bucket}"`;
}

/**
 * Makes the folder in which files are received, and empties it. @throws BlobsRefusedError when it cannot be written.
 */
export function prepareIncoming(folder: string): void {
  try {
    clearIncoming(folder);
    accessSync(folder, constants.W_OK | constants.X_OK);
  } catch (error) {
    if (isDiskFull(error)) throw error;
    throw new BlobsRefusedError(`files cannot be received in ${folder}: ${messageOf(error)}`, { cause: error });
  }
}
