import assert from 'node:assert/strict';
import { rmSync } from 'node:fs';
import { after, describe, it } from 'node:test';
import fc from 'fast-check';
import { applyPatch } from 'rfc6902';
import type { Json } from '../../config/schema.ts';
import { changesBetween } from '../../events/facts/changes.ts';
import { compileUpcaster } from '../../events/facts/upcasters.ts';
import type { LogReader } from '../../events/log/log-reader.ts';
import { epochsOf } from '../../projections/tables/epochs.ts';
import { seesAll } from '../../server/access/sight.ts';
import type { App } from '../../server/app.ts';
import { openHistory } from '../../server/audit/history.ts';
import { patchBetween } from '../../server/audit/patch.ts';
import { pastOf } from '../../server/documents/past/versions.ts';
import { openDirectory, quickFolder } from '../projections/directory.ts';

const folder = quickFolder();
after(() => rmSync(folder, { recursive: true, force: true }));

const text = (name: string, renamedFrom?: string) => ({
  name,
  type: 'text' as const,
  ...(renamedFrom ? { renamedFrom } : {}),
});
const wait = () => new Promise((resolve) => setImmediate(resolve));

describe('The history of a stream', () => {
  it('shows documents by the fields of their time, and tells differences and blame by the names of today', async () => {
    const first = openDirectory(folder, { collections: [{ slug: 'posts', fields: [text('title'), text('old')] }] });
    const id = first.create('posts', { title: 'a', old: 'x' });
    first.close();
    const second = openDirectory(folder, {
      collections: [{ slug: 'posts', fields: [text('headline', 'title'), text('more')] }],
    });
    second.update('posts', id, { headline: 'b', more: 'm' });
    second.close();
    // The collection is configured no longer.
    const third = openDirectory(folder, { collections: [{ slug: 'pages', fields: [] }] });
    const history = openHistory(third.log).as(seesAll);
    const stream = `posts/${id}`;
    const shown = async (version: number) => {
      const event = history.event(stream, version);
      const {
        createdAt: _created,
        updatedAt: _updated,
        ...rest
      } = (event && (await history.documentAt(event)).document) ?? {};
      return rest;
    };
    assert.deepEqual(await shown(1), { id, title: 'a', old: 'x' });
    assert.deepEqual(await shown(2), { id, headline: 'b', more: 'm' });
    const diff = await history.diff(stream, [1, 2], 2);
    assert.deepEqual(diff.fields, [
      { field: 'headline', before: 'a', after: 'b' },
      { field: 'more', before: null, after: 'm' },
    ]);
    const state = history.state(stream);
    assert.ok(state);
    const { entries } = await history.entries(state, { after: 0, limit: 10 });
    assert.deepEqual(
      entries.map(({ changed }) => changed),
      [
        ['headline', 'old'],
        ['headline', 'more'],
      ],
    );
    const blame = await history.blame({ stream, version: 2, line: 'draft' });
    assert.deepEqual(
      blame.map(({ field, value, version }) => [field, value, version]),
      [
        ['headline', 'b', 2],
        ['more', 'm', 2],
        ['old', 'x', 1],
      ],
    );
    third.close();
  });

  it('says of what was erased that it was, and goes on after it', async () => {
    const directory = openDirectory(quickFolder(), { collections: [{ slug: 'posts', fields: [text('title')] }] });
    const id = directory.create('posts', { title: 'a' });
    directory.update('posts', id, { title: 'b' });
    directory.update('posts', id, { title: 'c' });
    const stream = `posts/${id}`;
    const [, gone = 0] = directory.log.positionsOf(stream, 0, 3);
    const log: LogReader = {
      ...directory.log,
      texts: (from, upTo) =>
        directory.log.texts(from, upTo).map((one) => (upTo === gone ? { ...one, body: null } : one)),
    };
    const history = openHistory(log).as(seesAll);
    const state = history.state(stream);
    assert.ok(state);
    const { entries } = await history.entries(state, { after: 0, limit: 10 });
    assert.deepEqual(
      entries.map(({ changed, erased = false }) => [changed, erased]),
      [
        [['title'], false],
        [[], true],
        [['title'], false],
      ],
    );
    const event = history.event(stream, 2);
    assert.equal(event && (await history.documentAt(event)).document, null);
    assert.deepEqual(await history.diff(stream, [2, 3], 3), {
      versions: [2, 3],
      fields: null,
      patch: null,
      erased: true,
    });
    assert.deepEqual((await history.diff(stream, [1, 3], 3)).fields, [{ field: 'title', before: 'a', after: 'c' }]);
    directory.close();
  });

  it('lets others have their turn while it goes through a long one', async () => {
    const directory = openDirectory(quickFolder(), { collections: [{ slug: 'posts', fields: [text('title')] }] });
    const id = directory.create('posts', { title: 'a' });
    const stream = `posts/${id}`;
    const count = 20_000;
    // One event again and again, as the next version each time: reading it is the cost.
    const [position = 0] = directory.log.positionsOf(stream, 0, 1);
    let version = 0;
    const log: LogReader = {
      ...directory.log,
      texts: (after, upTo) =>
        directory.log.texts(after, upTo).map(({ header, body }) => {
          version += 1;
          return { header: header.replace(/"version":1}$/, `"version":${version}}`), body };
        }),
      positionsOf: (_name, from, upTo) => Array(Math.max(Math.min(upTo, count) - from, 0)).fill(position),
    };
    let turns = 0;
    let isDone = false;
    const others = (async () => {
      for (; !isDone; turns += 1) await wait();
    })();
    await openHistory(log).as(seesAll).diff(stream, [1, count], count);
    isDone = true;
    await others;
    assert.ok(turns >= 3, `others had ${turns} turns`);
    directory.close();
  });

  it('is read piece by piece to tell what a document was, so others have their turn', async () => {
    const directory = openDirectory(quickFolder(), { collections: [{ slug: 'posts', fields: [text('title')] }] });
    const id = directory.create('posts', { title: 'a' });
    for (let n = 0; n < 30; n += 1) directory.update('posts', id, { title: `${n}${'x'.repeat(50_000)}` });
    const app = { events: directory.log, upcaster: () => compileUpcaster(epochsOf(directory.log)) } as unknown as App;
    let turns = 0;
    let isDone = false;
    const others = (async () => {
      for (; !isDone; turns += 1) await wait();
    })();
    const past = await pastOf(app, `posts/${id}`, { version: 30 });
    isDone = true;
    await others;
    assert.ok(turns >= 3, `others had ${turns} turns`);
    assert.deepEqual([past?.version, String(past?.document?.title).slice(0, 3)], [30, '28x']);
    assert.equal((await pastOf(app, `posts/${id}`, { position: past?.position ?? 0 }))?.version, 30);
    assert.equal(await pastOf(app, `posts/${id}`, { version: 32 }), null);
    assert.equal(await pastOf(app, `posts/${id}`, { position: 1 }), null);
    directory.close();
  });
});

describe('A JSON Patch between two states', () => {
  // The patch library refuses that name.
  const json = fc
    .jsonValue({ maxDepth: 3 })
    .filter((value) => !JSON.stringify(value).includes('__proto__')) as fc.Arbitrary<Json>;
  const documents = fc.dictionary(fc.constantFrom('a', 'b', 'c', 'x/y', '~'), json);

  it('makes the one into the other', () => {
    fc.assert(
      fc.property(documents, documents, (before, after) => {
        // Parsed as from the log: with members of any name.
        const [old, now] = [JSON.parse(JSON.stringify(before)), JSON.parse(JSON.stringify(after))];
        const patch = patchBetween(old, now);
        const root = { document: structuredClone(old) };
        const errors = applyPatch(root, JSON.parse(JSON.stringify(patch)).map(moved)).filter(Boolean);
        assert.deepEqual([errors, root.document], [[], now]);
        assert.ok(patch.length > 0 || changesBetween(old, now).length === 0);
      }),
      { numRuns: 100 },
    );
  });

  it('does not compare large lists item by item', () => {
    const large = (from: number) => ({ list: Array.from({ length: 20_000 }, (_, index) => [index + from]) });
    const patch = patchBetween({ ...large(0), same: large(0).list }, { ...large(1), same: large(0).list });
    assert.deepEqual(
      patch.map(({ op, path }) => [op, path]),
      [['replace', '/list']],
    );
    const nested = (n: number) => ({
      list: Array.from({ length: 90 }, () => Array.from({ length: 90 }, (_, index) => ({ index, n }))),
    });
    const root = nested(1);
    applyPatch(root, patchBetween(nested(1), nested(2)));
    assert.deepEqual(root, nested(2));
  });

  it('takes lists of every length and depth, for who wrote them may have meant harm', () => {
    const many = Array.from({ length: 100_000 }, (_, index) => index);
    // A list in a list in a list, each with other items beside it.
    const deep = (n: number) => {
      let value: Json = n;
      for (let level = 0; level < 98; level += 1) value = [value, ...many.slice(0, 99).map((item) => item + n)];
      return value;
    };
    const cases: [old: Json, now: Json, operations: number][] = [
      [[], many, 1],
      [many, [], 1],
      [['x'], many.slice(1, 9999), 1],
      [many, [...many, 'last'], 1],
      [many, many.toSpliced(5, 2), 2],
      [deep(0), deep(1000), 9703],
    ];
    for (const [old, now, operations] of cases) {
      const patch = patchBetween({ list: old }, { list: now });
      const root = { list: structuredClone(old) };
      assert.deepEqual(applyPatch(root, patch).filter(Boolean), []);
      assert.deepEqual([patch.length, root.list], [operations, now]);
    }
  });

  it('says no more than it has to', () => {
    const list = [{ a: 1 }, { a: 2 }, { a: 3 }, 'x', 'y'];
    const patch = patchBetween({ list, 'a/b~': 1 }, { list: [0, { a: 1 }, { a: 3, b: 1 }, 'y', 'z'], c: null });
    assert.deepEqual(patch, [
      { op: 'remove', path: '/a~1b~0' },
      { op: 'add', path: '/c', value: null },
      { op: 'add', path: '/list/0', value: 0 },
      { op: 'add', path: '/list/2/b', value: 1 },
      { op: 'replace', path: '/list/2/a', value: 3 },
      { op: 'remove', path: '/list/3' },
      { op: 'remove', path: '/list/3' },
      { op: 'add', path: '/list/4', value: 'z' },
    ]);
  });
});

/** The whole document is not what a patch can replace in place. */
function moved(operation: { path: string }) {
  return { ...operation, path: `/document${operation.path}` };
}
