import assert from 'node:assert/strict';
import { globSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { it } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import Database from 'better-sqlite3';
import { runHere } from '../helpers/in-process.ts';
import { startService, temporaryFolder } from '../helpers/service.ts';
import { eventually } from '../helpers/shared.ts';

const config = {
  collections: [
    {
      slug: 'posts',
      fields: [
        { name: 'title', type: 'text' },
        { name: 'code', type: 'text', unique: true },
      ],
    },
  ],
};
/** The documents of each call. */
const size = 200;

/** The number of events in each bulk call of a log. */
function sizesIn(data: string): Map<string, number> {
  const db = new Database(join(data, 'log.db'), { readonly: true });
  const headers = db.prepare<[], string>('SELECT header FROM headers').pluck().all();
  db.close();
  const sizes = new Map<string, number>();
  for (const { batch } of headers.map((header) => JSON.parse(header))) {
    if (batch !== undefined) sizes.set(batch, (sizes.get(batch) ?? 0) + 1);
  }
  return sizes;
}

it('A bulk call takes effect whole or not at all after a kill, and a rebuild gives the same', async (t) => {
  const data = join(temporaryFolder(t), 'data');
  const environment = { ANNALS_THREADS: '1' };
  const service = await startService(t, config, { data, environment });
  const answered: string[] = [];
  const codes = Array.from({ length: size }, (_, index) => `c${index}`);
  const clients = [0, 1, 2].map(async (client) => {
    for (let count = 0; ; count += 1) {
      const title = `${client} ${count}`;
      const body =
        client === 0
          ? { docs: codes.map((code) => ({ title, code })), upsertBy: 'code' }
          : { docs: codes.map(() => ({ title })) };
      const { status, body: answer } = await service.call('POST', '/api/collections/posts/bulk', body);
      assert.ok(status === 200 || status === 201);
      answered.push(answer.batch);
    }
  });
  const ended = Promise.allSettled(clients);
  await eventually(() => answered.length >= 9);
  await wait(Math.random() * 50);
  await service.kill();
  await ended;

  const again = await startService(t, config, { data, environment });
  const sizes = sizesIn(data);
  assert.deepEqual(new Set(sizes.values()), new Set([size]));
  assert.deepEqual(
    answered.filter((batch) => !sizes.has(batch)),
    [],
  );
  const [batch = ''] = answered;
  const eventsOf = async (url: typeof again) =>
    (await url.call('GET', `/api/audit/events?batch=${batch}&limit=1000`)).body.docs;
  const [events, posts] = [await eventsOf(again), (await again.call('GET', '/api/collections/posts?limit=100')).body];
  assert.equal(events.length, size);
  await again.stop();
  // The tables as they were kept, against those that the log makes.
  const verified = await runHere(['verify', '--data', data]);
  assert.equal(verified.code, 0, verified.stdout + verified.stderr);

  for (const file of globSync('read-*.db*', { cwd: data })) rmSync(join(data, file));
  const rebuilt = await startService(t, config, { data, environment });
  assert.deepEqual(await eventsOf(rebuilt), events);
  assert.deepEqual((await rebuilt.call('GET', '/api/collections/posts?limit=100')).body, posts);
});
