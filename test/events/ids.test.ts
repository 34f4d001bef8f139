import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Worker } from 'node:worker_threads';
import fc from 'fast-check';
import { createIds, timeOfId } from '../../events/store/ids.ts';
import { isId } from '../helpers/shared.ts';

type Made = { id: string; at: number };

const start = Date.parse('2026-11-20T12:00:00.000Z');

function counter(): BigInt64Array<SharedArrayBuffer> {
  return new BigInt64Array(new SharedArrayBuffer(8));
}

function millisecondsIn(id: string): number {
  return Number.parseInt(id.replaceAll('-', '').slice(0, 12), 16);
}

function assertForward(made: readonly Made[]): void {
  for (const [index, { id, at }] of made.entries()) {
    assert.match(id, /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    assert.equal(millisecondsIn(id), at);
    const before = made[index - 1];
    if (before) assert.ok(id > before.id && at >= before.at, `${id} at ${at} follows ${before.id} at ${before.at}`);
  }
}

describe('ids', () => {
  it('are UUIDs of version 7 made of the time given with them, each greater than the one before', () => {
    const ids = createIds(counter(), () => start);
    const made = Array.from({ length: 4096 }, () => ids.next());
    assertForward(made);
    assert.deepEqual([...new Set(made.map(({ at }) => at))], [start]);
    assert.ok(made.every(({ id }) => isId(id)));
    assert.equal(new Set(made.map(({ id }) => id.slice(19))).size, made.length, 'the random part differs');
  });

  it('borrow from the next millisecond rather than repeat when one is used up', () => {
    const ids = createIds(counter(), () => start);
    const made = Array.from({ length: 10_000 }, () => ids.next());
    assertForward(made);
    assert.equal(made.at(-1)?.at, start + 2);
  });

  it('go forward whatever the clock does', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0, max: 2 ** 47 }), { minLength: 1, maxLength: 300 }), (clock) => {
        let tick = 0;
        const ids = createIds(counter(), () => clock[tick++] as number);
        const made = clock.map(() => ids.next());
        assertForward(made);
        // The time of an id is the clock's, if the clock has gone forward.
        let last = 0;
        for (const [index, { at }] of made.entries()) {
          if ((clock[index] as number) > last) assert.equal(at, clock[index]);
          last = at;
        }
      }),
    );
  });

  it('are later than the floor, by which a restart goes on after the last event', () => {
    const ids = createIds(counter(), () => start);
    ids.raise(start + 5000);
    const made = Array.from({ length: 3 }, () => ids.next());
    assertForward(made);
    assert.ok((made[0] as Made).at > start + 5000);
  });

  it('keep their place when a lower floor is given to a counter in use', () => {
    const shared = counter();
    const first = createIds(shared, () => start);
    first.raise(start + 5000);
    const before = first.next();
    const second = createIds(shared, () => start);
    second.raise(start);
    assertForward([before, second.next(), first.next()]);
  });

  it('never repeat between makers that share a counter, whatever their clocks say', () => {
    const shared = counter();
    const makers = [0, 10_000, -10_000].map((offset) => createIds(shared, () => start + offset));
    const made = Array.from({ length: 999 }, (_, index) => (makers[index % 3] as (typeof makers)[0]).next());
    assertForward(made);
  });

  it('never repeat between threads that share a counter', async () => {
    const shared = counter();
    const source = `
      import { parentPort, workerData } from 'node:worker_threads';
      const { createIds } = await import(workerData.module);
      const ids = createIds(workerData.counter, Date.now);
      parentPort.postMessage(Array.from({ length: 20000 }, () => ids.next()));`;
    const module = new URL('../../events/store/ids.ts', import.meta.url).href;
    const runs = Array.from({ length: 2 }, () => {
      const worker = new Worker(new URL(`data:text/javascript,${encodeURIComponent(source)}`), {
        workerData: { module, counter: shared },
      });
      return new Promise<Made[]>((resolve, reject) => worker.once('message', resolve).once('error', reject));
    });
    const [one, two] = (await Promise.all(runs)) as [Made[], Made[]];
    assertForward(one);
    assertForward(two);
    // The first 16 digits are the counter; the rest is random and would hide a repetition.
    const ticks = [...one, ...two].map(({ id }) => id.slice(0, 18));
    assert.equal(new Set(ticks).size, 40_000);
  });

  it('tell when they were made', () => {
    const { id, at } = createIds(counter(), () => start).next();
    assert.equal(timeOfId(id), at);
  });
});
