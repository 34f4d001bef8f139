import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import type { Change, Command, Outcome } from '../../events/facts/log.ts';
import { createIds, type Ids } from '../../events/store/ids.ts';
import { verifyLog } from '../../events/verify/verify.ts';
import type { Sqlite } from '../../storage/sqlite.ts';
import { change, claim, command, contentOf, headersOf, noon, type Opened, openTestLog, positionsOf } from './logs.ts';

const user = change('users/1', 0, {
  events: [{ type: 'document.created', data: { id: '1' } }],
  claims: [claim('a@example.com', 'users.email')],
});
const invite = change('accounts/users/invites/1', 1, {
  events: [{ type: 'invite.accepted', data: { account: 'users/1' } }],
});
const account = change('accounts/users/1', null, {
  events: [
    { type: 'password.changed', data: { credential: 'c' } },
    { type: 'session.started', data: { sid: 's', credential: 'c', expiresAt: '2026-11-20T13:00:00.000Z' } },
  ],
});

/** An accepted invitation: the document of its user, its own end, and what begins with it. */
function accepting(rest: Partial<Command> = {}): Command {
  return { ...command('', 0), ...user, otherStreams: [invite, account], ...rest };
}

/** A log that holds the invitation, and two posts with a unique value each. */
function openInvited(t: TestContext, makeIds?: (now: () => number) => Ids): Opened {
  const opened = openTestLog(t, makeIds);
  opened.log.append([
    command('accounts/users/invites/1', 0),
    command('posts/1', 0, { claims: [claim('one')] }),
    command('posts/2', 0, { claims: [claim('two')] }),
  ]);
  return opened;
}

function assertSound(db: Sqlite): void {
  assert.equal(
    verifyLog(db, () => {}),
    null,
  );
}

/** The parts that are the same in each log, unlike ids, salts and their hashes. */
function factsOf(db: Sqlite) {
  const events = headersOf(db).map(({ position, stream, version, type }) => [position, stream, version, type]);
  return { events, claims: contentOf(db).claims };
}

/** The stream that holds each value of a scope. */
function heldIn(db: Sqlite, scope = 'posts.slug'): Record<string, string> {
  const rows = db.prepare<[string], [string, string]>('SELECT value, stream FROM claims WHERE scope = ? ORDER BY 1');
  return Object.fromEntries(
    rows
      .raw()
      .all(scope)
      .map(([value, stream]) => [JSON.parse(value), stream]),
  );
}

describe('a command over several streams', () => {
  it('is recorded whole, in the order given, by one actor at one time, and answered for its own stream', (t) => {
    const { log, db, clock } = openInvited(t);
    clock.now = noon + 5;
    const actor = { type: 'user' as const, id: 'users/1' };
    const context = { ip: '192.0.2.1' };
    const { outcomes, recorded } = log.append([
      accepting({ actor, correlationId: 'request', context }),
      command('users/1', 1),
    ]);
    const recordedAt = '2026-11-20T12:00:00.005Z';
    assert.deepEqual(outcomes, [
      { ok: true, position: 4, version: 1, recordedAt },
      { ok: true, position: 8, version: 2, recordedAt },
    ]);
    assert.deepEqual(factsOf(db).events.slice(3), [
      [4, 'users/1', 1, 'document.created'],
      [5, 'accounts/users/invites/1', 2, 'invite.accepted'],
      [6, 'accounts/users/1', 1, 'password.changed'],
      [7, 'accounts/users/1', 2, 'session.started'],
      [8, 'users/1', 2, 'document.updated'],
    ]);
    for (const event of recorded.slice(0, 4)) {
      const { header } = event;
      assert.deepEqual([header.actor, header.correlationId, header.recordedAt], [actor, 'request', recordedAt]);
      assert.deepEqual(event.context, context);
    }
    assert.deepEqual(log.range(3, 8), recorded);
    assertSound(db);
  });

  it('gives each value to the stream whose change claims it, and takes it from the releasing one', (t) => {
    const { log, db } = openInvited(t);
    const otherStreams = [
      change('posts/1', 1, { releases: [claim('one')], claims: [claim('uno')] }),
      change('posts/3', 0, { claims: [claim('three')] }),
    ];
    log.append([accepting({ otherStreams }), command('posts/4', 0, { claims: [claim('one')] })]);
    assert.deepEqual(db.prepare('SELECT scope, value, stream FROM claims ORDER BY 1, 2').raw().all(), [
      ['posts.slug', '"one"', 'posts/4'],
      ['posts.slug', '"three"', 'posts/3'],
      ['posts.slug', '"two"', 'posts/2'],
      ['posts.slug', '"uno"', 'posts/1'],
      ['users.email', '"a@example.com"', 'users/1'],
    ]);
  });

  it('frees all that it gives up for each of its changes, whichever comes first', (t) => {
    const { log, db } = openInvited(t);
    const swap = [
      change('posts/1', 1, { releases: [claim('one')], claims: [claim('two')] }),
      change('posts/2', 1, { releases: [claim('two')], claims: [claim('one')] }),
    ];
    const chain = [
      change('posts/3', 0, { claims: [claim('one')] }),
      change('posts/2', 2, { releases: [claim('one')], claims: [claim('two')] }),
      change('posts/1', 2, { releases: [claim('two')] }),
    ];
    const again = command('posts/3', 1, { releases: [claim('one')], claims: [claim('one')] });
    // A value that another gives up is free for the own change of a command as well.
    const own = command('posts/4', 0, {
      claims: [claim('two')],
      otherStreams: [change('posts/2', 3, { releases: [claim('two')], claims: [claim('four')] })],
    });
    const after = [swap, chain].map((otherStreams) => {
      assert.deepEqual(positionsOf(log.append([command('bulk/1', null, { events: [], otherStreams })]).outcomes), [
        log.head().size - otherStreams.length,
      ]);
      return heldIn(db);
    });
    assert.deepEqual(after, [
      { one: 'posts/2', two: 'posts/1' },
      { one: 'posts/3', two: 'posts/2' },
    ]);
    assert.deepEqual(positionsOf(log.append([again, own]).outcomes), [9, 10]);
    assert.deepEqual(heldIn(db), { four: 'posts/2', one: 'posts/3', two: 'posts/4' });
    assertSound(db);
  });

  it('frees a value under the text that its stream holds it under, and no other', (t) => {
    const { log, db } = openInvited(t);
    const at = (time: string) => ({ scope: 'posts.at', value: `"${time}"`, former: `"${time}:00"` });
    const hold = (stream: string, time: string) =>
      db.exec(`INSERT INTO claims VALUES ('posts.at', '"${time}"', '${stream}')`);
    hold('posts/1', '10:00:00');
    hold('posts/2', '11:00');
    const swap = [
      change('posts/1', 1, { releases: [at('10:00')], claims: [at('11:00')] }),
      change('posts/2', 1, { releases: [at('11:00')], claims: [at('10:00')] }),
    ];
    log.append([command('bulk/1', null, { events: [], otherStreams: swap })]);
    assert.deepEqual(heldIn(db, 'posts.at'), { '10:00': 'posts/2', '11:00': 'posts/1' });
    // Times with and without seconds were two values once.
    hold('posts/5', '10:00:00');
    const taking = change('posts/4', 0, { claims: [at('10:00')] });
    const giving = [
      change('posts/2', 2, { releases: [at('10:00')] }),
      change('posts/5', null, { releases: [at('10:00')] }),
    ];
    const outcomesOf = (otherStreams: Change[]) =>
      positionsOf(log.append([command('bulk/2', null, { events: [], otherStreams })]).outcomes);
    for (const one of giving) assert.deepEqual(outcomesOf([taking, one]), ['claim']);
    assert.notDeepEqual(outcomesOf([taking, ...giving]), ['claim']);
    assert.deepEqual(heldIn(db, 'posts.at'), { '10:00': 'posts/4', '11:00': 'posts/1' });
  });

  it('is refused over a value that two of its changes claim, and names it', (t) => {
    const { log, db } = openTestLog(t);
    const twice = claim('one');
    const otherStreams = [change('posts/2', 0, { claims: [claim('two')] }), change('posts/3', 0, { claims: [twice] })];
    const { outcomes } = log.append([command('posts/1', 0, { claims: [twice], otherStreams })]);
    assert.deepEqual(outcomes, [{ ok: false, conflict: 'claim', claim: twice }]);
    assert.deepEqual(factsOf(db), { events: [], claims: [] });
  });

  it('may come back to a stream: its own events before count there', (t) => {
    const { log, db } = openTestLog(t);
    const otherStreams = [change('posts/2', 0), change('posts/1', 1), change('posts/2', null), change('posts/2', 2)];
    const { outcomes } = log.append([command('posts/1', 0, { otherStreams })]);
    assert.deepEqual(outcomes, [{ ok: true, position: 1, version: 1, recordedAt: '2026-11-20T12:00:00.000Z' }]);
    assert.deepEqual(
      headersOf(db).map(({ stream, version }) => [stream, version]),
      [
        ['posts/1', 1],
        ['posts/2', 1],
        ['posts/1', 2],
        ['posts/2', 2],
        ['posts/2', 3],
      ],
    );
    assertSound(db);
  });

  it('leaves no trace in any stream when one of them refuses, and its neighbours are recorded', (t) => {
    const stale = (version: number): Outcome => ({ ok: false, conflict: 'version', version });
    const taken = (value: string): Outcome => ({ ok: false, conflict: 'claim', claim: claim(value) });
    const wanting = (stream: string, value: string) => change(stream, 0, { claims: [claim(value)] });
    const refused: { [name: string]: [Command, Outcome] } = {
      'its own stream moved': [accepting({ expectedVersion: 1 }), stale(0)],
      'a stream beside it moved': [accepting({ otherStreams: [account, { ...invite, expectedVersion: 0 }] }), stale(1)],
      'a stream beside it is not there yet': [accepting({ otherStreams: [account, change('posts/9', 3)] }), stale(0)],
      'a stream has moved by its own events': [
        accepting({ otherStreams: [account, { ...account, expectedVersion: 0 }] }),
        stale(2),
      ],
      'its own value is taken': [accepting({ claims: [claim('one')] }), taken('one')],
      'a value beside it is taken': [
        accepting({ otherStreams: [wanting('posts/8', 'new'), wanting('posts/9', 'two')] }),
        taken('two'),
      ],
      'a value beside it is its own': [
        accepting({ claims: [claim('x')], otherStreams: [wanting('posts/9', 'x')] }),
        taken('x'),
      ],
      'two streams beside it want one value': [
        accepting({ otherStreams: [wanting('posts/8', 'x'), wanting('posts/9', 'x')] }),
        taken('x'),
      ],
      'two streams beside it want a value that it gives up': [
        accepting({
          otherStreams: [
            wanting('posts/8', 'one'),
            change('posts/1', 2, { releases: [claim('one')] }),
            wanting('posts/9', 'one'),
          ],
        }),
        taken('one'),
      ],
      'the stream that has a value gives up another': [
        accepting({
          otherStreams: [change('posts/1', 2, { releases: [claim('one')] }), wanting('posts/9', 'two')],
        }),
        taken('two'),
      ],
      'another stream gives up what the value is in another field': [
        accepting({
          otherStreams: [change('posts/1', 2, { releases: [claim('two', 'posts.name')] }), wanting('posts/9', 'two')],
        }),
        taken('two'),
      ],
    };
    const withoutIt = recordBetween(null);
    for (const [name, [bad, expected]] of Object.entries(refused)) {
      const { outcome, facts } = recordBetween(bad);
      assert.deepEqual(outcome, expected, name);
      assert.deepEqual(facts, withoutIt.facts, name);
    }

    function recordBetween(bad: Command | null) {
      const { log, db } = openInvited(t);
      const last = command('posts/3', 0, { claims: [claim('three')] });
      const { outcomes, recorded } = log.append([command('posts/1', 1), ...(bad ? [bad] : []), last]);
      assert.equal(recorded.length, 2);
      assertSound(db);
      return { outcome: outcomes[1], facts: factsOf(db) };
    }
  });

  it('is told of stale streams before taken values: what was decided on those may be decided otherwise', (t) => {
    const { log } = openInvited(t);
    const otherStreams = [change('accounts/users/setup', 4)];
    const { outcomes } = log.append([accepting({ claims: [claim('one')], otherStreams })]);
    assert.deepEqual(outcomes, [{ ok: false, conflict: 'version', version: 0 }]);
  });

  it('of which SQLite refuses the last event is undone alone, those of its other streams with it', (t) => {
    let given: string[] = [];
    const { log, db } = openInvited(t, (now) => {
      const real = createIds(new BigInt64Array(new SharedArrayBuffer(8)), now);
      return {
        ...real,
        next: () => ({ ...real.next(), ...(given.length > 0 ? { id: given.shift() as string } : {}) }),
      };
    });
    const before = factsOf(db);
    // Tried up to the refusal, an id that is there already, and then once more with savepoints.
    given = ['id-1', 'id-2', 'id-3', 'id-4', 'id-1', 'id-1', 'id-2', 'id-3', 'id-4', 'id-1'];
    const { outcomes, recorded } = log.append([command('posts/3', 0), accepting(), command('posts/4', 0)]);
    assert.match(String(outcomes[1]), /append-only/);
    assert.deepEqual(
      recorded.map(({ header }) => [header.position, header.stream]),
      [
        [4, 'posts/3'],
        [5, 'posts/4'],
      ],
    );
    assert.deepEqual(factsOf(db).claims, before.claims);
    assert.equal(log.versionOf('accounts/users/1'), 0);
    assertSound(db);
  });

  it('that wants to give up a value which its stream does not hold is undone alone too', (t) => {
    const { log, db } = openInvited(t);
    const before = factsOf(db);
    const otherStreams = [account, change('posts/1', 1, { releases: [claim('two')] })];
    const { outcomes } = log.append([accepting({ otherStreams }), command('posts/3', 0)]);
    assert.match(String(outcomes[0]), /does not hold its value/);
    assert.deepEqual(factsOf(db).events, [...before.events, [4, 'posts/3', 1, 'document.updated']]);
    assert.deepEqual(factsOf(db).claims, before.claims);
  });

  it('fills tiles over its streams as single events do', (t) => {
    const { log, db, reopen } = openTestLog(t);
    const otherStreams = Array.from({ length: 300 }, (_, index) => change(`posts/${index}`, 0));
    log.append([command('users/1', 0, { otherStreams })]);
    const { size, root } = reopen().head();
    assert.deepEqual([size, root], [301, log.head().root]);
    assertSound(db);
  });
});
