import assert from 'node:assert/strict';
import { copyFileSync, existsSync, mkdirSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import Database from 'better-sqlite3';
import { readLog } from '../../events/log/log-reader.ts';
import { readAcceptances } from '../../events/service-events/acceptances.ts';
import { createIds } from '../../events/store/ids.ts';
import { openLogToRead } from '../../events/store/log-file.ts';
import { expectedSchema, schemaOf } from '../../events/store/log-tables.ts';
import { openVault, withVault } from '../../events/vault/vault.ts';
import { boot, ClockError } from '../../projections/start/boot.ts';
import { withDatabase } from '../../storage/sqlite.ts';
import { run } from '../../verify/annals-verify.mjs';
import { startHere } from '../helpers/embedded.ts';
import { runHere } from '../helpers/in-process.ts';
import { temporaryFolder, writeConfig } from '../helpers/service.ts';
import { bringBack, sealsIn } from './logs.ts';

/**
 * Logs as the versions made them that wrote format 1 and 2, with their vaults: of posts and a global, created, changed
 * and deleted through the API; of format 2 also with an idempotency key, an erasure and a signed checkpoint.
 */
const fixtures = fileURLToPath(new URL('../fixtures/', import.meta.url));

const config = {
  collections: [
    {
      slug: 'posts',
      fields: [
        { name: 'title', type: 'text' as const, required: true },
        { name: 'slug', type: 'text' as const, unique: true },
      ],
    },
    { slug: 'people', auth: true, fields: [{ name: 'name', type: 'text' as const }] },
  ],
  globals: [{ slug: 'site', fields: [{ name: 'motto', type: 'text' as const }] }],
};

const known = {
  1: { size: 7, root: '', signed: 0 },
  2: { size: 9, root: '8/5DjquhOSRPQ0ed5kb5Mu6O6qZbiAJzhLdiihEc7NM=', signed: 9 },
} as const;

type Format = keyof typeof known;
const formats: Format[] = [1, 2];

function copyOf(t: TestContext, format: Format): string {
  const data = join(temporaryFolder(t), 'data');
  mkdirSync(data);
  for (const name of ['log.db', 'vault.db']) copyFileSync(join(fixtures, `format-${format}`, name), join(data, name));
  return data;
}

function headersIn(data: string): string[] {
  const db = openLogToRead(join(data, 'log.db'));
  const log = readLog(db);
  const headers = log.headers(0, log.head().size);
  db.close();
  return headers;
}

function change(data: string, sql: string, file = 'log.db'): void {
  const db = new Database(join(data, file));
  for (const name of db.prepare("SELECT name FROM sqlite_schema WHERE type = 'trigger'").pluck().all())
    db.exec(`DROP TRIGGER ${name}`);
  db.exec(sql);
  db.close();
}

/** The format that a log has, and how many logs its vault has sealed. */
function sealedIn(data: string): { format: number; sealed: number } {
  const db = new Database(join(data, 'log.db'), { readonly: true });
  const format = db.pragma('user_version', { simple: true }) as number;
  db.close();
  const sealed = withVault(join(data, 'vault.db'), (_keys, seals) => seals.sealed.length);
  return { format, sealed };
}

/** The events about foreign writes that operators accepted. */
function acceptances(data: string): object[] {
  const db = openLogToRead(join(data, 'log.db'));
  const found = readAcceptances(readLog(db)).map(({ from, to, reason }) => ({ from, to, reason }));
  db.close();
  return found;
}

const today = () => new Date().toISOString().slice(0, 10);

const annals = (data: string, command: string, ...more: string[]) =>
  runHere([...command.split(' '), ...more, '--data', data]);

/** The message of a refused start. */
async function refusal(t: TestContext, data: string, declared: object = config): Promise<string> {
  const file = writeConfig(temporaryFolder(t), declared);
  const { code, stderr } = await annals(data, `serve --port 0 --config ${file}`);
  assert.equal(code, 2, stderr);
  return stderr;
}

describe('a log of an earlier format', () => {
  for (const format of formats) {
    const { size, signed } = known[format];

    it(`${format} is checked and read as it is, and not changed by that`, async (t) => {
      const data = copyOf(t, format);
      const before = headersIn(data);
      assert.equal(before.length, size);
      const { code, stdout } = await annals(data, 'verify');
      assert.match(stdout, new RegExp(`^note: log\\.db has format ${format}, .* brings it to format 5$`, 'm'));
      assert.match(stdout, new RegExp(`^sound: .*\\(${size} events\\); ${signed} of ${size} events are signed`, 'm'));
      assert.equal(code, signed === 0 ? 2 : 0);
      const history = await annals(data, 'history globals/site', '--json');
      assert.equal(JSON.parse(history.stdout).document.version, 1);
      assert.match((await annals(data, 'log tail')).stdout, /global\.updated/);
      const verified = await run(['--trust-inside', join(data, 'log.db')]);
      assert.equal(verified.exit, 0, verified.text);
      const db = new Database(join(data, 'log.db'), { readonly: true });
      assert.equal(db.pragma('user_version', { simple: true }), format);
      assert.deepEqual(schemaOf(db), expectedSchema(format));
      db.close();
    });

    it(`${format} is brought to this one by a start, and goes on`, async (t) => {
      const data = copyOf(t, format);
      const before = headersIn(data);
      const service = await startHere(t, config, { data });
      const { body } = await service.call('GET', '/api/collections/posts?sort=title');
      assert.deepEqual(
        body.docs.map(({ title }: { title: string }) => title),
        ['One, again', 'Three'],
      );
      assert.equal((await service.call('POST', '/api/collections/posts', { title: 'Four', slug: 'four' })).status, 201);
      assert.equal((await service.call('POST', '/api/collections/posts', { title: 'X', slug: 'one' })).status, 409);
      await service.stop();
      const told = service
        .lines()
        .filter(({ msg }) => /follow the last checkpoint that a key of vault.db signed/.test(msg));
      assert.deepEqual(
        told.map(({ msg }) => msg),
        signed === size
          ? []
          : [
              '7 events, 1 to 7, follow the last checkpoint that a key of vault.db signed: log.db had format 1, where nothing says who wrote them',
            ],
      );

      const after = headersIn(data);
      assert.deepEqual(after.slice(0, size), before);
      const versions = after.map((text) => JSON.parse(text).v);
      assert.deepEqual(new Set(versions.slice(0, size)), new Set([1]));
      assert.deepEqual(new Set(versions.slice(size)), new Set([2]));
      const db = new Database(join(data, 'log.db'), { readonly: true });
      assert.equal(db.pragma('user_version', { simple: true }), 5);
      assert.deepEqual(schemaOf(db), expectedSchema(5));
      db.close();
      const { code, stdout } = await annals(data, 'verify');
      assert.equal(code, 0, stdout);
      assert.match(
        stdout,
        new RegExp(`; ${after.length} of ${after.length} events are signed by the key [0-9a-f]{8}\\b`),
      );
      const key = /"verifierKey":"([^"]+)"/.exec(
        JSON.stringify((await (await startHere(t, config, { data })).call('GET', '/api/audit/log')).body),
      )?.[1];
      const verified = await run(['--key', key ?? '', join(data, 'log.db')]);
      assert.equal(verified.exit, 0, verified.text);
    });

    it(`${format} is left as it is by a refused start, and by a command with nothing to do`, async (t) => {
      const before = { format, sealed: 0 };
      const other = structuredClone(config);
      Object.assign(other.collections[0]?.fields[0] ?? {}, { type: 'number' });
      const schema = copyOf(t, format);
      assert.match(await refusal(t, schema, other), /posts\.title is number now/);
      assert.deepEqual(sealedIn(schema), before);
      assert.match(
        (await annals(schema, `clock correct --today ${today()} --reason x`)).stderr,
        /there is nothing to correct/,
      );
      assert.deepEqual(sealedIn(schema), before);

      const clock = copyOf(t, format);
      const now = () => 0;
      const ids = createIds(new BigInt64Array(new SharedArrayBuffer(8)), now);
      const declared = { schema: { collections: [], globals: [] }, rules: {} };
      const early = { directory: clock, ...declared, ids, now, logId: 'annals/test', seals: sealsIn(clock) };
      assert.throws(() => boot(early), ClockError);
      assert.deepEqual(sealedIn(clock), before);

      const lost = copyOf(t, format);
      openVault(join(lost, 'vault.db')).close();
      change(
        lost,
        `INSERT OR REPLACE INTO log_keys SELECT '8fbe7f9d', id, id || '+8fbe7f9d+AUwOemcFpDPSGVixDGUnif//mLg/VfOQLiLaOBhJVnO6',
         'Pz7zAN-B_T71gI4pe8S6X2dew7Hfyvfj0SCmaXfNk4E', '2024', NULL, 20, zeroblob(32) FROM log`,
        'vault.db',
      );
      assert.match(await refusal(t, lost), /the log lost events: .* the signing key has seen position 20/);
      assert.match((await annals(lost, 'signing-key replace --reason x')).stderr, /the log lost events/);
      assert.deepEqual(sealedIn(lost), before);
      // A projection without a trace of it does not keep the service from starting.
      await (await startHere(t, config, { data: schema })).stop();
      assert.deepEqual(sealedIn(schema), { format: 5, sealed: 1 });
    });

    it(`${format} is refused by a vault that does not know it, until that is accepted, which is recorded`, async (t) => {
      const data = copyOf(t, format);
      rmSync(join(data, 'vault.db'));
      const words = new RegExp(
        `log\\.db has format ${format}, and vault\\.db does not know this log: .* --accept-foreign-writes --reason TEXT`,
      );
      assert.match(await refusal(t, data), words);
      assert.match(await refusal(t, data), words);
      assert.match((await annals(data, 'signing-key replace --reason x')).stderr, words);
      const { code, stdout } = await annals(data, 'verify');
      assert.deepEqual([code, /^NOT SOUND: log\.db has format \d, and vault\.db does not/m.test(stdout)], [1, true]);
      assert.deepEqual(sealedIn(data), { format, sealed: 0 });
      const rebuild = ['rebuild', '--config', writeConfig(temporaryFolder(t), config)];
      assert.match((await annals(data, rebuild.join(' '))).stderr, words);
      const accepted = await annals(data, `${rebuild.join(' ')} --accept-foreign-writes`, '--reason', 'vault lost');
      assert.equal(accepted.code, 0, accepted.stderr);
      assert.deepEqual(sealedIn(data), { format: 5, sealed: 1 });
      assert.deepEqual(acceptances(data), [{ from: null, to: size, reason: 'vault lost' }]);
      await (await startHere(t, config, { data })).stop();
      assert.equal((await annals(data, 'verify')).code, 0);
    });
  }

  it('is remembered as sealed as soon as it is, also if the start fails after that', async (t) => {
    const data = copyOf(t, 2);
    const db = new Database(join(data, 'log.db'));
    db.exec("CREATE TRIGGER full BEFORE INSERT ON payloads BEGIN SELECT RAISE(ABORT, 'no room'); END");
    db.close();
    const serve = ['--port', '0', '--config', writeConfig(temporaryFolder(t), config), '--no-backup'];
    assert.match((await annals(data, 'serve', ...serve)).stderr, /no room/);
    assert.deepEqual(sealedIn(data), { format: 5, sealed: 1 });
  });
});

describe('a log that was turned back into one of an earlier format', () => {
  const turnBack = `CREATE TABLE former (log TEXT PRIMARY KEY, size INTEGER NOT NULL, root BLOB NOT NULL CHECK (length(root) = 32), recorded_at TEXT NOT NULL) STRICT;
    INSERT INTO former SELECT log, size, root, recorded_at FROM head; DROP TABLE head; ALTER TABLE former RENAME TO head;
    PRAGMA user_version = 2`;

  it('is refused by the vault that has sealed it, until that is accepted', async (t) => {
    const data = copyOf(t, 2);
    await (await startHere(t, config, { data })).stop();
    // As one does who wants to append to it without the key: also the older log itself, which has no event of format 3.
    copyFileSync(join(fixtures, 'format-2', 'log.db'), join(data, 'log.db'));
    const words = /log\.db has format 2, and vault\.db has sealed a log of format 3 before: .*--accept-foreign-writes/;
    assert.match(await refusal(t, data), words);
    assert.match((await annals(data, `clock correct --today ${today()} --reason x`)).stderr, words);
    // A reader that has seen more of it would say that it lost events.
    for (const name of readdirSync(data)) if (name.startsWith('read-')) rmSync(join(data, name));
    const { code, stdout } = await annals(data, 'verify');
    assert.deepEqual([code, /^NOT SOUND: log\.db has format 2, and vault\.db has sealed/m.test(stdout)], [1, true]);
    const file = writeConfig(temporaryFolder(t), config);
    const accepted = await annals(data, `rebuild --config ${file} --accept-foreign-writes --reason old`);
    assert.match(accepted.stderr, /the log lost events: .* the signing key has seen position 10/);
    assert.deepEqual(sealedIn(data), { format: 2, sealed: 1 });
    assert.match(await refusal(t, data), words);
    const both = [
      ...`rebuild --config ${file} --accept-foreign-writes --accept-lost-events --reason`.split(' '),
      'old',
    ];
    const taken = await runHere([...both, '--data', data]);
    assert.equal(taken.code, 0, taken.stderr);
    assert.match(taken.stdout, /^the log is sealed again as it is, and all of it is signed$/m);
    assert.deepEqual(acceptances(data), [{ from: 9, to: 9, reason: 'old' }]);
    await (await startHere(t, config, { data })).stop();
  });

  it('is refused by a vault that knows nothing of it, by the version of its headers', async (t) => {
    const data = copyOf(t, 2);
    const service = await startHere(t, config, { data });
    await service.call('POST', '/api/collections/posts', { title: 'Four', slug: 'four' });
    await service.stop();
    withDatabase(join(data, 'log.db'), {}, (db) => bringBack(db, 4));
    change(data, turnBack);
    rmSync(join(data, 'vault.db'));
    assert.match(await refusal(t, data), /log\.db has format 2, and event 10 is of format 3 before/);
    const { code, stdout } = await annals(data, 'verify');
    assert.deepEqual(
      [code, /NOT SOUND: event 10: its header has version 2, which this log has not/.test(stdout)],
      [1, true],
    );
  });
});

describe('the head of a log', () => {
  it('is sealed by the vault that wrote it: another one does not take it, until that is accepted', async (t) => {
    const data = copyOf(t, 2);
    const service = await startHere(t, config, { data });
    await service.call('POST', '/api/collections/posts', { title: 'Four', slug: 'four' });
    await service.stop();
    rmSync(join(data, 'vault.db'));
    const alone = await annals(data, 'verify');
    const file = writeConfig(temporaryFolder(t), config);
    for (const command of [
      'signing-key replace --reason x',
      `clock correct --today ${today()} --reason x`,
      'blobs gc --dry-run',
      'blobs gc',
      `rebuild --config ${file}`,
      `rebuild --config ${file} --accept-lost-events --reason x`,
    ]) {
      const { code, stderr } = await annals(data, command);
      assert.deepEqual([command, code], [command, 2], stderr);
      assert.match(stderr, /^there is no vault\.db in .* --accept-foreign-writes --reason TEXT /, command);
      assert.equal(existsSync(join(data, 'vault.db')), false, command);
    }
    assert.equal(alone.code, 2);
    assert.match(alone.stdout, /^note: there is no vault\.db: /m);
    assert.match(alone.stdout, /; 0 of 11 events are signed by a key that is known$/m);

    const words =
      /the head of log\.db is not sealed by the key of vault\.db: this vault\.db is not the one of this log, or somebody/;
    assert.match(await refusal(t, data), words);
    assert.ok(existsSync(join(data, 'vault.db')));
    assert.match(await refusal(t, data), words);
    assert.match((await annals(data, 'verify')).stdout, new RegExp(`^NOT SOUND: ${words.source}`, 'm'));
    assert.match((await annals(data, `rebuild --config ${file}`)).stderr, words);
    assert.match((await annals(data, `rebuild --config ${file} --accept-lost-events --reason x`)).stderr, words);
    const unsaid = await annals(data, `rebuild --config ${file} --accept-foreign-writes`);
    assert.deepEqual([unsaid.code, /^--reason is missing: the log keeps why/.test(unsaid.stderr)], [2, true]);
    const accepted = await annals(data, `rebuild --config ${file} --accept-foreign-writes`, '--reason', 'vault lost');
    assert.equal(accepted.code, 0, accepted.stderr);
    assert.deepEqual(acceptances(data), [{ from: null, to: 11, reason: 'vault lost' }]);
    assert.match(
      accepted.stdout,
      /none of the 11 events is signed by a key of vault\.db: annals events --from 1 --to 11 shows them/,
    );
    const next = await startHere(t, config, { data });
    assert.equal((await next.call('POST', '/api/collections/posts', { title: 'Five', slug: 'five' })).status, 201);
    await next.stop();
    const { code, stdout } = await annals(data, 'verify');
    assert.equal(code, 0, stdout);
    assert.match(stdout, /; 14 of 14 events are signed by the key/);
  });

  it('is remembered as sealed only when it is: a start that was cut short before goes on', async (t) => {
    const data = copyOf(t, 2);
    const vault = openVault(join(data, 'vault.db'));
    assert.deepEqual(vault.seals().sealed, []);
    vault.close();
    await (await startHere(t, config, { data })).stop();
    const after = openVault(join(data, 'vault.db'));
    assert.equal(after.seals().sealed.length, 1);
    after.close();
    // As if it had been killed between the two.
    change(data, 'DELETE FROM sealed_logs', 'vault.db');
    await (await startHere(t, config, { data })).stop();
    assert.equal((await annals(data, 'verify')).code, 0);
  });
});
