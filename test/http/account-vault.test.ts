import assert from 'node:assert/strict';
import { readdirSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { login } from '../helpers/accounts.ts';
import { startHere } from '../helpers/embedded.ts';
import { temporaryFolder } from '../helpers/service.ts';

const config = { bcryptCost: 4, collections: [{ slug: 'users', auth: { useAPIKey: true }, fields: [] }] };
const password = 'correct horse battery';

describe('A vault that was lost', () => {
  it('is told at start, and its accounts go on with new passwords', async (t) => {
    const data = join(temporaryFolder(t), 'data');
    const first = await startHere(t, config, { data });
    const setupToken = /setup\?token=(\S+)/.exec(first.setupUrl ?? '')?.[1];
    const gone = await first.call('POST', '/api/collections/users', { email: 'first@example.org', password });
    await first.call('DELETE', `/api/collections/users/${gone.body.id}`);
    // The link that was printed when nobody had ever been there is not for later.
    const mallory = { setupToken, email: 'mallory@example.org', password };
    assert.equal((await first.call('POST', '/api/collections/users/first-user', mallory)).status, 403);
    const { body } = await first.call('POST', '/api/collections/users', { email: 'ada@example.org', password });
    await first.call('POST', '/api/collections/users', { email: 'without@example.org' });
    await first.stop();
    for (const name of readdirSync(data)) if (name.startsWith('vault.db')) rmSync(join(data, name));

    const service = await startHere(t, config, { data });
    assert.match(service.output().stderr, /passwords that vault\.db lacks: 1;/);
    assert.equal((await login(service, 'users', 'ada@example.org', password)).status, 401);
    const path = `/api/collections/users/${body.id}`;
    assert.equal((await service.call('PATCH', path, { password: 'a new one for her' })).status, 200);
    assert.equal((await login(service, 'users', 'ada@example.org', 'a new one for her')).status, 200);
  });
});

describe('A log that was lost', () => {
  it('takes no password with it: they are there when it is', async (t) => {
    const data = join(temporaryFolder(t), 'data');
    const aside = temporaryFolder(t);
    const move = (from: string, to: string) => {
      for (const name of readdirSync(from)) {
        if (/^(log|read)/.test(name)) renameSync(join(from, name), join(to, name));
      }
    };
    const first = await startHere(t, config, { data });
    await first.call('POST', '/api/collections/users', { email: 'ada@example.org', password });
    await first.stop();
    move(data, aside);
    const second = await startHere(t, config, { data });
    assert.match(second.output().stderr, /vault\.db was made for another log/);
    await second.stop();
    for (const name of readdirSync(data)) if (/^(log|read)/.test(name)) rmSync(join(data, name));
    move(aside, data);
    const third = await startHere(t, config, { data });
    assert.doesNotMatch(third.output().stderr, /vault\.db/);
    assert.equal((await login(third, 'users', 'ada@example.org', password)).status, 200);
  });
});
