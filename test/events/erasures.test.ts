import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Command, Outcome } from '../../events/facts/log.ts';
import { verifyLog } from '../../events/verify/verify.ts';
import type { Sqlite } from '../../storage/sqlite.ts';
import { claim, command, headersOf, noon, openTestLog } from './logs.ts';

const sha256 = 'ab'.repeat(32);

/** The command that erases streams at the versions that they have. */
function erasure(stream: string, streams: Record<string, number>): Command {
  const declared = Object.entries(streams).map(([name, versions]) => ({ stream: name, versions }));
  return command(stream, streams[stream] ?? null, {
    events: [{ type: 'document.erased', data: { streams: declared } }],
    otherStreams: Object.entries(streams).map(([name, expectedVersion]) => {
      return {
        stream: name,
        expectedVersion: name === stream ? null : expectedVersion,
        events: [],
        claims: [],
        releases: [],
      };
    }),
    erases: Object.keys(streams),
    context: { reason: 'asked to' },
  });
}

function finding(db: Sqlite): string | null {
  return verifyLog(db, () => {});
}

function bodies(db: Sqlite): (string | null)[] {
  return db
    .prepare('SELECT body FROM events LEFT JOIN payloads USING (position) ORDER BY position')
    .pluck()
    .all() as string[];
}

describe('an erasure in the log', () => {
  it('takes payloads, claims and idempotency records of the streams it names, and leaves headers, tree and other streams', (t) => {
    const { db, log } = openTestLog(t);
    log.append([
      command('people/a', 0, { claims: [claim('a')], events: [{ type: 'document.created', data: { sha256 } }] }),
      command('people/b', 0, { claims: [claim('b')] }),
      command('accounts/people/a', null),
      command('people/a', 1),
    ]);
    db.prepare('INSERT INTO commands VALUES (?, ?, ?, 1, 1, ?)').run('key a', 'x', 'people/a', noon);
    db.prepare('INSERT INTO commands VALUES (?, ?, ?, 2, 1, ?)').run('key b', 'x', 'people/b', noon);
    const before = { headers: headersOf(db), root: log.head().root, bodies: bodies(db) };
    const [outcome] = log.append([erasure('people/a', { 'people/a': 2, 'accounts/people/a': 1 })])
      .outcomes as Outcome[];
    assert.deepEqual(outcome && { ...outcome, recordedAt: '' }, { ok: true, position: 5, version: 3, recordedAt: '' });
    assert.deepEqual(headersOf(db).slice(0, 4), before.headers);
    assert.ok(log.rootAt(4).equals(before.root));
    const [a, b, account, a2, erased] = bodies(db);
    assert.deepEqual([a, b, account, a2], [null, before.bodies[1], null, null]);
    assert.deepEqual(JSON.parse(String(erased)).context, { reason: 'asked to' });
    assert.deepEqual(db.prepare('SELECT value FROM claims').pluck().all(), ['"b"']);
    assert.deepEqual(db.prepare('SELECT key FROM commands').pluck().all(), ['key b']);
    assert.deepEqual(log.erasures.unfinished(), [{ position: 5, files: [sha256], isDone: false }]);
    assert.deepEqual(log.stream('people/a')[0]?.data, null);
    assert.equal(finding(db), null);
  });

  it('is refused when a stream has gone on, or when it declares something else than it takes', (t) => {
    const { db, log } = openTestLog(t);
    log.append([command('people/a', 0), command('people/a', 1), command('accounts/people/a', null)]);
    const kept = bodies(db);
    const outcomesOf = (one: Command) => log.append([one]).outcomes;
    const stale = { ok: false, conflict: 'version', version: 2 };
    assert.deepEqual(outcomesOf(erasure('people/a', { 'people/a': 1 })), [stale]);
    const behind = erasure('people/a', { 'people/a': 2, 'accounts/people/a': 0 });
    assert.deepEqual(outcomesOf(behind), [{ ...stale, version: 1 }]);
    const wrong = { ...erasure('people/a', { 'people/a': 2 }), erases: ['people/a', 'accounts/people/a'] };
    const [refused] = outcomesOf(wrong);
    assert.match((refused as Error).message, /does not declare what it takes/);
    assert.deepEqual([bodies(db), log.erasures.newest()], [kept, 0]);
  });

  it('leaves what says that and why something was erased when it is erased once more', (t) => {
    const { db, log } = openTestLog(t);
    log.append([command('people/a', 0)]);
    log.append([erasure('people/a', { 'people/a': 1 })]);
    log.append([command('people/a', 2)]);
    log.append([erasure('people/a', { 'people/a': 3 })]);
    assert.deepEqual(
      bodies(db).map((body) => body !== null),
      [false, true, false, true],
    );
    assert.equal(finding(db), null);
  });

  it('lets payloads go only as long as one is not finished', (t) => {
    const { db, log } = openTestLog(t);
    log.append([
      command('people/a', 0, { events: [{ type: 'document.created', data: { sha256 } }] }),
      command('people/b', 0),
    ]);
    log.append([erasure('people/a', { 'people/a': 1 })]);
    log.erasing.finish(3);
    assert.deepEqual(log.erasures.at(3), { position: 3, files: [sha256], isDone: false });
    log.erasing.setFiles(3, []);
    log.erasing.finish(2);
    assert.equal(log.erasures.unfinished().length, 1);
    log.erasing.finish(3);
    assert.deepEqual([log.erasures.unfinished(), log.erasures.at(3)], [[], { position: 3, files: [], isDone: true }]);
    assert.throws(() => db.exec('DELETE FROM payloads WHERE position = 2'), /append-only/);
  });

  it('is found out if it is not what it says', (t) => {
    const { db, log } = openTestLog(t);
    log.append([command('people/a', 0), command('people/b', 0)]);
    const [first] = bodies(db);
    log.append([erasure('people/a', { 'people/a': 1 })]);
    const after = (sql: string, ...values: unknown[]) => {
      db.exec('SAVEPOINT tampering; DROP TRIGGER payloads_delete');
      db.prepare(sql).run(...values);
      const found = finding(db);
      db.exec('ROLLBACK TO tampering; RELEASE tampering');
      return found;
    };
    assert.equal(after('DELETE FROM payloads WHERE position = 2'), 'event 2: its payload is missing');
    assert.equal(after('DELETE FROM payloads WHERE position = 3'), 'event 1: its payload is missing');
    assert.equal(
      after('INSERT INTO payloads VALUES (1, 0, ?)', first),
      'event 1 (people/a): its payload was erased, and is there',
    );
    assert.equal(after('DELETE FROM erasures'), 'event 1: its payload is missing');
    assert.equal(
      after("INSERT INTO erasures VALUES (2, '[]', 1)"),
      'event 2 is among the erasures, and erased nothing',
    );
  });
});
