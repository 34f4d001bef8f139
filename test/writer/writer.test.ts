import assert from 'node:assert/strict';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { checkConfig } from '../../config/check.ts';
import { newClockCell } from '../../events/clock.ts';
import type { Append, Command } from '../../events/log.ts';
import { readLog } from '../../events/log-reader.ts';
import { createMeter } from '../../server/platform/meter.ts';
import { createState } from '../../server/platform/state.ts';
import { connectWriter } from '../../server/writer/append.ts';
import { startWriter } from '../../server/writer/writer.ts';
import type { WriterRequests } from '../../server/writer/writer-thread.ts';
import { openDatabase } from '../../storage/sqlite.ts';
import { command, noon, seals } from '../events/logs.ts';
import { temporaryFolder } from '../helpers/service.ts';

const noonText = new Date(noon).toISOString();

async function openWriter(t: TestContext, onDeath: (error: Error) => void) {
  const directory = join(temporaryFolder(t), 'data');
  mkdirSync(directory);
  const { schema, rules } = checkConfig({
    collections: [{ slug: 'posts', fields: [{ name: 'title', type: 'text' }] }],
  });
  const counter = new BigInt64Array(new SharedArrayBuffer(8));
  const input = {
    directory,
    schema,
    rules,
    counter,
    clockCell: newClockCell(),
    logId: 'annals/test',
    signed: [],
    seals,
    meter: createMeter(),
    state: createState(),
    acceptsClock: false,
    isStrict: false,
  };
  const writer = startWriter(
    input,
    { progress: () => {}, onChanges: () => assert.fail(), onSealed: () => {} },
    onDeath,
  );
  t.after(writer.close);
  return { directory, writer, ...(await writer.ready) };
}

function creation(count: number): Command {
  const data = { id: `${count}`, createdAt: noonText, updatedAt: noonText, title: 'sent' };
  return command(`posts/${count}`, 0, { events: [{ type: 'document.created', data }] });
}

describe('The writer thread', () => {
  it('says when all is settled that threads have sent, also those that are gone', async (t) => {
    const fail = (error: Error) => assert.fail(error);
    const { directory, writer, size } = await openWriter(t, fail);
    const db = openDatabase(join(directory, 'log.db'), { readonly: true });
    t.after(() => db.close());

    let count = 0;
    function requestsOf(number: number): WriterRequests {
      return Array.from({ length: number }, (_, id) => {
        count += 1;
        return { id, command: JSON.stringify(creation(count)) };
      });
    }
    const busy = writer.connect();
    for (let round = 0; round < 5; round += 1) {
      const port = writer.connect();
      assert.equal(await writer.settled(), true);
      // While it is busy with these, the others and the question come, and it is not said which it sees first.
      busy.postMessage(requestsOf(500));
      await new Promise(setImmediate);
      for (let sent = 0; sent < 3; sent += 1) port.postMessage(requestsOf(1));
      port.close();
      assert.equal(await writer.settled(), true);
      assert.equal(readLog(db).head().size, size + count);
    }
  });

  it('that fails settles nothing: the outcome of its writes is unknown', async (t) => {
    const { promise: death, resolve } = Promise.withResolvers<Error>();
    const { readFile, writer } = await openWriter(t, resolve);
    const [append, late] = [writer.connect(), writer.connect()].map((port) => connectWriter(port).append) as [
      Append,
      Append,
    ];
    assert.equal(writer.hasFailed(), false);
    // As a damaged file would: what is recorded cannot be applied.
    const db = openDatabase(readFile);
    db.exec('DROP TABLE "documents posts"');
    db.close();
    await assert.rejects(append(creation(1)), { name: 'UnknownOutcomeError' });
    await death;
    assert.deepEqual([await writer.settled(), writer.hasFailed()], [false, true]);
    await assert.rejects(late(creation(2)), { message: /^the writer thread ended: / });
  });
});
