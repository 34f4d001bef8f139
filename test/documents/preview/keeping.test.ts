import assert from 'node:assert/strict';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { openVault } from '../../../events/vault/vault.ts';
import { portOf } from '../../../events/vault/vault-port.ts';
import { signToken, tokenReader } from '../../../server/callers/tokens.ts';
import { keepPreviews } from '../../../server/documents/preview/keeping.ts';
import { openPreview, signPreview } from '../../../server/documents/preview/tokens.ts';
import { category } from '../../helpers/category.ts';
import { temporaryFolder } from '../../helpers/service.ts';
import { eventually } from '../../helpers/shared.ts';

const start2026 = Date.UTC(2026, 0, 1);
const minutes = 60_000;
const small = { count: 3, bytes: 100_000 };
const roomy = { count: 100, bytes: 1_000_000_000 };
const spacious = { user: roomy, key: roomy, other: roomy, others: roomy, all: roomy };

/** Previews in a vault of their own, by a clock that stands. */
function open(t: TestContext, quotas = { ...spacious, user: small }, folder = temporaryFolder(t)) {
  const vault = openVault(join(folder, 'vault.db'));
  const clock = { time: start2026 };
  const onFailure = (error: Error) => assert.fail(error);
  const previews = keepPreviews({ previews: portOf(vault).previews, now: () => clock.time, onFailure, quotas });
  let isOpen = true;
  async function close(): Promise<void> {
    if (!isOpen) return;
    isOpen = false;
    await previews.close();
    vault.close();
  }
  t.after(close);
  const keep = (text: string, of: Partial<Parameters<typeof previews.keep>[0]> = {}) =>
    previews.keep({
      caller: 'users/ada',
      by: 'user',
      collection: 'posts',
      document: 'one',
      data: JSON.stringify({ text }),
      ...of,
    });
  const textOf = async (id: string) => {
    const preview = await previews.read(id);
    return preview && JSON.parse(preview.data).text;
  };
  return { previews, keep, textOf, clock, folder, close };
}

function bytesOf(folder: string): Buffer {
  return Buffer.concat(readdirSync(folder).map((name) => readFileSync(join(folder, name))));
}

describe('Previews in the vault', () => {
  it('live for 15 minutes, also past the end of the process', async (t) => {
    const first = open(t);
    const id = await first.keep('mine');
    await first.close();
    const { previews, clock, textOf } = open(t, undefined, first.folder);
    clock.time += 15 * minutes - 1;
    assert.deepEqual(await previews.read(id), { collection: 'posts', document: 'one', data: '{"text":"mine"}' });
    clock.time += 1;
    assert.equal(await textOf(id), null);
  });

  it('are gone from the disk when they have expired, whatever their size, without a call', async (t) => {
    const { previews, keep, textOf, clock, folder } = open(t, spacious);
    for (let index = 0; index < 40; index += 1) await keep(`small-${'x'.repeat(10 * index)}-trace`);
    for (let index = 0; index < 4; index += 1) await keep(`large-trace-${'x'.repeat(1_000_000)}`);
    clock.time += 10 * minutes;
    const later = await keep('the later one');
    clock.time += 5 * minutes;
    assert.ok(bytesOf(folder).includes('-trace'));
    await previews.purge();
    assert.ok(!bytesOf(folder).includes('-trace'));
    assert.equal(await textOf(later), 'the later one');
  });

  it('leave no copies in the places from which SQLite has moved them', (t) => {
    const folder = temporaryFolder(t);
    const vault = openVault(join(folder, 'vault.db'));
    t.after(vault.close);
    // Of what these numbers choose, copies of three were left when several previews shared a page.
    let state = 2;
    const random = (below: number) => {
      state = (state * 48271) % 2147483647;
      return state % below;
    };
    const [left, gone]: [string[], string[]] = [[], []];
    for (let number = 0; number < 400; number += 1) {
      const [id, caller, data] = [String(number), `user:${number % 7}`, `<<${number}>>${'x'.repeat(random(200))}`];
      const rooms = { own: roomy, all: roomy, others: null };
      vault.previews.keep({ id, caller, collection: 'posts', document: 'one', data, expiresAt: number }, rooms);
      left.push(id);
      if (number <= 20 || random(10) === 9) continue;
      gone.push(...left.splice(random(left.length), 1));
      vault.previews.delete(gone.at(-1) as string);
    }
    const bytes = bytesOf(folder);
    assert.deepEqual(
      gone.filter((id) => bytes.includes(`<<${id}>>`)),
      [],
    );
    assert.ok(left.every((id) => bytes.includes(`<<${id}>>`)));
  });

  it('leave a small file when there were many', async (t) => {
    const { previews, keep, clock, folder } = open(t, spacious);
    const size = () => statSync(join(folder, 'vault.db')).size;
    for (let index = 0; index < 70; index += 1) await keep('x'.repeat(1_000_000));
    assert.ok(size() > 50_000_000);
    clock.time += 15 * minutes;
    await previews.purge();
    assert.ok(size() < 200_000, String(size()));
  });

  it('of which a start finds some that have expired are purged then', async (t) => {
    const { keep, clock, folder, close } = open(t);
    clock.time -= 20 * minutes;
    await keep('a-trace-of-yesterday');
    await close();
    open(t, undefined, folder);
    await eventually(() => !bytesOf(folder).includes('a-trace-of-yesterday'));
  });

  it('do not live longer because the clock was put back', async (t) => {
    const { previews, keep, textOf, clock } = open(t);
    const id = await keep('from tomorrow');
    clock.time -= 24 * 60 * minutes;
    await previews.purge();
    clock.time += 15 * minutes;
    assert.equal(await textOf(id), null);
  });

  it('go when their caller has too many, the oldest first, and those of others stay', async (t) => {
    const { keep, textOf } = open(t);
    const other = await keep('other', { caller: 'users/bob' });
    const ids: string[] = [];
    for (const text of ['1', '2', '3', '4', '5']) ids.push(await keep(text));
    assert.deepEqual(await Promise.all(ids.map(textOf)), [null, null, '3', '4', '5']);
    const large = await keep('x'.repeat(90_000));
    assert.deepEqual(
      [...(await Promise.all(ids.map(textOf))), (await textOf(large))?.length],
      [null, null, null, '4', '5', 90_000],
    );
    // A preview too large to fit beside any other is kept all the same: its body was within the limit.
    const larger = await keep('x'.repeat(200_000));
    assert.deepEqual([await textOf(large), (await textOf(larger))?.length], [null, 200_000]);
    assert.equal(await textOf(other), 'other');
  });

  it('of an API key are more, for many editors are behind it', async (t) => {
    const { keep, textOf } = open(t);
    const ids = await Promise.all(['1', '2', '3', '4', '5'].map((text) => keep(text, { by: 'key' })));
    assert.deepEqual(await Promise.all(ids.map(textOf)), ['1', '2', '3', '4', '5']);
  });

  it('are refused when there is no room for those of all, and nothing is dropped for it', async (t) => {
    const { keep, textOf, clock } = open(t, { ...spacious, user: small, all: { count: 4, bytes: 150_000 } });
    const full = { code: 'unavailable', retryAfter: 60, message: /^there are too many previews/ };
    const mine = [await keep('1'), await keep('2'), await keep('3')];
    await keep('other', { caller: 'users/bob' });
    await assert.rejects(keep('other', { caller: 'users/bob' }), full);
    await assert.rejects(keep('x'.repeat(160_000)), full);
    assert.deepEqual(await Promise.all(mine.map(textOf)), ['1', '2', '3']);
    // A preview that replaces its own needs no more room.
    const fourth = await keep('4');
    assert.deepEqual(await Promise.all([...mine, fourth].map(textOf)), [null, '2', '3', '4']);
    clock.time += 15 * minutes;
    assert.ok(await keep('later'));
  });

  it('of callers who are not of the admin collection have a room of their own, together', async (t) => {
    const others = { count: 3, bytes: 1_000 };
    const { keep, textOf, previews } = open(t, { ...spacious, other: { count: 2, bytes: 1_000 }, others });
    const by = (name: string) => ({ by: 'other', caller: `readers/${name}` }) as const;
    const full = { code: 'unavailable', retryAfter: 60 };
    const first = await keep('1', by('ada'));
    const second = await keep('2', by('ada'));
    const third = await keep('3', by('bob'));
    await assert.rejects(keep('4', by('eve')), full);
    // Their own go first, and those of editors and keys do not count.
    const fourth = await keep('4', by('ada'));
    await assert.rejects(keep('x'.repeat(1_000), by('ada')), full);
    for (const text of ['5', '6', '7', '8']) await keep(text, { by: Number(text) % 2 ? 'user' : 'key' });
    assert.deepEqual(await Promise.all([first, second, third, fourth].map(textOf)), [null, '2', '3', '4']);
    await previews.forget(category('readers'), 'ada');
    assert.deepEqual(await Promise.all([second, third, fourth].map(textOf)), [null, '3', null]);
    assert.ok(await keep('9', by('eve')));
  });

  it('are refused when too many come at once', async (t) => {
    const { keep } = open(t, spacious);
    const outcomes = await Promise.allSettled(Array.from({ length: 100 }, () => keep('x')));
    const refused = outcomes.filter(({ status }) => status === 'rejected');
    assert.equal(refused.length, 36);
    for (const { reason } of refused as PromiseRejectedResult[]) assert.equal(reason.code, 'unavailable');
    assert.ok(await keep('now'));
  });

  it('are forgotten with their document, and with the user who keeps them', async (t) => {
    const { previews, keep, textOf, folder } = open(t);
    const about = await keep('about-it-trace', { document: 'two', by: 'key', caller: '1' });
    const by = await keep('by-her-trace', { caller: 'posts/two' });
    const other = await keep('another');
    await previews.forget(category('posts'), 'two');
    assert.deepEqual(await Promise.all([about, by, other].map(textOf)), [null, null, 'another']);
    for (const trace of ['about-it-trace', 'by-her-trace']) assert.ok(!bytesOf(folder).includes(trace));
  });
});

describe('A preview token', () => {
  const now = start2026;
  const secrets = ['a secret of these tests', 'the one before'];

  it('opens its preview for 15 minutes, also after the secret was rotated', () => {
    const token = signPreview('a-preview', { secrets: ['the one before'], site: null, now });
    assert.equal(openPreview(token, { secrets, site: null, now: now + 15 * minutes - 1 }), 'a-preview');
    assert.equal(openPreview(token, { secrets, site: null, now: now + 15 * minutes }), null);
    assert.equal(openPreview(token, { secrets: ['a secret of others'], site: null, now }), null);
  });

  it('is of one site, or of none', () => {
    const [acme, none] = [
      signPreview('a', { secrets: secrets, site: 'acme', now }),
      signPreview('a', { secrets: secrets, site: null, now }),
    ];
    const opens = (token: string, site: string | null) => openPreview(token, { secrets, site, now }) === 'a';
    assert.deepEqual([opens(acme, 'acme'), opens(acme, 'other'), opens(acme, null)], [true, false, false]);
    assert.deepEqual([opens(none, 'acme'), opens(none, null)], [false, true]);
  });

  it('is no login, and a login is no preview', () => {
    const login = signToken(secrets, { sub: 'a', collection: 'users', sid: 'b' }, { ttlSec: 60, now });
    assert.equal(openPreview(login, { secrets, site: null, now }), null);
    assert.equal(tokenReader(secrets, null)(signPreview('a', { secrets: secrets, site: null, now }), now), null);
  });
});
