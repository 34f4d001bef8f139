import { chmodSync, cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';

const runtime = fileURLToPath(new URL('../../runtime/', import.meta.url));

/** A Node that works: this one, which says that it is new enough. */
export const works = `IS_NEW_ENOUGH=yes exec '${process.execPath}' "$@"`;

/** The line of the loader of Linux for a missing library. */
export const lacks = (library: string) =>
  `echo "node: error while loading shared libraries: ${library}: cannot open shared object file: No such file or directory" >&2; exit 127`;

/**
 * A checkout for whose launcher the Node that runs it is too old, in a folder that is removed after the test.
 *
 * @param brought the shell script that is the Node which came along; without it none did.
 */
export function oldCheckout(t: TestContext, brought?: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'annals-test-'));
  t.after(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 50 }));
  for (const name of ['cli', 'server/platform']) mkdirSync(join(folder, name), { recursive: true });
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }');
  writeFileSync(
    join(folder, 'server/platform/node-version.js'),
    `export const neededNode = 'Node 99 or newer';
    export const isNewEnough = () => process.env.IS_NEW_ENOUGH === 'yes';`,
  );
  for (const file of ['node.js', 'run.js', 'annals.js', 'bundle.js', 'install.js'])
    cpSync(join(runtime, file), join(folder, 'runtime', file));
  const needed = { type: 'module', optionalDependencies: { 'node-for-another': '1.2.3', 'node-for-this': '99.1.0' } };
  writeFileSync(join(folder, 'runtime/package.json'), JSON.stringify(needed));
  if (brought !== undefined) bring(join(folder, 'runtime/node_modules/node-for-this'), brought);
  return folder;
}

/** Writes a package that has a Node. */
export function bring(folder: string, script: string): void {
  mkdirSync(join(folder, 'bin'), { recursive: true });
  const manifest = { name: 'node-for-this', version: '99.1.0', bin: { node: 'bin/node' } };
  writeFileSync(join(folder, 'package.json'), JSON.stringify(manifest));
  writeFileSync(join(folder, 'bin/node'), `#!/bin/sh\n${script}\n`);
  chmodSync(join(folder, 'bin/node'), 0o755);
}
