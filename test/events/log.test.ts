import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import type { JsonObject } from '../../config/schema.ts';
import { commitmentOf, encodeHeader, type Header } from '../../events/facts/envelope.ts';
import type { Change, Command, Outcome, RecordedEvent } from '../../events/facts/log.ts';
import { openHeaderRows } from '../../events/log/header-rows.ts';
import { readLog } from '../../events/log/log-reader.ts';
import { openTip } from '../../events/log/log-tip.ts';
import { openLog, type SqliteLog } from '../../events/log/sqlite-log.ts';
import { appendLeaf, leafHash, rootOf, type Tree } from '../../events/proof/merkle.ts';
import { createIds } from '../../events/store/ids.ts';
import { BrokenLogError, createLog, isLog } from '../../events/store/log-file.ts';
import { verifyLog } from '../../events/verify/verify.ts';
import { isDiskFull, openDatabase, type Sqlite } from '../../storage/sqlite.ts';
import { runsOf, seenOf } from '../helpers/runs.ts';
import { temporaryFolder } from '../helpers/service.ts';
import { change, claim, command, contentOf, headersOf, noon, openTestLog, positionsOf, seals } from './logs.ts';

/** How many transactions the write-ahead log holds: its frames that end one carry the size of the file. */
function commitsIn(path: string): number {
  const wal = readFileSync(`${path}-wal`);
  const pageSize = wal.readUInt32BE(8);
  let commits = 0;
  for (let at = 32; at + 24 + pageSize <= wal.length; at += 24 + pageSize) {
    const isOfThisRun = wal.compare(wal, 16, 24, at + 8, at + 16) === 0;
    if (isOfThisRun && wal.readUInt32BE(at + 4) !== 0) commits += 1;
  }
  return commits;
}

function naiveRoot(db: Sqlite, size: number): Buffer {
  const headers = db.prepare('SELECT header FROM headers WHERE position <= ? ORDER BY position').pluck();
  return naiveRoots(headers.all(size) as string[], [size])[0] as Buffer;
}

/** The roots at these sizes, which ascend. */
function naiveRoots(texts: readonly string[], sizes: readonly number[]): Buffer[] {
  const tree: Tree = { size: 0, nodes: [] };
  return sizes.map((size) => {
    for (const text of texts.slice(tree.size, size)) appendLeaf(tree, leafHash(text), () => {});
    return rootOf(tree);
  });
}

/**
 * Leaves a new log as that many events do, a whole number of tiles, but with the row of the last one alone, which is
 * all of them that is read when it is opened. Gives their leaves.
 */
function fill(db: Sqlite, size: number): string[] {
  const row = { position: size, id: '019a0000-0000-7000-8000-000000000000', stream: 'posts/old', version: 1 };
  const body = JSON.stringify({ salt: '', data: {}, context: {} });
  const recordedAt = new Date(noon).toISOString();
  const header: Header = {
    ...{ ...row, v: 2, log: 'annals/test', type: 'document.updated', schemaVersion: 1, recordedAt },
    ...{ actor: { type: 'system' }, correlationId: 'test', payload: commitmentOf(body) },
  };
  const leaves = [...Array.from({ length: size - 1 }, (_, index) => `${index}`), encodeHeader(header)];
  const tip = openTip(db, readLog(db), seals);
  // The trigger wants the rows before this one.
  db.exec('DROP TRIGGER events_insert');
  db.transaction(() => {
    openHeaderRows(db, () => 'annals/test').put(header, encodeHeader(header));
    db.prepare('INSERT INTO payloads VALUES (?, 0, ?)').run(size, body);
    tip.extend({ recorded: [{ header } as RecordedEvent], leaves });
  })();
  return leaves;
}

describe('appending to the log', () => {
  it('numbers events without a gap over the whole log and over each stream', (t) => {
    const { log, db } = openTestLog(t);
    const events: Command['events'] = [
      { type: 'document.created', data: { id: '1' } },
      { type: 'document.updated', data: { set: { a: 1 } } },
      { type: 'document.deleted', data: {} },
    ];
    const first = log.append([command('posts/1', 0, { events }), command('posts/2', 0), command('posts/1', 3)]);
    const second = log.append([command('posts/2', 1), command('pages/1', 0)]);
    assert.deepEqual(positionsOf(first.outcomes), [3, 4, 5]);
    assert.deepEqual(positionsOf(second.outcomes), [6, 7]);
    assert.deepEqual(
      headersOf(db).map(({ position, stream, version }) => [position, stream, version]),
      [
        [1, 'posts/1', 1],
        [2, 'posts/1', 2],
        [3, 'posts/1', 3],
        [4, 'posts/2', 1],
        [5, 'posts/1', 4],
        [6, 'posts/2', 2],
        [7, 'pages/1', 1],
      ],
    );
    assert.equal(log.versionOf('posts/1'), 4);
    assert.equal(log.versionOf('posts/none'), 0);
    assert.equal(log.head().size, 7);
  });

  it('stores the header whose bytes are the leaf, and a payload that it commits to', (t) => {
    const { log, db } = openTestLog(t);
    const context = { ip: '192.0.2.1', userAgent: 'a "browser"', reason: 'because é' };
    const actor = { type: 'user' as const, id: 'users/1' };
    const batch = '0198f0a0-0000-7000-8000-00000000000b';
    const data = { id: '1', title: 'é\u0000\u2028', list: [1.5, null, { deep: true }] };
    const events: Command['events'] = [{ type: 'document.created', data }];
    const { recorded } = log.append([
      command('posts/1', 0, { events, context, actor, correlationId: 'request-1', batch }),
    ]);
    const row = db.prepare('SELECT * FROM headers JOIN payloads USING (position)').get() as Record<string, string>;
    const header = JSON.parse(row.header as string) as Header;
    assert.equal(encodeHeader(header), row.header);
    assert.deepEqual(header, {
      v: 2,
      log: 'annals/test',
      position: 1,
      id: row.id,
      stream: 'posts/1',
      version: 1,
      type: 'document.created',
      schemaVersion: 1,
      recordedAt: '2026-11-20T12:00:00.000Z',
      actor,
      correlationId: 'request-1',
      batch,
      payload: commitmentOf(row.body as string),
    });
    const { salt, ...payload } = JSON.parse(row.body as string) as JsonObject;
    assert.deepEqual(payload, { data, context });
    assert.equal(typeof salt, 'string');
    assert.deepEqual(recorded, [{ header, data, context }]);
    assert.deepEqual(log.range(0, 1), recorded);
    assert.deepEqual(log.stream('posts/1'), recorded);
  });

  it('takes events that need no version at any version, on a new stream too', (t) => {
    const { log, db } = openTestLog(t);
    log.append([command('accounts/users/1', 0)]);
    const free = log.append([
      command('accounts/users/1', null),
      command('accounts/users/2', null),
      command('accounts/users/1', null, { claims: [claim('a')] }),
      command('accounts/users/2', null, { claims: [claim('a')] }),
      command('accounts/users/1', 3),
    ]);
    assert.deepEqual(positionsOf(free.outcomes), [2, 3, 4, 'claim', 5]);
    assert.deepEqual(
      headersOf(db).map(({ stream, version }) => [stream, version]),
      [
        ['accounts/users/1', 1],
        ['accounts/users/1', 2],
        ['accounts/users/2', 1],
        ['accounts/users/1', 3],
        ['accounts/users/1', 4],
      ],
    );
  });

  it('refuses a stale expected version with the version there is, across batches and within one', (t) => {
    const { log, db } = openTestLog(t);
    log.append([command('posts/1', 0)]);
    const before = contentOf(db);
    const stale = log.append([command('posts/1', 0), command('posts/1', 2), command('posts/2', 1)]);
    assert.deepEqual(stale.outcomes, [
      { ok: false, conflict: 'version', version: 1 },
      { ok: false, conflict: 'version', version: 1 },
      { ok: false, conflict: 'version', version: 0 },
    ]);
    assert.deepEqual(stale.recorded, []);
    assert.deepEqual(contentOf(db), before);

    const rivals = log.append([
      command('posts/1', 1),
      command('posts/1', 1),
      command('posts/1', 2),
      command('posts/1', 1),
    ]);
    assert.deepEqual(positionsOf(rivals.outcomes), [2, 'version', 3, 'version']);
    assert.deepEqual(rivals.outcomes[1], { ok: false, conflict: 'version', version: 2 });
    assert.deepEqual(rivals.outcomes[3], { ok: false, conflict: 'version', version: 3 });
  });

  it('gives a unique value to one stream until it is released, and names the value that is taken', (t) => {
    const { log, db } = openTestLog(t);
    const both = log.append([
      command('posts/1', 0, { claims: [claim('a')] }),
      command('posts/2', 0, { claims: [claim('a')] }),
      command('posts/2', 0, { claims: [claim('a', 'posts.name'), claim('b')] }),
    ]);
    assert.deepEqual(positionsOf(both.outcomes), [1, 'claim', 2]);
    assert.deepEqual(both.outcomes[1], { ok: false, conflict: 'claim', claim: claim('a') });

    assert.deepEqual(positionsOf(log.append([command('posts/3', 0, { claims: [claim('a')] })]).outcomes), ['claim']);
    const handedOver = log.append([
      command('posts/1', 1, { releases: [claim('a')], claims: [claim('c')] }),
      command('posts/3', 0, { claims: [claim('a')] }),
      command('posts/4', 0, { claims: [claim('c')] }),
    ]);
    assert.deepEqual(positionsOf(handedOver.outcomes), [3, 4, 'claim']);
    assert.deepEqual(db.prepare('SELECT scope, value, stream FROM claims ORDER BY 1, 2').raw().all(), [
      ['posts.name', '"a"', 'posts/2'],
      ['posts.slug', '"a"', 'posts/3'],
      ['posts.slug', '"b"', 'posts/2'],
      ['posts.slug', '"c"', 'posts/1'],
    ]);
  });

  it('lets a stream take a value that another releases earlier in the same batch, in that order only', (t) => {
    const { log } = openTestLog(t);
    log.append([command('posts/1', 0, { claims: [claim('a')] }), command('posts/2', 0, { claims: [claim('b')] })]);
    const exchange = log.append([
      command('posts/1', 1, { releases: [claim('a')], claims: [claim('b')] }),
      command('posts/2', 1, { releases: [claim('b')], claims: [claim('a')] }),
      command('posts/1', 1, { releases: [claim('a')], claims: [claim('b')] }),
    ]);
    // Posts 1 is refused, so it still holds a; what it would have released was not.
    assert.deepEqual(positionsOf(exchange.outcomes), ['claim', 'claim', 'claim']);
    const first = log.append([command('posts/1', 1, { releases: [claim('a')], claims: [claim('c')] })]);
    const rest = log.append([
      command('posts/2', 1, { releases: [claim('b')], claims: [claim('a')] }),
      command('posts/1', 2, { releases: [claim('c')], claims: [claim('b')] }),
    ]);
    assert.deepEqual([...positionsOf(first.outcomes), ...positionsOf(rest.outcomes)], [3, 4, 5]);
  });

  it('leaves no trace of a refused command, and records its neighbours as if it had not been there', (t) => {
    const refused: { [name: string]: Command } = {
      'a stale version': command('posts/1', 7, { claims: [claim('x')] }),
      'its second value taken': command('posts/9', 0, { claims: [claim('x'), claim('taken')] }),
      'a value taken after a release': command('posts/1', 1, { releases: [claim('taken')], claims: [claim('other')] }),
      'a value that it does not hold': command('posts/9', 0, { releases: [claim('taken')], claims: [claim('x')] }),
    };
    const withoutIt = runBatch(null);
    for (const [name, bad] of Object.entries(refused)) {
      const { content, outcomes, recorded } = runBatch(bad);
      assert.deepEqual(positionsOf(outcomes).filter((outcome) => typeof outcome === 'number').length, 2, name);
      assert.equal(outcomes[1] instanceof Error || outcomes[1]?.ok === false, true, name);
      assert.deepEqual(recorded, 2, name);
      assert.deepEqual(content, withoutIt.content, name);
    }

    function runBatch(bad: Command | null) {
      const { log, db } = openTestLog(t);
      log.append([
        command('posts/1', 0, { claims: [claim('taken')] }),
        command('posts/2', 0, { claims: [claim('other')] }),
      ]);
      const { outcomes, recorded } = log.append([
        command('posts/3', 0, { claims: [claim('three')] }),
        ...(bad ? [bad] : []),
        command('posts/4', 0, { claims: [claim('four')] }),
      ]);
      assert.equal(log.head().size, 4);
      assert.equal(
        verifyLog(db, () => {}),
        null,
      );
      // Random values differ from log to log: ids, salts and their hashes.
      const events = headersOf(db).map(({ position, stream, version }) => ({ position, stream, version }));
      return { content: { events, claims: contentOf(db).claims }, outcomes, recorded: recorded.length };
    }
  });

  it('leaves no trace of a command that SQLite refuses halfway, and records its neighbours', (t) => {
    let given: string[] = [];
    const { log, db } = openTestLog(t, (now) => {
      const real = createIds(new BigInt64Array(new SharedArrayBuffer(8)), now);
      return {
        ...real,
        next: () => ({ ...real.next(), ...(given.length > 0 ? { id: given.shift() as string } : {}) }),
      };
    });
    // The batch is tried without savepoints first, up to the refusal, and then once more with them.
    given = ['id-1', 'id-2', 'id-3', 'id-1', 'id-1', 'id-2', 'id-3', 'id-1', 'id-4'];
    const two: Command['events'] = [
      { type: 'document.created', data: { id: '2' } },
      { type: 'document.updated', data: { set: {} } },
    ];
    const { outcomes, recorded } = log.append([
      command('posts/1', 0),
      command('posts/0', 0),
      // The second event repeats an id, so the trigger aborts the command after its first event was inserted.
      command('posts/2', 0, { events: two, claims: [claim('x')] }),
      command('posts/3', 0),
    ]);
    assert.deepEqual(positionsOf(outcomes), [1, 2, 'events are append-only', 3]);
    assert.ok(outcomes[2] instanceof Error);
    assert.deepEqual(
      recorded.map(({ header }) => header.id),
      ['id-1', 'id-2', 'id-4'],
    );
    assert.deepEqual(db.prepare('SELECT id, stream FROM headers ORDER BY position').raw().all(), [
      ['id-1', 'posts/1'],
      ['id-2', 'posts/0'],
      ['id-4', 'posts/3'],
    ]);
    assert.deepEqual(contentOf(db).claims, []);
    assert.equal(
      verifyLog(db, () => {}),
      null,
    );
  });

  it('never records a time before the last one, in one batch, over batches and after a restart', (t) => {
    let clock = noon;
    const { log, reopen, db, clock: ownClock } = openTestLog(t);
    const steps = [0, 5000, -60_000, 3000, -1, 7000];
    let current: SqliteLog = log;
    for (const [index, step] of steps.entries()) {
      clock = noon + step;
      ownClock.now = clock;
      current.append([command(`posts/${index}`, 0), command(`posts/${index}`, 1)]);
      if (index === 2) current = reopen();
    }
    assert.deepEqual(
      headersOf(db).map(({ recordedAt }) => Date.parse(recordedAt) - noon),
      [0, 0, 5000, 5000, 5000, 5000, 5000, 5000, 5000, 5000, 7000, 7000],
    );
    assert.equal(current.head().recordedAt, '2026-11-20T12:00:07.000Z');
  });

  it('never records a time before the last one while the clock goes back inside a batch', (t) => {
    // Each batch looks at the clock once more than it has commands.
    const [first, ...times] = [noon, noon + 10, noon + 3, noon + 20, noon];
    const ticks = [first, ...times];
    const path = join(temporaryFolder(t), 'log.db');
    const db = openDatabase(path, { durability: 'full' });
    t.after(() => db.close());
    createLog(db, 'annals/test', seals.key);
    const ids = createIds(new BigInt64Array(new SharedArrayBuffer(8)), () => noon);
    const log = openLog(db, { ids, now: () => ticks.shift() as number, seals });
    log.append(times.map((_, index) => command(`posts/${index}`, 0)));
    assert.deepEqual(
      headersOf(db).map(({ recordedAt }) => Date.parse(recordedAt) - noon),
      [10, 10, 20, 20],
    );
  });

  it('commits once per batch, however many commands it holds, and nothing for a batch of refusals', (t) => {
    const { log, db, path } = openTestLog(t);
    db.pragma('wal_checkpoint(TRUNCATE)');
    log.append(
      Array.from({ length: 700 }, (_, index) => command(`posts/${index}`, 0, { claims: [claim(`${index}`)] })),
    );
    assert.equal(commitsIn(path), 1);
    log.append([command('posts/0', 1), command('posts/0', 1), command('posts/1', 1, { claims: [claim('1')] })]);
    assert.equal(commitsIn(path), 2);
    log.append([command('posts/0', 0), command('posts/1', 0)]);
    log.append([]);
    assert.equal(commitsIn(path), 2);
    assert.equal(log.head().size, 701);
  });

  it('keeps a tree that gives the root at every size, however the events were batched', (t) => {
    const small = openTestLog(t);
    for (let index = 0; index < 520; index += 1) small.log.append([command('posts/1', index)]);
    const large = openTestLog(t);
    large.log.append(Array.from({ length: 255 }, (_, index) => command('posts/1', index)));
    large.log.append([command('posts/1', 255), command('posts/1', 256)]);
    large.log.append(Array.from({ length: 263 }, (_, index) => command('posts/1', 257 + index)));
    for (const { log, db, reopen } of [small, large]) {
      for (const size of [0, 1, 2, 3, 100, 254, 255, 256, 257, 258, 511, 512, 513, 519, 520]) {
        assert.deepEqual(log.rootAt(size), naiveRoot(db, size), `size ${size}`);
      }
      assert.deepEqual(log.head().root, naiveRoot(db, 520));
      const tiles = db.prepare('SELECT level, idx, length(hashes) FROM tiles ORDER BY 1, 2').raw().all();
      assert.deepEqual(tiles, [
        [0, 0, 8192],
        [0, 1, 8192],
        [1, 0, 64],
      ]);
      const again = reopen();
      again.append(Array.from({ length: 260 }, (_, index) => command('posts/1', 520 + index)));
      assert.deepEqual(again.head().root, naiveRoot(db, 780));
      assert.equal(
        verifyLog(db, () => {}),
        null,
      );
    }
  });

  it('goes over to a third level of tiles after 65,536 events', (t) => {
    const path = join(temporaryFolder(t), 'log.db');
    const db = openDatabase(path, { durability: 'off' });
    t.after(() => db.close());
    createLog(db, 'annals/test', seals.key);
    const ids = createIds(new BigInt64Array(new SharedArrayBuffer(8)), () => noon);
    const filled = fill(db, 65_280);
    const log = openLog(db, { ids, now: () => noon, seals });
    const events = Array.from({ length: 240 }, () => ({ type: 'document.updated' as const, data: {} }));
    for (const version of [0, 240, 480]) log.append([command('posts/1', version, { events })]);
    const tiles = db.prepare('SELECT level, count(*), sum(length(hashes)) / 32 FROM tiles GROUP BY level').raw().all();
    assert.deepEqual(tiles, [
      [0, 257, 65_792],
      [1, 2, 257],
      [2, 1, 1],
    ]);
    const sizes = [65_535, 65_536, 65_537, 65_792, 66_000];
    const appended = db.prepare('SELECT header FROM headers WHERE position > 65280 ORDER BY position').pluck().all();
    const roots = naiveRoots([...filled, ...(appended as string[])], sizes);
    for (const [index, size] of sizes.entries()) assert.deepEqual(log.rootAt(size), roots[index], `size ${size}`);
    assert.deepEqual(openLog(db, { ids, now: () => noon, seals }).head().root, roots.at(-1));
  });

  it('undoes a whole batch when there is no room, and goes on when there is', (t) => {
    const { log, db } = openTestLog(t);
    log.append(Array.from({ length: 250 }, (_, index) => command('posts/1', index)));
    const before = contentOf(db);
    const head = log.head();
    db.pragma(`max_page_count = ${String(db.pragma('page_count', { simple: true }))}`);
    const many = Array.from({ length: 300 }, (_, index) =>
      command(`posts/x${index}`, 0, { claims: [claim(`${index}`)] }),
    );
    assert.throws(() => log.append(many), isDiskFull);
    assert.deepEqual(contentOf(db), before);
    assert.deepEqual(log.head(), head);
    db.pragma('max_page_count = 1000000');
    assert.deepEqual(log.append(many).outcomes.at(-1), {
      ok: true,
      position: 550,
      version: 1,
      recordedAt: '2026-11-20T12:00:00.000Z',
    });
    assert.equal(
      verifyLog(db, () => {}),
      null,
    );
  });

  it('undoes a whole batch that fails at its very end, when its tiles are filled already', (t) => {
    const { log, db } = openTestLog(t);
    log.append(Array.from({ length: 200 }, (_, index) => command('posts/1', index)));
    const before = contentOf(db);
    const head = log.head();
    db.exec(`CREATE TEMP TRIGGER fail BEFORE UPDATE ON head BEGIN SELECT RAISE(ABORT, 'failed'); END`);
    const many = Array.from({ length: 100 }, (_, index) => command('posts/1', 200 + index));
    assert.throws(() => log.append(many), /failed/);
    assert.deepEqual(contentOf(db), before);
    assert.deepEqual(log.head(), head);
    db.exec('DROP TRIGGER temp.fail');
    log.append(many);
    assert.deepEqual(log.head().root, naiveRoot(db, 300));
    assert.equal(
      verifyLog(db, () => {}),
      null,
    );
  });

  it('keeps all of this for random batches: positions, versions, claims, tree', () => {
    const step = fc.record({
      stream: fc.integer({ min: 1, max: 4 }),
      offset: fc.constantFrom(0, 0, 0, 0, 0, 1, -1, null),
      events: fc.integer({ min: 1, max: 3 }),
      claim: fc.option(fc.integer({ min: 1, max: 4 }), { nil: undefined }),
      isGiving: fc.boolean(),
    });
    let [taken, swapped] = [0, 0];
    const unit = fc.array(step, { minLength: 1, maxLength: 3 });
    fc.assert(
      fc.property(fc.array(fc.array(unit, { minLength: 1, maxLength: 6 }), { maxLength: 12 }), (batches) => {
        const db = openDatabase(':memory:', { durability: 'off' });
        createLog(db, 'annals/test', seals.key);
        const ids = createIds(new BigInt64Array(new SharedArrayBuffer(8)), () => noon);
        const log = openLog(db, { ids, now: () => noon, seals });
        let model: Model = { size: 0, versions: new Map(), held: new Map() };
        for (const batch of batches) {
          // A command is decided on the state before its batch, as requests are.
          const known = model;
          const commands = batch.map((steps) => {
            const ahead = new Map<string, number>();
            const [first, ...otherStreams] = steps.map(({ stream, offset, events, claim: wanted, isGiving }) => {
              const name = `posts/${stream}`;
              const own = [...known.held].filter(([, holder]) => holder === name).map(([value]) => value);
              const claims = wanted === undefined || own.includes(String(wanted)) ? [] : [claim(String(wanted))];
              const version = (known.versions.get(name) ?? 0) + (ahead.get(name) ?? 0);
              ahead.set(name, (ahead.get(name) ?? 0) + events);
              return change(name, offset === null ? null : Math.max(0, version + offset), {
                events: Array.from({ length: events }, () => ({ type: 'document.updated', data: {} })),
                claims,
                releases: claims.length > 0 || isGiving ? own.map((value) => claim(value)) : [],
              });
            }) as [Change, ...Change[]];
            return command('', null, { ...first, ...(otherStreams.length > 0 ? { otherStreams } : {}) });
          });
          const { outcomes } = log.append(commands);
          for (const [index, one] of commands.entries()) {
            const expected = recordIn(model, one);
            if (expected.outcome) assert.deepEqual(outcomes[index], expected.outcome);
            // The command guessed the version that the batch would bring, but not that its value would be gone by then.
            else assert.match(String(outcomes[index]), /does not hold its value/);
            const passed = passedOn(model, expected.after, one);
            if (passed.length > 0) taken += 1;
            if (passed.some(([from, to]) => passed.some(([other, back]) => from === back && to === other)))
              swapped += 1;
            model = expected.after;
          }
        }
        assert.equal(log.head().size, model.size);
        assert.equal(
          verifyLog(db, () => {}),
          null,
        );
        const stored = db.prepare('SELECT value, stream FROM claims').raw().all() as [string, string][];
        assert.deepEqual(new Map(stored.map(([value, stream]) => [JSON.parse(value) as string, stream])), model.held);
        db.close();
      }),
      { numRuns: runsOf(2000) },
    );
    assert.ok(taken >= seenOf(400, 2000) && swapped >= seenOf(25, 2000), `${taken} taken over, ${swapped} swapped`);
  });
});

describe('the log', () => {
  it('is append-only against UPDATE, DELETE and every way to insert over a row, with recursive_triggers or without', (t) => {
    const { log, db, path } = openTestLog(t);
    log.append(Array.from({ length: 5 }, (_, index) => command(`posts/${index}`, 0)));
    const before = contentOf(db);
    const event = (columns: { [name: string]: string }) => {
      const values = {
        position: '6',
        id: "'new'",
        stream: "'posts/new'",
        version: '1',
        ...columns,
        rest: `${'NULL, '.repeat(9)}'forged'`,
      };
      return Object.values(values).join(', ');
    };
    const statements = [
      "UPDATE events SET whole = 'forged' WHERE position = 3",
      'UPDATE events SET position = 9 WHERE position = 5',
      'UPDATE OR REPLACE events SET id = (SELECT id FROM events WHERE position = 1) WHERE position = 2',
      'DELETE FROM events WHERE position = 5',
      'DELETE FROM events',
      `INSERT INTO events VALUES (${event({ position: '3' })})`,
      `INSERT INTO events VALUES (${event({ position: '7' })})`,
      `INSERT INTO events VALUES (${event({ position: '0' })})`,
      `INSERT INTO events VALUES (${event({ position: '-1' })})`,
      `INSERT OR REPLACE INTO events VALUES (${event({ position: '3' })})`,
      `INSERT OR REPLACE INTO events VALUES (${event({ stream: "'posts/2'" })})`,
      `REPLACE INTO events VALUES (${event({ id: '(SELECT id FROM events WHERE position = 2)' })})`,
      `INSERT INTO events VALUES (${event({ position: '3' })}) ON CONFLICT DO UPDATE SET whole = 'forged'`,
      `INSERT INTO events VALUES (${event({ stream: "'posts/2'" })}) ON CONFLICT (stream, version) DO UPDATE SET whole = 'forged'`,
      "UPDATE payloads SET body = '{}' WHERE position = 3",
      'UPDATE payloads SET enc = 1',
      'DELETE FROM payloads WHERE position = 5',
      'DELETE FROM payloads',
      "INSERT INTO payloads VALUES (3, 0, '{}')",
      "INSERT OR REPLACE INTO payloads VALUES (3, 0, '{}')",
      "REPLACE INTO payloads VALUES (3, 0, '{}')",
      "INSERT INTO payloads VALUES (3, 0, '{}') ON CONFLICT DO UPDATE SET body = '{}'",
    ];
    for (const isRecursive of [true, false]) {
      for (const hasForeignKeys of [true, false]) {
        const other = openDatabase(path);
        other.pragma(`recursive_triggers = ${isRecursive ? 1 : 0}`);
        other.pragma(`foreign_keys = ${hasForeignKeys ? 1 : 0}`);
        for (const sql of statements) {
          const label = `${sql}, recursive_triggers ${isRecursive}`;
          assert.throws(() => other.exec(sql), /append-only|FOREIGN KEY/, label);
          assert.deepEqual(contentOf(db), before, label);
        }
        other.close();
      }
    }
    assert.deepEqual(positionsOf(log.append([command('posts/0', 1)]).outcomes), [6]);
    assert.equal(
      verifyLog(db, () => {}),
      null,
    );
  });

  it('is opened with synchronous=FULL on a write-ahead log, which is read back', (t) => {
    const { db, path } = openTestLog(t);
    assert.equal(db.pragma('synchronous', { simple: true }), 2);
    assert.equal(db.pragma('journal_mode', { simple: true }), 'wal');
    assert.equal(db.pragma('recursive_triggers', { simple: true }), 1);
    assert.equal(db.pragma('foreign_keys', { simple: true }), 1);
    const again = openDatabase(path, { durability: 'full' });
    assert.equal(again.pragma('synchronous', { simple: true }), 2);
    again.close();
  });

  it('refuses to open when its newest events, its head or its tiles do not belong together, and records nothing', (t) => {
    const damages: { [sql: string]: RegExp } = {
      'DELETE FROM payloads WHERE position = 300; DELETE FROM events WHERE position = 300':
        /ends at position 299, its head says 300/,
      'UPDATE head SET root = zeroblob(32)': /does not give the root of its head at position 300/,
      'UPDATE head SET size = 299': /ends at position 300, its head says 299/,
      'DELETE FROM tiles': /is missing or short|does not give the root/,
      "UPDATE events SET correlation = 'tess' WHERE position = 300": /does not give the root/,
      'DELETE FROM payloads WHERE position = 290; DELETE FROM events WHERE position = 290':
        /events .* are missing|does not give the root/,
      'DELETE FROM head': /has 0 heads/,
      "INSERT INTO head VALUES ('other', 0, zeroblob(32), '', zeroblob(32))": /has 2 heads/,
      'UPDATE head SET mac = zeroblob(32)': /the head of log\.db is not sealed by the key of vault\.db/,
      "UPDATE head SET recorded_at = '2026-11-20T12:00:00.001Z'": /its time is not that of the last event/,
    };
    for (const [sql, message] of Object.entries(damages)) {
      const { log, db, reopen } = openTestLog(t);
      log.append(Array.from({ length: 300 }, (_, index) => command('posts/1', index)));
      const triggers = db.prepare("SELECT name FROM sqlite_schema WHERE type = 'trigger'").pluck().all() as string[];
      for (const name of triggers) db.exec(`DROP TRIGGER ${name}`);
      db.exec(sql);
      assert.throws(reopen, (error) => error instanceof BrokenLogError && message.test(error.message), sql);
    }
  });

  it('is told from other files and from newer formats', (t) => {
    const folder = temporaryFolder(t);
    const empty = openDatabase(join(folder, 'empty.db'));
    assert.equal(isLog(empty), false);
    const other = openDatabase(join(folder, 'other.db'));
    other.exec('CREATE TABLE events (position INTEGER)');
    assert.throws(() => isLog(other), /not an Annals log/);
    const newer = openDatabase(join(folder, 'newer.db'));
    createLog(newer, 'annals/test', seals.key);
    assert.equal(isLog(newer), true);
    newer.pragma('user_version = 6');
    assert.throws(() => isLog(newer), /format 6; this version of Annals reads formats 1 to 5/);
    for (const db of [empty, other, newer]) db.close();
  });

  it('shows a reader beside the writer whole batches only', (t) => {
    const { log, path } = openTestLog(t);
    const reader = openDatabase(path, { readonly: true });
    t.after(() => reader.close());
    const count = reader.prepare('SELECT (SELECT count(*) FROM events), (SELECT size FROM head)').raw();
    const seen: unknown[] = [];
    const ids = { raise: () => {}, restart: () => {}, next: () => ({ id: `${seen.push(count.get())}`, at: noon }) };
    const writer = openLog(openDatabase(path, { durability: 'full' }), { ids, now: () => noon, seals });
    writer.append([command('posts/1', 0), command('posts/2', 0)]);
    assert.deepEqual(seen, [
      [0, 0],
      [0, 0],
    ]);
    assert.deepEqual(count.get(), [2, 2]);
    assert.ok(log);
  });

  it('commits to nothing but what RFC 6962 says: the head is the root over the header bytes alone', (t) => {
    const { log, db } = openTestLog(t);
    log.append([command('posts/1', 0), command('posts/2', 0)]);
    const sha256 = (...parts: Buffer[]) => createHash('sha256').update(Buffer.concat(parts)).digest();
    const [a, b] = db.prepare('SELECT CAST(header AS BLOB) FROM headers ORDER BY position').pluck().all() as [
      Buffer,
      Buffer,
    ];
    const leaf = (entry: Buffer) => sha256(Buffer.from([0]), entry);
    assert.deepEqual(log.head().root, sha256(Buffer.from([1]), leaf(a), leaf(b)));
  });
});

/** A log as simple as it can be: the versions of streams, and who holds which value. */
type Model = { size: number; versions: ReadonlyMap<string, number>; held: ReadonlyMap<string, string> };

/** The outcome of a command. Without an outcome, it wants to give up a value that its stream does not hold. */
function recordIn(before: Model, { otherStreams = [], ...own }: Command): { outcome: Outcome | null; after: Model } {
  const changes: Change[] = [own, ...otherStreams];
  const versions = new Map(before.versions);
  for (const { stream, expectedVersion, events } of changes) {
    const version = versions.get(stream) ?? 0;
    if (expectedVersion !== null && expectedVersion !== version) {
      return { outcome: { ok: false, conflict: 'version', version }, after: before };
    }
    versions.set(stream, version + events.length);
  }
  const given = changes.flatMap(({ stream, releases }) =>
    releases.map(({ value }): [string, string] => [JSON.parse(value), stream]),
  );
  const kept = [...before.held].filter(
    ([value, holder]) => !given.some((one) => one[0] === value && one[1] === holder),
  );
  const taken = new Set(kept.map(([value]) => value));
  for (const wanted of changes.flatMap(({ claims }) => claims)) {
    const value = JSON.parse(wanted.value) as string;
    if (taken.has(value)) return { outcome: { ok: false, conflict: 'claim', claim: wanted }, after: before };
    taken.add(value);
  }
  const held = new Map(before.held);
  for (const [value, stream] of given) {
    if (held.get(value) !== stream) return { outcome: null, after: before };
    held.delete(value);
  }
  for (const { stream, claims } of changes) for (const { value } of claims) held.set(JSON.parse(value), stream);
  const size = before.size + changes.reduce((sum, { events }) => sum + events.length, 0);
  const position = before.size + own.events.length;
  const version = (before.versions.get(own.stream) ?? 0) + own.events.length;
  const outcome: Outcome = { ok: true, position, version, recordedAt: new Date(noon).toISOString() };
  return { outcome, after: { size, versions, held } };
}

/** The values that a command has taken from one of its streams for another: both streams of each. */
function passedOn(before: Model, after: Model, { otherStreams = [], ...own }: Command): [from: string, to: string][] {
  if (before === after) return [];
  return [own, ...otherStreams].flatMap(({ stream, claims }) =>
    claims.flatMap(({ value }): [string, string][] => {
      const from = before.held.get(JSON.parse(value));
      return from === undefined || from === stream ? [] : [[from, stream]];
    }),
  );
}
