import assert from 'node:assert/strict';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Ended } from '../../helpers/in-process.ts';

/**
 * Imports into a directory that no service has, and checks what is told.
 *
 * @param configFile of a configuration with the collection `notes`.
 * @param run runs a command line.
 * @returns the file that was imported.
 */
export async function importAlone(
  folder: string,
  configFile: string,
  run: (args: readonly string[]) => Promise<Ended>,
): Promise<string> {
  const data = join(folder, 'alone');
  const file = join(folder, 'alone.csv');
  writeFileSync(file, 'title,slug\r\nAlone,al1\r\n,al2\r\n');
  const command = ['import', 'notes', file, '--data', data, '--config', configFile];
  const dry = await run([...command, '--dry-run']);
  assert.deepEqual([dry.code, existsSync(data)], [2, false]);
  const { code, stdout, stderr } = await run(command);
  assert.deepEqual([code, stdout], [1, '1 created, 0 updated, 0 unchanged, 1 refused\n']);
  assert.equal(stderr, `${file}: row 3: title is required, got null\n`);
  const again = await run(command);
  assert.equal(again.stdout, '0 created, 0 updated, 0 unchanged, 1 imported before, 1 refused\n');
  return file;
}
