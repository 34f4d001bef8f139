import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, it } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { openCleaner } from '../../../events/postgres/cleaning.ts';
import { openRegistry } from '../../../events/postgres/nodes.ts';
import { prepareTableSet } from '../../../events/postgres/tables.ts';
import { vaultSteps } from '../../../events/postgres/vault/tables.ts';
import { connect } from '../../../storage/postgres/connection.ts';
import {
  describeWithServers,
  makeDatabase,
  type Servers,
  startServers,
  type TestDatabase,
} from '../../helpers/postgres.ts';
import { openTcpProxy } from '../../helpers/proxies.ts';
import { type Node, openNode } from './node.ts';

const nothing = () => {};
const partSize = 8;

/** The files below a folder in which a text is. */
function filesWith(folder: string, text: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true }).flatMap((entry) => {
    const path = join(entry.parentPath, entry.name);
    try {
      return entry.isFile() && readFileSync(path).includes(text) ? [path] : [];
    } catch (error) {
      if (existsSync(path)) throw error;
      return [];
    }
  });
}

describeWithServers('An erased text in a log in PostgreSQL', () => {
  let servers: Servers;
  let shared: TestDatabase;
  before(async () => {
    servers = await startServers();
    shared = await makeDatabase(servers.hosts);
  });
  after(() => servers.end());
  let sites = 0;

  async function withLog() {
    sites += 1;
    const site = `site ${sites}`;
    const { address, sql } = shared;
    const node = await openNode(address, { site, partSize });
    const { tables } = node.log;
    let scrubbed = Number.MAX_SAFE_INTEGER;
    const cleaners = ['a', 'b'].map((holder) => openCleaner({ address, tables, holder, scrubbed: () => scrubbed }));
    const registry = openRegistry({ address, tables, node: 'a', instance: 'a' });
    const own = { version: '1', schema: '', state: 'ready', scrubbed: 0 } as const;
    const standing = async () => {
      const { now: _, nodes: __, ...rest } = await registry.report({ ...own, applied: node.head().size });
      return rest;
    };
    const close = async () => {
      await Promise.all([node.log.close(), registry.close(), ...cleaners.map((cleaner) => cleaner.close())]);
    };
    return {
      node,
      site,
      tables,
      cleaners,
      standing,
      close,
      sql,
      address,
      setScrubbed: (to: number) => {
        scrubbed = to;
      },
    };
  }

  it('is in no file of the primary or the standby when it is done, whatever was analysed and read', async () => {
    const { node, cleaners, standing, sql, close } = await withLog();
    const secret = `secret-${'x'.repeat(20)}-${process.pid}`;
    for (let at = 0; at < 20; at += 1) {
      const isSecret = at % 7 === 0;
      const body = isSecret ? JSON.stringify({ text: secret, at }) : undefined;
      const value = isSecret ? `${secret}-${at}` : `value ${at}`;
      await node.append([{ stream: `posts/${at}`, version: 1, value, ...(body !== undefined && { body }) }]);
    }
    await sql('ANALYZE', 'CHECKPOINT');
    assert.notDeepEqual(filesWith(servers.folder, secret), []);
    await erase(node, [1, 8, 15], ['posts/0', 'posts/7', 'posts/14']);
    await sql('VACUUM', 'ANALYZE', 'CHECKPOINT');
    assert.notDeepEqual(filesWith(servers.folder, secret), []);
    const stages = new Set<string>();
    for (let left = 200; (await cleaners[0]?.pass()) !== 'done'; left -= 1) {
      stages.add((await standing()).stage);
      assert.ok(left > 0, [...stages].join('\n'));
    }
    assert.deepEqual(filesWith(servers.folder, secret), []);
    assert.deepEqual(await standing(), { size: 21, erased: 21, cleaned: 21, stage: '' });
    assert.ok(
      [...stages].some((stage) => /^the write-ahead log of /.test(stage)),
      [...stages].join('\n'),
    );
    const missing = await node.log.tail({ size: 0 }, 100);
    assert.deepEqual(
      missing.events.map(({ position, body }) => (body === null ? position : 0)).filter(Boolean),
      [1, 8, 15],
    );
    assert.equal(missing.claims.length, 17);
    await close();
  });

  it('is gone from the parts of its tables, and what others append meanwhile is in them', async () => {
    const { node, cleaners, sql, tables, close, address, site } = await withLog();
    const other = await openNode(address, { site, partSize });
    await node.append(Array.from({ length: 20 }, (_, at) => ({ stream: `posts/${at}`, version: 1, value: `v${at}` })));
    await erase(node, [1, 18], ['posts/0', 'posts/17']);
    await other.follow();
    let isOver = false;
    let count = 0;
    let longest = 0;
    const writing = (async () => {
      for (; !isOver; count += 1) {
        const since = performance.now();
        assert.deepEqual(await other.append([{ stream: `more/${count}`, version: 1, value: `m${count}` }]), [
          'recorded',
        ]);
        longest = Math.max(longest, performance.now() - since);
      }
    })();
    const rewrites = () => sql(`SELECT what, part FROM annals.rewrites WHERE log = ${tables.log} ORDER BY 1, 2`);
    const [before] = await rewrites();
    assert.deepEqual(
      before?.rows.map(({ what, part }) => `${what} ${part}`),
      ['claim_changes 0', 'claim_changes 2', 'claims 0', 'payloads 0', 'payloads 2'],
    );
    await cleaners[0]?.pass();
    isOver = true;
    await writing;
    const [rows] = await rewrites();
    assert.deepEqual(rows?.rows, []);
    assert.ok(count > 0 && longest < 2000, `${count}, ${longest} ms`);
    await node.follow();
    const { events, claims } = await readAll(node);
    assert.deepEqual(
      events.filter(({ body }) => body === null).map(({ position }) => position),
      [1, 18],
    );
    assert.equal(events.length, 21 + count);
    assert.equal(claims.length, 18 + count);
    const [held] = await sql(`SELECT count(*)::int AS count FROM annals.claims WHERE log = ${tables.log}`);
    assert.equal(held?.rows[0].count, 18 + count);
    await other.log.close();
    await close();
  });

  it('waits for the node itself, and is worked on by one node at a time', async () => {
    const { node, cleaners, standing, close, setScrubbed } = await withLog();
    await node.append([{ stream: 'posts/1', version: 1 }]);
    await erase(node, [1], []);
    setScrubbed(1);
    assert.equal(await cleaners[0]?.pass(), 'done');
    assert.equal((await standing()).cleaned, 0);
    setScrubbed(2);
    await cleaners[0]?.pass();
    assert.equal(await cleaners[1]?.pass(), 'other');
    await close();
  });

  it('waits for a dump, holds up no append by that, and says so', async () => {
    const { node, cleaners, standing, close, address } = await withLog();
    await node.append([{ stream: 'posts/1', version: 1 }]);
    await erase(node, [1], []);
    const reader = await connect(address, 5000, nothing);
    await reader.run({ text: "SET idle_in_transaction_session_timeout = '60s'" }, { text: 'BEGIN' });
    await reader.run({ text: 'SELECT count(*) FROM annals.payloads' });
    assert.equal(await cleaners[0]?.pass(), 'going');
    assert.match((await standing()).stage, /^annals\.payloads_\d+_0 is in use, by a dump for example/);
    // A part is begun as well.
    const more = Array.from({ length: partSize }, (_, at) => ({ stream: `more/${at}`, version: 1 }));
    assert.deepEqual(new Set(await node.append(more)), new Set(['recorded']));
    await reader.run({ text: 'COMMIT' });
    await reader.close();
    await cleaners[0]?.pass();
    assert.doesNotMatch((await standing()).stage, /in use/);
    await close();
  });

  it('forgets the hashes of its files when the node has removed them', async () => {
    const { node, cleaners, sql, tables, close } = await withLog();
    await node.append([{ stream: 'posts/1', version: 1 }]);
    await erase(node, [1], [], ['ab'.repeat(32)]);
    await cleaners[0]?.pass();
    const [left] = await sql(`SELECT files FROM annals.erasures WHERE log = ${tables.log}`);
    assert.deepEqual(left?.rows, [{ files: '[]' }]);
    await close();
  });

  it('leaves no copy that another node has begun, and nothing in the tables of the vault', async () => {
    const { node, cleaners, sql, tables, close } = await withLog();
    const left = `annals.next_0123456789ab_payloads_${tables.log}_0`;
    await sql(`CREATE TABLE ${left} (a int)`, `ALTER TABLE ${left} OWNER TO ${shared.address.user}`);
    const connection = await connect(shared.address, 5000, nothing);
    await prepareTableSet(connection, { schema: 'annals_vault', steps: vaultSteps, forbidden: {} });
    const secret = `draft-${'y'.repeat(20)}-${process.pid}`;
    const insert = (id: string, data: string) =>
      `INSERT INTO annals_vault.drafts VALUES (1, '${id}', 1, 'a', 'posts', '${id}', 1, 1, '${data}')`;
    await sql(insert('1', secret), insert('2', 'kept'), 'ANALYZE', 'CHECKPOINT');
    await sql("DELETE FROM annals_vault.drafts WHERE id = '1'", 'VACUUM', 'CHECKPOINT');
    assert.notDeepEqual(filesWith(servers.folder, secret), []);
    await node.append([{ stream: 'posts/1', version: 1 }]);
    await erase(node, [1], []);
    for (let turns = 200; (await cleaners[0]?.pass()) !== 'done'; turns -= 1) assert.ok(turns > 0);
    assert.deepEqual(filesWith(servers.folder, secret), []);
    const [drafts, copies] = await sql(
      'SELECT data FROM annals_vault.drafts',
      "SELECT tablename FROM pg_tables WHERE tablename LIKE 'next%'",
    );
    assert.deepEqual([drafts?.rows, copies?.rows], [[{ data: 'kept' }], []]);
    await connection.close();
    await close();
  });

  it('is not gone while a standby outside the address has a write-ahead log, and says which', async (t) => {
    const { node, cleaners, standing, close, sql, address } = await withLog();
    const [a] = address.hosts as [(typeof address.hosts)[0]];
    // A second name of the primary is no name of the standby.
    const sameAgain = await openTcpProxy(a);
    t.after(() => sameAgain.close());
    const hosts = [a, { host: sameAgain.host, port: sameAgain.port }];
    const blind = openCleaner({
      address: { ...address, hosts },
      tables: node.log.tables,
      holder: 'a',
      scrubbed: () => 2,
    });
    await node.append([{ stream: 'posts/1', version: 1 }]);
    await erase(node, [1], []);
    const unnamed = 'the standby b may have it in its write-ahead log: ANNALS_POSTGRES_URL does not name it';
    for (let left = 200; (await standing()).stage !== unnamed; left -= 1) {
      assert.equal(await blind.pass(), 'going');
      assert.ok(left > 0, (await standing()).stage);
    }
    const place = async () => {
      const [found] = await sql("SELECT pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')::bigint AS bytes");
      return Number(found?.rows[0].bytes);
    };
    const before = await place();
    for (let left = 4; left > 0; left -= 1) assert.equal(await blind.pass(), 'going');
    // A log that is filled with nothing helps no one.
    assert.ok((await place()) - before < 4 * 1024 * 1024, 'files of the write-ahead log were begun meanwhile');
    assert.deepEqual(await standing(), { size: 2, erased: 2, cleaned: 0, stage: unnamed });
    await blind.close();
    for (let left = 200; (await cleaners[0]?.pass()) !== 'done'; left -= 1)
      assert.ok(left > 0, (await standing()).stage);
    assert.deepEqual(await standing(), { size: 2, erased: 2, cleaned: 2, stage: '' });
    await close();
  });

  it('does not wait for what only receives the write-ahead log, as an archive of it does', async (t) => {
    const { node, cleaners, standing, close, sql, address } = await withLog();
    const [a] = address.hosts as [(typeof address.hosts)[0]];
    const archive = startReceiving(a);
    t.after(() => archive.end());
    const isThere = async () => {
      const [found] = await sql(
        "SELECT FROM pg_stat_replication WHERE application_name = 'pg_receivewal' AND write_lsn IS NOT NULL",
      );
      return found?.rowCount === 1;
    };
    for (let left = 200; !(await isThere()); left -= 1) {
      assert.ok(left > 0, archive.output());
      await pause(50);
    }
    await node.append([{ stream: 'posts/1', version: 1 }]);
    await erase(node, [1], []);
    for (let left = 200; (await cleaners[0]?.pass()) !== 'done'; left -= 1)
      assert.ok(left > 0, (await standing()).stage);
    assert.ok(await isThere(), archive.output());
    await close();
  });

  it('says which right is missing to know of the write-ahead log', async () => {
    const { node, cleaners, standing, close, sql, address } = await withLog();
    await sql(`REVOKE pg_monitor FROM ${address.user}`);
    await node.append([{ stream: 'posts/1', version: 1 }]);
    await erase(node, [1], []);
    assert.equal(await cleaners[0]?.pass(), 'going');
    assert.match(
      (await standing()).stage,
      /^the role may not look at the write-ahead log of .*: GRANT pg_monitor TO "annals_/,
    );
    await close();
  });
});

/** Has `pg_receivewal` keep the write-ahead log of a server, in a folder that goes with it. */
function startReceiving({ host, port }: { host: string; port: number }) {
  const { TEST_POSTGRES_USER = '', TEST_POSTGRES_PASSWORD = '' } = process.env;
  const folder = mkdtempSync(join(tmpdir(), 'annals-archive-'));
  const args = ['-h', host, '-p', String(port), '-U', TEST_POSTGRES_USER, '-D', folder, '--status-interval=1'];
  const child = spawn('pg_receivewal', args, {
    env: { ...process.env, PGPASSWORD: TEST_POSTGRES_PASSWORD },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const ended = once(child, 'close');
  let printed = '';
  child.stderr.setEncoding('utf8').on('data', (text) => {
    printed += text;
  });
  return {
    output: () => printed,
    async end(): Promise<void> {
      child.kill('SIGTERM');
      await ended;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

async function readAll(node: Node) {
  const events = [];
  const claims = [];
  for (let from = 0; ; ) {
    const missing = await node.log.tail({ size: from }, 5);
    events.push(...missing.events);
    claims.push(...missing.claims);
    from += missing.events.length;
    if (missing.head) return { events, claims };
  }
}

/** Appends an erasure of some positions. */
async function erase(node: Node, payloads: number[], streams: string[], files: string[] = []): Promise<void> {
  const erases = { payloads, streams, files };
  await node.append([{ stream: `erasures/${node.head().size}`, version: 1, erases }]);
}
