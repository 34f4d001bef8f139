import { Agent, request as open } from 'node:http';
import { type Answer, apiKey, type CallOptions } from './service.ts';

/** A request to send: a form and bytes as they are, a text as JSON that may be broken, anything else as JSON. */
export type Sent = CallOptions & { body?: unknown };

const agent = new Agent({ keepAlive: true, maxSockets: 64 });

/**
 * Calls a service as `fetch` would, but sends the path as it is given, and takes less than half of the time. A body
 * that is not JSON is returned as bytes, an empty one as null.
 */
export async function request(url: string, method: string, path: string, sent: Sent = {}): Promise<Answer> {
  const { key = apiKey, headers = {} } = sent;
  const { type, bytes } = await encode(sent.body);
  const { hostname, port } = new URL(url);
  const all = {
    ...(key === null ? {} : { 'x-api-key': key }),
    ...(type === null ? {} : { 'content-type': type }),
    ...(bytes === null ? {} : { 'content-length': String(bytes.length) }),
    ...headers,
  };
  return new Promise((resolve, reject) => {
    const call = open({ agent, hostname, port, method, path, headers: all }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk) => chunks.push(chunk));
      response.on('error', reject);
      response.on('end', () => {
        const pairs = Object.entries(response.headersDistinct).flatMap(([name, values = []]) =>
          values.map((value) => [name, value] as [string, string]),
        );
        const body = decode(Buffer.concat(chunks), response.headers['content-type'] ?? '');
        resolve({ status: response.statusCode ?? 0, headers: new Headers(pairs), body });
      });
    });
    call.on('error', reject);
    call.end(bytes ?? undefined);
  });
}

async function encode(body: unknown): Promise<{ type: string | null; bytes: Buffer | null }> {
  if (body === undefined) return { type: null, bytes: null };
  if (body instanceof FormData) {
    const whole = new Response(body);
    return { type: whole.headers.get('content-type'), bytes: Buffer.from(await whole.arrayBuffer()) };
  }
  if (Buffer.isBuffer(body)) return { type: 'application/octet-stream', bytes: body };
  return { type: 'application/json', bytes: Buffer.from(typeof body === 'string' ? body : JSON.stringify(body)) };
}

function decode(bytes: Buffer, type: string): unknown {
  if (bytes.length === 0) return null;
  return type.startsWith('application/json') ? JSON.parse(bytes.toString()) : bytes;
}
