import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

type Words = readonly [string, ...string[]];

const wordsOf = (path: string): Words => [process.execPath, fileURLToPath(new URL(`../../${path}`, import.meta.url))];

/**
 * The words that run `annals`: the bundle of the checkout, or the binary that the variable BINARY names, so that
 * `BINARY=build/annals npm test` tests it in each test that starts a process. Not ANNALS_…: the service refuses unknown
 * ones.
 *
 * @param environment a test that brings code into the process by NODE_OPTIONS, which finds the modules of the sources,
 * tests these.
 */
export function annalsWords(environment: NodeJS.ProcessEnv = {}): Words {
  const { BINARY } = process.env;
  if (environment.NODE_OPTIONS !== undefined) return wordsOf('cli/main.js');
  return BINARY ? [resolve(BINARY)] : wordsOf('runtime/annals.js');
}

/**
 * A printed text without the lines that tell how far something is: they come where a busy machine takes more than a
 * second.
 */
export function withoutProgress(printed: string): string {
  return printed.replace(/^.+ +\d+ % {2}\d+ of \d+\n/gm, '');
}
