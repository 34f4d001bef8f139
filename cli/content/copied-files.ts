import { createHash } from 'node:crypto';
import { createWriteStream, rmSync } from 'node:fs';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { showProgress } from '../../server/platform/progress.ts';
import { BlobMissingError, type BlobStore, isSha256 } from '../../storage/blobs.ts';
import { privateFile } from '../../storage/private.ts';
import { CallError } from '../errors.ts';
import { paths } from './manifest.ts';

/** The number of files that were copied, and a line for each that could not be. */
type CopyResult = { count: number; missing: string[] };

/**
 * Copies files out of a store under their SHA-256, which is checked.
 *
 * @throws CallError when the export is stopped.
 */
export async function copyFiles(
  blobs: BlobStore,
  named: ReadonlySet<string>,
  { folder, signal }: { folder: string; signal: AbortSignal },
): Promise<CopyResult> {
  const progress = showProgress('copying files');
  const copied: CopyResult = { count: 0, missing: [] };
  for (const sha256 of named) {
    if (signal.aborted) throw new CallError('stopped; nothing was exported');
    const problem = isSha256(sha256) ? await copy(blobs, sha256, join(folder, paths.file(sha256))) : 'is not a SHA-256';
    if (problem === null) copied.count += 1;
    else copied.missing.push(`the file ${sha256} ${problem}, and is not in the export`);
    progress(copied.count + copied.missing.length, named.size);
  }
  return copied;
}

/** The problem with a file; null for a sound one, which is copied. */
async function copy(blobs: BlobStore, sha256: string, path: string): Promise<string | null> {
  const digest = createHash('sha256');
  try {
    await pipeline(
      await blobs.open(sha256),
      async function* (chunks: AsyncIterable<Buffer>) {
        for await (const chunk of chunks) {
          digest.update(chunk);
          yield chunk;
        }
      },
      createWriteStream(path, { flags: 'wx', mode: privateFile, flush: true }),
    );
  } catch (error) {
    if (error instanceof BlobMissingError) return 'is missing in the store';
    throw error;
  }
  if (digest.digest('hex') === sha256) return null;
  rmSync(path);
  return 'is altered in the store';
}
