import assert from 'node:assert/strict';
import { it } from 'node:test';
import {
  type SharedLog,
  SharedLogUnavailableError,
  type TakenLog,
  TooFarBehindError,
  UnknownShipmentError,
} from '../../../events/replica/shared-log.ts';
import { describeWithPostgres, useDatabase } from '../../helpers/postgres.ts';
import { command } from '../logs.ts';
import { openReplicaNode } from './replica-node.ts';

const gone = () => new SharedLogUnavailableError('no server takes writes');

/**
 * A log that loses the answer to the second shipment, which it has appended; `after` spoils what is done with it
 * afterwards.
 */
function losingSecond(after: (log: SharedLog) => Partial<SharedLog>): (log: SharedLog) => SharedLog {
  let shipments = 0;
  let isLost = false;
  return (log) => {
    const spoiled = { ...log, ...after(log) };
    return {
      ...log,
      async take(...given): Promise<TakenLog> {
        if (isLost) return spoiled.take(...given);
        const taken = await log.take(...given);
        return {
          ...taken,
          async ship(shipment) {
            await taken.ship(shipment);
            shipments += 1;
            isLost = shipments === 2;
            if (isLost) throw new UnknownShipmentError('the answer was lost');
          },
        };
      },
      tail: (...given) => (isLost ? spoiled : log).tail(...given),
    };
  };
}

/** A log that can be taken, and refuses to confirm what is in it. */
function unconfirmed(log: SharedLog): Pick<SharedLog, 'take'> {
  return {
    async take(...given): Promise<TakenLog> {
      const taken = await log.take(...given);
      return {
        ...taken,
        async confirm() {
          await taken.release();
          throw gone();
        },
      };
    },
  };
}

describeWithPostgres('A write whose outcome was unknown, and that was recorded', () => {
  const database = useDatabase();

  /**
   * If the outcome cannot be found out, since the log then fails in this way, a client must not be told that nothing
   * was recorded.
   */
  async function staysUnknown(
    t: Parameters<typeof openReplicaNode>[0],
    after: (log: SharedLog) => Partial<SharedLog>,
    spoilReplica?: NonNullable<Parameters<typeof openReplicaNode>[2]>['spoilReplica'],
  ): Promise<void> {
    const { address } = await database();
    const spoil = losingSecond(after);
    const options = { spoil, patience: 2500, ...(spoilReplica && { spoilReplica }) };
    const [one, other] = await Promise.all([openReplicaNode(t, address, options), openReplicaNode(t, address)]);
    assert.deepEqual(await one.append(command('posts/1', 0)), ['recorded']);
    await assert.rejects(one.append(command('posts/2', 0)), UnknownShipmentError);
    await other.current();
    assert.equal(other.log.head().size, 2);
  }

  it('stays unknown if its confirmation is refused', (t) => staysUnknown(t, unconfirmed));

  it('stays unknown if its time is up before it can be confirmed', (t) =>
    staysUnknown(t, (log) => ({
      async take(from, within = 0, hold) {
        const taken = await log.take(from, within, hold);
        // The thread is busy with other things.
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, within + 5);
        return taken;
      },
    })));

  it('stays unknown if the log cannot be had again', (t) =>
    staysUnknown(t, () => ({ take: () => Promise.reject(gone()) })));

  it('stays unknown if the node has to catch up first, and cannot', (t) =>
    staysUnknown(t, () => ({
      take: () => Promise.reject(new TooFarBehindError('the replica is too far behind')),
      tail: () => Promise.reject(gone()),
    })));

  it('stays unknown if the node has no room for what it would find', (t) =>
    staysUnknown(
      t,
      () => ({}),
      (log) => ({
        ...log,
        ingest() {
          throw Object.assign(new Error('database or disk is full'), { code: 'SQLITE_FULL' });
        },
      }),
    ));
});

describeWithPostgres('A write that was recorded before, under the same key', () => {
  const database = useDatabase();

  it('is not known to last if that cannot be confirmed', async (t) => {
    const { address } = await database();
    const spoil = (log: SharedLog): SharedLog => ({ ...log, ...unconfirmed(log) });
    const [one, other] = await Promise.all([openReplicaNode(t, address), openReplicaNode(t, address, { spoil })]);
    const write = () => command('posts/1', 0, { idempotency: { key: 'key', fingerprint: 'f' } });
    assert.deepEqual(await one.append(write()), ['recorded']);
    await assert.rejects(other.append(write()), UnknownShipmentError);
  });
});
