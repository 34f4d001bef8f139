import { createHash } from 'node:crypto';
import { createReadStream, realpathSync, statSync } from 'node:fs';
import { basename, isAbsolute, join, relative, sep } from 'node:path';
import type { JsonObject } from '../../config/schema.ts';
import { show } from '../../config/suggest.ts';
import { isSha256 } from '../../storage/blobs.ts';
import { codeOf } from '../../storage/errors.ts';
import { RowError } from './documents.ts';
import { paths } from './manifest.ts';
import type { SentFile } from './service.ts';

/** The member of a row in which the path of its file stands. */
export const fileMember = 'file';

/** Finds the file of a row; null if it has none. @throws RowError if it is not a file of the folder. */
export type FindFile = (values: JsonObject) => Promise<SentFile | null>;

/**
 * Finds files by the paths that rows name, below a folder. Nothing outside of it is read, by symbolic links either.
 *
 * @param folder null if none was given.
 */
export function filesBelow(folder: string | null): FindFile {
  return async ({ [fileMember]: path }) => {
    if (path === undefined || path === null) return null;
    if (folder === null) throw new RowError(`${fileMember}: --files names the folder of the files, and is missing`);
    const must = `${fileMember} must be the path of a file below ${folder}, got ${show(path)}`;
    if (typeof path !== 'string') throw new RowError(must);
    const found = findBelow(folder, path);
    if ('problem' in found) throw new RowError(`${must}${found.problem}`);
    return { ...found, name: basename(path) };
  };
}

/**
 * Finds the files of an export by the SHA-256 that rows name, which is checked.
 *
 * @param folder of the export.
 */
export function filesOfExport(folder: string): FindFile {
  return async ({ sha256, filename }) => {
    if (sha256 === undefined || sha256 === null) return null;
    if (typeof sha256 !== 'string' || !isSha256(sha256))
      throw new RowError(`sha256 must be 64 hexadecimal digits, got ${show(sha256)}`);
    const path = paths.file(sha256);
    const found = findBelow(folder, path);
    if ('problem' in found) throw new RowError(`sha256 must be that of a file of the export, and there is no ${path}`);
    const digest = await digestOf(found.path);
    if (digest !== sha256) throw new RowError(`sha256 is not that of ${path}, whose bytes have ${digest}`);
    return { ...found, name: typeof filename === 'string' && filename !== '' ? filename : sha256 };
  };
}

/**
 * The real path and the bytes of a file below a folder; a file elsewhere is not found, by symbolic links either.
 * `problem` goes on with a sentence that names the path.
 */
export function findBelow(folder: string, path: string): { path: string; size: number } | { problem: string } {
  if (path === '' || path.includes('\0') || isAbsolute(path)) return { problem: '' };
  try {
    const real = realpathSync(join(folder, path));
    const inside = relative(realpathSync(folder), real);
    if (inside === '' || inside === '..' || inside.startsWith(`..${sep}`) || isAbsolute(inside)) return { problem: '' };
    const stats = statSync(real);
    return stats.isFile() ? { path: real, size: stats.size } : { problem: '' };
  } catch (error) {
    if (codeOf(error) === undefined) throw error;
    return { problem: `, which cannot be read: ${codeOf(error)}` };
  }
}

/** The SHA-256 of a file, as hexadecimal digits. */
export async function digestOf(path: string): Promise<string> {
  const digest = createHash('sha256');
  for await (const chunk of createReadStream(path)) digest.update(chunk);
  return digest.digest('hex');
}
