import { join } from 'node:path';
import type { TestContext } from 'node:test';
import type { Command, RecordedEvent } from '../../../events/facts/log.ts';
import { openLog } from '../../../events/log/sqlite-log.ts';
import { openPostgresLog } from '../../../events/postgres/postgres-log.ts';
import { openSharedClock } from '../../../events/replica/shared-clock.ts';
import type { SharedLog } from '../../../events/replica/shared-log.ts';
import { openFollower } from '../../../events/replica/shared-reads.ts';
import { openSharedWriter, type SharedWriterOptions } from '../../../events/replica/shared-writer.ts';
import { createIds } from '../../../events/store/ids.ts';
import { createLog } from '../../../events/store/log-file.ts';
import type { PostgresAddress } from '../../../storage/postgres/connection.ts';
import { openDatabase } from '../../../storage/sqlite.ts';
import { temporaryFolder } from '../../helpers/service.ts';
import { seals } from '../logs.ts';

type Options = {
  skew?: number;
  patience?: number;
  spoil?: (log: SharedLog) => SharedLog;
  spoilReplica?: (log: Replica) => Replica;
};
export type Replica = SharedWriterOptions['replica'];

/** A node as a service will have it, but for its read tables: those are the events that it was told of. */
export async function openReplicaNode(
  t: TestContext,
  address: PostgresAddress,
  { skew = 0, patience = 5000, spoil = (log: SharedLog) => log, spoilReplica = (log: Replica) => log }: Options = {},
) {
  const clock = openSharedClock(() => Date.now() + skew);
  const ids = createIds(new BigInt64Array(new SharedArrayBuffer(8)), clock.now);
  const warnings: string[] = [];
  const opened = await openPostgresLog({
    address,
    site: '',
    makeName: () => `annals/${ids.next().id}`,
    warn: (message) => warnings.push(message),
  });
  const shared = spoil(opened);
  const db = openDatabase(join(temporaryFolder(t), 'log.db'));
  createLog(db, opened.name, seals.key);
  const log = openLog(db, { ids, now: clock.now, seals });
  const told: RecordedEvent[] = [];
  let failure: unknown = null;
  const writer = openSharedWriter({
    replica: spoilReplica(log),
    shared,
    clock,
    apply: (recorded) => told.push(...recorded),
    patience,
  });
  const follower = openFollower({
    shared,
    reached: () => log.head().size,
    follow: writer.follow,
    fail: (error) => {
      failure = error;
    },
  });
  t.after(async () => {
    await follower.close();
    await writer.close();
    await shared.close();
    db.close();
  });
  const append = async (...commands: Command[]) => {
    const { outcomes } = await writer.append(commands);
    follower.tell();
    return outcomes.map((outcome) => (outcome instanceof Error ? outcome : outcome.ok ? 'recorded' : outcome.conflict));
  };
  return {
    db,
    log,
    told,
    warnings,
    writer,
    append,
    current: follower.current,
    reach: follower.reach,
    failure: () => failure,
  };
}
