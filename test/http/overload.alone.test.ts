import assert from 'node:assert/strict';
import { existsSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { after, before, describe, it } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { createClient } from '../../client/index.ts';
import { mostWaiting } from '../../server/writer/waiting.ts';
import { runHere } from '../helpers/in-process.ts';
import { type Answer, apiKey, writeConfig } from '../helpers/service.ts';
import { dial, eventually, recordedEvents, useFolder, useService } from '../helpers/shared.ts';

const posts = '/api/collections/posts';
const folder = useFolder();
const hold = join(folder, 'hold');
const held = join(folder, 'held');
const preload = join(folder, 'hold.mjs');
// While the file `hold` exists, the writer stands still, as it does while it clears the data files or waits for a disk;
// it says so by another file.
writeFileSync(
  preload,
  `import { existsSync, rmSync, writeFileSync } from 'node:fs';
  import { workerData } from 'node:worker_threads';
  if (workerData?.logId) {
    const cell = new Int32Array(new SharedArrayBuffer(4));
    const [hold, held] = ${JSON.stringify([hold, held])};
    setInterval(() => {
      if (!existsSync(hold)) return;
      writeFileSync(held, '');
      while (existsSync(hold)) Atomics.wait(cell, 0, 0, 5);
      rmSync(held);
    }, 5).unref();
  }`,
);
const config = `export default {
  bcryptCost: 4, rateLimit: false, cors: ['https://app.example.org'],
  collections: [
    { slug: 'users', auth: true, fields: [] },
    { slug: 'posts', fields: [{ name: 'title', type: 'text' }], access: { read: () => true },
      hooks: { beforeChange: [({ data }) => { console.error('hook for ' + data.title); return data; }] } },
    { slug: 'pictures', upload: true, fields: [] },
  ],
}`;
const service = useService(config, { NODE_OPTIONS: `--import ${pathToFileURL(preload)}`, ANNALS_THREADS: '1' });
const { few, milliseconds, ofOneStream } = mostWaiting;

after(() => rmSync(hold, { force: true }));

const create = (title: string) => service.call('POST', posts, { title });
/** Sends several over one connection, and reads the answers until it ends. */
function sendAhead(...titles: string[]): Promise<string> {
  const socket = dial(service.url);
  const send = (title: string, connection: string) => {
    const body = JSON.stringify({ title });
    const head = `x-api-key: ${apiKey}\r\ncontent-type: application/json\r\ncontent-length: ${body.length}`;
    socket.write(`POST ${posts} HTTP/1.1\r\nhost: x\r\nconnection: ${connection}\r\n${head}\r\n\r\n${body}`);
  };
  for (const title of titles) send(title, title === titles.at(-1) ? 'close' : 'keep-alive');
  return text(socket);
}

const statuses = (answers: readonly Answer[]) => [...new Set(answers.map(({ status }) => status))];

describe('Writes when too many wait', () => {
  const waiting: Promise<Answer>[] = [];
  let size = 0;
  let operator: ReturnType<typeof runHere>;
  let sentAgain: Promise<unknown>;
  let sentAhead: Promise<string>;

  before(async () => {
    size = recordedEvents(service.data).length;
    writeFileSync(hold, '');
    await eventually(() => existsSync(held));
    sentAhead = sendAhead('first', 'second');
    waiting.push(...Array.from({ length: few - 3 }, (_, index) => create(`waits ${index}`)));
    const hooks = () => service.output().stderr.split('hook for ').length - 1;
    await eventually(() => hooks() === few - 2);
    await wait(milliseconds + 500);
  });

  it('are taken as long as they are few, however long the first has waited', async () => {
    waiting.push(create('waits too'), create('waits as the last'));
    await eventually(() => service.output().stderr.includes('hook for waits as the last'));
    assert.equal(await Promise.race([...waiting, wait(100, 'no answer yet')]), 'no answer yet');
  });

  it('are refused at once, with a time to come again, before a hook runs or a password is checked', async () => {
    const login = { email: 'a@example.org', password: 'x' };
    const refused = [
      await create('refused'),
      await service.call('PATCH', `${posts}/${crypto.randomUUID()}`, { title: 'x' }),
      await service.call('DELETE', `${posts}/${crypto.randomUUID()}`),
      await service.call('POST', '/api/collections/users/login', login, { key: null }),
      await service.call('POST', posts, '{', { headers: { origin: 'https://app.example.org' } }),
    ];
    for (const { status, headers, body } of refused) {
      assert.deepEqual([status, headers.get('retry-after')], [503, '1']);
      assert.equal(body.message, 'too many writes wait already: nothing of this one was recorded, try again later');
      assert.ok(headers.get('x-request-id'));
    }
    assert.equal(refused.at(-1)?.headers.get('access-control-allow-origin'), 'https://app.example.org');
    const told = () => service.output().stderr.split('writes are refused').length - 1;
    await eventually(() => told() > 0);
    assert.equal(told(), 1);
    assert.ok(!service.output().stderr.includes('hook for refused'));
  });

  it('leave no byte of an upload', async () => {
    const form = new FormData();
    form.append('file', new Blob(['the bytes of a file']), 'a.txt');
    const headers = { 'x-api-key': apiKey };
    const upload = await fetch(`${service.url}/api/collections/pictures`, { method: 'POST', headers, body: form });
    assert.equal(upload.status, 503);
    const blobs = join(service.data, 'blobs');
    assert.deepEqual(readdirSync(join(blobs, 'incoming')), []);
    assert.ok(!readdirSync(blobs).some((name) => /^[0-9a-f]{2}$/.test(name)));
  });

  it('keep no client from reading, nor from asking for what is recorded later', async () => {
    for (const path of ['/health', '/ready', `${posts}?limit=1`, '/api/schemas'])
      assert.equal((await service.call('GET', path)).status, 200, path);
    const path = '/api/collections/users/forgot-password';
    // The answer is the same whether or not the user exists.
    assert.equal((await service.call('POST', path, { email: 'a@example.org' }, { key: null })).status, 200);
  });

  it('are all recorded later if they were accepted, and nothing else; the client repeats the refused ones', async () => {
    const options = ['--config', writeConfig(folder, config), '--data', service.data];
    operator = runHere(['create-user', 'users', '--email', 'ada@example.org', ...options], {
      input: 'correct horse battery\n',
    });
    const count = () => service.output().stderr.split('"status":503').length;
    const refusals = count();
    const client = createClient({ baseUrl: service.url, apiKey });
    sentAgain = client.collection('posts').create({ title: 'in the end' });
    await eventually(() => count() > refusals);
    // The command line has its turn whatever the line is.
    await wait(300);
    rmSync(hold);
    assert.deepEqual(statuses(await Promise.all(waiting)), [201]);
    // On one connection the second request begins when the first was answered.
    assert.deepEqual((await sentAhead).match(/HTTP\/1.1 \d+/g), ['HTTP/1.1 201', 'HTTP/1.1 201']);
    const ids = [...(await sentAhead).matchAll(/^x-request-id: (.*)/gm)].map(([, id = '']) => id.trim());
    assert.equal(ids.length, 2);
    for (const id of ids) {
      const lineOf = () => service.output().stderr.match(`.*"requestId":"${id}".*`)?.[0];
      await eventually(() => lineOf() !== undefined);
      const line = JSON.parse(lineOf() ?? '');
      assert.ok(line.milliseconds > milliseconds, JSON.stringify(line));
    }
    const { code, stderr } = await operator;
    assert.equal(code, 0, stderr);
    assert.equal(((await sentAgain) as { title: string }).title, 'in the end');
    assert.equal((await create('afterwards')).status, 201);
    const { body } = await service.call('GET', `${posts}?limit=100`);
    assert.equal(body.total, few + 3);
    // The user is a document and an account.
    assert.equal(recordedEvents(service.data).length, size + few + 3 + 2);
  });

  it('of one document are refused beyond a line of them, which others do not notice', async () => {
    const { body } = await create('hot');
    writeFileSync(hold, '');
    await wait(100);
    const refused: Answer[] = [];
    const patch = async (title: string) => {
      const answer = await service.call('PATCH', `${posts}/${body.id}`, { title });
      if (answer.status !== 200) refused.push(answer);
      return answer;
    };
    const patches: Promise<Answer>[] = [];
    // Few enough at once that none comes late.
    for (let left = ofOneStream + 10; left > 0; left -= 46) {
      patches.push(...Array.from({ length: Math.min(left, 46) }, (_, index) => patch(`hot ${left - index}`)));
      await wait(100);
    }
    await eventually(() => refused.length === 10);
    assert.deepEqual(statuses(refused), [503]);
    const other = create('beside it');
    rmSync(hold);
    assert.equal((await other).status, 201);
    const all = await Promise.all(patches);
    assert.equal(all.filter(({ status }) => status === 200).length, ofOneStream);
    const { headers } = await service.call('GET', `${posts}/${body.id}`);
    assert.ok(headers.get('etag')?.startsWith(`"${ofOneStream + 1}-`), 'each of them has changed it');
  });
});
