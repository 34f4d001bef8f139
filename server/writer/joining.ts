import type { Clock } from '../../events/clock.ts';
import { createIds, type Ids } from '../../events/ids.ts';
import type { RecordedEvent } from '../../events/log.ts';
import { createLog, isLog, upgradeLog } from '../../events/log-file.ts';
import { readAddress } from '../../events/postgres/address.ts';
import { openPostgresLog, type PostgresLog } from '../../events/postgres/postgres-log.ts';
import { markReplica, readReplicaMark } from '../../events/replica-mark.ts';
import { openSharedClock, type SharedClock } from '../../events/shared-clock.ts';
import { openSharedWriter } from '../../events/shared-writer.ts';
import { openLog, type SqliteLog } from '../../events/sqlite-log.ts';
import { type Booted, type BootOptions, schemaCommand } from '../../projections/boot.ts';
import { differenceTo, epochsOf } from '../../projections/epochs.ts';
import { logFile } from '../../projections/files.ts';
import { openDatabase } from '../../storage/sqlite.ts';
import { syncBounds, type WriterMeter } from '../platform/meter.ts';
import { tallyUp } from '../platform/tally.ts';
import { type Membership, scrubbedOf, startMembership } from './membership.ts';
import type { WriterMessage } from './messages.ts';

/** The shared log of a node, the clock that it has from there, and its place among the nodes. */
export type Node = { shared: PostgresLog; clock: SharedClock; ids: Ids; membership: Membership };

type Options = Pick<BootOptions, 'directory' | 'schema' | 'rules' | 'logId' | 'seals'> & {
  /** Of PostgreSQL. */
  address: string;
  /** The name of this node, where one was given. */
  node: string | undefined;
  meter: WriterMeter;
  /** Whether a schema and rules that differ from those of the log are to be recorded. */
  appliesSchema: boolean;
  /** As for {@link createIds}. */
  counter: BigInt64Array<SharedArrayBuffer>;
  /** That of this machine. */
  clock: Clock;
  say: (message: WriterMessage) => void;
};

/** PostgreSQL may be in the middle of a failover when a node starts, or start with it. */
const patience = { opening: 10_000, appending: 5000, page: 30_000 };

/** So many events are taken into the replica in one transaction. */
const page = 1000;

/**
 * Brings the replica of a data directory up to the log that several nodes append to; makes it where the directory is empty, and records
 * the schema where the log is.
 *
 * @throws SharedLogUnavailableError; UnfitServerError; DivergedError; Error for a directory that is the replica of another log, and for a
 *   log that has another schema.
 */
export async function joinLog(options: Options): Promise<Node> {
  const { directory, address, logId, counter, clock: local, meter, say } = options;
  const clock = openSharedClock(local.believed);
  const ids = createIds(counter, clock.now);
  const shared = await openPostgresLog({
    address: readAddress(address),
    site: '',
    makeName: () => logId,
    warn: (message) => say({ kind: 'warning', message }),
    opening: patience.opening,
    measure: (what, seconds) => tallyUp(meter[what], syncBounds, seconds),
  });
  try {
    requireReplica(directory, shared.name);
    return await catchUp(options, { shared, clock, ids });
  } catch (error) {
    await shared.close();
    throw error;
  }
}

function requireReplica(directory: string, name: string): void {
  const mark = readReplicaMark(directory);
  if (mark === null) markReplica(directory, name);
  else if (mark !== name) {
    throw new Error(
      `the data directory ${directory} is a replica of the log ${mark}, and the one in PostgreSQL is ${name}: ` +
        'name the database of that log, or an empty data directory',
    );
  }
}

async function catchUp(options: Options, begun: Omit<Node, 'membership'>): Promise<Node> {
  const { directory, address, node, schema, rules, seals, appliesSchema, say } = options;
  const { shared, clock, ids } = begun;
  let membership: Membership | null = null;
  const db = openDatabase(logFile(directory), { durability: 'normal', cacheMiB: 64 });
  try {
    upgradeLog(db, seals);
    if (!isLog(db)) createLog(db, shared.name, seals.key);
    const log = openLog(db, { ids, now: clock.now, seals });
    const own = () => ({
      state: 'joining' as const,
      applied: log.head().size,
      scrubbed: scrubbedOf(log),
      levelAt: Date.now(),
    });
    membership = startMembership({
      directory,
      address,
      name: node,
      shared,
      schema,
      own,
      onStanding: (standing) => say({ kind: 'standing', standing }),
      warn: (message) => say({ kind: 'warning', message }),
    });
    await membership.listed;
    await ingestAll(log, shared, (done, total) => say({ kind: 'progress', done, total }));
    if (log.head().size === 0) await recordSchema(log);
    if (!appliesSchema) requireSchema(log);
    const last = own();
    membership.tell(() => last);
    return { ...begun, membership };
  } catch (error) {
    await membership?.leave();
    throw error;
  } finally {
    db.close();
  }

  /** Of several nodes that begin a log at the same time, one does; the others find it there. */
  async function recordSchema(replica: SqliteLog): Promise<void> {
    const apply = (_recorded: readonly RecordedEvent[]) => {};
    const writer = openSharedWriter({ replica, shared, clock, apply, patience: patience.appending });
    const { outcomes } = await writer.append([schemaCommand(replica, { schema, rules, ids })]);
    for (const outcome of outcomes) if (outcome instanceof Error) throw outcome;
  }

  function requireSchema(log: SqliteLog): void {
    const { isChanged, hasOtherRules } = differenceTo(epochsOf(log).at(-1), { schema, rules });
    if (!isChanged && !hasOtherRules) return;
    throw new Error(otherSchema);
  }
}

const otherSchema =
  'the configuration is not the one of the log in PostgreSQL, which all nodes have in common: start this node with that one; or, to record ' +
  'this one, stop all nodes and start one of them once with --apply-schema';

/**
 * Records the schema that a node was started with, where it is to be.
 *
 * @throws SharedLogUnavailableError, UnknownShipmentError; Error where another node has written meanwhile.
 */
export async function recordUnrecorded({ log, projector, unrecorded }: Booted, { shared, clock }: Node): Promise<void> {
  if (unrecorded === null) return;
  const { command, claims } = unrecorded;
  const { size } = log.head();
  const apply = (recorded: readonly RecordedEvent[]) => projector.apply(recorded, log.head().root);
  const writer = openSharedWriter({ replica: log, shared, clock, apply, patience: patience.appending });
  const { outcomes } = await writer.appendPrepared(() => {
    // The read tables, and the claims in them, are of the log as it was.
    if (log.head().size !== size)
      throw new Error('another node has written meanwhile: stop all others, and start this one again');
    return claims ? log.prepareSchema(command, claims) : log.prepare([command]);
  });
  for (const outcome of outcomes) if (outcome instanceof Error) throw outcome;
}

async function ingestAll(
  log: SqliteLog,
  shared: PostgresLog,
  progress: (done: number, total: number) => void,
): Promise<void> {
  const total = (await shared.head()).size;
  for (;;) {
    const missed = await shared.tail(log.head().size, page, patience.page);
    if (missed.events.length > 0 || missed.attempts.length > 0) log.ingest(missed);
    if (missed.head !== null) return;
    progress(log.head().size, Math.max(total, log.head().size));
  }
}
