import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { connect, type NetConnectOpts, type Socket } from 'node:net';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { describe, it, type TestContext } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import Hapi from '@hapi/hapi';
import type { Logger } from 'pino';
import { type BacklogBounds, createBacklog } from '../../server/http/backlog.ts';
import { answerErrors } from '../../server/http/errors.ts';
import { createListener, guardListener } from '../../server/http/listener.ts';
import { temporaryFolder } from '../helpers/service.ts';
import { eventually } from '../helpers/shared.ts';

/** More than the system takes of an unread answer. */
const large = 12 * 1024 * 1024;
const text = 'x'.repeat(large);
const address = '192.0.2.1';
const never = 1_000_000;

type Served = {
  to: NetConnectOpts;
  clients: Socket[];
  connections: () => Promise<Socket>;
  cuts: () => number;
  latest: () => unknown;
};

/**
 * A listener that answers large texts, and a stream. A header gives the address of the caller, except over a Unix
 * socket.
 */
async function serve(
  t: TestContext,
  bounds: Partial<BacklogBounds>,
  stream: () => Readable = () => new Readable(),
  path?: string,
): Promise<Served> {
  const clients: Socket[] = [];
  let cuts = 0;
  let latest = new WeakRef<object>({});
  const listener = createListener();
  const server = Hapi.server({ listener, autoListen: false, debug: false });
  const warn = ({ count }: { count: number }) => {
    cuts += count;
  };
  const backlog = createBacklog({ warn } as unknown as Logger, {
    pace: { bytes: 64 * 1024, milliseconds: never },
    total: never * large,
    perAddress: never * large,
    lookMilliseconds: never,
    ...bounds,
  });
  server.ext('onRequest', (request, h) => {
    if (path === undefined) request.app.ip = String(request.headers['x-address'] ?? address);
    latest = new WeakRef(request.raw.res);
    return h.continue;
  });
  const errors = answerErrors(() => {}, { backlog, addTo: () => {} });
  server.ext('onPreResponse', errors);
  server.route([
    { method: ['GET', 'POST'], path: '/large', handler: (_request, h) => h.response(text).type('text/plain') },
    { method: 'GET', path: '/small', handler: () => 'small' },
    { method: 'GET', path: '/mebibyte', handler: () => text.slice(0, 1024 * 1024) },
    { method: 'GET', path: '/picture', handler: (_request, h) => h.response(stream()).type('image/png') },
    { method: 'GET', path: '/stream', handler: (_request, h) => h.response(stream()).type('text/plain') },
  ]);
  guardListener(listener, () => false);
  await server.start();
  await once(path === undefined ? listener.listen(0, '127.0.0.1') : listener.listen(path), 'listening');
  t.after(async () => {
    for (const client of clients) client.destroy();
    listener.closeAllConnections();
    await server.stop();
  });
  const to = path === undefined ? { host: '127.0.0.1', ...(listener.address() as { port: number }) } : { path };
  const connections = async () => (await once(listener, 'connection'))[0];
  return { to, clients, connections, cuts: () => cuts, latest: () => latest.deref() };
}

/** Asks, and reads nothing of the answer, which has begun; both ends of the connection. */
async function ask(
  { to, clients, connections }: Served,
  path: string,
  { method = 'GET', from = address, times = 1, encoding = 'identity' } = {},
) {
  const connected = connections();
  const client = connect(to).pause();
  clients.push(client);
  const end = await connected;
  client
    .on('error', () => {})
    .write(
      `${method} ${path} HTTP/1.1\r\nhost: x\r\nx-address: ${from}\r\naccept-encoding: ${encoding}\r\n\r\n`.repeat(
        times,
      ),
    );
  await eventually(() => end.bytesWritten > 0);
  return { client, end };
}

/** Reads with a rest after every `pace.bytes`. Returns the number of bytes received, at `length` or at the end. */
async function read(client: Socket, length: number, pace = { bytes: Number.POSITIVE_INFINITY, rest: 0 }) {
  const { promise, resolve } = Promise.withResolvers<void>();
  let received = 0;
  let taken = 0;
  client.on('close', resolve).on('data', (chunk) => {
    received += chunk.length;
    taken += chunk.length;
    if (received >= length) resolve();
    if (taken < pace.bytes) return;
    taken = 0;
    client.pause();
    setTimeout(() => client.resume(), pace.rest);
  });
  client.resume();
  await promise;
  return received;
}

async function statusOf({ to }: Served, path: string, from = address, method = 'GET'): Promise<number> {
  const headers = { 'x-address': from, connection: 'close' };
  const answer = await fetch(`http://127.0.0.1:${(to as { port: number }).port}${path}`, { method, headers });
  const body = await answer.text();
  if (answer.status === 503) {
    assert.equal(answer.headers.get('retry-after'), '5');
    assert.match(body, /"too many answers wait to be read; try again later"/);
  }
  return answer.status;
}

describe('An answer', () => {
  const paced = { pace: { bytes: 64 * 1024, milliseconds: 1000 }, lookMilliseconds: 50 };

  it('that is not read is cut off; one read at the pace is sent whole, however long it takes', async (t) => {
    const served = await serve(t, paced);
    const unread = await ask(served, '/large');
    const trickled = await ask(served, '/large');
    const kept = await ask(served, '/large');
    read(trickled.client, large, { bytes: 1, rest: 2000 });
    const received = await read(kept.client, large, { bytes: 512 * 1024, rest: 100 });
    assert.ok(received >= large, `only ${received} bytes came`);
    await eventually(() => unread.end.destroyed && trickled.end.destroyed);
    assert.equal(served.cuts(), 2);
  });

  it('leaves the connection to the next request, which may take its time', async (t) => {
    const served = await serve(t, paced);
    const { client, end } = await ask(served, '/large');
    await read(client, large);
    await wait(1.5 * paced.pace.milliseconds);
    client.write('GET /small HTTP/1.1\r\nhost: x\r\n\r\n');
    const [chunk] = await once(client, 'data');
    assert.match(String(chunk), /^HTTP\/1\.1 200 .*small$/s);
    assert.deepEqual([end.destroyed, served.cuts()], [false, 0]);
  });

  it('is held by nothing once it was sent, though its connection is there', async (t) => {
    setFlagsFromString('--expose-gc');
    const collect = runInNewContext('gc') as () => void;
    const served = await serve(t, {});
    const { client, end } = await ask(served, '/large');
    await read(client, large);
    for (let tries = 0; served.latest() && tries < 50; tries += 1) {
      await wait(10);
      collect();
    }
    assert.deepEqual([served.latest(), end.destroyed], [undefined, false]);
  });

  it('that is a stream is cut off if it is not read, unless there is nothing to read', async (t) => {
    const idle = new Readable({ read() {} });
    idle.push('first');
    const endless = new Readable({
      read() {
        this.push(Buffer.alloc(64 * 1024));
      },
    });
    const streams = [idle, endless];
    const served = await serve(t, paced, () => streams.shift() as Readable);
    const { end: listening } = await ask(served, '/stream');
    const { end: unread } = await ask(served, '/stream');
    await eventually(() => unread.destroyed && endless.destroyed);
    assert.deepEqual([listening.destroyed, served.cuts()], [false, 1]);
  });
});

describe('Answers that wait', () => {
  it('for one address are bounded: one large more is a 503, for that address alone', async (t) => {
    const served = await serve(t, { perAddress: 2.5 * large });
    await ask(served, '/large');
    await ask(served, '/large');
    const asked = [
      statusOf(served, '/large'),
      statusOf(served, '/small'),
      statusOf(served, '/large', address, 'POST'),
      statusOf(served, '/large', '192.0.2.2'),
    ];
    assert.deepEqual(await Promise.all(asked), [503, 200, 200, 200]);
  });

  it('for one network of IPv6 count as for one address', async (t) => {
    const served = await serve(t, { perAddress: 2.5 * large });
    await ask(served, '/large', { from: '2001:db8::1' });
    await ask(served, '/large', { from: '2001:db8::2' });
    const asked = ['2001:db8::3', '2001:db8:0:1::3'].map((from) => statusOf(served, '/large', from));
    assert.deepEqual(await Promise.all(asked), [503, 200]);
  });

  it('over a Unix socket, where clients have no address, count as for one address', async (t) => {
    const folder = temporaryFolder(t);
    const full = await serve(t, { perAddress: 2.5 * large }, undefined, join(folder, 'full'));
    const heads = [];
    for (let count = 0; count < 3; count += 1) {
      const { client } = await ask(full, '/large');
      heads.push(String(client.read(12) ?? (await once(client, 'readable').then(() => client.read(12)))));
    }
    assert.deepEqual(heads, ['HTTP/1.1 200', 'HTTP/1.1 200', 'HTTP/1.1 503']);
    const bounds = { perAddress: 2.5 * large, lookMilliseconds: 50 };
    const looking = await serve(t, bounds, undefined, join(folder, 'looking'));
    const both = [await ask(looking, '/large'), await ask(looking, '/large')];
    await eventually(() => both.some(({ end }) => end.destroyed));
    assert.equal(looking.cuts(), 1);
  });

  it('may be one of any size', async (t) => {
    const served = await serve(t, { perAddress: large / 2 });
    assert.equal(await statusOf(served, '/large'), 200);
  });

  it('for all addresses are bounded too, and those that are read slowly make room', async (t) => {
    const served = await serve(t, { total: 3.5 * large, perAddress: 3 * large, lookMilliseconds: 1500 });
    const slow = [];
    for (const last of [1, 2, 3]) slow.push(await ask(served, '/large', { from: `198.51.100.${last}` }));
    assert.equal(await statusOf(served, '/large'), 503);
    // Both are cut off at one look, or one after the other if they were asked for at some distance.
    await eventually(() => served.cuts() >= 2);
    assert.equal(slow.filter(({ end }) => end.destroyed).length, 2);
    assert.equal(await statusOf(served, '/large'), 200);
  });

  it('in a row on one connection count each', async (t) => {
    const served = await serve(t, { perAddress: 2.5 * large });
    const { client } = await ask(served, '/mebibyte', { times: 100 });
    let received = '';
    client.setEncoding('latin1').on('data', (chunk) => {
      received += chunk;
    });
    client.resume();
    const count = (status: number) => received.split(`HTTP/1.1 ${status} `).length - 1;
    await eventually(() => count(200) + count(503) === 100);
    assert.ok(count(200) >= 30 && count(503) > 0, `${count(200)} were sent`);
  });

  it('of a type that is compressed count more than pictures, which are not', async (t) => {
    for (const [path, status] of [
      ['/picture', 200],
      ['/stream', 503],
    ] as const) {
      const noise = () => {
        const stream = new Readable({ read() {} });
        stream.push(randomBytes(100_000));
        return stream;
      };
      const served = await serve(t, { perAddress: 1.75 * 1024 * 1024 }, noise);
      for (let count = 0; count < 3; count += 1) await ask(served, path, { encoding: 'gzip' });
      assert.equal(await statusOf(served, '/mebibyte'), status, path);
    }
  });

  it('are none of HEAD, which has no body', async (t) => {
    const served = await serve(t, { perAddress: 2.5 * large });
    for (let count = 0; count < 5; count += 1) await ask(served, '/large', { method: 'HEAD' });
    assert.equal(await statusOf(served, '/large'), 200);
  });
});
