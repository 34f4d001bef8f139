import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer, type IncomingMessage, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { parentPort, workerData } from 'node:worker_threads';

/** The input of the worker: a service, its API key, and the path of a file. */
export type Given = { url: string; apiKey: string; path: string };

/** The findings of the worker. */
export type Told = {
  created: string;
  uploaded: { filename: string; mimeType: string; filesize: number; alt: string; tags: string[] };
  replaced: { filename: string; alt: string };
  streamless: string;
  late: { error: string; message: string; cause: string };
  aborted: { error: string; message: string };
  keys: string[];
};

type Part = { headers: Record<string, string>; fieldName: string } & ({ string: string } | { uri: string });

/** `FormData` of React Native: it keeps its arguments, and the network layer reads the parts. */
class NativeFormData {
  parts: [string, unknown][] = [];

  append(name: string, value: unknown) {
    this.parts.push([name, value]);
  }

  getParts(): Part[] {
    return this.parts.map(([fieldName, value]) => {
      const headers: Record<string, string> = { 'content-disposition': `form-data; name="${fieldName}"` };
      if (typeof value !== 'object' || value === null) return { string: String(value), headers, fieldName };
      const { uri, name, type } = value as Record<'uri' | 'name' | 'type', unknown>;
      if (typeof name === 'string') headers['content-disposition'] += `; filename="${encodeURIComponent(name)}"`;
      if (typeof type === 'string') headers['content-type'] = type;
      return { uri: String(uri), headers, fieldName };
    });
  }
}

/** The signals of React Native keep no reason, and cannot throw it. */
class NativeSignal extends EventTarget {
  aborted = false;
}

class NativeController {
  signal = new NativeSignal();

  abort() {
    if (this.signal.aborted) return;
    this.signal.aborted = true;
    this.signal.dispatchEvent(new Event('abort'));
  }
}

const keys: string[] = [];
let lost = 0;

/** Sends as Android does: a form with another boundary each time, and no file without a type. */
async function nativeFetch(url: string, { method = 'GET', signal, body, headers: given }: RequestInit) {
  if (signal?.aborted) throw new Error('Aborted');
  const headers = new Headers(given);
  const key = headers.get('idempotency-key');
  if (key) keys.push(key);
  const content: unknown = body;
  const sent = content instanceof NativeFormData ? formOf(content, headers) : content;
  const answer = await new Promise<IncomingMessage>((resolve, reject) => {
    const asked = request(url, { method, headers: Object.fromEntries(headers) }, resolve).on('error', reject);
    signal?.addEventListener('abort', () => asked.destroy(new Error('Aborted')));
    asked.end(sent);
  });
  const text = (await answer.setEncoding('utf8').toArray()).join('');
  lost -= 1;
  if (lost >= 0) throw new TypeError('Network request failed');
  const status = answer.statusCode ?? 0;
  const told = new Headers(answer.headers as Record<string, string>);
  return { status, ok: status < 300, statusText: '', type: 'default', headers: told, text: async () => text };
}

function formOf(form: NativeFormData, headers: Headers): Buffer {
  if (headers.has('content-type')) throw new TypeError('the boundary of a form is made here');
  const boundary = randomUUID();
  headers.set('content-type', `multipart/form-data; boundary=${boundary}`);
  const chunks = form.getParts().flatMap((part) => {
    if ('uri' in part && !part.headers['content-type'])
      throw new TypeError('Binary FormData part needs a content-type header.');
    const head = Object.entries(part.headers).map(([name, value]) => `${name}: ${value}\r\n`);
    const content = 'uri' in part ? readFileSync(new URL(part.uri)) : Buffer.from(part.string);
    return [Buffer.from(`--${boundary}\r\n${head.join('')}\r\n`), content, Buffer.from('\r\n')];
  });
  return Buffer.concat([...chunks, Buffer.from(`--${boundary}--\r\n`)]);
}

/** The global objects that React Native has. */
function becomeReactNative(): void {
  const own: Record<string, unknown> = {
    process: { env: {} },
    FormData: NativeFormData,
    AbortController: NativeController,
    AbortSignal: NativeSignal,
    fetch: nativeFetch,
  };
  for (const name of ['crypto', 'DOMException', 'ReadableStream', 'TransformStream', 'WritableStream'])
    own[name] = undefined;
  for (const [name, value] of Object.entries(own)) {
    Object.defineProperty(globalThis, name, { value, configurable: true, writable: true });
    if (value === undefined) Reflect.deleteProperty(globalThis, name);
  }
}

/** A server that never answers. */
async function silence() {
  const server = createServer(() => {}).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    close: () => {
      server.close();
      server.closeAllConnections();
    },
  };
}

async function run({ url, apiKey, path }: Given): Promise<Told> {
  const silent = await silence();
  becomeReactNative();
  const { ApiError, createClient } = await import('../../client/index.ts');
  const client = createClient({ baseUrl: url, apiKey });
  const refusalOf = async (call: Promise<unknown>) => {
    const error = await call.then(
      () => null,
      (reason: unknown) => reason,
    );
    if (error instanceof ApiError) return error;
    throw error ?? new Error('the call succeeded');
  };

  lost = 1;
  const post = await client.collection('posts').create({ title: 'from a telephone' });
  const files = client.collection('files');
  lost = 1;
  const file = { uri: `file://${path}`, name: 'photo 1.txt', type: 'text/plain' };
  const fields = { alt: 'first line\nsecond', tags: ['a', 'b'] };
  const uploaded = await files.upload(file, fields);
  const replaced = await files.replaceFile(uploaded.id, { uri: file.uri }, { alt: 'another' }, { filename: 'b.txt' });
  const streamless = await files.upload({} as Blob).catch((reason: Error) => `${reason.name}: ${reason.message}`);

  const posts = createClient({ baseUrl: silent.url }).collection('posts');
  const late = await refusalOf(posts.find({ timeout: 30 }));
  const controller = new AbortController();
  const aborting = refusalOf(posts.findOne('x', { signal: controller.signal }));
  controller.abort();
  const aborted = await aborting;
  silent.close();
  return {
    created: String(post.title),
    uploaded: uploaded as unknown as Told['uploaded'],
    replaced: replaced as unknown as Told['replaced'],
    streamless: String(streamless),
    late: { error: late.error, message: late.message, cause: String(late.cause) },
    aborted: { error: aborted.error, message: aborted.message },
    keys,
  };
}

parentPort?.postMessage(await run(workerData as Given));
