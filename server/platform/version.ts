import { spawnSync } from 'node:child_process';
import { hash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { packageName } from '../../config/package-name.ts';
import { binaryBuild, isBinary, isCheckout } from './carried.ts';
import { form, root } from './form.ts';

const require = createRequire(import.meta.url);
// By its own name, for from here it is farther away once it is built.
const packageFile = `${packageName}/package.json`;
/** A text that names the code of a bundle; in the package the commit too, if that is known. */
type Build = { build: string; commit?: string | null };

/** The version of the package. */
export function version(): string {
  return isBinary() ? binaryBuild().version : (require(packageFile) as { version: string }).version;
}

/** How Annals was installed. */
export function installation(): 'binary' | 'checkout' | 'package' {
  return isBinary() ? 'binary' : isCheckout() ? 'checkout' : 'package';
}

/**
 * The commit of the sources, as 40 hexadecimal digits; null where it is not known: without git, and of sources that
 * were changed since.
 */
export function commit(): string | null {
  if (isBinary()) return binaryBuild().commit;
  return isCheckout() ? commitOf(fileURLToPath(root)) : (ownBuild().commit ?? null);
}

function commitOf(folder: string): string | null {
  // A copy of the sources may lie in a repository of others.
  if (!existsSync(join(folder, '.git'))) return null;
  const [head, changes] = [
    ['rev-parse', 'HEAD'],
    ['status', '--porcelain'],
  ].map((args) => spawnSync('git', args, { cwd: folder, encoding: 'utf8' }));
  const isKnown = head?.status === 0 && changes?.status === 0 && changes.stdout === '';
  return isKnown ? head.stdout.trim() : null;
}

let known: string | null = null;

/**
 * Names the code of the service: by what is in its bundle; of sources by their version, and by the sizes and times of
 * their files, for they change without their version: 10 ms, once in a process.
 */
export function build(): string {
  known ??= form === 'sources' ? ofSources() : isBinary() ? binaryBuild().build : ownBuild().build;
  return known;
}

function ofSources(): string {
  return hash('sha256', JSON.stringify([version(), ...['config', 'server'].map(filesBelow)]));
}

/** As it was written beside the modules of the bundle. */
function ownBuild(): Build {
  return JSON.parse(readFileSync(new URL('build.json', import.meta.url), 'utf8'));
}

function filesBelow(name: string): unknown[] {
  const folder = join(fileURLToPath(root), name);
  if (!existsSync(folder)) return [];
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .sort()
    .map((path) => {
      const stats = statSync(join(folder, path), { throwIfNoEntry: false });
      return [path, stats?.size, stats?.mtimeMs];
    });
}
