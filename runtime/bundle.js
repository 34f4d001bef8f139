import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, statSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { isNewEnough } from '../server/platform/node-version.js';
import { findInstalled, problemOf } from './node.js';

// The bundle of a checkout, build/bundle: the service in few files, which starts in two thirds of the time (bundle.ts).
const root = fileURLToPath(new URL('..', import.meta.url));
const folder = new URL('../build/bundle/', import.meta.url);

/**
 * The address of the bundle's command; null if the size or time of one of its sources has changed: then the sources are
 * run.
 *
 * @returns {string | null}
 */
export function findBundle() {
  const manifest = manifestOf();
  return manifest?.made.every(isAsItWas) ? new URL('main.mjs', folder).href : null;
}

/** @returns {{ made: [path: string, size: number, time: number][] } | null} */
function manifestOf() {
  try {
    return JSON.parse(readFileSync(new URL('manifest.json', folder), 'utf8'));
  } catch {
    return null;
  }
}

function isAsItWas([path, size, time]) {
  const found = statSync(root + path, { throwIfNoEntry: false });
  return found !== undefined && found.size === size && found.mtimeMs === time;
}

/**
 * Makes the bundle, unless it is up to date.
 *
 * @returns {string | null} the reason if the bundle cannot be made, in one line.
 */
export function ensureBundle() {
  if (!existsSync(`${root}node_modules/esbuild`)) return 'the packages for development are not installed';
  if (findBundle()) return null;
  const node = isNewEnough() ? null : findInstalled();
  const problem = isNewEnough() ? null : problemOf(node);
  if (problem) return problem;
  const file = node?.file ?? process.execPath;
  const { status, signal, error } = spawnSync(file, ['bundle.ts'], { cwd: root, stdio: ['ignore', 2, 2] });
  return status === 0 ? null : `bundle.ts ended with ${error?.message ?? signal ?? status}`;
}

// npm runs `node runtime/bundle.js` after npm ci and npm install. The service works without the bundle, so a failure is
// reported, but does not fail the installation.
if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const problem = ensureBundle();
  if (problem) console.error(`no bundle was made, so the service starts from its sources: ${problem}`);
}
