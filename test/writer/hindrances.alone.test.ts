import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, readdirSync, renameSync, rmdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import type { Config } from '../../config/define.ts';
import { usualSizes, writeSegment } from '../../events/segments/segment-writer.ts';
import { segmentsOf } from '../../events/segments/segments.ts';
import { hindranceOf } from '../../storage/scrub.ts';
import { openDatabase, withDatabase } from '../../storage/sqlite.ts';
import { type HereService, startHere } from '../helpers/embedded.ts';
import { remainsIn } from '../helpers/leftovers.ts';
import { eventually, useFolder } from '../helpers/shared.ts';
import { findingIn } from '../projections/directory.ts';

// Sizes for the whole process, with which few events make a segment.
const sizes = { events: 10, hot: 2 };
Object.assign(usualSizes, sizes);

const config: Config = { collections: [{ slug: 'posts', fields: [{ name: 'title', type: 'text' }] }] };

const searched: Config = {
  collections: [{ slug: 'posts', admin: { searchFields: ['title'] }, fields: [{ name: 'title', type: 'text' }] }],
};

async function post(service: HereService, title: string): Promise<string> {
  const { status, body } = await service.call('POST', '/api/collections/posts', { title });
  assert.equal(status, 201, JSON.stringify(body));
  return body.id;
}

const segments = (data: string) => withDatabase(join(data, 'log.db'), { readonly: true }, segmentsOf);

const erase = (service: HereService, id: string) =>
  service.call('POST', '/api/audit/erasures', { collection: 'posts', id, reason: 'asked to' });

/** Waits until an erasure is finished: its call may have been answered before. */
const erased = (data: string) =>
  eventually(() =>
    withDatabase(join(data, 'log.db'), { readonly: true }, (db) =>
      Number(db.prepare('SELECT min(done) FROM erasures').pluck().get()),
    ),
  );

/** Whether this user may mount something, by the first of which a folder cannot be removed. */
function mountOn(t: TestContext, folder: string): boolean {
  mkdirSync(folder);
  const { status } = spawnSync('mount', ['-t', 'tmpfs', 'tmpfs', folder]);
  t.after(() => spawnSync('umount', ['--lazy', folder]));
  return status === 0;
}

describe('A service that the disk hinders beside its log', () => {
  const own = useFolder();

  it('goes on if a segment cannot be put in its place, and archives when it can', async (t) => {
    const data = join(own, 'unarchived');
    Object.assign(usualSizes, { events: 1e6 });
    const first = await startHere(t, config, { data });
    for (let at = 0; at < 15; at += 1) await post(first, `Bilby-${at}`);
    await first.stop();
    Object.assign(usualSizes, sizes);
    const copy = join(own, 'copy');
    cpSync(data, copy, { recursive: true });
    const name = withDatabase(join(copy, 'log.db'), { readonly: true }, (db) => writeSegment(db, sizes)?.file ?? '');
    // A file cannot replace a folder.
    mkdirSync(join(data, 'segments', name, 'in-the-way'), { recursive: true });
    const service = await startHere(t, config, { data });
    await eventually(() =>
      service.lines().some(({ level, msg }) => level === 40 && /archived further: E[A-Z]+: /.test(msg)),
    );
    await post(service, 'Wombat');
    assert.deepEqual(segments(data), []);
    rmSync(join(data, 'segments', name), { recursive: true });
    await post(service, 'Quoll');
    await eventually(() => segments(data).length === 1);
    assert.equal((await service.call('GET', '/api/collections/posts')).body.total, 17);
    await service.stop();
    assert.equal(findingIn(data), null);
    assert.deepEqual(
      service.lines().filter(({ level }) => level >= 50),
      [],
    );
  });

  it('goes on if the search index cannot be read in an erasure, which ends when it is made anew', async (t) => {
    const service = await startHere(t, searched);
    const { data } = service;
    const id = await post(service, 'Numbat');
    const found = await service.call('GET', '/api/search?q=numbat');
    assert.equal(found.body.total, 1, JSON.stringify(found.body));
    const name = readdirSync(data).find((one) => /^search-[0-9a-f]+\.db$/.test(one)) ?? '';
    renameSync(join(data, name), join(data, 'elsewhere'));
    mkdirSync(join(data, name));
    const erasing = erase(service, id);
    await eventually(() =>
      service.lines().some(({ msg }) => /search index is still being cleaned: disk I\/O error/.test(msg)),
    );
    await post(service, 'Wombat');
    rmdirSync(join(data, name));
    await erased(data);
    await erasing;
    rmSync(join(data, 'elsewhere'));
    assert.deepEqual(remainsIn(data, ['Numbat']), []);
    await eventually(async () => (await service.call('GET', '/api/search?q=wombat')).body.total === 1);
  });

  it('goes on if a former file cannot be removed in an erasure, which ends when it can', async (t) => {
    const service = await startHere(t, config);
    const { data } = service;
    const id = await post(service, 'Numbat');
    const folder = join(data, 'segments', 'former');
    mkdirSync(join(data, 'segments'), { recursive: true });
    if (!mountOn(t, folder)) return t.skip('only root can mount a folder');
    const erasing = erase(service, id);
    await eventually(() => service.lines().some(({ msg }) => /not used any more: .*resource busy/.test(msg)));
    await post(service, 'Wombat');
    spawnSync('umount', [folder]);
    await erased(data);
    await erasing;
    assert.deepEqual([readdirSync(join(data, 'segments')), remainsIn(data, ['Numbat'])], [[], []]);
  });

  it('answers 503 what waits for a writer that ends, and what comes after', async (t) => {
    const service = await startHere(t, config);
    const file = readdirSync(service.data).find((name) => /^read-[0-9a-f]+\.db$/.test(name)) ?? '';
    // The effect of a damaged file: recorded events cannot be applied.
    withDatabase(join(service.data, file), {}, (db) => db.exec('DROP TABLE "documents posts"'));
    const write = () => service.call('POST', '/api/collections/posts', { title: 'Bilby' });
    const { status, headers, body } = await write();
    assert.deepEqual([status, headers.get('retry-after'), body.code], [503, '1', 'outcome_unknown']);
    assert.match(
      body.message,
      /^it is not known whether this write was recorded: sent again with the same Idempotency-Key/,
    );
    assert.equal((await write()).status, 503);
  });

  it('takes what SQLite could not open for one file too many', () => {
    const unopened = () => openDatabase(join(own, 'none.db'), { readonly: true });
    assert.throws(unopened, (error) => hindranceOf(error) === 'files');
    // Node throws such errors without a code.
    const unnamed = (text: string) =>
      Object.assign(new Error(`, Unknown error: ${text} '/a'`), { code: '', syscall: 'rm', errno: -4094 });
    assert.equal(hindranceOf(unnamed('No space left on device')), 'room');
    assert.equal(hindranceOf(unnamed('Too many open files in system')), 'files');
    assert.equal(hindranceOf(unnamed('Input/output error')), null);
  });
});
