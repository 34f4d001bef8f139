import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { openSlotCounts } from '../../server/callers/answer-slots.ts';
import { apiKey, type CallOptions, temporaryFolder } from '../helpers/service.ts';
import { dial, errorsOf, eventually, fieldsOf, recordedEvents, useService } from '../helpers/shared.ts';

const service = useService(
  `import { existsSync } from 'node:fs';
  export default {
    collections: [
      { slug: 'posts', fields: [{ name: 'title', type: 'text' }, { name: 'body', type: 'textarea' }] },
      { slug: 'users', auth: true, fields: [] },
    ],
    bcryptCost: 4,
    trustProxy: true,
    audit: async ({ user, apiKey, req }) => {
      if (req.headers['x-until'] !== undefined) {
        process.stdout.write('rights are looked at\\n');
        while (!existsSync(req.headers['x-until'])) await new Promise((resolve) => setTimeout(resolve, 10));
        process.stdout.write('rights are known\\n');
      }
      if (req.headers['x-scopes'] !== undefined) return req.headers['x-scopes'].split(',');
      return apiKey !== null || user !== null;
    },
  }`,
  { ANNALS_THREADS: '2' },
);

const path = '/api/audit/feed';
const posts = '/api/collections/posts';

type Message = { id: number; event: string; data: { header: { position: number; stream: string; type: string } } };

const open = new Set<AbortController>();
after(() => {
  for (const controller of open) controller.abort();
});

/** Listens as an EventSource does; `messages` ends when the service ends the stream, and throws when it is cut off. */
async function listen(query = '', headers: Record<string, string> = {}, key: string | null = apiKey) {
  const controller = new AbortController();
  open.add(controller);
  const response = await fetch(`${service.url}${path}${query}`, {
    headers: { accept: 'text/event-stream', ...(key === null ? {} : { 'x-api-key': key }), ...headers },
    signal: controller.signal,
  });
  async function* messages(): AsyncGenerator<Message> {
    let text = '';
    for await (const chunk of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
      text += chunk;
      const blocks = text.split('\n\n');
      text = blocks.pop() ?? '';
      for (const block of blocks) {
        const fields = Object.fromEntries(
          block.split('\n').map((line) => [line.replace(/:.*/s, ''), line.replace(/^[^:]*: ?/, '')]),
        );
        if (fields.data === undefined) continue;
        yield { id: Number(fields.id), event: fields.event ?? '', data: JSON.parse(fields.data) };
      }
    }
  }
  return { response, messages: messages(), cut: () => controller.abort() };
}

async function take(messages: AsyncGenerator<Message>, count: number): Promise<Message[]> {
  const taken: Message[] = [];
  while (taken.length < count) {
    const { value, done } = await messages.next();
    if (done) break;
    taken.push(value);
  }
  return taken;
}

async function ended(messages: AsyncGenerator<Message>): Promise<void> {
  for await (const _ of messages);
}

async function write(count: number, body = ''): Promise<void> {
  for (let n = 0; n < count; n += 1)
    assert.equal((await service.call('POST', posts, { title: `n${n}`, body })).status, 201);
}

const get = (query: string, options?: CallOptions) => service.call('GET', path + query, undefined, options);

/** Streams of callers without a credential, up to five of each address. */
const listenFrom = (address: number) =>
  listen('?type=log.exported', { 'x-scopes': 'headers', 'x-forwarded-for': `10.0.0.${address}` }, null);

describe('The change feed', () => {
  it('comes in pages, whose cursor is always the next one', async () => {
    await write(5);
    const headers = recordedEvents(service.data);
    const found: object[] = [];
    for (let cursor = 0; cursor < headers.length; ) {
      const { status, body } = await get(`?next=${cursor}&limit=2`);
      assert.deepEqual([status, body.size, body.next], [200, headers.length, Math.min(cursor + 2, headers.length)]);
      found.push(...body.docs.map(({ header }: { header: object }) => header));
      cursor = body.next;
    }
    assert.deepEqual(found, headers);
    const end = await get(`?next=${headers.length}`);
    assert.deepEqual(end.body, { docs: [], next: headers.length, size: headers.length });
    const filtered = await get('?type=schema.changed');
    assert.deepEqual([filtered.body.docs.length, filtered.body.next], [1, headers.length]);
  });

  it('refuses what it does not know, and a cursor from behind the end', async () => {
    assert.deepEqual(fieldsOf(await get('?next=-1&limit=0&type=x&stream=y')).sort(), [
      'limit',
      'next',
      'stream',
      'type',
    ]);
    const stream = { headers: { accept: 'text/event-stream' } };
    for (const as of [{}, stream]) assert.equal((await get('?after=1', as)).body.message, 'after is called next');
    assert.deepEqual(fieldsOf(await get('?limit=3', stream)), ['limit']);
    assert.deepEqual(Object.keys(errorsOf(await get('?next=99999', stream))), ['next']);
    for (const id of ['x', '99999', '-1']) {
      const answer = await get('', { headers: { ...stream.headers, 'last-event-id': id } });
      assert.deepEqual(fieldsOf(answer), ['Last-Event-ID'], id);
    }
    for (const accept of ['text/event-stream', 'application/json']) {
      assert.equal((await get('?odd=1', { key: null, headers: { accept } })).status, 401);
      assert.equal((await get('?odd=1', { headers: { accept, 'x-scopes': 'export' } })).status, 403);
    }
  });

  it('is a stream of server-sent events, uncompressed, from the first event on and as they come', async () => {
    const size = recordedEvents(service.data).length;
    const { response, messages, cut } = await listen('', { 'accept-encoding': 'gzip' });
    assert.equal(response.status, 200);
    assert.match(response.headers.get('content-type') ?? '', /^text\/event-stream/);
    assert.deepEqual(
      [response.headers.get('content-encoding'), response.headers.get('cache-control')],
      [null, 'no-store'],
    );
    const past = await take(messages, size);
    await write(2);
    const all = [...past, ...(await take(messages, 2))];
    const headers = recordedEvents(service.data);
    assert.deepEqual(
      all.map(({ id, event, data }) => [id, event, data.header]),
      headers.map((header) => [header.position, header.type, header]),
    );
    cut();
  });

  it('goes on after Last-Event-ID, which wins over after, and gives only what is asked for', async () => {
    const { size } = (await get('')).body;
    const { messages, cut } = await listen('?next=1', { 'last-event-id': String(size) });
    await write(1);
    assert.deepEqual(
      (await take(messages, 1)).map(({ id }) => id),
      [size + 1],
    );
    cut();
    const filtered = await listen('?collection=posts&type=document.deleted');
    const { body } = await service.call('POST', posts, {});
    await service.call('DELETE', `${posts}/${body.id}`);
    const [deleted] = await take(filtered.messages, 1);
    assert.deepEqual([deleted?.event, deleted?.data.header.stream], ['document.deleted', `posts/${body.id}`]);
    filtered.cut();
  });

  it('misses nothing and repeats nothing for a client that is cut off again and again while others write', async () => {
    const from = (await get('')).body.size as number;
    const count = 72;
    const writing = Promise.all([write(count / 3), write(count / 3, 'x'.repeat(20_000)), write(count / 3)]);
    const ids: number[] = [];
    let connections = 0;
    while (ids.length < count) {
      const last = ids.at(-1) ?? from;
      const { messages, cut } = await listen('', { 'last-event-id': String(last) });
      connections += 1;
      for (const { id } of await take(messages, Math.min(1 + (connections % 4), count - ids.length))) ids.push(id);
      cut();
    }
    await writing;
    assert.ok(connections > 20);
    assert.deepEqual(
      ids,
      Array.from({ length: count }, (_, index) => from + index + 1),
    );
  });

  it('keeps its place for a client that does not read for a while', async () => {
    const from = (await get('')).body.size as number;
    const socket = dial(
      service.url,
      `GET ${path}?next=${from} HTTP/1.1\r\nhost: x\r\naccept: text/event-stream\r\nx-api-key: ${apiKey}\r\n\r\n`,
    ).pause();
    await write(8, 'y'.repeat(900_000));
    let received = '';
    socket.setEncoding('utf8').on('data', (text) => {
      // Without the bodies, which would be looked through again and again.
      received = (received + text).replaceAll(/y+/g, '');
    });
    socket.resume();
    const found = await eventually(() => {
      const ids = [...received.matchAll(/^id: (\d+)\nevent/gm)].map(([, id]) => Number(id));
      return ids.length >= 8 && ids;
    });
    assert.deepEqual(
      found,
      Array.from({ length: 8 }, (_, index) => from + index + 1),
    );
    socket.destroy();
  });

  it('withholds payloads from a caller who may see headers only, and ends when the session does', async () => {
    const [, setupToken = ''] = /setup\?token=([\w-]+)/.exec(service.output().stdout) ?? [];
    const first = { setupToken, email: 'ada@example.com', password: 'a long password' };
    const { token } = (await service.call('POST', '/api/collections/users/first-user', first, { key: null })).body;
    const authorization = `Bearer ${token}`;
    const bare = await listen('', { 'x-scopes': 'headers' });
    const [event] = await take(bare.messages, 1);
    assert.deepEqual(event?.data, { header: event?.data.header, data: null, context: null, withheld: true });
    bare.cut();
    const { messages } = await listen('?type=session.revoked', { authorization }, null);
    const mine = ended(messages);
    const logout = await service.call('POST', '/api/collections/users/logout', undefined, {
      key: null,
      headers: { authorization },
    });
    assert.equal(logout.status, 200);
    await mine;
    assert.equal((await get('', { key: null, headers: { authorization } })).status, 401);
  });

  it('has five streams of each caller, in all threads together, and a place again for each that ends', async () => {
    // The user of the test before.
    const [email, password] = ['ada@example.com', 'a long password'];
    const login = () => service.call('POST', '/api/collections/users/login', { email, password }, { key: null });
    const { body } = await service.call('POST', '/api/keys', { name: 'two', scopes: {}, audit: ['headers'] });
    const bearer = async () => ({ authorization: `Bearer ${(await login()).body.token}` });
    // An account with one session and another is one caller.
    const sessions = [await bearer(), await bearer()];
    const ways: [string, (index: number) => ReturnType<typeof listen>][] = [
      ['a key', () => listen('?type=log.exported')],
      ['a key that was made', () => listen('?type=log.exported', {}, body.key)],
      ['an account', (index) => listen('?type=log.exported', sessions[index % 2], null)],
      ['an address', () => listenFrom(1)],
    ];
    for (const [who, open] of ways) {
      const all = await Promise.all(Array.from({ length: 12 }, (_, index) => open(index)));
      const [first, ...more] = all.filter(({ response }) => response.status === 200);
      assert.equal(more.length, 4, who);
      const refused = all.filter(({ response }) => response.status === 429);
      assert.equal(refused.length, 7, who);
      for (const { response } of refused) {
        assert.equal(response.headers.get('retry-after'), '10');
        assert.match(
          await response.text(),
          /"a caller has at most 5 streams of events; end one of them, or read pages instead"/,
        );
      }
      first?.cut();
      for (let status = 429; status !== 200; ) {
        const next = await open(0);
        more.push(next);
        ({ status } = next.response);
      }
      assert.equal((await open(1)).response.status, 429, who);
      for (const { cut } of more) cut();
    }
    // In pages one goes on.
    assert.equal((await get('')).status, 200);
  });

  it('has a bounded number of streams', async () => {
    // A hundred in each of two threads.
    const all = await Promise.all(Array.from({ length: 210 }, (_, index) => listenFrom(Math.floor(index / 5))));
    const refused = all.filter(({ response }) => response.status === 503);
    assert.ok(refused.length >= 10, `${refused.length} were refused`);
    for (const { response } of refused) assert.equal(response.headers.get('retry-after'), '10');
    for (const { cut } of all) cut();
    // Streams that have ended make room.
    let status = 503;
    while (status !== 200) {
      const again = await listenFrom(1);
      ({ status } = again.response);
      again.cut();
    }
    assert.equal(status, 200);
  });

  it('keeps no place for those who leave while their rights are looked at', async (t) => {
    const known = join(temporaryFolder(t), 'known');
    const head = `GET ${path} HTTP/1.1\r\nhost: x\r\naccept: text/event-stream\r\nx-api-key: ${apiKey}\r\nx-until: ${known}\r\n\r\n`;
    const said = (line: string) => service.output().stdout.split(line).length - 1;
    const count = 250;
    const leaving = Array.from({ length: count }, () => dial(service.url, head));
    await eventually(() => said('rights are looked at') === count);
    for (const socket of leaving) socket.destroy();
    writeFileSync(known, '');
    await eventually(() => said('rights are known') === count);
    // A place that is kept is never free again.
    let statuses = [429];
    while (statuses.some((status) => status !== 200)) {
      const all = await Promise.all(Array.from({ length: 5 }, () => listen()));
      for (const { cut } of all) cut();
      statuses = all.map(({ response }) => response.status);
    }
    assert.deepEqual([...new Set(statuses)], [200]);
  });

  it('ends for all who listen when the service does', async () => {
    const { size } = (await get('')).body;
    const listening = await Promise.all(Array.from({ length: 4 }, () => listen(`?next=${size}`)));
    const endings = listening.map(({ messages }) => ended(messages));
    // This stream has more to read than its client takes.
    const stalled = dial(
      service.url,
      `GET ${path}?next=0 HTTP/1.1\r\nhost: x\r\naccept: text/event-stream\r\nx-api-key: ${apiKey}\r\n\r\n`,
    ).pause();
    assert.equal(await service.stop(), 0);
    // Not cut off, as they are who are still there when the time for stopping is over.
    await Promise.all(endings);
    stalled.destroy();
  });
});

describe('The places of streams', () => {
  it('are counted for all threads, freed once, and freed with the thread that took them', async () => {
    const counts = openSlotCounts({ stream: 2, archive: 1 });
    const [one, other] = [counts.join(), counts.join()];
    assert.deepEqual(
      [await one.take('stream', 'a'), await other.take('stream', 'a'), await one.take('stream', 'a')],
      [true, true, false],
    );
    assert.equal(await one.take('stream', 'b'), true);
    await one.free('stream', 'a');
    await one.free('stream', 'a');
    assert.deepEqual([await other.take('stream', 'a'), await other.take('stream', 'a')], [true, false]);
    other.release();
    other.release();
    assert.deepEqual(
      [await one.take('stream', 'a'), await one.take('stream', 'a'), await one.take('stream', 'a')],
      [true, true, false],
    );
    assert.deepEqual([await one.take('stream', 'b'), await one.take('stream', 'b')], [true, false]);
    assert.deepEqual([await one.take('archive', 'a'), await one.take('archive', 'a')], [true, false]);
  });
});
