import assert from 'node:assert/strict';
import { execFile, spawnSync } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { before, describe, it, type TestContext } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { promisify } from 'node:util';
import { type BlobStore, BlobsRefusedError, BlobsUnavailableError, type ReceivedFile } from '../../storage/blobs.ts';
import { largestObject, openBucketStore } from '../../storage/bucket/store.ts';
import { describeWithBucket, startProxy, useBucket } from '../helpers/s3.ts';
import { useFolder } from '../helpers/shared.ts';

const incoming = useFolder();
const { name, ...reach } = useBucket();
const settings = { kind: 'bucket' as const, incoming, bucket: name, ...reach };
const none = 'a'.repeat(64);

/** A store of the bucket that is reached in another way, or by other keys, closed after the test. */
function open(t: TestContext, other: Partial<typeof settings>, silence?: number): BlobStore {
  const store = openBucketStore({ ...settings, ...other }, silence);
  t.after(() => store.close());
  return store;
}

/**
 * Keeps a file, reads it, and tries to keep one under another's hash, in a process of its own: what is trusted is read
 * at its start.
 */
const keeping = `
  import { openBucketStore } from ${JSON.stringify(new URL('../../storage/bucket/store.ts', import.meta.url))};
  const { settings, kept, other } = JSON.parse(process.argv[1]);
  const store = openBucketStore(settings);
  await store.prepare('annals/one');
  await store.keep(kept);
  const { length } = Buffer.concat(await (await store.open(kept.sha256)).toArray());
  const refusal = await store.keep(other).then(() => '', ({ reason, message }) => reason + ': ' + message);
  console.log(JSON.stringify({ length, refusal }));
  store.close();
`;

async function makeBucket(): Promise<void> {
  const store = openBucketStore(settings);
  await store.prepare('annals/one');
  store.close();
}

function receivedFile(size: number): ReceivedFile {
  const bytes = randomBytes(size);
  const path = join(incoming, bytes.toString('hex', 0, 8));
  writeFileSync(path, bytes);
  return { path, size, sha256: createHash('sha256').update(bytes).digest('hex') };
}

function isUnreachable(message: RegExp): (error: unknown) => boolean {
  return (error) =>
    error instanceof BlobsUnavailableError && error.reason === 'unreachable' && message.test(error.message);
}

/** One line, and none of its words is the secret. */
function isRefused(message: RegExp): (error: unknown) => boolean {
  return (error) => {
    assert.ok(error instanceof BlobsRefusedError, String(error));
    assert.match(error.message, message);
    assert.ok(!error.message.includes('\n') && !error.message.includes(settings.secretKey));
    return true;
  };
}

describeWithBucket('a bucket that is configured wrongly', () => {
  before(makeBucket);

  it('is refused in one line that names the variable', async (t) => {
    const cases: [Partial<typeof settings>, RegExp][] = [
      [{ accessKey: 'unknown' }, /: ANNALS_S3_ACCESS_KEY is wrong/],
      [{ accessKey: 'no\nbody' }, /: ANNALS_S3_ACCESS_KEY is wrong/],
      [{ secretKey: 'secret-0815' }, /: ANNALS_S3_SECRET_KEY is wrong/],
      [{ bucket: '127.0.0.1' }, /: ANNALS_S3_BUCKET is wrong/],
      [{ bucket: `${name}-mars`, region: 'mars' }, /: ANNALS_S3_REGION is wrong/],
      [{ endpoint: settings.endpoint.replace('http:', 'https:') }, /: ANNALS_S3_ENDPOINT is wrong/],
    ];
    for (const [other, message] of cases)
      await assert.rejects(open(t, other).prepare('annals/one'), isRefused(message));
    assert.throws(
      () => openBucketStore({ ...settings, endpoint: 'http://-' }),
      isRefused(/^ANNALS_S3_ENDPOINT is wrong/),
    );
  });

  it('refuses keys that have been withdrawn while it was in use', async (t) => {
    const store = open(t, { secretKey: 'secret-0815' });
    const denied = isRefused(/ANNALS_S3_ACCESS_KEY and ANNALS_S3_SECRET_KEY must be right/);
    await assert.rejects(store.keep(receivedFile(10)), denied);
    await assert.rejects(store.open(none), isRefused(/ANNALS_S3_SECRET_KEY is wrong/));
  });

  it('is not told to be empty when it is gone', async (t) => {
    const store = open(t, { bucket: `${name}-gone` });
    const gone = isUnreachable(/is gone$/);
    await assert.rejects(store.size(none), gone);
    await assert.rejects(store.open(none), gone);
    await assert.rejects(store.keep(receivedFile(10)), gone);
    await assert.rejects(Array.fromAsync(store.list()), gone);
  });
});

describeWithBucket('a bucket', () => {
  before(makeBucket);

  it('refuses bytes that are not those of the hash, and keeps none of them', async (t) => {
    const store = open(t, {});
    await assert.rejects(store.keep({ ...receivedFile(100_000), sha256: none }), isUnreachable(/SHA256Mismatch/));
    assert.equal(await store.size(none), null);
  });

  it('takes no file that S3 does not take in one request', async (t) => {
    const file = { ...receivedFile(1), size: largestObject + 1 };
    await assert.rejects(
      open(t, {}).keep(file),
      isRefused(/takes files of up to 5368709120 bytes, not one of 5368709121/),
    );
  });

  it('is reached by TLS, with a certificate that is trusted only', async (t) => {
    const file = join(incoming, 'certificate.pem');
    const subject = ['-subj', '/CN=127.0.0.1', '-addext', 'subjectAltName=IP:127.0.0.1'];
    const making = [
      'req',
      '-x509',
      '-newkey',
      'rsa:2048',
      '-nodes',
      '-days',
      '2',
      '-keyout',
      `${file}.key`,
      '-out',
      file,
    ];
    if (spawnSync('openssl', [...making, ...subject]).status !== 0) return t.skip('there is no openssl');
    const cert = readFileSync(file, 'utf8');
    const proxy = await startProxy(settings.endpoint, { key: readFileSync(`${file}.key`, 'utf8'), cert });
    const store = open(t, { endpoint: proxy.url });
    await assert.rejects(
      store.prepare('annals/one'),
      isRefused(/certificate that is not trusted: NODE_EXTRA_CA_CERTS/),
    );

    const kept = receivedFile(1_000_000);
    const other = { ...receivedFile(1000), sha256: none };
    const trusting = { env: { ...process.env, NODE_EXTRA_CA_CERTS: file } };
    const given = JSON.stringify({ settings: { ...settings, endpoint: proxy.url }, kept, other });
    const ran = promisify(execFile)(process.execPath, ['--input-type=module', '--eval', keeping, given], trusting);
    const { length, refusal } = JSON.parse((await ran).stdout);
    assert.equal(length, 1_000_000);
    assert.match(refusal, /^unreachable: .*SHA256Mismatch/);
    const bytes = Buffer.concat(await (await open(t, {}).open(kept.sha256)).toArray());
    assert.ok(bytes.equals(readFileSync(kept.path)));
  });
});

describeWithBucket(
  'an outage of a bucket',
  () => {
    before(makeBucket);

    it('in the middle of a file that is kept leaves no object, and it is kept afterwards', async (t) => {
      const proxy = await startProxy(settings.endpoint);
      const store = open(t, { endpoint: proxy.url }, 1000);
      const patient = open(t, { endpoint: proxy.url });
      const direct = open(t, {});
      for (const breakIt of [proxy.cut, proxy.stall]) {
        const file = receivedFile(8_000_000);
        breakIt(4_000_000);
        await assert.rejects(store.keep(file), isUnreachable(/ECONNREFUSED|was silent for 1 s/));
        assert.equal(await direct.size(file.sha256), null);
        await proxy.heal();
        await patient.keep(file);
        assert.equal(await direct.size(file.sha256), file.size);
      }
    });

    it('in the middle of a file that is read is an error, never its end', async (t) => {
      const proxy = await startProxy(settings.endpoint);
      const store = open(t, { endpoint: proxy.url }, 1000);
      const file = receivedFile(8_000_000);
      await open(t, {}).keep(file);
      for (const breakIt of [proxy.cut, proxy.stall]) {
        breakIt(4_000_000);
        const stream = await store.open(file.sha256);
        let size = 0;
        await assert.rejects(
          async () => {
            for await (const chunk of stream) size += chunk.length;
          },
          isUnreachable(/aborted|was silent for 1 s/),
        );
        assert.ok(size > 1_000_000 && size < file.size, `${size} bytes came`);
        await proxy.heal();
      }
      const patient = open(t, { endpoint: proxy.url });
      assert.equal(Buffer.concat(await (await patient.open(file.sha256)).toArray()).length, file.size);
    });

    it('is not one when the reader takes his time', async (t) => {
      const store = open(t, {}, 2000);
      const file = receivedFile(8_000_000);
      await open(t, {}).keep(file);
      const stream = await store.open(file.sha256);
      await wait(2600);
      assert.equal(Buffer.concat(await stream.toArray()).length, file.size);
    });

    it('that is over at once is not noticed', async (t) => {
      const proxy = await startProxy(settings.endpoint);
      const store = open(t, { endpoint: proxy.url });
      const file = receivedFile(5_000_000);
      proxy.drop(2_000_000);
      await store.keep(file);
      proxy.drop(1);
      assert.equal(await store.size(file.sha256), file.size);
    });

    it('is told by every call while it lasts', async (t) => {
      const proxy = await startProxy(settings.endpoint);
      const store = open(t, { endpoint: proxy.url });
      proxy.cut();
      const calls = [
        () => store.prepare('annals/one'),
        () => store.keep(receivedFile(10)),
        () => store.open(none),
        () => store.size(none),
        () => store.remove(none),
        () => Array.fromAsync(store.list()),
      ];
      for (const call of calls) await assert.rejects(call, isUnreachable(/ECONNREFUSED/));
      await proxy.heal();
      await store.prepare('annals/one');
    });
  },
  { concurrency: true },
);

describe('a server that is no S3', { concurrency: true }, () => {
  const answers: Record<string, [string, RegExp]> = {
    'never answers': ['', /was silent for 0.5 s/],
    'ends in the head': ['HTTP/1.1 200 OK\r\ncontent-le', /was silent for 0.5 s/],
    'ends in the body': ['HTTP/1.1 206 OK\r\ncontent-length: 99\r\n\r\n<', /was silent for 0.5 s|answered 206/],
    'is overloaded': ['HTTP/1.1 503 Busy\r\ncontent-length: 99\r\nconnection: close\r\n\r\n<', /answered 503/],
    'has another page': ['HTTP/1.1 404 None\r\ncontent-length: 13\r\n\r\n<html></html>', /unlike an S3 server|is gone/],
    'answers what was not asked': [
      'HTTP/1.1 200 OK\r\ncontent-length: 13\r\n\r\n<html></html>',
      /answered 200|Missing tag/,
    ],
  };
  for (const [what, [answer, message]] of Object.entries(answers)) {
    it(`and ${what} is unreachable`, async (t) => {
      const sockets = new Set<Socket>();
      const server = createServer((socket) => {
        sockets.add(socket);
        socket.on('error', () => {});
        socket.on('data', () => socket.write(answer));
      });
      await once(server.listen(0, '127.0.0.1'), 'listening');
      t.after(() => {
        for (const socket of sockets) socket.destroy();
        server.close();
      });
      const { port } = server.address() as { port: number };
      const store = openBucketStore(
        { ...settings, accessKey: 'key', secretKey: 'secret', endpoint: `http://127.0.0.1:${port}` },
        500,
      );
      t.after(() => store.close());
      const calls = [
        store.prepare('annals/one'),
        Array.fromAsync(store.list()),
        store.open(none, { start: 0, end: 98 }).then((stream) => stream.toArray()),
      ];
      await Promise.all(calls.map((call) => assert.rejects(call, isUnreachable(message))));
    });
  }
});
