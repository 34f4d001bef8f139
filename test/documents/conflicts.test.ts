import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type Command, changeOf, type Outcome } from '../../events/facts/log.ts';
import type { RouteCall } from '../../server/app.ts';
import { write } from '../../server/documents/write/writes.ts';

const stale: Outcome = { ok: false, conflict: 'version', version: 2 };
const done: Outcome = { ok: true, position: 9, version: 3, recordedAt: '2026-11-20T12:00:00.000Z' };
const taken: Outcome = { ok: false, conflict: 'claim', claim: { scope: 'posts.code', value: '"x"' } };

/**
 * A caller before a log that gives these outcomes, the last of them again and again. Rivals in other threads and nodes
 * make them so.
 */
function callerOf(outcomes: readonly Outcome[]) {
  const appended: Command[] = [];
  const append = async (command: Command) => {
    appended.push(command);
    return outcomes[Math.min(appended.length, outcomes.length) - 1];
  };
  const request = { app: {}, auth: { credentials: null }, headers: {}, info: { remoteAddress: '' } };
  return { call: { app: { append }, request } as unknown as RouteCall, appended };
}

/** Decides on the state as it is at each try, which is another one each time. */
function decider() {
  let version = 0;
  return async () => {
    version += 1;
    const set = { set: { seen: version } };
    return { decision: changeOf('posts/1', [{ type: 'document.updated', data: set }], version), answer: version };
  };
}

describe('A write that a rival has overtaken', () => {
  it('is decided anew, on what is there by then, and answers what was recorded in the end', async () => {
    const { call, appended } = callerOf([stale, stale, done]);
    assert.equal(await write(call, 'posts/1', decider()), 3);
    assert.deepEqual(
      appended.map(({ expectedVersion, events }) => [expectedVersion, events[0]?.data.set]),
      [1, 2, 3].map((version) => [version, { seen: version }]),
    );
  });

  it('is a conflict after a hundred tries', async () => {
    const { call, appended } = callerOf([stale]);
    await assert.rejects(write(call, 'posts/1', decider()), {
      code: 'write_conflict',
      message: /others keep changing/,
    });
    assert.equal(appended.length, 100);
  });

  it('is a conflict that names the field if its unique value is taken, and is not tried again', async () => {
    const { call, appended } = callerOf([stale, taken]);
    await assert.rejects(write(call, 'posts/1', decider()), { message: 'code is taken by another document' });
    assert.equal(appended.length, 2);
  });
});
