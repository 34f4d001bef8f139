import assert from 'node:assert/strict';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import type { Config, FieldConfig } from '../../config/define.ts';
import type { JsonObject } from '../../config/schema.ts';
import { createIds } from '../../events/store/ids.ts';
import { SchemaError } from '../../projections/start/schema-check.ts';
import { openDatabase } from '../../storage/sqlite.ts';
import { sealsIn } from '../events/logs.ts';
import { startHere } from '../helpers/embedded.ts';
import { type Directory, findingIn, openDirectory, quickFolder } from './directory.ts';

const clock: FieldConfig = { name: 'clock', type: 'time', unique: true };
const ids = createIds(new BigInt64Array(new SharedArrayBuffer(8)), Date.now);

function configOf(...fields: FieldConfig[]): Config {
  return {
    collections: [{ slug: 'posts', fields }],
    globals: [{ slug: 'site', fields: [{ name: 'opens', type: 'time' }] }],
  };
}

/** A data directory that is started again with each call. */
function startable(t: TestContext) {
  const root = quickFolder();
  const folder = join(root, 'data');
  let current: Directory | null = null;
  const stop = () => {
    current?.close();
    current = null;
  };
  t.after(() => {
    stop();
    rmSync(root, { recursive: true, force: true });
  });
  return {
    folder,
    stop,
    start(config = configOf(clock), isRebuild = false): Directory {
      stop();
      current = openDirectory(folder, config, { isRebuild, seals: sealsIn(folder) });
      return current;
    },
  };
}

/** Records a document as it was recorded when `10:00` and `10:00:00` were two values. */
function createBefore(directory: Directory, values: JsonObject): string {
  const { id, at } = ids.next();
  const time = new Date(at).toISOString();
  const claims = values.clock ? [{ scope: 'posts.clock', value: JSON.stringify(values.clock) }] : [];
  const data = { id, createdAt: time, updatedAt: time, ...values };
  const events = [{ type: 'document.created' as const, data }];
  directory.record({ stream: `posts/${id}`, expectedVersion: 0, events, claims, releases: [] });
  return id;
}

function claimsIn(folder: string): unknown[] {
  const db = openDatabase(join(folder, 'log.db'), { readonly: true });
  try {
    return db.prepare("SELECT value || ' ' || stream FROM claims ORDER BY value").pluck().all();
  } finally {
    db.close();
  }
}

describe('times of day that were recorded before they had one form', () => {
  it('are read in it, now and then, wherever they stand, and stay in the log as they are', (t) => {
    const { folder, start } = startable(t);
    const nested: FieldConfig[] = [
      { type: 'row', fields: [{ name: 'plain', type: 'time', index: true }] },
      { name: 'object', type: 'object', fields: [{ name: 'at', type: 'time', index: true }] },
      { name: 'array', type: 'array', fields: [{ name: 'at', type: 'time' }] },
      { name: 'blocks', type: 'blocks', blocks: [{ slug: 'one', fields: [{ name: 'at', type: 'time' }] }] },
      { name: 'word', type: 'text' },
      { name: 'data', type: 'json' },
    ];
    const directory = start(configOf(...nested));
    const with0 = (time: string | null): JsonObject => ({
      plain: time,
      object: { at: time },
      array: [{ at: time }, { at: null }],
      blocks: [
        { blockType: 'one', at: time },
        { blockType: 'gone', at: time },
      ],
      word: '10:00:00',
      data: { plain: '10:00:00' },
    });
    const kept = with0('10:00:00');
    const id = createBefore(directory, kept);
    const update = (set: JsonObject, version: number) => {
      const events = [{ type: 'document.updated' as const, data: { set } }];
      directory.record({ stream: `posts/${id}`, expectedVersion: version, events, claims: [], releases: [] });
    };
    update({ plain: '23:59:59' }, 1);
    update({ plain: '00:00:00' }, 2);
    directory.setGlobal('site', { opens: '08:30:00' });
    const { id: _, createdAt, updatedAt, ...fields } = directory.document('posts', id) ?? {};
    assert.deepEqual(fields, {
      ...with0('10:00'),
      plain: '00:00',
      blocks: [
        { blockType: 'one', at: '10:00' },
        { blockType: 'gone', at: '10:00:00' },
      ],
    });
    const then = [2, 3, 4].map((position) => JSON.parse(directory.asOf('posts', id, position) ?? '{}').plain);
    assert.deepEqual(then, ['10:00', '23:59:59', '00:00']);
    assert.equal(directory.document('globals/site', 'site')?.opens, '08:30');
    const columns = directory.reader.prepare('SELECT "f.plain", "f.object.at" FROM "documents posts"').raw().all();
    assert.deepEqual(columns, [['00:00', '10:00']]);
    assert.deepEqual(directory.log.stream(`posts/${id}`)[0]?.data, { id, createdAt, updatedAt, ...kept });
    assert.equal(findingIn(folder), null);
    start(configOf(...nested), true);
    assert.equal(findingIn(folder), null);
  });

  it('are one value with the same time without seconds: taken by neither twice, and given up', (t) => {
    const { folder, start } = startable(t);
    const first = start();
    const old = createBefore(first, { clock: '10:00:00' });
    const other = createBefore(first, { clock: '11:00' });
    for (const clock of ['10:00', '10:00:00', '11:00', '11:00:00']) {
      assert.throws(() => first.create('posts', { clock }), /"conflict":"claim"/, clock);
    }
    assert.throws(() => first.update('posts', other, { clock: '10:00' }), /"conflict":"claim"/);
    const second = start(configOf({ ...clock, label: 'Opens' }));
    assert.deepEqual(claimsIn(folder), [`"10:00" posts/${old}`, `"11:00" posts/${other}`]);
    second.update('posts', old, { clock: '12:00' });
    const taken = second.create('posts', { clock: '10:00' });
    assert.deepEqual(claimsIn(folder), [`"10:00" posts/${taken}`, `"11:00" posts/${other}`, `"12:00" posts/${old}`]);
    assert.equal(findingIn(folder), null);
  });

  it('are released by their documents, also if no schema has changed since', (t) => {
    const { folder, start } = startable(t);
    const directory = start();
    const [a, b] = [createBefore(directory, { clock: '10:00:00' }), createBefore(directory, { clock: '11:00:00' })];
    directory.update('posts', a, { clock: '11:30' });
    directory.remove('posts', b);
    assert.deepEqual(claimsIn(folder), [`"11:30" posts/${a}`]);
    directory.create('posts', { clock: '10:00' });
    directory.create('posts', { clock: '11:00' });
    assert.equal(findingIn(folder), null);
  });

  it('stay with two documents that share one since then, through every kind of start, until one changes', (t) => {
    const { folder, start } = startable(t);
    const first = start();
    const a = createBefore(first, { clock: '10:00:00' });
    const b = createBefore(first, { clock: '10:00' });
    const starts: [label: string, isRebuild: boolean][] = [
      ['', false],
      ['', true],
      ['One', false],
      ['Two', true],
    ];
    for (const [label, isRebuild] of starts) {
      const directory = start(configOf({ ...clock, ...(label && { label }) }), isRebuild);
      assert.deepEqual(
        [directory.document('posts', a)?.clock, directory.document('posts', b)?.clock],
        ['10:00', '10:00'],
      );
      assert.throws(() => directory.create('posts', { clock: '10:00' }), /"conflict":"claim"/);
      assert.equal(claimsIn(folder).length, 2);
      assert.equal(findingIn(folder), null, `${label} ${isRebuild}`);
    }
    const last = start(configOf({ ...clock, label: 'Two' }));
    last.update('posts', a, { clock: '10:00:01' });
    assert.throws(() => last.update('posts', a, { clock: '10:00' }), /"conflict":"claim"/);
    last.remove('posts', b);
    last.update('posts', a, { clock: '10:00' });
    assert.deepEqual(claimsIn(folder), [`"10:00" posts/${a}`]);
    assert.equal(findingIn(folder), null);
  });

  it('are refused if a field is made unique over documents that share one', (t) => {
    const { start } = startable(t);
    const plain: FieldConfig = { name: 'clock', type: 'time' };
    const first = start(configOf(plain));
    const shared = [first.create('posts', { clock: '10:00' }), first.create('posts', { clock: '10:00:00' })];
    assert.throws(
      () => start(configOf(clock)),
      (error) =>
        error instanceof SchemaError &&
        error.message === `posts.clock is unique now, but these documents share "10:00": ${shared.join(', ')}`,
    );
  });

  it('are found, sorted, compared and restored as what they are by a service that starts on them', async (t) => {
    const { folder, start, stop } = startable(t);
    const config = configOf(clock);
    const directory = start(config);
    const old = createBefore(directory, { clock: '10:00:00' });
    createBefore(directory, { clock: '09:59:59' });
    createBefore(directory, { clock: '10:00:30' });
    stop();
    const service = await startHere(t, config, { data: folder });
    const call = async (method: string, path: string, body?: unknown) => {
      const answer = await service.call(method, `/api/collections/posts${path}`, body);
      return { status: answer.status, body: answer.body };
    };
    const clocks = async (query: string) => {
      const { body } = await call('GET', `?sort=clock&${query}`);
      return body.docs.map((doc: { clock: string }) => doc.clock);
    };
    for (const time of ['10:00', '10:00:00']) {
      assert.deepEqual(await clocks(`where[clock][equals]=${time}`), ['10:00']);
      assert.deepEqual(await clocks(`where[clock][in]=${time},11:00`), ['10:00']);
      assert.deepEqual(await clocks(`where[clock][greater_than_equal]=${time}`), ['10:00', '10:00:30']);
      assert.deepEqual(await clocks(`where[clock][less_than]=${time}`), ['09:59:59']);
      assert.deepEqual(await clocks(`where[clock][equals]=${time}&asOf=4`), ['10:00']);
      assert.equal((await call('POST', '', { clock: time })).status, 409);
    }
    assert.equal((await call('PATCH', `/${old}`, { clock: '10:00' })).body.clock, '10:00');
    const made = await call('POST', '', { clock: '12:00:00' });
    assert.deepEqual([made.status, made.body.clock], [201, '12:00']);
    assert.equal((await call('PATCH', `/${old}`, { clock: '13:30:00' })).body.clock, '13:30');
    assert.deepEqual(await clocks('limit=100'), ['09:59:59', '10:00:30', '12:00', '13:30']);
    const diff = (await service.call('GET', `/api/audit/documents/posts/${old}/diff?from=1&to=2`)).body;
    assert.deepEqual(diff.fields, [{ field: 'clock', before: '10:00', after: '13:30' }]);
    const restored = await call('POST', `/${old}/restore`, { version: 1 });
    assert.deepEqual([restored.status, restored.body.clock], [200, '10:00']);
    assert.equal((await call('DELETE', `/${old}`)).status, 200);
    await service.stop();
    assert.equal(findingIn(folder), null);
  });
});
