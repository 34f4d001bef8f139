import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { roundsOf } from '../helpers/rounds.ts';
import { startService, temporaryFolder } from '../helpers/service.ts';

describe('a service that is killed while it delivers', () => {
  it('loses no delivery, and keeps the order of each document', async (t) => {
    const came: { id: string; version: number; message: unknown }[] = [];
    const receiver = createServer(async (request, response) => {
      const { data } = JSON.parse((await request.toArray()).join(''));
      came.push({ id: data.id, version: data.version, message: request.headers['webhook-id'] });
      // Some services are killed between the answer and the note of it, some before the answer.
      await wait(Math.random() * 20);
      response.writeHead(204).end();
    }).listen(0, '127.0.0.1');
    await once(receiver, 'listening');
    t.after(() => {
      receiver.close();
      receiver.closeAllConnections();
    });
    const { port } = receiver.address() as AddressInfo;
    const config = {
      collections: [{ slug: 'posts', fields: [{ name: 'n', type: 'number' }] }],
      webhooks: [
        {
          name: 'front',
          url: `http://127.0.0.1:${port}/`,
          secret: `whsec_${Buffer.alloc(32, 7).toString('base64')}`,
          allowPrivate: true,
          where: { n: { greater_than_equal: 0 } },
        },
      ],
    };
    const data = join(temporaryFolder(t), 'data');
    const written = new Map<string, number>();
    for (let round = 0; round < roundsOf(4, 2); round += 1) {
      const service = await startService(t, config, { data, environment: { ANNALS_THREADS: '2' } });
      const ids = await Promise.all(
        Array.from(
          { length: 10 },
          async () => (await service.call('POST', '/api/collections/posts', { n: 0 })).body.id,
        ),
      );
      for (const id of ids) written.set(id, 1);
      for (let n = 1; n <= 3; n += 1) {
        await Promise.all(ids.map((id) => service.call('PATCH', `/api/collections/posts/${id}`, { n })));
        for (const id of ids) written.set(id, n + 1);
      }
      await wait(Math.random() * 300);
      await service.kill();
    }
    const last = await startService(t, config, { data, environment: { ANNALS_THREADS: '2' } });
    for (;;) {
      const { docs: webhooks } = (await last.call('GET', '/api/webhooks')).body;
      const { size } = (await last.call('GET', '/api/audit/feed?limit=1')).body;
      assert.deepEqual(webhooks[0].parked, 0);
      if (webhooks[0].position === size && webhooks[0].waiting === 0) break;
      await wait(50);
    }
    assert.equal(await last.stop(), 0);
    const told = Map.groupBy(came, ({ id }) => id);
    assert.deepEqual([...told.keys()].sort(), [...written.keys()].sort());
    for (const [id, list] of told) {
      const versions = list.map(({ version }) => version);
      assert.deepEqual(versions, versions.toSorted(), id);
      assert.deepEqual(
        [...new Set(versions)],
        Array.from({ length: written.get(id) ?? 0 }, (_, index) => index + 1),
      );
      assert.equal(new Set(list.map(({ message }) => message)).size, written.get(id));
    }
  });
});
