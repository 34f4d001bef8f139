import assert from 'node:assert/strict';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { before, describe, it } from 'node:test';
import { pathToFileURL } from 'node:url';
import { lockDirectory } from '../../storage/lock.ts';
import { loggedIn } from '../helpers/accounts.ts';
import { startService, temporaryFolder, writeConfig } from '../helpers/service.ts';
import { eventually, isId, launch, recordedEvents, useFolder } from '../helpers/shared.ts';
import { annalsAt, annalsProcessAt, argumentsAt, config, password } from './account-commands.ts';

const configFile = writeConfig(useFolder(), config);

describe('annals create-user', () => {
  it('makes them where no service runs too, in a new directory, beside other commands, and while a service starts', async (t) => {
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

describe('A command about an account where the directory is not free', () => {
  const data = join(useFolder(), 'data');
  const annals = (command: string) => annalsAt({ data, file: configFile }, command);
  before(async () => assert.equal((await annals('create-user users --email ada@example.org')).code, 0));

  it('leaves it to another process that cannot be called, and says which that is', async () => {
    const rebuilding = lockDirectory(data, 'annals rebuild');
    const refused = await annalsProcessAt({ data, file: configFile }, 'unlock users --email ada@example.org');
    rebuilding.release();
    assert.equal(refused.code, 2);
    assert.match(refused.stderr, new RegExp(`is in use by annals rebuild, process ${process.pid} on`));

    // In another container, say, where its address means something else.
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
