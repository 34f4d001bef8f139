import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { pino } from 'pino';
import { checkConfig } from '../../../config/check.ts';
import { openBlobGuard } from '../../../server/files/blobs/guard.ts';
import { createPins } from '../../../server/files/blobs/pins.ts';
import { readSettings } from '../../../server/settings/command.ts';
import { temporaryFolder } from '../../helpers/service.ts';
import { eventually } from '../../helpers/shared.ts';
import { openDirectory } from '../../projections/directory.ts';

const sound = { settled: async () => true, hasFailed: () => false };

describe('The guard of a bucket', () => {
  it('refuses collections of larger files than it takes, before it asks for the bucket', async (t) => {
    const model = checkConfig({ collections: [{ slug: 'films', upload: { maxFileSize: 6e9 }, fields: [] }] });
    const { settings } = readSettings(
      [],
      {
        ANNALS_DATA: temporaryFolder(t),
        ANNALS_S3_ENDPOINT: 'http://127.0.0.1:1',
        ANNALS_S3_BUCKET: 'files',
        ANNALS_S3_ACCESS_KEY: 'key',
        ANNALS_S3_SECRET_KEY: 'secret',
      },
      { settings: ['data'] },
    );
    const rest = {
      logId: 'annals/1',
      writer: sound,
      pins: createPins(),
      isBrief: false,
      log: pino({ level: 'silent' }),
    };
    await assert.rejects(openBlobGuard({ settings, model, ...rest }), {
      name: 'BlobsRefusedError',
      message:
        'a bucket takes files of up to 5368709120 bytes, and films takes 6000000000: its maxFileSize must be at most that',
    });
  });
});

/** A guard of a folder with two files that no event names, and a writer that can fail. */
async function openGuard(t: TestContext) {
  const config = { collections: [{ slug: 'files', upload: true as const, fields: [] }] };
  const data = join(temporaryFolder(t), 'data');
  const { log, close } = openDirectory(data, config);
  const { log: logId, size: position } = log.head();
  close();
  const { settings } = readSettings([], { ANNALS_DATA: data }, { settings: ['data'] });
  const lines: string[] = [];
  let isFailed = false;
  const writer = { settled: async () => !isFailed, hasFailed: () => isFailed };
  const logger = pino({ level: 'warn' }, { write: (line: string) => lines.push(JSON.parse(line).msg) });
  const guard = await openBlobGuard({
    settings,
    model: checkConfig(config),
    logId,
    writer,
    pins: createPins(),
    isBrief: false,
    log: logger,
  });
  t.after(guard.close);
  const [one, other] = ['one', 'other'].map((text) => {
    const sha256 = hash('sha256', text);
    mkdirSync(join(data, 'blobs', sha256.slice(0, 2)));
    writeFileSync(join(data, 'blobs', sha256.slice(0, 2), sha256), text);
    return sha256;
  }) as [string, string];
  return {
    ...{ guard, lines, one, other },
    isThere: (sha256: string) => existsSync(join(data, 'blobs', sha256.slice(0, 2), sha256)),
    candidates: (sha256: string) => ({ store: 'the folder "blobs" of the data directory', position, sha256: [sha256] }),
    fail() {
      isFailed = true;
    },
  };
}

describe('The guard of files beside a writer that has failed', () => {
  it('removes none for any caller, for what the log does not show may be in it', async (t) => {
    const { guard, one, other, lines, isThere, candidates, fail } = await openGuard(t);
    const { collect, discard } = guard.join();
    assert.deepEqual((await collect(candidates(one))).removed, [one]);
    fail();
    const refusal = {
      code: 'unavailable',
      message: 'the writer of the log has failed: no file is removed before the service has been started again',
    };
    await assert.rejects(collect(candidates(other)), refusal);
    await assert.rejects(guard.erase([other]), refusal);
    await discard(other);
    await eventually(() => lines.length > 0);
    assert.deepEqual(lines, [`files of refused uploads are left to annals blobs gc: ${refusal.message}`]);
    assert.ok(isThere(other));
  });

  it('keeps the pins of a thread that has ended, and lets go of them if all is known', async (t) => {
    const { guard, one, other, isThere, fail } = await openGuard(t);
    for (const sha256 of [one, other]) {
      const { pin, release } = guard.join();
      await pin(sha256);
      if (sha256 === other) fail();
      await release();
    }
    assert.deepEqual((await guard.erase([other])).left, [other]);
    await assert.rejects(guard.erase([one]), { code: 'unavailable' });
    assert.ok(isThere(other));
  });
});
