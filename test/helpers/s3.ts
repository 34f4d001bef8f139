import { randomBytes } from 'node:crypto';
import { connect, createServer, type Socket } from 'node:net';
import { after, describe, it } from 'node:test';
import { createServer as createTlsServer, connect as tlsConnect } from 'node:tls';
import { Client } from 'minio';
import type { BucketSettings } from '../../server/settings/settings.ts';

const { TEST_S3_ENDPOINT, TEST_S3_ACCESS_KEY = '', TEST_S3_SECRET_KEY = '' } = process.env;

/** Why tests with a bucket are skipped, for `node:test`; false if there is an S3 server. */
export const s3Skip = TEST_S3_ENDPOINT ? false : 'no S3 server was given by TEST_S3_ENDPOINT; see CONTRIBUTING.md';

/** A `describe` with an S3 server, skipped without one. */
export function describeWithBucket(name: string, tests: () => void, options: { concurrency?: boolean } = {}): void {
  // The skip is on a test inside: the runner does not count a `describe` that is skipped.
  if (s3Skip) it(name, { skip: s3Skip });
  else describe(name, options, tests);
}

/** A bucket for a whole file of tests, which does not exist yet. After the tests it is removed with all its objects. */
export function useBucket(): BucketSettings {
  const settings = {
    endpoint: TEST_S3_ENDPOINT ?? '',
    name: `annals-test-${randomBytes(8).toString('hex')}`,
    region: 'us-east-1',
    accessKey: TEST_S3_ACCESS_KEY,
    secretKey: TEST_S3_SECRET_KEY,
    pathStyle: true,
  };
  after(async () => {
    if (s3Skip) return;
    const client = openClient(settings);
    if (!(await client.bucketExists(settings.name))) return;
    for await (const { name = '', versionId } of client.listObjects(settings.name, '', true, {
      IncludeVersion: true,
    })) {
      await client.removeObject(settings.name, name, { versionId, governanceBypass: true });
    }
    await client.removeBucket(settings.name);
  });
  return settings;
}

/** The environment of a service that keeps its files in a bucket. */
export function bucketEnvironment(bucket: BucketSettings): Record<string, string> {
  return {
    ANNALS_S3_ENDPOINT: bucket.endpoint,
    ANNALS_S3_BUCKET: bucket.name,
    ANNALS_S3_REGION: bucket.region,
    ANNALS_S3_ACCESS_KEY: bucket.accessKey,
    ANNALS_S3_SECRET_KEY: bucket.secretKey,
    ANNALS_S3_PATH_STYLE: String(bucket.pathStyle),
  };
}

/** A client of S3 beside the client under test. */
export function openClient({ endpoint, accessKey, secretKey, region }: BucketSettings): Client {
  const { protocol, hostname, port } = new URL(endpoint);
  return new Client({
    endPoint: hostname,
    port: Number(port),
    useSSL: protocol === 'https:',
    region,
    accessKey,
    secretKey,
  });
}

/** A breakable connection to a server. */
export type Proxy = {
  url: string;
  /** Ends connections and refuses new ones, at once or after this number of further bytes in any direction. */
  cut: (afterBytes?: number) => void;
  /** Lets no more bytes through, at once or after this number of further bytes; connections stay open. */
  stall: (afterBytes?: number) => void;
  /** Ends connections after this number of further bytes; new ones work. */
  drop: (afterBytes: number) => void;
  heal: () => Promise<void>;
};

/**
 * A proxy in front of a server, on a free port; closed after the tests of the file or `describe` that calls this.
 *
 * @param target like `http://127.0.0.1:9000`.
 * @param tls if given, the proxy speaks TLS with this certificate.
 */
export async function startProxy(target: string, tls?: { key: string; cert: string }): Promise<Proxy> {
  const { protocol, hostname, port } = new URL(target);
  const sockets = new Set<Socket>();
  let isStalled = false;
  let limit: { bytes: number; then: () => void } | null = null;

  function through(from: Socket, to: Socket): void {
    sockets.add(from);
    from.on('data', (chunk: Buffer) => {
      to.write(chunk);
      if (limit === null) return;
      limit.bytes -= chunk.length;
      if (limit.bytes <= 0) limit.then();
    });
    from.on('error', () => {});
    from.on('close', () => {
      sockets.delete(from);
      to.destroy();
    });
  }
  const accept = (socket: Socket) => {
    const options = { host: hostname, port: Number(port || (protocol === 'https:' ? 443 : 80)) };
    const onward = protocol === 'https:' ? tlsConnect({ ...options, servername: hostname }) : connect(options);
    through(socket, onward);
    through(onward, socket);
    if (isStalled) hold();
  };
  const server = tls ? createTlsServer(tls, accept) : createServer(accept);
  server.on('tlsClientError', () => {});
  const listen = (on: number) => new Promise<void>((resolve) => server.listen(on, '127.0.0.1', resolve));
  await listen(0);
  const address = server.address() as { port: number };

  function dropAll(): void {
    limit = null;
    for (const socket of sockets) socket.destroy();
  }
  const end = () => {
    server.close();
    dropAll();
  };
  function hold(): void {
    isStalled = true;
    for (const socket of sockets) socket.pause();
  }
  const when = (bytes: number, then: () => void) => {
    if (bytes === 0) then();
    else limit = { bytes, then };
  };
  after(end);

  return {
    url: `${tls ? 'https' : 'http'}://127.0.0.1:${address.port}`,
    cut: (afterBytes = 0) => when(afterBytes, end),
    stall: (afterBytes = 0) => when(afterBytes, hold),
    drop: (afterBytes) => when(afterBytes, dropAll),
    async heal() {
      limit = null;
      if (isStalled) dropAll();
      isStalled = false;
      if (!server.listening) await listen(address.port);
    },
  };
}
