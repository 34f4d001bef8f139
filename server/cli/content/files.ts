import { realpathSync, statSync } from 'node:fs';
import { basename, isAbsolute, join, relative, sep } from 'node:path';
import type { Json, JsonObject } from '../../../config/schema.ts';
import { show } from '../../../config/suggest.ts';
import { codeOf } from '../../../storage/errors.ts';
import { RowError } from './documents.ts';
import type { SentFile } from './service.ts';

/** The member of a row in which the path of its file stands. */
export const fileMember = 'file';

/** Finds the file of a row; null if it has none. @throws RowError if it is not a file of the folder. */
export type FindFile = (values: JsonObject) => SentFile | null;

/**
 * Finds files by the paths that rows name, below a folder. Nothing outside of it is read, by symbolic links either.
 *
 * @param folder null if none was given.
 */
export function filesBelow(folder: string | null): FindFile {
  return ({ [fileMember]: path }) => {
    if (path === undefined || path === null) return null;
    if (folder === null) throw new RowError(`${fileMember}: --files names the folder of the files, and is missing`);
    return sentFile(folder, path);
  };
}

function sentFile(folder: string, path: Json): SentFile {
  const allowed = `must be the path of a file below ${folder}`;
  const refusal = new RowError(`${fileMember} ${allowed}, got ${show(path)}`);
  if (typeof path !== 'string' || path === '' || path.includes('\0') || isAbsolute(path)) throw refusal;
  try {
    const real = realpathSync(join(folder, path));
    const inside = relative(realpathSync(folder), real);
    if (inside === '' || inside === '..' || inside.startsWith(`..${sep}`) || isAbsolute(inside)) throw refusal;
    const stats = statSync(real);
    if (!stats.isFile()) throw refusal;
    return { path: real, size: stats.size, name: basename(path) };
  } catch (error) {
    if (codeOf(error) === undefined) throw error;
    throw new RowError(`${fileMember} ${allowed}, got ${show(path)}, which cannot be read: ${codeOf(error)}`);
  }
}
