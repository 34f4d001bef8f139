import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { anonymous } from '../helpers/accounts.ts';
import { type HereService, startHere } from '../helpers/embedded.ts';

const users = { slug: 'users', auth: true, fields: [], access: { create: () => true } } as const;
const policy = '"address";q=5;w=60, "email";q=2;w=60';

async function ask(service: HereService, email: string, path = 'login') {
  const sent = { email, ...(path === 'login' ? { password: 'correct horse battery' } : {}) };
  const { status, headers } = await service.call('POST', `/api/collections/users/${path}`, sent, anonymous);
  const told = ['ratelimit-policy', 'ratelimit', 'retry-after'].map((name) => headers.get(name));
  return [status, ...told];
}

describe('The RateLimit fields', () => {
  it('tell how many calls are left, and of an e-mail only that none is', async (t) => {
    const service = await startHere(t, { bcryptCost: 4, rateLimit: { address: 5, email: 2 }, collections: [users] });
    for (const left of [4, 3]) {
      const [status, told, rate, wait] = await ask(service, 'ada@example.org');
      assert.deepEqual([status, told, wait], [401, policy, null]);
      assert.match(String(rate), new RegExp(`^"address";r=${left};t=(60|[1-5]?[0-9])$`));
    }
    const [status, told, rate, wait] = await ask(service, 'ada@example.org');
    assert.deepEqual([status, told], [429, policy]);
    assert.match(String(rate), new RegExp(`^"address";r=2;t=[0-9]+, "email";r=0;t=${wait}$`));
    const [other] = await ask(service, 'bob@example.org', 'forgot-password');
    assert.equal(other, 200);
    await ask(service, 'bob@example.org');
    const [full, , none, seconds] = await ask(service, 'cy@example.org');
    assert.deepEqual([full, none], [429, `"address";r=0;t=${seconds}`]);
  });

  it('are in no answer that is not counted, and in none without a limit', async (t) => {
    const service = await startHere(t, { bcryptCost: 4, collections: [users] });
    for (const [method, path] of [
      ['GET', '/api/collections/users'],
      ['GET', '/api/collections/users/init'],
    ] as const)
      assert.equal((await service.call(method, path)).headers.get('ratelimit'), null);
    const created = { email: 'ada@example.org', password: 'correct horse battery' };
    const byKey = await service.call('POST', '/api/collections/users', created);
    assert.deepEqual([byKey.status, byKey.headers.get('ratelimit-policy')], [201, null]);
    const byAnybody = await service.call(
      'POST',
      '/api/collections/users',
      { ...created, email: 'b@example.org' },
      anonymous,
    );
    assert.equal(byAnybody.headers.get('ratelimit-policy'), '"address";q=300;w=60, "email";q=60;w=60');
    const unlimited = await startHere(t, { bcryptCost: 4, rateLimit: false, collections: [users] });
    assert.deepEqual(await ask(unlimited, 'ada@example.org'), [401, null, null, null]);
  });
});
