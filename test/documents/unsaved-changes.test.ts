import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import type { Category } from '../../config/schema.ts';
import type { KeepResult, NewUnsavedChange, UnsavedQuotas } from '../../events/vault/unsaved-changes.ts';
import { openVault } from '../../events/vault/vault.ts';
import { portOf } from '../../events/vault/vault-port.ts';
import { keepUnsavedChanges, usualQuotas } from '../../server/documents/unsaved-changes/keeping.ts';
import { oneByOne } from '../../server/platform/one-by-one.ts';
import { category } from '../helpers/category.ts';
import { temporaryFolder } from '../helpers/service.ts';

const start2026 = Date.UTC(2026, 0, 1);
const days = 24 * 60 * 60 * 1000;

/** Unsaved changes in a vault of their own, by a clock that stands. */
async function open(t: TestContext, { quotas = usualQuotas, folder = temporaryFolder(t), time = start2026 } = {}) {
  const vault = openVault(join(folder, 'vault.db'));
  const clock = { time };
  const onFailure = (error: Error) => assert.fail(error);
  const changes = keepUnsavedChanges({
    changes: portOf(vault).unsavedChanges,
    now: () => clock.time,
    onFailure,
    quotas,
  });
  // The one of the start.
  await changes.purge();
  let isOpen = true;
  async function close(): Promise<void> {
    if (!isOpen) return;
    isOpen = false;
    await changes.close();
    vault.close();
  }
  t.after(close);
  const keep = (target: string, text: string, of: Partial<NewUnsavedChange> = {}): Promise<KeepResult> =>
    changes.keep({
      owner: 'users/ada',
      adminCollection: category('users'),
      target,
      version: 1,
      title: 'A title',
      data: JSON.stringify({ text }),
      expected: null,
      ...of,
    });
  return { changes, keep, clock, folder, close };
}

const bytesOf = (folder: string) => Buffer.concat(readdirSync(folder).map((name) => readFileSync(join(folder, name))));

describe('Unsaved changes of users, in the vault', () => {
  it('live for 30 days after they were kept last, and are gone from the disk then', async (t) => {
    const { changes, keep, clock, folder } = await open(t);
    for (let index = 0; index < 50; index += 1) await keep(`posts/${index}`, `small-trace-${'x'.repeat(50 * index)}`);
    for (let index = 50; index < 56; index += 1) await keep(`posts/${index}`, `large-trace-${'x'.repeat(500_000)}`);
    clock.time += 20 * days;
    await keep('posts/0', 'kept again');
    clock.time += 10 * days - 1;
    await changes.purge();
    assert.equal((await changes.list('users/ada')).length, 56);
    assert.ok(bytesOf(folder).includes('-trace-'));
    clock.time += 1;
    assert.deepEqual(
      (await changes.list('users/ada')).map(({ target }) => target),
      ['posts/0'],
      'before they are deleted',
    );
    assert.equal(await changes.read('users/ada', 'posts/1'), null);
    assert.deepEqual(await changes.remove('users/ada', 'posts/1', null), { kind: 'none' });
    await changes.purge();
    assert.ok(!bytesOf(folder).includes('-trace-'));
    assert.equal((await changes.read('users/ada', 'posts/0'))?.data, '{"text":"kept again"}');
    clock.time += 20 * days;
    await changes.purge();
    assert.ok(!bytesOf(folder).includes('kept again'));
  });

  it('of which a start finds some that have expired are deleted then', async (t) => {
    const { keep, folder, close } = await open(t);
    await keep('posts/one', 'a trace of last month');
    await close();
    await open(t, { folder, time: start2026 + 30 * days });
    assert.ok(!bytesOf(folder).includes('a trace of last month'));
  });

  it('do not live longer because the clock was put back', async (t) => {
    const { changes, keep, clock } = await open(t);
    await keep('posts/one', 'from tomorrow');
    clock.time -= 400 * days;
    await changes.purge();
    clock.time += 30 * days;
    assert.deepEqual(await changes.list('users/ada'), []);
  });

  it('have a quota of each user and one of all, in which one comes in the place of itself', async (t) => {
    const all = { count: 5, bytes: 2000 };
    const quotas: UnsavedQuotas = { user: { count: 3, bytes: 1000 }, all, others: all, lifetime: days };
    const { changes, keep, clock } = await open(t, { quotas });
    const of = (owner: string) => ({ owner });
    const kinds = (all: KeepResult[]) => all.map((one) => (one.kind === 'full' ? one.of : one.kind));
    const ada = await Promise.all(['1', '2', '3', '4', '3'].map((id) => keep(`posts/${id}`, 'x')));
    assert.deepEqual(kinds(ada), [...['kept', 'kept', 'kept', 'user'], 'kept']);
    assert.deepEqual(await keep('posts/3', 'x'.repeat(1000)), { kind: 'full', of: 'user', count: 2, bytes: 38 });
    assert.equal((await keep('posts/3', 'x'.repeat(900))).kind, 'kept');
    const bob = await Promise.all(['1', '2', '3', '2'].map((id) => keep(`posts/${id}`, 'y', of('users/bob'))));
    assert.deepEqual(kinds(bob), ['kept', 'kept', 'all', 'kept']);
    assert.equal((await changes.remove('users/ada', 'posts/1', null)).kind, 'removed');
    const large = await keep('posts/1', 'z'.repeat(950), of('users/eve'));
    assert.deepEqual(kinds([large, await keep('posts/2', 'z'.repeat(950), of('users/bob'))]), ['kept', 'all']);
    // Expired ones take room until they are deleted.
    clock.time += days;
    assert.deepEqual(kinds([await keep('posts/9', 'z', of('users/dan'))]), ['all']);
    await changes.purge();
    assert.deepEqual(kinds([await keep('posts/9', 'z', of('users/dan'))]), ['kept']);
  });

  it('have a quota of those who are not of the admin collection, which leaves the rest to its users', async (t) => {
    const [user, others, all] = [10, 2, 5].map((count) => ({ count, bytes: 300 * count }));
    assert.ok(user && others && all);
    const { changes, keep, clock } = await open(t, { quotas: { user, others, all, lifetime: days } });
    const kind = async (
      owner: string,
      id: string,
      text = 'x',
      adminCollection: Category | null = category('users'),
    ) => {
      const kept = await keep(`posts/${id}`, text, { owner, adminCollection });
      return kept.kind === 'full' ? { ...kept, kind: undefined } : kept.kind;
    };
    assert.equal(await kind('users/ada', '1'), 'kept');
    assert.equal(await kind('members/eve', '1'), 'kept');
    // A slug is not that of the admin collection because it begins with it.
    assert.equal(await kind('users-too/bob', '1'), 'kept');
    const full = { kind: undefined, of: 'others', count: 2, bytes: 38 };
    assert.deepEqual(await kind('members/dan', '1'), full);
    assert.deepEqual(await kind('members/eve', '2'), full);
    // In the place of itself, up to the bytes that there are.
    assert.equal(await kind('members/eve', '1', 'x'.repeat(500)), 'kept');
    assert.deepEqual(await kind('members/eve', '1', 'x'.repeat(600)), { ...full, count: 1, bytes: 19 });
    assert.deepEqual(await Promise.all(['2', '3'].map((id) => kind('users/ada', id))), ['kept', 'kept']);
    assert.deepEqual(await kind('users/ada', '4'), { kind: undefined, of: 'all', count: 5, bytes: 594 });
    await changes.remove('users/ada', 'posts/1', null);
    // Without an admin collection, all users are others.
    assert.deepEqual(await kind('users/ada', '9', 'x', null), { kind: undefined, of: 'others', count: 4, bytes: 575 });
    clock.time += days;
    await changes.purge();
    assert.equal(await kind('members/dan', '1'), 'kept');
  });

  it('leave nine tenths of the room to the users of the admin collection', () => {
    assert.deepEqual(usualQuotas.others, {
      count: usualQuotas.all.count / 10,
      bytes: Math.floor(usualQuotas.all.bytes / 10),
    });
  });
});

describe('Work that is done one by one', () => {
  it('has a turn each, in order, goes on after a failure, and is refused when too much waits', async () => {
    const line = oneByOne(3, () => new Error('too many'));
    const order: string[] = [];
    const run = (name: string) =>
      line.run(() => {
        setImmediate(() => order.push(`after ${name}`));
        order.push(name);
        if (name === 'b') throw new Error('b failed');
        return name;
      });
    const settled = await Promise.allSettled(['a', 'b', 'c', 'd'].map(run));
    assert.deepEqual(
      settled.map((one) => (one.status === 'fulfilled' ? one.value : one.reason.message)),
      ['a', 'b failed', 'c', 'too many'],
    );
    assert.deepEqual(order.slice(0, 5), ['a', 'after a', 'b', 'after b', 'c']);
    assert.equal(await run('e'), 'e');
    await line.ended();
  });
});
