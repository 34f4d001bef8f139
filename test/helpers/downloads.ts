import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { before, it } from 'node:test';
import { type Answer, apiKey, type Service } from './service.ts';
import { eventually } from './shared.ts';

/** The fields of a file that tests read. */
export type Kept = { id: string; url: string; filename: string; sha256: string };

/** Sends a file to an upload collection that has a field `alt`. */
export async function sendFile(
  { url }: Pick<Service, 'url'>,
  slug: string,
  bytes: BlobPart,
  filename: string,
  alt = '',
): Promise<Answer> {
  const form = new FormData();
  form.set('file', new Blob([bytes]), filename);
  form.set('alt', alt);
  const headers = { 'x-api-key': apiKey };
  const response = await fetch(`${url}/api/collections/${slug}`, { method: 'POST', headers, body: form });
  return { status: response.status, headers: response.headers, body: await response.json() };
}

/** Sends a file that the collection accepts. */
export async function upload(...file: Parameters<typeof sendFile>): Promise<Kept> {
  const { status, body } = await sendFile(...file);
  assert.equal(status, 201, JSON.stringify(body));
  return body;
}

/** An answer with its bytes. */
export type File = { status: number; headers: Headers; bytes: Buffer };

/** Asks for a file without a credential, except one in `headers`. */
export async function get(
  { url }: Pick<Service, 'url'>,
  path: string,
  headers: Record<string, string> = {},
  method = 'GET',
): Promise<File> {
  const response = await fetch(url + path, { method, headers });
  return { status: response.status, headers: response.headers, bytes: Buffer.from(await response.arrayBuffer()) };
}

/** Starts a download and returns its connection once the first bytes have come; the caller reads no more of it. */
export async function halfWay({ url }: Pick<Service, 'url'>, path: string): Promise<Socket> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname).on('error', () => {});
  socket.write(`GET ${path} HTTP/1.1\r\nhost: x\r\n\r\n`);
  await once(socket, 'readable');
  return socket;
}

/**
 * Tests of downloads that hold for any store: everyone may read the collection `files`.
 *
 * @param callers how many leave half way at once.
 * @returns the file that is read, once tests run.
 */
export function downloadsFrom(service: Service, callers: number): () => Kept & { bytes: Buffer } {
  const bytes = randomBytes(12_000_000);
  let file: Kept;

  before(async () => {
    await service.call('GET', '/health');
    file = await upload(service, 'files', bytes, 'large.bin');
  });

  it('comes as it was sent, whole and in parts', async () => {
    const parts: Record<string, [number, number]> = {
      'bytes=0-0': [0, 0],
      'bytes=1000000-10999999': [1_000_000, 10_999_999],
      'bytes=11999990-': [11_999_990, 11_999_999],
      'bytes=-5': [11_999_995, 11_999_999],
    };
    for (const [range, [start, end]] of Object.entries(parts)) {
      const part = await get(service, file.url, { range });
      assert.deepEqual([part.status, part.headers.get('content-range')], [206, `bytes ${start}-${end}/12000000`]);
      assert.ok(part.bytes.equals(bytes.subarray(start, end + 1)), range);
    }
    const whole = await get(service, file.url);
    assert.deepEqual([whole.status, whole.headers.get('content-length')], [200, '12000000']);
    assert.ok(whole.bytes.equals(bytes));
    const head = await get(service, file.url, {}, 'HEAD');
    const told = ({ headers }: File) => [headers.get('content-length'), headers.get('etag')];
    assert.deepEqual([head.status, told(head)], [200, told(whole)]);
    assert.equal((await get(service, file.url, { 'if-none-match': `"${file.sha256}"` })).status, 304);
    assert.equal((await get(service, file.url, { range: 'bytes=12000000-' })).status, 416);
  });

  it('says nothing of the store', async () => {
    const names = [...(await get(service, file.url)).headers.keys()].sort();
    assert.deepEqual(names, [
      'accept-ranges',
      'cache-control',
      'connection',
      'content-disposition',
      'content-length',
      'content-type',
      'cross-origin-resource-policy',
      'date',
      'etag',
      'keep-alive',
      'vary',
      'x-content-type-options',
      'x-request-id',
    ]);
  });

  it('is let go of when callers leave', async () => {
    const descriptors = () => readdirSync(`/proc/${service.child.pid}/fd`).length;
    const idle = descriptors();
    const sockets = await Promise.all(Array.from({ length: callers }, () => halfWay(service, file.url)));
    // One descriptor for the caller and, but for a few that wait in a pool, one for the file.
    assert.ok(descriptors() > idle + 1.5 * callers, `${descriptors()} after ${idle}`);
    for (const socket of sockets) socket.destroy();
    // Now and then the thread that verifies the log has two databases open, for long on a busy machine.
    await eventually(() => descriptors() <= idle + 8);
    assert.ok((await get(service, file.url)).bytes.equals(bytes));
  });

  return () => ({ ...file, bytes });
}
