import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

/**
 * The words that run `annals`: of the checkout, or the binary that the variable BINARY names, so that
 * `BINARY=build/annals npm test` tests it wherever a test starts a process. Not ANNALS_…: the service refuses unknown ones.
 */
export const annalsWords: readonly [string, ...string[]] = process.env.BINARY
  ? [resolve(process.env.BINARY)]
  : [process.execPath, fileURLToPath(new URL('../../server/main.js', import.meta.url))];
