import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { it } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { describeWithServers, makeDatabase, startServers } from '../../helpers/postgres.ts';
import { apiKey, startService } from '../../helpers/service.ts';
import { config, secret, startNode, urlOf } from '../../running/nodes/node.ts';
import { moveBack } from './moving.ts';

describeWithServers('annals log move --to sqlite while no standby answers', () => {
  it('gives up in time, and goes on when it is run again, also after it was ended', async (t) => {
    const servers = await startServers();
    t.after(servers.end);
    const database = await makeDatabase(servers.hosts);
    const { address, sql } = database;
    const node = await startNode(t, address, { environment: { ANNALS_API_KEY: apiKey } });
    const made = await node.call('POST', '/api/collections/posts', { title: 'one' });
    await node.stop();
    servers.freeze('b');
    const ended = spawn(process.execPath, [...process.execArgv, 'cli/main.js', 'log', 'move', ...argsOf(node.data)], {
      env: { ...process.env, ANNALS_POSTGRES_URL: urlOf(address) },
      stdio: 'ignore',
    });
    await until(async () => {
      const [waiting] = await sql(
        "SELECT pid FROM pg_stat_activity WHERE wait_event = 'SyncRep' AND datname = current_database()",
      );
      return waiting?.rowCount === 1;
    });
    ended.kill('SIGKILL');
    await once(ended, 'exit');
    const held = await moveBack(node.data, database);
    assert.equal(held.code, 2);
    assert.match(held.stderr, /^the log in PostgreSQL is in use .* run the command again/);
    servers.thaw('b');

    await until(async () => (await moveBack(node.data, database)).code === 0);
    const alone = await startService(t, config, {
      data: node.data,
      environment: { ANNALS_API_KEY: apiKey, ANNALS_SECRET: secret },
    });
    assert.equal((await alone.call('GET', `/api/collections/posts/${made.body.id}`)).body.title, 'one');
    assert.equal((await alone.call('POST', '/api/collections/posts', { title: 'two' })).status, 201);
    await alone.stop();
  });

  it('does not take the log before a standby has that it has left', async (t) => {
    const servers = await startServers();
    t.after(servers.end);
    const database = await makeDatabase(servers.hosts);
    const node = await startNode(t, database.address, { environment: { ANNALS_API_KEY: apiKey } });
    await node.call('POST', '/api/collections/posts', { title: 'one' });
    await node.stop();
    servers.freeze('b');
    const unknown = await moveBack(node.data, database);
    assert.equal(unknown.code, 2);
    assert.match(unknown.stderr, /^it is not known whether PostgreSQL has committed: .*; run the command again/);
    // The commit is visible then, and on no standby.
    await database.sql(
      "SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep' AND datname = current_database()",
    );
    await until(async () => (await database.sql('SELECT state FROM annals.heads'))[0]?.rows[0]?.state === 'left');
    const again = await moveBack(node.data, database);
    assert.equal(again.code, 2);
    assert.match(again.stderr, /^it is not known whether PostgreSQL has committed/);
    servers.thaw('b');
    await until(async () => (await moveBack(node.data, database)).code === 0);
  });
});

function argsOf(data: string): string[] {
  return ['--to', 'sqlite', '--data', data];
}

async function until(isSo: () => Promise<boolean>): Promise<void> {
  for (let left = 100; !(await isSo()); left -= 1) {
    assert.ok(left > 0, 'it did not come to that');
    await pause(100);
  }
}
