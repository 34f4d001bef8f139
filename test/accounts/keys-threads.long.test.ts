import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { recordedEvents, useService } from '../helpers/shared.ts';

describe('API keys of a service with several threads', () => {
  const service = useService(`export default { bcryptCost: 4, collections: [{ slug: 'posts', fields: [] }] };`, {
    ANNALS_THREADS: '2',
  });
  /** Makes a key under the key of the environment. */
  async function make(rights: object): Promise<{ id: string; secret: string }> {
    const { status, body } = await service.call('POST', '/api/keys', { name: 'a test', ...rights });
    assert.equal(status, 201, JSON.stringify(body));
    return body;
  }
  const all = { collections: '*', globals: '*', operations: ['read', 'create', 'update', 'delete'] };
  const list = (key: string) => service.call('GET', '/api/collections/posts', undefined, { key });

  it('are accepted by each from the answer on, and refused by each from the answer to their end on', async () => {
    for (let round = 0; round < 5; round += 1) {
      const { id, secret } = await make({ scopes: [{ collections: ['posts'], operations: ['read'] }] });
      const many = async () => {
        // Connections of their own, which come to both threads.
        const answers = await Promise.all(Array.from({ length: 16 }, () => list(secret)));
        return new Set(answers.map(({ status }) => status));
      };
      assert.deepEqual(await many(), new Set([200]));
      await service.call('DELETE', `/api/keys/${id}`);
      assert.deepEqual(await many(), new Set([401]));
    }
  });

  it('end a stream of events, and a write whose body comes late', async () => {
    const { id, secret } = await make({ scopes: [all], audit: ['headers'] });
    const headers = { 'x-api-key': secret };
    const feed = await fetch(`${service.url}/api/audit/feed`, { headers: { ...headers, accept: 'text/event-stream' } });
    assert.equal(feed.status, 200);
    let go = () => {};
    const body = new ReadableStream({
      start(controller) {
        controller.enqueue(Buffer.from('{'));
        go = () => {
          controller.enqueue(Buffer.from('}'));
          controller.close();
        };
      },
    });
    const options = { method: 'POST', headers: { ...headers, 'content-type': 'application/json' }, body };
    const late = fetch(`${service.url}/api/collections/posts`, { ...options, duplex: 'half' } as RequestInit);
    await setTimeout(200);
    const { status } = await service.call('DELETE', `/api/keys/${id}`);
    assert.equal(status, 200);
    const { position } = recordedEvents(service.data).at(-1) ?? assert.fail();
    go();
    assert.equal((await late).status, 401);
    const told = await feed.text();
    assert.ok(!told.includes(`"position":${position},`), 'it was told of its own end');
    assert.equal(recordedEvents(service.data).at(-1)?.position, position);
  });
});
