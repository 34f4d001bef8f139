import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, it, type TestContext } from 'node:test';
import Database from 'better-sqlite3';
import { readHandover } from '../../../events/proof/handovers.ts';
import { parseCheckpoint, parseNote } from '../../../events/proof/notes.ts';
import type { PostgresAddress } from '../../../storage/postgres/connection.ts';
import { run as verifyOffline } from '../../../verify/annals-verify.mjs';
import {
  describeWithPostgres,
  describeWithServers,
  makeDatabase,
  openClient,
  startServers,
  type TestDatabase,
  useDatabase,
} from '../../helpers/postgres.ts';
import { wholeOnly } from '../../helpers/rounds.ts';
import { apiKey, runCommand, type Service, temporaryFolder, writeConfig } from '../../helpers/service.ts';
import { useFolder } from '../../helpers/shared.ts';
import { config, nodeEnvironment, startNode } from './node.ts';

const posts = '/api/collections/posts';
const file = writeConfig(useFolder(), config);

// biome-ignore lint/suspicious/noExplicitAny: it is what the tests look at
type Key = any;

/** Runs `annals signing-key WAY` as a process, with the data directory of a node. */
async function change(address: PostgresAddress, way: string, { data }: Pick<Service, 'data'>, reason = 'a test') {
  const args = ['signing-key', way, '--reason', reason, '--config', file, '--data', data];
  return await runCommand(args, { environment: { ...nodeEnvironment(address), ANNALS_API_KEY: apiKey } });
}

async function write(node: Service, title = 'x'): Promise<void> {
  const { status, body } = await node.call('POST', posts, { title });
  assert.equal(status, 201, JSON.stringify(body));
}

async function keysOf(node: Service): Promise<Key[]> {
  const { status, body } = await node.call('GET', '/api/audit/signing-keys');
  assert.equal(status, 200, JSON.stringify(body));
  return body.keys;
}

/** The id of the key by which a node signs the log as it is now. */
async function signerOf(node: Service): Promise<string | undefined> {
  const text = await fetched(node, '/api/audit/checkpoint');
  return parseNote(text.toString())?.signatures[0]?.id;
}

async function fetched(node: Service, path: string): Promise<Buffer> {
  const answer = await fetch(`${node.url}${path}`, { headers: { 'x-api-key': apiKey } });
  assert.equal(answer.status, 200, path);
  return Buffer.from(await answer.arrayBuffer());
}

/** Saves an export of a node, and a checkpoint. */
async function evidenceOf(t: TestContext, node: Service): Promise<{ path: string; kept: string }> {
  const folder = temporaryFolder(t);
  const [path, kept] = [join(folder, 'export.zip'), join(folder, 'kept.txt')];
  writeFileSync(path, await fetched(node, '/api/audit/export'));
  writeFileSync(kept, await fetched(node, '/api/audit/checkpoint'));
  return { path, kept };
}

async function assertSound(...args: string[]): Promise<string> {
  const { exit, text } = await verifyOffline(args);
  assert.equal(exit, 0, text);
  return text;
}

/** Runs `annals verify` on the replica of a node, with its vault.db. */
async function assertVerifies({ data }: Pick<Service, 'data'>, key: string): Promise<void> {
  const { code, stdout, stderr } = await runCommand(['verify', '--data', data]);
  assert.equal(code, 0, stdout + stderr);
  assert.match(stdout, new RegExp(`are signed by the key ${key}`));
}

/** The keys that a vault.db has, oldest first. */
function learnt({ data }: Pick<Service, 'data'>): string[] {
  const db = new Database(join(data, 'vault.db'), { readonly: true });
  try {
    return db.prepare<[], string>('SELECT id FROM log_keys WHERE seed IS NULL ORDER BY made_at, rowid').pluck().all();
  } finally {
    db.close();
  }
}

/** The checkpoints that a replica keeps, by the ids of their keys. */
function signedIn({ data }: Pick<Service, 'data'>): { key: string; size: number }[] {
  const db = new Database(join(data, 'log.db'), { readonly: true });
  try {
    const notes = db.prepare<[], string>('SELECT note FROM checkpoints').pluck().all();
    return notes.map((note) => ({
      key: parseNote(note)?.signatures[0]?.id ?? '',
      size: parseCheckpoint(parseNote(note)?.text ?? '')?.size ?? 0,
    }));
  } finally {
    db.close();
  }
}

/** The keys in PostgreSQL whose private half is there, and the changes that no event tells of. */
async function vaultOf({ sql }: TestDatabase): Promise<{ signing: string[]; untold: number }> {
  const [keys, changes] = await sql(
    'SELECT id FROM annals_vault.log_keys WHERE seed IS NOT NULL',
    'SELECT number FROM annals_vault.key_changes',
  );
  return { signing: (keys?.rows ?? []).map(({ id }) => id), untold: changes?.rows.length ?? 0 };
}

const idOf = (verifierKey: string | undefined) => verifierKey?.split('+')[1] ?? '';
const keyIn = (stdout: string) => idOf(/: (annals\/\S+)/.exec(stdout)?.[1]);

describeWithPostgres('The key that signs the log of nodes', () => {
  const make = useDatabase();
  let database: TestDatabase;

  before(async () => {
    database = await make();
  });

  const two = async (t: TestContext) => {
    const { address } = database;
    const [a, b] = await Promise.all([startNode(t, address), startNode(t, address, { threads: 1 })]);
    return { address, a, b };
  };

  it('is handed over and replaced beside running nodes, which use the new one; all evidence stays sound', async (t) => {
    const { address, a, b } = await two(t);
    await write(a);
    const [first] = await keysOf(a);
    const early = await evidenceOf(t, b);
    const missing = await runCommand(['signing-key', 'rotate', '--data', a.data, '--config', file], {
      environment: nodeEnvironment(address),
    });
    assert.deepEqual([missing.code, /^--reason is missing/.test(missing.stderr)], [2, true], missing.stderr);

    const rotated = await change(address, 'rotate', a, 'the yearly rotation');
    assert.equal(rotated.code, 0, rotated.stderr);
    const second = keyIn(rotated.stdout);
    assert.match(rotated.stdout, /^auditors can keep the old key; the new one is: annals\//);
    assert.ok(rotated.stdout.endsWith(`the key ${first.id} is replaced by ${second}: the yearly rotation\n`));
    assert.deepEqual(await vaultOf(database), { signing: [second], untold: 0 });
    for (const node of [b, a]) {
      assert.equal(await signerOf(node), second);
      await write(node);
      assert.equal(await signerOf(node), second);
      const keys = await keysOf(node);
      assert.deepEqual(
        keys.map(({ id, signs }) => [id, signs]),
        [
          [first.id, false],
          [second, true],
        ],
      );
      assert.deepEqual(learnt(node), [first.id, second]);
      await assertVerifies(node, second);
      const { path } = await evidenceOf(t, node);
      for (const key of [first.verifierKey, keys[1].verifierKey]) {
        const text = await assertSound('--key', key, '--checkpoint', early.kept, path);
        assert.match(text, new RegExp(`proven +the key ${first.id} handed over to ${second} at \\d+ events`));
      }
    }
    await assertSound('--key', first.verifierKey, early.path);

    const replaced = await change(address, 'replace', b, 'a backup was stolen');
    assert.equal(replaced.code, 0, replaced.stderr);
    const third = keyIn(replaced.stdout);
    assert.match(replaced.stdout, /^auditors need to know the new key: annals\//);
    await write(a);
    const [now] = (await keysOf(a)).slice(-1);
    const late = await evidenceOf(t, a);
    assert.equal((await verifyOffline(['--key', first.verifierKey, late.path])).exit, 2, 'nothing leads there');
    await assertSound('--key', first.verifierKey, '--key', now.verifierKey, '--checkpoint', early.kept, late.path);
    for (const node of [a, b]) {
      assert.equal(await signerOf(node), third);
      await assertVerifies(node, third);
      const history = await runCommand(['signing-key', 'history', '--data', node.data]);
      assert.match(history.stdout, new RegExp(`handed over to ${second}: .* by system: the yearly rotation\n`));
      assert.match(history.stdout, new RegExp(`replaced by ${third}: .* by system: a backup was stolen\n`));
      assert.match(history.stdout, /\n {2}signs now\n$/);
    }
  });

  it('is changed by one node after the other, both at once, and while others sign', wholeOnly, async (t) => {
    const { address, a, b } = await two(t);
    await write(a);
    const [start] = (await keysOf(a)).slice(-1);
    const early = await evidenceOf(t, a);
    let isOver = false;
    const busy = [a, b].map(async (node) => {
      while (!isOver) {
        await write(node);
        await signerOf(node);
      }
    });
    const made: string[] = [];
    for (let round = 0; round < 3; round += 1) {
      const both = await Promise.all([a, b].map((node) => change(address, 'rotate', node, `round ${round}`)));
      for (const { code, stderr } of both) assert.equal(code, 0, stderr);
      made.push(...both.map(({ stdout }) => keyIn(stdout)));
    }
    isOver = true;
    await Promise.all(busy);
    const keys = (await keysOf(b)).slice(-7);
    assert.deepEqual(
      keys.map(({ id }) => id).toSorted(),
      [start.id, ...made].toSorted(),
      'each command made one key, and no two followed one',
    );
    const signed = [...signedIn(a), ...signedIn(b)];
    for (const [at, { replaced }] of keys.slice(0, -1).entries()) {
      const read = readHandover(replaced.handover);
      assert.deepEqual([read?.from.id, read?.to.id], [keys[at].id, keys[at + 1].id]);
      const size = read?.size ?? 0;
      for (const one of signed) {
        if (one.key === read?.from.id) assert.ok(one.size <= size, `${one.size} signed, handed over at ${size}`);
        // The first of the new key has the event.
        if (one.key === read?.to.id)
          assert.ok(one.size >= replaced.position, `${one.size}, event ${replaced.position}`);
      }
    }
    const late = await evidenceOf(t, b);
    for (const key of [start.verifierKey, keys.at(-1).verifierKey])
      await assertSound('--key', key, '--checkpoint', early.kept, late.path);
    const last = await signerOf(a);
    await signerOf(b);
    for (const node of [a, b]) await assertVerifies(node, last ?? '');
  });

  it('is changed if no node runs, and beside one that stands still', wholeOnly, async (t) => {
    const { address, a, b } = await two(t);
    await write(a);
    await Promise.all([a.stop(), b.stop()]);
    const alone = await change(address, 'rotate', a, 'nothing runs');
    assert.equal(alone.code, 0, alone.stderr);
    await assertVerifies(a, keyIn(alone.stdout));
    const without = await runCommand(['signing-key', 'rotate', '--reason', 'x', '--config', file, '--data', a.data]);
    assert.deepEqual(
      [without.code, /set ANNALS_POSTGRES_URL to its address/.test(without.stderr)],
      [2, true],
      without.stderr,
    );

    const [again, other] = [
      await startNode(t, address, { data: a.data }),
      await startNode(t, address, { data: b.data }),
    ];
    assert.equal(await signerOf(other), keyIn(alone.stdout));
    again.child.kill('SIGSTOP');
    const beside = await change(address, 'rotate', other, 'one stands still');
    assert.equal(beside.code, 0, beside.stderr);
    await write(other);
    again.child.kill('SIGCONT');
    assert.equal(await signerOf(again), keyIn(beside.stdout));
    await assertVerifies(again, keyIn(beside.stdout));
  });

  it('stays, or is the new one with its event, if a node is killed; the same command goes on', async (t) => {
    const { address, a, b } = await two(t);
    await write(a);
    const [start] = (await keysOf(a)).slice(-1);
    const session = await openClient(address, 'a test');
    t.after(session.end);

    /** Kills the node once it waits for a lock that the session has; then what PostgreSQL has got of it goes on. */
    async function killedAt(node: Service, lock: string): Promise<void> {
      await session.run('BEGIN');
      await session.run(lock);
      const asked = change(address, 'rotate', node, 'killed');
      const waits = "SELECT 1 FROM pg_stat_activity WHERE application_name = 'annals' AND wait_event_type = 'Lock'";
      await untilSome(() => session.run(`${waits} AND datname = current_database()`));
      await node.kill();
      await session.run('COMMIT');
      const { code, stderr } = await asked;
      assert.equal(code, 2, stderr);
      assert.match(stderr, /did not answer, and may have done what was asked/);
    }

    await killedAt(b, "SELECT * FROM annals_vault.locks WHERE subject = 'keys' FOR UPDATE");
    assert.deepEqual(await vaultOf(database), { signing: [start.id], untold: 0 });
    assert.equal(await signerOf(a), start.id);

    // Between the vault and the log: the other node tells the log, and then signs.
    const second = await startNode(t, address, { data: b.data });
    await killedAt(second, 'SELECT * FROM annals.heads FOR UPDATE');
    const [made] = (await vaultOf(database)).signing;
    assert.notEqual(made, start.id);
    assert.equal(await signerOf(a), made);
    assert.deepEqual(await vaultOf(database), { signing: [made], untold: 0 });

    // The same without another node: the command goes on.
    await a.stop();
    const third = await startNode(t, address, { data: b.data });
    await killedAt(third, 'SELECT * FROM annals.heads FOR UPDATE');
    const { signing, untold } = await vaultOf(database);
    const [after] = signing;
    assert.equal(untold, 1);
    const ended = await change(address, 'rotate', b, 'after the kills');
    assert.equal(ended.code, 0, ended.stderr);
    assert.ok(ended.stdout.includes(`the key ${after} is replaced by ${keyIn(ended.stdout)}: after the kills`));

    const node = await startNode(t, address, { data: a.data });
    const keys = (await keysOf(node)).slice(-4);
    assert.deepEqual(
      keys.map(({ id, replaced }) => [id, replaced?.by ?? null, replaced?.reason ?? null]),
      [
        [start.id, made, 'killed'],
        [made, after, 'killed'],
        [after, keyIn(ended.stdout), 'after the kills'],
        [keyIn(ended.stdout), null, null],
      ],
    );
    const { path } = await evidenceOf(t, node);
    await assertSound('--key', start.verifierKey, path);
    await assertVerifies(node, keyIn(ended.stdout));
  });
});

/** The first of some rows, once there are any. */
async function untilSome<T>(look: () => Promise<(T | undefined)[]>): Promise<T> {
  for (let left = 300; ; left -= 1) {
    const [found] = await look();
    if (found !== undefined) return found;
    assert.ok(left > 0, 'it did not come about');
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

describeWithServers('A change of the key that signs the log of nodes, with servers of its own', () => {
  it('with an unknown outcome is reported as such; all nodes use its result, also if its node is killed', async (t) => {
    const servers = await startServers();
    t.after(servers.end);
    const database = await makeDatabase(servers.hosts);
    const { address } = database;
    const [a, b] = await Promise.all([startNode(t, address), startNode(t, address)]);
    await write(a);
    const [start] = await keysOf(a);
    await signerOf(a);
    await signerOf(b);
    const session = await openClient(address, 'a test');
    t.after(session.end);

    /**
     * Asks a node for another key, whose commit then waits for the standby. @returns null if the node gave up before.
     */
    async function committing(node: Service): Promise<{ asked: ReturnType<typeof change> } | null> {
      await session.run('BEGIN');
      await session.run("SELECT * FROM annals_vault.locks WHERE subject = 'keys' FOR UPDATE");
      const asked = change(address, 'rotate', node, 'no standby');
      const waits = "SELECT 1 FROM pg_stat_activity WHERE application_name = 'annals' AND wait_event_type = 'Lock'";
      await untilSome(() => session.run(waits));
      servers.freeze('b');
      await session.run('ROLLBACK');
      const commits = `SELECT 1 FROM pg_locks JOIN pg_stat_activity USING (pid)
        WHERE relation = 'annals_vault.key_changes'::regclass AND mode = 'RowExclusiveLock' AND wait_event = 'SyncRep'`;
      for (let left = 20; left > 0; left -= 1) {
        if ((await session.run(commits)).length > 0) return { asked };
        await new Promise((resolve) => setTimeout(resolve, 100));
      }
      servers.thaw('b');
      await asked;
      return null;
    }

    const given = await untilSome(async () => [(await committing(a)) ?? undefined]);
    const { code, stderr } = await given.asked;
    assert.equal(code, 2, stderr);
    assert.match(stderr, /it is not known whether the key was changed: annals signing-key history tells/);
    servers.thaw('b');
    const id = await untilSome(async () => [await signerOf(b).catch(() => undefined)]);
    assert.notEqual(id, start.id);
    assert.equal(await untilSome(async () => [await signerOf(a).catch(() => undefined)]), id);
    const { signing, untold } = await vaultOf(database);
    assert.deepEqual([signing, untold], [[id], 0]);

    // The node is killed meanwhile: the commit goes on.
    const killed = await untilSome(async () => [(await committing(a)) ?? undefined]);
    await a.kill();
    servers.thaw('b');
    await killed.asked;
    const next = await untilSome(async () => (await vaultOf(database)).signing.filter((one) => one !== id));
    assert.equal(await untilSome(async () => [await signerOf(b).catch(() => undefined)]), next);

    const again = await change(address, 'rotate', b, 'again');
    assert.equal(again.code, 0, again.stderr);
    await write(b);
    const keys = await keysOf(b);
    assert.deepEqual(
      keys.slice(-2).map((key) => key.id),
      [next, keyIn(again.stdout)],
    );
    const { path } = await evidenceOf(t, b);
    await assertSound('--key', start.verifierKey, path);
    await assertVerifies(b, keyIn(again.stdout));
  });
});
