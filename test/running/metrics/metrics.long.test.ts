import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { type Definition, definitions } from '../../../server/running/metrics/definitions.ts';
import { openDatabase } from '../../../storage/sqlite.ts';
import { runHere } from '../../helpers/in-process.ts';
import { type Exposed, readExposition, sumOf } from '../../helpers/metrics.ts';
import { apiKey, startService, temporaryFolder, writeConfig } from '../../helpers/service.ts';
import { askUntil, launch } from '../../helpers/shared.ts';

const config = {
  bcryptCost: 4,
  collections: [
    { slug: 'posts', fields: [{ name: 'title', type: 'text' }] },
    { slug: 'users', auth: true, fields: [] },
  ],
};
const posts = '/api/collections/posts';
const token = 'a-token-of-some-length';
const withToken = { ANNALS_METRICS_TOKEN: token };

async function scrape(url: string, authorization: string | null = `Bearer ${token}`) {
  const response = await fetch(url, { headers: authorization === null ? {} : { authorization } });
  return { status: response.status, type: response.headers.get('content-type'), text: await response.text() };
}

async function exposed(url: string): Promise<Exposed> {
  const { status, type, text } = await scrape(`${url}/metrics`);
  assert.deepEqual([status, type], [200, 'text/plain; version=0.0.4; charset=utf-8'], text);
  return readExposition(text);
}

/** Looks again until it is as it should be: threads send their counts each second. */
function until(url: string, isThere: (found: Exposed) => boolean): Promise<Exposed> {
  return askUntil(() => exposed(url), isThere);
}

const requests = 'annals_http_requests_total';
const created = { method: 'POST', route: posts, status: '201' };

describe('GET /metrics', () => {
  it('tells that the log was verified, and that it was altered, after a restart too', async (t) => {
    const environment = { ...withToken, ANNALS_VERIFY_PERCENT: '100' };
    const service = await startService(t, config, { environment });
    for (const title of ['One', 'Two', 'Three']) await service.call('POST', posts, { title });
    const sound = await until(service.url, (found) => {
      const verified = found.types.has('annals_log_verified_position')
        ? sumOf(found, 'annals_log_verified_position')
        : 0;
      return verified === sumOf(found, 'annals_log_events');
    });
    assert.equal(sumOf(sound, 'annals_log_altered'), 0);
    assert.ok(sumOf(sound, 'annals_log_verified_age_seconds') < 60);
    const db = openDatabase(join(service.data, 'log.db'));
    db.exec("DROP TRIGGER payloads_update; UPDATE payloads SET body = replace(body, 'One', 'Oxe') WHERE position = 2");
    db.close();
    await until(service.url, (found) => sumOf(found, 'annals_log_altered') === 1);
    const { data } = service;
    await service.stop();
    const again = await startService(t, config, { data, environment: { ...withToken, ANNALS_VERIFY_PERCENT: '0' } });
    const found = await exposed(again.url);
    assert.equal(sumOf(found, 'annals_log_altered'), 1);
    assert.ok(!found.types.has('annals_log_verified_position'), 'absent before the first run');
  });

  it('counts requests by route and status over all threads, with no id in a label', async (t) => {
    for (const threads of ['0', '2']) {
      const service = await startService(t, config, { environment: { ...withToken, ANNALS_THREADS: threads } });
      const ids: string[] = [];
      for (let n = 0; n < 12; n += 1) ids.push((await service.call('POST', posts, { title: `t${n}` })).body.id);
      // Connections of their own reach all threads.
      for (const id of ids) await fetch(`${service.url}${posts}/${id}`, { headers: { connection: 'close' } });
      await service.call('GET', `${posts}/01a201f2-5ef2-7000-ae6f-23bc9bf4f63e`);
      await service.call('GET', `/secret-${ids[0]}/x?token=abc`);
      const found = await until(
        service.url,
        (found) =>
          sumOf(found, requests, created) === 12 &&
          sumOf(found, requests, { route: `${posts}/{id}` }) === 13 &&
          sumOf(found, requests, { status: '404' }) === 2,
      );
      assert.equal(sumOf(found, requests, { route: '/{any*}', status: '404' }), 1);
      assert.equal(sumOf(found, requests, { method: 'GET', route: `${posts}/{id}`, status: '404' }), 1);
      const of = { method: 'POST', route: posts };
      assert.equal(sumOf(found, 'annals_http_request_duration_seconds_count', of), 12);
      assert.ok(sumOf(found, 'annals_http_request_duration_seconds_sum', of) > 0);
      const labels = JSON.stringify(found.series.map((one) => one.labels));
      assert.doesNotMatch(labels, /[\da-f]{8}-[\da-f]{4}|secret|abc/);
      await service.kill();
    }
  });

  it('tells of the writer, the log, its files, the disk and the process', async (t) => {
    const service = await startService(t, config, { environment: withToken });
    for (let n = 0; n < 5; n += 1) await service.call('POST', posts, { title: `t${n}` });
    await fetch(`${service.url}/api/audit/checkpoint`, { headers: { 'x-api-key': apiKey } });
    const before = await exposed(service.url);
    const events = sumOf(before, 'annals_log_events');
    assert.ok(events >= 6);
    assert.equal(sumOf(before, 'annals_checkpoint_unsigned_events'), 0);
    assert.ok(sumOf(before, 'annals_checkpoint_age_seconds') < 60);
    assert.ok(sumOf(before, 'annals_writer_batch_commands_sum') >= 5);
    assert.ok(sumOf(before, 'annals_writer_sync_seconds_sum') > 0);
    assert.equal(
      sumOf(before, 'annals_writer_sync_seconds_count'),
      sumOf(before, 'annals_writer_batch_commands_count'),
    );
    for (const file of ['log', 'read', 'vault', 'log_wal'])
      assert.ok(sumOf(before, 'annals_file_bytes', { file }) > 0, file);
    assert.ok(sumOf(before, 'annals_disk_free_bytes') > 0);
    assert.ok(sumOf(before, 'annals_process_resident_bytes') > 1e7);
    assert.equal(sumOf(before, 'annals_build_info'), 1);
    for (const zero of ['annals_writes_refused', 'annals_mails_waiting', 'annals_erasures_unfinished'])
      assert.deepEqual(
        before.series.filter(({ name }) => name === zero).map(({ value }) => value),
        [0],
      );
    assert.ok(!before.types.has('annals_backup_age_seconds'));

    writeFileSync(join(service.data, 'backup.json'), '{"finishedAt": 7}');
    assert.ok(!(await exposed(service.url)).types.has('annals_backup_age_seconds'));
    const finishedAt = new Date(Date.now() - 3_600_000).toISOString();
    writeFileSync(join(service.data, 'backup.json'), JSON.stringify({ finishedAt, position: events - 2 }));
    const after = await exposed(service.url);
    const age = sumOf(after, 'annals_backup_age_seconds');
    assert.ok(age >= 3600 && age < 3900, `${age}`);
    assert.equal(sumOf(after, 'annals_backup_missing_events'), 2);

    const told = await until(service.url, (found) => sumOf(found, 'annals_event_loop_delay_seconds_count') > 1);
    for (const [name, type] of told.types) {
      assert.equal(type, definitions[name as keyof typeof definitions].type, name);
      assert.equal(told.helps.get(name), definitions[name as keyof typeof definitions].help);
    }
  });

  it('keeps its counts when a thread ends and is replaced, and counts that', async (t) => {
    const source = `export default { collections: [{ slug: 'posts', fields: [{ name: 'title', type: 'text' }], hooks: {
      beforeChange: [({ data }) => { if (data.title === 'throw') setTimeout(() => { throw new Error('x'); }); return data; }] } }] }`;
    const service = await startService(t, source, { environment: { ...withToken, ANNALS_THREADS: '1' } });
    for (let n = 0; n < 3; n += 1) await service.call('POST', posts, { title: 'fine' });
    await until(service.url, (found) => sumOf(found, requests, created) === 3);
    await service.call('POST', posts, { title: 'throw' }).catch(() => {});
    for (;;) {
      const isBack = await fetch(`${service.url}/health`).then(
        () => true,
        () => false,
      );
      if (isBack) break;
    }
    await service.call('POST', posts, { title: 'fine' });
    const found = await until(service.url, (found) => sumOf(found, requests, created) >= 4);
    assert.equal(sumOf(found, 'annals_thread_restarts_total'), 1);
  });

  it('does not exist without a token or an address, for this machine and the API key neither', async (t) => {
    const service = await startService(t, config);
    for (const key of [null, apiKey])
      assert.equal((await service.call('GET', '/metrics', undefined, { key })).status, 404);
    assert.equal((await scrape(`${service.url}/metrics`)).status, 401);
    assert.match((await scrape(`${service.url}/metrics`)).text, /the token is not valid/);
  });

  it('is for callers with the token alone', async (t) => {
    const service = await startService(t, config, { environment: withToken });
    for (const authorization of [
      null,
      'Bearer',
      `Basic ${token}`,
      `Bearer ${token}x`,
      `Bearer ${token.slice(1)}`,
      token,
    ]) {
      const { status, text } = await scrape(`${service.url}/metrics`, authorization);
      assert.equal(status, 401, String(authorization));
      assert.ok(!text.includes('annals_'));
    }
    assert.equal((await service.call('GET', '/metrics')).status, 401);
    assert.equal((await scrape(`${service.url}/metrics`, `bearer  ${token}`)).status, 200);
    assert.equal((await service.call('POST', '/metrics', {})).status, 405);
  });

  it('is at an address of its own, with a token if there is one, not among other routes', async (t) => {
    for (const environment of [{}, withToken]) {
      const service = await startService(t, config, {
        environment: { ANNALS_METRICS_ADDRESS: '127.0.0.1:0', ...environment },
      });
      const found = () => /metrics are at (http:\/\/127\.0\.0\.1:\d+\/metrics)/.exec(service.output().stderr)?.[1];
      while (!found()) await new Promise((go) => setTimeout(go, 20));
      const url = found() ?? '';
      const open = await scrape(url, null);
      assert.equal(open.status, 'ANNALS_METRICS_TOKEN' in environment ? 401 : 200);
      const { status, text } = await scrape(url);
      assert.equal(status, 200);
      assert.ok(readExposition(text).types.has(requests) || readExposition(text).types.has('annals_log_events'));
      assert.equal((await fetch(new URL('/', url))).status, 404);
      const wrong = await fetch(url, { method: 'POST', body: 'x' });
      assert.deepEqual([wrong.status, ((await wrong.json()) as { code: string }).code], [405, 'method_not_allowed']);
      assert.equal((await scrape(`${service.url}/metrics`, null)).status, 404);
      assert.equal(await service.stop(), 0);
    }
  });

  it('has the counts of each of several sites, and those of none', async (t) => {
    const folder = temporaryFolder(t);
    const file = join(folder, 'sites.json');
    const common = { config: writeConfig(folder, config), baseUrl: 'https://cms.example.org' };
    const ids = ['acme', 'beta'];
    const sites = ids.map((id) => ({ id, apiKeys: [`key-of-${id}-0000000`], ...common }));
    writeFileSync(file, JSON.stringify([...sites, { id: 'broken', ...common, config: '/no/such.config.json' }]));
    const service = launch(t, ['serve', '--port', '0', '--data', join(folder, 'data')], {
      ANNALS_SITES: file,
      ANNALS_THREADS: '2',
      ...withToken,
    });
    const url = await service.listening;
    for (const [at, site] of ids.entries()) {
      for (let n = 0; n <= at; n += 1) {
        const headers = {
          'x-site-id': site,
          'x-api-key': `key-of-${site}-0000000`,
          'content-type': 'application/json',
        };
        const { status } = await fetch(`${url}${posts}`, { method: 'POST', headers, body: '{"title":"x"}' });
        assert.equal(status, 201);
      }
    }
    const found = await until(url, (found) => sumOf(found, requests, created) === 3);
    for (const [at, site] of ids.entries()) {
      assert.equal(sumOf(found, requests, { site, ...created }), at + 1);
      assert.equal(sumOf(found, 'annals_site_up', { site }), 1);
      assert.ok(sumOf(found, 'annals_log_events', { site }) > 0);
    }
    assert.equal(
      found.series.find(({ name, labels }) => name === 'annals_site_up' && labels.site === 'broken')?.value,
      0,
    );
    await until(url, (found) => sumOf(found, requests, { site: '', route: '/metrics' }) > 0);
    const headers = { authorization: `Bearer ${token}`, 'x-site-id': 'acme' };
    assert.equal((await fetch(`${url}/metrics`, { headers })).status, 401);
  });

  it('refuses a wrong token or address, and shows no token', async () => {
    const { code, stderr } = await runHere(['serve'], {
      environment: { ANNALS_METRICS_TOKEN: 'too short', ANNALS_METRICS_ADDRESS: '9464' },
    });
    assert.equal(code, 2);
    assert.match(stderr, /^ANNALS_METRICS_TOKEN must be 16 letters, digits .* or more, as a Bearer token is/m);
    assert.match(stderr, /^ANNALS_METRICS_ADDRESS must be host:port, such as .*, got "9464"$/m);
    assert.doesNotMatch(stderr, /too short/);
  });
});

describe('docs/metrics.md', () => {
  it('has a line for each metric, with its type, labels and meaning', () => {
    const text = readFileSync(new URL('../../../docs/metrics.md', import.meta.url), 'utf8');
    const lines = text.split('\n').filter((line) => line.startsWith('| `annals_'));
    const wanted = Object.entries<Definition>(definitions).map(([name, { type, labels, of, help }]) => {
      const all = [...(of === 'site' ? ['site'] : []), ...labels].map((label) => `\`${label}\``).join(', ');
      return `| \`${name}\` | ${type} | ${all} | ${help} |`;
    });
    assert.deepEqual(lines, wanted);
  });
});
