import assert from 'node:assert/strict';
import { it } from 'node:test';
import fc from 'fast-check';
import { passWal, readWalName, unknownWal, type WalProgress, walNumber } from '../../../events/postgres/wal.ts';
import { runsOf } from '../../helpers/runs.ts';

const segment = 16 * 1024 * 1024;

it('The names of files and the places of a write-ahead log are read as PostgreSQL writes them', () => {
  assert.equal(walNumber('0/1A2B3C4D', segment), 0x1a);
  assert.equal(walNumber('2/01000000', segment), 513);
  assert.deepEqual(readWalName('000000020000000200000001', segment), { timeline: 2, number: 513 });
  assert.deepEqual(readWalName('000000010000000000000001.partial', segment), { timeline: 1, number: 1 });
  for (const other of ['00000002.history', '000000010000000000000001.00000028.backup', 'xlogtemp.12'])
    assert.equal(readWalName(other, segment), null);
});

/**
 * A server as PostgreSQL is one: files are written one after the other; a former one is removed, or gets the name of a
 * later one.
 */
type Server = { current: number; timeline: number; files: Map<number, { isOld: boolean }> };

type Turn = 'write' | 'keep' | 'remove' | 'recycle' | 'look';

it('A write-ahead log counts as clean only when no file has anything from before the place', () => {
  const turns = fc.array(fc.constantFrom<Turn>('write', 'write', 'remove', 'recycle', 'look', 'look'), {
    maxLength: 80,
  });
  const start = fc.record({ before: fc.nat(5), ahead: fc.nat(5) });
  fc.assert(
    fc.property(start, turns, ({ before, ahead }, all) => {
      const place = 10;
      const files = new Map<number, { isOld: boolean }>();
      for (let number = place - before; number <= place + ahead; number += 1) files.set(number, { isOld: true });
      const server: Server = { current: place, timeline: 1, files };
      let progress: WalProgress = unknownWal;
      for (const turn of all) {
        if (turn === 'write') {
          // A file is new when it is written to its end.
          const done = server.files.get(server.current);
          if (done && server.current > place) done.isOld = false;
          server.current += 1;
          if (!server.files.has(server.current)) server.files.set(server.current, { isOld: false });
        }
        const [oldest = 0] = [...server.files.keys()].sort((a, b) => a - b);
        if (turn === 'remove' || turn === 'recycle') {
          const file = server.files.get(oldest);
          if (!file || oldest >= server.current) continue;
          server.files.delete(oldest);
          if (turn === 'recycle') server.files.set(Math.max(server.current, ...server.files.keys()) + 1, file);
        }
        if (turn !== 'look') continue;
        const listed = [...server.files.keys()].map((number) => ({ number, timeline: 1 }));
        const passed = passWal({ current: server.current, files: listed }, place, progress);
        if (passed === null) {
          assert.ok([...server.files.values()].every(({ isOld }) => !isOld));
          return;
        }
        progress = passed;
      }
    }),
    { numRuns: runsOf(2000) },
  );
});

it('A write-ahead log is looked at anew when its server has become the primary', () => {
  const files = [12, 13, 14].map((number) => ({ number, timeline: 1 }));
  const first = passWal({ current: 12, files }, 10, unknownWal);
  assert.deepEqual(first, { last: 14, timeline: 1 });
  const promoted = [...files, { number: 15, timeline: 2 }];
  const second = passWal({ current: 15, files: promoted }, 10, first as WalProgress);
  assert.deepEqual(second, { last: null, timeline: 2 });
  const later = [16, 17].map((number) => ({ number, timeline: 2 }));
  assert.deepEqual(passWal({ current: 16, files: later }, 10, second as WalProgress), { last: 17, timeline: 2 });
  assert.equal(passWal({ current: 18, files: later }, 10, { last: 17, timeline: 2 }), null);
});
