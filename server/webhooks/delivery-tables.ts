import type { Sqlite, Statement } from '../../storage/sqlite.ts';
import type { Delivery, NewDelivery } from './deliveries.ts';

/** How long a delivery is tried, in milliseconds: 3 days. */
export const patience = 3 * 24 * 60 * 60 * 1000;

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

/** The statements on `webhooks.db`. */
export type Statements = Queries & Changes;

type Queries = {
  selectPosition: Statement<number, [name: string]>;
  selectDue: Statement<Row, [webhook: string, now: number, limit: number]>;
  selectById: Statement<Row, [webhook: string, id: string]>;
  selectFirst: Statement<number | null, [Pick<NewDelivery, 'webhook' | 'stream'>]>;
  selectCounts: Statement<{ waiting: number; parked: number }, [webhook: string]>;
  selectDelivered: Statement<number | null, [name: string]>;
  selectPage: Statement<Row, [string, number, number, number, number]>;
};

/** The statements that change something. */
type Changes = {
  [name in
    | 'insertWebhook'
    | 'setPosition'
    | 'setDelivered'
    | 'insert'
    | 'remove'
    | 'setFailed'
    | 'setWaiting'
    | 'holdBack'
    | 'release'
    | 'releaseFound'
    | 'unpark'
    | 'releaseEarliest']: Statement;
};

/**
 * Makes the tables if they are missing, and adapts what they hold to a log.
 *
 * @param log the id of the log, and how many events it has. Of another log nothing is kept, and nothing of events that
 * the log no longer has.
 */
export function prepareTables(db: Sqlite, log: { id: string; size: number }, now: number): void {
  db.exec(tables);
  adapt(db, log, now);
}

/** Prepares all statements. */
export function prepareStatements(db: Sqlite): Statements {
  return { ...prepareQueries(db), ...prepareChanges(db) };
}

function prepareQueries(db: Sqlite): Queries {
  const selectPosition = db.prepare<[name: string], number>('SELECT position FROM webhooks WHERE name = ?').pluck();
  const selectDue = db.prepare<[webhook: string, now: number, limit: number], Row>(
    'SELECT * FROM deliveries WHERE webhook = ? AND due_at <= ? ORDER BY due_at, position LIMIT ?',
  );
  const selectById = db.prepare<[webhook: string, id: string], Row>(
    'SELECT * FROM deliveries WHERE webhook = ? AND id = ?',
  );
  const selectFirst = db
    .prepare<Pick<NewDelivery, 'webhook' | 'stream'>, number | null>(
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
  return { selectPosition, selectDue, selectById, selectFirst, selectCounts, selectDelivered, selectPage };
}

function prepareChanges(db: Sqlite): Changes {
  const insertWebhook = db.prepare('INSERT INTO webhooks VALUES (?, ?, NULL) ON CONFLICT DO NOTHING');
  const setPosition = db.prepare('UPDATE webhooks SET position = :upTo WHERE name = :name AND position < :upTo');
  const setDelivered = db.prepare('UPDATE webhooks SET delivered_at = :at WHERE name = :webhook');
  const insert = db.prepare(
    `INSERT INTO deliveries (webhook, position, id, stream, due_at, give_up_at)
     SELECT :webhook, :position, :id, :stream, CASE WHEN EXISTS (
       SELECT 1 FROM deliveries WHERE webhook = :webhook AND stream = :stream AND is_parked = 0
     ) THEN NULL ELSE :now END, :giveUpAt`,
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
  return {
    insertWebhook,
    setPosition,
    setDelivered,
    insert,
    remove,
    setFailed,
    setWaiting,
    holdBack,
    release,
    releaseFound,
    unpark,
    releaseEarliest,
  };
}

/** A restored log has fewer events; after a clock was set back, what is due would be due too late. */
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

/** A row as the rest of the service has it. */
export function deliveryOf(row: Row): Delivery {
  const { webhook, position, id, stream, attempts, failure } = row;
  const times = { dueAt: row.due_at, giveUpAt: row.give_up_at, triedAt: row.tried_at };
  return { webhook, position, id, stream, isParked: row.is_parked === 1, attempts, failure, ...times };
}
