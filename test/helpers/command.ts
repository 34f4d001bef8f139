import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

type Words = readonly [string, ...string[]];

const checkout: Words = [process.execPath, fileURLToPath(new URL('../../server/main.js', import.meta.url))];

/**
 * The words that run `annals`: of the checkout, or the binary that the variable BINARY names, so that
 * `BINARY=build/annals npm test` tests it in each test that starts a process. Not ANNALS_…: the service refuses unknown ones.
 *
 * @param environment a test that brings code into the process by NODE_OPTIONS, which the binary ignores, tests the checkout.
 */
export function annalsWords(environment: NodeJS.ProcessEnv = {}): Words {
  const { BINARY } = process.env;
  return BINARY && environment.NODE_OPTIONS === undefined ? [resolve(BINARY)] : checkout;
}

/** A printed text without the lines that tell how far something is: they come where a busy machine takes more than a second. */
export function withoutProgress(printed: string): string {
  return printed.replace(/^.+ +\d+ % {2}\d+ of \d+\n/gm, '');
}
