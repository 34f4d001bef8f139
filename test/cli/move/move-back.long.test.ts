import assert from 'node:assert/strict';
import { it } from 'node:test';
import { parseCheckpoint } from '../../../events/proof/notes.ts';
import { loggedIn, login } from '../../helpers/accounts.ts';
import { describeWithPostgres, useDatabase } from '../../helpers/postgres.ts';
import { verifyConsistency } from '../../helpers/proofs.ts';
import { apiKey, runCommand, type Service, startService, temporaryFolder, writeConfig } from '../../helpers/service.ts';
import { config, secret, startNode } from '../../running/nodes/node.ts';
import { move, moveBack, rowsOf } from './moving.ts';

const withUsers = {
  collections: [...config.collections, { slug: 'users', auth: true, fields: [{ name: 'name', type: 'text' }] }],
};

describeWithPostgres('annals log move, there and back', () => {
  const make = useDatabase();

  it('moves accounts, drafts and keys with it, to nodes and back, with the same root and the same rows', async (t) => {
    const database = await make();
    const environment = { ANNALS_SECRET: secret };
    const service = await startService(t, withUsers, { environment });
    const [email, password] = ['ada@example.org', 'a long enough password'];
    const file = writeConfig(temporaryFolder(t), withUsers);
    const created = await runCommand(
      ['create-user', 'users', '--email', email, '--config', file, '--data', service.data],
      {
        input: `${password}\n`,
      },
    );
    assert.equal(created.code, 0, created.stderr);
    const ada = await loggedIn(service, 'users', email, password);
    const posts = '/api/collections/posts';
    const made = await service.call('POST', posts, { title: 'one', slug: 'one' });
    const gone = await service.call('POST', posts, { title: 'a secret', slug: 'secret' });
    await service.call('PATCH', `${posts}/${made.body.id}`, { slug: 'two' });
    const erasure = { collection: 'posts', id: gone.body.id, reason: 'asked to' };
    const erased = await service.call('POST', '/api/audit/erasures', erasure);
    assert.ok(erased.status < 300, JSON.stringify(erased.body));
    const receipt = await checkpointOf(service);
    const before = rowsOf(service.data);

    const moved = await move(service.data, database);
    assert.equal(moved.code, 0, moved.stderr);
    const refused = await login(service, 'users', email, 'wrong');
    assert.deepEqual(
      [refused.status, refused.body.message],
      [503, 'the log has moved to PostgreSQL: restart with ANNALS_POSTGRES_URL'],
    );
    assert.equal((await service.call('GET', `${posts}/${made.body.id}`)).status, 200);
    assert.deepEqual(rowsOf(service.data), before);
    await service.stop();

    const alone = await runCommand(['serve', '--data', service.data]);
    assert.equal(alone.code, 2);
    assert.match(alone.stderr, /has moved to PostgreSQL: start with ANNALS_POSTGRES_URL/);

    const a = await startNode(t, database.address, { data: service.data, config: withUsers });
    const b = await startNode(t, database.address, { config: withUsers });
    assert.deepEqual(rowsOf(b.data), before);
    assert.equal((await login(b, 'users', email, password)).status, 200);
    assert.equal((await b.call('GET', '/api/collections/users/me', undefined, ada.as)).status, 200);
    assert.equal((await a.call('POST', posts, { title: 'three', slug: 'two' })).status, 409);
    assert.equal((await b.call('POST', posts, { title: 'three', slug: 'one' })).status, 201);
    for (const node of [a, b]) {
      const now = await checkpointOf(node);
      assert.deepEqual([now.origin, now.key], [receipt.origin, receipt.key]);
      const { body } = await node.call('GET', `/api/audit/consistency?from=${receipt.size}&to=${now.size}`);
      const proof = body.proof.map((hash: string) => Buffer.from(hash, 'base64'));
      assert.ok(verifyConsistency(receipt, now, proof));
    }
    await a.stop();
    const early = await moveBack(a.data, database);
    assert.match(early.stderr, /^\S+ still runs: stop all nodes first/);
    await b.stop();
    const returned = await moveBack(a.data, database);
    assert.equal(returned.code, 0, returned.stderr);
    const again = await moveBack(b.data, database);
    assert.equal(again.code, 2);
    const verified = await runCommand(['verify', '--data', a.data]);
    assert.equal(verified.code, 0, verified.stdout + verified.stderr);

    const back = await startService(t, withUsers, { data: a.data, environment });
    assert.equal((await login(back, 'users', email, password)).status, 200);
    assert.equal((await back.call('GET', '/api/collections/users/me', undefined, ada.as)).status, 200);
    assert.equal((await back.call('POST', posts, { title: 'four', slug: 'four' })).status, 201);
    await back.stop();
  });

  it('takes no database with another log, none that it may not write to, and not twice', async (t) => {
    const service = await startService(t, config, { environment: { ANNALS_SECRET: secret } });
    const taken = await make();
    const node = await startNode(t, taken.address);
    const full = await move(service.data, taken);
    assert.match(
      full.stderr,
      /^the database has another log already, annals\/\S+ with 1 events: name an empty database/,
    );
    await node.stop();

    const closed = await make();
    await closed.sql(
      `REVOKE CREATE ON DATABASE ${closed.address.database} FROM PUBLIC`,
      `ALTER DATABASE ${closed.address.database} OWNER TO ${process.env.TEST_POSTGRES_USER}`,
    );
    const forbidden = await move(service.data, closed);
    assert.match(forbidden.stderr, /^the role may not make the tables of the log/);

    const first = await make();
    assert.equal((await move(service.data, first)).code, 0);
    const again = await move(service.data, first);
    assert.equal(again.code, 0, again.stderr);
    const second = await move(service.data, await make());
    assert.match(second.stderr, /^this log has moved to another database already/);
    await service.stop();
  });
});

/** A signed checkpoint: what it says, and the key that signed it. */
async function checkpointOf({ url }: Service) {
  const response = await fetch(`${url}/api/audit/checkpoint`, { headers: { 'x-api-key': apiKey } });
  const note = await response.text();
  const { origin, size, root } = parseCheckpoint(note.slice(0, note.indexOf('\n\n') + 1)) ?? assert.fail(note);
  return { origin, size, root, key: Buffer.from(note.split(' ').at(-1) ?? '', 'base64').toString('hex', 0, 4) };
}
