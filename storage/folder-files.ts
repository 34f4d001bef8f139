import { randomUUID } from 'node:crypto';
import { copyFile, open, readdir, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { NamedFiles } from './bucket/files.ts';
import { onDisk, syncFolder } from './disk.ts';
import { codeOf } from './errors.ts';
import { makePrivateFolder, privateFile } from './private.ts';

/** The time for which a partial file counts as being written, perhaps by another machine, in milliseconds. */
const longestWriting = 24 * 3_600_000;

/**
 * Opens the files of a folder. The folder is made when the first file is stored. Several processes may store files at
 * the same time.
 */
export function openFolderFiles(folder: string): NamedFiles {
  let isSwept = false;

  async function place(name: string, write: (part: string) => Promise<void>): Promise<void> {
    await makePrivateFolder(folder);
    if (!isSwept) await removeParts();
    isSwept = true;
    const part = join(folder, `.${name}.${randomUUID()}.partial`);
    try {
      await write(part);
      const file = await open(part, 'r+');
      await file.sync().finally(() => file.close());
      await rename(part, join(folder, name));
    } catch (error) {
      await rm(part, { force: true }).catch(() => {});
      throw error;
    }
    await syncFolder(folder);
  }

  /** Removes the partial files of killed processes. */
  async function removeParts(): Promise<void> {
    for (const name of await readdir(folder)) {
      if (!(name.startsWith('.') && name.endsWith('.partial'))) continue;
      const path = join(folder, name);
      const found = await stat(path).catch(() => null);
      if (found && Date.now() - found.mtimeMs > longestWriting) await rm(path, { force: true });
    }
  }

  return {
    name: folder,
    async list() {
      try {
        const entries = await readdir(folder, { withFileTypes: true });
        return entries.flatMap((entry) => (entry.isFile() && !entry.name.startsWith('.') ? [entry.name] : [])).sort();
      } catch (error) {
        if (codeOf(error) === 'ENOENT') return [];
        throw error;
      }
    },
    async read(name) {
      const file = await open(join(folder, name)).catch((error) => {
        if (codeOf(error) === 'ENOENT') return null;
        throw error;
      });
      return file?.createReadStream({ highWaterMark: 1024 * 1024 }) ?? null;
    },
    send: (name, path) => onDisk(place(name, (part) => copyFile(path, part))),
    put: (name, text) => onDisk(place(name, (part) => writeFile(part, text, { mode: privateFile }))),
    remove: (name) => onDisk(rm(join(folder, name), { force: true })),
    folder: (name) => openFolderFiles(join(folder, name)),
    close() {},
  };
}
