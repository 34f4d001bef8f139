import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { correctClock } from '../../events/service-events/corrections.ts';
import { lookAtTimes } from '../../events/store/clock-notes.ts';
import { createIds, timeOfId } from '../../events/store/ids.ts';
import { verifyLog } from '../../events/verify/verify.ts';
import { altering, command, headersOf, noon, openTestLog } from './logs.ts';

const second = 1000;
const day = 24 * 3600 * second;
const year = 365.25 * day;

/** A log, and a way to correct its clock. */
function correctable(t: Parameters<typeof openTestLog>[0]) {
  let ids = createIds(new BigInt64Array(new SharedArrayBuffer(8)), () => noon);
  const opened = openTestLog(t, (now) => {
    ids = createIds(new BigInt64Array(new SharedArrayBuffer(8)), now);
    return ids;
  });
  let streams = 0;
  function write(count = 1): void {
    const commands = Array.from({ length: count }, () => {
      streams += 1;
      return command(`posts/${streams}`, 0, { correlationId: `request-${streams}` });
    });
    opened.log.append(commands);
  }
  const correct = () =>
    correctClock(opened.log, { ids, now: opened.clock.now, reason: 'the clock of the host was wrong' });
  const finding = () => verifyLog(opened.db, () => {});
  function notes(now = opened.clock.now): string[] {
    const times = lookAtTimes(now);
    assert.equal(
      verifyLog(opened.db, () => {}, times.look),
      null,
    );
    return times.notes();
  }
  return { ...opened, write, correct, finding, notes };
}

const iso = (time: number) => new Date(time).toISOString();

describe('A correction of the clock', () => {
  it('lets times and ids go on from the clock again, and the log is sound', (t) => {
    const { db, clock, write, correct, finding, reopen } = correctable(t);
    write(2);
    clock.now = noon + 20 * year;
    write(2);
    clock.now = noon + 60 * second;
    write(1);
    assert.deepEqual(correct(), { position: 6, recordedAt: iso(clock.now), from: 3, before: iso(noon + 20 * year) });
    clock.now += second;
    write(1);
    const headers = headersOf(db);
    assert.deepEqual(
      headers.map(({ recordedAt }) => Date.parse(recordedAt) - noon),
      [0, 0, 20 * year, 20 * year, 20 * year, 60 * second, 61 * second],
    );
    assert.deepEqual(
      headers.slice(-2).map(({ id }) => timeOfId(id) - noon),
      [60 * second, 61 * second],
    );
    const { stream, type, actor } = headers[5] as (typeof headers)[number];
    assert.deepEqual([stream, type, actor], ['system/clock', 'clock.corrected', { type: 'system' }]);
    assert.equal(finding(), null);
    const log = reopen();
    log.append([command('posts/after', 0)]);
    assert.equal(log.head().recordedAt, iso(clock.now));
    assert.equal(finding(), null);
  });

  it('is refused, and nothing recorded, if the last event is no more than a minute ahead', (t) => {
    const { log, clock, write, correct } = correctable(t);
    assert.equal(correct(), null);
    write();
    clock.now -= 60 * second;
    assert.equal(correct(), null);
    assert.equal(log.head().size, 1);
  });

  it('is the only event that may be earlier than the one before it', (t) => {
    const { db, clock, write, finding } = correctable(t);
    write(2);
    clock.now += second;
    write(1);
    db.exec('DROP TRIGGER events_update');
    const change = db.prepare(altering(2, 'replace(header, ?, ?)'));
    change.run(iso(noon), iso(noon + 2 * second));
    assert.equal(finding(), 'event 3 was recorded before event 2');
  });

  it('has moments found as the last event recorded until then, whatever clocks were wrong', (t) => {
    const steps = fc.array(
      fc.oneof(
        { weight: 6, arbitrary: fc.record({ kind: fc.constant('write'), after: fc.integer({ min: 0, max: 5000 }) }) },
        { weight: 2, arbitrary: fc.record({ kind: fc.constant('jump'), after: fc.integer({ min: 61, max: 1e6 }) }) },
        { weight: 2, arbitrary: fc.record({ kind: fc.constant('correct'), after: fc.integer({ min: 0, max: 1e6 }) }) },
      ),
      { minLength: 1, maxLength: 30 },
    );
    fc.assert(
      fc.property(steps, fc.array(fc.integer({ min: -1e6, max: 3e6 }), { maxLength: 20 }), (steps, offsets) => {
        const { db, log, clock, write, correct, finding } = correctable(t);
        for (const { kind, after } of steps) {
          if (kind === 'correct') {
            clock.now -= after * second;
            correct();
          } else {
            clock.now += kind === 'jump' ? after * second : after;
            write();
          }
        }
        assert.equal(finding(), null);
        const times = headersOf(db).map(({ recordedAt }) => recordedAt);
        for (const time of [...times, ...offsets.map((offset) => iso(noon + offset * second))]) {
          const starts = headersOf(db).flatMap(({ stream, position }) => (stream === 'system/clock' ? [position] : []));
          // The newest stretch that had begun by then, and in it the last event until then.
          const start = starts.findLast((position) => (times[position - 1] as string) <= time) ?? 1;
          const end = starts.find((position) => position > start) ?? times.length + 1;
          const within = times.slice(start - 1, end - 1).findLastIndex((at) => at <= time);
          assert.equal(log.positionAt(time), start + within);
        }
      }),
      { numRuns: Number(process.env.TEST_RUNS ?? 20) },
    );
  });

  it('has what was recorded by the wrong clock count as recorded when it was corrected', (t) => {
    const { log, clock, write, correct } = correctable(t);
    write(2);
    clock.now = noon + 20 * year;
    write(3);
    clock.now = noon + 60 * second;
    correct();
    clock.now += second;
    write(1);
    assert.deepEqual(
      [noon - 1, noon, noon + 60 * second - 1, noon + 60 * second, noon + 61 * second].map((time) =>
        log.positionAt(iso(time)),
      ),
      [0, 2, 2, 6, 7],
    );
  });
});

describe('The times of a log', () => {
  it('are reported if they are later than now, from which event on and by how much', (t) => {
    const { clock, write, notes } = correctable(t);
    write(2);
    assert.deepEqual(notes(), []);
    assert.deepEqual(notes(noon - 60 * second), []);
    clock.now = noon + 20 * year;
    write(3);
    assert.deepEqual(notes(noon), [
      'from event 3 on 3 events were recorded later than now, up to 2046-11-20T12:00:00.000Z, 20 years ahead of the clock of this machine: one of the two clocks is wrong',
    ]);
    assert.deepEqual(notes(noon + 20 * year), []);
  });

  it('are reported if a clock was ahead and put back: then they stand still', (t) => {
    const { clock, write, notes } = correctable(t);
    write(150);
    clock.now = noon + 2 * 3600 * second;
    write(1);
    clock.now = noon + 1;
    write(99);
    clock.now = noon + day;
    write(150);
    assert.deepEqual(notes().slice(0, 1), [
      'from event 151 on time stood still at 2026-11-20T14:00:00.000Z for 100 requests, after a step of 2 hours: the clock was ahead, and was put back',
    ]);
  });

  it('are not told of for many events of one request', (t) => {
    const { log, clock, notes } = correctable(t);
    log.append([command('posts/1', 0)]);
    clock.now += day;
    const [event] = command('posts/2', 0).events;
    log.append([
      command('posts/2', 0, { events: Array.from({ length: 300 }, () => event as NonNullable<typeof event>) }),
    ]);
    assert.deepEqual(notes(), []);
  });

  it('are reported if the clock was corrected, and no longer as later than now', (t) => {
    const { clock, write, correct, notes } = correctable(t);
    write(1);
    clock.now = noon + 20 * year;
    write(1);
    clock.now = noon + 60 * second;
    correct();
    write(1);
    assert.deepEqual(notes(), [
      'event 3 corrected the clock, which had been ahead by 20 years, to 2026-11-20T12:01:00.000Z',
    ]);
  });
});
