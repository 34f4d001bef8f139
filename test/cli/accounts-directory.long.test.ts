import assert from 'node:assert/strict';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { before, describe, it } from 'node:test';
import { pathToFileURL } from 'node:url';
import { lockDirectory } from '../../storage/lock.ts';
import { loggedIn, login } from '../helpers/accounts.ts';
import { startHere } from '../helpers/embedded.ts';
import { useMailbox } from '../helpers/mail.ts';
import { startService, temporaryFolder, writeConfig } from '../helpers/service.ts';
import { eventually, isId, launch, recordedEvents, useFolder } from '../helpers/shared.ts';
import {
  annalsAt,
  annalsProcessAt,
  argumentsAt,
  assertAccountsDone,
  config,
  forgotten,
  nextPassword,
  password,
  runAccountCommands,
  twoAccounts,
} from './account-commands.ts';

const mailbox = await useMailbox();
const resets = await useMailbox();
const configFile = writeConfig(useFolder(), config);

describe('annals create-user', () => {
  it('makes them without a service too, in a new directory, beside other commands, and while a service starts', async (t) => {
    const data = join(temporaryFolder(t), 'data');
    const source = `export default ${JSON.stringify(config)};
      export async function seed() { console.log('seeding'); }`;
    const file = writeConfig(temporaryFolder(t), source);
    const told = `${data} is a new data directory\n`;
    const create = (email: string) => annalsProcessAt({ data, file }, `create-user users --email ${email}`);
    const [one, two] = await Promise.all([create('one@example.org'), create('two@example.org')]);
    for (const { code, stdout, stderr } of [one, two]) {
      assert.deepEqual([code, isId(stdout.trimEnd()), stdout.includes('seeding')], [0, true, false]);
      assert.ok(['', told].includes(stderr), stderr);
    }
    assert.ok(one.stderr !== '' || two.stderr !== '');
    const taken = await annalsAt({ data, file }, 'create-user users --email ONE@example.org');
    assert.deepEqual(taken, { code: 1, stdout: '', stderr: 'email is taken by another document\n' });
    // The first documents are left to the service.
    assert.ok(!existsSync(join(data, 'lock.json')) && !existsSync(join(data, 'seeded')));

    const starting = startService(t, source, { data });
    await eventually(() => existsSync(join(data, 'lock.json')));
    const three = await annalsAt({ data, file }, 'create-user users --email three@example.org');
    assert.deepEqual([three.code, three.stderr], [0, '']);
    const started = await starting;
    assert.match(started.output().stdout, /^seeding$/m);
    assert.ok(!started.output().stdout.includes('Setup'));
    for (const [name, { stdout }] of Object.entries({ one, two, three })) {
      assert.equal((await loggedIn(started, 'users', `${name}@example.org`, password)).id, stdout.trimEnd());
    }
    await started.stop();
    assert.equal(recordedEvents(data).filter(({ type }) => type === 'document.created').length, 3);
    assert.equal((await annalsAt({ data, file }, 'verify')).code, 0);
  });
});

describe('The password of a new user', () => {
  it('is in no log line of a command that creates the user in a process of its own', async (t) => {
    const data = join(temporaryFolder(t), 'data');
    const secret = 'a most peculiar pass phrase';
    const given = { input: `${secret}\n`, environment: { ANNALS_LOG_LEVEL: 'debug' } };
    const place = { data, file: configFile };
    const { code, stdout, stderr } = await annalsProcessAt(
      place,
      'create-user users --email secret@example.org',
      given,
    );
    assert.deepEqual([code, isId(stdout.trimEnd()), stderr.includes(secret)], [0, true, false]);
  });
});

describe('annals set-password', () => {
  it('does so if no service runs, and what a mail led to is void', async (t) => {
    const email = 'forgot@example.org';
    const data = join(temporaryFolder(t), 'data');
    const mail = { smtpUrl: resets.url, mailFrom: 'annals@example.org' };
    const first = await startHere(t, config, { data, ...mail });
    const asked = async () => {
      await first.call('POST', '/api/collections/users/forgot-password', { email }, { key: null });
      const { text } = await resets.next(email);
      await eventually(() => recordedEvents(data).some(({ type }) => type === 'email.sent'));
      await first.stop();
      return /token=([\w.-]+)/.exec(String(text))?.[1] ?? assert.fail(String(text));
    };
    let token = '';
    const { as } = await forgotten(t, first, configFile, async () => {
      token = await asked();
    });
    const again = await startHere(t, config, { data, ...mail });
    assert.equal((await again.call('GET', '/api/collections/users/me', undefined, as)).status, 401);
    const reset = await again.call(
      'POST',
      '/api/collections/users/reset-password',
      { token, password: 'another good one' },
      { key: null },
    );
    assert.equal(reset.status, 400);
    assert.equal((await login(again, 'users', email, nextPassword)).status, 200);
    assert.equal((await annalsAt({ data, file: configFile }, 'verify')).code, 0);
  });
});

describe('annals unlock and annals sessions revoke', () => {
  it('do so if none runs, and leave the mail that waits to the service, which sends it once', async (t) => {
    const data = join(temporaryFolder(t), 'data');
    const mail = (smtpUrl: string) => ({ smtpUrl, mailFrom: 'annals@example.org' });
    const unsent = await startHere(t, config, { data, ...mail('smtp://127.0.0.1:9') });
    const accounts = await twoAccounts(unsent);
    const asked = await unsent.call('POST', '/api/collections/users/forgot-password', { email: 'known@example.org' });
    assert.equal(asked.status, 200);
    await unsent.stop();
    const ofMail = () =>
      recordedEvents(data)
        .map(({ type }) => type)
        .filter((type) => /reset|^email/.test(type));
    assert.deepEqual(ofMail(), ['password.reset.requested']);

    const environment = { ANNALS_SMTP_URL: mailbox.url, ANNALS_MAIL_FROM: 'annals@example.org' };
    await runAccountCommands(accounts, { data, file: configFile }, environment);
    assert.deepEqual([mailbox.received.length, ofMail()], [0, ['password.reset.requested']]);

    const sending = await startHere(t, config, { data, ...mail(mailbox.url) });
    await assertAccountsDone(sending, accounts);
    await mailbox.next('known@example.org');
    await eventually(() => ofMail().includes('email.sent'));
    await sending.stop();
    assert.equal(mailbox.received.length, 1);
  });
});

describe('A command about an account in a directory that is in use', () => {
  const data = join(useFolder(), 'data');
  const annals = (command: string) => annalsAt({ data, file: configFile }, command);
  before(async () => assert.equal((await annals('create-user users --email ada@example.org')).code, 0));

  it('leaves it to another process that cannot be called, and says which that is', async () => {
    const rebuilding = lockDirectory(data, 'annals rebuild');
    const refused = await annalsProcessAt({ data, file: configFile }, 'unlock users --email ada@example.org');
    rebuilding.release();
    assert.equal(refused.code, 2);
    assert.match(refused.stderr, new RegExp(`is in use by annals rebuild, process ${process.pid} on`));

    // As in another container, in which the address means something else.
    const serving = lockDirectory(data, 'annals serve');
    serving.describe('http://127.0.0.1:9');
    const file = join(data, 'lock.json');
    writeFileSync(file, readFileSync(file, 'utf8').replace(`"host":"${hostname()}"`, '"host":"elsewhere"'));
    const distant = await annals('unlock users --email ada@example.org');
    serving.release();
    assert.equal(distant.code, 2);
    assert.match(distant.stderr, /: run this command on elsewhere$/m);
    assert.equal((await annals('sessions revoke users --email ada@example.org')).code, 0);
  });

  it('has done nothing when a signal stops it before it could begin, and leaves no lock', async (t) => {
    const slow = join(temporaryFolder(t), 'slow.mjs');
    writeFileSync(
      slow,
      `import { isMainThread } from 'node:worker_threads';
      if (!isMainThread) await new Promise((go) => setTimeout(go, 60_000));`,
    );
    // The writer is a thread too, and nothing is ready without it.
    const environment = { NODE_OPTIONS: `--import ${pathToFileURL(slow)}` };
    const recorded = recordedEvents(data).length;
    for (const signal of ['SIGINT', 'SIGTERM'] as const) {
      const { child, exited, output } = launch(
        t,
        argumentsAt({ data, file: configFile }, 'sessions revoke users --email ada@example.org'),
        environment,
      );
      await eventually(() => existsSync(join(data, 'lock.json')));
      child.kill(signal);
      assert.deepEqual([await exited, output()], [2, { stdout: '', stderr: 'stopped before anything was done\n' }]);
      assert.ok(!existsSync(join(data, 'lock.json')));
    }
    assert.equal(recordedEvents(data).length, recorded);
    assert.equal((await annals('sessions revoke users --email ada@example.org')).code, 0);
  });
});
