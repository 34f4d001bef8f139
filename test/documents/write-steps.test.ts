import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { ResponseObject } from '@hapi/hapi';
import type { App } from '../../server/app.ts';
import { perform, type Write } from '../../server/documents/write/write-steps.ts';
import { createLog } from '../../server/platform/logging.ts';

describe('The steps of a write', () => {
  it('all end, even if the end of one fails, which the log tells and the answer does not', async () => {
    const lines: string[] = [];
    const log = createLog('info', { write: (line) => lines.push(line) });
    const ended: unknown[] = [];
    const steps = [
      { ended: () => Promise.reject(new Error('the disk is gone')) },
      { ended: async (error: unknown) => void ended.push(error) },
    ];
    const write = { app: { log } as App, steps } as Partial<Write> as Write;
    const answer = {} as ResponseObject;
    assert.equal(await perform(write, async () => answer), answer);
    const refusal = new Error('refused');
    await assert.rejects(
      perform(write, () => Promise.reject(refusal)),
      refusal,
    );
    assert.deepEqual(ended, [null, refusal]);
    assert.deepEqual(
      lines.map((line) => JSON.parse(line)).map(({ level, err }) => [level, err.message]),
      [1, 2].map(() => [50, 'the disk is gone']),
    );
  });
});
