import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

type Words = readonly [string, ...string[]];

const wordsOf = (path: string): Words => [process.execPath, fileURLToPath(new URL(`../../${path}`, import.meta.url))];

/**
 * The words that run `annals`: the bundle of the checkout, or the binary that the variable BINARY names. So
 * `BINARY=build/annals npm test` tests the binary in each test that starts a process. The name has no ANNALS_ in front
 * because the service refuses unknown ANNALS_ variables.
 *
 * @param environment with NODE_OPTIONS the test loads code into the process; that code imports modules of the sources,
 * so the test runs the sources.
 */
export function annalsWords(environment: NodeJS.ProcessEnv = {}): Words {
  const { BINARY } = process.env;
  if (environment.NODE_OPTIONS !== undefined) return wordsOf('cli/main.js');
  return BINARY ? [resolve(BINARY)] : wordsOf('runtime/annals.js');
}

/**
 * A printed text without the lines that report progress: they are printed only if a step takes more than a second, as
 * it may on a busy machine.
 */
export function withoutProgress(printed: string): string {
  return printed.replace(/^.+ +\d+ % {2}\d+ of \d+\n/gm, '');
}
