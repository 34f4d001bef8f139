import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  behindMilliseconds as behind,
  callMilliseconds as call,
  connectMilliseconds as connect,
  exchangeMilliseconds as exchange,
  followMilliseconds as follow,
  freezeMilliseconds as freeze,
  holdMilliseconds as hold,
  hungLookMilliseconds as hungLook,
  keepAlive,
  leaseMilliseconds as lease,
  leaseLooks,
  lockMilliseconds as lock,
  longHoldMilliseconds as longHold,
  pinMilliseconds as pins,
  readMilliseconds as read,
  reportMilliseconds as report,
  writeMilliseconds as write,
} from '../../storage/postgres/durations.ts';

const keepAliveTotal = keepAlive.idle + keepAlive.interval * keepAlive.count;

const inequalities: [why: string, left: number, relation: '<' | '≤', right: number][] = [
  ['a session that hangs is looked for when it may have lost the log', hold, '≤', hungLook.first],
  [
    'a write that waits for a node that stands still gets the log, and has time left',
    hungLook.first + hungLook.next + write.least,
    '<',
    write.usual,
  ],
  ['a write that waits for a server that is gone is tried at another one', 2 * connect.longest, '<', write.usual],
  ['a write is refused within the 5 seconds of docs/scale-out.md', write.usual + connect.grace, '<', 5000],
  ['a write gives up before PostgreSQL refuses to wait for a lock', write.usual, '<', lock],
  ['a write gives up before the other calls of its node', write.usual, '<', call],
  [
    'a write that waits for an exchange, and then for a node that stands still, is tried',
    exchange + hold,
    '<',
    write.usual,
  ],
  ['a move ends before the writer of a service refuses writes', freeze, '<', call],
  ['a session that applies a schema may be silent for longer', hold, '<', longHold],
  ['a machine that is gone loses the log before it is absent', keepAliveTotal, '≤', report.absent],
  ['both ways to notice that a machine is gone take the same time', keepAliveTotal, '≤', keepAlive.user],
  ['a last try has time for its pause and its answer', connect.pause + connect.grace, '<', connect.least],
  ['a read can wait for a new connection', connect.longest, '≤', read],
  ['a read on a node that was quiet waits for more than one look', 2 * follow.longest, '<', read],
  ['a node looks more slowly after it was quiet', follow.shortest, '<', follow.longest],
  ['a node is behind after it has given up a page', call, '<', behind],
  ['a node that misses three reports is not absent', 3 * report.every, '<', report.absent],
  ['a node that was killed gets its name again while it starts', report.absent + report.every, '<', report.first],
  ['a node is absent before it may be forgotten', report.absent, '<', report.forgettable],
  ['a lease that could not be renewed once is renewed in time', call + lease / leaseLooks, '<', lease],
  ['a node is absent before another one has its leases', report.absent, '<', lease],
  ['a pin that could not be renewed four times is renewed in time', 5 * pins.renew, '<', pins.lasts],
];

describe('The durations of nodes', () => {
  for (const [why, left, relation, right] of inequalities) {
    it(`are such that ${why}`, () => {
      assert.ok(relation === '<' ? left < right : left <= right, `${left} ${relation} ${right}`);
    });
  }
});
