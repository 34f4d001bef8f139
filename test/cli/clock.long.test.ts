import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, describe, it } from 'node:test';
import { pathToFileURL } from 'node:url';
import Database from 'better-sqlite3';
import { run as runVerifier } from '../../verify/annals-verify.mjs';
import { writeAhead } from '../helpers/clock-ahead.ts';
import { type HereService, startHere, useServiceHere } from '../helpers/embedded.ts';
import { runHere } from '../helpers/in-process.ts';
import { assertRecorded } from '../helpers/recorded.ts';
import { writeConfig } from '../helpers/service.ts';
import { eventually, launch, recordedEvents, useFolder } from '../helpers/shared.ts';
import { unzip } from '../helpers/unzip.ts';

const posts = '/api/collections/posts';
const config = {
  bcryptCost: 4,
  collections: [
    { slug: 'editors', auth: true, fields: [] },
    { slug: 'posts', fields: [{ name: 'title', type: 'text' as const }] },
  ],
};
const folder = useFolder();
const configFile = writeConfig(folder, config);
const dayMilliseconds = 24 * 3600 * 1000;

const today = () => new Date().toISOString().slice(0, 10);
const annals = (data: string, command: string, ...more: string[]) =>
  runHere([...command.split(' '), ...more, '--data', data]);
const serve = (data: string, ...more: string[]) => annals(data, `serve --port 0 --config ${configFile}`, ...more);

async function titlesOf(service: HereService, query = ''): Promise<string[]> {
  const { status, body } = await service.call('GET', `${posts}?sort=title&${query}`);
  assert.equal(status, 200, JSON.stringify(body));
  return body.docs.map(({ title }: { title: string }) => title);
}

describe('A log whose clock was years ahead', () => {
  let data = '';
  let id = '';
  let whenRight = '';

  const service = useServiceHere(config);
  before(async () => {
    ({ id } = (await service.call('POST', posts, { title: 'Right' })).body);
    await service.stop();
    data = service.data;
    whenRight = new Date().toISOString();
    writeAhead(data, config, id, 7300 * dayMilliseconds);
  });

  it('is refused at the start, in one line with both times and what to do, and nothing is recorded', async () => {
    const { size } = { size: recordedEvents(data).length };
    for (const command of [() => serve(data), () => annals(data, `rebuild --config ${configFile}`)]) {
      const { code, stderr } = await command();
      assert.equal(code, 2);
      assert.match(
        stderr,
        /^the last event was recorded at \S+Z, and the clock of this machine says \S+Z, 20 years before: set the clock right; .* annals clock correct .*\(--accept-clock [^\n]+\)\n$/,
      );
    }
    assert.equal(recordedEvents(data).length, size);
  });

  it('is named by verify, which finds it sound', async () => {
    const { code, stdout } = await annals(data, 'verify');
    assert.equal(code, 0, stdout);
    const from = recordedEvents(data).length - 1;
    assert.match(
      stdout,
      new RegExp(`^note: from event ${from} on 2 events were recorded later than now, up to \\S+Z, 20`, 'm'),
    );
  });

  it('is continued if that is accepted, with a note that times stand still', async (t) => {
    const service = await startHere(t, config, { data, acceptClock: true });
    assert.equal((await service.call('POST', posts, { title: 'Accepted' })).status, 201);
    const [before, last] = recordedEvents(data).slice(-2);
    assert.equal(last?.recordedAt, before?.recordedAt);
    await eventually(() => service.lines().some(({ level, msg }) => level === 40 && /^the clock is behind/.test(msg)));
    assert.deepEqual(await titlesOf(service, `asOf=${whenRight}`), ['Right']);
    const refused = await annals(data, `clock correct --today ${today()} --reason x`);
    assert.deepEqual([refused.code, /is in use by/.test(refused.stderr)], [2, true]);
    await service.stop();
  });

  it('is not corrected without the day and a reason', async () => {
    const { size } = { size: recordedEvents(data).length };
    const missing = await annals(data, 'clock correct');
    assert.equal(missing.code, 2);
    assert.match(missing.stderr, /^--today is missing: .+\n--reason is missing: /);
    const wrong = await annals(data, 'clock correct --today 22.11.2026 --reason', ' ');
    assert.equal(wrong.code, 2);
    assert.match(
      wrong.stderr,
      /^--today must be a day in UTC such as .+, got "22\.11\.2026"\n--reason must be a text of 1 to 500/,
    );
    const none = await annals(data, 'clock correct --today 2026-02-31 --reason x');
    assert.match(none.stderr, /^--today must be a day in UTC such as .+, got "2026-02-31"$/m);
    const other = await annals(data, 'clock correct --today 1970-01-01 --reason x');
    assert.equal(other.code, 1);
    assert.match(
      other.stderr,
      /^the clock of this machine says \S+Z, which is not on 1970-01-01 in UTC: set it right first\n$/,
    );
    assert.equal(recordedEvents(data).length, size);
  });

  it('goes on with right times once it is corrected, and all proofs hold', async (t) => {
    const before = recordedEvents(data);
    const { code, stdout, stderr } = await assertRecorded(
      { data },
      () => annals(data, `clock correct --today ${today()} --reason`, 'the RTC was wrong'),
      [{ type: 'clock.corrected', stream: 'system/clock', actor: { type: 'system' } }],
    );
    assert.equal(code, 0, stderr);
    const from = before.length - 2;
    assert.match(
      stdout,
      new RegExp(
        `^event ${before.length + 1} corrects the clock, 20 years back to \\S+Z; .* from event ${from} on counts`,
      ),
    );
    assert.deepEqual(recordedEvents(data).slice(0, -1), before);
    const corrected = recordedEvents(data).at(-1);
    assert.deepEqual((await annals(data, `clock correct --today ${today()} --reason x`)).code, 1);
    const verified = await annals(data, 'verify');
    assert.equal(verified.code, 0, verified.stdout);
    assert.match(verified.stdout, /^note: event \d+ corrected the clock, which had been ahead by 20 years, to \S+Z$/m);

    const service = await startHere(t, config, { data });
    const { body } = await service.call('POST', posts, { title: 'Right again' });
    await service.call('PATCH', `${posts}/${id}`, { title: 'Right, and changed' });
    for (const { recordedAt } of recordedEvents(data).slice(before.length))
      assert.ok(Math.abs(Date.parse(recordedAt) - Date.now()) < dayMilliseconds, recordedAt);
    assert.ok(Math.abs(Date.parse(body.createdAt) - Date.now()) < dayMilliseconds, body.createdAt);
    assert.deepEqual(await titlesOf(service, `asOf=${whenRight}`), ['Right']);
    assert.deepEqual(await titlesOf(service, `asOf=${corrected?.recordedAt}`), ['Accepted', 'Ahead', 'Made ahead']);
    assert.equal((await titlesOf(service)).length, 4);

    const said = [];
    for (const command of [
      `bundle posts/${id}`,
      'export',
      'export --collection posts',
      'export --collection posts --format csv',
      'export --type clock.corrected',
    ]) {
      const file = join(folder, `${command.replaceAll(/\W/g, '')}.zip`);
      const saved = await annals(data, `${command} --config ${configFile} --out ${file}`);
      assert.equal(saved.code, 0, saved.stderr);
      const files = unzip(readFileSync(file));
      const { verifierKey } = JSON.parse(String(files.get('bundle.json') ?? files.get('manifest.json')));
      const { exit, text } = await runVerifier(['--key', verifierKey, file]);
      assert.equal(exit, 0, text);
      said.push(text);
    }
    const key = (await service.call('GET', '/api/audit/log')).body.verifierKey;
    await service.stop();
    const { exit, text } = await runVerifier(['--key', key, join(data, 'log.db')]);
    assert.equal(exit, 0, text);
    const where = `when events were recorded that stand before event ${before.length + 1}, where the clock was corrected`;
    for (const one of [...said, text]) assert.ok(one.replaceAll(/\s+/g, ' ').includes(where), one);
  });
});

describe('A clock that jumps while the service runs', () => {
  it('is waited for: writes are 503, reads and sessions go on, and nothing of it stays', async (t) => {
    const shift = join(folder, 'shift');
    const preload = join(folder, 'shift.mjs');
    writeFileSync(shift, '0');
    // Every thread of the service has the wall clock that the file says; the steady one is left alone.
    writeFileSync(
      preload,
      `import { readFileSync } from 'node:fs';
      const real = Date.now;
      const now = () => real() + Number(readFileSync(${JSON.stringify(shift)}, 'utf8'));
      globalThis.Date = class extends Date {
        static now = now;
        constructor(...given) { super(...(given.length === 0 ? [now()] : given)); }
      };`,
    );
    const args = ['serve', '--config', configFile, '--data', join(folder, 'jumped'), '--port', '0'];
    const environment = { NODE_OPTIONS: `--import ${pathToFileURL(preload)}`, ANNALS_THREADS: '1' };
    const service = launch(t, args, { ...environment, ANNALS_API_KEY: 'key-of-the-test' });
    const url = await service.listening;
    const headers = { 'x-api-key': 'key-of-the-test', 'content-type': 'application/json' };
    const call = (method: string, path: string, body?: object, more: object = headers) =>
      fetch(url + path, { method, headers: { ...more }, ...(body && { body: JSON.stringify(body) }) });
    const create = (title: string) => call('POST', posts, { title });
    const login = { email: 'ada@example.org', password: 'correct horse' };
    const setup = new URL(/Setup +(\S+)/.exec(service.output().stdout)?.[1] ?? '').searchParams.get('token');
    const first = await call('POST', '/api/collections/editors/first-user', { setupToken: setup, ...login });
    assert.equal(first.status, 201);
    const { token } = (await first.json()) as { token: string };
    assert.equal((await create('before')).status, 201);

    writeFileSync(shift, String(7300 * dayMilliseconds));
    for (const refused of [await create('meanwhile'), await call('POST', '/api/collections/editors/login', login)]) {
      assert.equal(refused.status, 503);
      assert.equal(refused.headers.get('retry-after'), '10');
      const { message } = (await refused.json()) as { message: string };
      assert.equal(message, 'the clock of the service has jumped ahead: nothing was recorded, try again later');
    }
    const me = await call('GET', '/api/collections/editors/me', undefined, { authorization: `Bearer ${token}` });
    assert.equal(me.status, 200, 'the session is not over');
    assert.equal((await call('GET', posts)).status, 200);
    assert.equal((await call('GET', '/ready')).status, 200);
    assert.equal((await call('GET', '/api/audit/checkpoint')).status, 200);
    await eventually(() => service.output().stderr.includes('the clock has jumped ahead by 20 years'));

    writeFileSync(shift, '0');
    const after = await create('after');
    assert.equal(after.status, 201);
    const { createdAt } = (await after.json()) as { createdAt: string };
    assert.ok(Math.abs(Date.parse(createdAt) - Date.now()) < 3_600_000, createdAt);
    await eventually(() => service.output().stderr.includes('the clock is right again'));
    service.child.kill('SIGTERM');
    assert.equal(await service.exited, 0);
    const events = recordedEvents(join(folder, 'jumped'));
    assert.ok(events.every(({ recordedAt }) => recordedAt <= new Date().toISOString()));
    const db = new Database(join(folder, 'jumped', 'log.db'), { readonly: true });
    const signed = db.prepare('SELECT signed_at FROM checkpoints').pluck().all() as string[];
    db.close();
    assert.ok(signed.length > 0 && signed.every((signedAt) => signedAt <= new Date().toISOString()), `${signed}`);
  });
});
