import assert from 'node:assert/strict';
import { join } from 'node:path';
import { before, it } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import type { DoctorFinding } from '../../cli/doctor/findings.ts';
import { runHere } from '../helpers/in-process.ts';
import { readExposition } from '../helpers/metrics.ts';
import { describeWithPostgres, openClient, type TestDatabase, useDatabase } from '../helpers/postgres.ts';
import { openTcpProxy } from '../helpers/proxies.ts';
import { apiKey, temporaryFolder, writeConfig } from '../helpers/service.ts';
import { askUntil } from '../helpers/shared.ts';
import { config, nodeEnvironment, startNode, urlOf } from '../running/nodes/node.ts';

describeWithPostgres('The operator of nodes with one log in PostgreSQL', () => {
  const make = useDatabase();
  let database: TestDatabase;
  const token = 'a-token-of-sixteen-letters';
  const environmentOf = (name: string) => ({ ANNALS_NODE: name, ANNALS_API_KEY: apiKey, ANNALS_METRICS_TOKEN: token });

  async function run(...args: string[]) {
    return await runHere(args, { environment: { ANNALS_POSTGRES_URL: urlOf(database.address) } });
  }

  type Listed = { size: number; nodes: { node: string; state: string; lagEvents: number; scrubbed: number }[] };
  const listed = async (): Promise<Listed> => JSON.parse((await run('nodes', '--json')).stdout);

  const untilListed = (isRight: (listed: Listed) => boolean) => askUntil(listed, isRight);

  before(async () => {
    database = await make();
  });

  it('sees each node, and forgets one that crashed, not one that runs', async (t) => {
    assert.match((await run('nodes')).stderr, /^there is no log in this database yet/);
    const [a, b] = await Promise.all([
      startNode(t, database.address, { environment: environmentOf('a') }),
      startNode(t, database.address, { environment: environmentOf('b') }),
    ]);
    await a.call('POST', '/api/collections/posts', { title: 'one' });
    const all = await untilListed(
      ({ nodes, size }) => nodes.length === 2 && nodes.every((one) => one.scrubbed === size),
    );
    assert.deepEqual(
      all.nodes.map(({ node, state, lagEvents }) => [node, state, lagEvents]),
      [
        ['a', 'ready', 0],
        ['b', 'ready', 0],
      ],
    );
    const { stdout } = await run('nodes');
    assert.match(
      stdout,
      /^NODE +STATE +VERSION +SCHEMA +APPLIED +BEHIND +SCRUBBED +LAST SEEN\na +ready +\d+\.\d+\.\d+ +[0-9a-f]{12} +2 +0 +2 /,
    );
    assert.match(stdout, /\nthe log has 2 events\n$/);

    const early = await run('nodes', 'forget', 'b');
    assert.deepEqual([early.code, early.stdout], [1, '']);
    assert.match(early.stderr, /^b was seen within the last 60 seconds/);
    const unknown = await run('nodes', 'forget', 'c');
    assert.deepEqual([unknown.code, unknown.stderr], [1, 'there is no node "c"; annals nodes lists them\n']);
    await b.kill();
    await database.sql("UPDATE annals.nodes SET seen = seen - 61000 WHERE node = 'b'");
    assert.equal((await listed()).nodes[1]?.state, 'absent');
    assert.match((await run('nodes', 'forget', 'b')).stdout, /^forgot b: no erasure waits for its files any more\n/);
    await a.stop();
    assert.deepEqual((await listed()).nodes, []);
    assert.match((await run('nodes')).stdout, /^no node is on the list\n/);
  });

  it('reads in the metrics of a node how it, the others and the standby are', async (t) => {
    const node = await startNode(t, database.address, { environment: environmentOf('m') });
    await node.call('POST', '/api/collections/posts', { title: 'one' });
    const metrics = async () => {
      const response = await fetch(`${node.url}/metrics`, { headers: { authorization: `Bearer ${token}` } });
      return readExposition(await response.text());
    };
    const metric = async (name: string, labels: Record<string, string> = {}) =>
      (await metrics()).series.find(
        (one) => one.name === name && Object.entries(labels).every(([key, value]) => one.labels[key] === value),
      )?.value;
    // The metrics are those of the last report, which comes each second.
    const isReported = async () =>
      (await metric('annals_postgres_standbys', { sync_state: 'sync' })) === 1 &&
      (await metric('annals_nodes', { state: 'ready' })) === 1;
    for (let left = 100; !(await isReported()); left -= 1) {
      assert.ok(left > 0);
      await pause(100);
    }
    assert.equal(await metric('annals_node_connected'), 1);
    assert.equal(await metric('annals_node_lag_events'), 0);
    assert.equal(await metric('annals_node_lag_seconds'), 0);
    assert.equal(await metric('annals_nodes', { state: 'absent' }), 0);
    assert.equal(await metric('annals_postgres_synchronous'), 1);
    assert.ok(Number(await metric('annals_postgres_standby_lag_bytes', { standby: 'b' })) >= 0);
    assert.ok(Number(await metric('annals_log_lock_wait_seconds_count')) >= 1);
    assert.ok(Number(await metric('annals_log_ship_seconds_sum')) > 0);
    assert.equal(await metric('annals_erasures_unfinished'), 0);
    await node.stop();
  });

  it('is told by annals doctor what is to be mended', async (t) => {
    const { address, sql } = await make();
    const { user } = address;
    await sql(
      `REVOKE pg_monitor, pg_checkpoint FROM ${user}`,
      `REVOKE EXECUTE ON FUNCTION pg_switch_wal() FROM ${user}`,
    );
    const folder = temporaryFolder(t);
    const data = join(folder, 'data');
    const file = writeConfig(folder, config);
    const node = await startNode(t, address, { data, environment: environmentOf('d') });
    const examine = async (log = urlOf(address)) => {
      const { stdout, stderr } = await runHere(['doctor', '--config', file, '--data', data, '--json'], {
        environment: { ...nodeEnvironment(address), ANNALS_API_KEY: apiKey, ANNALS_POSTGRES_URL: log },
      });
      assert.equal(stderr, '');
      const { findings } = JSON.parse(stdout) as { findings: DoctorFinding[] };
      return (name: string) => findings.find(({ check }) => check === name) ?? assert.fail(name);
    };
    const first = await examine();
    assert.match(first('log servers').message, /^127\.0\.0\.1:\d+ is the primary, 127\.0\.0\.1:\d+ is a standby$/);
    assert.equal(first('log settings').status, 'ok');
    assert.equal(first('log standbys').status, 'note');
    assert.deepEqual(
      [first('log role').status, /GRANT pg_monitor TO "annals_/.test(first('log role').message)],
      ['trouble', true],
    );
    assert.equal(first('log clock').status, 'ok');
    assert.match(first('log size').message, /^the log has 1 event, and its tables have \d/);
    assert.deepEqual(first('nodes'), { check: 'nodes', status: 'ok', message: '1 node of 1 on the list is there' });

    await sql(`GRANT pg_monitor TO ${address.user}`);
    const second = await examine();
    assert.match(
      second('log standbys').message,
      /^b \(sync, .* behind\): when it fails, no write ends until it is back/,
    );
    assert.deepEqual(
      [
        second('log role').status,
        /GRANT pg_checkpoint .* GRANT EXECUTE ON FUNCTION pg_switch_wal/.test(second('log role').message),
      ],
      ['note', true],
    );
    await sql(`GRANT pg_checkpoint TO ${address.user}`, `GRANT EXECUTE ON FUNCTION pg_switch_wal() TO ${address.user}`);
    assert.equal((await examine())('log role').status, 'ok');
    await sql(`GRANT DELETE ON annals.events TO ${address.user}`);
    assert.match((await examine())('log role').message, /^the role may DELETE annals\.events/);

    assert.deepEqual((await examine())('log lock'), {
      check: 'log lock',
      status: 'ok',
      message: 'no write waits for it',
    });

    await node.kill();
    await sql('UPDATE annals.nodes SET seen = seen - 61000');
    const dead = (await examine())('nodes');
    assert.equal(dead.status, 'trouble');
    assert.match(dead.message, /^0 nodes of 1 on the list are there; d was last seen .*annals nodes forget/);
    const [a] = address.hosts;
    const unnamed = (await examine(urlOf({ ...address, hosts: a ? [a] : [] })))('log servers');
    assert.equal(unnamed.status, 'trouble');
    assert.match(
      unnamed.message,
      /^127\.0\.0\.1:\d+ is the primary; ANNALS_POSTGRES_URL does not name the standby b, so /,
    );
    const sameAgain = await openTcpProxy(a ?? assert.fail());
    t.after(() => sameAgain.close());
    const twice = { ...address, hosts: [...address.hosts, { host: sameAgain.host, port: sameAgain.port }] };
    assert.equal((await examine(urlOf(twice)))('log servers').status, 'ok');
    const broken = { ...address, hosts: [...(a ? [a] : []), { host: '127.0.0.1', port: 1 }] };
    assert.match(
      (await examine(urlOf(broken)))('log servers').message,
      /127\.0\.0\.1:1 cannot be reached \(.*ECONNREFUSED/,
    );
    const none = await examine(urlOf({ ...address, hosts: [{ host: '127.0.0.1', port: 1 }] }));
    assert.match(none('log servers').message, /no server takes writes$/);
  });

  it('is told by annals doctor which session has the lock of the log, and that writes wait for it', async (t) => {
    const { address } = await make();
    const folder = temporaryFolder(t);
    const data = join(folder, 'data');
    const file = writeConfig(folder, config);
    const node = await startNode(t, address, { data, environment: environmentOf('e') });
    const lock = async () => {
      const { stdout } = await runHere(['doctor', '--config', file, '--data', data, '--json'], {
        environment: { ...nodeEnvironment(address), ANNALS_API_KEY: apiKey },
      });
      const { findings } = JSON.parse(stdout) as { findings: DoctorFinding[] };
      return findings.find(({ check }) => check === 'log lock') ?? assert.fail(stdout);
    };
    const until = async (expected: RegExp) => {
      for (let left = 100; ; left -= 1) {
        const { status, message } = await lock();
        if (status === 'trouble' && expected.test(message)) return message;
        assert.ok(left > 0, `${status}: ${message}`);
        await pause(100);
      }
    };
    const session = await openClient(address, 'forgotten');
    t.after(session.end);
    const [backend] = await session.run('SELECT pg_backend_pid() AS pid');
    const pid: number = backend?.pid;
    await session.run('BEGIN');
    await session.run('SELECT * FROM annals.heads FOR UPDATE');
    const holder = `the session ${pid} \\(forgotten, 127\\.0\\.0\\.1\\) has it for up to \\d+\\.\\d seconds, idle in transaction`;
    const end = `: SELECT pg_terminate_backend\\(${pid}\\) ends it$`;
    await until(new RegExp(`^no write waits for it; ${holder}${end}`));

    const writes = [1, 2].map(() => node.call('POST', '/api/collections/posts', { title: 'waits' }));
    const also = await openClient(address, 'waits');
    t.after(also.end);
    const waiting = also.run('SELECT * FROM annals.heads FOR UPDATE');
    waiting.catch(() => {});
    await until(new RegExp(`^[23] writes wait for it, the longest for \\d+\\.\\d seconds; ${holder}${end}`));

    await session.run('ROLLBACK');
    await waiting;
    for (const write of writes) assert.ok([201, 503].includes((await write).status));
    assert.equal((await node.call('POST', '/api/collections/posts', { title: 'after' })).status, 201);
    assert.equal((await lock()).status, 'ok');
  });
});
