import assert from 'node:assert/strict';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import type { Request, ResponseToolkit } from '@hapi/hapi';
import { DomainError } from '../../../config/errors.ts';
import {
  type Append,
  type Command,
  type Outcome,
  UnknownOutcomeError,
  UnreadError,
} from '../../../events/facts/log.ts';
import { openVault } from '../../../events/vault/vault.ts';
import { portOf } from '../../../events/vault/vault-port.ts';
import type { App } from '../../../server/app.ts';
import { answerOnce } from '../../../server/documents/concurrency/answer-once.ts';
import { decryptAnswer, encryptAnswer } from '../../../server/documents/concurrency/replay-encryption.ts';
import { keepReplays } from '../../../server/documents/concurrency/replay-keeping.ts';
import { category } from '../../helpers/category.ts';
import { temporaryFolder } from '../../helpers/service.ts';

const hour = 3600_000;
const few = { user: 2, key: 3, other: 2, others: 3, all: 6 };

/** Answers in a vault of their own, by a clock that stands. */
function open(t: TestContext, quotas = few) {
  const vault = openVault(join(temporaryFolder(t), 'vault.db'));
  const clock = { time: Date.UTC(2026, 0, 1) };
  const onFailure = (error: Error) => assert.fail(error);
  const replays = keepReplays({ replays: portOf(vault).replays, now: () => clock.time, onFailure, quotas });
  t.after(async () => {
    await replays.close();
    vault.close();
  });
  const reserve = (key: string, of: Partial<Parameters<typeof replays.reserve>[0]> = {}) =>
    replays.reserve({
      key,
      attempt: `attempt at ${key}`,
      fingerprint: 'a',
      caller: 'users/ada',
      by: 'user',
      about: null,
      seconds: 3600,
      ...of,
    });
  return { replays, reserve, clock };
}

describe('A kept answer', () => {
  it('is that of the first request with the key, until an hour later', async (t) => {
    const { replays, reserve, clock } = open(t);
    const first = { attempt: 'attempt at k', fingerprint: 'a' };
    assert.deepEqual(await reserve('k'), { ...first, answer: null, age: 0 });
    clock.time += 5000;
    const other = { attempt: 'another', fingerprint: 'b' };
    assert.deepEqual(await reserve('k', other), { ...first, answer: null, age: 5000 });
    await replays.keep('k', 'another', 'not of the first');
    await replays.drop('k', 'another');
    await replays.keep('k', first.attempt, 'sealed');
    clock.time += hour - 5001;
    assert.deepEqual(await reserve('k', other), { ...first, answer: 'sealed', age: hour - 1 });
    clock.time += 1;
    assert.deepEqual(await reserve('k', other), { ...other, answer: null, age: 0 });
  });

  it('lasts no longer because the clock was put back, and shorter if that is asked for', async (t) => {
    const { replays, reserve, clock } = open(t);
    await reserve('back');
    await reserve('short', { seconds: 60 });
    clock.time += 60_000;
    assert.equal((await reserve('short', { attempt: 'later', seconds: 60 })).attempt, 'later');
    clock.time -= 24 * hour;
    await replays.purge();
    clock.time += hour;
    await replays.purge();
    assert.equal((await reserve('back', { attempt: 'later' })).attempt, 'later');
  });

  it('gives its key back if the request was refused', async (t) => {
    const { replays, reserve } = open(t);
    const { attempt } = await reserve('k');
    await replays.drop('k', attempt);
    assert.equal((await reserve('k', { attempt: 'next', fingerprint: 'b' })).attempt, 'next');
  });

  it('is one of few of each caller, and the others share a quota', async (t) => {
    const { reserve, clock } = open(t);
    const isFull = { name: 'DomainError', code: 'unavailable', retryAfter: 60 };
    await reserve('a');
    await reserve('b');
    await assert.rejects(reserve('c'), isFull);
    assert.equal((await reserve('b', { attempt: 'again' })).attempt, 'attempt at b');
    for (const caller of ['one', 'two', 'three']) await reserve(caller, { caller, by: 'other' });
    await assert.rejects(reserve('d', { caller: 'four', by: 'other' }), isFull);
    await reserve('e', { caller: 'k', by: 'key' });
    await assert.rejects(reserve('f', { caller: 'k', by: 'key' }), isFull);
    clock.time += hour;
    assert.equal((await reserve('c')).age, 0);
  });

  it('goes with its caller, and with the document that it shows', async (t) => {
    const { replays, reserve } = open(t, { user: 9, key: 9, other: 9, others: 9, all: 9 });
    await reserve('of ada');
    await reserve('of ada as another', { by: 'other' });
    await reserve('about ada', { caller: 'users/bob', about: 'users/ada' });
    await reserve('of bob', { caller: 'users/bob', about: 'users/eve' });
    await replays.forget(category('users'), 'ada');
    const isThere = async (key: string) => (await reserve(key, { attempt: 'new' })).attempt !== 'new';
    const there = [];
    for (const key of ['of ada', 'of ada as another', 'about ada', 'of bob']) there.push(await isThere(key));
    assert.deepEqual(there, [false, false, false, true]);
  });
});

describe('An encrypted answer', () => {
  const secret = { sent: 'a key that was sent', key: 'its hash', fingerprint: 'of the request' };

  it('is decrypted by the idempotency key, the route and the request that it was encrypted for', () => {
    const text = JSON.stringify({ secret: 'Zürich 🦊' });
    const sealed = encryptAnswer(text, secret);
    assert.equal(decryptAnswer(sealed, secret), text);
    assert.notEqual(encryptAnswer(text, secret), sealed);
    for (const name of ['sent', 'key', 'fingerprint'] as const)
      assert.throws(() => decryptAnswer(sealed, { ...secret, [name]: 'other' }), name);
    const bytes = Buffer.from(sealed, 'base64url');
    for (const at of [0, 16, bytes.length - 1]) {
      const altered = Buffer.from(bytes);
      altered[at] = (altered[at] ?? 0) ^ 1;
      assert.throws(() => decryptAnswer(altered.toString('base64url'), secret), String(at));
    }
  });
});

describe('A request that fails under an idempotency key', () => {
  const unread = new UnreadError('not_shown_yet', 'later');
  const conflict: Outcome = { ok: false, conflict: 'version', version: 1 };
  /** How an append may end, and the code of a second request with the key: `conflict` if that runs. */
  const ends: [name: string, append: Append, code: string][] = [
    [
      'recorded something',
      async () => ({ ok: true, position: 1, version: 1, recordedAt: '' }),
      'idempotency_key_in_use',
    ],
    ['may have', () => Promise.reject(new UnknownOutcomeError('the writer ended')), 'idempotency_key_in_use'],
    ['recorded what cannot be read', () => Promise.reject(unread), 'idempotency_key_in_use'],
    ['came too late', async () => conflict, 'conflict'],
    ['found the disk full', () => Promise.reject(new DomainError('disk_full', 'it is full')), 'conflict'],
  ];

  for (const [name, append, code] of ends) {
    const isKept = code !== 'conflict';
    it(`and ${name} ${isKept ? 'keeps' : 'gives back'} its key`, async (t) => {
      const { replays, clock } = open(t);
      const parts = { append, appendAnyway: append, replays, idempotencySecret: 'x' };
      const app = Object.assign({} as App, parts);
      const run = (requestId: string, work: (app: App) => Promise<never>) => {
        const user = { actor: { type: 'apiKey', id: 'k' }, session: null };
        const request = Object.assign({} as Request, {
          auth: { credentials: { user } },
          headers: { 'idempotency-key': 'a-key' },
          app: { requestId },
        });
        return answerOnce({ app, request, h: {} as ResponseToolkit }, work);
      };
      const first = run('first', async (noting) => {
        await noting.append({} as Command);
        throw new DomainError('unavailable', 'after that');
      });
      await assert.rejects(first);
      // Nothing waits for a request that began so long ago.
      clock.time += 60_000;
      const refuse = async () => {
        throw new DomainError('conflict', 'it runs');
      };
      await assert.rejects(run('second', refuse), { code });
    });
  }
});
