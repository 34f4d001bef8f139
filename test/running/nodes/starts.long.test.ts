import assert from 'node:assert/strict';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { it, type TestContext } from 'node:test';
import { readLog } from '../../../events/log/log-reader.ts';
import { markReplica, readReplicaMark } from '../../../events/replica/replica-mark.ts';
import { openLogToRead } from '../../../events/store/log-file.ts';
import { describeWithPostgres, type TestDatabase, useDatabase } from '../../helpers/postgres.ts';
import { wholeOnly } from '../../helpers/rounds.ts';
import { runCommand, startService, type TestConfig, temporaryFolder, writeConfig } from '../../helpers/service.ts';
import { comes, isReady, readyOf } from './claims.ts';
import { config, nodeEnvironment, startNode, urlOf } from './node.ts';

describeWithPostgres('The start of a node', () => {
  const make = useDatabase();

  /** Runs `serve` to its end, for a start that is refused. */
  async function refused(
    t: TestContext,
    given: TestConfig,
    { data, environment }: { data?: string; environment: Record<string, string> },
  ): Promise<string> {
    const folder = temporaryFolder(t);
    const args = [
      'serve',
      '--config',
      writeConfig(folder, given),
      '--data',
      data ?? join(folder, 'data'),
      '--port',
      '0',
    ];
    const { code, stderr } = await runCommand(args, {
      environment: { ANNALS_API_KEY: 'test-key-0123456789', ...environment },
    });
    assert.notEqual(code, 0);
    return stderr;
  }

  function rootOf(data: string) {
    const db = openLogToRead(join(data, 'log.db'));
    try {
      const { log, size, root } = readLog(db).head();
      return { log, size, root: root.toString('hex') };
    } finally {
      db.close();
    }
  }

  async function filled(t: TestContext, { address }: TestDatabase) {
    const first = await startNode(t, address);
    for (let count = 0; count < 20; count += 1)
      await first.call('POST', '/api/collections/posts', { title: `post ${count}`, slug: `post-${count}` });
    return first;
  }

  it('on an empty directory takes in all of the log, and on the same one goes on', async (t) => {
    const database = await make();
    const first = await filled(t, database);
    const joined = await startNode(t, database.address);
    assert.equal((await joined.call('GET', '/ready')).status, 200);
    const question = '/api/collections/posts?limit=100&sort=createdAt';
    const all = await first.call('GET', question);
    assert.equal(all.body.total, 20);
    assert.deepEqual((await joined.call('GET', question)).body, all.body);
    assert.equal(readReplicaMark(joined.data)?.log, rootOf(first.data).log);
    await joined.stop();
    await first.call('POST', '/api/collections/posts', { title: 'while it was away' });
    const again = await startNode(t, database.address, { data: joined.data });
    assert.equal((await again.call('GET', question)).body.total, 21);
    assert.deepEqual(rootOf(joined.data), rootOf(first.data));
    const verified = await runCommand(['verify', '--data', joined.data]);
    assert.match(verified.stdout, /sound/);
  });

  it('of two at the same time begins one log', async (t) => {
    const { address } = await make();
    const [one, other] = await Promise.all([startNode(t, address), startNode(t, address)]);
    assert.equal((await one.call('POST', '/api/collections/posts', { title: 'one' })).status, 201);
    assert.equal((await other.call('GET', '/api/collections/posts')).body.total, 1);
    assert.deepEqual(rootOf(other.data), rootOf(one.data));
  });

  it('with --apply-schema records another configuration, so others are outdated', wholeOnly, async (t) => {
    const database = await make();
    const first = await filled(t, database);
    const running = await startNode(t, database.address);
    const { slug, fields, history } = config.collections[0] ?? assert.fail();
    const next = {
      ...config,
      collections: [
        {
          slug,
          history,
          fields: fields.map((field) => ({ ...field, ...(field.name === 'title' && { unique: true }) })),
        },
      ],
    };
    await first.stop();
    const environment = { ANNALS_APPLY_SCHEMA: 'true' };
    const changed = await startNode(t, database.address, { data: first.data, config: next, environment });
    await comes(() => isReady(changed));
    const taken = await changed.call('POST', '/api/collections/posts', { title: 'post 3' });
    assert.equal(taken.status, 409, JSON.stringify(taken.body));
    await comes(async () => (await readyOf(running))[1].status === 'outdated');
    await running.stop();
    const again = await startNode(t, database.address, { data: running.data, config: next });
    assert.equal((await again.call('POST', '/api/collections/posts', { title: 'post 3' })).status, 409);
    assert.equal((await again.call('POST', '/api/collections/posts', { title: 'post 99' })).status, 201);
    assert.equal((await changed.call('GET', '/api/collections/posts')).body.total, 21);
    assert.deepEqual(rootOf(again.data), rootOf(changed.data));
    // The rules alone, which change no table.
    const open = `export default { ...${JSON.stringify(next)}, globals: [{ slug: 'site', fields: [{ name: 'name', type: 'text' }], access: { read: () => true } }] }`;
    await Promise.all([again.stop(), changed.stop()]);
    const opened = await startNode(t, database.address, { data: first.data, config: open, environment });
    await comes(() => isReady(opened));
    assert.equal((await opened.call('GET', '/api/globals/site', undefined, { key: null })).status, 200);
    await opened.stop();
    for (const { data } of [opened, again]) {
      const { stdout, stderr } = await runCommand(['verify', '--data', data]);
      assert.match(stdout, /sound/, stdout + stderr);
    }
    // Documents that are against it leave everything as it was.
    const narrow = {
      ...next,
      collections: [{ slug, fields: [...fields.slice(1), { name: 'title', type: 'number' }] }],
    };
    assert.match(
      await refused(t, narrow, {
        data: first.data,
        environment: { ...nodeEnvironment(database.address), ...environment },
      }),
      /title/,
    );
    const stays = await startNode(t, database.address, { data: first.data, config: open });
    assert.equal((await stays.call('GET', '/api/collections/posts')).body.total, 21);
  });

  it('is refused on a directory with a log of its own, and a start without ANNALS_POSTGRES_URL on a replica', async (t) => {
    const { address } = await make();
    const alone = await startService(t, config);
    await alone.stop();
    const environment = nodeEnvironment(address);
    assert.match(
      await refused(t, config, { data: alone.data, environment }),
      /has a log of its own.* name an empty data directory/,
    );
    const node = await startNode(t, address);
    await node.stop();
    assert.match(
      await refused(t, config, { data: node.data, environment: {} }),
      /is a replica of the log annals\/.* set ANNALS_POSTGRES_URL/,
    );
    const other = await make();
    assert.match(
      await refused(t, config, { data: node.data, environment: nodeEnvironment(other.address) }),
      /is a replica of the log annals\/\S+, and the one in PostgreSQL is annals\//,
    );
    for (const args of [
      ['rebuild', '--data', node.data],
      ['clock', 'correct', '--today', new Date().toISOString().slice(0, 10), '--reason', 'wrong', '--data', node.data],
    ]) {
      const { code, stderr } = await runCommand(args);
      assert.equal(code, 2, stderr);
      assert.match(stderr, /does not work on .* a replica of the log/);
    }
  });

  it('is refused if the log in PostgreSQL has lost events that the replica has', async (t) => {
    const database = await make();
    const first = await filled(t, database);
    await first.stop();
    // As after a failover to a standby that lacked the newest events.
    await database.sql(
      'DELETE FROM annals.events WHERE position > 10',
      `UPDATE annals.heads SET size = 10, root = decode(repeat('00', 32), 'hex')`,
    );
    const environment = nodeEnvironment(database.address);
    assert.match(
      await refused(t, config, { data: first.data, environment }),
      /the log went back: it ends at 10, this node has seen 21/,
    );
  });

  it('is refused if the log in PostgreSQL has other events in their place, and as many', async (t) => {
    const database = await make();
    const first = await filled(t, database);
    const [before] = await database.sql('SELECT size, root, recorded_at FROM annals.heads');
    const { size, root, recorded_at: recordedAt } = (before?.rows ?? [])[0];
    await first.call('POST', '/api/collections/posts', { title: 'acknowledged, and lost' });
    await first.stop();
    // As after the restore of a backup.
    await database.sql(
      ...['events', 'payloads'].map((table) => `DELETE FROM annals.${table} WHERE position > ${size}`),
      ...['claim_changes', 'attempts'].map((table) => `DELETE FROM annals.${table} WHERE since > ${size}`),
      `UPDATE annals.heads SET size = ${size}, root = '\\x${root.toString('hex')}', recorded_at = '${recordedAt}'`,
      'UPDATE annals_vault.log_keys SET signed_size = NULL, signed_root = NULL',
    );
    const other = await startNode(t, database.address);
    const { status } = await other.call('POST', '/api/collections/posts', { title: 'recorded in its place' });
    assert.equal(status, 201);
    const environment = nodeEnvironment(database.address);
    assert.match(
      await refused(t, config, { data: first.data, environment }),
      new RegExp(`the log went back: at ${Number(size) + 1} it holds other events than this node has seen`),
    );
  });

  it('names all that it cannot serve', async (t) => {
    const { address } = await make();
    const given = `export default {
      collections: [
        { slug: 'files', upload: true, fields: [] },
        { slug: 'pictures', upload: true, fields: [] },
      ],
    };`;
    const all = await refused(t, given, { environment: { ANNALS_POSTGRES_URL: urlOf(address) } });
    for (const problem of [/the collection files has upload/, /the collection pictures has upload/])
      assert.match(all, problem);
    assert.doesNotMatch(all, /:writes@/);
  });

  it('whose directory another process has ends, and leaves nothing open', async (t) => {
    const { address } = await make();
    const node = await startNode(t, address);
    assert.match(
      await refused(t, config, { data: node.data, environment: nodeEnvironment(address) }),
      /is in use|works on|has it/,
    );
  });

  it('reads its settings', async (t) => {
    assert.match(
      await refused(t, config, { environment: { ANNALS_READS: 'linear' } }),
      /ANNALS_READS is set, and ANNALS_POSTGRES_URL is not/,
    );
    const { address } = await make();
    const wrong = { ...nodeEnvironment(address), ANNALS_READS: 'linera' };
    assert.match(
      await refused(t, config, { environment: wrong }),
      /must be one of linear, session, eventual, got linera; did you mean "linear"/,
    );
    const unreadable = { ANNALS_POSTGRES_URL: 'mysql://annals:writes@db1/annals', ANNALS_SECRET: 'x' };
    const stderr = await refused(t, config, { environment: unreadable });
    assert.match(stderr, /ANNALS_POSTGRES_URL: it must have the form postgres:\/\//);
    assert.doesNotMatch(stderr, /writes/);
    // The variable in a file, as secrets are given.
    const file = join(temporaryFolder(t), 'log');
    writeFileSync(file, `${urlOf(address)}\n`);
    const { ANNALS_SECRET = '' } = nodeEnvironment(address);
    const node = await startService(t, config, { environment: { ANNALS_POSTGRES_URL_FILE: file, ANNALS_SECRET } });
    assert.equal((await node.call('POST', '/api/collections/posts', { title: 'one' })).status, 201);
  });

  it('of a command writes as a node for the moment', async (t) => {
    const database = await make();
    const first = await filled(t, database);
    const other = await startNode(t, database.address);
    const { body } = await first.call('POST', '/api/collections/posts', { title: 'to be erased' });
    await other.stop();
    const args = ['erase', `posts/${body.id}`, '--reason', 'asked for', '--yes', '--data', other.data];
    const environment = { ...nodeEnvironment(database.address), ANNALS_API_KEY: 'test-key-0123456789' };
    const given = ['--config', writeConfig(temporaryFolder(t), config)];
    const erased = await runCommand([...args, ...given], { environment });
    assert.equal(erased.code, 0, erased.stderr);
    assert.equal((await first.call('GET', `/api/collections/posts/${body.id}`)).status, 404);
    // Without the setting it would record what no node has.
    const alone = await runCommand([...args, ...given]);
    assert.equal(alone.code, 2);
    assert.match(alone.stderr, /is a replica of the log/);
  });

  it('says where PostgreSQL is not reached, without its password', async (t) => {
    const { address } = await make();
    const gone = { ...address, hosts: [{ host: '127.0.0.1', port: 1 }] };
    const stderr = await refused(t, config, { environment: nodeEnvironment(gone) });
    assert.match(stderr, /the vault in PostgreSQL is not available: .*ECONNREFUSED/);
    assert.doesNotMatch(stderr, /writes@/);
  });

  it('leaves no half of a replica behind: one that was cut short joins again', async (t) => {
    const database = await make();
    const first = await filled(t, database);
    const data = join(temporaryFolder(t), 'data');
    mkdirSync(data, { mode: 0o700 });
    markReplica(data, readReplicaMark(first.data) ?? assert.fail());
    const joined = await startNode(t, database.address, { data });
    assert.equal((await joined.call('GET', '/api/collections/posts')).body.total, 20);
    await joined.kill();
    // The files that a node builds from the log may go at any time.
    rmSync(join(data, 'log.db'));
    const again = await startNode(t, database.address, { data });
    assert.equal((await again.call('GET', '/api/collections/posts')).body.total, 20);
  });
});
