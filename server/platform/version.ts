import { hash } from 'node:crypto';
import { existsSync, readdirSync, statSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { binaryBuild, isBinary } from './carried.ts';

const require = createRequire(import.meta.url);
// By its own name, for from here it is farther away once it is built.
const packageFile = 'annals/package.json';
/** Holds `config` and `server`, as they are here: the sources, or `dist` once they are built. */
const root = fileURLToPath(new URL('../..', import.meta.url));

/** The version of the package. */
export function version(): string {
  return isBinary() ? binaryBuild().version : (require(packageFile) as { version: string }).version;
}

let known: string | null = null;

/**
 * Names the code of the service: by its version, and by the sizes and times of its files, for a checkout changes without its
 * version. 10 ms, once in a process.
 */
export function build(): string {
  known ??= isBinary()
    ? binaryBuild().build
    : hash('sha256', JSON.stringify([version(), ...['config', 'server'].map(filesBelow)]));
  return known;
}

function filesBelow(name: string): unknown[] {
  const folder = join(root, name);
  if (!existsSync(folder)) return [];
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .sort()
    .map((path) => {
      const stats = statSync(join(folder, path), { throwIfNoEntry: false });
      return [path, stats?.size, stats?.mtimeMs];
    });
}
