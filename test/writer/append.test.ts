import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { MessageChannel } from 'node:worker_threads';
import { connectWriter } from '../../server/writer/append.ts';
import type { WriterAnswers, WriterRequests } from '../../server/writer/messages.ts';
import { mostWaiting } from '../../server/writer/waiting.ts';
import { command } from '../events/logs.ts';

const { few, milliseconds, foreseen, commands, bytes } = mostWaiting;
const refusal = {
  code: 'unavailable',
  retryAfter: 1,
  message: /^too many writes wait already: nothing of this one was/,
};

/** A connection to a writer that answers when a test says so, and a clock that stands still until a test sets it. */
function connected(t: TestContext) {
  const { port1, port2 } = new MessageChannel();
  t.after(() => port1.close());
  const clock = { now: 0 };
  const came: WriterRequests = [];
  port2.on('message', (requests: WriterRequests) => came.push(...requests));
  const writing = connectWriter(port1, () => clock.now);
  const appended: Promise<unknown>[] = [];
  function append(count: number, text = ''): void {
    for (let left = count; left > 0; left -= 1) {
      const [event] = command('posts/1', null).events;
      const one = command('posts/1', null, { events: [{ ...event, data: { text } } as NonNullable<typeof event>] });
      const outcome = writing.append(one);
      outcome.catch(() => {});
      appended.push(outcome);
    }
  }
  async function answer(count: number): Promise<void> {
    while (came.length < count) await new Promise(setImmediate);
    const outcome = { ok: true, position: 1, version: 1, recordedAt: '' } as const;
    port2.postMessage(came.splice(0, count).map(({ id }) => ({ id, answer: outcome })) satisfies WriterAnswers);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  return { ...writing, append, answer, clock, came, appended, last: () => appended.at(-1) as Promise<unknown> };
}

describe('The way to the writer', () => {
  it('lets a few wait for as long as it takes, and only those once the first has waited for long', async (t) => {
    const { append, answer, clock, came, isCrowded, last } = connected(t);
    append(few - 1);
    clock.now = 3_600_000;
    assert.equal(isCrowded(), false);
    append(1);
    assert.equal(isCrowded(), true);
    append(1);
    await assert.rejects(last(), refusal);
    await answer(few);
    assert.deepEqual([came.length, isCrowded()], [0, false]);
    append(few + 1);
    clock.now += milliseconds;
    assert.equal(isCrowded(), false);
    clock.now += 1;
    assert.equal(isCrowded(), true);
    // The oldest command that waits came later than the answered ones.
    await answer(few);
    assert.equal(isCrowded(), false);
  });

  it('refuses writes that would wait too long at the recent speed of the writer, counting those to come', async (t) => {
    const { append, answer, clock, isCrowded, last } = connected(t);
    append(6 * few);
    for (let answers = 0; answers < 4; answers += 1) {
      clock.now += 50;
      await answer(few);
    }
    // So `few` commands take 50 ms; the time of the first answer does not count, since the writer was idle before.
    const most = Math.floor((foreseen / 50) * few);
    append(most - 2 * few);
    assert.equal(isCrowded(), false);
    assert.equal(isCrowded(1), true);
    append(1);
    assert.equal(isCrowded(), true);
    append(1);
    await assert.rejects(last(), refusal);
  });

  it('takes a few all the same, and learns nothing from them, nor from a writer that was held up', async (t) => {
    const { append, answer, clock, isCrowded } = connected(t);
    for (let answers = 0; answers < 4; answers += 1) {
      append(few - 1);
      clock.now += 900;
      await answer(few - 1);
    }
    assert.equal(isCrowded(7 * few), false);
    append(3 * few);
    await answer(few);
    clock.now += 5000;
    await answer(few);
    await answer(few);
    append(2 * few);
    assert.equal(isCrowded(7 * few), false);
  });

  it('bounds the number of waiting commands, and their size', async (t) => {
    const full = connected(t);
    full.append(commands);
    assert.equal(full.isCrowded(), true);
    full.append(1);
    await assert.rejects(full.last(), refusal);
    await full.answer(commands);
    full.append(1);
    await full.answer(1);
    await full.last();

    const large = connected(t);
    large.append(few, 'x'.repeat(bytes / few));
    assert.equal(large.isCrowded(), true);
    await large.answer(1);
    assert.equal(large.isCrowded(), false);
    await large.answer(few - 1);
    assert.equal(large.came.length, 0);
    await Promise.all(large.appended);
  });

  it('accepts writes that no client would repeat, however long the queue is; refused ones never reach the writer', async (t) => {
    const { append, appendAnyway, answer, came, last } = connected(t);
    append(commands);
    append(5);
    await assert.rejects(last(), refusal);
    const anyway = appendAnyway(command('posts/1', null));
    await answer(commands + 1);
    assert.deepEqual([came.length, (await anyway).ok], [0, true]);
  });
});
