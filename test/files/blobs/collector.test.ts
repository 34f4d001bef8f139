import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { describe, it, type TestContext } from 'node:test';
import fc from 'fast-check';
import { openLog, type SqliteLog } from '../../../events/log/sqlite-log.ts';
import { openTail, readNamings } from '../../../events/service-events/blobs.ts';
import { createIds } from '../../../events/store/ids.ts';
import { createLog } from '../../../events/store/log-file.ts';
import { readCandidates } from '../../../server/files/blobs/candidates.ts';
import { createCollector, maxCandidates } from '../../../server/files/blobs/collector.ts';
import { createPins } from '../../../server/files/blobs/pins.ts';
import { BlobsUnavailableError } from '../../../storage/blobs.ts';
import { openDatabase, type Sqlite } from '../../../storage/sqlite.ts';
import { command, openTestLog, seals } from '../../events/logs.ts';

const contents = ['a', 'b', 'c'];
const sha = (text: string) => hash('sha256', text);
const ready = async () => {};

/** A step that others may come before and after. */
type Step = <T>(what: string, run: () => T) => Promise<T>;

type World = { db: Sqlite; log: SqliteLog; stored: Set<string>; step: Step };

/** A log in memory: it is appended to thousands of times. */
function openMemoryLog(t: TestContext): Pick<World, 'db' | 'log'> {
  const db = openDatabase(':memory:');
  t.after(() => db.close());
  createLog(db, 'annals/test', seals.key);
  return {
    db,
    log: openLog(db, { ids: createIds(new BigInt64Array(new SharedArrayBuffer(8)), Date.now), now: Date.now, seals }),
  };
}

/** The steps of an upload, as the routes do them; one that gives up records nothing. */
async function upload(
  { log, stored, step }: World,
  holder: ReturnType<ReturnType<typeof createPins>['hold']>,
  one: Upload,
) {
  const sha256 = sha(one.content);
  await step('ask for a pin', () => {});
  await holder.pin(sha256);
  const isThere = await step('look', () => stored.has(sha256));
  if (!isThere) await step('store', () => stored.add(sha256));
  if (one.isRecorded) {
    await step('record', () => {
      log.append([command(`media/${one.id}`, 0, { events: [{ type: 'document.created', data: { sha256 } }] })]);
    });
  }
  await step('unpin', () => holder.unpin(sha256));
}

type Upload = { id: number; content: string; isRecorded: boolean };

describe('The collector', () => {
  it('never removes what an event names, and leaves nothing that none does, whatever comes in between', async (t) => {
    const { db, log } = openMemoryLog(t);
    let runs = 0;
    let removals = 0;
    const uploads = fc.array(fc.record({ content: fc.constantFrom(...contents), isRecorded: fc.boolean() }), {
      minLength: 1,
      maxLength: 5,
    });
    await fc.assert(
      fc.asyncProperty(fc.scheduler(), uploads, fc.integer({ min: 1, max: 3 }), async (scheduler, given, sweeps) => {
        runs += 1;
        const first = log.head().size;
        const step: Step = async (what, run) => {
          // The scheduler also decides when a step begins, not only when it ends.
          await scheduler.schedule(Promise.resolve(), what);
          return run();
        };
        // At first all files are left over.
        const world: World = { db, log, stored: new Set(contents.map(sha)), step };
        const board = createPins();
        const collector = createCollector({
          store: 'store',
          ready,
          pins: board,
          isNamed: openTail(db),
          remove: (sha256) =>
            step('remove', () => {
              if (world.stored.delete(sha256)) removals += 1;
            }),
        });
        const holders = [board.hold(), board.hold()] as const;
        const named = (upTo: number) => new Set(readNamings(db, first, upTo).map(({ sha256 }) => sha256));

        async function sweep(): Promise<void> {
          const position = await step('read the log', () => log.head().size);
          const found = await step('list', () => [...world.stored]);
          const known = named(position);
          const sha256 = found.filter((one) => !known.has(one));
          await collector({ store: 'store', position, sha256 });
        }

        const all = Promise.all([
          ...given.map((one, index) => upload(world, holders[index % 2 ? 1 : 0], { ...one, id: runs * 100 + index })),
          ...Array.from({ length: sweeps }, sweep),
        ]);
        await scheduler.waitFor(all);
        for (const sha256 of named(log.head().size)) assert.ok(world.stored.has(sha256), 'what an event names is gone');
        await scheduler.waitFor(sweep());
        assert.deepEqual([...world.stored].sort(), [...named(log.head().size)].sort());
      }),
      { numRuns: 150 },
    );
    assert.ok(removals > 100, `only ${removals} files were removed`);
  });

  it('leaves what is pinned, by whichever thread, until that lets go or is gone', async (t) => {
    const { db } = openTestLog(t);
    const board = createPins();
    const removed: string[] = [];
    const collect = createCollector({
      ...{ store: 'store', ready, pins: board, isNamed: openTail(db) },
      remove: async (sha256) => void removed.push(sha256),
    });
    const candidates = { store: 'store', position: 0, sha256: [sha('a'), sha('b')] };
    const [one, two] = [board.hold(), board.hold()];
    await one.pin(sha('a'));
    await one.pin(sha('a'));
    await two.pin(sha('a'));
    // A missing pin belongs to no other.
    await two.unpin(sha('b'));
    assert.deepEqual(await collect(candidates), { removed: [sha('b')], held: [] });
    await one.release();
    assert.deepEqual(await collect(candidates), { removed: [sha('b')], held: [] });
    await one.pin(sha('b'));
    await two.unpin(sha('a'));
    assert.deepEqual(await collect(candidates), { removed: [sha('a'), sha('b')], held: [] });
    assert.equal(removed.length, 4);
  });

  it('makes a pin wait while a file is removed, and refuses it when the outcome is unknown', async (t) => {
    const { db } = openTestLog(t);
    const board = createPins();
    const removals: PromiseWithResolvers<void>[] = [];
    const remove = () => {
      const removal = Promise.withResolvers<void>();
      removals.push(removal);
      return removal.promise;
    };
    const collect = createCollector({ store: 'store', ready, pins: board, isNamed: openTail(db), remove });
    const candidates = { store: 'store', position: 0, sha256: [sha('a')] };
    const holder = board.hold();

    const first = collect(candidates);
    const again = collect(candidates);
    await new Promise(setImmediate);
    let isPinned = false;
    const pinned = holder.pin(sha('a')).then(() => {
      isPinned = true;
    });
    await holder.pin(sha('b'));
    assert.deepEqual([isPinned, removals.length], [false, 1]);
    removals[0]?.resolve();
    assert.deepEqual(await first, { removed: [sha('a')], held: [] });
    await pinned;
    assert.deepEqual(await again, { removed: [], held: [] });
    await holder.unpin(sha('a'));

    const second = collect(candidates);
    await new Promise(setImmediate);
    const doubtful = holder.pin(sha('a'));
    removals[1]?.reject(new BlobsUnavailableError('unreachable', 'the bucket does not answer'));
    await assert.rejects(second, { name: 'BlobsUnavailableError' });
    await assert.rejects(doubtful, { code: 'unavailable', retryAfter: 60 });
    await holder.pin(sha('b'));
  });

  it('removes nothing of another store, or before it is known whose the store is', async (t) => {
    const { db } = openTestLog(t);
    const remove = () => assert.fail('it was removed');
    const options = { store: 'the bucket "a"', pins: createPins(), isNamed: openTail(db), remove };
    const candidates = { position: 0, sha256: [sha('a')] };
    await assert.rejects(createCollector({ ...options, ready })({ store: 'the bucket "b"', ...candidates }), {
      code: 'conflict',
      message: 'the service keeps its files in the bucket "a", not in the bucket "b"',
    });
    const refused = () => Promise.reject(new Error('another log'));
    await assert.rejects(createCollector({ ...options, ready: refused })({ store: 'the bucket "a"', ...candidates }), {
      message: 'another log',
    });
    const late = { store: 'the bucket "a"', ...candidates, position: 1 };
    await assert.rejects(createCollector({ ...options, ready })(late), { code: 'validation_failed' });
  });
});

describe('The candidates that a command sends', () => {
  const right = { store: 'x', position: 0, sha256: [sha('a')] };
  it('are taken as they are', () => assert.deepEqual(readCandidates(right), right));
  for (const [what, wrong, field] of [
    ['a path', { sha256: ['../../log.db'] }, 'sha256.0'],
    ['capitals', { sha256: [sha('a').toUpperCase()] }, 'sha256.0'],
    ['more than one call takes', { sha256: Array(maxCandidates + 1).fill(sha('a')) }, 'sha256'],
    ['a text', { sha256: sha('a') }, 'sha256'],
    ['a negative position', { position: -1 }, 'position'],
    ['a position as text', { position: '0' }, 'position'],
    ['half a position', { position: 0.5 }, 'position'],
    ['no store', { store: undefined }, 'store'],
    ['something else', { all: true }, 'all'],
  ] as const) {
    it(`are refused with ${what}`, () => {
      assert.throws(
        () => readCandidates({ ...right, ...wrong }),
        (error: { code: string; errors: { field: string }[] }) =>
          error.code === 'validation_failed' && error.errors.some((one) => one.field === field),
      );
    });
  }
});
