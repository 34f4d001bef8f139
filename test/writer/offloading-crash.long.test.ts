import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { existsSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { it } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { segmentsOf } from '../../events/segments/segments.ts';
import { withDatabase } from '../../storage/sqlite.ts';
import { payloadsIn, remainsIn } from '../helpers/leftovers.ts';
import { roundsOf } from '../helpers/rounds.ts';
import { bucketEnvironment, describeWithBucket, openClient, useBucket } from '../helpers/s3.ts';
import { runCommand, startService } from '../helpers/service.ts';
import { eventually, useFolder } from '../helpers/shared.ts';

const rounds = roundsOf(12, 5);
const child = fileURLToPath(new URL('offloading-child.ts', import.meta.url));
const config = { collections: [{ slug: 'posts', fields: [{ name: 'title', type: 'text' as const }] }] };

describeWithBucket('A service that is killed while it moves segments into a bucket, and erases from them', () => {
  const bucket = useBucket();
  const data = join(useFolder(), 'data');
  const environment = bucketEnvironment(bucket);
  const inLog = <T>(sql: string) =>
    withDatabase(join(data, 'log.db'), { readonly: true }, (db) => db.prepare<[], T>(sql).pluck().get());

  async function objects(): Promise<Map<string, Buffer>> {
    const client = openClient(bucket);
    const found = new Map<string, Buffer>();
    for await (const { name = '' } of client.listObjects(bucket.name, 'segments/', true))
      if (name.endsWith('.seg'))
        found.set(name, Buffer.concat(await (await client.getObject(bucket.name, name)).toArray()));
    return found;
  }

  it('has everything acknowledged at the next start, and nothing erased in any file or object', async (t) => {
    const printed: string[] = [];
    for (let round = 0; round < rounds; round += 1) {
      const running = spawn(process.execPath, [child, JSON.stringify({ data, bucket })], {
        stdio: ['ignore', 'pipe', 'inherit'],
      });
      const first = printed.length;
      running.stdout.setEncoding('utf8').on('data', (text: string) => printed.push(text));
      // At any moment, and in each second round after something was erased.
      const awaited = round % 2 === 0 ? /^erased /m : /^made /m;
      await eventually(() => awaited.test(printed.slice(first).join('')));
      await setTimeout(100 + Math.random() * 900);
      const ended = new Promise((resolve) => running.once('exit', resolve));
      running.kill('SIGKILL');
      await ended;
      const verified = await runCommand(['verify', '--data', data], { environment });
      // No checkpoint may have been signed yet.
      assert.match(verified.stdout, /^sound: the log is whole/m, verified.stdout + verified.stderr);
    }
    // As after a restore: an object that the data directory does not know.
    const strayed = [...(await objects()).keys()].at(0)?.replace('segments/', '') ?? '';
    if (existsSync(join(data, 'segments', strayed)))
      rmSync(join(data, 'segments', `${strayed}.away`), { recursive: true });

    const service = await startService(t, config, {
      data,
      environment: { ...environment, ANNALS_S3_LOCAL_RETENTION_BYTES: '0' },
    });
    const here = () => readdirSync(join(data, 'segments')).filter((name) => name.endsWith('.seg'));
    await eventually(() => inLog('SELECT coalesce(min(done), 1) FROM erasures') === 1 && here().length === 0);
    const names = (kind: string) =>
      [...printed.join('').matchAll(new RegExp(`^${kind} (\\S+)$`, 'gm'))].map(([, one = '']) => one);
    const known = new Set(
      withDatabase(join(data, 'log.db'), { readonly: true }, segmentsOf).map(({ file }) => `segments/${file}`),
    );
    assert.ok(known.size > rounds / 4);
    const found = await objects();
    for (const file of known) assert.ok(found.has(file), file);
    // The last erasure may not have arrived before the kill.
    const asked = names('erased');
    const erasures = Number(inLog('SELECT count(*) FROM erasures'));
    assert.ok(erasures > rounds / 6 && erasures >= asked.length - rounds, `${erasures} of ${asked.length}`);
    const texts = [...found.values()].map((bytes) => payloadsIn(bytes).toString('latin1').toLowerCase());
    let isGone = 0;
    for (const title of asked) {
      const left = remainsIn(data, [title]).length + texts.filter((text) => text.includes(title.toLowerCase())).length;
      if (left === 0) isGone += 1;
    }
    assert.equal(isGone, erasures);
    for (const title of names('made')
      .filter((one) => !asked.includes(one))
      .slice(0, 3)) {
      const where = encodeURIComponent(JSON.stringify({ title: { equals: title } }));
      const { body } = await service.call('GET', `/api/collections/posts?where=${where}`);
      assert.ok(JSON.stringify(body).includes(title), title);
    }
    await service.stop();
    const verified = await runCommand(['verify', '--data', data], { environment });
    assert.match(verified.stdout, /^sound: the log is whole/m, verified.stdout + verified.stderr);
  });
});
