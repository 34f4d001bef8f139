import assert from 'node:assert/strict';
import { hash, randomBytes } from 'node:crypto';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { before, it } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { downloadsFrom, get, halfWay, sendFile, upload } from '../../helpers/downloads.ts';
import { runHere } from '../../helpers/in-process.ts';
import { bucketEnvironment, describeWithBucket, openClient, s3Skip, startProxy, useBucket } from '../../helpers/s3.ts';
import { apiKey, startService } from '../../helpers/service.ts';
import { eventually, logLines, useService } from '../../helpers/shared.ts';

const bucket = useBucket();
const late = useBucket();
const locking = useBucket();
// The proxy to the bucket must be started before the service that gets its address.
const proxy = s3Skip ? null : await startProxy(bucket.endpoint);

describeWithBucket('A file in a bucket', () => {
  assert.ok(proxy);
  const config = `const access = { read: () => true };
    const fields = [{ name: 'alt', type: 'text' }];
    export default { collections: [
      { slug: 'files', upload: { maxFileSize: 50_000_000 }, fields, access }, { slug: 'notes', fields, access },
    ] }`;
  const service = useService(config, { ANNALS_THREADS: '1', ...bucketEnvironment({ ...bucket, endpoint: proxy.url }) });
  const file = downloadsFrom(service, 10);

  it('is a 503 while the bucket is away, and there again with it', async () => {
    const { url, sha256, bytes } = file();
    proxy.cut();
    const { status, headers, body } = await service.call('GET', url);
    assert.deepEqual([status, headers.get('retry-after'), body.statusCode], [503, '5', 503]);
    assert.doesNotMatch(JSON.stringify(body), /127\.0\.0\.1|ECONN|annals-test/);
    // Calls that need no bytes are answered.
    assert.equal((await get(service, url, { 'if-none-match': `"${sha256}"` })).status, 304);
    assert.equal((await get(service, url, { range: 'bytes=12000000-' })).status, 416);
    await proxy.heal();
    assert.ok((await get(service, url)).bytes.equals(bytes));
  });

  it('is cut off if the bucket goes away in the middle, and the log says so once', async () => {
    const { url, bytes } = file();
    const cuts = () => logLines(service).filter(({ msg }) => msg === 'a download was cut off');
    const told = cuts().length;
    proxy.cut(5_000_000);
    await assert.rejects(get(service, url));
    await eventually(() => cuts().length > told);
    assert.equal(cuts().length, told + 1);
    assert.equal(cuts().at(-1).level, 40);
    await proxy.heal();
    assert.ok((await get(service, url)).bytes.equals(bytes));
  });

  it('is refused while the bucket is away, or goes away during the upload; nothing is left of it', async () => {
    const client = openClient(bucket);
    for (const after of [0, 5_000_000]) {
      const bytes = randomBytes(12_000_000);
      const sha256 = hash('sha256', bytes);
      proxy.cut(after);
      const { status, headers, body } = await sendFile(service, 'files', bytes, 'lost.bin');
      assert.deepEqual([status, headers.get('retry-after'), body.statusCode], [503, '5', 503]);
      assert.doesNotMatch(JSON.stringify(body), /127\.0\.0\.1|ECONN|annals-test/);
      assert.deepEqual(readdirSync(join(service.data, 'incoming')), []);
      assert.equal((await service.call('GET', '/api/collections/files')).body.total, 1);
      await proxy.heal();
      await assert.rejects(client.statObject(bucket.name, `${sha256.slice(0, 2)}/${sha256}`), { code: 'NotFound' });
    }
    const { id, url } = await upload(service, 'files', 'here again', 'kept.txt');
    assert.equal((await get(service, url)).bytes.toString(), 'here again');
    await service.call('DELETE', `/api/collections/files/${id}`);
  });

  it('waits for a bucket that was away at the start, and everything else does not', async (t) => {
    proxy.cut();
    const environment = { ANNALS_THREADS: '1', ...bucketEnvironment({ ...late, endpoint: proxy.url }) };
    const started = await startService(t, config, { environment });
    const refused = await sendFile(started, 'files', 'early', 'early.txt');
    assert.deepEqual([refused.status, refused.headers.get('retry-after')], [503, '5']);
    assert.equal((await started.call('POST', '/api/collections/notes', { alt: 'a note' })).status, 201);
    assert.match(started.output().stderr, /does not answer.*; documents are served, files are not until it works/);
    await proxy.heal();
    const { url } = await upload(started, 'files', 'early', 'early.txt');
    assert.equal((await get(started, url)).bytes.toString(), 'early');
  });

  it('is what annals blobs verify reads, and gc takes nothing else from the bucket', async () => {
    const { sha256 } = file();
    const environment = bucketEnvironment({ ...bucket, endpoint: proxy.url });
    const blobs = (command: string) => runHere(['blobs', command, '--data', service.data], { environment });
    const client = openClient(bucket);
    const stray = hash('sha256', 'no event names this');
    await client.putObject(bucket.name, `${stray.slice(0, 2)}/${stray}`, 'no event names this');
    const removed = await blobs('gc');
    assert.deepEqual([removed.code, removed.stderr], [0, ''], removed.stdout);
    assert.equal(removed.stdout, `removed 1 file (19 bytes) from the bucket "${bucket.name}"\n`);
    const verified = await blobs('verify');
    assert.deepEqual([verified.code, verified.stderr], [0, ''], verified.stdout);
    assert.match(verified.stdout, /^sound: every file is what it was/m);
    await client.statObject(bucket.name, `${sha256.slice(0, 2)}/${sha256}`);
  });

  it('is nothing to tell if the caller goes away', async () => {
    const { url } = file();
    const lines = logLines(service).filter(({ level }) => level >= 40).length;
    (await halfWay(service, url)).destroy();
    await eventually(() => logLines(service).some(({ status }) => status === 499));
    assert.equal(logLines(service).filter(({ level }) => level >= 40).length, lines);
  });

  it('is a bare 500 when its bytes are gone or others, and the log says what to do', async () => {
    const { url, sha256 } = file();
    const key = `${sha256.slice(0, 2)}/${sha256}`;
    const client = openClient(bucket);
    for (const damage of [
      () => client.putObject(bucket.name, key, 'others'),
      () => client.removeObject(bucket.name, key),
    ]) {
      await damage();
      const known = logLines(service).length;
      const { status, body } = await service.call('GET', url);
      assert.deepEqual([status, body.message], [500, 'An internal server error occurred']);
      const line = await eventually(() =>
        logLines(service)
          .slice(known)
          .find(({ err }) => err),
      );
      assert.match(line.err.message, /annals blobs verify/);
      assert.ok(line.err.stack.includes(sha256), line.err.stack);
    }
  });
});

describeWithBucket('A bucket that keeps versions', () => {
  const config = `export default { collections: [{ slug: 'files', upload: true, access: { read: () => true },
    fields: [{ name: 'alt', type: 'text' }] }] }`;
  const client = openClient(locking);
  before(() => client.makeBucket(locking.name, locking.region, { ObjectLocking: true }));
  const service = useService(config, { ANNALS_THREADS: '2', ...bucketEnvironment(locking) });
  const keyOf = (bytes: string) => `${hash('sha256', bytes).slice(0, 2)}/${hash('sha256', bytes)}`;
  const versionsOf = async (key: string) =>
    (await Array.fromAsync(client.listObjects(locking.name, key, true, { IncludeVersion: true }))) as {
      versionId: string;
    }[];
  const erase = (id: string) =>
    service.call('POST', '/api/audit/erasures', { collection: 'files', id, reason: 'asked to' });

  it('has none of an erased file, not even hidden ones', async () => {
    const [erased, kept] = ['Dunnart-1', 'Dunnart-2'];
    const { id } = await upload(service, 'files', erased, 'a.txt');
    await upload(service, 'files', kept, 'b.txt');
    // Hidden and sent again: one version and a mark more.
    await client.removeObject(locking.name, keyOf(erased));
    await client.putObject(locking.name, keyOf(erased), erased);
    assert.equal((await versionsOf(keyOf(erased))).length, 3);
    const { status, body } = await erase(id);
    assert.deepEqual([status, body.finished], [201, true]);
    assert.deepEqual(await versionsOf(keyOf(erased)), []);
    assert.equal((await versionsOf(keyOf(kept))).length, 1);
  });

  it('leaves an erasure open for as long as it has locked a version, and the reason is told', async () => {
    const [locked, other] = ['Kowari-1', 'Kowari-2'];
    const { id } = await upload(service, 'files', locked, 'a.txt');
    const form = new FormData();
    form.set('file', new Blob([other]), 'b.txt');
    const headers = { 'x-api-key': apiKey };
    assert.ok((await fetch(`${service.url}/api/collections/files/${id}`, { method: 'PATCH', headers, body: form })).ok);
    const [version] = await versionsOf(keyOf(locked));
    const retainUntilDate = new Date(Date.now() + 3_600_000).toISOString();
    const retention = { mode: 'GOVERNANCE', retainUntilDate, versionId: version?.versionId } as const;
    await client.putObjectRetention(locking.name, keyOf(locked), retention as never);
    const asked = service.call('POST', '/api/audit/erasures', { collection: 'files', id, reason: 'asked to' });
    const obstacle = new RegExp(`^the store does not let go of a file until ${retainUntilDate.slice(0, 16)}`);
    const told = /^the erasure at position \d+ is not finished: the bucket .* has locked a version of a file until/;
    await eventually(() => logLines(service).some(({ msg }) => told.test(msg)));
    await wait(1000);
    assert.equal(logLines(service).filter(({ msg }) => told.test(msg)).length, 1);
    const [open] = (await service.call('GET', '/api/audit/erasures?limit=1')).body.docs;
    assert.deepEqual([open.finished, open.waitsFor], [false, 'store']);
    assert.match(open.obstacle, obstacle);
    // Files without a lock are gone.
    assert.deepEqual(await versionsOf(keyOf(other)), []);
    await client.removeObject(locking.name, keyOf(locked), { ...version, governanceBypass: true });
    assert.deepEqual([(await asked).body.finished], [true]);
    const { body } = await service.call('GET', `/api/audit/erasures/${open.position}`);
    assert.deepEqual([body.finished, body.waitsFor, body.obstacle], [true, null, null]);
  });

  it('keeps annals blobs gc from what it has locked, which is told, and from nothing else', async () => {
    const [locked, other] = ['no event names this', 'nor this'];
    const retainUntilDate = new Date(Date.now() + 3_600_000).toISOString();
    for (const bytes of [locked, other]) await client.putObject(locking.name, keyOf(bytes), bytes);
    const [version] = await versionsOf(keyOf(locked));
    const retention = { mode: 'GOVERNANCE', retainUntilDate, versionId: version?.versionId };
    await client.putObjectRetention(locking.name, keyOf(locked), retention as never);
    const { code, stdout } = await runHere(['blobs', 'gc', '--data', service.data], {
      environment: bucketEnvironment(locking),
    });
    assert.equal(code, 1);
    assert.match(stdout, /^removed 1 file \(8 bytes\)/m);
    assert.match(
      stdout,
      new RegExp(`^${hash('sha256', locked)} stays: the bucket .* has locked a version of a file`, 'm'),
    );
    assert.deepEqual(await versionsOf(keyOf(other)), []);
  });
});
