import assert from 'node:assert/strict';
import { randomBytes, randomInt } from 'node:crypto';
import { cpSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import Database from 'better-sqlite3';
import { readLog } from '../../../events/log/log-reader.ts';
import { readCheckpoints } from '../../../events/proof/checkpoints.ts';
import { checkpointText, signerOf } from '../../../events/proof/notes.ts';
import { openVault } from '../../../events/vault/vault.ts';
import { keyHistory } from '../../../server/audit/notary/keys.ts';
import { openDatabase } from '../../../storage/sqlite.ts';
import { run as verifyOffline } from '../../../verify/annals-verify.mjs';
import { noon, openTestLog } from '../../events/logs.ts';
import { startHere } from '../../helpers/embedded.ts';
import { runHere } from '../../helpers/in-process.ts';
import { assertRecorded } from '../../helpers/recorded.ts';
import { apiKey, temporaryFolder, writeConfig } from '../../helpers/service.ts';

const collections = [
  { slug: 'posts', fields: [{ name: 'title', type: 'text' as const }] },
  { slug: 'staff', auth: true as const, fields: [] },
];
const config = { bcryptCost: 4, collections };

// biome-ignore lint/suspicious/noExplicitAny: it is what the tests look at
type Key = any;

/** Files of evidence: `all` are those to verify, `keys` the answer of GET /api/audit/signing-keys. */
type Evidence = { all: string[]; kept: string; keys: string; key: Key };

/** Runs a service on a data directory for a while: some posts, and what it says of its keys. */
async function serve(t: TestContext, data: string, posts = 1): Promise<{ keys: Key[]; stderr: string }> {
  const service = await startHere(t, config, { data });
  for (let index = 0; index < posts; index += 1) {
    assert.equal((await service.call('POST', '/api/collections/posts', { title: 'x' })).status, 201);
  }
  assert.equal((await service.call('GET', '/api/audit/consistency?from=1')).status, 200);
  const { status, body } = await service.call('GET', '/api/audit/signing-keys');
  assert.equal(status, 200);
  await service.stop();
  return { keys: body.keys, stderr: service.output().stderr };
}

function vaultOf<T>(data: string, use: (db: Database.Database) => T): T {
  const db = new Database(join(data, 'vault.db'));
  try {
    return use(db);
  } finally {
    db.close();
  }
}

/** The events about keys as the log has them, in short. */
function told(data: string): string[] {
  const db = new Database(join(data, 'log.db'), { readonly: true });
  const rows = db
    .prepare(
      `SELECT header, body FROM headers JOIN payloads USING (position) WHERE stream = 'system/keys' ORDER BY position`,
    )
    .all() as { header: string; body: string }[];
  db.close();
  return rows.map(({ header, body }) => {
    const { type, actor } = JSON.parse(header);
    const { data, context } = JSON.parse(body);
    assert.deepEqual(actor, { type: 'system' });
    return `${type} ${data.key?.id ?? `${data.from.id} ${data.to.id}`}: ${context.reason}`;
  });
}

function remove(data: string, names: RegExp): void {
  for (const name of readdirSync(data)) if (names.test(name)) rmSync(join(data, name));
}

/** A log of which a day is lost: the vault and the anchored checkpoints have seen more than it. */
async function cutLog(
  t: TestContext,
  before = (_data: string) => {},
): Promise<{ data: string; id: string; seen: number }> {
  const data = join(temporaryFolder(t), 'data');
  const backup = join(temporaryFolder(t), 'backup');
  await serve(t, data);
  cpSync(data, backup, { recursive: true });
  const { keys } = await serve(t, data, 3);
  before(data);
  remove(data, /^(log\.db|read-)/);
  for (const name of readdirSync(backup)) if (name.startsWith('log.db')) cpSync(join(backup, name), join(data, name));
  return { data, id: keys[0].id, seen: keys[0].last.size };
}

/** Accepts a log with a vault that has not sealed it. */
async function accept(t: TestContext, data: string): Promise<void> {
  const options = ['--config', writeConfig(temporaryFolder(t), config), '--data', data];
  const { code, stderr } = await runHere(['rebuild', '--accept-foreign-writes', '--reason', 'x', ...options]);
  assert.equal(code, 0, stderr);
}

const verify = (data: string) => runHere(['verify', '--data', data]);

describe('A signing key', () => {
  it('that the vault has lost is replaced by an event, once, also if an older vault comes back', async (t) => {
    const data = join(temporaryFolder(t), 'data');
    const first = await serve(t, data);
    const [{ id: firstId, verifierKey, ...only }] = first.keys;
    assert.deepEqual(
      [first.keys.length, only.signs, only.since, only.replaced, only.disowned],
      [1, true, null, null, null],
    );
    assert.ok(verifierKey.split('+')[1] === firstId && only.first.size >= 1 && only.last.size >= only.first.size);
    const aside = temporaryFolder(t);
    for (const name of readdirSync(data)) if (name.startsWith('vault')) cpSync(join(data, name), join(aside, name));
    remove(data, /^vault/);

    await accept(t, data);
    const second = await serve(t, data);
    const [lost, next] = second.keys;
    const why = 'vault.db did not have the key that signed before';
    assert.deepEqual(told(data), [`log.key.replaced ${firstId} ${next.id}: ${why}`]);
    assert.ok(second.stderr.includes(`the key ${firstId} is replaced by ${next.id}: ${why}`));
    const { position, recordedAt } = next.since;
    const event = { position, recordedAt, actor: { type: 'system' }, reason: why };
    const replaced = { ...event, by: next.id, handover: null };
    assert.deepEqual(lost, { ...lost, verifierKey: null, signs: false, replaced });
    assert.deepEqual([next.since, next.signs, next.first.size >= position], [event, true, true]);
    assert.equal((await serve(t, data)).keys.length, 2);

    // A reader who knows that the first key was replaced would believe nothing that it signs now.
    remove(data, /^vault/);
    for (const name of readdirSync(aside)) cpSync(join(aside, name), join(data, name));
    await accept(t, data);
    const third = await serve(t, data);
    assert.deepEqual(
      third.keys.slice(0, 2).map(({ id }) => id),
      [firstId, next.id],
    );
    assert.match(
      told(data)[1] ?? '',
      new RegExp(`^log.key.replaced ${next.id} ${third.keys[2].id}: vault.db is older`),
    );
    assert.equal(third.keys[0].verifierKey, null, 'no event has it');
    const again = await serve(t, data);
    assert.deepEqual([told(data).length, again.keys[2].signs], [2, true]);
    const sound = await verify(data);
    assert.equal(sound.code, 0, sound.stdout);
  });

  it('that vouched for lost events is disowned by an event that says who, why and which; verify names it', async (t) => {
    const { data, id, seen } = await cutLog(t);
    const rebuild = ['rebuild', '--config', writeConfig(temporaryFolder(t), config), '--data', data];
    // The lost events may have named files.
    const collected = await runHere(['blobs', 'gc', '--data', data]);
    assert.deepEqual([collected.code, /the signing key has seen position/.test(collected.stderr)], [2, true]);
    const unsaid = await runHere([...rebuild, '--accept-lost-events']);
    assert.deepEqual([unsaid.code, /--reason is missing: the log keeps why/.test(unsaid.stderr)], [2, true]);
    assert.match((await runHere([...rebuild, '--reason', 'x'])).stderr, /--reason goes with --accept-lost-events/);
    const accepted = await runHere([...rebuild, '--accept-lost-events', '--reason', 'the disk lost a day']);
    assert.equal(accepted.code, 0, accepted.stderr);
    const events = told(data);
    assert.equal(events[0], `log.key.disowned ${id}: the disk lost a day`);
    assert.match(events[1] ?? '', new RegExp(`^log.key.replaced ${id} [0-9a-f]{8}: the disk lost a day$`));

    const { keys } = await serve(t, data);
    assert.equal(told(data).length, 2);
    const [gone, now] = keys;
    assert.deepEqual(
      [gone.id, gone.signs, gone.disowned.signed, gone.disowned.reason],
      [id, false, seen, 'the disk lost a day'],
    );
    assert.ok(gone.verifierKey.includes(id) && gone.replaced.by === now.id && now.signs);
    const sound = await verify(data);
    assert.equal(sound.code, 0, sound.stdout);
    const { position, recordedAt } = gone.disowned;
    assert.ok(
      sound.stdout.includes(
        `note: the key ${id} was disowned by event ${position}, ${recordedAt}: the disk lost a day`,
      ),
    );
    assert.match(sound.stdout, /not held against, for their key was given up: \d$/m);
    const shown = await runHere(['signing-key', 'history', '--data', data]);
    assert.equal(shown.code, 0, shown.stderr);
    assert.ok(shown.stdout.includes(`  disowned by event ${position}, ${recordedAt}, by system: the disk lost a day`));
    const json = await runHere(['signing-key', 'history', '--data', data, '--json']);
    assert.deepEqual(JSON.parse(json.stdout), { keys });

    // The event alone: of a key that the vault has, it has to say so as well.
    vaultOf(data, (db) => db.exec('DELETE FROM disowned_keys'));
    const denied = await verify(data);
    assert.match(
      denied.stdout,
      new RegExp(`event ${position} says that the key ${id} was disowned, and vault.db, .* does not`),
    );
    assert.deepEqual([denied.code, /^NOT SOUND: the log was altered: /m.test(denied.stdout)], [1, true]);
  });

  it('that only a row of the vault gives up still counts, and verify says so', async (t) => {
    const { data, id } = await cutLog(t);
    const row = () => vaultOf(data, (db) => db.prepare('INSERT OR IGNORE INTO disowned_keys VALUES (?)').run(id));
    row();
    vaultOf(data, (db) => db.exec('UPDATE log_keys SET signed_size = NULL, signed_root = NULL'));
    const untold = `vault.db says that the key ${id} was disowned, and no event of the log does`;
    const found = await verify(data);
    assert.deepEqual([found.code, found.stdout.includes(untold)], [1, true], found.stdout);
    assert.match(found.stdout, /^NOT SOUND: the log lost events: .* the anchored checkpoint/m);
    const args = ['serve', '--config', writeConfig(temporaryFolder(t), config), '--data', data, '--port', '0'];
    const refused = await runHere(args, { environment: { ANNALS_THREADS: '0' } });
    assert.equal(refused.code, 2);
    assert.match(refused.stderr, /the log lost events: .* the anchored checkpoint/);
    assert.deepEqual(told(data), []);

    // Nothing contradicts the log here: all of it was looked at, and still somebody has written into the vault.
    rmSync(join(data, 'blobs/checkpoints'), { recursive: true });
    const odd = await verify(data);
    assert.deepEqual([odd.code, odd.stdout.includes(untold)], [2, true], odd.stdout);
  });

  it('that was given up before events recorded such a step is reported by the first start only', async (t) => {
    const { data, id } = await cutLog(t);
    const vault = openVault(join(data, 'vault.db'));
    const log = vault.logKeys.signed()[0]?.log ?? '';
    vault.logKeys.replace(log, { disowned: [{ id }], reason: 'x' });
    vault.close();
    // The vault as an earlier version left it.
    vaultOf(data, (db) => db.exec('DROP TABLE key_changes'));
    const before = new Database(join(data, 'log.db'));
    before.exec('DELETE FROM checkpoints');
    before.close();
    assert.equal((await verify(data)).code, 1);
    const { keys } = await serve(t, data);
    const why = 'done by an earlier version, whose log did not tell of it';
    assert.deepEqual(told(data), [`log.key.disowned ${id}: ${why}`, `log.key.replaced ${id} ${keys[1].id}: ${why}`]);
    assert.equal((await verify(data)).code, 0);
    vaultOf(data, (db) => db.prepare('INSERT INTO disowned_keys VALUES (?)').run(keys[1].id));
    const after = await serve(t, data);
    assert.equal(told(data).length, 2);
    assert.match(after.stderr, /no event of the log does/);
  });

  it('that is replaced on purpose signs no more; the next start reports a killed command, once', async (t) => {
    const data = join(temporaryFolder(t), 'data');
    const {
      keys: [old],
    } = await serve(t, data);
    assert.match((await runHere(['signing-key', 'replace', '--data', data])).stderr, /--reason is missing/);
    const replace = () => runHere(['signing-key', 'replace', '--data', data, '--reason', 'a backup was stolen']);
    const replaced = await assertRecorded({ data }, replace, ['log.key.replaced system/keys']);
    assert.equal(replaced.code, 0, replaced.stderr);
    const newKey = /auditors need to know the new key: (\S+)$/m.exec(replaced.stdout)?.[1] ?? '';
    const [, newId = ''] = newKey.split('+');
    const events = [`log.key.replaced ${old.id} ${newId}: a backup was stolen`];
    assert.deepEqual(told(data), events);
    const { keys } = await serve(t, data);
    assert.deepEqual(
      keys.map(({ verifierKey, signs }) => [verifierKey, signs]),
      [
        [old.verifierKey, false],
        [newKey, true],
      ],
    );
    // The earlier signatures of the key still hold.
    const sound = await verify(data);
    assert.deepEqual([sound.code, /not held against|does not know/.test(sound.stdout)], [0, false], sound.stdout);

    const vault = openVault(join(data, 'vault.db'));
    const log = vault.logKeys.signed()[0]?.log ?? '';
    vault.logKeys.note(log, { kind: 'replaced', from: { id: old.id }, to: { id: newId }, reason: 'said twice' });
    vault.logKeys.replace(log, { reason: 'killed here' });
    vault.close();
    const after = await serve(t, data);
    events.push(`log.key.replaced ${newId} ${after.keys[2].id}: killed here`);
    assert.deepEqual(told(data), events);
    await serve(t, data);
    assert.deepEqual(told(data), events);
    assert.equal((await verify(data)).code, 0);
  });
});

describe('annals signing-key rotate', () => {
  const rotate = (data: string, reason = 'the yearly rotation') =>
    runHere(['signing-key', 'rotate', '--data', data, '--reason', reason]);

  /** Leaves a vault as a command does that was killed before it wrote to the log. */
  function killedRotation(data: string): void {
    const db = openDatabase(join(data, 'log.db'), { readonly: true });
    const { log, size, root } = readLog(db).head();
    db.close();
    const vault = openVault(join(data, 'vault.db'));
    vault.logKeys.replace(log, { reason: 'killed', handedOver: { size, root, time: '2026-11-23T09:00:00.000Z' } });
    vault.close();
  }

  /** Saves what a service gives of a log: a bundle of its first post, an export, and the log itself. */
  async function evidenceOf(t: TestContext, data: string, folder: string): Promise<Evidence> {
    const service = await startHere(t, config, { data });
    const { body } = await service.call('POST', '/api/collections/posts', { title: 'x' });
    const options = ['--config', writeConfig(temporaryFolder(t), config), '--data', data];
    const paths = ['bundle.zip', 'export.zip'].map((name) => join(folder, name)) as [string, string];
    const [bundle, exported] = paths;
    const get = async (path: string) =>
      Buffer.from(await (await fetch(`${service.url}${path}`, { headers: { 'x-api-key': apiKey } })).arrayBuffer());
    writeFileSync(bundle, await get(`/api/audit/bundles/posts/${body.id}`));
    writeFileSync(exported, await get('/api/audit/export'));
    const kept = join(folder, 'kept.txt');
    writeFileSync(kept, await get('/api/audit/checkpoint'));
    const keys = join(folder, 'keys.json');
    writeFileSync(keys, await get('/api/audit/signing-keys'));
    await service.stop();
    const log = join(folder, 'log.db');
    const db = new Database(join(data, 'log.db'), { readonly: true });
    db.prepare('VACUUM INTO ?').run(log);
    db.close();
    const key = JSON.parse((await runHere(['signing-key', 'history', '--json', ...options.slice(2)])).stdout).keys.at(
      -1,
    );
    return { all: [bundle, exported, log], kept, keys, key };
  }

  it('keeps old and new evidence sound, with the old key and with the new one', async (t) => {
    const data = join(temporaryFolder(t), 'data');
    const before = await evidenceOf(t, data, temporaryFolder(t));
    assert.match((await runHere(['signing-key', 'rotate', '--data', data])).stderr, /--reason is missing/);
    const rotated = await assertRecorded({ data }, () => rotate(data), ['log.key.replaced system/keys']);
    assert.equal(rotated.code, 0, rotated.stderr);
    const after = await evidenceOf(t, data, temporaryFolder(t));
    const [old, now] = [before.key, after.key];
    assert.ok(rotated.stdout.includes(`auditors can keep the old key; the new one is: ${now.verifierKey}\n`));
    assert.ok(rotated.stdout.includes(`the key ${old.id} is replaced by ${now.id}: the yearly rotation\n`));
    const shown = await runHere(['signing-key', 'history', '--data', data]);
    assert.match(
      shown.stdout,
      new RegExp(`^  handed over to ${now.id}: event \\d+, .* by system: the yearly rotation$`, 'm'),
    );

    for (const path of after.all) {
      for (const { verifierKey } of [old, now]) {
        const { exit, text } = await verifyOffline(['--key', verifierKey, '--checkpoint', before.kept, path]);
        assert.equal(exit, 0, `${path} by ${verifierKey}: ${text}`);
        assert.match(
          text,
          new RegExp(`proven +the key ${old.id} handed over to ${now.id} at \\d+ events: both have signed it`),
        );
        assert.match(text, /proven +it continues the kept checkpoint|checkpoints signed by the pinned key, and those/);
        assert.ok(!text.includes('ask who owns the log'), text);
      }
    }
    for (const path of before.all) {
      assert.equal((await verifyOffline(['--key', old.verifierKey, path])).exit, 0);
      const by = ['--key', now.verifierKey, path];
      assert.equal((await verifyOffline(by)).exit, 2, 'nothing inside leads there');
      const { exit, text } = await verifyOffline(['--handovers', after.keys, ...by]);
      assert.equal(exit, 0, text);
      // The log ends at the handover: there is nothing to be proven.
      const isOpen = new RegExp(
        `open +whether the log that ${old.id} handed over to ${now.id}, of \\d+ events, continues`,
      );
      assert.equal(isOpen.test(text), !path.endsWith('log.db'), text);
    }
    const sound = await verify(data);
    assert.equal(sound.code, 0, sound.stdout);
  });

  it('that was killed before its event was recorded is recorded by the next start; a second one leads on', async (t) => {
    const data = join(temporaryFolder(t), 'data');
    const before = await evidenceOf(t, data, temporaryFolder(t));
    killedRotation(data);
    await serve(t, data);
    assert.equal((await rotate(data, 'the next year')).code, 0);
    const after = await evidenceOf(t, data, temporaryFolder(t));
    assert.equal(told(data).length, 2);
    for (const { verifierKey } of [before.key, after.key])
      for (const path of after.all) {
        const { exit, text } = await verifyOffline(['--key', verifierKey, path]);
        assert.equal(exit, 0, text);
        assert.equal(text.match(/ handed over to /g)?.length, 2);
      }
    // The seed of the old key is gone, so that it signs no more.
    const seeds = vaultOf(data, (db) => db.prepare('SELECT seed IS NULL FROM log_keys ORDER BY rowid').pluck().all());
    assert.deepEqual(seeds, [1, 1, 0]);
    assert.equal((await verify(data)).code, 0);
  });

  it('that was killed, of events that were lost since, leaves no hand-over of them in the log', async (t) => {
    const { data } = await cutLog(t, killedRotation);
    const options = ['--config', writeConfig(temporaryFolder(t), config), '--data', data];
    const accepted = await runHere(['rebuild', '--accept-lost-events', '--reason', 'the disk lost a day', ...options]);
    assert.equal(accepted.code, 0, accepted.stderr);
    const { keys } = await serve(t, data);
    assert.deepEqual(
      keys.map(({ replaced }) => replaced?.handover),
      [null, null, undefined],
    );
    const sound = await verify(data);
    assert.equal(sound.code, 0, sound.stdout);
  });

  it('hands over no log that the newest checkpoint contradicts', async (t) => {
    const { data, id } = await cutLog(t);
    const refused = await rotate(data);
    assert.deepEqual([refused.code, /the log lost events/.test(refused.stderr)], [2, true], refused.stderr);
    assert.deepEqual(
      [told(data), vaultOf(data, (db) => db.prepare('SELECT id FROM log_keys').pluck().all())],
      [[], [id]],
    );
  });

  it('is found by annals verify if the keys that an event names have not signed it', async (t) => {
    const data = join(temporaryFolder(t), 'data');
    const { keys } = await serve(t, data);
    assert.equal((await rotate(data)).code, 0);
    const [{ replaced, id }, to] = (await serve(t, data)).keys;
    const vault = openVault(join(data, 'vault.db'));
    const handover = replaced.handover.replace(/^time .*$/m, 'time 2026-01-01T00:00:00.000Z');
    const [from, origin] = [{ id }, to.verifierKey.split('+')[0]];
    vault.logKeys.note(origin, { kind: 'replaced', from, to: { id: '01234567' }, handover, reason: 'a lie' });
    vault.logKeys.note(origin, { kind: 'replaced', from: { id: '01234567' }, to: { id: to.id }, reason: 'back' });
    vault.close();
    await serve(t, data);
    const { code, stdout } = await verify(data);
    assert.deepEqual([keys[0].id, code], [id, 1]);
    assert.match(stdout, /^NOT SOUND: the hand-over in event \d+ is not what the keys that it names have signed/m);
  });
});

describe('GET /api/audit/signing-keys', () => {
  it('needs the scope headers, tells why only with payloads, and takes no parameter', async (t) => {
    const scopes = `({ req }) => (req.headers['x-scope'] ?? '').split(',').filter(Boolean)`;
    const source = `export default { ...${JSON.stringify(config)}, audit: ${scopes} };`;
    const data = join(temporaryFolder(t), 'data');
    const { keys } = await serve(t, data);
    const replaced = await runHere(['signing-key', 'replace', '--data', data, '--reason', 'a name stands here']);
    assert.equal(replaced.code, 0, replaced.stderr);
    const service = await startHere(t, source, { data });
    const get = (scope: string, query = '') =>
      service.call('GET', `/api/audit/signing-keys${query}`, undefined, { headers: { 'x-scope': scope } });
    assert.equal((await get('')).status, 403);
    assert.equal((await get('headers', '?odd=1')).status, 400);
    const bare = await get('headers');
    assert.equal(bare.status, 200);
    assert.ok(!JSON.stringify(bare.body).includes('a name stands here'));
    assert.deepEqual([bare.body.keys.length, bare.body.keys[0].id], [2, keys[0].id]);
    const whole = await get('payloads');
    assert.equal(whole.body.keys[0].replaced.reason, 'a name stands here');
    assert.deepEqual(Object.keys(bare.body.keys[0].replaced), ['position', 'recordedAt', 'actor', 'by', 'handover']);
    const under = async (scope: object) => {
      const asked = { name: 'x', scopes: [{ collections: '*', operations: ['read'], ...scope }], audit: ['payloads'] };
      const { body } = await service.call('POST', '/api/keys', asked);
      return (await service.call('GET', '/api/audit/signing-keys', undefined, { key: body.secret })).body.keys[0]
        .replaced.reason;
    };
    assert.equal(await under({}), undefined, 'it is about no collection');
    assert.equal(await under({ globals: '*' }), 'a name stands here');
  });
});

describe('The checkpoints of each key', () => {
  it('are found by what they say, with any other signatures beside', (t) => {
    const { db, log } = openTestLog(t);
    const signers = [1, 2, 3].map((byte) => signerOf('annals/test', Buffer.alloc(32, byte)));
    const ranges = new Map<string, number[]>();
    const timeOf = (size: number) => new Date(noon + size * 1000).toISOString();
    for (let size = 1; size <= 120; size += 1) {
      const signer = signers[randomInt(Math.min(3, 1 + Math.floor(size / 40)))] ?? assert.fail();
      const text = checkpointText('annals/test', { size, root: randomBytes(32), time: timeOf(size) });
      log.keepCheckpoint({ kind: 'signed', size, note: signer.sign(text), signedAt: timeOf(size) });
      log.keepCheckpoint({ kind: 'cosigned', size, text, line: `— w ${randomBytes(76).toString('base64')}\n` });
      ranges.set(signer.id, [...(ranges.get(signer.id) ?? []), size]);
    }
    const signed = (size = 0) => ({ size, signedAt: timeOf(size) });
    const expected = [...ranges].map(([id, sizes]) => ({ id, first: signed(sizes[0]), last: signed(sizes.at(-1)) }));
    const found = readCheckpoints(db).signers('annals/test');
    assert.deepEqual(
      found,
      expected.sort((one, other) => one.last.size - other.last.size),
    );
    assert.deepEqual(readCheckpoints(db).signers('annals/other'), []);
    assert.deepEqual(
      keyHistory(db, null).map(({ id, first, last, signs }) => ({ id, first, last, signs })),
      found
        .map((range, index) => ({ ...range, signs: index === found.length - 1 }))
        .sort((one, other) => one.first.size - other.first.size),
    );
  });
});
