import { type Asynchronous, asynchronous } from '../../events/vault/vault-port.ts';
import { openDatabase, type Sqlite } from '../../storage/sqlite.ts';
import type { DeliveryQuery } from '../ports.ts';

/**
 * An event that a webhook is to be told of. `id` is that of the delivery, `position` and `stream` those of the event.
 */
export type Found = { webhook: string; id: string; stream: string; position: number };

/** A delivery that did not succeed yet. Times are milliseconds since the epoch. */
export type Delivery = Found & {
  isParked: boolean;
  attempts: number;
  /** When the next attempt is; null where it is parked, or waits for an earlier one of its document. */
  dueAt: number | null;
  giveUpAt: number;
  triedAt: number | null;
  /** Why the last attempt failed. */
  failure: string | null;
};

/** How far a webhook has come. */
export type Progress = { position: number; waiting: number; parked: number; deliveredAt: number | null };

/** The outcome of a failed attempt: when the next one is, null for parked. */
type Failed = { at: number; failure: string; dueAt: number | null };

/** The queue of deliveries. It says nothing of where that is: a file here, or a place that several nodes reach. */
export type Deliveries = Asynchronous<ReturnType<typeof openDeliveries>>;

/** The queue in a file of this process, see {@link openDeliveries}. */
export function deliveriesIn(...opened: Parameters<typeof openDeliveries>): Deliveries {
  return asynchronous(openDeliveries(...opened));
}

const tables = `
  CREATE TABLE IF NOT EXISTS log (id TEXT NOT NULL) STRICT;
  CREATE TABLE IF NOT EXISTS webhooks (
    name TEXT PRIMARY KEY,
    position INTEGER NOT NULL,
    delivered_at INTEGER
  ) STRICT;
  CREATE TABLE IF NOT EXISTS deliveries (
    webhook TEXT NOT NULL,
    position INTEGER NOT NULL,
    id TEXT NOT NULL,
    stream TEXT NOT NULL,
    is_parked INTEGER NOT NULL DEFAULT 0,
    attempts INTEGER NOT NULL DEFAULT 0,
    due_at INTEGER,
    give_up_at INTEGER NOT NULL,
    tried_at INTEGER,
    failure TEXT,
    PRIMARY KEY (webhook, position)
  ) STRICT, WITHOUT ROWID;
  CREATE UNIQUE INDEX IF NOT EXISTS deliveries_by_id ON deliveries (webhook, id);
  CREATE INDEX IF NOT EXISTS deliveries_due ON deliveries (webhook, due_at, position, stream) WHERE due_at IS NOT NULL;
  CREATE INDEX IF NOT EXISTS deliveries_waiting ON deliveries (webhook, stream, position) WHERE is_parked = 0;
`;

type Row = {
  webhook: string;
  position: number;
  id: string;
  stream: string;
  is_parked: number;
  attempts: number;
  due_at: number | null;
  give_up_at: number;
  tried_at: number | null;
  failure: string | null;
};

/** For how long a delivery is tried, in milliseconds: 3 days. */
export const patience = 3 * 24 * 60 * 60 * 1000;

/**
 * Opens `webhooks.db`: up to which position of the log each webhook was looked after, and the deliveries that are left
 * to be made. Both change in one transaction, so that an end of the process at any moment loses no delivery. A power
 * cut may take the last transactions back, and then these deliveries are made again, under the same ids.
 *
 * @param log the id of the log, and how many events it has: of another log nothing is kept, and of events that are gone
 * neither.
 */
export function openDeliveries(path: string, log: { id: string; size: number }, now: number) {
  const db = openDatabase(path, { cacheMiB: 2 });
  db.exec(tables);
  adapt(db, log, now);
  const insertWebhook = db.prepare('INSERT INTO webhooks VALUES (?, ?, NULL) ON CONFLICT DO NOTHING');
  const selectPosition = db.prepare<[name: string], number>('SELECT position FROM webhooks WHERE name = ?').pluck();
  const setPosition = db.prepare('UPDATE webhooks SET position = :upTo WHERE name = :name AND position < :upTo');
  const setDelivered = db.prepare('UPDATE webhooks SET delivered_at = :at WHERE name = :webhook');
  const insert = db.prepare(
    `INSERT INTO deliveries (webhook, position, id, stream, due_at, give_up_at)
     SELECT :webhook, :position, :id, :stream, CASE WHEN EXISTS (
       SELECT 1 FROM deliveries WHERE webhook = :webhook AND stream = :stream AND is_parked = 0
     ) THEN NULL ELSE :now END, :giveUpAt`,
  );
  const selectDue = db.prepare<[webhook: string, now: number, limit: number], Row>(
    'SELECT * FROM deliveries WHERE webhook = ? AND due_at <= ? ORDER BY due_at, position LIMIT ?',
  );
  const selectById = db.prepare<[webhook: string, id: string], Row>(
    'SELECT * FROM deliveries WHERE webhook = ? AND id = ?',
  );
  const remove = db.prepare('DELETE FROM deliveries WHERE webhook = :webhook AND position = :position');
  const setFailed = db.prepare(
    `UPDATE deliveries SET attempts = attempts + 1, tried_at = :at, failure = :failure, due_at = :dueAt, is_parked = :isParked
     WHERE webhook = :webhook AND position = :position`,
  );
  const setWaiting = db.prepare(
    `UPDATE deliveries SET is_parked = 0, due_at = NULL, give_up_at = :giveUpAt
     WHERE webhook = :webhook AND position = :position`,
  );
  // Of a document the earliest one alone is due.
  const holdBack = db.prepare(
    'UPDATE deliveries SET due_at = NULL WHERE webhook = :webhook AND stream = :stream AND is_parked = 0 AND position > :first',
  );
  const release = db.prepare(
    'UPDATE deliveries SET due_at = :at WHERE webhook = :webhook AND position = :first AND (due_at IS NULL OR due_at > :at)',
  );
  const releaseFound = db.prepare(
    `UPDATE deliveries SET due_at = :at WHERE webhook = :webhook AND due_at > :at AND give_up_at > :since + ${patience}`,
  );
  const unpark = db.prepare(
    'UPDATE deliveries SET is_parked = 0, give_up_at = :giveUpAt WHERE webhook = :webhook AND is_parked = 1',
  );
  const releaseEarliest = db.prepare(
    `UPDATE deliveries SET due_at = CASE WHEN position = (
       SELECT min(other.position) FROM deliveries AS other
       WHERE other.webhook = :webhook AND other.stream = deliveries.stream AND other.is_parked = 0
     ) THEN min(coalesce(due_at, :at), :at) END
     WHERE webhook = :webhook AND is_parked = 0`,
  );
  const selectFirst = db
    .prepare<Pick<Found, 'webhook' | 'stream'>, number | null>(
      'SELECT min(position) FROM deliveries WHERE webhook = :webhook AND stream = :stream AND is_parked = 0',
    )
    .pluck();
  const selectCounts = db.prepare<[webhook: string], { waiting: number; parked: number }>(
    'SELECT count(*) - total(is_parked) AS waiting, total(is_parked) AS parked FROM deliveries WHERE webhook = ?',
  );
  const selectDelivered = db
    .prepare<[name: string], number | null>('SELECT delivered_at FROM webhooks WHERE name = ?')
    .pluck();
  const selectPage = db.prepare<[string, number, number, number, number], Row>(
    'SELECT * FROM deliveries WHERE webhook = ? AND is_parked BETWEEN ? AND ? ORDER BY position LIMIT ? OFFSET ?',
  );

  const enqueue = db.transaction((names: readonly string[], upTo: number, found: readonly Found[], at: number) => {
    for (const one of found) {
      insert.run({ ...one, now: at, giveUpAt: at + patience });
      release.run({ webhook: one.webhook, first: selectFirst.get(one) ?? one.position, at });
    }
    for (const name of names) setPosition.run({ name, upTo });
  });

  function holdBackLater({ webhook, stream }: Found): number | null {
    const first = selectFirst.get({ webhook, stream }) ?? null;
    if (first !== null) holdBack.run({ webhook, stream, first });
    return first;
  }

  function releaseFirst(one: Found, at: number): void {
    const first = holdBackLater(one);
    if (first !== null) release.run({ webhook: one.webhook, first, at });
  }

  const succeed = db.transaction((one: Found, at: number) => {
    const { webhook, position } = one;
    remove.run({ webhook, position });
    setDelivered.run({ webhook, at });
    releaseFirst(one, at);
  });

  const fail = db.transaction((one: Found, { at, failure, dueAt }: Failed) => {
    const { webhook, position } = one;
    setFailed.run({ webhook, position, at, failure, dueAt, isParked: dueAt === null ? 1 : 0 });
    if (dueAt === null) releaseFirst(one, at);
    else holdBackLater(one);
  });

  const retry = db.transaction((webhook: string, id: string, at: number): Delivery | null => {
    const row = selectById.get(webhook, id);
    if (!row) return null;
    if (row.is_parked === 1) setWaiting.run({ webhook, position: row.position, giveUpAt: at + patience });
    releaseFirst(row, at);
    return deliveryOf(selectById.get(webhook, id) ?? row);
  });

  const retryAll = db.transaction((webhook: string, at: number): void => {
    unpark.run({ webhook, giveUpAt: at + patience });
    releaseEarliest.run({ webhook, at });
  });

  const page = db.transaction((webhook: string, request: DeliveryQuery): { found: Delivery[]; total: number } => {
    const { state, limit, page } = request;
    const { waiting, parked } = countsOf(webhook);
    const [least, most] = state === 'all' ? [0, 1] : state === 'parked' ? [1, 1] : [0, 0];
    const total = (least === 0 ? waiting : 0) + (most === 1 ? parked : 0);
    const rows = selectPage.all(webhook, least, most, limit, (page - 1) * limit);
    return { found: rows.map(deliveryOf), total };
  });

  function countsOf(webhook: string): { waiting: number; parked: number } {
    return selectCounts.get(webhook) ?? { waiting: 0, parked: 0 };
  }

  return {
    /** Takes a webhook in: one that is new is told of what comes from now on. */
    begin: (name: string, position: number): void => void insertWebhook.run(name, position),
    position: (name: string): number => selectPosition.get(name) ?? 0,
    /** Whether a delivery is still as it was given: neither made nor tried since. */
    isDue: ({ webhook, id, attempts }: Delivery): boolean => selectById.get(webhook, id)?.attempts === attempts,
    /**
     * Keeps the deliveries of events up to a position, up to which these webhooks then have been looked after. If an
     * earlier one of the document waits for its next attempt, that is due now.
     */
    enqueue: (names: readonly string[], upTo: number, found: readonly Found[], at: number): void =>
      enqueue.immediate(names, upTo, found, at),
    /** Deliveries that are due, those that wait longest first; of a document one at most. */
    due: (webhook: string, at: number, limit: number): Delivery[] => selectDue.all(webhook, at, limit).map(deliveryOf),
    succeed: (one: Found, at: number): void => succeed.immediate(one, at),
    fail: (one: Delivery, failed: Failed): void => fail.immediate(one, failed),
    /** Makes a delivery due now, or the earlier one that it waits for; gives it as it is then. */
    retry: (webhook: string, id: string, at: number): Delivery | null => retry.immediate(webhook, id, at),
    /**
     * Makes those that wait for their next attempt due now, if they were found after `since` (milliseconds since the
     * epoch).
     */
    release: (webhook: string, at: number, since: number): void => void releaseFound.run({ webhook, at, since }),
    /** Makes all due now, of each document the earliest; parked ones are tried for another 3 days. */
    retryAll: (webhook: string, at: number): void => retryAll.immediate(webhook, at),
    page: (webhook: string, request: DeliveryQuery) => page(webhook, request),
    progress: (name: string): Progress => ({
      position: selectPosition.get(name) ?? 0,
      ...countsOf(name),
      deliveredAt: selectDelivered.get(name) ?? null,
    }),
    close: (): void => void db.close(),
  };
}

/** How many deliveries of each webhook wait and are parked, read beside the service that has the file open. */
export function countDeliveries(db: Sqlite): { webhook: string; waiting: number; parked: number }[] {
  return db
    .prepare<[], { webhook: string; waiting: number; parked: number }>(
      `SELECT name AS webhook, count(webhook) - total(is_parked) AS waiting, total(is_parked) AS parked
       FROM webhooks LEFT JOIN deliveries ON webhook = name GROUP BY name ORDER BY name`,
    )
    .all();
}

/** A log that was put back has fewer events; a clock that was put back makes what is due too late. */
function adapt(db: Sqlite, { id, size }: { id: string; size: number }, now: number): void {
  const run = db.transaction(() => {
    const known = db.prepare('SELECT id FROM log').pluck().get();
    if (known !== id) db.exec('DELETE FROM deliveries; DELETE FROM webhooks; DELETE FROM log;');
    if (known !== id) db.prepare('INSERT INTO log VALUES (?)').run(id);
    db.prepare('DELETE FROM deliveries WHERE position > ?').run(size);
    db.prepare('UPDATE webhooks SET position = :size WHERE position > :size').run({ size });
    db.prepare('UPDATE deliveries SET due_at = :latest WHERE due_at > :latest').run({ latest: now + patience });
    db.prepare('UPDATE deliveries SET give_up_at = :latest WHERE give_up_at > :latest').run({ latest: now + patience });
  });
  run.immediate();
}

function deliveryOf(row: Row): Delivery {
  const { webhook, position, id, stream, attempts, failure } = row;
  const times = { dueAt: row.due_at, giveUpAt: row.give_up_at, triedAt: row.tried_at };
  return { webhook, position, id, stream, isParked: row.is_parked === 1, attempts, failure, ...times };
}
