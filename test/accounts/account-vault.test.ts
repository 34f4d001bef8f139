import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { readdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import Database from 'better-sqlite3';
import { decidePassword } from '../../events/facts/accounts.ts';
import { openLog } from '../../events/log/sqlite-log.ts';
import { createIds } from '../../events/store/ids.ts';
import { openDatabase } from '../../storage/sqlite.ts';
import { sealsIn } from '../events/logs.ts';
import { login } from '../helpers/accounts.ts';
import { category } from '../helpers/category.ts';
import { startHere } from '../helpers/embedded.ts';
import { runHere } from '../helpers/in-process.ts';
import { temporaryFolder, writeConfig } from '../helpers/service.ts';

const config = { bcryptCost: 4, collections: [{ slug: 'users', auth: { useAPIKey: true }, fields: [] }] };
const password = 'correct horse battery';

describe('A vault that was lost', () => {
  it('is told at start once the log is accepted without it, and its accounts go on with new passwords', async (t) => {
    const data = join(temporaryFolder(t), 'data');
    const first = await startHere(t, config, { data });
    const setupToken = /setup\?token=(\S+)/.exec(first.setupUrl ?? '')?.[1];
    const gone = await first.call('POST', '/api/collections/users', { email: 'first@example.org', password });
    await first.call('DELETE', `/api/collections/users/${gone.body.id}`);
    // The link that was printed before the first account is not for later.
    const mallory = { setupToken, email: 'mallory@example.org', password };
    assert.equal((await first.call('POST', '/api/collections/users/first-user', mallory)).status, 403);
    const { body } = await first.call('POST', '/api/collections/users', { email: 'ada@example.org', password });
    await first.call('POST', '/api/collections/users', { email: 'without@example.org' });
    await first.stop();
    for (const name of readdirSync(data)) if (name.startsWith('vault.db')) rmSync(join(data, name));

    const options = ['--config', writeConfig(temporaryFolder(t), config), '--data', data];
    const refused = await runHere(['serve', '--port', '0', ...options], { environment: { ANNALS_THREADS: '0' } });
    assert.equal(refused.code, 2);
    assert.match(refused.stderr, /not sealed by the key of vault\.db: .*--accept-foreign-writes/);
    assert.equal((await runHere(['rebuild', '--accept-foreign-writes', '--reason', 'x', ...options])).code, 0);
    const service = await startHere(t, config, { data });
    assert.match(service.output().stderr, /passwords that vault\.db lacks: 1;/);
    assert.equal((await login(service, 'users', 'ada@example.org', password)).status, 401);
    const path = `/api/collections/users/${body.id}`;
    assert.equal((await service.call('PATCH', path, { password: 'a new one for her' })).status, 200);
    assert.equal((await login(service, 'users', 'ada@example.org', 'a new one for her')).status, 200);
  });
});

describe('A hash in the vault', () => {
  it('that replaces another is found by verify, logs in no one, is reported, and is not in the log', async (t) => {
    const data = join(temporaryFolder(t), 'data');
    const first = await startHere(t, config, { data });
    const make = async (email: string, itsPassword: string) =>
      (await first.call('POST', '/api/collections/users', { email, password: itsPassword })).body.id;
    const ada = await make('ada@example.org', password);
    await make('mallory@example.org', 'what mallory knows');
    const old = await make('old@example.org', 'to be set as before');
    assert.equal((await login(first, 'users', 'ada@example.org', password)).status, 200);
    await first.stop();
    setAsBefore(data, old);
    const sound = await runHere(['verify', '--data', data]);
    assert.equal(sound.code, 0, sound.stdout);
    assert.match(sound.stdout, /^note: passwords are those that were set: 2$/m);
    assert.match(sound.stdout, /^note: passwords were set before events said which hash was kept: .*: 1$/m);

    const vault = new Database(join(data, 'vault.db'));
    const secrets = vault
      .prepare('SELECT hash FROM passwords UNION SELECT value FROM secrets')
      .pluck()
      .all() as string[];
    const log = readdirSync(data).filter((name) => /^(log|read-)/.test(name));
    const bytes = Buffer.concat(log.map((name) => readFileSync(join(data, name))));
    assert.ok(bytes.includes('hmac-sha256:') && secrets.length > 5);
    for (const text of secrets) {
      assert.ok(!bytes.includes(text), text);
      assert.ok(!bytes.includes(Buffer.from(text, 'base64url')), text);
    }

    const [of] = credentialsOf(data, ada) as [string];
    const swap =
      'UPDATE passwords SET hash = (SELECT hash FROM passwords WHERE credential <> ? LIMIT 1) WHERE credential = ?';
    assert.equal(vault.prepare(swap).run(of, of).changes, 1);
    vault.close();
    const found = await runHere(['verify', '--data', data]);
    assert.equal(found.code, 1);
    assert.match(
      found.stdout,
      new RegExp(`^NOT SOUND: accounts/users/${ada}: the hash in vault\\.db is not that`, 'm'),
    );

    const service = await startHere(t, config, { data });
    assert.match(service.output().stderr, /whose hash in vault\.db is not the one that was set: 1;/);
    for (const given of [password, 'what mallory knows', 'to be set as before']) {
      assert.equal((await login(service, 'users', 'ada@example.org', given)).status, 401);
    }
    assert.match(service.output().stderr, /a login was refused: the hash in vault\.db is not that of the password/);
    const changed = await service.call('PATCH', `/api/collections/users/${ada}`, { password: 'a new one for her' });
    assert.equal(changed.status, 200);
    assert.equal((await login(service, 'users', 'ada@example.org', 'a new one for her')).status, 200);
    assert.equal((await login(service, 'users', 'old@example.org', 'to be set as before')).status, 200);
    await service.stop();
    assert.equal((await runHere(['verify', '--data', data])).code, 0);
  });
});

function credentialsOf(data: string, id: string): unknown[] {
  const [name = ''] = readdirSync(data).filter((file) => /^read-[0-9a-f]+\.db$/.test(file));
  const db = new Database(join(data, name), { readonly: true });
  const found = db.prepare('SELECT credential FROM accounts WHERE stream = ?').pluck().all(`accounts/users/${id}`);
  db.close();
  return found;
}

/** Turns the password of an account into one that was set before events said which hash was kept. */
function setAsBefore(data: string, id: string): void {
  const credential = randomUUID();
  const [now] = credentialsOf(data, id);
  const vault = new Database(join(data, 'vault.db'));
  vault.prepare('UPDATE passwords SET credential = ? WHERE credential = ?').run(credential, now);
  vault.close();
  const db = openDatabase(join(data, 'log.db'), { durability: 'full' });
  const ids = createIds(new BigInt64Array(new SharedArrayBuffer(8)), Date.now);
  const change = decidePassword({ category: category('users'), id }, credential);
  openLog(db, { ids, now: Date.now, seals: sealsIn(data) }).append([
    { ...change, actor: { type: 'system' }, correlationId: ids.next().id, context: {} },
  ]);
  db.close();
}

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
