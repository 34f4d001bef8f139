import { createReadStream } from 'node:fs';
import { copyFile, open, readdir, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { NamedFiles } from './bucket-files.ts';
import { onDisk, syncFolder } from './disk.ts';
import { codeOf } from './errors.ts';
import { makePrivateFolder, privateFile } from './private.ts';

/** The files of a folder, which is made when the first is put there. */
export function openFolderFiles(folder: string): NamedFiles {
  async function place(name: string, write: (part: string) => Promise<void>): Promise<void> {
    await makePrivateFolder(folder);
    const part = join(folder, `.${name}.partial`);
    await write(part);
    const file = await open(part, 'r+');
    await file.sync();
    await file.close();
    await rename(part, join(folder, name));
    await syncFolder(folder);
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
      const path = join(folder, name);
      const found = await stat(path).catch((error) => {
        if (codeOf(error) === 'ENOENT') return null;
        throw error;
      });
      return found ? createReadStream(path, { highWaterMark: 1024 * 1024 }) : null;
    },
    send: (name, path) =>
      onDisk(
        place(name, async (part) => {
          await rm(part, { force: true });
          await copyFile(path, part);
        }),
      ),
    put: (name, text) => onDisk(place(name, (part) => writeFile(part, text, { mode: privateFile }))),
    remove: (name) => onDisk(rm(join(folder, name), { force: true })),
    folder: (name) => openFolderFiles(join(folder, name)),
    close() {},
  };
}
