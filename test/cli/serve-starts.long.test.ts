import assert from 'node:assert/strict';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { startHere } from '../helpers/embedded.ts';
import { runHere } from '../helpers/in-process.ts';
import { apiKey, startService, temporaryFolder, writeConfig } from '../helpers/service.ts';
import { launch, useFolder } from '../helpers/shared.ts';
import { config, fileWith, noThreads, posts, postsBy } from './serving.ts';

const users = { slug: 'users', auth: true, fields: [] };
const configFile = writeConfig(useFolder(), config);

describe('annals serve', () => {
  it('prints where mail in development is shown, and nothing of it in production', async (t) => {
    const folder = temporaryFolder(t);
    const accounts = { bcryptCost: 4, collections: [users] };
    const args = ['serve', '--config', writeConfig(folder, accounts), '--port', '0', '--data'];
    const quiet = { ANNALS_LOG_LEVEL: 'silent', ANNALS_API_KEY: apiKey, ...noThreads };
    const first = launch(t, [...args, join(folder, 'a')], quiet);
    const url = await first.listening;
    const [, page = ''] =
      /^ {2}Mail {5}(http:\/\/127\.0\.0\.1:\d+\/mail\/all\/[\w-]{22}) {2}\(.*\)$/m.exec(first.output().stdout) ?? [];
    assert.match(await (await fetch(page)).text(), /No mail yet/);
    const headers = { 'x-api-key': apiKey, 'content-type': 'application/json' };
    const made = { email: 'ada@example.org', password: 'correct horse battery' };
    const setup = /setup\?token=([\w-]+)/.exec(first.output().stdout)?.[1];
    const sent = await fetch(`${url}/api/collections/users/first-user`, {
      method: 'POST',
      headers,
      body: JSON.stringify({ ...made, setupToken: setup }),
    });
    assert.equal(sent.status, 201);
    await fetch(`${url}/api/collections/users/forgot-password`, {
      method: 'POST',
      headers,
      body: JSON.stringify({ email: made.email }),
    });
    let found: string | undefined;
    for (let tries = 0; tries < 250 && !found; tries += 1) {
      await sleep(20);
      const text = await (await fetch(page)).text();
      found = /ada@example\.org<\/td><td><a href="(\/mail\/[\w-]{22})">/.exec(text)?.[1];
    }
    assert.match(await (await fetch(new URL(found ?? '', page))).text(), /\/admin\/reset\?token=/);
    assert.equal(first.output().stderr, '');
    first.child.kill('SIGTERM');
    assert.equal(await first.exited, 0);

    const next = launch(t, [...args, join(folder, 'b')], { ...quiet, NODE_ENV: 'production' });
    await next.listening;
    assert.doesNotMatch(next.output().stdout, /^ {2}Mail/m);
  });

  it('takes each of them from a file too', async (t) => {
    const folder = temporaryFolder(t);
    const accounts = writeConfig(folder, { ...config, collections: [...config.collections, users] });
    const environment = {
      ANNALS_CONFIG_FILE: fileWith(folder, 'config', `${accounts}\n`),
      ANNALS_DATA_FILE: fileWith(folder, 'where', join(folder, 'data')),
      ANNALS_HOST_FILE: fileWith(folder, 'host', '127.0.0.1\n'),
      ANNALS_PORT_FILE: fileWith(folder, 'port', '0\n'),
      ANNALS_THREADS_FILE: fileWith(folder, 'threads', '0\n'),
      ANNALS_BASE_URL_FILE: fileWith(folder, 'url', 'http://cms.example.org'),
      ANNALS_API_KEY_FILE: fileWith(folder, 'keys', 'from-a-file-00000, another-one-00000\n'),
      ANNALS_SECRET_FILE: fileWith(folder, 'secret', 'some-secret-that-is-long-enough-to-sign-with\n'),
      ANNALS_LOG_LEVEL_FILE: fileWith(folder, 'level', 'info\n'),
      ANNALS_SMTP_URL_FILE: fileWith(folder, 'smtp', 'smtp://annals:top-secret@127.0.0.1:2525\n'),
      ANNALS_MAIL_FROM_FILE: fileWith(folder, 'from', 'Annals <annals@example.org>\n'),
    };
    const { listening, output } = launch(t, ['serve'], environment);
    const url = await listening;
    for (const key of ['from-a-file-00000', 'another-one-00000']) assert.equal((await postsBy(url, key)).status, 200);
    assert.match(output().stdout, /http:\/\/cms\.example\.org\/api/);
    // Mail goes out: there is no page of it.
    assert.doesNotMatch(output().stdout, /^ {2}Mail/m);
  });

  it('prints the generated key at each start, with threads and without', async (t) => {
    const args = ['serve', '--config', configFile, '--data', join(temporaryFolder(t), 'data'), '--port', '0'];
    const first = launch(t, args);
    const url = await first.listening;
    const [, key = ''] = /curl -H 'x-api-key: ([^']+)'/.exec(first.output().stdout) ?? [];
    assert.equal((await postsBy(url, key)).status, 200);
    first.child.kill('SIGTERM');
    assert.equal(await first.exited, 0);
    const second = launch(t, args, noThreads);
    const next = await second.listening;
    assert.ok(second.output().stdout.includes(`x-api-key: ${key}'`));
    assert.equal((await postsBy(next, key)).status, 200);
  });
});

describe('One data directory', () => {
  it('is held by one service: a second one is told which, and starts once the first was killed', async (t) => {
    const first = await startService(t, config);
    const args = ['--config', configFile, '--data', first.data];
    for (const command of [['serve', '--port', '0'], ['rebuild']]) {
      const { code, stderr } = await runHere([...command, ...args], { environment: noThreads });
      assert.equal(code, 2);
      assert.match(stderr, /the data directory .* is in use by annals serve/);
      assert.ok(stderr.includes(String(first.child.pid)) && stderr.includes(first.url), stderr);
    }
    const { body } = await first.call('POST', posts, { title: 'kept' });
    await first.kill();
    const second = await startHere(t, config, { data: first.data });
    assert.deepEqual((await second.call('GET', `${posts}/${body.id}`)).body, body);
  });
});
