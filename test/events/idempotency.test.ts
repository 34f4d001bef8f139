import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { idempotencyMilliseconds } from '../../events/facts/idempotency.ts';
import { command, noon, openTestLog, positionsOf } from './logs.ts';

const named = (key: string, fingerprint = 'f') => ({ idempotency: { key, fingerprint } });

describe('idempotency records in the log', () => {
  it('are recorded with their command, and found before a stale version and within the same batch', (t) => {
    const { log } = openTestLog(t);
    const create = command('posts/a', 0, named('k'));
    const { outcomes, recorded } = log.append([create, create, command('posts/a', 0)]);
    assert.deepEqual([positionsOf(outcomes), recorded.length], [[1, 'idempotency', 'version'], 1]);
    const first = { fingerprint: 'f', stream: 'posts/a', position: 1, version: 1 };
    assert.deepEqual(outcomes[1], { ok: false, conflict: 'idempotency', first });
  });

  it('hold what changes nothing too, without an event', (t) => {
    const { log } = openTestLog(t);
    log.append([command('posts/a', 0)]);
    const nothing = command('posts/a', 1, { events: [], ...named('k') });
    assert.deepEqual(positionsOf(log.append([nothing]).outcomes), [1]);
    assert.deepEqual(positionsOf(log.append([nothing]).outcomes), ['idempotency']);
    assert.equal(log.head().size, 1);
  });

  it('leave nothing if their command is refused', (t) => {
    const { log, db } = openTestLog(t);
    log.append([command('posts/a', 3, named('k'))]);
    assert.equal(db.prepare('SELECT count(*) FROM commands').pluck().get(), 0);
    assert.deepEqual(positionsOf(log.append([command('posts/a', 0, named('k'))]).outcomes), [1]);
  });

  it('are forgotten after seven days, and cleared away by later writes', (t) => {
    const { log, db, clock } = openTestLog(t);
    const keys = () => db.prepare('SELECT key FROM commands ORDER BY key').pluck().all();
    log.append([command('posts/a', 0, named('k')), command('posts/b', 0, named('l'))]);
    clock.now = noon + idempotencyMilliseconds - 1;
    assert.deepEqual(positionsOf(log.append([command('posts/a', 1, named('k'))]).outcomes), ['idempotency']);
    clock.now = noon + idempotencyMilliseconds;
    assert.deepEqual(positionsOf(log.append([command('posts/a', 1, named('k'))]).outcomes), [3]);
    assert.deepEqual(keys(), ['k', 'l']);
    clock.now += 120_000;
    log.append([command('posts/a', 2)]);
    log.append([command('posts/a', 3)]);
    assert.deepEqual(keys(), ['k']);
  });

  it('are kept seven days by the clock, also if that was far ahead for a moment', (t) => {
    const { log, clock } = openTestLog(t);
    const [ahead, behind] = [noon + 30 * 86_400_000, noon + 3_600_000];
    clock.now = ahead;
    log.append([command('posts/a', 0)]);
    clock.now = behind;
    log.append([command('posts/b', 0, named('k'))]);
    for (const version of [1, 2, 3]) {
      clock.now += 120_000;
      log.append([command('posts/a', version)]);
    }
    assert.deepEqual(positionsOf(log.append([command('posts/b', 1, named('k'))]).outcomes), ['idempotency']);
    clock.now = behind + idempotencyMilliseconds + 120_000;
    log.append([command('posts/a', 4)]);
    assert.deepEqual(positionsOf(log.append([command('posts/b', 1, named('k'))]).outcomes), [7]);
  });
});
