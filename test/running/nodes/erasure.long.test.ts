import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, it } from 'node:test';
import { runHere } from '../../helpers/in-process.ts';
import { remainsIn } from '../../helpers/leftovers.ts';
import {
  describeWithServers,
  makeDatabase,
  type Servers,
  startServers,
  type TestDatabase,
} from '../../helpers/postgres.ts';
import { wholeOnly } from '../../helpers/rounds.ts';
import { apiKey, type Service, temporaryFolder } from '../../helpers/service.ts';
import { askUntil } from '../../helpers/shared.ts';
import { startNode, urlOf } from './node.ts';
import { apply, next } from './schemas.ts';

describeWithServers('An erasure of nodes with one log in PostgreSQL', () => {
  let servers: Servers;
  let database: TestDatabase;
  before(async () => {
    servers = await startServers();
    database = await makeDatabase(servers.hosts);
  });
  after(() => servers.end());

  it('is finished when no node, table or write-ahead log has the data, also of a node that was down', async (t) => {
    const { address, sql } = database;
    const environment = (name: string) => ({ ANNALS_NODE: name, ANNALS_API_KEY: apiKey });
    const folder = temporaryFolder(t);
    const a = await startNode(t, address, { environment: environment('a') });
    const b = await startNode(t, address, { environment: environment('b'), data: join(folder, 'b') });
    const secret = `Hildegard-${process.pid}`;
    const made = await a.call('POST', '/api/collections/posts', { title: secret, slug: secret.toLowerCase() });
    assert.equal(made.status, 201, JSON.stringify(made.body));
    const id = String(made.body.id);
    await a.call('PATCH', `/api/collections/posts/${id}`, { title: `${secret} again` });
    for (let at = 0; at < 5; at += 1) await b.call('POST', '/api/collections/posts', { title: `other ${at}` });
    assert.equal((await b.call('GET', `/api/collections/posts/${id}`)).body.title, `${secret} again`);
    await sql('ANALYZE');
    await b.kill();

    const erased = await a.call('POST', '/api/audit/erasures', { collection: 'posts', id, reason: 'asked for' });
    assert.equal(erased.status, 202, JSON.stringify(erased.body));
    const stateOn = async (node: Service) =>
      (await node.call('GET', `/api/audit/erasures/${String(erased.body.position)}`)).body;
    const waiting = await askUntil(
      () => stateOn(a),
      ({ obstacle }) => /node b is not there/.test(String(obstacle)),
    );
    assert.deepEqual([waiting.finished, waiting.waitsFor], [false, 'data']);
    assert.deepEqual(remainsIn(a.data, [secret]), []);
    assert.notDeepEqual(remainsIn(join(folder, 'b'), [secret]), []);

    const again = await startNode(t, address, { environment: environment('b'), data: join(folder, 'b') });
    await askUntil(
      () => stateOn(again),
      ({ finished }) => finished === true,
    );
    assert.deepEqual([...remainsIn(a.data, [secret]), ...remainsIn(again.data, [secret])], []);
    assert.deepEqual(filesWith(servers.folder, secret), []);
    assert.deepEqual(filesWith(servers.folder, secret.toLowerCase()), []);
    await askUntil(
      () => stateOn(a),
      ({ finished }) => finished === true,
    );
    await Promise.all([a.stop(), again.stop()]);
    const [nodes] = await sql('SELECT node FROM annals.nodes');
    assert.deepEqual(nodes?.rows, []);
  });

  it('does not keep a node from ending while a server is slow with its write-ahead log', wholeOnly, async (t) => {
    const { address, sql } = await makeDatabase(servers.hosts);
    const node = await startNode(t, address, { environment: { ANNALS_API_KEY: apiKey } });
    const made = await node.call('POST', '/api/collections/posts', { title: 'one' });
    const [found] = await sql("SELECT pid FROM pg_stat_activity WHERE backend_type = 'checkpointer'");
    const checkpointer: number = found?.rows[0].pid;
    process.kill(checkpointer, 'SIGSTOP');
    try {
      const erasure = { collection: 'posts', id: made.body.id, reason: 'asked for' };
      assert.equal((await node.call('POST', '/api/audit/erasures', erasure)).status, 202);
      await askUntil(
        () => sql("SELECT pid FROM pg_stat_activity WHERE query = 'CHECKPOINT' AND datname = current_database()"),
        ([waiting]) => waiting?.rowCount === 1,
      );
      const began = performance.now();
      await node.stop();
      // A look at the write-ahead log may take a minute.
      assert.ok(performance.now() - began < 30_000);
      assert.deepEqual((await sql('SELECT node FROM annals.nodes'))[0]?.rows, []);
    } finally {
      process.kill(checkpointer, 'SIGCONT');
    }
  });

  it('is finished when nodes that wait have nothing of it in read tables of before', wholeOnly, async (t) => {
    const { address } = await makeDatabase(servers.hosts);
    const environment = (name: string) => ({ ANNALS_NODE: name, ANNALS_API_KEY: apiKey });
    const data = join(temporaryFolder(t), 'b');
    const a = await startNode(t, address, { environment: environment('a') });
    const former = await startNode(t, address, { environment: environment('b'), data });
    const secret = `Hildegard-waits-${process.pid}`;
    const made = await a.call('POST', '/api/collections/posts', { title: secret, slug: 'one', count: 1 });
    const id = String(made.body.id);
    assert.equal((await former.call('GET', `/api/collections/posts/${id}`)).body.title, secret);
    await former.stop();
    // One node keeps the read file that it had; the other makes one, to see what the configuration changes.
    const b = await startNode(t, address, { environment: environment('b'), data, config: withoutCount });
    const c = await startNode(t, address, { environment: environment('c'), config: withoutCount });
    for (const node of [b, c]) assert.equal(readFilesIn(node.data).length, 2);

    const erased = await a.call('POST', '/api/audit/erasures', { collection: 'posts', id, reason: 'asked for' });
    assert.equal(erased.status, 202, JSON.stringify(erased.body));
    await askUntil(
      async () => (await a.call('GET', `/api/audit/erasures/${String(erased.body.position)}`)).body,
      ({ finished }) => finished === true,
    );
    for (const node of [a, b, c]) assert.deepEqual(remainsIn(node.data, [secret]), []);
    for (const node of [b, c]) assert.equal(readFilesIn(node.data).length, 1);
    const applied = await apply(b);
    assert.equal(applied.code, 0, applied.stderr);
    await askUntil(
      () => c.call('GET', '/api/collections/posts'),
      ({ status, body }) => status === 200 && body.docs.length === 0,
    );
    await Promise.all([a.stop(), b.stop(), c.stop()]);
  });

  it('waits for a standby that ANNALS_POSTGRES_URL does not name, and says so wherever it is asked', async (t) => {
    const { address, sql } = await makeDatabase(servers.hosts);
    const hosts = address.hosts.slice(0, 1);
    const environment = { ANNALS_NODE: 'a', ANNALS_API_KEY: apiKey };
    const data = join(temporaryFolder(t), 'a');
    const node = await startNode(t, { ...address, hosts }, { environment, data });
    const { body: made } = await node.call('POST', '/api/collections/posts', { title: 'Hildegard' });
    const erased = await node.call('POST', '/api/audit/erasures', {
      collection: 'posts',
      id: made.id,
      reason: 'asked for',
    });
    const path = `/api/audit/erasures/${String(erased.body.position)}`;
    const unnamed = 'the standby b may have it in its write-ahead log: ANNALS_POSTGRES_URL does not name it';
    const waiting = await askUntil(
      async () => (await node.call('GET', path)).body,
      ({ obstacle }) => String(obstacle).endsWith(`files: ${unnamed}`),
    );
    assert.deepEqual([waiting.finished, waiting.waitsFor], [false, 'data']);
    const { stdout } = await runHere(['nodes'], { environment: { ANNALS_POSTGRES_URL: urlOf({ ...address, hosts }) } });
    assert.ok(stdout.includes(`is not finished: PostgreSQL still has it in its files: ${unnamed}\n`), stdout);
    await node.kill();

    const again = await startNode(t, address, { environment, data });
    await askUntil(
      async () => (await again.call('GET', path)).body,
      ({ finished }) => finished === true,
    );
    await again.stop();
    const [nodes] = await sql('SELECT node FROM annals.nodes');
    assert.deepEqual(nodes?.rows, []);
  });
});

const [posts] = next.collections;
const withoutCount = {
  ...next,
  collections: [{ ...posts, fields: posts?.fields.filter(({ name }) => name !== 'count') }],
};

function readFilesIn(data: string): string[] {
  return readdirSync(data).filter((name) => /^read-[0-9a-f]+\.db$/.test(name));
}

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
