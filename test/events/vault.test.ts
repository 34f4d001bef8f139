import assert from 'node:assert/strict';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { openVault, type Vault } from '../../events/vault/vault.ts';
import { openDatabase } from '../../storage/sqlite.ts';
import { temporaryFolder } from '../helpers/service.ts';

function open(t: TestContext, folder = temporaryFolder(t)): { vault: Vault; folder: string } {
  const vault = openVault(join(folder, 'vault.db'));
  t.after(vault.close);
  return { vault, folder };
}

/** All bytes of the vault as they are on the disk now, its write-ahead log too. */
function bytesOf(folder: string): Buffer {
  return Buffer.concat(readdirSync(folder).map((name) => readFileSync(join(folder, name))));
}

describe('the vault', () => {
  it('opens a file from before there were passwords, with its secrets', (t) => {
    const folder = temporaryFolder(t);
    const old = openDatabase(join(folder, 'vault.db'));
    old.exec('CREATE TABLE secrets (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT');
    old.exec(`INSERT INTO secrets VALUES ('signing', 'from-before')`);
    old.close();
    const { vault } = open(t, folder);
    assert.equal(vault.secret('signing'), 'from-before');
    assert.equal(vault.passwords.get(vault.passwords.put('hash of a')), 'hash of a');
  });

  it('is for its owner only, the files beside it too', { skip: process.platform === 'win32' }, (t) => {
    const { vault, folder } = open(t);
    vault.secret('signing');
    assert.ok(readdirSync(folder).length > 1);
    for (const name of readdirSync(folder)) assert.equal(statSync(join(folder, name)).mode & 0o077, 0, name);
  });

  it('leaves nothing on the disk of what was deleted', (t) => {
    const { vault, folder } = open(t);
    const texts = ['a-hash-to-delete', 'a-hash-not-named', 'a-hash-to-retain'];
    const [a, b, c] = texts.map(vault.passwords.put) as [string, string, string];
    for (const text of ['a-hash-to-delete', 'a-hash-not-named']) assert.ok(bytesOf(folder).includes(text), text);
    vault.passwords.delete(a);
    assert.equal(vault.passwords.retain(new Set([c, 'd'])), 1);
    for (const text of ['a-hash-to-delete', 'a-hash-not-named']) assert.ok(!bytesOf(folder).includes(text), text);
    assert.equal(vault.passwords.get(c), 'a-hash-to-retain');
    assert.deepEqual([vault.passwords.get(a), vault.passwords.get(b)], [null, null]);
  });
});
