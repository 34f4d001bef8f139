import assert from 'node:assert/strict';
import { EventEmitter } from 'node:events';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { Request } from '@hapi/hapi';
import { beat, beatsOf, createPulse, notedIn, noteRequest, showPulse } from '../../../server/http/pulse.ts';
import { createLog } from '../../../server/platform/logging.ts';
import { startService } from '../../../server/running/service.ts';
import { watch } from '../../../server/running/threads/watch.ts';
import { loadConfiguration } from '../../../server/settings/configuration.ts';
import { defaultSettings } from '../../../server/settings/settings.ts';
import { apiKey, callerOf, temporaryFolder, writeConfig } from '../../helpers/service.ts';
import { eventually, recordedEvents, sendRaw } from '../../helpers/shared.ts';

const config = `
const never = () => { for (;;); };
export default { collections: [{
  slug: 'posts',
  access: { read: ({ doc }) => doc?.title === 'rule' ? never() : true, create: () => true },
  fields: [
    { name: 'title', type: 'text' },
    { name: 'slow', type: 'text', pattern: '(a+)+b' },
    { name: 'stuck', type: 'text', pattern: '(?:(a+)+b)\\\\1', allowBacktracking: true },
  ],
  hooks: {
    beforeChange: [async ({ data }) => {
      if (data.title === 'hook') await new Promise((resolve) => setTimeout(resolve, 50));
      if (data.title === 'hook') never();
      return data;
    }],
    afterChange: [({ data }) => data.title === 'recorded' ? never() : data],
  },
}] };`;
const patience = 2000;
const posts = '/api/collections/posts';

// biome-ignore lint/suspicious/noExplicitAny: a log line may hold anything
type Line = any;

/** A service of several threads, in this process. */
async function serve(t: TestContext, threads: number) {
  const folder = temporaryFolder(t);
  const loaded = await loadConfiguration(writeConfig(folder, config));
  const data = join(folder, 'data');
  const lines: Line[] = [];
  const write = (texts: string) => {
    for (const line of texts.trim().split('\n')) lines.push(JSON.parse(line));
  };
  const sink = { write, flushSync() {} };
  const settings = { ...defaultSettings, data, port: 0, threads, apiKeys: [apiKey] };
  const service = startService({ settings, loaded, sink, log: createLog('info', sink), patience });
  t.after(() => service.stop());
  const { reachable: url } = await service.ready;
  service.setState('ready');
  const replaced = () => lines.filter(({ msg }) => /another one takes its place/.test(msg));
  return { url, data, call: callerOf(url), replaced };
}

type Served = Awaited<ReturnType<typeof serve>>;

/** Sends what a thread never comes back from; it is not answered. */
async function stick({ url }: Served, method: string, path: string, body: object | null): Promise<void> {
  const text = body === null ? '' : JSON.stringify(body);
  const head = `${method} ${path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-type: application/json\r\n`;
  const answer = await sendRaw(url, `${head}content-length: ${text.length}\r\n\r\n${text}`).catch(() => null);
  assert.equal(answer?.text ?? '', '');
}

/** Whichever thread the connection comes to: that which is stuck does not answer. */
async function untilAnswered({ url }: Served): Promise<void> {
  const ask = () => sendRaw(url, 'GET /health HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n').catch(() => null);
  const answer = await Promise.race(Array.from({ length: 20 }, async () => (await ask()) ?? (await wait(5000, null))));
  assert.equal(answer?.status, 200);
}

describe('A thread that is stuck', () => {
  it('is replaced while another one answers, and the log says at which request it was', async (t) => {
    const served = await serve(t, 2);
    const { replaced, call } = served;
    const sticking = stick(served, 'POST', posts, { title: 'hook' });
    await wait(300);
    await untilAnswered(served);
    await sticking;
    const [{ level, requestId, method, path, msg }] = await eventually(() => replaced().length > 0 && replaced());
    assert.deepEqual([level, method, path], [50, 'POST', posts]);
    assert.match(requestId, /^[0-9a-f-]{36}$/);
    assert.equal(msg, 'a thread that answers requests was held up by one of them for 2 s; another one takes its place');
    const { status, body } = await call('POST', posts, { title: 'fine', slow: 'aaab' });
    assert.deepEqual([status, (await call('GET', `${posts}/${body.id}`)).body.slow], [201, 'aaab']);
    assert.equal(replaced().length, 1);
  });

  it('is replaced if it is the only one, and what it had sent to be recorded is', async (t) => {
    const served = await serve(t, 1);
    const { replaced, call, data } = served;
    await stick(served, 'POST', posts, { title: 'recorded' });
    const [line] = await eventually(() => replaced().length === 1 && replaced());
    assert.deepEqual([line.method, line.path], ['POST', posts]);
    const listed = await eventuallyAnswered(() => call('GET', posts));
    assert.deepEqual(
      listed.body.docs.map(({ title }: { title: string }) => title),
      ['recorded'],
    );
    assert.equal(recordedEvents(data, `posts/${listed.body.docs[0].id}`).length, 1);
    await stick(served, 'POST', posts, { stuck: 'a'.repeat(40) });
    await eventually(() => replaced().length === 2);
    const { body } = await eventuallyAnswered(() => call('POST', posts, { title: 'rule' }));
    await stick(served, 'GET', `${posts}/${body.id}`, null);
    await eventually(() => replaced()[2]?.path === `${posts}/${body.id}`);
  });

  it('is not one that has much to do: a pattern for which others take for ever', async (t) => {
    const { call, replaced } = await serve(t, 1);
    const slow = 'a'.repeat(500_000);
    const answers = await Promise.all(Array.from({ length: 8 }, () => call('POST', posts, { slow }, { key: null })));
    assert.deepEqual(new Set(answers.map(({ status }) => status)), new Set([400]));
    assert.deepEqual(replaced(), []);
  });
});

/** A thread that is looked at every 20 ms: whether it waits and whether it answers can be set. */
function watched(t: TestContext) {
  const pulse = createPulse();
  const thread = { pulse, idle: () => 0, ask: () => {} };
  const told: object[] = [];
  t.after(
    watch(
      () => [thread],
      200,
      (one) => told.push(one),
    ),
  );
  return { thread, told, beat: () => Atomics.add(new Int32Array(pulse), 0, 1) };
}

describe('The watch', () => {
  it('tells once of a thread that does not go on, and not before this one had looked often enough', async (t) => {
    const { thread, told } = watched(t);
    await wait(60);
    // As if the process had been stopped for a while.
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1000);
    await wait(1);
    assert.deepEqual(told, []);
    await eventually(() => told.length > 0);
    await wait(300);
    assert.deepEqual(told, [thread]);
  });

  it('neither tells of a thread that waits for something to do, nor wakes it', async (t) => {
    const { thread, told } = watched(t);
    let asked = 0;
    let idle = 0;
    Object.assign(thread, { idle: () => (idle += 1), ask: () => (asked += 1) });
    await eventually(() => idle > 30);
    assert.deepEqual([told, asked], [[], 0]);
  });

  it('asks one that never waits, and does not tell of it if it answers', async (t) => {
    const { thread, told, beat } = watched(t);
    let asked = 0;
    const ask = () => {
      asked += 1;
      beat();
    };
    Object.assign(thread, { ask });
    await eventually(() => asked > 15);
    assert.deepEqual(told, []);
    Object.assign(thread, { ask: () => {} });
    await eventually(() => told.length === 1);
  });
});

describe('A pulse', () => {
  it('beats when a request begins and when it ends, though no timer runs', () => {
    const pulse = createPulse();
    showPulse(pulse);
    const res = new EventEmitter();
    noteRequest({ app: {}, method: 'get', path: '/', server: { app: {} }, raw: { res } } as unknown as Request);
    assert.equal(beatsOf(pulse), 1);
    res.emit('close');
    assert.equal(beatsOf(pulse), 2);
    beat();
    assert.equal(beatsOf(pulse), 3);
  });

  it('tells the request that came last of those in hand, and keeps none of those that are over', async () => {
    setFlagsFromString('--expose-gc');
    const collect = runInNewContext('gc') as () => void;
    const pulse = createPulse();
    showPulse(pulse);
    const come = (path: string) => {
      const res = new EventEmitter();
      const request = { app: {}, method: 'get', path, server: { app: {} }, raw: { res } } as unknown as Request;
      noteRequest(request);
      return { end: () => res.emit('close'), note: new WeakRef(request.app.noted as object) };
    };
    const first = come('/first');
    const notes: WeakRef<object>[] = [];
    // Each block begins before the one before is over.
    let last = first;
    for (let count = 0; count < 500; count += 1) {
      const next = come(`/${count}`);
      if (last !== first) last.end();
      notes.push(next.note);
      last = next;
    }
    await wait(1);
    collect();
    const kept = notes.filter((note) => note.deref()).length;
    assert.ok(kept < 100, `${kept} are kept`);
    assert.deepEqual([notedIn(pulse)?.path, notedIn(pulse)?.others], ['/499', 1]);
    last.end();
    assert.deepEqual([notedIn(pulse)?.path, notedIn(pulse)?.others], ['/first', 0]);
    first.end();
    assert.equal(notedIn(pulse), null);
  });
});

async function eventuallyAnswered<T>(ask: () => Promise<T>): Promise<T> {
  for (let tries = 0; ; tries += 1) {
    try {
      return await ask();
    } catch (error) {
      if (tries === 200) throw error;
      await wait(20);
    }
  }
}
