import assert from 'node:assert/strict';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { runHere } from '../../helpers/in-process.ts';
import { spreadOf, wholeOnly } from '../../helpers/rounds.ts';
import { apiKey, callerOf, temporaryFolder } from '../../helpers/service.ts';
import { eventually, launch, recordedEvents } from '../../helpers/shared.ts';
import { type Begun, begin, filesOf, hammer, markOf, posts, reloadUnderLoad, write } from './reloading.ts';

describe('A configuration is reloaded', () => {
  for (const threads of spreadOf(['0', '1', '2', '3'], 1)) {
    it(`while clients read and write, of whom none notices, by ${threads} threads`, async (t) => {
      const service = await begin(t, 'serve', { ANNALS_THREADS: threads });
      await reloadUnderLoad(service);
      service.child.kill('SIGTERM');
      assert.equal(await service.exited, 0);
      const args = ['--data', service.data, '--config', join(service.folder, 'annals.config.ts')];
      assert.equal((await runHere(['verify', ...args])).code, 0);
    });
  }

  it('with its validation, OpenAPI document and mail templates', async (t) => {
    const service = await begin(t, 'serve');
    const { folder, reload, call, output } = service;
    const setup = /setup\?token=([\w-]+)/.exec(output().stdout)?.[1];
    const account = { email: 'ada@example.org', password: 'correct horse battery' };
    assert.equal(
      (await call('POST', '/api/collections/users/first-user', { ...account, setupToken: setup })).status,
      201,
    );
    assert.equal((await call('POST', posts, { title: 'eleven char' })).status, 400);
    const most = async () => {
      const { body } = await call('GET', '/api/openapi.json');
      return JSON.stringify(body).match(/"title":\{[^}]*"maxLength":(\d+)/)?.[1];
    };
    assert.equal(await most(), '10');
    write(folder, { ...filesOf('two'), 'limits.json': '{ "title": 11 }' });
    assert.equal(
      (await reload()).stdout,
      'reloaded\nemail.templates.passwordReset.subject was changed\ncollections.posts.fields.title.maxLength was changed\n',
    );
    assert.equal((await call('POST', posts, { title: 'eleven char' })).status, 201);
    assert.equal(await most(), '11');
    await call('POST', '/api/collections/users/forgot-password', { email: account.email });
    const page = /Mail +(\S+)/.exec(output().stdout)?.[1] ?? '';
    let mails = '';
    for (let tries = 0; tries < 200 && !mails.includes('Reset'); tries += 1) {
      await sleep(20);
      mails = await (await fetch(page)).text();
    }
    assert.match(mails, /Reset two/);
  });

  it('at SIGHUP, also during the start, and again and again', wholeOnly, async (t) => {
    const folder = temporaryFolder(t);
    write(folder, filesOf('one'));
    const data = join(folder, 'data');
    const args = ['serve', '--config', join(folder, 'annals.config.ts'), '--data', data, '--port', '0'];
    const token = 'metrics-token-0123456789';
    const launched = launch(t, args, { ANNALS_API_KEY: apiKey, ANNALS_THREADS: '2', ANNALS_METRICS_TOKEN: token });
    // From here on the process has its handler.
    await eventually(() => recordedFile(data));
    launched.child.kill('SIGHUP');
    const url = await launched.listening;
    const reloads = (what: string) =>
      launched.output().stderr.split(`the configuration was reloaded: ${what}`).length - 1;
    await eventually(() => reloads('nothing in it has changed') === 1);
    write(folder, filesOf('two'));
    const service = { ...launched, folder, data, url, call: callerOf(url) } as Begun;
    const end = hammer(service);
    for (let times = 0; times < 5; times += 1) {
      launched.child.kill('SIGHUP');
      await sleep(30);
    }
    await eventually(() => reloads('1 change') === 1);
    assert.equal(await markOf(service), 'two');
    assert.deepEqual((await end()).failures, []);
    const shown = await fetch(`${url}/metrics`, { headers: { authorization: `Bearer ${token}` } });
    assert.match(await shown.text(), /^annals_configuration_reloads_total\{outcome="changed"\} 1$/m);
  });

  it('unless strictSchema refuses it', async (t) => {
    const service = await begin(t, 'serve', { ANNALS_STRICT_SCHEMA: 'true' });
    const { folder, reload, call } = service;
    write(folder, filesOf('two', { 'hooks.cjs': 'exports.stamp = () => null;' }));
    assert.equal((await reload()).code, 0);
    assert.equal((await call('POST', posts, { title: 'x' })).status, 201);
    const config = filesOf('two')['annals.config.ts'] ?? '';
    write(folder, {
      'annals.config.ts': config.replace("name: 'mark', type: 'text'", "name: 'mark', type: 'text', required: true"),
    });
    const { code, stderr } = await reload();
    assert.equal(code, 1);
    assert.match(stderr, /posts\.mark is required now: 1 document had no value of it/);
  });
});

function recordedFile(data: string): boolean {
  try {
    return recordedEvents(data).length > 0;
  } catch {
    return false;
  }
}

describe('A thread that dies', () => {
  it('is replaced by one with the configuration in force, and not with that of the disk', async (t) => {
    const service = await begin(t, 'serve', { ANNALS_THREADS: '1' });
    const { folder, reload, call, output } = service;
    const die = async (times: number) => {
      await call('POST', posts, { title: 'throw' }).catch(() => {});
      await eventually(() => output().stderr.split('another one takes its place').length - 1 === times);
      for (let tries = 0; tries < 300; tries += 1) {
        const mark = await markOf(service).catch(() => null);
        if (mark) return mark;
        await sleep(50);
      }
    };
    write(folder, filesOf('two'));
    rmSync(join(folder, 'rules.ts'));
    assert.equal(await die(1), 'one');
    write(folder, filesOf('two'));
    assert.equal((await reload()).code, 0);
    write(folder, filesOf('three'));
    assert.equal(await die(2), 'two');
  });
});

describe('A write', () => {
  it('that a former rule admitted is refused if it outlasts the reload, and can be sent again', async (t) => {
    const service = await begin(t, 'serve');
    const { folder, data, reload, call, output } = service;
    const anonymous = call('POST', '/api/collections/slow', { title: 'late' }, { key: null });
    await eventually(() => output().stderr.includes('asked'));
    write(folder, filesOf('two'));
    assert.equal((await reload()).code, 0);
    write(folder, { go: '' });
    const refused = await anonymous;
    assert.equal(refused.status, 503);
    assert.match(
      refused.body.message,
      /^the configuration was changed meanwhile: nothing of this write was recorded, try again$/,
    );
    assert.equal(refused.headers.get('retry-after'), '1');
    assert.equal(recordedEvents(data).filter(({ stream }) => stream.startsWith('slow/')).length, 0);
  });
});

describe('annals dev', () => {
  it('reloads when a file is saved, starts again if that is needed, and waits while one is wrong', async (t) => {
    const service = await begin(t, 'dev', { ANNALS_THREADS: '1' });
    const { folder, output, url, call } = service;
    const says = (text: string) => eventually(() => output().stdout.includes(text));
    write(folder, filesOf('two'));
    await says('reloaded: email.templates.passwordReset.subject was changed\n');
    assert.equal(await markOf(service), 'two');
    write(folder, { 'rules.ts': 'export { canRead } from "./more.ts";' });
    await says('not reloaded, the former configuration stays in force: the configuration is refused: ');
    assert.equal((await call('GET', posts)).status, 200);
    // The file that was missing.
    write(folder, { 'more.ts': 'export const canRead = () => false;' });
    await says('reloaded: collections.posts.access.read was changed\n');
    assert.equal((await call('GET', posts, undefined, { key: null })).status, 401);
    const config = filesOf('two')['annals.config.ts'] ?? '';
    write(folder, {
      'annals.config.ts': config.replace(
        "fields: [{ name: 'title'",
        "fields: [{ name: 'x', type: 'text' }, { name: 'title'",
      ),
    });
    await says(`restarted, listening on ${url}\n`);
    const { status, body } = await call('POST', posts, { title: 'x', x: 'y' });
    assert.deepEqual([status, body.x, body.mark], [201, 'y', 'two']);
    service.child.kill('SIGTERM');
    assert.equal(await service.exited, 0);
  });

  it('goes on with the former configuration if documents would show less and there is no terminal to ask at', async (t) => {
    const service = await begin(t, 'dev', { ANNALS_THREADS: '1' });
    const { folder, output, url, call } = service;
    const says = (text: string) => eventually(() => output().stdout.includes(text));
    assert.equal((await call('POST', posts, { title: 'x' })).body.mark, 'one');
    const config = filesOf('one')['annals.config.ts'] ?? '';
    const withField = (field: string) => {
      write(folder, { 'annals.config.ts': config.replace("name: 'mark', type: 'text'", field) });
    };
    withField("name: 'brand', type: 'text'");
    await says("posts.mark is gone: 1 document had a value of it; did you mean renamedFrom: 'mark' in posts.brand?\n");
    assert.deepEqual((await call('GET', posts)).body.docs[0].mark, 'one');
    withField("name: 'brand', type: 'text', renamedFrom: 'mark'");
    await says(`restarted, listening on ${url}\n`);
    assert.equal((await call('GET', posts)).body.docs[0].brand, 'one');
    service.child.kill('SIGTERM');
    assert.equal(await service.exited, 0);
  });

  for (const [environment, message] of [
    [{}, 'Quota reached'],
    [{ NODE_ENV: 'production' }, 'An internal server error occurred'],
  ] as const)
    it(`prints an error in plain lines, once, and a 500 says "${message}" with ${JSON.stringify(environment)}`, async (t) => {
      const service = await begin(t, 'dev', { ANNALS_THREADS: '1', ...environment });
      const { folder, output, call } = service;
      const stamp = "exports.stamp = () => {\n  throw new Error('Quota reached');\n};\n";
      write(folder, { 'hooks.cjs': stamp });
      await eventually(() => output().stdout.includes('reloaded'));
      const { status, body } = await call('POST', posts, { title: 'x' });
      assert.deepEqual([status, body.message], [500, message]);
      const place = join(folder, 'hooks.cjs');
      const told = `error: a request failed\n  Quota reached, at ${place}:2:9\nPOST ${posts} 500, `;
      await eventually(() => output().stderr.includes(told));
      write(folder, { 'hooks.cjs': 'exports.stamp = [;' });
      await eventually(() => output().stdout.includes('the configuration is refused: '));
      const lines = `${output().stdout}${output().stderr}`;
      assert.equal(lines.split('cannot be loaded').length - 1, 1);
      assert.ok(!/^\{|"level"|node_modules| {4}at /m.test(lines), lines);
      service.child.kill('SIGTERM');
      assert.equal(await service.exited, 0);
    });
});
