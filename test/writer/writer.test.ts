import assert from 'node:assert/strict';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { checkConfig } from '../../config/check.ts';
import { schemaStream } from '../../events/facts/catalogue.ts';
import type { Append, Command } from '../../events/facts/log.ts';
import { readLog } from '../../events/log/log-reader.ts';
import { newClockCell } from '../../events/store/clock.ts';
import { createRowMarks } from '../../projections/tables/row-marks.ts';
import { createMeter } from '../../server/platform/meter.ts';
import { createState } from '../../server/platform/state.ts';
import { connectWriter } from '../../server/writer/append.ts';
import type { WriterRequests } from '../../server/writer/messages.ts';
import { startWriter } from '../../server/writer/writer.ts';
import { openDatabase } from '../../storage/sqlite.ts';
import { command, noon, seals } from '../events/logs.ts';
import { temporaryFolder } from '../helpers/service.ts';
import { recordedEvents } from '../helpers/shared.ts';

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
    marks: createRowMarks(),
    clockCell: newClockCell(),
    logId: 'annals/test',
    signed: [],
    seals,
    meter: createMeter(),
    state: createState(),
    acceptsClock: false,
    isStrict: false,
    acceptsLoss: false,
    segmentSizes: null,
    noBackup: false,
    blobs: { kind: 'folder' as const, folder: directory },
  };
  const writer = startWriter(
    input,
    { progress: () => {}, onChanges: () => assert.fail(), onSealed: () => {}, onSegmentDue: () => {} },
    onDeath,
  );
  t.after(writer.close);
  return { directory, schema, writer, ...(await writer.ready) };
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
      // While the writer is busy with these, the other commands and the order come, in an order that nothing says.
      busy.postMessage(requestsOf(500));
      await new Promise(setImmediate);
      for (let sent = 0; sent < 3; sent += 1) port.postMessage(requestsOf(1));
      port.close();
      assert.equal(await writer.settled(), true);
      assert.equal(readLog(db).head().size, size + count);
    }
  });

  it('holds the commands of the next rules until those are recorded, and then refuses those of the former', async (t) => {
    const { directory, schema, writer } = await openWriter(t, (error) => assert.fail(error));
    const [former, next, own] = [0, 1, null].map((generation) => connectWriter(writer.connect(generation)).append) as [
      Append,
      Append,
      Append,
    ];
    const ruled = (count: number): Command => ({ ...creation(count), context: { rule: 'posts.create' } });
    assert.equal((await former(ruled(1))).ok, true);
    let isRecorded = false;
    const waiting = next(ruled(2)).then((outcome) => {
      isRecorded = true;
      return outcome;
    });
    assert.equal((await former(ruled(3))).ok, true);
    await writer.settled();
    assert.equal(isRecorded, false);
    const rules = { 'posts.create': { sha256: 'b'.repeat(64) } };
    assert.equal(await writer.adopt(1, { schema, rules }), true);
    assert.equal((await waiting).ok, true);
    await assert.rejects(former(ruled(4)), { code: 'unavailable', retryAfter: 1 });
    // Events that no rule admits are recorded in any case.
    assert.deepEqual([(await former(creation(5))).ok, (await own(ruled(6))).ok], [true, true]);
    // Nothing new is recorded if the log has the rules.
    assert.equal(await writer.adopt(2, null), true);
    await assert.rejects(next(ruled(7)), { code: 'unavailable' });
    const recorded = recordedEvents(directory)
      .map(({ stream }) => stream)
      .slice(1);
    assert.deepEqual(recorded, ['posts/1', 'posts/3', schemaStream, 'posts/2', 'posts/5', 'posts/6']);
  });

  it('that fails settles nothing: the outcome of its writes is unknown', async (t) => {
    const { promise: death, resolve } = Promise.withResolvers<Error>();
    const { readFile, writer } = await openWriter(t, resolve);
    const [append, late] = [writer.connect(), writer.connect()].map((port) => connectWriter(port).append) as [
      Append,
      Append,
    ];
    assert.equal(writer.hasFailed(), false);
    // The effect of a damaged file: recorded events cannot be applied.
    const db = openDatabase(readFile);
    db.exec('DROP TABLE "documents posts"');
    db.close();
    await assert.rejects(append(creation(1)), { name: 'UnknownOutcomeError' });
    await death;
    assert.deepEqual([await writer.settled(), writer.hasFailed()], [false, true]);
    await assert.rejects(late(creation(2)), { code: 'unavailable', message: /nothing of this write was recorded/ });
    await assert.rejects(writer.keepCheckpoint({ kind: 'signed', size: 1, note: '', signedAt: '' }), {
      code: 'unavailable',
    });
  });
});
