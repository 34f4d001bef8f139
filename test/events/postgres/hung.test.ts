import assert from 'node:assert/strict';
import { type AddressInfo, connect as connectTo, createServer, type Socket } from 'node:net';
import type { TestContext } from 'node:test';
import { it } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { SharedLogUnavailableError, UnknownShipmentError } from '../../../events/replica/shared-log.ts';
import { connect } from '../../../storage/postgres/connection.ts';
import { describeWithPostgres, useDatabase } from '../../helpers/postgres.ts';
import { command } from '../logs.ts';
import { openReplicaNode } from './replica-node.ts';

type Host = { host: string; port: number };

/** The first byte of messages that clients of PostgreSQL send. */
const parse = 'P'.charCodeAt(0);
const bind = 'B'.charCodeAt(0);

/**
 * A network that passes on whole messages of clients, up to the first for which `isLast` holds: from then on nothing
 * goes through, and all connections stay open, as if the process behind them had stopped.
 */
async function openCutter(t: TestContext, { host, port }: Host, isLast: (message: Buffer) => boolean) {
  let isCut = false;
  const sockets: Socket[] = [];
  const server = createServer((client) => {
    if (isCut) {
      client.destroy();
      return;
    }
    const onward = connectTo(port, host);
    sockets.push(client, onward);
    for (const socket of [client, onward]) socket.on('error', () => {});
    let came = Buffer.alloc(0);
    // The first message has no byte for its kind.
    let kind = 0;
    client.on('data', (chunk: Buffer) => {
      came = Buffer.concat([came, chunk]);
      for (; !isCut && came.length >= kind + 4; kind = 1) {
        const length = kind + came.readInt32BE(kind);
        if (came.length < length) return;
        const message = came.subarray(0, length);
        came = came.subarray(length);
        onward.write(message);
        isCut = kind === 1 && isLast(message);
      }
    });
    onward.on('data', (chunk) => {
      if (!isCut) client.write(chunk);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return { host: '127.0.0.1', port: (server.address() as AddressInfo).port, isCut: () => isCut };
}

const large = (stream: string) =>
  command(stream, 0, { events: [{ type: 'document.created', data: { text: 'x'.repeat(200_000) } }] });

describeWithPostgres('A node that stands still within a statement, while it has the log', () => {
  const database = useDatabase();

  const moments: [name: string, isLast: (message: Buffer) => boolean][] = [
    [
      'after it has sent the text of a statement',
      (message) => message[0] === parse && message.includes('INSERT INTO annals.payloads'),
    ],
    ['after it has sent the values', (message) => message[0] === bind && message.length > 200_000],
  ];
  for (const [moment, isLast] of moments) {
    it(`holds up the others for some seconds: ${moment}`, async (t) => {
      const { address } = await database();
      const [host] = address.hosts as [Host];
      const other = await openReplicaNode(t, address, { patience: 20_000 });
      await other.append(command('posts/0', 0));
      const way = await openCutter(t, host, isLast);
      const one = await openReplicaNode(t, { ...address, hosts: [way] });
      const lost = one.append(large('posts/1')).catch((error: unknown) => error);
      for (let left = 500; !way.isCut(); left -= 1) {
        assert.ok(left > 0);
        await pause(20);
      }
      const since = performance.now();
      assert.deepEqual(await other.append(command('posts/1', 0)), ['recorded']);
      assert.ok(performance.now() - since < 15_000);
      for (let left = 100; other.warnings.length === 0 && left > 0; left -= 1) await pause(20);
      assert.deepEqual(other.warnings, ['a session of a node was ended: it stood still while it held the log']);
      const told = await lost;
      assert.ok(told instanceof UnknownShipmentError || told instanceof SharedLogUnavailableError, String(told));
    });
  }

  it('is left alone if it was given longer', async (t) => {
    const { address } = await database();
    const one = await openReplicaNode(t, address);
    const other = await openReplicaNode(t, address, { patience: 3500 });
    await one.append(command('posts/0', 0));
    const [host] = address.hosts as [Host];
    const way = await openCutter(t, host, (message) => message[0] === bind && message.length > 200_000);
    const holder = await openReplicaNode(t, { ...address, hosts: [way] });
    const lost = holder.writer
      .appendWith(() => holder.log.prepare([large('posts/1')]), 7000, 7000)
      .catch((error: unknown) => error);
    for (let left = 500; !way.isCut(); left -= 1) {
      assert.ok(left > 0);
      await pause(20);
    }
    await assert.rejects(other.append(command('posts/1', 0)), SharedLogUnavailableError);
    assert.ok((await lost) instanceof Error);
  });
});

describeWithPostgres('A node that takes the log for longer and loses its network', () => {
  const database = useDatabase();

  it('gives it up when its time is over', async (t) => {
    const { address } = await database();
    const [host] = address.hosts as [Host];
    const way = await openCutter(
      t,
      host,
      (message) => message[0] === parse && message.includes("set_config('idle_in_transaction_session_timeout'"),
    );
    const node = await openReplicaNode(t, { ...address, hosts: [way] });
    const lost = node.writer.appendWith(() => node.log.prepare([command('posts/1', 0)]), 4000, 20_000);
    const late = pause(15_000, 'late', { ref: false });
    assert.ok((await Promise.race([lost.catch((error: unknown) => error), late])) instanceof SharedLogUnavailableError);
    assert.ok(way.isCut());
  });
});

describeWithPostgres('A session of a node', () => {
  const database = useDatabase();

  it('is ended by the server some seconds after its machine or the network has gone', async () => {
    const { address } = await database();
    const connection = await connect(address, 20_000, () => {});
    const [found] = await connection.run({
      text: `SELECT current_setting('tcp_keepalives_idle') AS idle, current_setting('tcp_keepalives_interval') AS pause,
             current_setting('tcp_keepalives_count') AS count, current_setting('tcp_user_timeout') AS unanswered`,
    });
    assert.deepEqual(found?.rows, [{ idle: '2', pause: '1', count: '3', unanswered: '5000' }]);
    await connection.close();
  });
});
