import type * as http from 'node:http';
import { createRequire } from 'node:module';
import type { Client, ClientOptions } from 'minio';
import { type BlobSettings, BlobsRefusedError } from '../blobs.ts';
import { messageOf } from '../errors.ts';
import { describeFailure, isConnectionLost } from './errors.ts';
import type { Bucket } from './versions.ts';

const require = createRequire(import.meta.url);

/** How a bucket is reached. */
export type Reach = Pick<
  Extract<BlobSettings, { kind: 'bucket' }>,
  'endpoint' | 'bucket' | 'region' | 'accessKey' | 'secretKey' | 'pathStyle'
>;

/** A bucket, and the ways to ask for it. */
export type ConnectedBucket = Bucket & {
  region: string;
  /**
   * Makes a call, and repeats it once if its connection is lost.
   *
   * @throws BlobsUnavailableError, BlobsRefusedError: the meaning of the failure.
   */
  call: <T>(request: () => Promise<T>) => Promise<T>;
  /**
   * The objects with a prefix, in the order of their names; without names that have the `delimiter` after the prefix.
   */
  list: (prefix: string, delimiter?: string) => AsyncGenerator<{ name: string; size: number }>;
  /** Ends the connections. */
  close: () => void;
};

/**
 * Connects to a bucket, which nothing is asked of yet.
 *
 * @param silence milliseconds without a byte from or to the server after which it counts as unreachable.
 * @throws BlobsRefusedError for an endpoint that cannot be one.
 */
export function connectBucket(settings: Reach, silence: number): ConnectedBucket {
  const { endpoint, bucket, region } = settings;
  const { transport, agent } = connectTo(endpoint, silence);
  const client = openClient(settings, { transport, transportAgent: agent });
  const what = `the bucket ${bucket} at ${endpoint}`;

  async function call<T>(request: () => Promise<T>): Promise<T> {
    try {
      return await request().catch((error) => {
        // One that was kept open may have been closed by the server in this very moment.
        if (isConnectionLost(error)) return request();
        throw error;
      });
    } catch (error) {
      throw describeFailure(error, what);
    }
  }

  async function* list(prefix: string, delimiter = '') {
    let next = '';
    do {
      const from = next;
      const page = await call(() => client.listObjectsV2Query(bucket, prefix, from, delimiter, 1000, ''));
      for (const { name = '', size = 0 } of page.objects) if (name.startsWith(prefix)) yield { name, size };
      next = page.isTruncated ? page.nextContinuationToken : '';
    } while (next !== '');
  }

  return { client, bucket, region, what, call, list, close: () => agent.destroy() };
}

function openClient(settings: Reach, options: Pick<ClientOptions, 'transport' | 'transportAgent'>): Client {
  // Loaded only for a bucket: it takes 30 MB and 0.1 s in every thread.
  const minio: typeof import('minio') = require('minio');
  const { protocol, hostname, port } = new URL(settings.endpoint);
  try {
    const client = new minio.Client({
      ...options,
      endPoint: hostname.replace(/^\[|\]$/g, ''),
      port: Number(port),
      useSSL: protocol === 'https:',
      accessKey: settings.accessKey,
      secretKey: settings.secretKey,
      region: settings.region,
      pathStyle: settings.pathStyle,
      // A stream cannot be sent a second time.
      retryOptions: { disableRetry: true },
    });
    // Off with TLS, but nothing else has the server check that it got the bytes that it is to keep.
    client.enableSHA256 = true;
    return client;
  } catch (error) {
    throw new BlobsRefusedError(`ANNALS_S3_ENDPOINT is wrong: ${messageOf(error)}`);
  }
}

/** How requests reach a server; `agent` keeps the connections. */
type Transport = { transport: Pick<typeof http, 'request'>; agent: http.Agent };

/**
 * Requests to a server that give up when nothing was heard of it for a while, at any time: while connecting, in the
 * middle of what is sent or read, and for the answer. A reader that takes its time is not the server's silence.
 *
 * @param endpoint like `https://s3.example.org:9000`.
 * @param silence milliseconds.
 */
function connectTo(endpoint: string, silence: number): Transport {
  // Loaded only if there is a bucket: an import would cost every start, and node:http would load all of fetch with it.
  const { request, Agent } = process.getBuiltinModule(endpoint.startsWith('https:') ? 'node:https' : 'node:http');
  const agent = new Agent({ keepAlive: true, timeout: silence });

  function start(options: http.RequestOptions, onResponse: (response: http.IncomingMessage) => void) {
    const sent = request(options, (response) => {
      received = response;
      const { statusCode = 0 } = response;
      if (isFault(statusCode)) sent.destroy(new Error(`it answered ${statusCode}`));
      else onResponse(response);
    });
    let received: http.IncomingMessage | undefined;
    sent.on('timeout', () => {
      if (received && received.readableLength > 0) sent.socket?.setTimeout(silence);
      else (received ?? sent).destroy(new Error(`it was silent for ${silence / 1000} s`));
    });
    return sent;
  }

  return { transport: { request: start as typeof http.request }, agent };
}

/** Answers that the client would say less about, leaving them unread and their connection open. */
function isFault(status: number): boolean {
  return status === 408 || status === 429 || status === 499 || (status >= 500 && status !== 501 && status !== 507);
}
