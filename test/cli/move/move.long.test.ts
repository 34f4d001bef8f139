import assert from 'node:assert/strict';
import { it } from 'node:test';
import { describeWithPostgres, useDatabase } from '../../helpers/postgres.ts';
import { apiKey, runCommand, startService } from '../../helpers/service.ts';
import { config, secret, startNode, urlOf } from '../../running/nodes/node.ts';
import { move, writeTo } from './moving.ts';

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
      new Set(['503 the log has moved to PostgreSQL: restart with ANNALS_POSTGRES_URL']),
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
      [[], {}, /^--to is missing: the address of PostgreSQL; --to-file and ANNALS_POSTGRES_URL keep it/],
      [['--to', 'mysql://x'], {}, /^--to: it must have the form postgres:/],
      [['--to-file', '/nowhere'], {}, /^--to-file: the file \/nowhere cannot be read/],
      [['--to', 'a', '--to-file', 'b'], {}, /^--to and --to-file are both given/],
      [['--to', 'sqlite'], {}, /^ANNALS_POSTGRES_URL is missing: the address of the log that is moved/],
      [
        ['--to', `postgres://${user}:secret@127.0.0.1:1/x`],
        {},
        /no PostgreSQL server takes writes \(127.0.0.1:1: .*ECONNREFUSED/,
      ],
      [['--to', `postgres://${user}:secret@${at}/${user}`], {}, /password authentication failed/],
      [['--to', 'sqlite'], { ANNALS_POSTGRES_URL: urlOf(database.address) }, /is in use by annals serve/],
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
