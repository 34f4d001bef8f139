import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { promisify } from 'node:util';
import { inherited } from '../helpers/service.ts';
import { bring, lacks, oldCheckout, works } from './checkout.ts';

const run = promisify(execFile);
const needsUnix = { skip: process.platform === 'win32' && 'a shell script cannot stand for a Node here' };

/** A checkout that needs one package, and for which a Node waits that is a folder instead of a package. */
function lockedCheckout(t: TestContext, node: string): string {
  const folder = oldCheckout(t);
  mkdirSync(join(folder, 'needed'));
  writeFileSync(join(folder, 'needed/package.json'), '{ "name": "needed", "version": "1.0.0" }');
  lock(folder, { dependencies: { needed: 'file:needed' } }, { scripts: { dependencies: 'node runtime/install.js' } });
  bring(join(folder, 'runtime/node-for-this'), node);
  lock(join(folder, 'runtime'), { optionalDependencies: { 'node-for-this': 'file:node-for-this' } });
  return folder;
}

/** Writes the package.json of a folder and what npm would write beside it. */
function lock(folder: string, needed: Record<string, Record<string, string>>, more = {}): void {
  const packages: Record<string, unknown> = { '': needed };
  for (const name of Object.values(needed).flatMap(Object.keys)) {
    packages[name] = JSON.parse(readFileSync(join(folder, name, 'package.json'), 'utf8'));
    packages[`node_modules/${name}`] = { resolved: name, link: true };
  }
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ type: 'module', ...needed, ...more }));
  writeFileSync(join(folder, 'package-lock.json'), JSON.stringify({ lockfileVersion: 3, requires: true, packages }));
}

async function npmCi(folder: string, environment: Record<string, string> = {}): Promise<void> {
  await run('npm', ['ci', '--offline', '--no-audit', '--no-fund'], {
    cwd: folder,
    env: { ...inherited(), ...environment },
  });
}

describe('npm ci in a checkout', needsUnix, () => {
  it('installs the Node of its lockfile if the present one is too old, and scripts use it', async (t) => {
    const folder = lockedCheckout(t, works);
    await npmCi(folder);
    assert.ok(existsSync(join(folder, 'runtime/node_modules/node-for-this/bin/node')));
    assert.ok(existsSync(join(folder, 'node_modules/needed')));
    assert.ok(!existsSync(join(folder, 'node_modules/.bin/node')));
  });

  it('brings none if the one that is there is new enough', async (t) => {
    const folder = lockedCheckout(t, works);
    await npmCi(folder, { IS_NEW_ENOUGH: 'yes' });
    assert.ok(existsSync(join(folder, 'node_modules/needed')));
    assert.ok(!existsSync(join(folder, 'runtime/node_modules')));
  });

  it('fails if it cannot bring one', async (t) => {
    const folder = lockedCheckout(t, works);
    writeFileSync(join(folder, 'runtime/package-lock.json'), '{}');
    await assert.rejects(npmCi(folder), /too old to run Annals/);
  });

  it('says what the one lacks that came along', async (t) => {
    const { stderr } = await run(process.execPath, ['runtime/install.js'], {
      cwd: oldCheckout(t, lacks('libatomic.so.1')),
    });
    assert.match(stderr, /^Annals needs [^\n]* lacks libatomic\.so\.1: apt-get install libatomic1\n$/);
  });
});

describe('package-lock.json', () => {
  it('keeps npm from compiling better-sqlite3, of which older ones ask here alone whether that is needed', () => {
    const { packages } = JSON.parse(readFileSync(new URL('../../package-lock.json', import.meta.url), 'utf8'));
    const told = 'npm has written it anew: put "gypfile": false back below "node_modules/better-sqlite3"';
    assert.equal(packages['node_modules/better-sqlite3'].gypfile, false, told);
  });
});
