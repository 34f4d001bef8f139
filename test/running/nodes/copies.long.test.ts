import assert from 'node:assert/strict';
import { cpSync, existsSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { it, type TestContext } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { headerOf } from '../../../events/facts/envelope.ts';
import { appendLeaf, leafHash, rootOf, type Tree } from '../../../events/proof/merkle.ts';
import { usualSizes } from '../../../events/segments/segment-writer.ts';
import { segmentsOf } from '../../../events/segments/segments.ts';
import { type Sqlite, withDatabase } from '../../../storage/sqlite.ts';
import { rowsOf } from '../../cli/move/moving.ts';
import { startHere } from '../../helpers/embedded.ts';
import { remainsIn } from '../../helpers/leftovers.ts';
import { describeWithPostgres, type TestDatabase, useDatabase } from '../../helpers/postgres.ts';
import { wholeOnly } from '../../helpers/rounds.ts';
import {
  apiKey,
  runCommand,
  type Service,
  startService,
  type TestConfig,
  temporaryFolder,
  writeConfig,
} from '../../helpers/service.ts';
import { eventually } from '../../helpers/shared.ts';
import { config, nodeEnvironment, startNode, urlOf } from './node.ts';

describeWithPostgres('A node that joins from a copy of the files of another one', () => {
  const make = useDatabase();
  const posts = '/api/collections/posts';
  const environment = (name: string) => ({ ANNALS_NODE: name, ANNALS_API_KEY: apiKey });

  async function post(node: Service, title: string): Promise<string> {
    const { status, body } = await node.call('POST', posts, { title });
    assert.equal(status, 201, JSON.stringify(body));
    return body.id;
  }

  async function backUp(node: Service, to: string): Promise<string> {
    const { code, stdout, stderr } = await runCommand(['backup', '--out', to, '--data', node.data]);
    assert.equal(code, 0, stdout + stderr);
    return to;
  }

  const restore = (from: string, to: string, ...flags: string[]) =>
    runCommand(['restore', from, '--data', to, ...flags]);

  async function restored(from: string, to: string): Promise<string> {
    const { code, stdout, stderr } = await restore(from, to);
    assert.equal(code, 0, stdout + stderr);
    assert.match(stdout, /^restored \d+ events? in \S+, a replica of the log annals\/\S+ in PostgreSQL\n/);
    return to;
  }

  /** Starts a node that must not start, and returns its output. */
  async function refused(t: TestContext, data: string, { address }: TestDatabase, other: TestConfig = config) {
    const given = ['--config', writeConfig(temporaryFolder(t), other), '--data', data, '--port', '0'];
    const { code, stdout, stderr } = await runCommand(['serve', ...given], { environment: nodeEnvironment(address) });
    assert.equal(code, 2, stdout + stderr);
    return stderr;
  }

  type Listed = { node: string; state: string; scrubbed: number; applied: number };

  async function listed({ address }: TestDatabase): Promise<Listed[]> {
    const { stdout } = await runCommand(['nodes', '--json'], { environment: { ANNALS_POSTGRES_URL: urlOf(address) } });
    return JSON.parse(stdout).nodes;
  }

  async function answersOf(node: Service) {
    const { body } = await node.call('GET', `${posts}?limit=1000&sort=createdAt`);
    const page = body.docs.map((doc: { id: string }) => doc.id);
    const past = await node.call('GET', `${posts}?asOf=30&limit=1000`);
    const history = await node.call('GET', `${posts}/${body.docs[0].id}/history`);
    const { docs: events } = (await node.call('GET', '/api/audit/events?limit=100')).body;
    return { total: body.total, page, past: past.body, history: history.body, events };
  }

  const segmentsIn = (data: string) =>
    Object.fromEntries(
      withDatabase(join(data, 'log.db'), { readonly: true }, segmentsOf).map(({ file }) => [
        file,
        readFileSync(join(data, 'segments', file)),
      ]),
    );

  it('has what is in it from there, and only the rest from PostgreSQL', async (t) => {
    const database = await make();
    const folder = temporaryFolder(t);
    // A log with segments comes from one process, in which segments may be small.
    const erased = `Ermintrude-${process.pid}`;
    const {
      posts: [id],
      data: moved,
    } = await archivedLog(t, folder, database, [erased, 'left']);
    const b = await startNode(t, database.address, { config: archivedConfig, environment: environment('b') });
    const a = await startNode(t, database.address, {
      data: moved,
      config: archivedConfig,
      environment: environment('a'),
    });
    await post(b, 'of the other node');
    assert.equal((await a.call('GET', posts)).status, 200);
    const before = segmentsIn(a.data);
    assert.ok(Object.keys(before).length >= 2);
    const backup = await backUp(a, join(folder, 'a.annals'));

    const early = await restored(backup, join(folder, 'early'));
    assert.equal(existsSync(join(early, 'node')), false);
    const first = await startNode(t, database.address, {
      data: early,
      config: archivedConfig,
      environment: { ANNALS_API_KEY: apiKey },
    });
    assert.deepEqual(segmentsIn(early), before);
    assert.deepEqual(rowsOf(early), rowsOf(a.data));
    assert.deepEqual(await answersOf(first), await answersOf(a));
    await first.stop();

    const erasure = await a.call('POST', '/api/audit/erasures', { collection: 'posts', id, reason: 'asked for' });
    assert.equal(erasure.status, 202, JSON.stringify(erasure.body));
    const last = await post(b, 'after the backup');
    const data = await restored(backup, join(folder, 'c'));
    assert.notDeepEqual(remainsIn(data, [erased]), []);
    const c = await startNode(t, database.address, { data, config: archivedConfig, environment: environment('c') });
    // From its first answer on.
    assert.deepEqual(remainsIn(data, [erased]), []);
    assert.equal((await c.call('GET', `${posts}/${id}`)).status, 404);
    assert.equal((await c.call('GET', `${posts}/${last}`)).body.title, 'after the backup');
    for (let left = 600; ; left -= 1) {
      const nodes = await listed(database);
      if (nodes.every(({ state, scrubbed, applied }) => state === 'ready' && scrubbed === applied)) break;
      assert.ok(left > 0, JSON.stringify(nodes));
      await pause(100);
    }
    assert.deepEqual(await answersOf(c), await answersOf(a));
    // The node goes on as any other does.
    const written = await post(c, 'by the new one');
    assert.equal((await a.call('GET', `${posts}/${written}`)).status, 200);
    await Promise.all([a, b, c].map((node) => node.stop()));
    const verified = await runCommand(['verify', '--data', data]);
    assert.match(verified.stdout, /sound: the log is whole/, verified.stdout + verified.stderr);

    // A stopped node's directory, but for its name.
    const copy = join(folder, 'copy');
    cpSync(data, copy, { recursive: true });
    rmSync(join(copy, 'node'), { force: true });
    const readFiles = () => readdirSync(copy).filter((name) => /^read-.*\.db$/.test(name));
    const kept = readFiles().map((name) => [name, statSync(join(copy, name)).ino]);
    const d = await startNode(t, database.address, {
      data: copy,
      config: archivedConfig,
      environment: { ANNALS_API_KEY: apiKey },
    });
    // The same file: none was built.
    assert.deepEqual(
      readFiles().map((name) => [name, statSync(join(copy, name)).ino]),
      kept,
    );
    assert.equal((await d.call('GET', `${posts}/${written}`)).body.title, 'by the new one');
    assert.deepEqual(segmentsIn(copy), segmentsIn(data));
  });

  it('has nothing of an erasure in read tables of before, which it keeps while it waits', wholeOnly, async (t) => {
    const database = await make();
    const a = await startNode(t, database.address, { environment: environment('a') });
    const erased = `Perpetua-${process.pid}`;
    const id = await post(a, erased);
    await a.stop();
    const copy = join(temporaryFolder(t), 'copy');
    cpSync(a.data, copy, { recursive: true });
    const again = await startNode(t, database.address, { data: a.data, environment: environment('a') });
    await again.call('POST', '/api/audit/erasures', { collection: 'posts', id, reason: 'asked for' });
    const [collection] = config.collections;
    const other = {
      ...config,
      collections: [{ ...collection, fields: [...(collection?.fields ?? []), { name: 'more', type: 'text' }] }],
    };
    assert.notDeepEqual(remainsIn(copy, [erased]), []);
    const waiting = await startNode(t, database.address, {
      data: copy,
      config: other,
      environment: environment('waiting'),
    });
    assert.equal((await waiting.call('GET', '/ready')).status, 503);
    assert.deepEqual(remainsIn(copy, [erased]), []);
    await Promise.all([again.stop(), waiting.stop()]);
  });

  /** A node with four events, and a backup of it. */
  async function savedNode(t: TestContext) {
    const database = await make();
    const a = await startNode(t, database.address, { environment: environment('a') });
    for (const title of ['one', 'two', 'three']) await post(a, title);
    return { database, a, backup: await backUp(a, join(temporaryFolder(t), 'a.annals')) };
  }

  it('is refused if the copy is of another log or history, or ahead, and stays as it is', async (t) => {
    const { database, backup, a } = await savedNode(t);
    const folder = temporaryFolder(t);
    const another = await make();
    const stranger = await startNode(t, another.address);
    await stranger.stop();
    const data = await restored(backup, join(folder, 'strange'));
    assert.match(
      await refused(t, data, another),
      /is a replica of the log annals\/\S+, and the one in PostgreSQL is annals\//,
    );

    // PostgreSQL goes back, as when an older backup of it is restored, and on in another way.
    await a.stop();
    const ahead = await restored(backup, join(folder, 'ahead'));
    const before = rowsOf(ahead);
    await goBack(database, 3);
    assert.match(await refused(t, ahead, database), /the log went back: it ends at 3, this node has seen 4/);
    const fork = await startNode(t, database.address, { environment: environment('fork') });
    for (const title of ['other', 'another', 'more']) await post(fork, title);
    const stderr = await refused(t, ahead, database);
    assert.match(stderr, /the log went back: at 4 it holds another event than this node has/);
    assert.deepEqual(rowsOf(ahead), before);
    assert.deepEqual(
      (await listed(database)).map(({ node }) => node),
      ['fork'],
    );
    await fork.stop();
  });

  it('is not made of a log from before it was moved, and needs ANNALS_POSTGRES_URL', wholeOnly, async (t) => {
    const { backup } = await savedNode(t);
    const folder = temporaryFolder(t);
    const data = await restored(backup, join(folder, 'data'));
    const alone = await runCommand(['serve', '--data', data, '--port', '0']);
    assert.equal(alone.code, 2);
    assert.match(alone.stderr, /is a replica of the log annals\/\S+ in PostgreSQL: set ANNALS_POSTGRES_URL/);

    const service = await startService(t, config);
    await service.call('POST', posts, { title: 'one' });
    const own = join(folder, 'own.annals');
    await backUp(service, own);
    const database = await make();
    const moved = await runCommand(['log', 'move', '--to', urlOf(database.address), '--data', service.data]);
    assert.equal(moved.code, 0, moved.stderr);
    const former = join(folder, 'former');
    assert.equal((await restore(own, former)).code, 0);
    assert.match(await refused(t, former, database), /has a log of its own, which is not the one in PostgreSQL/);
    await service.stop();
    // From after the move, and before a node was started on it.
    const between = await restore(await backUp(service, join(folder, 'moved.annals')), join(folder, 'moved'));
    assert.equal(between.code, 0, between.stderr);
    const node = await startNode(t, database.address, { data: join(folder, 'moved') });
    assert.equal((await node.call('GET', posts)).body.total, 1);
  });

  it('takes a backup of a node whole, and a node makes no rounds, for which it has no key', wholeOnly, async (t) => {
    const { backup, a } = await savedNode(t);
    const folder = temporaryFolder(t);
    const cut = await restore(backup, join(folder, 'cut'), '--to', '2');
    assert.equal(cut.code, 2);
    assert.match(cut.stderr, /--to does not go with the backup of a node: its log is in PostgreSQL/);
    assert.deepEqual(readdirSync(join(folder, 'cut')), []);
    const series = join(folder, 'series');
    const follow = await runCommand(['backup', '--to', series, '--follow', '--data', a.data]);
    assert.equal(follow.code, 2);
    assert.match(follow.stderr, /annals backup --follow does not work on \S+, a replica of the log .*--every/);
    const once = await runCommand(['backup', '--to', series, '--data', a.data]);
    assert.equal(once.code, 0, once.stdout + once.stderr);
    const verified = await runCommand(['verify', series]);
    assert.match(verified.stdout, /sound: the backup is whole \(4 events, 0 files\)/);
    await restored(series, join(folder, 'data'));
  });
});

/** Removes the newest events from PostgreSQL, with the head of that time. */
async function goBack({ sql }: TestDatabase, size: number): Promise<void> {
  const [rows] = await sql(`SELECT header FROM annals.events WHERE position <= ${size} ORDER BY position`);
  const headers: string[] = (rows?.rows ?? []).map(({ header }) => header);
  const tree: Tree = { size: 0, nodes: [] };
  for (const header of headers) appendLeaf(tree, leafHash(header), () => {});
  const root = rootOf(tree).toString('hex');
  const { recordedAt } = headerOf(headers.at(-1) ?? '');
  await sql(
    `DELETE FROM annals.events WHERE position > ${size}`,
    `DELETE FROM annals.payloads WHERE position > ${size}`,
    'UPDATE annals_vault.log_keys SET signed_size = NULL, signed_root = NULL',
    `UPDATE annals.heads SET size = ${size}, root = decode('${root}', 'hex'), recorded_at = '${recordedAt}'`,
  );
}

const archivedConfig = { collections: [{ slug: 'posts', fields: [{ name: 'title', type: 'text' }] }] };

/**
 * Moves a log with segments of 20 events into a database. @returns the ids of the first posts, and the data directory
 * of a node.
 */
async function archivedLog(t: TestContext, folder: string, { address }: TestDatabase, titles: readonly string[]) {
  const usual = { ...usualSizes };
  Object.assign(usualSizes, { events: 20, hot: 5 });
  t.after(() => Object.assign(usualSizes, usual));
  const service = await startHere(t, archivedConfig);
  const ids: string[] = [];
  for (const title of [...titles, ...Array.from({ length: 60 }, (_, index) => `post ${index}`)])
    ids.push((await service.call('POST', '/api/collections/posts', { title })).body.id);
  const inLog = <T>(look: (db: Sqlite) => T) => withDatabase(join(service.data, 'log.db'), { readonly: true }, look);
  const oldest = (db: Sqlite) => Number(db.prepare('SELECT min(position) FROM payloads').pluck().get());
  await eventually(() => inLog((db) => segmentsOf(db).length >= 2 && oldest(db) > 40));
  const run = async (...args: string[]) => {
    const { code, stdout, stderr } = await runCommand(args);
    assert.equal(code, 0, stdout + stderr);
  };
  await run('log', 'move', '--to', urlOf(address), '--data', service.data);
  await service.stop();
  const data = join(folder, 'moved');
  cpSync(service.data, data, { recursive: true });
  return { posts: ids, data };
}
