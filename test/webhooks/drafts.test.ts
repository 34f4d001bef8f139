import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import type { Config, WebhookConfig } from '../../config/define.ts';
import { openLined, writerOf } from '../documents/drafts/recorded.ts';
import { startHere } from '../helpers/embedded.ts';
import { temporaryFolder } from '../helpers/service.ts';
import { inTime } from '../helpers/wait-for.ts';

const secret = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;
const fields = [{ name: 'title', type: 'text' as const }];
const base: Config = {
  collections: [{ slug: 'posts', drafts: true, fields }],
  globals: [{ slug: 'site', drafts: true, fields }],
};

type Hook = Pick<WebhookConfig, 'events' | 'where'>;

type Message = { type: string; data: { position: number; version: number; cause?: string } };

/** A service with a webhook, and all that the webhook got; before it starts, `write` records events. */
async function startWith(t: TestContext, hook: Hook, write: (data: string) => void, answer = () => 204) {
  const came: Message[] = [];
  const server = createServer(async (request, response) => {
    came.push(JSON.parse((await request.toArray()).join('')));
    response.writeHead(answer()).end();
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => server.close());
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  const config = { ...base, webhooks: [{ name: 'site', url, secret, allowPrivate: true, ...hook }] };
  const data = join(temporaryFolder(t), 'data');
  // A webhook begins where the log ends at its first start.
  openLined(data, base).close();
  await (await startHere(t, config, { data })).stop();
  write(data);
  return { service: await startHere(t, config, { data }), came };
}

/** Every message that a webhook gets of the events that `write` records, in the order of the log. */
async function messagesOf(t: TestContext, hook: Hook, write: (data: string) => void): Promise<string[]> {
  const { service, came } = await startWith(t, hook, write);
  const { body: log } = await service.call('GET', '/api/audit/log');
  await inTime(async () => {
    const { body } = await service.call('GET', '/api/webhooks/site');
    assert.ok(body.position >= log.size && body.waiting === 0);
  });
  const sorted = came.toSorted((one, other) => one.data.position - other.data.position);
  return sorted.map(({ type, data: { version, cause } }) => `${type} ${version}${cause ? ` ${cause}` : ''}`);
}

function everything(data: string): void {
  const directory = openLined(data, base);
  const post = writerOf(directory, 'posts');
  post.draft({ title: 'a' });
  post.save({ title: 'b' });
  post.publish();
  post.save({ title: 'c' });
  post.review('requested', { version: 4 });
  post.publish();
  post.patch({ title: 'd' });
  post.unpublish();
  post.save({ title: 'e' });
  post.publish();
  post.unpublish();
  post.remove();
  const never = writerOf(directory, 'posts');
  never.draft({ title: 'never' });
  never.remove();
  const site = writerOf(directory, 'globals/site');
  site.save({ title: 'a' });
  site.publish();
  directory.close();
}

const forReaders = [
  'document.created 3 published',
  'document.updated 6 published',
  'document.updated 7',
  'document.deleted 8 unpublished',
  'document.created 10 published',
  'document.deleted 11 unpublished',
  'global.updated 2 published',
];

describe('A webhook of a collection with drafts', () => {
  it('is told what readers see, and nothing of drafts', async (t) => {
    assert.deepEqual(await messagesOf(t, {}, everything), forReaders);
  });

  it('is told of drafts if it names their events, and of the end of what was never public', async (t) => {
    const events = ['document.draft.created', 'review.requested', 'document.deleted'] as const;
    assert.deepEqual(await messagesOf(t, { events }, everything), [
      'document.draft.created 1',
      'review.requested 5',
      'document.deleted 8 unpublished',
      'document.deleted 11 unpublished',
      'document.deleted 12',
      'document.draft.created 1',
      'document.deleted 2',
    ]);
  });

  it('has its condition asked of what is public', async (t) => {
    const where = { title: { equals: 'live' } };
    const told = await messagesOf(t, { where }, (data) => {
      const directory = openLined(data, base);
      const post = writerOf(directory, 'posts');
      post.create({ title: 'other' });
      post.save({ title: 'live' });
      post.publish();
      post.save({ title: 'other' });
      post.unpublish();
      directory.close();
    });
    assert.deepEqual(told, ['document.updated 3 published', 'document.deleted 5 unpublished']);
  });

  it('is told the same of an event again after an erasure', async (t) => {
    let id = '';
    let isReady = false;
    const write = (data: string) => {
      const directory = openLined(data, base);
      const post = writerOf(directory, 'posts');
      post.create({ title: 'a' });
      post.save({ title: 'b' });
      post.publish();
      id = post.id;
      directory.close();
    };
    const { service, came } = await startWith(t, { events: ['document.updated'] }, write, () => (isReady ? 204 : 500));
    await inTime(async () => assert.equal(came.length, 1));
    const erased = await service.call('POST', '/api/audit/erasures', { collection: 'posts', id, reason: 'asked' });
    assert.equal(erased.status, 201, JSON.stringify(erased.body));
    isReady = true;
    await service.call('POST', '/api/webhooks/site/retry');
    await inTime(async () => assert.ok(came.length > 1));
    assert.deepEqual(came.at(-1), came[0]);
  });
});
