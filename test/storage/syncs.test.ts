import assert from 'node:assert/strict';
import { type FileHandle, open } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import Database from 'better-sqlite3';
import { openVault } from '../../events/vault/vault.ts';
import { files } from '../../storage/disk.ts';
import { useServiceHere } from '../helpers/embedded.ts';
import { apiKey } from '../helpers/service.ts';
import { openDirectory, quickFolder } from '../projections/directory.ts';

const full = 2;
const title = { name: 'title', type: 'text' } as const;
const service = useServiceHere({ collections: [{ slug: 'media', upload: true, fields: [title] }] });

/** Counts how often the bytes of files, and the entries of folders, are put on the disk. */
async function countSyncs(t: TestContext) {
  const counts = { files: 0, folders: 0 };
  const handle = await open(service.data);
  const proto: FileHandle = Object.getPrototypeOf(handle);
  await handle.close();
  const { sync } = proto;
  t.mock.method(proto, 'sync', async function (this: FileHandle) {
    if ((await this.stat()).isDirectory()) counts.folders += 1;
    return sync.call(this);
  });
  const syncFile = files.sync;
  t.mock.method(files, 'sync', (fd: number) => {
    counts.files += 1;
    return syncFile(fd);
  });
  return counts;
}

describe('A write that was acknowledged', () => {
  it('is on the disk before its answer: each commit of the log and of the vault is synced', (t) => {
    const { databases, close } = openDirectory(quickFolder(), { collections: [{ slug: 'posts', fields: [title] }] });
    t.after(close);
    const [log] = databases;
    assert.equal(log.pragma('synchronous', { simple: true }), full);
    assert.equal(log.pragma('journal_mode', { simple: true }), 'wal');
    const exec = t.mock.method(Database.prototype, 'exec');
    openVault(join(quickFolder(), 'vault.db')).close();
    assert.match(String(exec.mock.calls[0]?.arguments[0]), /PRAGMA synchronous = 2;/);
  });

  it('is on the disk before its answer: the bytes of an upload, and the entries of its folders', async (t) => {
    const counts = await countSyncs(t);
    const form = new FormData();
    form.set('file', new Blob(['Quokka'], { type: 'text/plain' }), 'quokka.txt');
    const url = `${service.url}/api/collections/media`;
    const { status } = await fetch(url, { method: 'POST', body: form, headers: { 'x-api-key': apiKey } });
    assert.equal(status, 201);
    assert.equal(counts.files, 1);
    // The folder of the file, which is new, and the one above that.
    assert.ok(counts.folders >= 2, `${counts.folders} folders`);
  });
});
