import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { loggedIn, login } from '../helpers/accounts.ts';
import { startHere } from '../helpers/embedded.ts';
import { runHere } from '../helpers/in-process.ts';
import { assertRecorded } from '../helpers/recorded.ts';
import { temporaryFolder, writeConfig } from '../helpers/service.ts';
import { isId, useFolder, useService } from '../helpers/shared.ts';
import {
  type Answering,
  annalsAt,
  annalsProcessAt,
  assertAccountsDone,
  config,
  forgotten,
  type Given,
  lock,
  madeUser,
  nextPassword,
  type Place,
  password,
  runAccountCommands,
  twoAccounts,
} from './account-commands.ts';

const configFile = writeConfig(useFolder(), config);
const service = useService(config, { ANNALS_LOG_LEVEL: 'debug', ANNALS_THREADS: '1' });

type Options = Partial<Place> & Given;

/** Runs a command in this process; on the service that is running, unless a directory is named. */
function annals(command: string, { data = service.data, file = configFile, ...given }: Options = {}) {
  return annalsAt({ data, file }, command, given);
}

/** As {@link annals}, in a process of its own. */
function annalsProcess(command: string, { data = service.data, file = configFile, ...given }: Options = {}) {
  return annalsProcessAt({ data, file }, command, given);
}

/** A directory in which nothing is yet. */
function newData(t: TestContext): string {
  return join(temporaryFolder(t), 'data');
}

/** Makes `count` users in one call. @returns their ids, in their order. */
async function manyUsers(on: Answering, count: number): Promise<string[]> {
  const docs = Array.from({ length: count }, (_, n) => ({ email: `m${n}@example.org` }));
  const { status, body } = await on.call('POST', '/api/collections/users/bulk', { docs });
  assert.equal(status, 201, JSON.stringify(body));
  return body.results.map(({ id }: { id: string }) => id);
}

/** The files of a data directory that hold a text. */
function filesWith(data: string, text: string): string[] {
  const files = readdirSync(data, { withFileTypes: true, recursive: true }).filter((entry) => entry.isFile());
  return files
    .map(({ parentPath, name }) => join(parentPath, name))
    .filter((path) => readFileSync(path).includes(text));
}

describe('annals create-user', () => {
  it('makes a user beside a running service, prints the id, and the user can log in', async () => {
    const actor = { type: 'system' } as const;
    const { code, stdout, stderr } = await assertRecorded(
      service,
      () => annals("create-user users --email ' Ada@Example.org' --field name=Ada"),
      (ended) => [
        { type: 'document.created', stream: `users/${ended.stdout.trimEnd()}`, actor },
        { type: 'password.changed', stream: `accounts/users/${ended.stdout.trimEnd()}`, actor },
      ],
    );
    assert.deepEqual([code, stderr], [0, '']);
    const id = stdout.trimEnd();
    assert.ok(isId(id) && stdout === `${id}\n`);
    const { body } = await login(service, 'users', 'ada@example.org', password);
    assert.deepEqual([body.user.id, body.user.name, body.user.email], [id, 'Ada', 'ada@example.org']);
  });

  it('reads the value of a field as its type asks for', async () => {
    const friend = await madeUser(service, 'friend@example.org');
    const { code, stdout, stderr } = await annals(
      `create-user users --email typed@example.org --field name=true=3 --field code=12 --field age=36.5
       --field isEditor=true --field born=1815-12-10 --field role=admin --field 'tags=["a"]' --field friend=${friend}
       --field 'friends=["${friend}"]' --field 'address={"city":"London"}' --field 'links=[{"url":"https://example.org"}]'
       --field 'more={"a":[1,null]}' --field inRow=`,
    );
    assert.deepEqual([code, stderr], [0, '']);
    const { body } = await service.call('GET', `/api/collections/users/${stdout.trimEnd()}`, undefined, {
      key: null,
      headers: { authorization: `Bearer ${(await loggedIn(service, 'users', 'typed@example.org', password)).token}` },
    });
    const { id: _id, createdAt: _createdAt, updatedAt: _updatedAt, ...values } = body;
    assert.deepEqual(values, {
      email: 'typed@example.org',
      name: 'true=3',
      code: '12',
      age: 36.5,
      isEditor: true,
      born: '1815-12-10',
      role: 'admin',
      tags: ['a'],
      friend,
      friends: [friend],
      address: { city: 'London' },
      links: [{ url: 'https://example.org' }],
      more: { a: [1, null] },
      inRow: '',
      friendOf: [],
    });
  });

  it('prints what the service refuses, a line for each field, and exits with 1', async () => {
    const command = 'create-user users --email unknown --field code=long --field age=-1 --field links=[{"url":"x"}]';
    const run = () => annals(command, { input: 'x'.repeat(100_000) });
    const { code, stdout, stderr } = await assertRecorded(service, run, []);
    assert.deepEqual([code, stdout], [1, '']);
    assert.deepEqual(
      stderr
        .trimEnd()
        .split('\n')
        .map((line) => line.split(' ')[0])
        .sort(),
      ['age', 'code', 'email', 'links.0.url', 'password'],
    );
    assert.match(stderr, /^password must have at most 72 bytes/m);
  });

  it('refuses an e-mail that somebody has', async () => {
    await madeUser(service, 'twice@example.org');
    assert.deepEqual(await annals('create-user users --email TWICE@example.org'), {
      code: 1,
      stdout: '',
      stderr: 'email is taken by another document\n',
    });
  });

  for (const [arguments_, ...messages] of [
    ['users', /^--email is missing$/m],
    ['--email a@b.co', /^COLLECTION is missing$/m],
    [
      'user --email a@b.co',
      /^there is no collection "user" in .*; did you mean "users"\?; with accounts: "users", "members"$/m,
    ],
    ['posts --email a@b.co', /^the collection "posts" has no accounts in /m],
    ['constructor --email a@b.co', /^there is no collection "constructor"/m],
    ['users --emial a@b.co', /^unknown flag --emial; did you mean "--email"\?/m],
    ['users --email a@b.co --field nam=x', /^--field nam is not a field of users.*; did you mean "name"\?$/m],
    ['users --email a@b.co --field friendOf=x', /^--field friendOf is not a field of users that can be given/m],
    ['users --email a@b.co --field constructor=x', /^--field constructor is not a field of users that can be given$/m],
    ['users --email a@b.co --field name', /^--field must have the form name=value$/m],
    ['users --email a@b.co --field =x', /^--field must have the form name=value$/m],
    ['users --email a@b.co --field name=a --field name=b', /^--field name is given twice$/m],
    ['users --email a@b.co --field email=x@y.co', /^--field email is given with --email$/m],
    [
      'users --email a@b.co --field age=old --field isEditor=yes --field tags=a --field friends=x --field more={ --field more2=1e999',
      /^--field age must be a number$/m,
      /^--field isEditor must be true or false$/m,
      /^--field tags must be a list in JSON, for example \["a","b"\]$/m,
      /^--field friends must be a list in JSON/m,
      /^--field more must be JSON$/m,
      /^--field more2 is not a field of users that can be given; did you mean "more"\?$/m,
    ],
    ['users --email a@b.co --field age=1e999', /^--field age must be a number$/m],
    ['users --email a@b.co --field more=[1e999]', /^--field more must be JSON$/m],
    ['users --email a@b.co --field more=[12345678901234567890]', /^--field more must hold numbers that JSON keeps$/m],
  ] as const) {
    it(`refuses the command line "${arguments_}" in words, and does nothing`, async () => {
      const { code, stdout, stderr } = await assertRecorded(service, () => annals(`create-user ${arguments_}`), []);
      assert.deepEqual([code, stdout], [2, '']);
      for (const message of messages) assert.match(stderr, message);
      assert.match(stderr, /^annals create-user --help shows the usage$/m);
    });
  }
});

describe('The password of a new user', () => {
  it('is in no event, file or line of the log, however the user is made', async (t) => {
    const secret = 'a most peculiar pass phrase';
    const input = `${secret}\n`;
    const alone = newData(t);
    const ended = [
      await annals('create-user users --email secret@example.org', { input }),
      await annals('create-user users --email secret@example.org', { input, data: alone }),
    ];
    await loggedIn(service, 'users', 'secret@example.org', secret);
    for (const { code, stdout, stderr } of [...ended, { code: 0, ...service.output() }]) {
      assert.ok(code === 0 && !stdout.includes(secret) && !stderr.includes(secret));
    }
    for (const data of [service.data, alone]) assert.deepEqual(filesWith(data, secret), []);
  });

  it('is refused as an argument, which others can see, and not shown once more', async () => {
    for (const flags of [
      '--password s3cret-word',
      '--password=s3cret-word',
      '--pass s3cret-word',
      '-password=s3cret-word',
    ]) {
      for (const command of ['create-user', 'set-password']) {
        const { code, stdout, stderr } = await annals(`${command} users --email a@b.co ${flags}`);
        assert.deepEqual([code, stdout], [2, '']);
        assert.match(stderr, /^a password is never an argument: others on this machine can see those/);
        assert.ok(!stderr.includes('s3cret-word'));
      }
    }
    const { code, stdout, stderr } = await annals('create-user users --email a@b.co --field password=s3cret-word');
    assert.deepEqual([code, stdout], [2, '']);
    assert.match(stderr, /^--field password is never an argument/);
    assert.ok(!stderr.includes('s3cret-word'));
  });

  it('is the first line of standard input, as it stands there', async () => {
    for (const [name, input, meant, run] of [
      ['first', 'first line is it\nsecond line is not\n', 'first line is it', annals],
      ['open', 'größer ohne Ende', 'größer ohne Ende', annalsProcess],
      ['windows', 'line of windows\r\n', 'line of windows', annals],
      ['spaces', '  with spaces  \n', '  with spaces  ', annals],
      ['umlaut', 'größer als sonst\nsecond line is not\n', 'größer als sonst', annals],
    ] as const) {
      assert.equal((await run(`create-user users --email ${name}@example.org`, { input })).code, 0);
      assert.equal((await login(service, 'users', `${name}@example.org`, meant)).status, 200, name);
    }
  });

  it('is needed, and must be text', async () => {
    for (const [input, message] of [
      ['', /^there is no password on standard input: it must be the first line$/m],
      ['\nsecond line\n', /^there is no password on standard input/m],
      [
        Buffer.from([0x70, 0xff, 0xfe, 0x70, 0x71, 0x72, 0x73, 0x74, 0x0a]),
        /^the password on standard input is not valid UTF-8$/m,
      ],
    ] as const) {
      const { code, stdout, stderr } = await annals('create-user users --email no@example.org', { input });
      assert.deepEqual([code, stdout], [2, '']);
      assert.match(stderr, message);
    }
  });
});

describe('annals set-password', () => {
  it('lets somebody in with the new password alone, beside a running service: sessions and the lock end', async (t) => {
    const { id, as } = await forgotten(t, service, configFile);
    assert.equal((await service.call('GET', '/api/collections/users/me', undefined, as)).status, 401);
    assert.equal((await login(service, 'users', 'forgot@example.org', password)).status, 401);
    assert.equal((await loggedIn(service, 'users', 'forgot@example.org', nextPassword)).id, id);
  });

  it('refuses a password that is too short, and keeps the one there is', async () => {
    await madeUser(service, 'short@example.org');
    const run = () => annals('set-password users --email short@example.org', { input: 'short\n' });
    const { code, stderr } = await assertRecorded(service, run, []);
    assert.deepEqual([code, stderr], [1, 'password must have at least 8 characters\n']);
    await loggedIn(service, 'users', 'short@example.org', password);
  });
});

describe('annals users', () => {
  it('lists the accounts of a collection or of all, page by page, oldest first', async (t) => {
    const data = newData(t);
    const run = (command: string) => assertRecorded({ data }, () => annals(command, { data }), []);
    const own = await startHere(t, config, { data });
    const ids = await manyUsers(own, 103);
    const { users } = JSON.parse((await run('users users --json')).stdout);
    assert.deepEqual([users.length, users[0].hasPassword], [103, false]);
    await own.stop();
    const all = (await run('users')).stdout.trimEnd().split('\n');
    assert.match(String(all[1]), /m0@example.org +users +never +no password, no session$/);
    assert.deepEqual(
      all.slice(1, -1).map((line) => line.split(' ')[0]),
      ids,
    );
    assert.equal((await run('users members')).stdout, 'there are no users\n');
    assert.equal(all.at(-1), '103 users');
  });

  it('lists them with lock and last login', async (t) => {
    const data = newData(t);
    const run = (command: string) => assertRecorded({ data }, () => annals(command, { data }), []);
    const own = await startHere(t, config, { data });
    const ada = await madeUser(own, 'ada@example.org');
    const { body } = await own.call('GET', `/api/collections/users/${ada}`);
    await loggedIn(own, 'users', 'ada@example.org', password);
    await lock(own, 'ada@example.org');
    const { users } = JSON.parse((await run('users users --json')).stdout);
    const [one] = users;
    assert.ok(Date.parse(one.lastLoginAt) > 0 && Date.parse(one.lockedUntil) > Date.now());
    assert.deepEqual(users, [
      {
        id: ada,
        email: 'ada@example.org',
        collection: 'users',
        createdAt: body.createdAt,
        locked: true,
        lockedUntil: one.lockedUntil,
        failures: 2,
        lastLoginAt: one.lastLoginAt,
        hasPassword: true,
        sessions: 1,
      },
    ]);
    await own.stop();
    const lines = (await run('users')).stdout.trimEnd().split('\n');
    assert.match(String(lines[0]), /^ID +E-MAIL +COLLECTION +LAST LOGIN +STATE$/);
    assert.match(String(lines[1]), /ada@example.org +users +\S+Z +locked until \S+Z, 1 session$/);
  });

  it('says that there are none, and which collections have some', async (t) => {
    const data = newData(t);
    await (await startHere(t, config, { data })).stop();
    assert.deepEqual(await annals('users', { data }), { code: 0, stdout: 'there are no users\n', stderr: '' });
    const wrong = await annals('users posts', { data });
    assert.equal(wrong.code, 2);
    assert.match(wrong.stderr, /^the collection "posts" has no accounts in .*; with accounts: "users", "members"$/m);
    const bare = writeConfig(temporaryFolder(t), { collections: [{ slug: 'posts', fields: [] }] });
    const none = await annals('users', { data, file: bare });
    assert.equal(none.code, 2);
    assert.match(none.stderr, /^no collection has accounts in /m);
  });
});

describe('annals unlock and annals sessions revoke', () => {
  it('let somebody log in, or log somebody out at once, beside a running service', async () => {
    const accounts = await twoAccounts(service);
    await runAccountCommands(accounts, { data: service.data, file: configFile });
    await assertAccountsDone(service, accounts);
  });
});

describe('A command about an account', () => {
  const commands = ['set-password', 'unlock', 'sessions revoke'];

  it('names a collection or an account that there is not', async () => {
    for (const command of commands) {
      const unknown = await annals(`${command} users --email unknown@example.org`);
      assert.deepEqual([unknown.code, unknown.stderr], [1, 'there is no account "unknown@example.org" in users\n']);
      const misspelt = await annals(`${command} membres --email unknown@example.org`);
      assert.equal(misspelt.code, 2);
      assert.match(misspelt.stderr, /did you mean "members"\?/);
    }
    const { code, stderr } = await annals('sessions revoke members --email a@b.co --session x');
    assert.deepEqual([code, stderr], [1, 'there is no account "a@b.co" in members\n']);
  });

  it('makes no data directory if there is no log with accounts', async (t) => {
    const data = newData(t);
    for (const command of commands) {
      const { code, stderr } = await annals(`${command} users --email a@b.co`, { data });
      assert.equal(code, 2);
      assert.match(stderr, /^there is no log in .*; --data names the directory$/m);
    }
    assert.ok(!existsSync(data));
  });

  it('says its usage', async () => {
    for (const command of ['create-user', ...commands]) {
      const { code, stdout } = await runHere([...command.split(' '), '--help']);
      assert.equal(code, 0);
      assert.match(stdout, new RegExp(`^annals ${command} COLLECTION --email E`));
    }
    assert.match((await runHere(['help'])).stdout, /^ {2}annals create-user +\S/m);
  });

  it('calls the service itself, even if a proxy is set for everything', async () => {
    const proxy = { NODE_USE_ENV_PROXY: '1', HTTP_PROXY: 'http://127.0.0.1:9', http_proxy: 'http://127.0.0.1:9' };
    const { code, stderr } = await annalsProcess('create-user users --email proxy@example.org', { environment: proxy });
    assert.deepEqual([code, stderr], [0, '']);
  });
});
