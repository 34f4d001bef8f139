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
// Imported by the name of the package: once this module is built, the relative path is another one.
const packageFile = `${packageName}/package.json`;
/** A text that identifies the code of a bundle; in the package the commit too, if it is known. */
type Build = { build: string; commit?: string | null };

/** The version of the package. */
export function version(): string {
  return isBinary() ? binaryBuild().version : (require(packageFile) as { version: string }).version;
}

/** How Annals was installed. */
export function installation(): 'binary' | 'checkout' | 'package' {
  return isBinary() ? 'binary' : isCheckout() ? 'checkout' : 'package';
}

/** The commit of the sources, as 40 hexadecimal digits; null without git, or if the sources were changed since. */
export function commit(): string | null {
  if (isBinary()) return binaryBuild().commit;
  return isCheckout() ? commitOf(fileURLToPath(root)) : (ownBuild().commit ?? null);
}

function commitOf(folder: string): string | null {
  // A copy of the sources may be inside another repository.
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
 * Identifies the code of the service: by the content of its bundle; for sources by their version and by the sizes and
 * times of their files, which change without the version. That takes 10 ms, once in a process.
 */
export function build(): string {
  known ??= form === 'sources' ? ofSources() : isBinary() ? binaryBuild().build : ownBuild().build;
  return known;
}

function ofSources(): string {
  return hash('sha256', JSON.stringify([version(), ...['config', 'server'].map(filesBelow)]));
}

/** The text that was written beside the modules of the bundle. */
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
