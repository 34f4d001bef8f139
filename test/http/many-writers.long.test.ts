import assert from 'node:assert/strict';
import { Agent, get, request } from 'node:http';
import { describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { runHere } from '../helpers/in-process.ts';
import { apiKey, type Service, startService } from '../helpers/service.ts';
import { recordedEvents } from '../helpers/shared.ts';

const posts = '/api/collections/posts';

/** Each write keeps its thread busy for some milliseconds, so that more come than it can take on any machine. */
const config = `
export default { collections: [{
  slug: 'posts',
  access: { read: () => true },
  fields: [{ name: 'title', type: 'text', unique: true }],
  hooks: { beforeChange: [({ data }) => {
    for (const end = performance.now() + 4; performance.now() < end; );
    return data;
  }] },
}] };`;

type Answer = { status: number; retryAfter: string | undefined; message: unknown; id: unknown };

function create({ url }: Service, agent: Agent, title: string): Promise<Answer> {
  const text = JSON.stringify({ title });
  const headers = { 'content-type': 'application/json', 'content-length': text.length, 'x-api-key': apiKey };
  return new Promise((resolve, reject) => {
    const asked = request(url + posts, { method: 'POST', agent, headers }, (response) => {
      let body = '';
      response.setEncoding('utf8').on('data', (part: string) => {
        body += part;
      });
      response.once('end', () => {
        const { id, message } = JSON.parse(body);
        const retryAfter = response.headers['retry-after'];
        resolve({ status: response.statusCode ?? 0, retryAfter, message, id });
      });
    });
    asked.once('error', reject);
    asked.end(text);
  });
}

function health({ url }: Service): Promise<number> {
  return new Promise((resolve, reject) => {
    get(`${url}/health`, { agent: false }, (response) => {
      response.resume().once('end', () => resolve(response.statusCode ?? 0));
    }).once('error', reject);
  });
}

describe('A thousand clients that write at the same time', () => {
  it('are answered all: a part is recorded, and the rest are told when to come again and leave nothing', async (t) => {
    const service = await startService(t, config, { environment: { ANNALS_THREADS: '2' } });
    const agent = new Agent({ keepAlive: true, maxSockets: 1000 });
    t.after(() => agent.destroy());
    let isOver = false;
    const healths: number[] = [];
    const watch = async () => {
      while (!isOver) {
        healths.push(await health(service));
        await sleep(50);
      }
    };
    const watching = watch();
    // Each of them sends three, the next as soon as the last one was answered.
    const answers: Answer[] = [];
    const client = async (number: number) => {
      for (let round = 0; round < 3; round += 1) {
        answers.push(await create(service, agent, `${number}-${round}`));
      }
    };
    await Promise.all(Array.from({ length: 1000 }, (_, number) => client(number)));
    isOver = true;
    await watching;

    const taken = answers.filter(({ status }) => status === 201);
    const refused = answers.filter(({ status }) => status !== 201);
    assert.deepEqual([answers.length, taken.length > 0, refused.length > 0], [3000, true, true]);
    for (const { status, retryAfter, message } of refused) {
      assert.deepEqual([status, retryAfter], [503, '1']);
      assert.equal(message, 'too many writes wait already: nothing of this one was recorded, try again later');
    }
    assert.ok(healths.length > 0 && healths.every((status) => status === 200));
    const created = recordedEvents(service.data).filter(({ type }) => type === 'document.created');
    assert.deepEqual(created.map(({ stream }) => stream).sort(), taken.map(({ id }) => `posts/${id}`).sort());
    assert.equal((await service.call('GET', `${posts}?limit=1`)).body.total, taken.length);
    // The load is over: writes are taken again at once.
    assert.equal((await create(service, agent, 'afterwards')).status, 201);
    assert.equal(await service.stop(), 0);
    assert.equal((await runHere(['verify', '--data', service.data])).code, 0);
  });
});
