import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import type { Command, Outcome } from '../../events/facts/log.ts';
import { DivergedError } from '../../events/log/ingesting.ts';
import type { MissingRows, Shipment } from '../../events/log/shipment.ts';
import { openLog, type SqliteLog } from '../../events/log/sqlite-log.ts';
import type { CheckpointChange } from '../../events/proof/checkpoints.ts';
import { createIds } from '../../events/store/ids.ts';
import { createLog } from '../../events/store/log-file.ts';
import { verifyLog } from '../../events/verify/verify.ts';
import { openDatabase, type Sqlite } from '../../storage/sqlite.ts';
import { runsOf, seenOf } from '../helpers/runs.ts';
import { commandBy, rowsOf, steps } from './histories.ts';
import { change, claim, command, noon, openTestLog, seals } from './logs.ts';

type Node = { db: Sqlite; log: SqliteLog; clock: { now: number } };

/** A log in memory, with ids of its own. */
function openNode(): Node {
  const clock = { now: noon };
  const now = () => clock.now;
  const db = openDatabase(':memory:');
  createLog(db, 'annals/test', seals.key);
  const ids = createIds(new BigInt64Array(new SharedArrayBuffer(8)), now);
  return { db, log: openLog(db, { ids, now, seals }), clock };
}

/** A store of shipped rows, in memory: it does with them as {@link Shipment} says. */
function openStore() {
  const events: MissingRows['events'] = [];
  let claims: MissingRows['claims'] = [];
  /** `since`: the event with which a replica needs the record; the next event if the command has none of its own. */
  const idempotencyRecords = new Map<string, MissingRows['idempotencyRecords'][number] & { since: number }>();
  const erasures: MissingRows['erasures'] = [];
  let head: Shipment['head'] | null = null;

  return {
    keep(shipment: Shipment): void {
      const kept: Shipment = structuredClone(shipment);
      assert.equal(kept.from, events.length);
      events.push(...kept.events);
      claims.push(...kept.claims);
      // An erasure takes the idempotency records before it; its own is put there after it.
      for (const { position, files, payloads, streams, idempotencyOf } of kept.erasures) {
        for (const at of payloads) (events[at - 1] as MissingRows['events'][number]).body = null;
        claims = claims.filter((one) => one.position > position || !streams.includes(one.stream));
        kept.idempotencyRecords = kept.idempotencyRecords.filter(
          (one) => one.position >= position || !idempotencyOf.includes(one.stream),
        );
        for (const [key, one] of idempotencyRecords)
          if (idempotencyOf.includes(one.stream)) idempotencyRecords.delete(key);
        erasures.push({ position, files });
      }
      for (const one of kept.idempotencyRecords)
        idempotencyRecords.set(one.key, { ...one, since: Math.max(one.position, kept.from + 1) });
      head = { ...kept.head, root: shipment.head.root };
    },
    /** The rows after `from` events, of at most `limit` events. */
    after(from: number, limit: number): MissingRows {
      const upTo = Math.min(from + limit, events.length);
      const isIn = ({ position }: { position: number }) => position > from && position <= upTo;
      return structuredClone({
        from,
        head: null,
        events: events.slice(from, upTo),
        claims: claims.filter(isIn),
        idempotencyRecords: [...idempotencyRecords.values()]
          .filter(({ since }) => since > from && since <= (upTo === events.length ? upTo + 1 : upTo))
          .sort((one, other) => one.position - other.position),
        erasures: erasures.filter(isIn),
      }) satisfies MissingRows as MissingRows;
    },
    head: () => head,
    size: () => events.length,
  };
}

type Store = ReturnType<typeof openStore>;

/** Several transactions in one. */
function merged(all: readonly Shipment[]): MissingRows {
  return {
    from: all[0]?.from ?? 0,
    head: all.at(-1)?.head ?? null,
    events: all.flatMap(({ events }) => events),
    claims: all.flatMap(({ claims }) => claims),
    idempotencyRecords: all.flatMap(({ idempotencyRecords }) => idempotencyRecords),
    erasures: all.flatMap(({ erasures }) => erasures),
  };
}

/** Has a replica follow a store, in pages of `page` events. */
function follow({ log }: Node, store: Store, page: number): void {
  while (log.head().size < store.size()) {
    const missing = store.after(log.head().size, page);
    const isLast = log.head().size + missing.events.length === store.size();
    log.ingest(isLast ? { ...missing, head: store.head() } : missing);
  }
}

const seen = { erased: 0, claimed: 0, named: 0, refused: 0, given: 0, conflicts: 0, passedOn: 0 };

function count(outcomes: readonly (Outcome | Error)[], { erasures, claims, idempotencyRecords }: Shipment): void {
  seen.refused += outcomes.filter((outcome) => outcome instanceof Error).length;
  seen.conflicts += outcomes.filter((outcome) => !(outcome instanceof Error) && !outcome.ok).length;
  seen.erased += erasures.filter(({ payloads }) => payloads.length > 0).length;
  seen.claimed += claims.filter(({ isTaken }) => isTaken).length;
  seen.given += claims.filter(({ isTaken }) => !isTaken).length;
  seen.named += idempotencyRecords.length;
  const given = new Set(claims.filter(({ isTaken }) => !isTaken).map(({ position, value }) => `${position} ${value}`));
  seen.passedOn += claims.filter(({ isTaken, position, value }) => isTaken && given.has(`${position} ${value}`)).length;
}

describe('a replica of a log', () => {
  it('has the same rows in every table, wherever batches are cut, whatever was rolled back or erased in between', () => {
    const all = 150;
    fc.assert(
      fc.property(steps, (steps) => {
        const nodes = [openNode(), openNode(), openNode(), openNode()] as const;
        // The second replica is given the shipments, the others ask the store for them: from time to time, and at the
        // end.
        const [writer, near, lagging, late] = nodes;
        let waiting: Shipment[] = [];
        const store = openStore();
        for (const { commands, isRolledBack, milliseconds, page } of steps) {
          writer.clock.now += milliseconds;
          const before = rowsOf(writer.db);
          const prepared = writer.log.prepare(commands.map((one) => commandBy(writer, one)));
          if (isRolledBack) {
            prepared.rollBack();
            assert.deepEqual(rowsOf(writer.db), before);
            continue;
          }
          count(prepared.outcomes, prepared.shipment);
          store.keep(prepared.shipment);
          prepared.commit();
          waiting.push(prepared.shipment);
          if (page === null) continue;
          near.log.ingest(merged(waiting));
          waiting = [];
          follow(lagging, store, page);
        }
        if (waiting.length > 0) near.log.ingest(merged(waiting));
        follow(lagging, store, 1000);
        follow(late, store, 3);
        const expected = rowsOf(writer.db);
        for (const { db } of [near, lagging, late]) assert.deepEqual(rowsOf(db), expected);
        assert.equal(
          verifyLog(late.db, () => {}),
          null,
        );
        for (const { db } of nodes) db.close();
      }),
      { numRuns: runsOf(all) },
    );
    for (const [name, times] of Object.entries(seen))
      assert.ok(times >= seenOf(20, all), `${name} came up ${times} times`);
  });

  it('has claims that a stream made after its erasure, in a command without an event of its own', () => {
    const [writer, near, late] = [openNode(), openNode(), openNode()];
    const store = openStore();
    const data = { streams: [{ stream: 'people/a', versions: 1 }] };
    const { shipment, commit } = writer.log.prepare([
      command('people/a', 0, { claims: [claim('x')] }),
      command('people/a', 1, { events: [{ type: 'document.erased', data }], erases: ['people/a'] }),
      command('bulk/1', null, { events: [], otherStreams: [change('people/a', 2, { claims: [claim('y')] })] }),
      command('bulk/2', null, { events: [], idempotency: { key: 'k', fingerprint: 'f' } }),
    ]);
    store.keep(shipment);
    commit();
    near.log.ingest(shipment);
    follow(late, store, 2);
    assert.deepEqual(writer.db.prepare('SELECT value, stream FROM claims').raw().all(), [['"y"', 'people/a']]);
    for (const { db } of [near, late]) assert.deepEqual(rowsOf(db), rowsOf(writer.db));
  });

  it('gives the events that were recorded, and goes on with ids that sort after them', () => {
    const [writer, replica] = [openNode(), openNode()];
    writer.clock.now += 60_000;
    const prepared = writer.log.prepare([command('posts/1', 0), command('posts/2', 0)]);
    prepared.commit();
    assert.deepEqual(replica.log.ingest(prepared.shipment), prepared.recorded);
    assert.deepEqual(replica.log.range(0, 2), prepared.recorded);
    // The clock of the replica is a minute behind.
    const own = replica.log.append([command('posts/3', 0)]).recorded;
    const [last] = own;
    assert.ok(last && last.header.id > (prepared.recorded[1]?.header.id ?? ''));
    assert.equal(last.header.recordedAt, prepared.recorded[1]?.header.recordedAt);
    assert.equal(last.header.position, 3);
  });

  it('gives up a value under the text that the stream held it under', () => {
    const nodes = [openNode(), openNode()] as const;
    for (const { db } of nodes) db.exec(`INSERT INTO claims VALUES ('posts.at', '"12:00:00"', 'posts/1')`);
    const [writer, replica] = nodes;
    const releases = [{ scope: 'posts.at', value: '"12:00"', former: '"12:00:00"' }];
    const { shipment, commit } = writer.log.prepare([command('posts/1', null, { releases })]);
    commit();
    assert.deepEqual(shipment.claims, [
      { position: 1, stream: 'posts/1', scope: 'posts.at', value: '"12:00:00"', isTaken: false },
    ]);
    replica.log.ingest(shipment);
    assert.deepEqual(rowsOf(replica.db), rowsOf(writer.db));
  });

  it('has the claims of a changed schema: the removed, the new and the moved ones', () => {
    const [writer, replica] = [openNode(), openNode()];
    const values = { 'posts/1': 'a', 'posts/2': 'b', 'posts/3': 'c' };
    const first = writer.log.prepare(
      Object.entries(values).map(([stream, value]) => command(stream, 0, { claims: [claim(value)] })),
    );
    first.commit();
    replica.log.ingest(first.shipment);
    const events: Command['events'] = [{ type: 'schema.changed', data: {} }];
    const held = [
      { claim: claim('a'), stream: 'posts/1' },
      { claim: claim('b'), stream: 'posts/3' },
      { claim: claim('b', 'posts.name'), stream: 'posts/2' },
      { claim: { ...claim('b', 'posts.name'), former: '"B"' }, stream: 'posts/3' },
    ];
    const before = rowsOf(writer.db);
    writer.log.prepareSchema(command('system/schema', 0, { events }), held).rollBack();
    assert.deepEqual(rowsOf(writer.db), before);
    assert.throws(
      () => writer.log.prepareSchema(command('system/schema', 1, { events }), held),
      /moved while its schema/,
    );
    const { shipment, commit } = writer.log.prepareSchema(command('system/schema', 0, { events }), held);
    commit();
    assert.deepEqual(
      shipment.claims.map(({ position, stream, scope, value, isTaken }) => [position, isTaken, stream, scope, value]),
      [
        [4, false, 'posts/2', 'posts.slug', '"b"'],
        [4, false, 'posts/3', 'posts.slug', '"c"'],
        [4, true, 'posts/3', 'posts.name', '"B"'],
        [4, true, 'posts/2', 'posts.name', '"b"'],
        [4, true, 'posts/3', 'posts.slug', '"b"'],
      ],
    );
    replica.log.ingest(shipment);
    assert.deepEqual(rowsOf(replica.db), rowsOf(writer.db));
    const same = openNode();
    same.log.append(Object.entries(values).map(([stream, value]) => command(stream, 0, { claims: [claim(value)] })));
    same.log.changeSchema(command('system/schema', 0, { events }), held);
    assert.deepEqual(rowsOf(same.db).claims, rowsOf(writer.db).claims);
  });

  it('gives a value to its present stream if an erasure removed the rows of the former one', () => {
    const [writer, replica] = [openNode(), openNode()];
    const store = openStore();
    append([command('people/a', 0, { claims: [claim('x')] })]);
    follow(replica, store, 10);
    append([command('people/a', 1, { releases: [claim('x')] }), command('people/b', 0, { claims: [claim('x')] })]);
    const streams = [{ stream: 'people/a', versions: 2 }];
    append([
      command('people/a', 2, { events: [{ type: 'document.erased', data: { streams } }], erases: ['people/a'] }),
    ]);
    assert.equal(store.after(1, 10).claims.length, 1);
    follow(replica, store, 10);
    assert.equal(replica.log.holderOf('posts.slug', '"x"'), 'people/b');
    assert.deepEqual(rowsOf(replica.db), rowsOf(writer.db));

    function append(commands: Command[]): void {
      const { shipment, commit } = writer.log.prepare(commands);
      store.keep(shipment);
      commit();
    }
  });

  it('refuses rows that are not those of its log, and has nothing of them', () => {
    const [writer, replica] = [openNode(), openNode()];
    const first = writer.log.prepare([command('posts/1', 0)]);
    first.commit();
    replica.log.ingest(first.shipment);
    const data = { streams: [{ stream: 'posts/1', versions: 1 }] };
    const { shipment, commit } = writer.log.prepare([
      command('posts/2', 0, { claims: [claim('a')] }),
      command('posts/1', 1, { events: [{ type: 'document.erased', data }], erases: ['posts/1'] }),
    ]);
    commit();
    const { head, events } = shipment;
    const [event, erased] = events as [Shipment['events'][number], Shipment['events'][number]];
    const before = rowsOf(replica.db);
    const other = openNode().log.prepare([command('posts/1', 0)]).shipment;
    const wrong: Record<string, [MissingRows, RegExp]> = {
      'another root': [
        { ...shipment, head: { ...head, root: Buffer.alloc(32) } },
        /the events up to position 3 do not give the head at position 3$/,
      ],
      'another time': [{ ...shipment, head: { ...head, recordedAt: '' } }, /do not give the head at position 3$/],
      'more than there is': [
        { ...shipment, head: { ...head, size: 4 } },
        /up to position 3 do not give .* position 4$/,
      ],
      'another log': [
        { ...shipment, head: { ...head, log: 'annals/x' } },
        /it is the log annals\/x, and not annals\/test$/,
      ],
      'a head of before': [
        { ...shipment, head: { ...head, size: 0 } },
        /the log lost events: it ends at position 0, but this node has seen position 1$/,
      ],
      'a head that is another here': [
        { ...other, from: 1, events: [] },
        /the log was altered: at position 1 it is not the log that this node has seen$/,
      ],
      'a changed payload': [
        { ...shipment, events: [{ ...event, body: event.body.replace('after', 'AFTER') }, erased] },
        /event 2: its payload is not the one committed to$/,
      ],
      'a changed header': [
        { ...shipment, events: [{ ...event, header: event.header.replace('annals/test', 'annals/TEST') }, erased] },
        /event 2 is of the log annals\/TEST, and not of annals\/test$/,
      ],
      'a header of nothing': [
        { ...shipment, events: [{ ...event, header: '{}' }, erased] },
        /the header of event 2 cannot/,
      ],
      'columns of another event': [
        { ...shipment, events: [{ ...event, stream: 'posts/9' }, erased] },
        /event 2: its row says stream posts\/9, its header posts\/2$/,
      ],
      'events out of order': [
        { ...shipment, events: [erased, event] },
        /event 2: its row says position 2, its header 3$/,
      ],
      'an erasure left out': [
        { ...shipment, erasures: [] },
        /event 3 erased something, and is not among the erasures$/,
      ],
      'an erasure of nothing': [
        { ...shipment, erasures: [...shipment.erasures, { position: 2, files: [] }] },
        /event 2 is among the erasures, and erased nothing$/,
      ],
      'an erasure that does not say of what': [
        { ...shipment, events: [event, { ...erased, body: null }] },
        /event 3 erased something, and its payload is missing$/,
      ],
    };
    for (const [name, [missing, message]] of Object.entries(wrong)) {
      assert.throws(
        () => replica.log.ingest(missing),
        (error) => error instanceof DivergedError && message.test(error.message),
        name,
      );
      assert.deepEqual(rowsOf(replica.db), before, name);
    }
    assert.throws(() => replica.log.ingest({ ...shipment, from: 0 }), /the rows begin after 0, and this log ends at 1/);
    assert.equal(replica.log.ingest({ ...first.shipment, from: 1, events: [] }).length, 0);
    replica.log.ingest(shipment);
    assert.deepEqual(rowsOf(replica.db), rowsOf(writer.db));
  });
});

describe('a prepared batch', () => {
  it('is what append would have recorded, once it is committed, and nothing of it once it is rolled back', (t) => {
    const { log, db, reopen } = openTestLog(t);
    const empty = rowsOf(db);
    const commands = [
      command('posts/1', 0, { claims: [claim('a')], idempotency: { key: 'k', fingerprint: 'f' } }),
      command('posts/2', 0, { claims: [claim('a')] }),
      command('posts/3', null, { releases: [claim('b')] }),
      command('posts/4', 0),
    ];
    log.prepare(commands).rollBack();
    assert.deepEqual(rowsOf(db), empty);
    assert.equal(log.head().size, 0);
    const prepared = log.prepare(commands);
    assert.equal(log.head().size, 0);
    assert.deepEqual(
      prepared.outcomes.map((outcome) => (outcome instanceof Error ? 'refused' : outcome.ok || outcome.conflict)),
      [true, 'claim', 'refused', true],
    );
    assert.deepEqual(
      prepared.shipment.events.map(({ stream, position }) => [stream, position]),
      [
        ['posts/1', 1],
        ['posts/4', 2],
      ],
    );
    prepared.commit();
    assert.equal(log.head().size, 2);
    assert.deepEqual(prepared.shipment.head, (({ mac: _, ...head }) => head)(reopen().head()));
    assert.deepEqual(log.range(0, 2), prepared.recorded);
    assert.throws(prepared.rollBack, /settled/);
    assert.throws(prepared.commit, /settled/);
    const none = log.prepare([command('posts/1', 0)]);
    assert.deepEqual(none.shipment.events, []);
    none.commit();
    assert.equal(log.head().size, 2);
  });

  it('is not touched by anything else that would write to the log', (t) => {
    const { log, db } = openTestLog(t);
    const prepared = log.prepare([command('posts/1', 0)]);
    const signed: CheckpointChange = { kind: 'signed', size: 1, note: 'n', signedAt: 's' };
    const writes: (() => unknown)[] = [
      () => log.append([command('posts/2', 0)]),
      () => log.prepare([command('posts/2', 0)]),
      () => log.changeSchema(command('schema', 0), []),
      () => log.ingest(prepared.shipment),
      () => log.keepCheckpoint(signed),
      () => log.erasing.setFiles(1, []),
      () => log.erasing.finish(1),
      () => log.segments.shed(1),
      () => log.segments.rewriteNow(),
    ];
    for (const write of writes) assert.throws(write, /a batch of the log is not settled yet/, String(write));
    prepared.commit();
    assert.equal(log.head().size, 1);
    log.append([command('posts/2', 0)]);
    log.keepCheckpoint(signed);
    assert.equal(
      verifyLog(db, () => {}),
      null,
    );
  });
});
