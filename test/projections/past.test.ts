import assert from 'node:assert/strict';
import { rmSync } from 'node:fs';
import { after, describe, it } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import type { Config } from '../../config/define.ts';
import { openPast, type Past } from '../../projections/past/past.ts';
import { newCopyMemory, openBudget } from '../../projections/past/snapshot-budget.ts';
import { openSnapshots, type SnapshotLimits, snapshotLimits } from '../../projections/past/snapshots.ts';
import type { Where } from '../../projections/query/where.ts';
import { type Tables, tablesOf } from '../../projections/tables/tables.ts';
import { giveBackFreed, isFreedNoted } from '../../storage/freed.ts';
import { openDirectory, quickFolder } from './directory.ts';

const config: Config = {
  collections: [
    {
      slug: 'posts',
      fields: [
        { name: 'title', type: 'text', index: true },
        { name: 'views', type: 'number' },
      ],
    },
    { slug: 'people', fields: [{ name: 'name', type: 'text', index: true }] },
    {
      slug: 'notes',
      fields: [
        { name: 'author', type: 'relationship', relationTo: 'people' },
        { name: 'editors', type: 'relationship', relationTo: 'people', hasMany: true },
      ],
    },
  ],
};

const folder = quickFolder();
const directory = openDirectory(folder, config);
const opened: Past[] = [];
after(async () => {
  for (const past of opened) await past.close();
  directory.close();
  rmSync(folder, { recursive: true });
});

const tables = tablesOf(directory.schema);
const [posts] = tables as [Tables];
const ids = Array.from({ length: 300 }, (_, n) => directory.create('posts', { title: `Title ${n % 7}`, views: n }));
const created = directory.log.head().size;
for (const id of ids.slice(0, 200)) directory.update('posts', id, { views: 1000 });
for (const id of ids.slice(0, 50)) directory.remove('posts', id);
const removed = directory.log.head().size;

function past(limits: Partial<SnapshotLimits> = {}): Past {
  const made = openPast(directory.readFile, { ...snapshotLimits, ...limits });
  opened.push(made);
  return made;
}

const byViews = { steps: [], leaf: { name: 'views', kind: 'number' }, isDescending: false } as const;
const small: Where = { steps: [], leaf: { name: 'views', kind: 'number' }, operator: 'less_than', values: [100] };
const ask = (where: Where | null = null) => ({ where, sort: [byViews], limit: 3, page: 1 });
const viewsIn = (texts: readonly string[]) => texts.map((text) => JSON.parse(text).views);

/** How many copies there are: each makes SQLite's temporary tables of one connection more. */
async function answersOf(one: Past, position: number) {
  const all = await one.list(position, posts, ask());
  const few = await one.list(position, posts, ask(small));
  return [all.total, viewsIn(all.texts), few.total, viewsIn(few.texts)];
}

describe('One document as of a position', () => {
  it('is asked about without a copy, whatever the condition goes through', async () => {
    const people = Array.from({ length: 40 }, (_, n) => directory.create('people', { name: `Name ${n % 2}` }));
    const notes = people.map((author) => directory.create('notes', { author, editors: [author, people[0] as string] }));
    const was = directory.log.head().size;
    for (const id of people) directory.update('people', id, { name: 'another' });
    for (const id of notes) directory.remove('notes', id);
    const [, tablesOfPeople, tablesOfNotes] = tables as [Tables, Tables, Tables];
    const named = (name: string, isList: boolean): Where => ({
      steps: [{ kind: 'related', name, isList, tables: tablesOfPeople, filter: null }],
      leaf: { name: 'name', kind: 'text' },
      operator: 'equals',
      values: ['Name 1'],
    });
    // Any copy would be refused.
    const one = past({ maxWaiting: 0 });
    await assert.rejects(one.list(was, tablesOfPeople, { ...ask(), sort: [] }), { code: 'unavailable' });
    for (const [field, isList] of [
      ['author', false],
      ['editors', true],
    ] as const) {
      const met = await Promise.all(
        notes.map((id) => one.matches(was, tablesOfNotes, { id, where: named(field, isList) })),
      );
      assert.deepEqual(
        met,
        notes.map((_, n) => n % 2 === 1),
        field,
      );
      const now = directory.log.head().size;
      assert.equal(
        await one.matches(now, tablesOfNotes, { id: notes[1] as string, where: named(field, isList) }),
        false,
      );
      assert.equal(
        await one.matches(was + 40, tablesOfNotes, { id: notes[1] as string, where: named(field, isList) }),
        false,
      );
    }
  });
});

describe('A list as of a position', () => {
  const then = [300, [0, 1, 2], 100, [0, 1, 2]];

  it('is the same from a copy, and if a copy would be too large, from all versions', async () => {
    const now = [250, [200, 201, 202], 0, []];
    for (const one of [past(), past({ maxBytes: 20_000 }), past({ maxBytes: 0 })]) {
      assert.deepEqual(await answersOf(one, created), then);
      assert.deepEqual(await answersOf(one, removed), now);
      assert.deepEqual(await answersOf(one, created), then, 'once more');
    }
  });

  it('is right when documents change while its copy is made, in slices between which others go on', async () => {
    const one = past({ sliceMilliseconds: 0 });
    let turns = 0;
    const writing = setInterval(() => {
      turns += 1;
      const id = ids[299 - turns] as string;
      if (turns % 2 === 0) directory.remove('posts', id);
      else directory.update('posts', id, { views: -turns });
      if (turns >= 40) clearInterval(writing);
    }, 0);
    const lists = await Promise.all(Array.from({ length: 5 }, () => one.list(removed, posts, ask())));
    clearInterval(writing);
    for (const { total, texts } of lists) assert.deepEqual([total, viewsIn(texts)], [250, [200, 201, 202]]);
    assert.ok(turns > 0, 'something was written meanwhile');
  });

  it('of more positions than there is room for gives up the copies that were not used for longest', async () => {
    const one = past({ maxBytes: 100_000 });
    for (let round = 0; round < 2; round += 1) {
      for (let position = created; position < created + 10; position += 1) {
        const { total, texts } = await one.list(position, posts, ask());
        const first = position - created;
        assert.deepEqual([total, viewsIn(texts)], [300, [first, first + 1, first + 2]]);
      }
    }
  });

  it('gets the indexes of its copy on the next request, as far as there is room', async () => {
    /** The indexes after the first list, and in the end; and the bytes of the copy without them. */
    const indexesOf = async (maxBytes: number) => {
      const snapshots = openSnapshots(directory.readFile, { ...snapshotLimits, maxBytes });
      const look = async () => {
        const lease = await snapshots.hold(created, [posts]);
        const count = lease.prepare<number>("SELECT count(*) FROM sqlite_temp_schema WHERE type = 'index'").get() ?? 0;
        const bytes = (lease.prepare<number>('PRAGMA temp.page_count').get() ?? 0) * 4096;
        const free = (lease.prepare<number>('PRAGMA temp.freelist_count').get() ?? 0) * 4096;
        assert.equal(lease.rowsOf(posts), 300);
        lease.release();
        return { count, bytes: bytes - free };
      };
      const first = await look();
      let last = await look();
      for (let turns = 0; turns < 200 && last.count < 1 + posts.copyIndexes.length; turns += 1) {
        await setTimeout(1);
        last = await look();
      }
      await snapshots.close();
      return { first, last };
    };
    const { first, last } = await indexesOf(snapshotLimits.maxBytes);
    assert.deepEqual([first.count, last.count], [1, 1 + posts.copyIndexes.length]);
    const tight = await indexesOf(last.bytes - 1);
    assert.deepEqual([tight.first.count, tight.last.count], [1, posts.copyIndexes.length]);
    assert.ok(tight.last.bytes < last.bytes);
  });

  it('shares the memory for copies with other threads, and gives up the excess when they need it', async () => {
    const memory = newCopyMemory(2);
    const limits = { ...snapshotLimits, maxBytes: 300_000, lookMilliseconds: 5 };
    const [here, there] = [0, 1].map((own) => {
      const made = openPast(directory.readFile, limits, openBudget({ memory, own }));
      opened.push(made);
      return made;
    }) as [Past, Past];
    const kilobytes = () => [...memory];
    for (let position = created; position < created + 20; position += 1) {
      assert.equal((await here.list(position, posts, ask())).total, 300);
    }
    const [alone = 0, none] = kilobytes();
    assert.ok(alone > 150 && alone <= 293, `${alone} KiB: more than its part, and no more than all`);
    assert.equal(none, 0);
    for (let position = created; position < created + 20; position += 1) {
      assert.equal((await there.list(position, posts, ask())).total, 300);
    }
    await setTimeout(50);
    const [first = 0, second = 0] = kilobytes();
    assert.ok(first > 0 && second > 0, 'each has copies');
    assert.ok(first + second <= 293, `${first} and ${second} KiB`);
    assert.deepEqual(await answersOf(here, created), await answersOf(there, created));
    await there.close();
    assert.equal(kilobytes()[1], 0, 'one that is closed has none');
    openBudget({ memory, own: 0 });
    assert.equal(kilobytes()[0], 0, 'a thread that takes the seat of another begins with none');
    await setTimeout(20);
    assert.ok((kilobytes()[0] ?? 0) > 0);
    await here.close();
  });

  it('is copied after a while if another thread had the room', async () => {
    const memory = newCopyMemory(2);
    // The other one has all of it, and does not look.
    memory[1] = 1000;
    const copiesOf = async (fullMilliseconds: number, maxBytes: number) => {
      const snapshots = openSnapshots(
        directory.readFile,
        { ...snapshotLimits, maxBytes, fullMilliseconds },
        openBudget({ memory, own: 0 }),
      );
      const look = async () => {
        const lease = await snapshots.hold(created, [posts]);
        lease.release();
        return lease.rowsOf(posts);
      };
      memory[1] = 1000;
      const full = await look();
      memory[1] = 0;
      const then = await look();
      await snapshots.close();
      return [full, then];
    };
    assert.deepEqual(await copiesOf(60_000, 90_000), [null, null], 'it is not tried again at once');
    assert.deepEqual(await copiesOf(0, 90_000), [null, 300]);
    assert.deepEqual(await copiesOf(0, 300_000), [300, 300], 'a part of its own is always there');
  });

  it('is dropped after a while without use, which is noted so that its memory is given back', async () => {
    const memory = newCopyMemory(1);
    const one = openSnapshots(
      directory.readFile,
      { ...snapshotLimits, idleMilliseconds: 100, lookMilliseconds: 5 },
      openBudget({ memory, own: 0 }),
    );
    giveBackFreed();
    const lease = await one.hold(created, [posts]);
    assert.ok((memory[0] ?? 0) > 0);
    assert.equal(isFreedNoted(), false);
    lease.release();
    for (let turns = 0; turns < 200 && memory[0] !== 0; turns += 1) await setTimeout(5);
    assert.equal(memory[0], 0);
    assert.equal(isFreedNoted(), true);
    giveBackFreed();
    assert.equal(isFreedNoted(), false);
    await one.close();
  });

  it('is refused for now when too many copies are being made', async () => {
    const one = past({ maxWaiting: 2, sliceMilliseconds: 0 });
    const asked = await Promise.allSettled([1, 2, 3, 4].map((n) => one.list(created - n, posts, ask())));
    assert.deepEqual(
      asked.map(({ status }) => status),
      ['fulfilled', 'fulfilled', 'rejected', 'rejected'],
    );
    const refused = asked.flatMap((one) => (one.status === 'rejected' ? [one.reason] : []));
    assert.deepEqual(refused.map(({ code, retryAfter }) => [code, retryAfter])[0], ['unavailable', 5]);
    assert.equal((await one.list(created - 4, posts, ask())).total, 296, 'later');
  });

  it('has forgotten what was erased, whatever was copied before', async () => {
    const one = past();
    const gone = ids[0] as string;
    const { documents } = {
      documents: (id: string) => one.some(created, posts, { ids: [id], where: null, only: null }),
    };
    assert.deepEqual(await answersOf(one, created), then);
    assert.equal((await documents(gone)).size, 1);
    directory.record(
      {
        stream: `posts/${gone}`,
        expectedVersion: 3,
        events: [{ type: 'document.erased', data: { streams: [{ stream: `posts/${gone}`, versions: 3 }] } }],
        claims: [],
        releases: [],
      },
      { erases: [`posts/${gone}`] },
    );
    assert.equal((await documents(gone)).size, 0);
    assert.deepEqual(await answersOf(one, created), [299, [1, 2, 3], 99, [1, 2, 3]]);
    assert.equal(directory.asOf('posts', gone, created), null);
  });
});
