import { readFileSync, renameSync, unlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { codeOf } from '../../../storage/errors.ts';
import { privateFile } from '../../../storage/private.ts';
import type { Alteration } from '../../ports.ts';

const fileIn = (directory: string) => join(directory, 'altered.json');

/** The last finding about a log, as its data directory remembers it until `annals verify` finds all sound. */
export type AlteredNote = ReturnType<typeof openAlteredNote>;

/**
 * Opens the note of a data directory. A note that the disk does not take is remembered until the end of the process.
 */
export function openAlteredNote(directory: string) {
  let unsaved: Alteration | null = null;

  function write(altered: Alteration): void {
    try {
      const partial = `${fileIn(directory)}.${process.pid}.partial`;
      writeFileSync(partial, JSON.stringify(altered), { mode: privateFile, flush: true });
      renameSync(partial, fileIn(directory));
      unsaved = null;
    } catch {
      unsaved = altered;
    }
  }

  let last: Alteration | null = null;

  /** If the system lets no file be read, what was read last. */
  function read(): Alteration | null {
    try {
      last = readAltered(directory);
    } catch {}
    return unsaved ?? last;
  }

  return { read, write };
}

/**
 * The finding that a data directory remembers; null for none. A note that cannot be understood is one. @throws what the
 * system does.
 */
export function readAltered(directory: string): Alteration | null {
  try {
    const { finding, from, to, at, part } = JSON.parse(readFileSync(fileIn(directory), 'utf8'));
    if ([finding, at].some((one) => typeof one !== 'string')) throw new SyntaxError('it is no such note');
    return { finding, from, to, at, part: part === 'tables' ? 'tables' : 'log' };
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return null;
    if (!(error instanceof SyntaxError)) throw error;
    return {
      finding: 'altered.json cannot be understood',
      from: null,
      to: null,
      at: new Date(0).toISOString(),
      part: 'log',
    };
  }
}

/**
 * Forgets the finding, after all was found sound. @returns false if this user may not, or the directory is read-only.
 */
export function forgetAltered(directory: string): boolean {
  try {
    unlinkSync(fileIn(directory));
    return true;
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return true;
    if (['EROFS', 'EACCES', 'EPERM'].includes(codeOf(error) ?? '')) return false;
    throw error;
  }
}
