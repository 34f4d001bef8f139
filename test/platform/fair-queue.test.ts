import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createFairQueue } from '../../server/platform/fair-queue.ts';

/** A queue whose tasks end on demand, and the tasks that have begun or were refused. */
function start(width: number, maxWaiting = { key: 100, all: 100 }) {
  const queue = createFairQueue({ width, maxWaiting });
  const begun: string[] = [];
  const refused: string[] = [];
  const ends: (() => void)[] = [];

  function take(caller: string, name: string, key: string | null = null): Promise<void> {
    const task = () => {
      begun.push(name);
      return new Promise<string>((resolve) => ends.push(() => resolve(name)));
    };
    return queue.take({ caller, key }, task).then((result) => {
      if (result === null) refused.push(name);
    });
  }

  /** Ends all that runs, and what begins then, and so on. */
  async function finish(): Promise<void> {
    while (ends.length > 0) {
      for (const end of ends.splice(0)) end();
      await new Promise(setImmediate);
    }
  }

  return { queue, take, begun, refused, finish };
}

describe('A fair queue', () => {
  it('begins one task of each caller, then the next of each: a flood of one caller delays no other', async () => {
    const { take, begun, finish } = start(1);
    for (const name of ['a1', 'a2', 'a3', 'a4', 'b1', 'b2', 'c1']) take(name.slice(0, 1), name);
    await finish();
    assert.deepEqual(begun, ['a1', 'b1', 'c1', 'a2', 'b2', 'a3', 'a4']);
  });

  it('runs as many tasks at once as it may, first those of the caller with the fewest running', async () => {
    const { take, begun, finish } = start(3);
    for (const name of ['a1', 'a2', 'a3', 'a4']) take('a', name);
    assert.deepEqual(begun, ['a1', 'a2', 'a3']);
    take('b', 'b1');
    await finish();
    assert.deepEqual(begun, ['a1', 'a2', 'a3', 'b1', 'a4']);
  });

  it('never runs two tasks of one key at once, and others of the caller meanwhile', async () => {
    const { take, begun, finish } = start(2);
    for (const name of ['a1', 'a2', 'b1', 'a3', 'c1']) take('home', name, name.slice(0, 1));
    assert.deepEqual(begun, ['a1', 'b1']);
    await finish();
    assert.deepEqual(begun, ['a1', 'b1', 'c1', 'a2', 'a3']);
  });

  it('refuses what there is no room for of one key', async () => {
    const { take, begun, refused, finish } = start(1, { key: 2, all: 100 });
    for (const name of ['a1', 'a2', 'a3', 'a4', 'b1']) take('home', name, name.slice(0, 1));
    await finish();
    assert.deepEqual(refused, ['a4']);
    assert.deepEqual(begun, ['a1', 'b1', 'a2', 'a3']);
  });

  it('drops the last task of the caller with the most waiting ones for a newcomer if the queue is full', async () => {
    const { take, begun, refused, finish } = start(1, { key: 3, all: 4 });
    for (const name of ['a1', 'a2', 'a3', 'a4', 'b1']) take(name.slice(0, 1), name);
    for (const name of ['c1', 'c2', 'd1', 'e1']) take(name.slice(0, 1), name);
    await finish();
    assert.deepEqual(refused.toSorted(), ['a3', 'a4', 'c2', 'e1']);
    assert.deepEqual(begun, ['a1', 'b1', 'c1', 'd1', 'a2']);
  });

  it('goes on after a task that failed, and tells only its caller', async () => {
    const queue = createFairQueue({ width: 1, maxWaiting: { key: 5, all: 5 } });
    const failing = queue.take({ caller: 'a', key: 'a' }, () => Promise.reject(new Error('no room on the disk')));
    const next = queue.take({ caller: 'a', key: 'a' }, async () => 'done');
    await assert.rejects(failing, /no room on the disk/);
    assert.equal(await next, 'done');
  });

  it('rejects what waits when it is closed, and what comes then', async () => {
    const { queue, take, begun } = start(1);
    take('a', 'a1');
    const waiting = take('a', 'a2');
    queue.close();
    await assert.rejects(waiting, /ending/);
    await assert.rejects(take('b', 'b1'), /ending/);
    assert.deepEqual(begun, ['a1']);
  });
});
