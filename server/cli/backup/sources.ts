import { createReadStream, existsSync, statSync } from 'node:fs';
import { resolve } from 'node:path';
import type { Readable } from 'node:stream';
import { UsageError } from '../../settings/settings.ts';
import { StartError } from '../../writer/writer.ts';
import { BackupError, type Manifest, names, readArchive, readManifest, type Taking, textOf } from './archive.ts';
import { decrypted } from './encryption.ts';

/** A backup that can be read from its beginning, any number of times. `name` begins what is said of it. */
export type Source = { name: string; open: () => Promise<Readable> };

/** The backup in a file. @throws UsageError for a missing file. */
export function fileSource(path: string): Source {
  const file = resolve(path);
  if (!existsSync(file) || !statSync(file).isFile()) throw new UsageError(`there is no backup ${file}`);
  return { name: path, open: async () => createReadStream(file, { highWaterMark: 1024 * 1024 }) };
}

/** How a backup is read: with the private keys for an encrypted one. */
export type Reading = { source: Source; identities: readonly string[] };

/**
 * Reads a backup. `take` gets every entry but the first, which is its manifest.
 *
 * @returns the manifest, and the files that were altered before they were saved.
 * @throws StartError with the name of the backup, for all that is wrong with it.
 */
export async function readBackup(
  { source, identities }: Reading,
  take: (manifest: Manifest, ...entry: Parameters<Taking>) => ReturnType<Taking>,
): Promise<{ manifest: Manifest; altered: string[] }> {
  let manifest: Manifest | null = null;
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
    // A wrong byte of an encrypted file, or a truncated one.
    if (error instanceof Error && /decrypt|ciphertext|stream ended|chunk|invalid tag/i.test(error.message))
      throw new StartError(`${source.name} is not a whole backup: it was cut off or altered after it was encrypted`);
    throw error;
  }
}
