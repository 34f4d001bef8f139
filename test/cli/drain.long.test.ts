import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { get, request } from 'node:http';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { runHere } from '../helpers/in-process.ts';
import { apiKey, temporaryFolder, writeConfig } from '../helpers/service.ts';
import { type Launched, launch, recordedEvents } from '../helpers/shared.ts';

const config = { collections: [{ slug: 'posts', fields: [{ name: 'title', type: 'text' }] }] };
const posts = '/api/collections/posts';
const seconds = 2;

type Sent = { status: number; body: { id?: string; status?: string }; connection: string | undefined };

/** A request over a connection of its own; null if the connection was refused, or broken off. */
function send(url: string, body?: object, headers: Record<string, string> = {}): Promise<Sent | null> {
  return new Promise((resolve) => {
    const kept = { 'x-api-key': apiKey, 'content-type': 'application/json', connection: 'keep-alive', ...headers };
    const options = { agent: false, headers: kept };
    const outgoing = body ? request(url, { method: 'POST', ...options }) : get(url, options);
    outgoing.on('error', () => resolve(null));
    outgoing.on('response', (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (chunk) => {
        text += chunk;
      });
      response.on('error', () => resolve(null));
      response.on('end', () =>
        resolve({ status: response.statusCode ?? 0, body: JSON.parse(text), connection: response.headers.connection }),
      );
    });
    outgoing.end(body && JSON.stringify(body));
  });
}

/** Asks until there is an answer. */
async function until<T>(ask: () => Promise<T | null>): Promise<T> {
  for (;;) {
    const answer = await ask();
    if (answer !== null) return answer;
  }
}

/**
 * Sends without a pause until the service is gone. Gives what was acknowledged, and when the first request was refused.
 */
function load(url: string, headers: Record<string, string>) {
  const ids: string[] = [];
  const others: number[] = [];
  const refused = Promise.withResolvers<number>();
  const begun = Promise.withResolvers<void>();
  async function work(): Promise<void> {
    for (let n = 0; ; n += 1) {
      const sent = await send(`${url}${posts}`, n % 2 ? undefined : { title: `t${n}` }, headers);
      if (!sent) {
        refused.resolve(performance.now());
        return;
      }
      if (sent.status === 201) ids.push(sent.body.id ?? '');
      else if (sent.status !== 200) others.push(sent.status);
      if (ids.length > 20) begun.resolve();
    }
  }
  const over = Promise.all(Array.from({ length: 4 }, work));
  return { ids, others, begun: begun.promise, refused: refused.promise, over };
}

async function drained(service: Launched, data: string, headers: Record<string, string> = {}): Promise<void> {
  const url = await service.listening;
  const { ids, others, begun, refused, over } = load(url, headers);
  await begun;
  const before = await send(`${url}/ready`);
  assert.deepEqual([before?.status, before?.connection], [200, 'keep-alive']);
  const since = performance.now();
  service.child.kill('SIGTERM');
  const answer = await until(async () => {
    const sent = await send(`${url}/ready`);
    assert.ok(sent, '/ready was refused before it said that the service stops');
    return sent.status === 503 ? sent : null;
  });
  assert.deepEqual([answer.body, answer.connection], [{ status: 'stopping' }, 'close']);
  assert.equal((await send(`${url}/health`))?.status, 200);
  const write = await send(`${url}${posts}`, { title: 'while it drains' }, headers);
  assert.deepEqual([write?.status, write?.connection], [201, 'close']);
  assert.ok((await refused) - since >= seconds * 1000 - 10, 'a request was refused before the time was over');
  await over;
  assert.equal(await service.exited, 0, service.output().stderr);
  assert.deepEqual(others, []);
  const recorded = new Set(recordedEvents(data).map(({ stream }) => stream));
  assert.deepEqual(
    ids.filter((id) => !recorded.has(`posts/${id}`)),
    [],
  );
}

function start(t: TestContext, threads: string, flags: string[] = []): { service: Launched; data: string } {
  const data = join(temporaryFolder(t), 'data');
  const args = ['serve', '--config', writeConfig(temporaryFolder(t), config), '--data', data, '--port', '0', ...flags];
  return { service: launch(t, args, { ANNALS_THREADS: threads, ANNALS_API_KEY: apiKey }), data };
}

describe('A service that is told to stop, and to drain', () => {
  for (const threads of ['0', '2']) {
    it(`answers all requests while /ready says that it stops, and loses none, with ${threads} threads`, async (t) => {
      const { service, data } = start(t, threads, ['--drain-seconds', String(seconds)]);
      await drained(service, data);
    });
  }

  it('does so for several sites', async (t) => {
    const folder = temporaryFolder(t);
    const file = join(folder, 'sites.json');
    const common = { config: writeConfig(folder, config), baseUrl: 'https://cms.example.org' };
    writeFileSync(file, JSON.stringify([{ id: 'acme', apiKeys: [apiKey], ...common }]));
    const data = join(folder, 'data');
    const service = launch(t, ['serve', '--port', '0', '--data', data], {
      ANNALS_SITES: file,
      ANNALS_THREADS: '2',
      ANNALS_DRAIN_SECONDS: String(seconds),
    });
    await drained(service, join(data, 'acme'), { 'x-site-id': 'acme' });
  });

  it('stops at once at SIGINT, also while it drains, and annals health says that it stops', async (t) => {
    for (const signals of [['SIGINT'], ['SIGTERM', 'SIGINT']] as const) {
      const { service, data } = start(t, '0', ['--drain-seconds=3600']);
      await service.listening;
      for (const signal of signals) {
        service.child.kill(signal);
        if (signal === 'SIGINT') continue;
        const { stderr } = await until(async () => {
          const health = await runHere(['health', '--data', data]);
          return health.code === 1 ? health : null;
        });
        assert.match(stderr, /^not ready at \S+: stopping$/m);
      }
      assert.equal(await service.exited, 0);
    }
  });

  it('refuses a wrong time', async () => {
    const { code, stderr } = await runHere(['serve', '--drain-seconds', '5s'], {
      environment: { ANNALS_DRAIN_SECONDS: '3601' },
    });
    assert.equal(code, 2);
    assert.match(stderr, /^--drain-seconds must be a whole number of seconds from 0 to 3600, got "5s"$/m);
    assert.match(
      (await runHere(['serve'], { environment: { ANNALS_DRAIN_SECONDS: '3601' } })).stderr,
      /^ANNALS_DRAIN_SECONDS must be .* got "3601"$/m,
    );
  });
});
