import { createReadStream, existsSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import type { Readable } from 'node:stream';
import { UsageError } from '../../server/settings/settings.ts';
import { StartError } from '../../server/writer/writer.ts';
import type { NamedFiles } from '../../storage/bucket/files.ts';
import { openFolderFiles } from '../../storage/folder-files.ts';
import { BackupError, type BackupManifest, names, readArchive, readManifest, type Taking, textOf } from './archive.ts';
import { decrypted, isBrokenCipher } from './encryption.ts';
import { segmentsName } from './segment-objects.ts';

/**
 * A backup that can be read from its beginning, any number of times. `name` begins messages about it; `segments` is the
 * place of the segments that are not in the archive.
 */
export type BackupSource = { name: string; open: () => Promise<Readable>; segments: NamedFiles };

/** The backup in a file. @throws UsageError for a missing file. */
export function fileSource(path: string): BackupSource {
  const file = resolve(path);
  if (!existsSync(file) || !statSync(file).isFile()) throw new UsageError(`there is no backup ${file}`);
  return {
    name: path,
    open: async () => createReadStream(file, { highWaterMark: 1024 * 1024 }),
    segments: openFolderFiles(dirname(file)).folder(segmentsName),
  };
}

/** How a backup is read: with the private keys for an encrypted one. */
export type BackupReading = { source: BackupSource; identities: readonly string[] };

/**
 * Reads a backup. `take` gets every entry but the first, which is its manifest.
 *
 * @returns the manifest, and the files that were altered before they were saved.
 * @throws StartError with the name of the backup, for all that is wrong with it.
 */
export async function readBackup(
  { source, identities }: BackupReading,
  take: (manifest: BackupManifest, ...entry: Parameters<Taking>) => ReturnType<Taking>,
): Promise<{ manifest: BackupManifest; altered: string[] }> {
  let manifest: BackupManifest | null = null;
  try {
    const plain = await decrypted(await source.open(), identities);
    const altered = await readArchive(plain, async (name, content, size) => {
      if (manifest) return take(manifest, name, content, size);
      manifest = readManifest(await textOf(content, size));
      return undefined;
    });
    if (!manifest) throw new BackupError(`is not a backup of Annals: ${names.manifest} is missing`);
    return { manifest, altered };
  } catch (error) {
    if (error instanceof BackupError) throw new StartError(`${source.name} ${error.message}`);
    if (isBrokenCipher(error))
      throw new StartError(`${source.name} is not a whole backup: it was cut off or altered after it was encrypted`);
    throw error;
  }
}
