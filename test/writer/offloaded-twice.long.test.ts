import assert from 'node:assert/strict';
import { cpSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, it, type TestContext } from 'node:test';
import type { Config } from '../../config/define.ts';
import { usualSizes } from '../../events/segments/segment-writer.ts';
import { segmentsOf } from '../../events/segments/segments.ts';
import { holding } from '../../storage/bucket/holder.ts';
import { withDatabase } from '../../storage/sqlite.ts';
import { type HereService, startHere } from '../helpers/embedded.ts';
import { describeWithBucket, openClient, useBucket } from '../helpers/s3.ts';
import { eventually, useFolder } from '../helpers/shared.ts';

const config: Config = { collections: [{ slug: 'posts', fields: [{ name: 'title', type: 'text' }] }] };

describeWithBucket('Two data directories of one log with the same bucket', () => {
  const usual = { ...usualSizes };
  // Sizes for the whole process, with which few events make a segment.
  before(() => Object.assign(usualSizes, { events: 20, hot: 5 }));
  after(() => Object.assign(usualSizes, usual));
  const bucket = useBucket();
  const folder = useFolder();
  const [first, second] = [join(folder, 'first'), join(folder, 'second')];
  const ends: (() => unknown)[] = [];
  const context = { after: (end: () => unknown) => ends.push(end) } as unknown as TestContext;
  after(async () => {
    for (const end of ends.reverse()) await end();
  });
  const open = (data: string) => startHere(context, config, { data, bucket: { ...bucket, localRetentionBytes: 0 } });
  const segments = (data: string) => withDatabase(join(data, 'log.db'), { readonly: true }, segmentsOf);
  const here = (data: string) => readdirSync(join(data, 'segments')).filter((name) => name.endsWith('.seg'));
  const objects = async () =>
    (await Array.fromAsync(openClient(bucket).listObjectsV2(bucket.name, 'segments/', true)))
      .map(({ name }) => name.slice('segments/'.length))
      .filter((name) => name.endsWith('.seg'));
  const allMoved = (data: string, least: number) =>
    eventually(() => segments(data).length >= least && here(data).length === 0);
  const warnings = ({ lines }: HereService) =>
    lines().flatMap(({ msg }) => (/^no segment of the log is moved/.test(msg) ? [String(msg)] : []));

  async function post(service: HereService, title: string): Promise<string> {
    const { status, body } = await service.call('POST', '/api/collections/posts', { title });
    assert.equal(status, 201, JSON.stringify(body));
    return body.id;
  }
  const fill = async (service: HereService) => {
    for (let count = 0; count < 45; count += 1) await post(service, `Quokka-${count}`);
  };

  let one: HereService;
  let other: HereService;
  let id = '';

  it('are told apart: only the first one moves and removes there, also through a restart', async () => {
    one = await open(first);
    id = await post(one, 'Numbat');
    await fill(one);
    await allMoved(first, 2);
    await one.stop();
    cpSync(first, second, { recursive: true });
    other = await open(second);
    await eventually(() => warnings(other).length > 0);
    assert.match(warnings(other)[0] ?? '', /is in use by another data directory of this log.+ GMT, .+segments\/holder/);
    one = await open(first);
    await Promise.all([fill(one), fill(other)]);
    await allMoved(first, 4);
    assert.deepEqual(warnings(one), []);
    await eventually(() => here(second).length === 2);
    assert.deepEqual(
      await objects(),
      segments(first).map(({ file }) => file),
    );
  });

  it('have one that erases in vain, and takes nothing from the other', async () => {
    const { status, body } = await other.call('POST', '/api/audit/erasures', {
      collection: 'posts',
      id,
      reason: 'asked to',
    });
    assert.deepEqual([status, body.finished], [202, false], JSON.stringify(body));
    assert.deepEqual(
      await objects(),
      segments(first).map(({ file }) => file),
    );
    const { body: history } = await one.call('GET', `/api/audit/documents/posts/${id}`);
    assert.equal(history.docs?.length, 1, JSON.stringify(history));
    const events = await one.call('GET', '/api/audit/events?limit=100');
    assert.equal(events.status, 200, JSON.stringify(events.body));
  });

  it('have the second one go on when the first is gone, and says nothing for a day', async () => {
    await one.stop();
    await other.stop();
    holding.lease = 0;
    other = await open(second);
    await allMoved(second, 4);
    const isDone = () =>
      withDatabase(join(second, 'log.db'), { readonly: true }, (db) =>
        db.prepare('SELECT min(done) FROM erasures').pluck().get(),
      ) === 1;
    await eventually(isDone);
    assert.deepEqual(
      await objects(),
      segments(second).map(({ file }) => file),
    );
    assert.deepEqual(warnings(other), []);
    const events = await other.call('GET', '/api/audit/events?limit=100');
    assert.equal(events.status, 200, JSON.stringify(events.body));
  });
});
