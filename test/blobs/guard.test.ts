import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { pino } from 'pino';
import { checkConfig } from '../../config/check.ts';
import { openBlobGuard } from '../../server/blobs/guard.ts';
import { readSettings } from '../../server/settings/command.ts';
import { temporaryFolder } from '../helpers/service.ts';

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
      ['data'],
    );
    const rest = { logId: 'annals/1', settled: async () => {}, isBrief: false, log: pino({ level: 'silent' }) };
    await assert.rejects(openBlobGuard({ settings, model, ...rest }), {
      name: 'BlobsRefusedError',
      message:
        'a bucket takes files of up to 5368709120 bytes, and films takes 6000000000: its maxFileSize must be at most that',
    });
  });
});
