import type * as http from 'node:http';
import { createRequire } from 'node:module';
import type { Client, ClientOptions } from 'minio';
import { type BlobSettings, BlobsRefusedError } from '../blobs.ts';
import { messageOf } from '../errors.ts';
import { describeFailure, isConnectionLost } from './errors.ts';
import type { Bucket } from './versions.ts';

const require = createRequire(import.meta.url);

/** How a bucket is reached. */
export type BucketReach = Pick<
  Extract<BlobSettings, { kind: 'bucket' }>,
  'endpoint' | 'bucket' | 'region' | 'accessKey' | 'secretKey' | 'pathStyle'
>;

/** A bucket, and the calls to it. */
export type ConnectedBucket = Bucket & {
  region: string;
  /**
   * Makes a call, and repeats it once if the connection is lost.
   *
   * @throws BlobsUnavailableError or BlobsRefusedError, by the meaning of the failure.
   */
  call: <T>(request: () => Promise<T>) => Promise<T>;
  /**
   * The objects with a prefix, in the order of their names. Names with the `delimiter` after the prefix are left out.
   */
  list: (prefix: string, delimiter?: string) => AsyncGenerator<{ name: string; size: number }>;
  /** Closes the connections. */
  close: () => void;
};

/**
 * Prepares the connection to a bucket, without a request.
 *
 * @param silence the number of milliseconds without a byte from or to the server after which it counts as unreachable.
 * @throws BlobsRefusedError for an invalid endpoint.
 */
export function connectBucket(settings: BucketReach, silence: number): ConnectedBucket {
  const { endpoint, bucket, region } = settings;
  const { transport, agent } = connectTo(endpoint, silence);
  const client = openClient(settings, { transport, transportAgent: agent });
  const what = `the bucket ${bucket} at ${endpoint}`;

  async function call<T>(request: () => Promise<T>): Promise<T> {
    try {
      return await request().catch((error) => {
        // The server may have closed an idle connection at this very moment.
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

function openClient(settings: BucketReach, options: Pick<ClientOptions, 'transport' | 'transportAgent'>): Client {
  // minio is loaded only for a bucket, because it takes 30 MB and 0.1 s in every thread.
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
    // The client turns this off with TLS, but only the hash makes the server check the bytes that it receives.
    client.enableSHA256 = true;
    return client;
  } catch (error) {
    throw new BlobsRefusedError(`ANNALS_S3_ENDPOINT is wrong: ${messageOf(error)}`);
  }
}

/** How requests reach a server; `agent` keeps the connections. */
type Transport = { transport: Pick<typeof http, 'request'>; agent: http.Agent };

/**
 * Makes requests that give up after a silence of the server: while connecting, while bytes are sent or read, and while
 * waiting for the answer. A slow reader does not count as a silent server.
 *
 * @param endpoint like `https://s3.example.org:9000`.
 * @param silence milliseconds.
 */
function connectTo(endpoint: string, silence: number): Transport {
  // The module is loaded only for a bucket: an import would slow down every start, and node:http would load all of
  // fetch.
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

/**
 * Answers that are handled here, because the client would say less about them, and leave them unread and their
 * connections open.
 */
function isFault(status: number): boolean {
  return status === 408 || status === 429 || status === 499 || (status >= 500 && status !== 501 && status !== 507);
}
