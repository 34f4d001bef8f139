import { link, mkdir, open, opendir, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { BlobMissingError, type BlobStore, BlobsUnavailableError, isSha256 } from './blobs.ts';
import { isDiskFull } from './sqlite.ts';

/** Keeps files in a folder: `<folder>/ab/abcdef…`, each named by its SHA-256. */
export function openFolderStore(folder: string): BlobStore {
  const incoming = join(folder, 'incoming');
  const pathOf = (sha256: string) => join(folder, sha256.slice(0, 2), sha256);

  return {
    incoming,
    prepare: async () => {},
    async keep({ path, sha256 }) {
      const target = pathOf(sha256);
      try {
        await mkdir(dirname(target), { recursive: true, mode: 0o700 });
        await link(path, target);
        await sync(dirname(target));
        await sync(folder);
      } catch (error) {
        if (isDiskFull(error)) throw new BlobsUnavailableError('full', 'there is no room on the disk for the file');
        if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
      }
    },
    async open(sha256, range) {
      const file = await open(pathOf(sha256)).catch((error) => {
        throw error.code === 'ENOENT' ? new BlobMissingError(sha256) : error;
      });
      return file.createReadStream({ ...range, highWaterMark: 256 * 1024 });
    },
    async size(sha256) {
      const found = await stat(pathOf(sha256)).catch(() => null);
      return found?.size ?? null;
    },
    async *list() {
      for await (const entry of await opendir(folder, { recursive: true })) {
        if (!entry.isFile() || !isSha256(entry.name)) continue;
        const found = await stat(join(entry.parentPath, entry.name)).catch(() => null);
        if (found) yield { sha256: entry.name, size: found.size };
      }
    },
    remove: (sha256) => rm(pathOf(sha256), { force: true }),
    close() {},
  };
}

async function sync(folder: string): Promise<void> {
  const handle = await open(folder);
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
