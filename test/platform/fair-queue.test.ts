import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createFairQueue } from '../../server/platform/fair-queue.ts';

/** Turns whose tasks end when they are told to, and what has begun and was refused. */
function start(width: number, maxWaiting = { key: 100, all: 100 }) {
  const turns = createFairQueue({ width, maxWaiting });
  const begun: string[] = [];
  const refused: string[] = [];
  const ends: (() => void)[] = [];

  function take(line: string, name: string, key: string | null = null): Promise<void> {
    const task = () => {
      begun.push(name);
      return new Promise<string>((resolve) => ends.push(() => resolve(name)));
    };
    return turns.take({ line, key }, task).then((result) => {
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

  return { turns, take, begun, refused, finish };
}

describe('taking turns', () => {
  it('takes one of each line in turn, so that a flood in one leaves the others theirs', async () => {
    const { take, begun, finish } = start(1);
    for (const name of ['a1', 'a2', 'a3', 'a4', 'b1', 'b2', 'c1']) take(name.slice(0, 1), name);
    await finish();
    assert.deepEqual(begun, ['a1', 'b1', 'c1', 'a2', 'b2', 'a3', 'a4']);
  });

  it('does as many at once as it may, first of the line that has the fewest', async () => {
    const { take, begun, finish } = start(3);
    for (const name of ['a1', 'a2', 'a3', 'a4']) take('a', name);
    assert.deepEqual(begun, ['a1', 'a2', 'a3']);
    take('b', 'b1');
    await finish();
    assert.deepEqual(begun, ['a1', 'a2', 'a3', 'b1', 'a4']);
  });

  it('never does two of one key at once, and others of the line meanwhile', async () => {
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

  it('takes the place for a newcomer from the longest line when there is no more room', async () => {
    const { take, begun, refused, finish } = start(1, { key: 3, all: 4 });
    for (const name of ['a1', 'a2', 'a3', 'a4', 'b1']) take(name.slice(0, 1), name);
    for (const name of ['c1', 'c2', 'd1', 'e1']) take(name.slice(0, 1), name);
    await finish();
    assert.deepEqual(refused.toSorted(), ['a3', 'a4', 'c2', 'e1']);
    assert.deepEqual(begun, ['a1', 'b1', 'c1', 'd1', 'a2']);
  });

  it('goes on after a task that failed, and tells only its caller', async () => {
    const turns = createFairQueue({ width: 1, maxWaiting: { key: 5, all: 5 } });
    const failing = turns.take({ line: 'a', key: 'a' }, () => Promise.reject(new Error('no room on the disk')));
    const next = turns.take({ line: 'a', key: 'a' }, async () => 'done');
    await assert.rejects(failing, /no room on the disk/);
    assert.equal(await next, 'done');
  });

  it('rejects what waits when it is closed, and what comes then', async () => {
    const { turns, take, begun } = start(1);
    take('a', 'a1');
    const waiting = take('a', 'a2');
    turns.close();
    await assert.rejects(waiting, /ending/);
    await assert.rejects(take('b', 'b1'), /ending/);
    assert.deepEqual(begun, ['a1']);
  });
});
