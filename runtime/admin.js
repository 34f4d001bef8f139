import { spawnSync } from 'node:child_process';
import { readdirSync, statSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { isNewEnough } from '../server/platform/node-version.js';
import { findInstalled, problemOf } from './node.js';

// Builds the admin application of a checkout, admin/dist. `npm run build --workspace admin` runs `node runtime/admin.js
// build`. With `ensure`, as the builds of the package and the binary use it, files that are newer than their sources
// stay. npm runs `node runtime/admin.js prepare` after npm ci and npm install: the service works without the
// application, so a failed build is reported, but does not fail the installation.
const folder = fileURLToPath(new URL('../admin', import.meta.url));
const isPrepare = process.argv[2] === 'prepare';

const problem = process.argv[2] === 'ensure' && isFresh() ? null : build();
if (problem) {
  console.error(`the admin application was not built: ${problem}. npm run build --workspace admin builds it`);
  if (!isPrepare) process.exitCode = 1;
}

/** Builds the application. Returns the reason if that fails, in one line. */
function build() {
  const vite = findVite();
  if (!vite) return 'the packages for development are not installed';
  const node = isNewEnough() ? null : findInstalled();
  const problem = isNewEnough() ? null : problemOf(node);
  if (problem) return problem;
  // Some packages read from the environment whether they run in development.
  const { status, signal, error } = spawnSync(node?.file ?? process.execPath, [vite, 'build', '--logLevel', 'warn'], {
    cwd: folder,
    env: { ...process.env, NODE_ENV: 'production' },
    stdio: ['ignore', 2, 2],
  });
  return status === 0 ? null : `vite ended with ${error?.message ?? signal ?? status}`;
}

/** Whether the built files are newer than their sources. */
function isFresh() {
  const built = timeOf(join(folder, 'dist/index.html'));
  const sources = [
    'admin/src',
    'admin/index.html',
    'admin/vite.config.ts',
    'admin/package.json',
    'client',
    'package-lock.json',
  ];
  return sources.every((path) => newestIn(join(folder, '..', path)) < built);
}

/** The time of the newest file at a path, in milliseconds. */
function newestIn(path) {
  if (!statSync(path).isDirectory()) return timeOf(path);
  return Math.max(...readdirSync(path, { recursive: true }).map((file) => timeOf(join(path, String(file)))));
}

function timeOf(path) {
  return statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0;
}

/** The script of Vite; null if it is not installed. */
function findVite() {
  try {
    const manifest = createRequire(join(folder, 'package.json')).resolve('vite/package.json');
    return join(dirname(manifest), 'bin/vite.js');
  } catch {
    return null;
  }
}
