import assert from 'node:assert/strict';
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, describe, it, type TestContext } from 'node:test';
import Database from 'better-sqlite3';
import { commands } from '../../cli/commands.ts';
import { altering } from '../events/logs.ts';
import { startHere, useServiceHere } from '../helpers/embedded.ts';
import { runHere } from '../helpers/in-process.ts';
import { assertRecorded } from '../helpers/recorded.ts';
import { runCommand, temporaryFolder, writeConfig } from '../helpers/service.ts';
import { recordedEvents, useFolder } from '../helpers/shared.ts';

const config = {
  collections: [
    {
      slug: 'posts',
      fields: [
        { name: 'title', type: 'text' },
        { name: 'code', type: 'text', unique: true },
      ],
    },
  ],
  globals: [{ slug: 'site', fields: [{ name: 'name', type: 'text' }] }],
};
const posts = '/api/collections/posts';
const folder = useFolder();
const configFile = writeConfig(folder, config);
/** A data directory as a service left it; every test works on a copy. */
const original = join(folder, 'data');
const service = useServiceHere(config);
const ids: string[] = [];

before(async () => {
  for (let n = 0; n < 5; n += 1)
    ids.push((await service.call('POST', posts, { title: `t${n}`, code: `c${n}` })).body.id);
  await service.call('PATCH', `${posts}/${ids[0]}`, { title: 'changed' });
  await service.call('DELETE', `${posts}/${ids[4]}`);
  await service.call('PATCH', '/api/globals/site', { name: 'Site' });
  await service.stop();
  cpSync(service.data, original, { recursive: true });
  isPrepared.resolve();
});

const isPrepared = Promise.withResolvers<void>();

async function copy(t: TestContext): Promise<string> {
  await isPrepared.promise;
  const data = join(temporaryFolder(t), 'data');
  cpSync(original, data, { recursive: true });
  return data;
}

/** Runs SQL on a file as an attacker with the file in hand would: without the triggers in the way. */
function tamper(file: string, sql: string): void {
  const db = new Database(file);
  const triggers = db.prepare("SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'").all() as {
    name: string;
    sql: string;
  }[];
  for (const { name } of triggers) db.exec(`DROP TRIGGER "${name}"`);
  db.exec(sql);
  for (const trigger of triggers) db.exec(trigger.sql);
  db.close();
}

const readFile = (data: string) =>
  join(data, readdirSync(data).find((name) => /^read-[0-9a-f]+\.db$/.test(name)) ?? '');

describe('annals verify', () => {
  it('exits 0 for a sound log, saying how much was read, and changes nothing', async (t) => {
    const data = await copy(t);
    const before = readdirSync(data).sort();
    const { code, stdout, stderr } = await runHere(['verify', '--data', data]);
    assert.deepEqual([code, stderr], [0, '']);
    assert.match(stdout, /^sound: .*\(9 events\); 9 of 9 events are signed by the key [0-9a-f]{8}$/m);
    const withoutWal = (names: string[]) => names.filter((name) => !/-(wal|shm)$/.test(name));
    assert.deepEqual(withoutWal(readdirSync(data).sort()), withoutWal(before));
  });

  it('works beside a running service', async (t) => {
    const running = await startHere(t, config);
    await running.call('POST', posts, { title: 'x' });
    // In a log that has just begun nothing need be signed yet; format-1 in formats.test.ts is an old one.
    const unsigned = await runCommand(['verify', '--data', running.data]);
    assert.equal(unsigned.code, 0, unsigned.stdout);
    assert.match(unsigned.stdout, /^sound: .*\(2 events\); 0 of 2 events are signed by a key that is known$/m);
    await running.call('GET', '/api/audit/consistency?from=1');
    const { code, stdout } = await runHere(['verify', '--data', running.data]);
    assert.equal(code, 0, stdout);
    assert.equal((await running.call('POST', posts, { title: 'y' })).status, 201);
  });

  for (const [what, sql, message] of [
    [
      'an altered payload',
      `UPDATE payloads SET body = replace(body, 't2', 'XX') WHERE position = 4`,
      /event 4\b.*payload/,
    ],
    ['an altered header', altering(3, "replace(header, 'apiKey', 'system')"), /event 3\b|tree|root|tile/],
    ['a missing payload', 'DELETE FROM payloads WHERE position = 5', /event 5\b.*payload is missing/],
    [
      'a missing event',
      'PRAGMA foreign_keys = OFF; DELETE FROM payloads WHERE position = 5; DELETE FROM events WHERE position = 5',
      /event 5\b|position 5\b/,
    ],
    [
      'a cut end',
      'DELETE FROM payloads WHERE position = 9; DELETE FROM events WHERE position = 9; UPDATE head SET size = 8',
      /9|8|root/,
    ],
    ['a claim that was moved', `UPDATE claims SET stream = 'posts/x' WHERE value LIKE '%c1%'`, /claims: .*c1/],
  ] as const) {
    it(`exits 1 for ${what}, naming it`, async (t) => {
      const data = await copy(t);
      tamper(join(data, 'log.db'), sql);
      const { code, stdout } = await runHere(['verify', '--data', data]);
      assert.equal(code, 1, stdout);
      assert.match(stdout, /^NOT SOUND: /m);
      assert.match(stdout, message);
    });
  }

  it('exits 1 for read tables that are not what the log gives', async (t) => {
    const data = await copy(t);
    tamper(readFile(data), `UPDATE "texts posts" SET doc = replace(doc, 't2', 'XX')`);
    const { code, stdout } = await runHere(['verify', '--data', data]);
    assert.equal(code, 1);
    assert.match(stdout, /^NOT SOUND: read tables: /m);
    assert.match(stdout, /event 4\b/);
  });

  it('exits 1 for a log that is no longer the one its read tables saw', async (t) => {
    const data = await copy(t);
    tamper(readFile(data), 'UPDATE checkpoint SET position = 100');
    const { code, stdout } = await runHere(['verify', '--data', data]);
    assert.equal(code, 1);
    assert.match(stdout, /lost events/);
  });

  it('exits 1 for a file that is no database any longer', async (t) => {
    const data = await copy(t);
    const file = join(data, 'log.db');
    rmSync(`${file}-wal`, { force: true });
    writeFileSync(file, Buffer.concat([Buffer.alloc(100, 'x'), readFileSync(file).subarray(100)]));
    const { code, stdout } = await runHere(['verify', '--data', data]);
    assert.equal(code, 1);
    assert.match(stdout, /NOT SOUND: damaged/);
  });

  it('exits 0 without read tables, saying so', async (t) => {
    const data = await copy(t);
    for (const name of readdirSync(data)) if (name.startsWith('read-')) rmSync(join(data, name));
    const { code, stdout } = await runHere(['verify', '--data', data]);
    assert.equal(code, 0);
    assert.match(stdout, /^note: there are no read tables/m);
  });

  it('exits 2 if it could not run: no directory, no log, a wrong flag', async (t) => {
    const empty = temporaryFolder(t);
    mkdirSync(join(empty, 'data'));
    for (const data of [join(empty, 'data'), '/nowhere']) {
      const { code, stderr } = await runHere(['verify', '--data', data]);
      assert.equal(code, 2);
      assert.match(stderr, new RegExp(`there is no log in ${data}`));
    }
    assert.deepEqual(readdirSync(join(empty, 'data')), []);
    const { code, stderr } = await runHere(['verify', '--dta', 'x']);
    assert.equal(code, 2);
    assert.match(stderr, /unknown flag --dta; did you mean "--data"\?/);
  });
});

describe('A vault.db that is no database', () => {
  const today = new Date().toISOString().slice(0, 10);
  const commands = [
    ['verify'],
    ['rebuild', '--config', configFile],
    ['serve', '--port', '0', '--config', configFile],
    ['signing-key', 'history'],
    ['signing-key', 'replace', '--reason', 'a test'],
    ['clock', 'correct', '--today', today, '--reason', 'a test'],
  ];
  for (const command of commands) {
    it(`is named by annals ${command.slice(0, 2).join(' ').replace(/ -.*/, '')}, which ends with 2`, async (t) => {
      const data = await copy(t);
      for (const end of ['-wal', '-shm']) rmSync(join(data, `vault.db${end}`), { force: true });
      writeFileSync(join(data, 'vault.db'), 'this is no database, and longer than a header of one');
      const { code, stderr } = await runHere([...command, '--data', data]);
      assert.equal(code, 2);
      assert.match(stderr, /^vault\.db: file is not a database(; annals verify says more about the log)?\n$/);
    });
  }
});

describe('annals rebuild', () => {
  it('builds the read tables anew, the same as before', async (t) => {
    const data = await copy(t);
    for (const name of readdirSync(data)) if (name.startsWith('read-')) rmSync(join(data, name));
    const rebuild = () => runHere(['rebuild', '--config', configFile, '--data', data]);
    const { code, stdout } = await assertRecorded({ data }, rebuild, []);
    assert.deepEqual([code, stdout], [0, 'rebuilt the read tables from 9 events\n']);
    assert.equal((await assertRecorded({ data }, () => runHere(['verify', '--data', data]), [])).code, 0);
    const again = await startHere(t, config, { data });
    const { body } = await again.call('GET', `${posts}?sort=title`);
    assert.deepEqual(
      body.docs.map(({ title }: { title: string }) => title),
      ['changed', 't1', 't2', 't3'],
    );
    assert.equal((await again.call('POST', posts, { code: 'c1' })).status, 409);
  });

  it('mends read tables that were altered', async (t) => {
    const data = await copy(t);
    tamper(readFile(data), `UPDATE "texts posts" SET doc = replace(doc, 't2', 'XX')`);
    const check = ['rebuild', '--check', '--config', configFile, '--data', data];
    const { code, stdout } = await runHere(check);
    assert.equal(code, 1);
    assert.match(stdout, /^NOT SOUND: read tables: /m);
    assert.equal((await runHere(['rebuild', '--config', configFile, '--data', data])).code, 0);
    assert.equal((await runHere(check)).code, 0);
  });

  it('--check compares, exits 0 when equal and changes nothing', async (t) => {
    const data = await copy(t);
    const before = readFileSync(readFile(data));
    const { code, stdout } = await runHere(['rebuild', '--check', '--data', data]);
    assert.equal(code, 0);
    assert.match(stdout, /^equal: /m);
    assert.ok(readFileSync(readFile(data)).equals(before));
    const accepting = await runHere(['rebuild', '--check', '--accept-lost-events', '--reason', 'x', '--data', data]);
    assert.equal(accepting.code, 2);
    assert.match(accepting.stderr, /^--check changes nothing, so it does not go with --accept-lost-events\n/);
  });

  it('refuses a log that lost events until it is told to accept that', async (t) => {
    const data = await copy(t);
    tamper(readFile(data), 'UPDATE checkpoint SET position = 100');
    const args = ['rebuild', '--config', configFile, '--data', data];
    const { code, stderr } = await runHere(args);
    assert.equal(code, 2);
    assert.match(stderr, /the log lost events: it ends at position 9/);
    const accept = () => runHere([...args, '--accept-lost-events', '--reason', 'a test']);
    assert.equal((await assertRecorded({ data }, accept, [])).code, 0);
    assert.equal((await runHere(['verify', '--data', data])).code, 0);
  });

  it('exits 2 if there is no log', async (t) => {
    const { code, stderr } = await runHere(['rebuild', '--config', configFile, '--data', temporaryFolder(t)]);
    assert.equal(code, 2);
    assert.match(stderr, /there is no log in/);
  });
});

describe('annals config check', () => {
  it('exits 0 for a right configuration, saying what it holds', async () => {
    const { code, stdout, stderr } = await runHere(['config', 'check', '--config', configFile]);
    assert.deepEqual([code, stderr, stdout], [0, '', `${configFile} is right: 1 collection, 1 global\n`]);
  });

  it('tells how far the history goes beyond rules for reading', async () => {
    const linesFor = async (rules: string) => {
      const posts = `{ slug: 'posts', access: { read: () => true, delete: () => true }, fields: [{ name: 'a', type: 'text', access: { read: () => false } }] }`;
      const source = `export default { ${rules} collections: [{ slug: 'users', auth: true, fields: [] }, ${posts}] }`;
      const { code, stdout } = await runHere(['config', 'check', '--config', writeConfig(folder, source)]);
      assert.equal(code, 0);
      return stdout.split('\n').filter((line) => /^\w+: audit: /.test(line));
    };
    const [warning = '', ...more] = await linesFor('');
    assert.deepEqual(
      [/^warning: .*users of users.*\(posts\.fields\.a\.read, posts\.read\)/.test(warning), more],
      [true, []],
    );
    const [note = ''] = await linesFor('audit: () => true,');
    assert.match(
      note,
      /^note: audit: callers to whom it grants payloads see .* \(posts\.fields\.a\.read, posts\.read\)$/,
    );
  });

  it('--against a data directory says what a start would, beside a service, and changes nothing', async (t) => {
    const running = await startHere(t, config);
    for (const code of ['a', 'b']) await running.call('POST', posts, { title: 'one', code });
    const { data } = running;
    const before = recordedEvents(data);
    const withoutCode = { collections: [{ slug: 'posts', fields: [{ name: 'title', type: 'number' }] }] };
    const check = async (next: object, ...more: string[]) =>
      runHere(['config', 'check', '--config', writeConfig(folder, next), '--against', data, ...more]);

    const same = await check(config);
    assert.deepEqual([same.code, same.stdout.split('\n')[1]], [0, `${data}: it has the schema of the configuration`]);
    const gone = 'posts.code is gone: 2 documents had a value of it';
    const kept = {
      collections: [{ slug: 'posts', fields: [{ name: 'title', type: 'text' }] }],
      globals: config.globals,
    };
    const lost = await check(kept);
    assert.equal(lost.code, 2);
    assert.match(
      lost.stderr,
      /^documents would show less [^\n]*:\nposts\.code is gone: 2 documents had a value of it\n$/,
    );
    const changed = await check(kept, '--accept-loss');
    assert.equal(changed.code, 0);
    assert.deepEqual(changed.stdout.split('\n').slice(1), [
      `warning: ${gone}`,
      `${data}: a start records another schema`,
      '',
    ]);
    const strict = await check(kept, '--strict-schema');
    assert.match(strict.stderr, new RegExp(`^strictSchema .*:\\n${gone}\\n$`));
    assert.equal(strict.code, 2);
    const alone = await runHere(['config', 'check', '--config', configFile, '--strict-schema']);
    assert.deepEqual([alone.code, alone.stdout], [2, '']);
    assert.match(
      alone.stderr,
      /^--strict-schema needs --against: it is about what a start on that data would change$/m,
    );
    const refused = await check(withoutCode, '--accept-loss');
    assert.equal(refused.code, 2);
    assert.match(refused.stdout, /^warning: posts\.code is gone.*\n.*: a start is refused$/m);
    assert.match(refused.stderr, /^posts\.title is number now, but these documents hold another type: \S+, \S+\n$/);
    assert.deepEqual(recordedEvents(data), before);
    assert.equal((await running.call('POST', posts, { title: 'on' })).status, 201);

    const none = await runHere(['config', 'check', '--config', configFile, '--against', folder]);
    assert.deepEqual(
      [none.code, none.stderr.split('\n')[0]],
      [2, `there is no log in ${folder}; --against names the directory`],
    );
    const broken = join(folder, 'broken');
    mkdirSync(broken);
    writeFileSync(join(broken, 'log.db'), 'this is no database, and longer than a header of one');
    const unread = await runHere(['config', 'check', '--config', configFile, '--against', broken]);
    assert.deepEqual(
      [unread.code, unread.stderr],
      [2, `${broken} cannot be looked at: log.db: file is not a database; annals verify says more\n`],
    );
  });

  it('finds annals.config.* in the working directory', async (t) => {
    const cwd = temporaryFolder(t);
    writeFileSync(join(cwd, 'annals.config.json'), JSON.stringify(config));
    const { code, stdout } = await runCommand(['config', 'check'], { cwd });
    assert.equal(code, 0);
    assert.match(stdout, /annals\.config\.json is right/);
    const { stdout: other } = await runCommand(['config', 'check'], {
      cwd,
      environment: { ANNALS_CONFIG: configFile },
    });
    assert.ok(other.startsWith(configFile));
  });
});

describe('annals', () => {
  it('shows help for itself and for every command, on standard output, with exit code 0', async () => {
    const general = await runHere(['--help']);
    assert.deepEqual([general.code, general.stderr], [0, '']);
    for (const args of [[], ['-h']]) assert.deepEqual(await runHere(args), general);
    const helps = new Map<string, string>();
    for (const command of ['serve', 'verify', 'rebuild', 'config check']) {
      assert.match(general.stdout, new RegExp(`^  annals ${command} `, 'm'));
      const { code, stdout, stderr } = await runHere([...command.split(' '), command === 'verify' ? '-h' : '--help']);
      assert.deepEqual([code, stderr], [0, '']);
      assert.match(stdout, new RegExp(`^annals ${command}`));
      helps.set(command, stdout);
    }
    for (const word of [
      '--config',
      '--data',
      '--host',
      '--port',
      '4000',
      'ANNALS_API_KEY',
      'ANNALS_BASE_URL',
      '_FILE',
    ]) {
      assert.ok(helps.get('serve')?.includes(word), word);
    }
  });

  it('shows every flag that a command takes', async () => {
    const { stdout: general } = await runHere(['--help']);
    const commands = [...general.matchAll(/^ {2}annals ((?:[a-z-]+ )*[a-z-]+)(?= {2})/gm)].map(([, name = '']) => name);
    assert.ok(commands.length > 15, `${commands}`);
    for (const command of commands) {
      const { stderr } = await runHere([...command.split(' '), '--nope']);
      const { stdout } = await runHere([...command.split(' '), '--help']);
      const known = /^unknown flag --nope.*; known: (.*)$/m.exec(stderr)?.[1]?.split(', ') ?? [];
      assert.ok(known.includes('--help'), `${command}: ${stderr}`);
      const missing = known.filter((flag) => flag !== '--help' && !stdout.includes(flag));
      assert.deepEqual(missing, [], command);
    }
  });

  it('has each command in its list, in its usage, and in a table of docs/operations.md', async () => {
    const pages = readFileSync(new URL('../../docs/operations.md', import.meta.url), 'utf8');
    const { stdout: list } = await runHere(['help']);
    const missing = Object.entries(commands).flatMap(([name, { summary, usage }]) => {
      const called = name === 'version' ? 'annals --version' : `annals ${name}`;
      // `annals export` has a row, and `annals export content` has another one.
      const inTable = new RegExp(`^\\| [^|]*\`${called}(?:\`| [^a-z])`, 'm');
      const places = {
        'annals help': list
          .split('\n')
          .some((line) => line.startsWith(`  annals ${name} `) && line.endsWith(` ${summary}`)),
        'its usage in the table of commands (cli/commands.ts)': usage.startsWith(called),
        'a row of a table in docs/operations.md': inTable.test(pages),
      };
      return Object.entries(places).flatMap(([place, isThere]) => (isThere ? [] : [`${called} is not in ${place}`]));
    });
    assert.deepEqual(missing, []);
  });

  it('has every flag in docs/operations.md', async () => {
    const text = readFileSync(new URL('../../docs/operations.md', import.meta.url), 'utf8');
    for (const command of ['serve', 'health', 'doctor', 'verify', 'config check', 'version']) {
      const { stdout } = await runHere([...command.split(' '), '--help']);
      const [usage = ''] = stdout.split('\n');
      assert.ok(text.includes(`| \`${usage}\` |`), usage);
    }
  });

  it('tells its version', async () => {
    const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as {
      version: string;
    };
    for (const args of [['--version'], ['version']]) {
      assert.deepEqual(await runHere(args), { code: 0, stdout: `${version}\n`, stderr: '' });
    }
    const { code, stdout } = await runHere(['--version', '--json']);
    const { commit, sqlite, ...facts } = JSON.parse(stdout);
    assert.deepEqual(
      { code, ...facts },
      {
        code: 0,
        version,
        installation: 'checkout',
        node: process.versions.node,
        platform: process.platform,
        arch: process.arch,
      },
    );
    assert.ok(commit === null || /^[\da-f]{40}$/.test(commit), commit);
    assert.match(sqlite, /^3\.\d+\.\d+$/);
  });

  it('refuses with the version what it does not know, whatever the environment is', async () => {
    const { code, stderr } = await runHere(['--version', '--jsn', 'now'], { environment: { ANNALS_PROT: '1' } });
    assert.equal(code, 2);
    assert.equal(
      stderr,
      'unknown flag --jsn; did you mean "--json"?; known: --help, --json\nunexpected argument "now"\n\nannals version --help shows the usage\n',
    );
    assert.equal((await runHere(['--version', '--json'], { environment: { ANNALS_PROT: '1' } })).code, 0);
  });

  it('refuses a command that is not there in three lines, with the nearest one and exit code 2', async () => {
    const serve = ['unknown command "serv"; did you mean "serve"?', 'annals serve: run the service'];
    const check = [
      'unknown command "config chek"; did you mean "config check"?',
      'annals config check: check a configuration and print every problem',
    ];
    const user = [
      'unknown command "creat-user"; did you mean "create-user"?',
      'annals create-user: create a user who can log in',
    ];
    const keys =
      'there are: annals api-keys create, annals api-keys list, annals api-keys revoke, annals api-keys rotate';
    for (const [args, ...lines] of [
      [['serv'], ...serve],
      [['serv', '--port', '0'], ...serve],
      [['config', 'chek'], ...check],
      [['creat-user', 'editors', '--email', 'a@b.co'], ...user],
      [['keys'], 'unknown command "keys"', keys],
      [
        ['keys', 'rotate', 'x'],
        'unknown command "keys rotate"; did you mean "api-keys rotate"?',
        'annals api-keys rotate: give an API key a new secret',
      ],
      [['api-keys'], 'unknown command "api-keys"', keys],
      [['toString'], 'unknown command "toString"'],
      [['\u001b[2J\u202e'], String.raw`unknown command "\u001b[2J\u202e"`],
    ] as const) {
      const { code, stdout, stderr } = await runHere(args);
      assert.deepEqual([code, stdout], [2, '']);
      assert.deepEqual(stderr.split('\n'), [...lines, 'annals help lists all commands', '']);
    }
  });

  it('refuses --apply-schema without a log that nodes have in common', async () => {
    const { code, stderr } = await runHere(['serve', '--apply-schema']);
    assert.equal(code, 2);
    assert.match(stderr, /^--apply-schema is given, and ANNALS_POSTGRES_URL is not set: it is for nodes$/m);
  });

  for (const name of Object.keys(commands))
    it(`takes each flag that the help of ${name} names, with a value as that says, and has no other`, async () => {
      const { stdout: usage } = await runHere([...name.split(' '), '--help']);
      // Flags of another command, which the text refers to.
      const own = usage.replace(
        /annals(?:-verify)?(?:\s+([a-z][a-z-]*(?: [a-z-]+)?))?\s+--[a-z-]+/g,
        (all, other = '') => (other !== '' && (name.startsWith(other) || other.startsWith(name)) ? all : ''),
      );
      const named = [...new Set(own.match(/(?<![\w-])(?:--[a-z][a-z0-9-]*|-[a-z](?= ))/g))].filter(
        (one) => one !== '--help',
      );
      const sent = named.flatMap((flag) =>
        new RegExp(`${flag}(?:, --[a-z]+)? [A-Z]`).test(own) ? [flag, 'x'] : [flag],
      );
      // The command is refused whatever else is right. A further word may make another command of it.
      const refusals = [];
      for (const words of [[], ['x.annals']]) {
        const { code, stderr } = await runHere([...name.split(' '), ...words, ...sent, '--no-such-flag']);
        assert.equal(code, 2);
        refusals.push(stderr.split('\n').filter((line) => /^unknown flag|needs a value$|takes no value$/.test(line)));
      }
      const [first = [], second = []] = refusals;
      const wrong = first.filter((line) => second.some((other) => other.split(';')[0] === line.split(';')[0]));
      assert.deepEqual(
        wrong.map((line) => line.split(';')[0]),
        ['unknown flag --no-such-flag'],
      );
      const known = [...first, ...second].flatMap((line) => line.split('; known: ')[1]?.split(', ') ?? []);
      assert.deepEqual([...new Set(known)].sort(), ['--help', ...named].sort());
    });
});
