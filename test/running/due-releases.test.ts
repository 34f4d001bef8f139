import assert from 'node:assert/strict';
import { rmSync } from 'node:fs';
import { describe, it, type TestContext } from 'node:test';
import { pino } from 'pino';
import { decideRelease } from '../../events/facts/releases.ts';
import type { DueOutcome } from '../../server/documents/releases/due.ts';
import { openDueReleases } from '../../server/running/due-releases.ts';
import { openDirectory, quickFolder } from '../projections/directory.ts';

const at = Date.parse('2026-12-24T17:00:00.000Z');
const id = '01a30000-0000-7000-8000-000000000001';
const second = 1000;

/** A service with a release at a time, whose clock and lease a test sets. */
function waiting(t: TestContext) {
  const folder = quickFolder();
  const directory = openDirectory(folder, { collections: [{ slug: 'posts', fields: [] }] });
  directory.record(decideRelease({ id, title: 'x', description: null, time: { at, timeZone: null }, items: [] }));
  const clock = { now: at - second, lead: 0, isOurs: true };
  const tried: string[] = [];
  let outcome: DueOutcome = 'later';
  const due = openDueReleases({
    readFile: directory.readFile,
    openPublisher: () => ({
      publish: async (one) => {
        tried.push(one);
        return outcome;
      },
      close: async () => {},
    }),
    clock: { lead: () => clock.lead },
    now: () => clock.now,
    openLease: () => ({ isHeld: () => clock.isOurs, look: async () => clock.isOurs, close: async () => {} }),
    log: pino({ enabled: false }),
  });
  t.after(async () => {
    await due.close();
    directory.close();
    rmSync(folder, { recursive: true, force: true });
  });
  const look = async () => {
    due.look();
    await new Promise(setImmediate);
  };
  return { due, clock, tried, look, setOutcome: (next: DueOutcome) => (outcome = next) };
}

describe('a release with a time', () => {
  it('is not published before it', async (t) => {
    const { clock, tried, look } = waiting(t);
    await look();
    assert.deepEqual(tried, []);
    clock.now = at;
    await look();
    assert.deepEqual(tried, [id]);
  });

  it('is not published while the clock has jumped', async (t) => {
    const { clock, tried, look } = waiting(t);
    clock.now = at + second;
    clock.lead = 61 * second;
    await look();
    assert.deepEqual(tried, []);
    clock.lead = 0;
    await look();
    assert.deepEqual(tried, [id]);
  });

  it('is published by the node that holds the lease', async (t) => {
    const { clock, tried, look, due } = waiting(t);
    clock.now = at;
    clock.isOurs = false;
    due.begin();
    await look();
    assert.deepEqual(tried, []);
    clock.isOurs = true;
    await look();
    assert.deepEqual(tried, [id]);
  });

  it('is tried again after a rest if nothing can be recorded', async (t) => {
    const { clock, tried, look } = waiting(t);
    clock.now = at;
    await look();
    await look();
    assert.deepEqual(tried, [id]);
  });
});
