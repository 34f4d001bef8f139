import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { cpSync, existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { pino } from 'pino';
import type { Config } from '../../../config/define.ts';
import { logFile } from '../../../projections/tables/files.ts';
import { openErasureWorker } from '../../../server/audit/erasure/worker.ts';
import { openCleaner } from '../../../storage/scrub.ts';
import type { Sqlite } from '../../../storage/sqlite.ts';
import { sealsIn } from '../../events/logs.ts';
import { startHere } from '../../helpers/embedded.ts';
import { runHere } from '../../helpers/in-process.ts';
import { remainsIn } from '../../helpers/leftovers.ts';
import { roundsOf } from '../../helpers/rounds.ts';
import { type Service, startService, temporaryFolder } from '../../helpers/service.ts';
import { eventually, recordedEvents } from '../../helpers/shared.ts';
import { type Directory, openDirectory } from '../../projections/directory.ts';

const config: Config = {
  collections: [{ slug: 'files', upload: true, fields: [{ name: 'alt', type: 'text', unique: true }] }],
};
const bytes = 'Quoll in its file';
const sha256 = createHash('sha256').update(bytes).digest('hex');
/** Each round costs two starts; more of them are tried by hand. */
const rounds = roundsOf(1, 1);

/** The steps of one erasure, each as the one before left it. */
const steps: [name: string, run: (made: { directory: Directory; data: string; id: string }) => void][] = [
  ['it was recorded', ({ directory, id }) => void directory.append(...erasureOf(directory, id))],
  [
    'the read tables have it',
    ({ directory: { log, projector } }) => {
      const from = projector.checkpoint()?.position ?? 0;
      projector.apply(log.range(from, log.head().size), log.head().root);
    },
  ],
  ['the log was cleaned', ({ directory: { databases } }) => clean(databases[0])],
  ['the read tables were cleaned', ({ directory: { databases } }) => clean(databases[1])],
  ['the stored file was removed', ({ data }) => rmSync(blobIn(data))],
];

function erasureOf({ log }: Directory, id: string): Parameters<Directory['append']> {
  const stream = `files/${id}`;
  const versions = log.versionOf(stream);
  const events = [{ type: 'document.erased' as const, data: { streams: [{ stream, versions }] } }];
  const change = { stream, expectedVersion: versions, events, claims: [], releases: [] };
  return [change, { erases: [stream], context: { reason: 'asked to' } }];
}

function blobIn(data: string): string {
  return join(data, 'blobs', sha256.slice(0, 2), sha256);
}

function clean(db: Sqlite): void {
  const cleaner = openCleaner(db);
  while (cleaner.step() !== 'done');
  cleaner.end();
}

/** A data directory as a killed process leaves it: what SQLite had not brought into its files is beside them. */
function copyOf(t: TestContext, data: string): string {
  const copy = join(temporaryFolder(t), 'data');
  cpSync(data, copy, { recursive: true, filter: (path) => !path.endsWith('-shm') });
  return copy;
}

async function finished({ call }: Pick<Service, 'call'>): Promise<void> {
  for (;;) {
    const { body } = await call('GET', '/api/audit/erasures');
    if (body.docs.every((one: { finished: boolean }) => one.finished)) return;
    await sleep(20);
  }
}

describe('an erasure that is broken off', () => {
  it('at any step is finished by the next start, in the data files before anything is answered', async (t) => {
    const data = join(temporaryFolder(t), 'data');
    const directory = openDirectory(data, config, { seals: sealsIn(data) });
    t.after(() => directory.close());
    const kept = directory.create('files', { alt: 'kept' });
    const id = directory.create('files', {
      alt: 'Quoll-0',
      sha256,
      filename: 'quoll.txt',
      mimeType: 'text/plain',
      filesize: bytes.length,
    });
    for (let count = 1; count < 30; count += 1) directory.update('files', id, { alt: `Quoll-${count}` });
    mkdirSync(dirname(blobIn(data)), { recursive: true });
    writeFileSync(blobIn(data), bytes);
    writeFileSync(join(data, 'blobs', 'annals-log'), 'annals/test\n');
    const root = directory.log.head().root;
    const size = directory.log.head().size;
    for (const [name, run] of steps) {
      run({ directory, data, id });
      const copy = copyOf(t, data);
      assert.ok(remainsIn(copy, ['Quoll', sha256]).length > 0, name);
      const service = await startHere(t, config, { data: copy });
      assert.deepEqual(remainsIn(copy, ['Quoll-', 'quoll.txt']), [], name);
      await finished(service);
      assert.deepEqual([remainsIn(copy, ['Quoll', sha256]), existsSync(blobIn(copy))], [[], false], name);
      assert.equal((await service.call('GET', `/api/collections/files/${id}`)).status, 404);
      assert.equal((await service.call('GET', `/api/collections/files/${kept}`)).body.alt, 'kept');
      await service.call('GET', '/api/audit/consistency?from=1');
      const { code, stdout } = await runHere(['verify', '--data', copy]);
      assert.equal(code, 0, `${name}: ${stdout}`);
      assert.equal(recordedEvents(copy).at(-1)?.type, 'document.erased');
      await service.stop();
    }
    assert.ok(directory.log.rootAt(size).equals(root));
  });

  it('with the thread that recorded it is finished all the same', async (t) => {
    const data = join(temporaryFolder(t), 'data');
    const directory = openDirectory(data, config);
    t.after(() => directory.close());
    const kept = directory.create('files', { alt: 'gone' });
    const eraser = openErasureWorker({
      logFile: logFile(data),
      guard: { erase: async () => ({ left: [], held: null }) },
      forgetKept: async () => {},
      rewriteSegments: async () => () => {},
      objects: { findObjects: async () => {}, removeObjects: async () => {} },
      scrub: async (remaining) => {
        for (const { position, files } of remaining) directory.log.erasing.setFiles(position, files);
        directory.log.erasing.finish(directory.log.head().size);
        return { isClean: true };
      },
      logger: pino({ enabled: false }),
      milliseconds: { patience: 1, shortest: 1, longest: 10 },
    });
    t.after(() => eraser.close());
    directory.append(...erasureOf(directory, kept));
    const { log } = directory;
    await eventually(() => log.erasures.unfinished().length === 0);
  });

  for (let round = 1; round <= rounds; round += 1) {
    it(`by SIGKILL under load is finished, or never was (round ${round})`, async (t) => {
      const service = await startService(t, config, { environment: { ANNALS_THREADS: '2' } });
      const words = Array.from({ length: 24 }, (_, index) => `Chuditch-${round}-${index}z`);
      const ids = await Promise.all(
        words.map(async (word) => {
          const form = new FormData();
          form.set('file', new Blob([`the bytes of ${word}`]), `${word}.txt`);
          form.set('alt', word);
          const headers = { 'x-api-key': 'test-key-0123456789' };
          const response = await fetch(`${service.url}/api/collections/files`, { method: 'POST', headers, body: form });
          return ((await response.json()) as { id: string }).id;
        }),
      );
      const done = new Set<number>();
      const erasures = ids.map(async (id, index) => {
        await sleep(index * 4);
        const body = { collection: 'files', id, reason: 'asked to' };
        // Requests in flight when the process dies have no answer.
        const answer = await service.call('POST', '/api/audit/erasures', body).catch(() => null);
        if (answer?.status === 201 || answer?.status === 202) done.add(index);
      });
      await sleep(Number.parseInt(createHash('sha256').update(`${Date.now()}`).digest('hex').slice(0, 4), 16) % 120);
      await service.kill();
      await Promise.all(erasures);
      const again = await startHere(t, config, { data: service.data });
      await finished(again);
      const erased = new Set(
        recordedEvents(service.data).flatMap(({ type, stream }) =>
          type === 'document.erased' ? [stream.slice('files/'.length)] : [],
        ),
      );
      for (const index of done) assert.ok(erased.has(ids[index] as string), `erasure ${index} was acknowledged`);
      const gone = words.filter((_, index) => erased.has(ids[index] as string));
      assert.deepEqual(remainsIn(service.data, gone), []);
      for (const [index, id] of ids.entries()) {
        if (erased.has(id)) continue;
        assert.equal((await again.call('GET', `/api/collections/files/${id}`)).body.alt, words[index]);
        assert.ok(remainsIn(service.data, [`the bytes of ${words[index]}`]).length > 0);
      }
      await again.call('GET', '/api/audit/consistency?from=1');
      const { code, stdout } = await runHere(['verify', '--data', service.data]);
      assert.equal(code, 0, stdout);
    });
  }
});
