import { existsSync } from 'node:fs';
import type { RecordedEvent } from '../../events/facts/log.ts';
import { readLog } from '../../events/log/log-reader.ts';
import type { MissingRows } from '../../events/log/shipment.ts';
import { openLog, type SqliteLog } from '../../events/log/sqlite-log.ts';
import { upgradeLog } from '../../events/log/upgrading.ts';
import { readAddress } from '../../events/postgres/address.ts';
import { openPostgresLog, type PostgresLog } from '../../events/postgres/postgres-log.ts';
import { markReplica, readReplicaMark } from '../../events/replica/replica-mark.ts';
import { openSharedClock, type SharedClock } from '../../events/replica/shared-clock.ts';
import { type KnownEnd, LogWentBackError, refuseLoss } from '../../events/replica/shared-log.ts';
import { openSharedWriter } from '../../events/replica/shared-writer.ts';
import type { Clock } from '../../events/store/clock.ts';
import { createIds, type Ids } from '../../events/store/ids.ts';
import { createLog, isLog } from '../../events/store/log-file.ts';
import { clearMoved, movedTo } from '../../events/store/moved.ts';
import { type BootOptions, schemaCommand } from '../../projections/start/boot.ts';
import { logFile } from '../../projections/tables/files.ts';
import { callMilliseconds } from '../../storage/postgres/durations.ts';
import { openDatabase, type Sqlite, withDatabase } from '../../storage/sqlite.ts';
import { syncBounds, type WriterMeter } from '../platform/meter.ts';
import { tallyUp } from '../platform/tally.ts';
import { type Membership, scrubbedOf, startMembership } from './membership.ts';
import type { WriterMessage } from './messages.ts';

/** The shared log of a node, the clock that follows it, and the node's row in the list of nodes. */
export type NodeLog = { shared: PostgresLog; clock: SharedClock; ids: Ids; membership: Membership };

type Options = Pick<BootOptions, 'directory' | 'schema' | 'rules' | 'logId' | 'seals'> & {
  /** The address of PostgreSQL. */
  address: string;
  /** The name that the setting gives to this node. */
  node: string | undefined;
  meter: WriterMeter;
  /** As for {@link createIds}. */
  counter: BigInt64Array<SharedArrayBuffer>;
  /** The clock of this machine. */
  clock: Clock;
  say: (message: WriterMessage) => void;
};

/** PostgreSQL may be in the middle of a failover when a node starts, or start with it. */
const patience = { opening: 10_000, appending: callMilliseconds, page: 30_000 };

/** The events of one request. */
const page = 1000;

/**
 * The most events and characters that go into the replica in one transaction, and the time after which one is committed
 * in any case. A commit writes the pages of indexes once for all its events. Through a slow network each page of events
 * is committed by itself, so that a missing page does not cost the ones before.
 */
const most = { events: 16_000, characters: 32_000_000, milliseconds: 2000 };

/** The pages of 4 KB of the write-ahead log after which SQLite moves them into the file. */
const checkpointPages = 16_384;

/**
 * Brings the replica of a data directory up to the log that several nodes append to. Makes the replica if the directory
 * is empty, and records the schema if the log is.
 *
 * @throws SharedLogUnavailableError; UnfitServerError; DivergedError; NewerEventError; Error if the directory is the
 * replica of another log.
 */
export async function joinLog(options: Options): Promise<NodeLog> {
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
    requireReplica(directory, shared);
    return await catchUp(options, { shared, clock, ids });
  } catch (error) {
    await shared.close();
    throw error;
  }
}

function requireReplica(directory: string, { name, token }: PostgresLog): void {
  const mark = readReplicaMark(directory);
  if (mark === null) {
    requireMovedHere(logFile(directory), token);
    markReplica(directory, { log: name, token });
  } else if (mark.log !== name) {
    throw new Error(
      `the data directory ${directory} is a replica of the log ${mark.log}, and the one in PostgreSQL is ${name}: ` +
        'name the database of that log, or an empty data directory',
    );
  } else if (mark.token !== token) {
    throw new Error(
      `the data directory ${directory} is a replica from before the log was moved into this database: delete it, and start with ` +
        'an empty one',
    );
  }
}

/** Requires that a log in the data directory is the one that was moved to PostgreSQL. */
function requireMovedHere(file: string, token: string): void {
  if (!existsSync(file)) return;
  const moved = withDatabase(file, { readonly: true, cacheMiB: 1 }, movedTo);
  if (moved !== token) throw new Error(`${file} is not the log that was moved into this database`);
}

async function catchUp(options: Options, begun: Omit<NodeLog, 'membership'>): Promise<NodeLog> {
  const { directory, address, node, schema, rules, seals, say } = options;
  const { shared, clock, ids } = begun;
  let membership: Membership | null = null;
  const db = openDatabase(logFile(directory), { durability: 'normal', shrinks: true, cacheMiB: 128 });
  // Most pages of the indexes are written again and again while the replica catches up.
  db.pragma(`wal_autocheckpoint = ${checkpointPages}`);
  try {
    upgradeLog(db, seals);
    if (!isLog(db)) createLog(db, shared.name, seals.key);
    await requireBeginning(db, shared);
    clearMoved(db);
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
    const last = own();
    membership.tell(() => last);
    return { ...begun, membership };
  } catch (error) {
    await membership?.leave();
    throw error;
  } finally {
    db.close();
  }

  /** Records the schema, unless another node that begins the log at the same time has done it. */
  async function recordSchema(replica: SqliteLog): Promise<void> {
    const apply = (_recorded: readonly RecordedEvent[]) => {};
    const writer = openSharedWriter({ replica, shared, clock, apply, patience: patience.appending });
    const { outcomes } = await writer.append([schemaCommand(replica, { schema, rules, ids })]);
    for (const outcome of outcomes) if (outcome instanceof Error) throw outcome;
  }
}

/**
 * Requires that the log in PostgreSQL continues a replica, before anything writes to the replica: it may be an old
 * copy. Two logs that differ from some event on differ in every later id, so the last event tells; the root tells of
 * altered events.
 *
 * @throws LogWentBackError.
 */
async function requireBeginning(db: Sqlite, shared: PostgresLog): Promise<void> {
  const here = readLog(db).head();
  if (here.size === 0) return;
  refuseLoss(await shared.head(), here);
  const [there] = (await shared.tail({ size: here.size - 1 }, 1, patience.page)).events;
  const last = db.prepare<[number], string>('SELECT header FROM headers WHERE position = ?').pluck().get(here.size);
  if (there?.header !== last)
    throw new LogWentBackError(`the log went back: at ${here.size} it holds another event than this node has`);
}

/**
 * Takes all missing events into a replica. PostgreSQL reads the next page meanwhile.
 *
 * @throws SharedLogUnavailableError if a page does not come within 30 seconds; LogWentBackError, DivergedError,
 * NewerEventError.
 */
export async function ingestAll(
  log: SqliteLog,
  shared: PostgresLog,
  progress: (done: number, total: number) => void,
): Promise<void> {
  const total = (await shared.head()).size;
  const next = (after: KnownEnd) => shared.tail(after, page, patience.page);
  let coming: Promise<MissingRows> | null = next(log.head());
  let gathered: MissingRows[] = [];
  let room = roomNow();
  while (coming !== null) {
    const missing: MissingRows = await coming;
    const end = missing.events.at(-1)?.position ?? missing.from;
    coming = missing.head === null ? next({ size: end }) : null;
    // The next round throws its error, unless the ingestion below fails first.
    coming?.catch(() => {});
    gathered.push(missing);
    room.events -= missing.events.length;
    room.characters -= missing.events.reduce((sum, { header, body }) => sum + header.length + (body?.length ?? 0), 0);
    if (coming !== null && room.events > 0 && room.characters > 0 && performance.now() < room.until) continue;
    const all = inOne(gathered);
    if (all.events.length > 0 || all.idempotencyRecords.length > 0) log.ingest(all);
    gathered = [];
    room = roomNow();
    if (coming !== null) progress(end, Math.max(total, end));
  }
}

function roomNow() {
  return { ...most, until: performance.now() + most.milliseconds };
}

/** Joins pages that follow on each other. */
function inOne(pages: readonly MissingRows[]): MissingRows {
  return {
    from: pages[0]?.from ?? 0,
    head: pages.at(-1)?.head ?? null,
    events: pages.flatMap(({ events }) => events),
    claims: pages.flatMap(({ claims }) => claims),
    idempotencyRecords: pages.flatMap(({ idempotencyRecords }) => idempotencyRecords),
    erasures: pages.flatMap(({ erasures }) => erasures),
  };
}
