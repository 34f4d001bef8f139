import { createServer } from 'node:http';
import { usualSizes } from '../../events/segments/segment-writer.ts';
import { mount } from '../../server/index.ts';

// A service that makes a segment of every 20 events, and moves each into a bucket. Writes and erases until it is
// killed; prints the titles of answered writes, and the titles to erase.
const { data, bucket } = JSON.parse(process.argv[2] ?? '{}');
Object.assign(usualSizes, { events: 20, hot: 5 });

const key = 'a-key-of-the-child-that-is-long';
const server = createServer((request, response) => cms.handler(request, response)).listen(0, '127.0.0.1');
await new Promise((resolve) => server.once('listening', resolve));
const address = server.address();
const url = `http://127.0.0.1:${typeof address === 'object' && address ? address.port : 0}`;
const cms = mount({
  config: { collections: [{ slug: 'posts', fields: [{ name: 'title', type: 'text' }] }] },
  data,
  bucket: { ...bucket, localRetentionBytes: 0 },
  baseUrl: url,
  apiKeys: [key],
  logger: { write: () => {} },
});
await cms.ready;

async function call(path: string, body: object): Promise<{ status: number; body: { id: string } }> {
  const headers = { 'x-api-key': key, 'content-type': 'application/json' };
  const response = await fetch(url + path, { method: 'POST', headers, body: JSON.stringify(body) });
  return { status: response.status, body: JSON.parse(await response.text()) };
}

const made: { id: string; title: string }[] = [];
for (let count = 0; ; count += 1) {
  const title = `Mark-${process.pid}-${count}-end`;
  const { status, body } = await call('/api/collections/posts', { title });
  if (status !== 201) throw new Error(JSON.stringify(body));
  process.stdout.write(`made ${title}\n`);
  made.push({ id: body.id, title });
  const old = count % 30 === 29 ? made[count - 27] : undefined;
  if (!old) continue;
  process.stdout.write(`erased ${old.title}\n`);
  await call('/api/audit/erasures', { collection: 'posts', id: old.id, reason: 'asked to' });
}
