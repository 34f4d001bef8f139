import assert from 'node:assert/strict';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { checkConfig } from '../../config/check.ts';
import { newClockCell } from '../../events/clock.ts';
import { readLog } from '../../events/log-reader.ts';
import { startWriter } from '../../server/threads/writer.ts';
import type { WriterRequests } from '../../server/threads/writer-thread.ts';
import { openDatabase } from '../../storage/sqlite.ts';
import { command, noon } from '../events/logs.ts';
import { temporaryFolder } from '../helpers/service.ts';

const noonText = new Date(noon).toISOString();

describe('The writer thread', () => {
  it('says when all is settled that threads have sent, also those that are gone', async (t) => {
    const directory = join(temporaryFolder(t), 'data');
    mkdirSync(directory);
    const { schema } = checkConfig({ collections: [{ slug: 'posts', fields: [{ name: 'title', type: 'text' }] }] });
    const counter = new BigInt64Array(new SharedArrayBuffer(8));
    const fail = (error: Error) => assert.fail(error);
    const clockCell = newClockCell();
    const input = { directory, schema, counter, clockCell, logId: 'annals/test', signed: [], acceptsClock: false };
    const writer = startWriter(input, () => {}, fail);
    t.after(writer.close);
    const { size } = await writer.ready;
    const db = openDatabase(join(directory, 'log.db'), { readonly: true });
    t.after(() => db.close());

    let count = 0;
    function requestsOf(number: number): WriterRequests {
      return Array.from({ length: number }, (_, id) => {
        count += 1;
        const data = { id: `${count}`, createdAt: noonText, updatedAt: noonText, title: 'sent' };
        const one = command(`posts/${count}`, 0, { events: [{ type: 'document.created', data }] });
        return { id, command: JSON.stringify(one) };
      });
    }
    const busy = writer.connect();
    for (let round = 0; round < 5; round += 1) {
      const port = writer.connect();
      await writer.settled();
      // While it is busy with these, the others and the question come, and it is not said which it sees first.
      busy.postMessage(requestsOf(500));
      await new Promise(setImmediate);
      for (let sent = 0; sent < 3; sent += 1) port.postMessage(requestsOf(1));
      port.close();
      await writer.settled();
      assert.equal(readLog(db).head().size, size + count);
    }
  });
});
