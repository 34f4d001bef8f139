import { type Asynchronous, asynchronous } from '../../events/vault/vault-port.ts';
import { openDatabase, type Sqlite } from '../../storage/sqlite.ts';

import type { DeliveryQuery } from '../ports.ts';
import { deliveryOf, patience, prepareStatements, prepareTables, type Statements } from './delivery-tables.ts';

/** An event that a webhook is to be told of: the id of the delivery, the stream and the position of the event. */
export type NewDelivery = { webhook: string; id: string; stream: string; position: number };

/** A delivery that did not succeed yet. Times are milliseconds since the epoch. */
export type Delivery = NewDelivery & {
  isParked: boolean;
  attempts: number;
  /** When the next attempt is; null if the delivery is parked, or waits for an earlier one of its document. */
  dueAt: number | null;
  giveUpAt: number;
  triedAt: number | null;
  /** Why the last attempt failed. */
  failure: string | null;
};

/** How far a webhook has come. */
export type WebhookProgress = { position: number; waiting: number; parked: number; deliveredAt: number | null };

/** The outcome of a failed attempt: when the next one is, null for parked. */
type FailedAttempt = { at: number; failure: string; dueAt: number | null };

/** The queue of deliveries: in a file of this process, or in PostgreSQL, where several nodes share it. */
export type Deliveries = Asynchronous<ReturnType<typeof openDeliveries>>;

/** The queue in a file of this process, see {@link openDeliveries}. */
export function deliveriesIn(...opened: Parameters<typeof openDeliveries>): Deliveries {
  return asynchronous(openDeliveries(...opened));
}

/**
 * Opens `webhooks.db`: up to which position of the log each webhook was looked after, and the deliveries that are left
 * to be made. Both change in one transaction, so that an end of the process at any moment loses no delivery. A power
 * cut may take the last transactions back; these deliveries are then made again, under the same ids.
 *
 * @param log the id of the log, and how many events it has, as {@link prepareTables} takes it.
 */
export function openDeliveries(path: string, log: { id: string; size: number }, now: number) {
  const db = openDatabase(path, { cacheMiB: 2 });
  prepareTables(db, log, now);
  const sql = prepareStatements(db);
  const enqueued = db.transaction(enqueue);
  const succeeded = db.transaction(succeed);
  const failed = db.transaction(fail);
  const retried = db.transaction(retry);
  const allRetried = db.transaction(retryAll);
  const paged = db.transaction(pageOf);

  return {
    /** Adds a webhook; a new one is told of the events after this position. */
    begin: (name: string, position: number): void => void sql.insertWebhook.run(name, position),
    position: (name: string): number => sql.selectPosition.get(name) ?? 0,
    /** Whether a delivery is still as it was given: neither made nor tried since. */
    isDue: ({ webhook, id, attempts }: Delivery): boolean => sql.selectById.get(webhook, id)?.attempts === attempts,
    /**
     * Keeps the deliveries of events up to a position; up to there these webhooks have then been looked after. If an
     * earlier delivery of the document waits for its next attempt, that is due now.
     */
    enqueue: (names: readonly string[], upTo: number, found: readonly NewDelivery[], at: number): void =>
      enqueued.immediate(sql, { names, upTo, found, at }),
    /** Deliveries that are due, those that have waited longest first; at most one of each document. */
    due: (webhook: string, at: number, limit: number): Delivery[] =>
      sql.selectDue.all(webhook, at, limit).map(deliveryOf),
    succeed: (one: NewDelivery, at: number): void => succeeded.immediate(sql, one, at),
    fail: (one: Delivery, failure: FailedAttempt): void => failed.immediate(sql, one, failure),
    /** Makes a delivery due now, or the earlier one that it waits for; gives it as it is then. */
    retry: (webhook: string, id: string, at: number): Delivery | null => retried.immediate(sql, { webhook, id, at }),
    /**
     * Makes the deliveries due now that wait for their next attempt, if they were found after `since` (milliseconds
     * since the epoch).
     */
    release: (webhook: string, at: number, since: number): void => void sql.releaseFound.run({ webhook, at, since }),
    /** Makes all due now, of each document the earliest; parked ones are tried for another 3 days. */
    retryAll: (webhook: string, at: number): void => allRetried.immediate(sql, webhook, at),
    /** A delivery that has not succeeded yet; null without one. */
    find: (webhook: string, id: string): Delivery | null => {
      const row = sql.selectById.get(webhook, id);
      return row ? deliveryOf(row) : null;
    },
    page: (webhook: string, request: DeliveryQuery) => paged(sql, webhook, request),
    progress: (name: string): WebhookProgress => ({
      position: sql.selectPosition.get(name) ?? 0,
      ...countsOf(sql, name),
      deliveredAt: sql.selectDelivered.get(name) ?? null,
    }),
    close: (): void => void db.close(),
  };
}

type DeliveryBatch = { names: readonly string[]; upTo: number; found: readonly NewDelivery[]; at: number };

function enqueue(sql: Statements, { names, upTo, found, at }: DeliveryBatch): void {
  for (const one of found) {
    sql.insert.run({ ...one, now: at, giveUpAt: at + patience });
    sql.release.run({ webhook: one.webhook, first: sql.selectFirst.get(one) ?? one.position, at });
  }
  for (const name of names) sql.setPosition.run({ name, upTo });
}

function succeed(sql: Statements, one: NewDelivery, at: number): void {
  const { webhook, position } = one;
  sql.remove.run({ webhook, position });
  sql.setDelivered.run({ webhook, at });
  releaseFirst(sql, one, at);
}

function fail(sql: Statements, one: NewDelivery, { at, failure, dueAt }: FailedAttempt): void {
  const { webhook, position } = one;
  sql.setFailed.run({ webhook, position, at, failure, dueAt, isParked: dueAt === null ? 1 : 0 });
  if (dueAt === null) releaseFirst(sql, one, at);
  else holdBackLater(sql, one);
}

function retry(sql: Statements, { webhook, id, at }: { webhook: string; id: string; at: number }): Delivery | null {
  const row = sql.selectById.get(webhook, id);
  if (!row) return null;
  if (row.is_parked === 1) sql.setWaiting.run({ webhook, position: row.position, giveUpAt: at + patience });
  releaseFirst(sql, row, at);
  return deliveryOf(sql.selectById.get(webhook, id) ?? row);
}

function retryAll(sql: Statements, webhook: string, at: number): void {
  sql.unpark.run({ webhook, giveUpAt: at + patience });
  sql.releaseEarliest.run({ webhook, at });
}

function pageOf(sql: Statements, webhook: string, request: DeliveryQuery): { found: Delivery[]; total: number } {
  const { state, limit, page } = request;
  const { waiting, parked } = countsOf(sql, webhook);
  const [least, most] = state === 'all' ? [0, 1] : state === 'parked' ? [1, 1] : [0, 0];
  const total = (least === 0 ? waiting : 0) + (most === 1 ? parked : 0);
  const rows = sql.selectPage.all(webhook, least, most, limit, (page - 1) * limit);
  return { found: rows.map(deliveryOf), total };
}

function countsOf(sql: Statements, webhook: string): { waiting: number; parked: number } {
  return sql.selectCounts.get(webhook) ?? { waiting: 0, parked: 0 };
}

/** Leaves only the earliest delivery of a document due. @returns the position of its event; null without a delivery. */
function holdBackLater(sql: Statements, { webhook, stream }: NewDelivery): number | null {
  const first = sql.selectFirst.get({ webhook, stream }) ?? null;
  if (first !== null) sql.holdBack.run({ webhook, stream, first });
  return first;
}

/** Makes the earliest delivery of a document due. */
function releaseFirst(sql: Statements, one: NewDelivery, at: number): void {
  const first = holdBackLater(sql, one);
  if (first !== null) sql.release.run({ webhook: one.webhook, first, at });
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
