import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Worker } from 'node:worker_threads';
import fc from 'fast-check';
import { type KeptRow, keepRows } from '../../projections/query/kept-rows.ts';
import { createRowMarks, markRows } from '../../projections/tables/row-marks.ts';
import { giveBackKept } from '../../storage/kept.ts';
import { runsOf } from '../helpers/runs.ts';

const most = 32 * 1024 * 1024;
const ids = ['first', 'other', 'third'];
const changedOf = (some: readonly string[]) => some.map((id) => ({ key: 'posts', id }));

/** A file of rows: each commit gives the documents that it changes a version of its own. */
function openFile() {
  const rows = new Map<string, number>();
  let reads = 0;
  let version = 0;
  return {
    set(changed: readonly string[]) {
      version += 1;
      for (const id of changed) rows.set(id, version);
    },
    remove: (id: string) => rows.delete(id),
    version: (id: string) => rows.get(id) ?? null,
    reads: () => reads,
    read(id: string): KeptRow | null {
      reads += 1;
      const found = rows.get(id);
      return found === undefined ? null : { text: `${id} ${found}`, version: found };
    },
  };
}

type File = ReturnType<typeof openFile>;

function openReader(marks: ReturnType<typeof createRowMarks>, file: File) {
  let isApart = false;
  const store = keepRows(marks, { most, isApart: () => isApart }).of('posts').rows;
  const read = (id: string) => store.get(id) ?? store.read(id, () => file.read(id));
  const setApart = (value: boolean) => {
    isApart = value;
  };
  return { read, store, setApart };
}

const id = fc.constantFrom(...ids);
const step = fc.oneof(
  fc.record({ kind: fc.constant('read' as const), id, reader: fc.nat(1) }),
  fc.record({
    kind: fc.constant('commit' as const),
    changed: fc.uniqueArray(id, { minLength: 1 }),
    isErasure: fc.boolean(),
    // Reads of others before it is visible, and after.
    before: fc.array(id, { maxLength: 3 }),
    behind: fc.array(id, { maxLength: 3 }),
    fails: fc.boolean(),
  }),
  fc.record({ kind: fc.constant('remove' as const), id }),
  fc.record({ kind: fc.constant('empty' as const) }),
);

describe('Rows that are kept', () => {
  it('are those that the file has at that moment, whatever is committed in between', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const marks = createRowMarks();
        const file = openFile();
        const commit = markRows(marks);
        const readers = [openReader(marks, file), openReader(marks, file)];
        const check = (one: string) => {
          for (const { read } of readers) assert.equal(read(one)?.version ?? null, file.version(one));
        };
        for (const one of steps) {
          if (one.kind === 'read')
            assert.equal(readers[one.reader]?.read(one.id)?.version ?? null, file.version(one.id));
          else if (one.kind === 'empty') giveBackKept();
          else if (one.kind === 'remove') commit([{ key: 'posts', id: one.id }], false, () => file.remove(one.id));
          else {
            const run = () =>
              commit(changedOf(one.changed), one.isErasure, () => {
                one.before.forEach(check);
                if (one.fails) throw new Error('the disk is full');
                file.set(one.changed);
                one.behind.forEach(check);
              });
            if (one.fails) assert.throws(run);
            else run();
          }
        }
        ids.forEach(check);
      }),
      { numRuns: runsOf(2000) },
    );
  });

  it('are not read again', () => {
    const file = openFile();
    const { read } = openReader(createRowMarks(), file);
    file.set(ids);
    for (let count = 0; count < 5; count += 1) read('first');
    assert.equal(file.reads(), 1);
  });

  it('are given back when memory is', () => {
    const file = openFile();
    const { read } = openReader(createRowMarks(), file);
    file.set(ids);
    read('first');
    giveBackKept();
    read('first');
    assert.equal(file.reads(), 2);
  });

  it('are not kept that a transaction saw of an earlier moment', () => {
    const file = openFile();
    const { read, setApart } = openReader(createRowMarks(), file);
    file.set(ids);
    setApart(true);
    read('first');
    setApart(false);
    read('first');
    read('first');
    assert.equal(file.reads(), 2);
  });

  it('are all forgotten when something was erased, by a reader that asks for another one', () => {
    const marks = createRowMarks();
    const file = openFile();
    const commit = markRows(marks);
    const { read } = openReader(marks, file);
    file.set(ids);
    ids.forEach(read);
    commit(changedOf(['erased']), true, () => {});
    ids.forEach(read);
    assert.equal(file.reads(), 2 * ids.length);
  });

  it('are none if no memory is given to them', () => {
    const file = openFile();
    const store = keepRows(createRowMarks(), { most: 0, isApart: () => false }).of('posts').rows;
    file.set(ids);
    for (let count = 0; count < 3; count += 1)
      assert.equal((store.get('first') ?? store.read('first', () => file.read('first')))?.version, 1);
    assert.equal(file.reads(), 3);
  });

  it('take no more than they may, and those that are asked for stay', () => {
    const store = keepRows(createRowMarks(), { most, isApart: () => false }).of('posts').rows;
    const long = 'x'.repeat(64 * 1024);
    const read = (id: string) => store.get(id) ?? store.read(id, () => ({ text: long, version: 1 }));
    for (let count = 0; count < 2000; count += 1) {
      read(`${count}`);
      read('asked');
    }
    const kept = Array.from({ length: 2000 }, (_, count) => store.get(`${count}`)).filter((row) => row !== undefined);
    assert.ok(kept.length > 100 && kept.length <= (32 * 1024 * 1024) / long.length, `${kept.length}`);
    assert.ok(store.get('asked'));
    store.read('huge', () => ({ text: 'x'.repeat(1024 * 1024), version: 1 }));
    assert.equal(store.get('huge'), undefined);
  });

  it('of a writer killed in the middle of a commit are read from the file until another writes', () => {
    const marks = createRowMarks();
    const file = openFile();
    const { read } = openReader(marks, file);
    file.set(ids);
    read('first');
    let commits = 0;
    try {
      markRows(marks)(changedOf(['first']), false, () => {
        // A killed thread leaves the marks so.
        commits += 1;
        file.set(['first']);
        throw marks.slice();
      });
    } catch (killed) {
      marks.set(killed as typeof marks);
    }
    const before = file.reads();
    read('first');
    read('first');
    assert.deepEqual([commits, file.reads() - before], [1, 2]);
    markRows(marks);
    read('first');
    read('first');
    assert.equal(file.reads() - before, 3);
    assert.equal(read('first')?.version, file.version('first'));
  });
});

/**
 * Commits as fast as it can: a row is a version in shared memory, and what was acknowledged is told after the commit.
 */
const writer = `
  import { workerData } from 'node:worker_threads';
  const { markRows } = await import(workerData.module);
  const { marks, cells } = workerData;
  const commit = markRows(marks);
  while (Atomics.load(cells, 2) === 0) {
    commit([{ key: 'posts', id: 'first' }], false, () => Atomics.add(cells, 0, 1));
    Atomics.store(cells, 1, Atomics.load(cells, 0));
  }
`;

describe('A thread that reads while another one writes', () => {
  it('never sees less than what was acknowledged before, nor goes back', async () => {
    const marks = createRowMarks();
    const cells = new Int32Array(new SharedArrayBuffer(12));
    const module = new URL('../../projections/tables/row-marks.ts', import.meta.url).href;
    const worker = new Worker(new URL(`data:text/javascript,${encodeURIComponent(writer)}`), {
      workerData: { marks, cells, module },
    });
    const store = keepRows(marks, { most, isApart: () => false }).of('posts').rows;
    let last = 0;
    let hits = 0;
    while (Atomics.load(cells, 1) < 1) await new Promise((resolve) => setImmediate(resolve));
    for (let count = 0; count < 300_000; count += 1) {
      const acknowledged = Atomics.load(cells, 1);
      const kept = store.get('first');
      if (kept) hits += 1;
      const row = kept ?? store.read('first', () => ({ text: '', version: Atomics.load(cells, 0) }));
      const version = row?.version ?? -1;
      assert.ok(version >= acknowledged && version >= last, `${version} after ${acknowledged} and ${last}`);
      last = version;
    }
    Atomics.store(cells, 2, 1);
    await new Promise((resolve) => worker.once('exit', resolve));
    assert.ok(hits > 0);
  });
});
