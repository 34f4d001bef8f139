import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, it } from 'node:test';
import { startHere, useServiceHere } from '../../helpers/embedded.ts';
import { inTime } from '../../helpers/wait-for.ts';
import { callsOf, config } from './config.ts';

const service = useServiceHere(config);
const call: typeof service.call = (...args) => service.call(...args);
const { draft, post, edit, patch, shown, release } = callsOf({ call });

describe('a release that was published', () => {
  it('is taken back by its batch: each document is what it was publicly before', async () => {
    const one = await draft({ title: 'One' });
    const two = await post({ title: 'Two' });
    const old = await post({ title: 'Old' });
    await edit(two, { title: 'Two, new' });
    const items = [one, two, { ...old, action: 'unpublish' }];
    const { body } = await release({ title: 'x', items, publish: true });
    const undone = await call('POST', `/api/batches/${body.batch}/undo`, {});
    assert.equal(undone.status, 200, JSON.stringify(undone.body));
    assert.deepEqual([await shown(one), (await shown(two))?.title, (await shown(old))?.title], [null, 'Two', 'Old']);
    const batch = await call('GET', `/api/batches/${body.batch}`);
    assert.deepEqual([batch.body.call, batch.body.total], ['release', 3], JSON.stringify(batch.body));
  });

  it('is not taken back if a document has gone on since', async () => {
    const one = await post({ title: 'One' });
    await edit(one, { title: 'One, new' });
    const { body } = await release({ title: 'x', items: [one], publish: true });
    await patch(one, { stock: 3 });
    const undone = await call('POST', `/api/batches/${body.batch}/undo`, {});
    assert.deepEqual([undone.status, undone.body.errors[0].field], [409, `posts/${one.id}`]);
    assert.equal((await shown(one))?.title, 'One, new');
  });
});

describe('a release that failed', () => {
  it('is told to webhooks that name no events, whatever their condition', async (t) => {
    const came: { type: string; data: object }[] = [];
    const server = createServer(async (request, response) => {
      came.push(JSON.parse((await request.toArray()).join('')));
      response.writeHead(204).end();
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    t.after(() => server.close());
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
    const secret = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;
    const where = { title: { equals: 'none' } };
    const webhooks = [{ name: 'site', url, secret, allowPrivate: true, collections: ['posts'], where }];
    const told = await startHere(t, { ...config, webhooks });
    const own = callsOf(told);
    const wrong = await own.draft({ stock: 1 });
    const at = new Date(Date.now() + 1500).toISOString();
    const { body } = await own.release({ title: 'x', at, items: [wrong] });
    await inTime(async () => assert.equal(came.length, 1));
    const [message] = came;
    assert.deepEqual(
      [message?.type, { ...message?.data, position: 0 }],
      ['release.failed', { release: body.id, id: null, version: 3, position: 0, batch: null }],
    );
  });
});
