import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { json } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import { type Call, load } from './load.ts';
import { megabytes, resetPeak } from './memory.ts';
import { apiKey, type Server, startAnnals } from './processes.ts';
import { median, round, table, verdict } from './report.ts';
import type { Plan } from './rounds.ts';
import { startS3 } from './s3.ts';

const gigabyte = 10 ** 9;
const chunk = randomBytes(1 << 16);
const files = '/api/collections/files';
const maxGrowth = 64;

/** Uploads and downloads a file of 1 GB, and measures the memory; then small files. In a folder, and in a bucket. */
export async function uploads(folder: string, plan: Plan): Promise<void> {
  await measure('folder', join(folder, 'folder'), {}, plan);
  const s3 = await startS3(join(folder, 's3'));
  if (typeof s3 === 'string') process.stdout.write(`\nno bucket was measured: ${s3}\n`);
  else {
    try {
      await measure('bucket', join(folder, 'bucket'), s3.environment, plan);
    } finally {
      s3.stop();
    }
  }
}

async function measure(store: string, folder: string, environment: Record<string, string>, plan: Plan): Promise<void> {
  const server = await startAnnals(join(folder, 'data'), folder, {
    config: 'uploads',
    environment,
    logLevel: 'silent',
  });
  try {
    await large(store, server);
    await small(store, server, plan);
  } finally {
    await server.stop();
  }
}

async function large(store: string, server: Server): Promise<void> {
  // Code that is loaded and compiled at first use counts as idle memory.
  const { url } = await upload(server, 10 ** 6);
  await download(server, url, 0);
  const idle = megabytes(server, 'VmRSS');
  const rows: (string | number)[][] = [];
  let most = 0;
  let last = '';
  const note = async (what: string, run: () => Promise<number>) => {
    resetPeak(server);
    const from = performance.now();
    const bytes = await run();
    const seconds = (performance.now() - from) / 1000;
    const growth = megabytes(server, 'VmHWM') - idle;
    most = Math.max(most, growth);
    rows.push([what, round(bytes / 1e6 / seconds), round(seconds), round(growth)]);
  };
  await note('upload', async () => {
    last = (await upload(server, gigabyte)).url;
    return gigabyte;
  });
  await note('download', () => download(server, last, 0));
  await note('download by a slow client, first 50 MB', () => download(server, last, 50e6));
  table(`A file of 1 GB, ${store}; idle at ${round(idle)} MB`, ['', 'MB/s', 's', 'MB above idle, at most'], rows);
  verdict(`${store}: MB left of the ${maxGrowth} above idle`, maxGrowth - most, 0);
}

async function small(store: string, server: Server, { rounds, seconds }: Plan): Promise<void> {
  const file = await upload(server, 10_000);
  const read = (path: string): Call[] => [{ method: 'GET', path }];
  const options = { connections: 32, seconds };
  const taken: { documents: number; media: number; sent: number }[] = [];
  for (let count = 0; count < rounds; count += 1) {
    const documents = (await load(server, read(`${files}/${file.id}`), options)).perSecond;
    const media = (await load(server, read(file.url), options)).perSecond;
    taken.push({ documents, media, sent: await uploadsPerSecond(server, seconds) });
  }
  const of = (name: keyof (typeof taken)[number]) => median(taken.map((one) => one[name]));
  table(
    `Files of 10 KB, ${store}`,
    ['documents read/s', 'files read/s', 'of that', 'uploads/s at 8 connections'],
    [[of('documents'), of('media'), of('media') / of('documents'), of('sent')].map(round)],
  );
}

async function uploadsPerSecond(server: Server, seconds: number): Promise<number> {
  const end = performance.now() + seconds * 1000;
  let count = 0;
  const one = async () => {
    while (performance.now() < end) {
      await upload(server, 10_000, randomBytes(16));
      count += 1;
    }
  };
  await Promise.all(Array.from({ length: 8 }, one));
  return count / seconds;
}

/** Sends a file of a given size. The caller also gives the first bytes, so that each file is different. */
async function upload({ url }: Server, size: number, first = randomBytes(16)): Promise<{ id: string; url: string }> {
  const head = Buffer.from(
    '--frontier\r\ncontent-disposition: form-data; name="alt"\r\n\r\nbench\r\n' +
      '--frontier\r\ncontent-disposition: form-data; name="file"; filename="bench.bin"\r\n\r\n',
  );
  const tail = Buffer.from('\r\n--frontier--\r\n');
  function* body(): Generator<Buffer> {
    yield head;
    yield first;
    for (let left = size - first.length; left > 0; left -= chunk.length) yield chunk.subarray(0, left);
    yield tail;
  }
  const outgoing = request(url + files, {
    method: 'POST',
    headers: {
      'x-api-key': apiKey,
      'content-type': 'multipart/form-data; boundary=frontier',
      'content-length': head.length + size + tail.length,
    },
  });
  const [[response]] = (await Promise.all([
    once(outgoing, 'response'),
    pipeline(Readable.from(body(), { objectMode: false }), outgoing),
  ])) as [[IncomingMessage], undefined];
  const document = (await json(response)) as { id: string; url: string };
  if (response.statusCode !== 201) throw new Error(`an upload was answered ${response.statusCode}`);
  return document;
}

/** Reads a file to its end, or only the first `slow` bytes at about 10 MB per second. */
async function download({ url }: Server, path: string, slow: number): Promise<number> {
  const outgoing = request(url + path).end();
  const [response] = (await once(outgoing, 'response')) as [IncomingMessage];
  if (response.statusCode !== 200) throw new Error(`a download was answered ${response.statusCode}`);
  let size = 0;
  for await (const part of response) {
    size += (part as Buffer).length;
    if (slow === 0) continue;
    if (size >= slow) break;
    await new Promise((resolve) => setTimeout(resolve, (part as Buffer).length / 1e4));
  }
  if (slow === 0 && size !== Number(response.headers['content-length'])) throw new Error('a download was cut short');
  return size;
}
