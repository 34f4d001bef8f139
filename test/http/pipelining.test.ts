import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { useServiceHere } from '../helpers/embedded.ts';
import { apiKey } from '../helpers/service.ts';
import { dial, eventually, received } from '../helpers/shared.ts';

const posts = '/api/collections/posts';
let inHand = 0;
let most = 0;
let asked = 0;

/** Counts the requests that are asked about at the same time. */
async function read(): Promise<boolean> {
  inHand += 1;
  asked += 1;
  most = Math.max(most, inHand);
  await wait(1);
  inHand -= 1;
  return true;
}

const service = useServiceHere({
  collections: [{ slug: 'posts', access: { read }, fields: [{ name: 'title', type: 'text' }] }],
});

/** A kilobyte: more of them than Node takes in one piece of 64 KiB. */
const get = `GET ${posts}?limit=1 HTTP/1.1\r\nhost: x\r\nx: ${'y'.repeat(950)}\r\n\r\n`;
const post = (title: string) => {
  const body = JSON.stringify({ title });
  const head = `x-api-key: ${apiKey}\r\ncontent-type: application/json\r\ncontent-length: ${body.length}`;
  return `POST ${posts} HTTP/1.1\r\nhost: x\r\n${head}\r\n\r\n${body}`;
};

describe('Requests that one connection sends without waiting for answers', () => {
  it('are answered one by one in their order, reads and writes, however many they are', async () => {
    most = 0;
    // Each read shows what the write before it has recorded.
    const socket = dial(service.url, `${get}${post('one')}${get}${post('two')}${get}`.repeat(10) + get.repeat(100));
    const text = received(socket);
    await eventually(() => text().split('HTTP/1.1 ').length > 10 * 5 + 100);
    socket.destroy();
    const totals = [...text().matchAll(/"total":(\d+)/g)].map(([, total]) => Number(total));
    assert.deepEqual(totals.slice(0, 6), [0, 1, 2, 2, 3, 4]);
    assert.deepEqual(
      totals,
      totals.toSorted((a, b) => a - b),
    );
    assert.deepEqual([totals.length, totals.at(-1), most], [10 * 3 + 100, 20, 1]);
  });

  it('are dropped if the client has gone', async () => {
    const before = asked;
    const socket = dial(service.url, get.repeat(60));
    await eventually(() => asked > before + 2);
    socket.destroy();
    // If the requests of the closed connection were not dropped, they would be answered beside these of a later one.
    for (let count = 0; count < 60; count += 1) await service.call('GET', posts);
    assert.ok(asked - before - 60 < 50, `${asked - before - 60} were answered`);
  });
});
