import assert from 'node:assert/strict';
import { cpSync, existsSync } from 'node:fs';
import { join } from 'node:path';
import { it } from 'node:test';
import { withDatabase } from '../../../storage/sqlite.ts';
import { login } from '../../helpers/accounts.ts';
import { asAdmin, describeWithPostgres, makeDatabase, useDatabase } from '../../helpers/postgres.ts';
import { runCommand, startService, temporaryFolder } from '../../helpers/service.ts';
import { config, secret, startNode, urlOf } from '../../running/nodes/node.ts';
import { move } from './moving.ts';

const withUsers = {
  collections: [
    ...config.collections,
    { slug: 'users', auth: { useAPIKey: true }, fields: [{ name: 'name', type: 'text' }] },
  ],
};

describeWithPostgres('annals log move --without-postgres', () => {
  const make = useDatabase();
  const posts = '/api/collections/posts';
  const flags = ['log', 'move', '--to', 'sqlite', '--without-postgres'];
  const reason = ['--reason', 'both servers are lost'];

  it('continues the log from the only node that is left, and then in another database', async (t) => {
    const { address } = await makeDatabase();
    const a = await startNode(t, address, { config: withUsers });
    const made = await a.call('POST', posts, { title: 'one', slug: 'one' });
    assert.equal(made.status, 201);
    const [email, password] = ['ada@example.org', 'a long enough password'];
    const user = await a.call('POST', '/api/collections/users', { email, password, name: 'Ada' });
    assert.equal(user.status, 201, JSON.stringify(user.body));
    assert.equal((await login(a, 'users', email, password)).status, 200);
    await a.stop();
    await asAdmin(
      address.hosts,
      'postgres',
      `DROP DATABASE ${address.database} WITH (FORCE)`,
      `DROP ROLE ${address.user}`,
    );
    const { data } = a;

    const known = await runCommand([...flags, ...reason, '--data', data], {
      environment: { ANNALS_POSTGRES_URL: urlOf(address) },
    });
    assert.deepEqual([known.code, known.stdout], [2, '']);
    assert.match(known.stderr, /^--without-postgres and ANNALS_POSTGRES_URL are both given/);
    const silent = await runCommand([...flags, '--data', data]);
    assert.match(silent.stderr, /^--reason is missing: the log keeps why another key signs it/);
    const into = await runCommand(['log', 'move', '--without-postgres', ...reason, '--data', data]);
    assert.match(into.stderr, /^--without-postgres goes with --to sqlite/);

    // An altered replica stays as it is.
    const altered = join(temporaryFolder(t), 'altered');
    cpSync(data, altered, { recursive: true });
    withDatabase(join(altered, 'log.db'), {}, (db) => {
      const guards = db.prepare("SELECT name FROM sqlite_schema WHERE type = 'trigger' AND tbl_name = 'payloads'");
      for (const name of guards.pluck().all()) db.exec(`DROP TRIGGER ${name}`);
      assert.equal(
        db.prepare("UPDATE payloads SET body = replace(body, 'one', 'two') WHERE position = 2").run().changes,
        1,
      );
    });
    const unsound = await runCommand([...flags, ...reason, '--data', altered]);
    assert.equal(unsound.code, 2);
    assert.match(unsound.stderr, /the log of \S+ is not sound: /);
    assert.ok(existsSync(join(altered, 'replica')));

    const done = await runCommand([...flags, ...reason, '--data', data]);
    assert.equal(done.code, 0, done.stderr);
    assert.match(done.stderr, /all users have to reset their passwords/);
    assert.match(
      done.stdout,
      /auditors need to know the new key: annals\/\S+\nthe log is in \S+, with \d+ events: start/,
    );
    const again = await runCommand([...flags, ...reason, '--data', data]);
    assert.match(again.stderr, /is not that of a node: its log is its own/);

    const alone = await startService(t, withUsers, { data, environment: { ANNALS_SECRET: secret } });
    assert.equal((await alone.call('GET', `${posts}/${made.body.id}`)).body.title, 'one');
    assert.equal((await alone.call('POST', posts, { title: 'two', slug: 'one' })).status, 409);
    assert.equal((await alone.call('POST', posts, { title: 'two', slug: 'two' })).status, 201);
    assert.equal((await login(alone, 'users', email, password)).status, 401);
    const { keys } = (await alone.call('GET', '/api/audit/signing-keys')).body;
    assert.deepEqual(
      keys.map(({ signs, replaced }: { signs: boolean; replaced?: { reason: string } }) => [signs, replaced?.reason]),
      [
        [false, 'both servers are lost'],
        [true, undefined],
      ],
    );
    const reset = await alone.call('PATCH', `/api/collections/users/${user.body.id}`, {
      password: 'another long password',
    });
    assert.equal(reset.status, 200, JSON.stringify(reset.body));
    assert.equal((await login(alone, 'users', email, 'another long password')).status, 200);

    const database = await make();
    const moved = await move(data, database);
    assert.equal(moved.code, 0, moved.stderr);
    await alone.stop();
    const verified = await runCommand(['verify', '--data', data]);
    assert.equal(verified.code, 0, verified.stdout + verified.stderr);
    const node = await startNode(t, database.address, { config: withUsers });
    assert.equal((await node.call('GET', posts)).body.total, 2);
    assert.equal((await login(node, 'users', email, 'another long password')).status, 200);
  });
});
