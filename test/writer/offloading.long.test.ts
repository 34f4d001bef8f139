import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, it, type TestContext } from 'node:test';
import type { Config } from '../../config/define.ts';
import { readLog } from '../../events/log/log-reader.ts';
import { refuseOffloaded } from '../../events/segments/offloaded.ts';
import { usualSizes } from '../../events/segments/segment-writer.ts';
import { segmentFolder, segmentsOf } from '../../events/segments/segments.ts';
import { verifyInSteps } from '../../events/verify/verify.ts';
import { withDatabase } from '../../storage/sqlite.ts';
import { type HereService, startHere } from '../helpers/embedded.ts';
import { remainsIn } from '../helpers/leftovers.ts';
import { bucketEnvironment, describeWithBucket, openClient, startProxy, useBucket } from '../helpers/s3.ts';
import { apiKey, runCommand, type Service, startService } from '../helpers/service.ts';
import { eventually, recordedEvents, useFolder } from '../helpers/shared.ts';
import { unzip } from '../helpers/unzip.ts';

const config: Config = { collections: [{ slug: 'posts', fields: [{ name: 'title', type: 'text' }] }] };

describeWithBucket('A service whose segments are in a bucket', () => {
  const usual = { ...usualSizes };
  // Sizes for the whole process, with which few events make a segment.
  before(() => Object.assign(usualSizes, { events: 20, hot: 5 }));
  after(() => Object.assign(usualSizes, usual));
  const bucket = useBucket();
  const folder = useFolder();
  const data = join(folder, 'data');
  const configFile = join(folder, 'annals.config.json');
  let service: HereService;
  let id = '';
  let at = '';

  const segments = () => withDatabase(join(data, 'log.db'), { readonly: true }, segmentsOf);
  const here = () => readdirSync(join(data, 'segments')).filter((name) => name.endsWith('.seg'));
  const inLog = (sql: string) =>
    withDatabase(join(data, 'log.db'), { readonly: true }, (db) => db.prepare(sql).pluck().get());
  const forgetFetched = () => {
    for (const name of readdirSync(join(data, 'segments'), { recursive: true, encoding: 'utf8' }))
      if (name.endsWith('.fetched')) rmSync(join(data, 'segments', name));
  };
  const fetched = () =>
    readdirSync(join(data, 'segments'), { recursive: true, encoding: 'utf8' }).filter((name) =>
      name.endsWith('.fetched'),
    );
  const environment = bucketEnvironment(bucket);

  async function objects(): Promise<{ name: string; bytes: Buffer }[]> {
    const client = openClient(bucket);
    const found: { name: string; bytes: Buffer }[] = [];
    for await (const { name = '' } of client.listObjects(bucket.name, '', true))
      found.push({ name, bytes: Buffer.concat(await (await client.getObject(bucket.name, name)).toArray()) });
    return found;
  }

  const open = (endpoint = bucket.endpoint): Promise<HereService> =>
    startHere(context, config, { data, bucket: { ...bucket, endpoint, localRetentionBytes: 0 } });

  async function post(title: string): Promise<string> {
    const { status, body } = await service.call('POST', '/api/collections/posts', { title });
    assert.equal(status, 201, JSON.stringify(body));
    return body.id;
  }

  async function patch(title: string): Promise<void> {
    const { status, body } = await service.call('PATCH', `/api/collections/posts/${id}`, { title });
    assert.equal(status, 200, JSON.stringify(body));
  }

  const allAway = () =>
    eventually(
      () => Number(inLog('SELECT min(position) FROM payloads')) > (segments().at(-1)?.last ?? 0) && here().length === 0,
    );

  const ends: (() => unknown)[] = [];
  const context = { after: (end: () => unknown) => ends.push(end) } as unknown as TestContext;
  after(async () => {
    for (const end of ends.reverse()) await end();
  });

  before(async () => {
    mkdirSync(folder, { recursive: true });
    writeFileSync(configFile, JSON.stringify(config));
    service = await open();
    id = await post('Numbat-0');
    for (let count = 1; count < 6; count += 1) {
      for (let other = 0; other < 15; other += 1) await post(`Bilby-${count}-${other}`);
      await patch(`Numbat-${count}`);
    }
    at = `${inLog('SELECT size FROM head')}`;
    await eventually(() => segments().length >= 3);
    await allAway();
  });

  it('keeps none of their files here, and has each in the bucket as it was', async () => {
    const found = (await objects()).filter(({ name }) => name.endsWith('.seg'));
    assert.deepEqual(
      found.map(({ name, bytes }) => [name, bytes.length]),
      segments().map(({ file, bytes }) => [`segments/${file}`, bytes]),
    );
  });

  it('answers history and versions of a document by parts of them, as before', async () => {
    forgetFetched();
    const history = await service.call('GET', `/api/audit/documents/posts/${id}`);
    assert.equal(history.status, 200, JSON.stringify(history.body));
    assert.equal(history.body.docs?.length, 6);
    assert.notEqual(fetched().length, 0);
    const events = await service.call('GET', '/api/audit/events?limit=100');
    assert.equal(events.status, 200);
    const past = await service.call(
      'GET',
      `/api/collections/posts?asOf=${at}&limit=1&where=${encodeURIComponent(JSON.stringify({ title: { equals: 'Numbat-5' } }))}`,
    );
    assert.deepEqual(
      [past.status, past.body.docs?.map(({ title }: { title: string }) => title)],
      [200, ['Numbat-5']],
      JSON.stringify(past.body),
    );
  });

  it('is verified, rebuilt, and saved with all of them', async () => {
    const verified = await runCommand(['verify', '--data', data], { environment });
    assert.match(verified.stdout, /^sound: the log is whole/m, verified.stdout + verified.stderr);
    const file = join(folder, 'saved.annals');
    const made = await runCommand(['backup', '--out', file, '--data', data], { environment });
    assert.equal(made.code, 0, made.stdout + made.stderr);
    const restored = join(folder, 'restored');
    const put = await runCommand(['restore', file, '--data', restored]);
    assert.equal(put.code, 0, put.stdout + put.stderr);
    assert.deepEqual(
      readdirSync(join(restored, 'segments')),
      segments().map(({ file }) => file),
    );
    assert.ok(recordedEvents(restored).length > 80);
    await service.stop();
    const rebuilt = await runCommand(['rebuild', '--data', data, '--config', configFile], {
      environment: environment,
    });
    assert.match(rebuilt.stdout, /rebuilt the read tables/, rebuilt.stdout + rebuilt.stderr);
    const without = await runCommand(['verify', '--data', data]);
    assert.match(without.stdout, /^UNDECIDED: the segment of events 1 to 20 of the log is in a bucket/m);
    service = await open();
    assert.deepEqual(here(), []);
  });

  it('answers 503 for offloaded payloads while the bucket is away, everything else, and all afterwards', async (t) => {
    const proxy = await startProxy(bucket.endpoint);
    await service.stop();
    forgetFetched();
    const begin = () =>
      startService(t, config, {
        data,
        environment: { ...environment, ANNALS_S3_ENDPOINT: proxy.url, ANNALS_S3_LOCAL_RETENTION_BYTES: '0' },
      });
    const history = (of: Service) => of.call('GET', `/api/audit/documents/posts/${id}`);
    for (const isBefore of [false, true]) {
      if (isBefore) proxy.cut();
      const other = await begin();
      if (!isBefore) proxy.cut();
      const { status, body } = await history(other);
      assert.equal(status, 503, JSON.stringify(body));
      assert.match(body.message, /earlier events, which are in the bucket/);
      assert.equal((await other.call('GET', `/api/collections/posts/${id}`)).status, 200);
      assert.equal((await other.call('POST', '/api/collections/posts', { title: 'Wombat' })).status, 201);
      await proxy.heal();
      assert.deepEqual([(await history(other)).status, fetched().length > 0], [200, true]);
      const headers = { 'x-api-key': apiKey };
      const exported = await fetch(`${other.url}/api/audit/export?from=1&to=60`, { headers });
      assert.equal(exported.status, 200);
      const events = unzip(Buffer.from(await exported.arrayBuffer())).get('events.ndjson');
      assert.equal(events?.toString().match(/Numbat-/g)?.length, 4);
      await other.stop();
      forgetFetched();
    }
    service = await open();
  });

  it('serves nothing of an altered one, and names it', async (t) => {
    const { file = '', first, last } = segments()[1] ?? {};
    const name = `segments/${file}`;
    const client = openClient(bucket);
    const bytes = (await objects()).find((object) => object.name === name)?.bytes as Buffer;
    const altered = Buffer.from(bytes);
    for (let place = bytes.length - 200; place < bytes.length; place += 1) altered[place] = (altered[place] ?? 0) ^ 64;
    await service.stop();
    const which = `the segment of events ${first} to ${last} of the log`;
    for (const [change, outcome, verdict] of [
      [() => client.putObject(bucket.name, name, altered), 'was altered', 'NOT SOUND'],
      [() => client.removeObject(bucket.name, name), 'is missing in the bucket', 'UNDECIDED'],
    ] as const) {
      await change();
      forgetFetched();
      const other = await startService(t, config, { data, environment });
      const { status, body } = await other.call('GET', `/api/audit/documents/posts/${id}`);
      assert.deepEqual([status, Object.keys(body)], [500, ['statusCode', 'error', 'message', 'code']]);
      assert.ok(body.message.startsWith(`${which} ${outcome}`), body.message);
      await other.stop();
      const verified = await runCommand(['verify', '--data', data], { environment });
      assert.ok(verified.stdout.includes(`${verdict}: ${which} ${outcome}`), verified.stdout + verified.stderr);
    }
    forgetFetched();
    await client.putObject(bucket.name, name, bytes);
    service = await open();
  });

  it('erases from them, and leaves nothing in any file or object', async () => {
    const isThere = async () => (await objects()).some(({ name }) => name.endsWith('.seg'));
    assert.ok(await isThere());
    const former = segments().map(({ file }) => file);
    const answer = await service.call('POST', '/api/audit/erasures', { collection: 'posts', id, reason: 'asked to' });
    assert.ok([201, 202].includes(answer.status), JSON.stringify(answer.body));
    await eventually(() => inLog('SELECT min(done) FROM erasures') === 1);
    await allAway();
    assert.deepEqual(remainsIn(data, ['Numbat-']), []);
    const now = segments().map(({ file }) => file);
    assert.notDeepEqual(now.slice(0, former.length), former);
    assert.deepEqual(
      (await objects()).map(({ name }) => name).filter((name) => name.endsWith('.seg')),
      now.map((file) => `segments/${file}`),
    );
    assert.ok(!existsSync(join(data, 'segments', `${former[0]}.away`)));
    const verified = await runCommand(['verify', '--data', data], { environment });
    assert.match(verified.stdout, /^sound: the log is whole/m, verified.stdout + verified.stderr);
    await service.stop();
    refuseOffloaded(segmentFolder(join(data, 'log.db')));
    const troubles = withDatabase(join(data, 'log.db'), { readonly: true }, (db) => {
      for (const steps = verifyInSteps(db, readLog(db).head(), { seen: [], look: () => {} }); ; ) {
        const step = steps.next();
        if (step.done) return step.value;
      }
    });
    assert.equal(troubles, null, 'the background verification leaves them out');
  });

  it('keeps the newest here up to a bound, and moves nothing without one', async () => {
    const [newest] = segments().slice(-1);
    for (const [bound, isHere] of [
      [3 * (newest?.bytes ?? 0), true],
      [undefined, true],
      [0, false],
    ] as const) {
      service = await startHere(context, config, {
        data,
        bucket: bound === undefined ? bucket : { ...bucket, localRetentionBytes: bound },
      });
      const { length } = segments();
      if (isHere) for (let count = 0; count < 25; count += 1) await post(`Quokka-${count}`);
      await eventually(() => !isHere || segments().length > length);
      if (isHere) assert.ok(here().includes(segments().at(-1)?.file ?? ''));
      else await allAway();
      await service.stop();
    }
    assert.deepEqual(here(), []);
  });

  it('goes on when it is stopped in the middle, and when the bound is another one then', async () => {
    const bounds = [0, undefined, 1_000_000, 0];
    for (const bound of bounds) {
      service = await startHere(context, config, {
        data,
        bucket: bound === undefined ? bucket : { ...bucket, localRetentionBytes: bound },
      });
      for (let count = 0; count < 45; count += 1) await post(`Potoroo-${count}`);
      const { status, body } = await service.call('GET', '/api/audit/events?limit=100');
      assert.deepEqual([status, body.docs?.length], [200, 100], JSON.stringify(body));
      await service.stop();
    }
    service = await open();
    const unarchived = () => Number(inLog('SELECT size FROM head')) - (segments().at(-1)?.last ?? 0);
    await eventually(() => unarchived() < usualSizes.events + usualSizes.hot);
    await allAway();
    const found = (await objects()).filter(({ name }) => name.endsWith('.seg')).map(({ name }) => name);
    assert.deepEqual(
      found,
      segments().map(({ file }) => `segments/${file}`),
    );
    await service.stop();
    const verified = await runCommand(['verify', '--data', data], { environment });
    assert.match(verified.stdout, /^sound: the log is whole/m, verified.stdout + verified.stderr);
  });
});
