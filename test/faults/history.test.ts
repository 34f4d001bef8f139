import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { runsOf, seenOf } from '../helpers/runs.ts';
import { checkHistory, type Entry, type History, type Read, type Write } from './history.ts';

const entry = (position: number, stream: string, version: number, rest: Partial<Entry> = {}): Entry => {
  return { position, stream, version, tag: `w${position}`, ...rest };
};
const write = (tag: string, began: number, ended: number, rest: Partial<Write> = {}): Write => {
  return { kind: 'write', session: 's', tag, began, ended, fate: 'acknowledged', ...rest };
};
const read = (stream: string, version: number, began: number, ended: number, rest: Partial<Read> = {}): Read => {
  return { kind: 'read', session: 's', stream, version, tag: null, began, ended, isLinear: true, ...rest };
};

/** Two documents, one of which is changed; all is well with it. */
const good: History = {
  log: [entry(1, 'a', 1, { takes: ['x'] }), entry(2, 'b', 1), entry(3, 'a', 2, { gives: ['x'], takes: ['y'] })],
  seen: [
    read('a', 0, 0, 9),
    write('w1', 1, 10, { stream: 'a', version: 1, position: 1 }),
    read('a', 1, 11, 12, { tag: 'w1' }),
    write('w2', 11, 20, { session: 't' }),
    write('no', 12, 13, { fate: 'refused' }),
    write('lost', 12, 13, { fate: 'unknown' }),
    write('w3', 21, 25, { fate: 'unknown', expected: 1 }),
    read('a', 2, 22, 23, { tag: 'w3' }),
    read('b', 1, 24, 25, { tag: 'w2', session: 't' }),
  ],
};

/** A history, and the problem that is to be found in it. */
const bad: Record<string, [Partial<History>, RegExp]> = {
  'an acknowledged write is missing': [
    { seen: [...good.seen, write('gone', 30, 31)] },
    /^gone was acknowledged, and is missing$/,
  ],
  'a write is there twice': [
    { log: [...good.log, entry(4, 'c', 1, { tag: 'w2' })] },
    /^w2 is recorded 2 times, at 2,4$/,
  ],
  'a refused write is there': [
    { log: [...good.log, entry(4, 'c', 1, { tag: 'no' })] },
    /^no was refused, and is recorded at 4$/,
  ],
  'a write is there that was never sent': [
    { log: [...good.log, entry(4, 'c', 1)] },
    /^w4 is recorded, and no client wrote it$/,
  ],
  'an answer names another position': [
    { seen: [...good.seen, write('w2', 30, 31, { position: 1 })] },
    /^w2 was told position 1, and has 2$/,
  ],
  'an answer names another stream': [
    { seen: [...good.seen, write('w2', 30, 31, { stream: 'a' })] },
    /^w2 was told stream a, and has b$/,
  ],
  'an answer names another version': [
    { seen: [...good.seen, write('w2', 30, 31, { version: 2 })] },
    /^w2 was told version 2, and has 1$/,
  ],
  'a condition was not kept': [
    { seen: [...good.seen, write('w3', 30, 31, { expected: 0 })] },
    /^w3 was for version 0, and is recorded as version 2$/,
  ],
  'a position is missing': [
    { log: good.log.map((one) => (one.position === 3 ? { ...one, position: 4 } : one)) },
    /^position 4 is in the place of 3$/,
  ],
  'a stream has one version twice': [
    { log: good.log.map((one) => (one.position === 3 ? { ...one, version: 1 } : one)) },
    /^a has version 1 after 1$/,
  ],
  'a stream goes on after its end': [
    { log: good.log.map((one) => (one.position === 1 ? { ...one, isEnd: true } : one)) },
    /^a has version 2 after its end$/,
  ],
  'two hold one unique value': [
    { log: good.log.map((one) => (one.position === 2 ? { ...one, takes: ['x'] } : one)) },
    /^b takes x at 2, which a holds$/,
  ],
  'a write is before one that had ended when it began': [
    {
      seen: good.seen.map((one) => (one.kind === 'write' && one.tag === 'w1' ? { ...one, began: 21, ended: 22 } : one)),
    },
    /^w1 began after w2 had ended, and is before it: at 1$/,
  ],
  'a linear read misses an acknowledged write': [
    { seen: [...good.seen, read('b', 0, 21, 22, { session: 'other' })] },
    /^other read b at version 0, after w2 at 2 was known$/,
  ],
  'a linear read misses a write of another stream that stands before what it must show': [
    {
      log: [...good.log, entry(4, 'c', 1)],
      seen: [...good.seen, write('w4', 26, 27), read('a', 1, 28, 29, { tag: 'w1' })],
    },
    /^s read a at version 1, after w4 at 4 was known$/,
  ],
  'a linear read shows less than an earlier one': [
    { seen: [...good.seen, read('a', 1, 24, 25, { tag: 'w1' })] },
    /^s read a at version 1, after a read by s at 3 was known$/,
  ],
  'a late read shows less than its session has seen': [
    { seen: [...good.seen, read('b', 0, 26, 27, { session: 't', isLinear: false })] },
    /^t read b at version 0, after a read by t at 3 was seen by its session$/,
  ],
  'a read shows a thing that was never so': [
    { seen: [...good.seen, read('b', 2, 26, 27, { tag: 'w9' })] },
    /^s read b at version 2 with w9, and that has never been$/,
  ],
  'a read shows another text of a version': [
    { seen: [...good.seen, read('b', 1, 26, 27, { tag: 'w1' })] },
    /^s read b at version 1 with w1, and that has w2$/,
  ],
  'a read shows a thing before it was written': [
    { seen: [...good.seen, read('a', 2, 2, 3, { session: 'early', tag: 'w3' })] },
    /^early read a at version 2 before position 3 could be there$/,
  ],
};

describe('The checker of histories', () => {
  it('finds nothing in a good one, and counts', () => {
    assert.deepEqual(checkHistory(good), {
      problems: [],
      acknowledged: 2,
      refused: 1,
      reads: 4,
      missing: 0,
      twice: 0,
      decided: { recorded: 1, not: 1 },
    });
  });

  it('lets a read that is not linear be late, and a document be gone', () => {
    const log = [...good.log, entry(4, 'b', 2, { isEnd: true })];
    const late = [
      read('b', 0, 26, 27, { session: 'late', isLinear: false }),
      write('w4', 30, 31),
      read('b', 1, 32, 33, { session: 'late', isLinear: false, tag: 'w2' }),
      read('b', 0, 34, 35, { session: 'late', isLinear: false }),
      read('b', 0, 36, 37),
    ];
    assert.deepEqual(checkHistory({ log, seen: [...good.seen, ...late] }).problems, []);
  });

  it('takes one write that several clients sent under one key for one', () => {
    const others = [
      write('w2', 12, 13, { fate: 'refused' }),
      write('w2', 12, 40),
      write('w2', 12, 41, { fate: 'unknown' }),
    ];
    assert.deepEqual(checkHistory({ ...good, seen: [...good.seen, ...others] }).problems, []);
  });

  for (const [name, [change, problem]] of Object.entries(bad)) {
    it(`finds that ${name}`, () => {
      const { problems } = checkHistory({ ...good, ...change });
      assert.ok(
        problems.some((one) => problem.test(one)),
        `${problem} is not among ${JSON.stringify(problems)}`,
      );
    });
  }

  it('finds a problem of times exactly if no order of the reads explains them', () => {
    const all = 12_000;
    let found = 0;
    let fine = 0;
    fc.assert(
      fc.property(histories, (history) => {
        const isGood = canBeExplained(history);
        const { problems } = checkHistory(history);
        if (isGood) fine += 1;
        else found += 1;
        assert.equal(problems.length === 0, isGood, `${problems}`);
      }),
      { numRuns: runsOf(all) },
    );
    assert.ok(Math.min(found, fine) >= seenOf(600, all), `${found} bad, ${fine} good`);
  });
});

const moment = fc.integer({ min: 0, max: 12 });
const interval = fc
  .tuple(moment, fc.integer({ min: 1, max: 4 }))
  .map(([began, long]) => ({ began, ended: began + long }));

/** A log of few events with their writes, and reads that show something of it. */
const histories: fc.Arbitrary<History> = fc
  .array(
    fc.record({
      stream: fc.constantFrom('a', 'b'),
      session: fc.constantFrom('s', 't'),
      isAcknowledged: fc.boolean(),
      times: interval,
      late: fc.integer({ min: 0, max: 3 }),
    }),
    { maxLength: 4 },
  )
  .chain((events) => {
    const log: Entry[] = [];
    const writes: Write[] = [];
    for (const [at, { stream, session, isAcknowledged, times, late }] of events.entries()) {
      const version = log.filter((one) => one.stream === stream).length + 1;
      log.push(entry(at + 1, stream, version));
      // Most logs in the order of time, or few would be good.
      const began = at * 3 + (times.began % 3) - (late === 0 ? 4 : 0);
      const ended = began + times.ended - times.began;
      writes.push(write(`w${at + 1}`, began, ended, { session, fate: isAcknowledged ? 'acknowledged' : 'unknown' }));
    }
    const some = fc.record({
      stream: fc.constantFrom('a', 'b'),
      session: fc.constantFrom('s', 't'),
      isLinear: fc.boolean(),
      size: fc.integer({ min: 0, max: log.length }),
      times: interval,
    });
    return fc.array(some, { maxLength: 4 }).map((reads) => {
      const shown = reads.map(({ stream, session, isLinear, size, times }) => {
        const [last] = log
          .slice(0, size)
          .filter((one) => one.stream === stream)
          .slice(-1);
        return read(stream, last?.version ?? 0, times.began, times.ended, {
          session,
          isLinear,
          tag: last?.tag ?? null,
        });
      });
      return { log, seen: [...writes, ...shown] };
    });
  });

/**
 * The same question, answered by trying: is there a size of the log for each read that agrees with all that was seen?
 */
function canBeExplained({ log, seen }: History): boolean {
  const writes = seen.filter((one) => one.kind === 'write');
  const reads = seen.filter((one) => one.kind === 'read');
  const positionOf = (one: Write) => Number(one.tag.slice(1));
  const isDone = (one: Write, before: number) => one.fate === 'acknowledged' && one.ended < before;
  const inOrder = writes.every((one) =>
    writes.every((other) => !isDone(other, one.began) || positionOf(other) < positionOf(one)),
  );
  if (!inOrder) return false;

  function fits(one: Read, size: number, others: readonly (readonly [Read, number])[]): boolean {
    const [last] = log
      .slice(0, size)
      .filter(({ stream }) => stream === one.stream)
      .slice(-1);
    if ((last?.version ?? 0) !== one.version) return false;
    if (writes.some((other) => positionOf(other) <= size && other.began > one.ended)) return false;
    const counts = ({ session }: Write | Read) => one.isLinear || session === one.session;
    if (writes.some((other) => isDone(other, one.began) && counts(other) && positionOf(other) > size)) return false;
    return others.every(
      ([other, its]) =>
        !(other.ended < one.began && counts(other) && its > size) &&
        !(one.ended < other.began && (other.isLinear || other.session === one.session) && size > its),
    );
  }
  const search = (at: number, chosen: readonly (readonly [Read, number])[]): boolean => {
    const one = reads[at];
    if (!one) return true;
    return Array.from({ length: log.length + 1 }, (_, size) => size).some(
      (size) => fits(one, size, chosen) && search(at + 1, [...chosen, [one, size]]),
    );
  };
  return search(0, []);
}
