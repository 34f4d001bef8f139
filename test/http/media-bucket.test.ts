import assert from 'node:assert/strict';
import { it } from 'node:test';
import { downloadsFrom, get, halfWay } from '../helpers/downloads.ts';
import { bucketEnvironment, describeWithBucket, openClient, s3Skip, startProxy, useBucket } from '../helpers/s3.ts';
import { eventually, logLines, useService } from '../helpers/shared.ts';

const bucket = useBucket();
// A service that is told where its bucket is has to be started after the way to it.
const proxy = s3Skip ? null : await startProxy(bucket.endpoint);

describeWithBucket('A file in a bucket', () => {
  assert.ok(proxy);
  const service = useService(
    `export default { collections: [{
      slug: 'files', upload: { maxFileSize: 50_000_000 }, fields: [{ name: 'alt', type: 'text' }], access: { read: () => true },
    }] }`,
    { ANNALS_THREADS: '1', ...bucketEnvironment({ ...bucket, endpoint: proxy.url }) },
  );
  const file = downloadsFrom(service, 10);

  it('is a 503 while the bucket is away, and there again with it', async () => {
    const { url, sha256, bytes } = file();
    proxy.cut();
    const { status, headers, body } = await service.call('GET', url);
    assert.deepEqual([status, headers.get('retry-after'), body.statusCode], [503, '5', 503]);
    assert.doesNotMatch(JSON.stringify(body), /127\.0\.0\.1|ECONN|annals-test/);
    // What needs no bytes is answered.
    assert.equal((await get(service, url, { 'if-none-match': `"${sha256}"` })).status, 304);
    assert.equal((await get(service, url, { range: 'bytes=12000000-' })).status, 416);
    await proxy.heal();
    assert.ok((await get(service, url)).bytes.equals(bytes));
  });

  it('is cut off where the bucket goes away in the middle, and the log says so once', async () => {
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

  it('is nothing to tell where the caller goes away', async () => {
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
