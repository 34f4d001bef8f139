import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer as createHttpServer } from 'node:http';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { describe, it, type TestContext } from 'node:test';
import { openRoundRobin, openTcpProxy } from './proxies.ts';
import { eventually, received } from './shared.ts';

/** A server that echoes the bytes it gets, behind a proxy, and a connection to the proxy. */
async function echoBehindProxy(t: TestContext) {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => {}).pipe(socket);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const proxy = await openTcpProxy({ host: '127.0.0.1', port: (server.address() as AddressInfo).port });
  t.after(async () => {
    await proxy.close();
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const dialed = async () => {
    const socket = connect(proxy.port, proxy.host).on('error', () => {});
    const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()));
    await Promise.race([closed, new Promise((resolve) => socket.once('connect', resolve))]);
    return { socket, text: received(socket), closed };
  };
  return { proxy, dialed, atServer: () => [...sockets].map((socket) => socket.bytesRead) };
}

describe('A proxy that breaks a network', () => {
  it('passes, holds and passes again, byte for byte', async (t) => {
    const { proxy, dialed, atServer } = await echoBehindProxy(t);
    const { socket, text } = await dialed();
    socket.write('one ');
    await eventually(() => text() === 'one ');
    proxy.hold('down');
    socket.write('two ');
    await eventually(() => atServer()[0] === 8);
    const other = await dialed();
    other.socket.write('new');
    await eventually(() => atServer()[1] === 3);
    assert.deepEqual([text(), other.text()], ['one ', '']);
    // Held bytes keep their order.
    socket.write('three');
    proxy.pass();
    await eventually(() => text() === 'one two three' && other.text() === 'new');
  });

  it('loses bytes of one way, keeps the connection, and ends it when it passes again', async (t) => {
    const { proxy, dialed, atServer } = await echoBehindProxy(t);
    const { socket, text, closed } = await dialed();
    socket.write('one ');
    await eventually(() => text() === 'one ');
    proxy.drop('down');
    socket.write('two ');
    await eventually(() => atServer()[0] === 8);
    assert.equal(text(), 'one ');
    assert.equal(socket.destroyed, false);
    proxy.pass();
    await closed;
    assert.equal(text(), 'one ');
  });

  it('cuts, refuses, and is late', async (t) => {
    const { proxy, dialed } = await echoBehindProxy(t);
    const first = await dialed();
    proxy.cut();
    await first.closed;
    proxy.refuse();
    const second = await dialed();
    await second.closed;
    proxy.pass();
    proxy.delay(60);
    const third = await dialed();
    const since = performance.now();
    third.socket.write('late');
    await eventually(() => third.text() === 'late');
    // The delay counts there and back.
    assert.ok(performance.now() - since >= 115);
  });
});

describe('A round robin', () => {
  async function services(t: TestContext, count: number) {
    return Promise.all(
      Array.from({ length: count }, async (_, at) => {
        const server = createHttpServer((incoming, outgoing) => {
          let body = '';
          incoming.setEncoding('utf8').on('data', (text) => {
            body += text;
          });
          incoming.on('end', () => {
            if (body === 'break') incoming.socket.destroy();
            else outgoing.writeHead(201, { etag: `"${at}"` }).end(`${incoming.method} ${incoming.url} ${body}`);
          });
        });
        server.listen(0, '127.0.0.1');
        await once(server, 'listening');
        t.after(() => server.close());
        return { server, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
      }),
    );
  }

  it('gives each service its turn, leaves out one that is gone, and repeats nothing that was sent', async (t) => {
    const [one, other] = await services(t, 2);
    assert.ok(one && other);
    const balancer = await openRoundRobin([one.url, other.url]);
    t.after(balancer.close);
    const post = async (body: string) => {
      const answer = await fetch(`${balancer.url}/a?b=c`, { method: 'POST', body });
      return `${answer.status} ${answer.headers.get('etag')} ${await answer.text()}`;
    };
    assert.deepEqual(
      [await post('x'), await post('y'), await post('z')],
      ['201 "0" POST /a?b=c x', '201 "1" POST /a?b=c y', '201 "0" POST /a?b=c z'],
    );
    assert.equal(await post('break'), '502 null ');
    other.server.close();
    other.server.closeAllConnections();
    assert.deepEqual([await post('x'), await post('y')], ['201 "0" POST /a?b=c x', '201 "0" POST /a?b=c y']);
    assert.deepEqual(balancer.counts(), { [one.url]: 4, [other.url]: 1 });
    balancer.setTargets([]);
    assert.equal(await post('x'), '502 null ');
  });
});
