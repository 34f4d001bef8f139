import assert from 'node:assert/strict';
import { readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, it, type TestContext } from 'node:test';
import type { Config } from '../../config/define.ts';
import { usualSizes } from '../../events/segments/segment-writer.ts';
import { segmentsOf } from '../../events/segments/segments.ts';
import { withDatabase } from '../../storage/sqlite.ts';
import { type HereService, startHere } from '../helpers/embedded.ts';
import { describeWithBucket, startProxy, useBucket } from '../helpers/s3.ts';
import type { CallOptions } from '../helpers/service.ts';
import { eventually, useFolder } from '../helpers/shared.ts';

// Sizes for the whole process, with which few events make a segment.
Object.assign(usualSizes, { events: 20, hot: 5 });

const config: Config = { collections: [{ slug: 'posts', fields: [{ name: 'title', type: 'text' }] }] };
const posts = '/api/collections/posts';

describeWithBucket('A write that needs earlier events, which are in a bucket', () => {
  const bucket = useBucket();
  const data = join(useFolder(), 'data');
  let service: HereService;
  const call = (...args: Parameters<HereService['call']>) => service.call(...args);
  const ends: (() => unknown)[] = [];
  const context = { after: (end: () => unknown) => ends.push(end) } as unknown as TestContext;
  after(async () => {
    for (const end of ends.reverse()) await end();
  });
  const open = (endpoint = bucket.endpoint): Promise<HereService> =>
    startHere(context, config, { data, bucket: { ...bucket, endpoint, localRetentionBytes: 0 } });
  const inLog = (sql: string) =>
    withDatabase(join(data, 'log.db'), { readonly: true }, (db) => Number(db.prepare(sql).pluck().get()));
  const size = () => inLog('SELECT size FROM head');
  const names = () => readdirSync(join(data, 'segments'), { recursive: true, encoding: 'utf8' });
  const fetched = () => names().filter((name) => name.endsWith('.fetched'));

  let kept: Record<'changed' | 'deleted' | 'erased' | 'batch', string>;

  async function post(title: string, options: CallOptions = {}): Promise<string> {
    const { status, body } = await call('POST', posts, { title }, options);
    assert.equal(status, 201, JSON.stringify(body));
    return body.id;
  }

  /** Each write needs a segment that no read has used, because the thread keeps what it has read. */
  async function fillSegment(): Promise<void> {
    for (let count = 0; count < 20; count += 1) await post(`Quokka-${count}`);
  }

  before(async () => {
    service = await open();
    // The frames of the first segment with the service's own events stay here.
    await fillSegment();
    const changed = await post('Wombat');
    await call('PATCH', `${posts}/${changed}`, { title: 'Wombat too' });
    await fillSegment();
    const deleted = await post('Bilby');
    await call('DELETE', `${posts}/${deleted}`);
    await fillSegment();
    const ids = [await post('Quoll'), await post('Dunnart')];
    const { status, body } = await call('POST', `${posts}/bulk/update`, { ids, data: { title: 'Dibbler' } });
    assert.equal(status, 200, JSON.stringify(body));
    await fillSegment();
    await post('Numbat', { headers: { 'idempotency-key': 'first' } });
    await fillSegment();
    kept = { changed, deleted, batch: body.batch, erased: await post('Bettong') };
    await fillSegment();
    const archived = () => withDatabase(join(data, 'log.db'), { readonly: true }, segmentsOf).at(-1)?.last ?? 0;
    const isMoved = () => archived() >= 120 && names().every((name) => !name.endsWith('.seg'));
    await eventually(() => isMoved() && inLog('SELECT min(position) FROM payloads') > archived());
    await service.stop();
  });

  const writes: [name: string, expected: number[], write: () => ReturnType<HereService['call']>][] = [
    ['a restore of a version', [200], () => call('POST', `${posts}/${kept.changed}/restore`, { version: 1 })],
    ['a restore of what was deleted', [200], () => call('POST', `${posts}/${kept.deleted}/restore`, { version: 1 })],
    ['an undo of a bulk call', [200], () => call('POST', `/api/batches/${kept.batch}/undo`)],
    [
      'a create that is sent again',
      [201],
      () => call('POST', posts, { title: 'Numbat' }, { headers: { 'idempotency-key': 'first' } }),
    ],
    [
      'an erasure',
      [201, 202],
      () => call('POST', '/api/audit/erasures', { collection: 'posts', id: kept.erased, reason: 'asked to' }),
    ],
  ];

  it('is a 503 that may be tried again while the bucket does not answer, and records nothing', async () => {
    const proxy = await startProxy(bucket.endpoint);
    service = await open(proxy.url);
    const found = size();
    proxy.cut();
    for (const [name, , write] of writes) {
      const { status, body, headers } = await write();
      assert.equal(status, 503, `${name}: ${JSON.stringify(body)}`);
      assert.match(body.message, /earlier events, which are in the bucket/, name);
      assert.ok(Number(headers.get('retry-after')) > 0, name);
    }
    assert.equal(size(), found);
    assert.equal((await call('POST', posts, { title: 'Potoroo' })).status, 201);
    await service.stop();
    service = await open();
  });

  for (const [name, expected, write] of writes)
    it(`is done when it does, and fetches them: ${name}`, async () => {
      assert.deepEqual(fetched(), []);
      const { status, body } = await write();
      assert.ok(expected.includes(status), JSON.stringify(body));
      // An erasure that is finished has removed them.
      assert.ok(fetched().length > 0 || body.finished === true);
      for (const frame of fetched()) rmSync(join(data, 'segments', frame));
    });
});
