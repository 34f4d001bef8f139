import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import type { CommandLine } from '../../server/settings/command.ts';
import { loadConfiguration } from '../../server/settings/configuration.ts';
import { UsageError } from '../../server/settings/settings.ts';
import { messageOf } from '../../storage/errors.ts';
import { clientTypes, firstLine } from '../client-types/file.ts';
import { printLine, refused } from '../terminal.ts';

/** `annals types`: exit 0 written, or with `--check` up to date; 1 with `--check` not up to date; 2 could not run. */
export async function writeTypes({
  settings,
  flags,
}: CommandLine<{ out: 'string'; check: 'boolean' }>): Promise<number> {
  if (flags.check && flags.out === undefined) throw new UsageError('--check needs --out FILE, the file to be checked');
  const { path, model } = await loadConfiguration(settings.config);
  const text = clientTypes(model);
  if (flags.out === undefined) {
    process.stdout.write(text);
    return 0;
  }
  const file = resolve(flags.out);
  const before = existing(file);
  if (flags.check && before !== text) return outdated(flags.out, before, path);
  if (before !== null && before !== '' && !before.startsWith(firstLine)) {
    throw new UsageError(`${file} was not written by annals types; move it away, or write to another file`);
  }
  // A file that is up to date is not touched: others may watch it.
  if (before !== text) write(file, text);
  return printLine(`${before === text ? `${flags.out} is up to date` : `wrote ${flags.out}`}, by ${path}`);
}

/** The text of a file; null if it does not exist. */
function existing(file: string): string | null {
  if (!existsSync(file)) return null;
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    throw new UsageError(`${file} cannot be read: ${messageOf(error)}`);
  }
}

function write(file: string, text: string): void {
  try {
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text);
  } catch (error) {
    throw new UsageError(`${file} cannot be written: ${messageOf(error)}`);
  }
}

function outdated(name: string, before: string | null, path: string): number {
  const what = before === null ? 'is not there' : 'is not up to date';
  return refused(`${name} ${what}, by ${path}; annals types --out ${name} writes it`);
}
