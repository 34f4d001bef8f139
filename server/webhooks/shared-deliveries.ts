import { lockOf, type VaultRows } from '../../events/postgres/vault/rows.ts';
import type { PostgresStatement } from '../../storage/postgres/connection.ts';
import type { Deliveries, Delivery, NewDelivery, WebhookProgress } from './deliveries.ts';
import { patience } from './delivery-tables.ts';

const table = 'annals_vault.deliveries';
const webhooks = 'annals_vault.webhooks';
const columns = `webhook, position, id, stream, is_parked AS "isParked", attempts, due_at AS "dueAt", give_up_at AS "giveUpAt",
  tried_at AS "triedAt", failure`;
const select = `SELECT ${columns} FROM ${table} WHERE log = $1 AND webhook = $2`;
/** One delivery, by the log, the webhook and the position. */
const where = 'WHERE log = $1 AND webhook = $2 AND position = $3';
/** The waiting deliveries of a document, by the log, the webhook and the stream. */
const ofDocument = 'WHERE log = $1 AND webhook = $2 AND stream = $3 AND NOT is_parked';
const first = `(SELECT min(position) FROM ${table} ${ofDocument})`;

/** The queue of deliveries that several nodes share, in PostgreSQL: as {@link Deliveries} has it. */
export function openSharedDeliveries(rows: VaultRows): Deliveries {
  const { log, read, write } = rows;
  const lock = lockOf(log, 'webhooks');
  const progress = (name: string) => progressOf(rows, name);

  return {
    async begin(name, position) {
      const text = `INSERT INTO ${webhooks} VALUES ($1, $2, $3, NULL) ON CONFLICT DO NOTHING`;
      await write({ text, values: [log, name, position] });
    },
    position: async (name) => (await progress(name)).position,
    isDue: async ({ webhook, id, attempts }) => (await deliveryCalled(rows, webhook, id))?.attempts === attempts,
    enqueue: (names, upTo, found, now) => enqueue(rows, { names, upTo, found, now }),
    due: async (webhook, now, limit) =>
      (await read({
        text: `${select} AND due_at <= $3 ORDER BY due_at, position LIMIT $4`,
        values: [log, webhook, now, limit],
      })) as Delivery[],
    async succeed(delivery, now) {
      const delivered = `UPDATE ${webhooks} SET delivered_at = $3 WHERE log = $1 AND name = $2`;
      await write(
        lock,
        { text: `DELETE FROM ${table} ${where}`, values: keyOf(log, delivery) },
        { text: delivered, values: [log, delivery.webhook, now] },
        ...inOrder(log, delivery, now),
      );
    },
    async fail(delivery, { at: now, failure, dueAt }) {
      const text = `UPDATE ${table} SET attempts = $4, tried_at = $5, failure = $6, due_at = $7, is_parked = $8 ${where}`;
      const values = [...keyOf(log, delivery), delivery.attempts + 1, now, failure, dueAt, dueAt === null];
      await write(lock, { text, values }, ...inOrder(log, delivery, dueAt === null ? now : null));
    },
    async retry(webhook, id, now) {
      const found = await deliveryCalled(rows, webhook, id);
      if (!found) return null;
      const text = `UPDATE ${table} SET is_parked = false, due_at = NULL, give_up_at = $4 ${where} AND is_parked`;
      const values = [...keyOf(log, found), now + patience];
      await write(lock, { text, values }, ...inOrder(log, found, now));
      return (await deliveryCalled(rows, webhook, id)) ?? found;
    },
    async release(webhook, now, since) {
      const text = `UPDATE ${table} SET due_at = $3::bigint WHERE log = $1 AND webhook = $2 AND due_at > $3 AND give_up_at > $4::bigint`;
      await write(lock, { text, values: [log, webhook, now, since + patience] });
    },
    async retryAll(webhook, now) {
      await write(lock, ...allDue({ log, webhook, now }));
    },
    find: (webhook, id) => deliveryCalled(rows, webhook, id),
    async page(webhook, { state, limit, page }) {
      const { waiting, parked } = await progress(webhook);
      const states = { all: [false, true], waiting: [false], parked: [true] }[state];
      const found = await read({
        text: `${select} AND is_parked = ANY($3::boolean[]) ORDER BY position LIMIT $4 OFFSET $5`,
        values: [log, webhook, states, limit, (page - 1) * limit],
      });
      const total = (state === 'parked' ? 0 : waiting) + (state === 'waiting' ? 0 : parked);
      return { found: found as Delivery[], total };
    },
    progress,
    async close() {},
  };
}

type DeliveryBatch = { names: readonly string[]; upTo: number; found: readonly NewDelivery[]; now: number };

/** Keeps the deliveries that no other node has kept meanwhile. */
function enqueue({ log, change }: VaultRows, { names, upTo, found, now }: DeliveryBatch): Promise<void> {
  const reached = {
    text: `SELECT name, position FROM ${webhooks} WHERE log = $1 AND name = ANY($2::text[])`,
    values: [log, names],
  };
  const moved = {
    text: `UPDATE ${webhooks} SET position = $3 WHERE log = $1 AND name = ANY($2::text[]) AND position < $3`,
    values: [log, names, upTo],
  };
  return change([lockOf(log, 'webhooks'), reached], ([, rows = []]) => {
    // A node that was overtaken may come with deliveries that another one has made since.
    const positions = new Map<string, number>(rows.map(({ name, position }) => [name, position]));
    const news = found.filter(({ webhook, position }) => position > (positions.get(webhook) ?? 0));
    const inserted = news.flatMap((one) => [insertion(log, one, now), earliestDue(log, one, now)]);
    return { statements: [...inserted, moved], value: undefined };
  });
}

function insertion(log: number, { webhook, position, id, stream }: NewDelivery, now: number): PostgresStatement {
  const text = `INSERT INTO ${table} (log, webhook, position, id, stream, is_parked, attempts, due_at, give_up_at)
    SELECT $1::int, $2::text, $3::bigint, $4::text, $5::text, false, 0, CASE WHEN EXISTS (
      SELECT 1 FROM ${table} WHERE log = $1 AND webhook = $2 AND stream = $5 AND NOT is_parked
    ) THEN NULL ELSE $6::bigint END, $7::bigint`;
  return { text, values: [log, webhook, position, id, stream, now, now + patience] };
}

/** Leaves only the earliest delivery of a document due; `at`: makes that delivery due at once. */
function inOrder(log: number, one: NewDelivery, at: number | null): PostgresStatement[] {
  const text = `UPDATE ${table} SET due_at = NULL ${ofDocument} AND position > ${first}`;
  const held = { text, values: [log, one.webhook, one.stream] };
  return at === null ? [held] : [held, earliestDue(log, one, at)];
}

function earliestDue(log: number, { webhook, stream }: NewDelivery, at: number): PostgresStatement {
  const text = `UPDATE ${table} SET due_at = $4 ${ofDocument} AND position = ${first} AND (due_at IS NULL OR due_at > $4)`;
  return { text, values: [log, webhook, stream, at] };
}

/** Makes all deliveries of a webhook due, of each document the earliest. */
function allDue({ log, webhook, now }: { log: number; webhook: string; now: number }): PostgresStatement[] {
  const unparked = `UPDATE ${table} SET is_parked = false, give_up_at = $3 WHERE log = $1 AND webhook = $2 AND is_parked`;
  const released = `UPDATE ${table} AS one SET due_at = CASE WHEN position = (
      SELECT min(other.position) FROM ${table} AS other
      WHERE other.log = $1 AND other.webhook = $2 AND other.stream = one.stream AND NOT other.is_parked
    ) THEN least(coalesce(due_at, $3::bigint), $3::bigint) END
    WHERE log = $1 AND webhook = $2 AND NOT is_parked`;
  return [
    { text: unparked, values: [log, webhook, now + patience] },
    { text: released, values: [log, webhook, now] },
  ];
}

function keyOf(log: number, { webhook, position }: NewDelivery): unknown[] {
  return [log, webhook, position];
}

async function deliveryCalled({ log, read }: VaultRows, webhook: string, id: string): Promise<Delivery | null> {
  const [row] = await read({ text: `${select} AND id = $3`, values: [log, webhook, id] });
  return row ?? null;
}

async function progressOf({ log, read }: VaultRows, name: string): Promise<WebhookProgress> {
  const [row] = await read({
    text: `SELECT position, delivered_at AS "deliveredAt",
             (SELECT count(*) FROM ${table} WHERE log = $1 AND webhook = $2 AND NOT is_parked) AS waiting,
             (SELECT count(*) FROM ${table} WHERE log = $1 AND webhook = $2 AND is_parked) AS parked
           FROM ${webhooks} WHERE log = $1 AND name = $2`,
    values: [log, name],
  });
  return row ?? { position: 0, waiting: 0, parked: 0, deliveredAt: null };
}
