import assert from 'node:assert/strict';
import { it } from 'node:test';
import { parseCheckpoint } from '../../../events/notes.ts';
import { loggedIn, login } from '../../helpers/accounts.ts';
import { describeWithPostgres, useDatabase } from '../../helpers/postgres.ts';
import { verifyConsistency } from '../../helpers/proofs.ts';
import { apiKey, runCommand, type Service, startService, temporaryFolder, writeConfig } from '../../helpers/service.ts';
import { config, secret, startNode, urlOf } from '../../running/nodes/node.ts';
import { move, moveBack, rowsOf, writeTo } from './moving.ts';

const withUsers = {
  collections: [...config.collections, { slug: 'users', auth: true, fields: [{ name: 'name', type: 'text' }] }],
};

describeWithPostgres('annals log move', () => {
  const make = useDatabase();

  it('moves the log of a service that is written to, and loses no acknowledged write', async (t) => {
    const database = await make();
    const service = await startService(t, config, { environment: { ANNALS_SECRET: secret } });
    const writing = writeTo(service);
    const moved = await move(service.data, database);
    assert.equal(moved.code, 0, moved.stderr);
    assert.match(moved.stdout, /^the log is in PostgreSQL now, with \d+ events; writes waited for \d+ ms/);
    await writing.ended;
    assert.deepEqual(
      new Set(writing.refused.map(({ status, message }) => `${status} ${message}`)),
      new Set(['503 the log has moved to PostgreSQL: restart with ANNALS_LOG']),
    );
    assert.equal(await service.stop(), 0);
    const node = await startNode(t, database.address, { data: service.data });
    for (const { id, title } of writing.acknowledged) {
      const read = await node.call('GET', `/api/collections/posts/${id}`);
      assert.equal(read.body?.title, title);
    }
    const more = await node.call('POST', '/api/collections/posts', { title: 'after' });
    assert.equal(more.status, 201, JSON.stringify(more.body));
    await node.stop();
  });

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
      [503, 'the log has moved to PostgreSQL: restart with ANNALS_LOG'],
    );
    assert.equal((await service.call('GET', `${posts}/${made.body.id}`)).status, 200);
    assert.deepEqual(rowsOf(service.data), before);
    await service.stop();

    const alone = await runCommand(['serve', '--data', service.data]);
    assert.equal(alone.code, 2);
    assert.match(alone.stderr, /has moved to PostgreSQL: start with ANNALS_LOG/);

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
    await Promise.all([a.stop(), b.stop()]);
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
});

describeWithPostgres('annals log move, refused', () => {
  const make = useDatabase();

  it('says what is wrong, without the password, and leaves the log where it is', async (t) => {
    const database = await make();
    const { user, hosts } = database.address;
    const at = hosts.map(({ host, port }) => `${host}:${port}`).join(',');
    const service = await startService(t, config, { environment: { ANNALS_SECRET: secret } });
    const other = await startNode(t, (await make()).address);
    const asked: [string[], Record<string, string>, RegExp][] = [
      [[], {}, /^--to is missing: the address of PostgreSQL; --to-file and ANNALS_LOG keep it/],
      [['--to', 'mysql://x'], {}, /^--to: it must have the form postgres:/],
      [['--to-file', '/nowhere'], {}, /^--to-file: the file \/nowhere cannot be read/],
      [['--to', 'a', '--to-file', 'b'], {}, /^--to and --to-file are both given/],
      [['--to', 'sqlite'], {}, /^ANNALS_LOG is missing: the address of the log that is moved/],
      [
        ['--to', `postgres://${user}:secret@127.0.0.1:1/x`],
        {},
        /no server of PostgreSQL takes writes \(127.0.0.1:1: .*ECONNREFUSED/,
      ],
      [['--to', `postgres://${user}:secret@${at}/${user}`], {}, /password authentication failed/],
      [['--to', 'sqlite'], { ANNALS_LOG: urlOf(database.address) }, /is in use by annals serve/],
    ];
    for (const [more, environment, message] of asked) {
      const refused = await runCommand(['log', 'move', '--data', service.data, ...more], { environment });
      assert.equal(refused.code, 2, refused.stdout);
      assert.match(refused.stderr, message);
      assert.doesNotMatch(refused.stderr, /secret|writes@/);
    }
    await other.stop();
    assert.equal((await service.call('POST', '/api/collections/posts', { title: 'still here' })).status, 201);
    await service.stop();
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

  it('does not leave uploaded files behind', async (t) => {
    const uploads = { collections: [{ slug: 'media', upload: true, fields: [] }] };
    const service = await startService(t, uploads);
    const body = new FormData();
    body.set('file', new Blob(['some text'], { type: 'text/plain' }), 'a.txt');
    const made = await fetch(`${service.url}/api/collections/media`, {
      method: 'POST',
      headers: { 'x-api-key': apiKey },
      body,
    });
    assert.equal(made.status, 201);
    const refused = await move(service.data, await make());
    assert.equal(refused.code, 2);
    assert.match(
      refused.stderr,
      /uploaded files are in .*blobs, which other nodes cannot reach: keep them in a bucket first/,
    );
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
