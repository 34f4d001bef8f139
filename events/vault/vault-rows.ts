import { hasTable, type Sqlite } from '../../storage/sqlite.ts';
import { sealSecret } from '../proof/seals.ts';
import { movedAway } from '../store/moved.ts';

/** A row of a vault, by the names of its columns in PostgreSQL; a boolean is 0 or 1. */
export type VaultRow = Record<string, string | number | Buffer | null>;

/** A table of a vault that belongs to the log, and not to the data directory. */
export type VaultTable = {
  /** Its name in PostgreSQL. */
  name: string;
  /** Its columns in PostgreSQL, each with its type. */
  columns: readonly string[];
  /** Its name in a file, and the SQL that reads and writes it there. */
  table: string;
  select: string;
  clear: string;
  insert: string;
  /** Whether a service writes to it while it runs. */
  isWritten: boolean;
};

/** The secrets that each data directory has for itself: for sealing the head of its log, and for admitting commands. */
const own = `('${sealSecret}', 'operator')`;

export const vaultTables: readonly VaultTable[] = [
  {
    ...plain('secrets', ['name text', 'value text']),
    select: `SELECT name, value FROM secrets WHERE name NOT IN ${own}`,
    clear: `DELETE FROM secrets WHERE name NOT IN ${own}`,
    isWritten: false,
  },
  {
    ...plain('passwords', ['credential text', 'hash text', 'made_at bigint']),
    select: 'SELECT credential, hash, 0 AS made_at FROM passwords',
    insert: 'INSERT INTO passwords VALUES (:credential, :hash)',
  },
  {
    ...plain('counters', [
      'key text',
      'failures int',
      'locked_until bigint',
      'touched bigint',
      'is_known int::boolean',
    ]),
    table: 'attempts',
    select: 'SELECT key, failures, locked_until, touched, known AS is_known FROM attempts',
    clear: 'DELETE FROM attempts',
    insert: 'INSERT INTO attempts VALUES (:key, :failures, :locked_until, :touched, :is_known)',
  },
  {
    ...plain('log_keys', [
      'name text',
      'id text',
      'number bigint',
      'verifier_key text',
      'seed text',
      'retired_at text',
      'signed_size bigint',
      'signed_root bytea',
    ]),
    select: `SELECT log AS name, id, row_number() OVER (ORDER BY rowid) AS number, verifier_key, seed, retired_at, signed_size, signed_root
             FROM log_keys ORDER BY rowid`,
    // Of the times at which keys were made, only the order counts.
    insert: `INSERT INTO log_keys VALUES (:id, :name, :verifier_key, :seed, coalesce(:retired_at, strftime('%FT%TZ', 'now')), :retired_at,
             :signed_size, :signed_root)`,
  },
  plain('disowned_keys', ['id text']),
  {
    ...plain('key_changes', ['number bigint', 'name text', 'change text']),
    select: 'SELECT number, log AS name, change FROM key_changes ORDER BY number',
    insert: 'INSERT INTO key_changes VALUES (:number, :name, :change)',
  },
  plain('key_hashes', ['credential text', 'hash text', 'made_at bigint']),
  plain('key_uses', ['id text', 'used_at bigint']),
  {
    ...plain('drafts', [
      'number bigint',
      'id text',
      'caller text',
      'collection text',
      'document text',
      'size bigint',
      'expires_at bigint',
      'data text',
    ]),
    insert: `INSERT INTO drafts VALUES (:number, :id, :caller, :collection, :document, :size, :expires_at, zeroblob(4096), :data)`,
  },
  {
    ...plain('own_drafts', [
      'revision bigint',
      'owner text',
      'target text',
      'version bigint',
      'size bigint',
      'updated_at bigint',
      'title text',
      'data text',
    ]),
    insert: `INSERT INTO own_drafts VALUES
             (:revision, :owner, :target, :version, :size, :updated_at, zeroblob(4096), :title, :data)`,
  },
  {
    ...plain('preferences', ['owner text', 'data text']),
    select: 'SELECT user AS owner, data FROM preferences',
    insert: 'INSERT INTO preferences (user, padding, data) VALUES (:owner, zeroblob(4096), :data)',
  },
  plain('preview_tokens', [
    'id text',
    'hash text',
    'maker text',
    'view text',
    'created_at bigint',
    'expires_at bigint',
  ]),
  plain('replays', [
    'key text',
    'attempt text',
    'fingerprint text',
    'caller text',
    'about text',
    'answer text',
    'expires_at bigint',
  ]),
];

/** The tables of the deliveries of webhooks, which are in another file. */
export const deliveryTables: readonly VaultTable[] = [
  plain('webhooks', ['name text', 'position bigint', 'delivered_at bigint']),
  plain('deliveries', [
    'webhook text',
    'position bigint',
    'id text',
    'stream text',
    'is_parked int::boolean',
    'attempts int',
    'due_at bigint',
    'give_up_at bigint',
    'tried_at bigint',
    'failure text',
  ]),
];

/** A table with the same columns in PostgreSQL and in a file. */
function plain(name: string, columns: readonly string[]): VaultTable {
  const names = columns.map((column) => column.split(' ')[0]);
  return {
    name,
    columns,
    table: name,
    select: `SELECT ${names.join(', ')} FROM ${name}`,
    clear: `DELETE FROM ${name}`,
    insert: `INSERT INTO ${name} (${names.join(', ')}) VALUES (${names.map((column) => `:${column}`).join(', ')})`,
    isWritten: true,
  };
}

/** The rows of a table of a vault; none if the vault is of an earlier version without the table. */
export function vaultRows(db: Sqlite, { table, select }: VaultTable): VaultRow[] {
  return hasTable(db, table) ? db.prepare<[], VaultRow>(select).all() : [];
}

/** Replaces the rows of a table, inside a transaction of the caller. */
export function replaceRows(db: Sqlite, { clear, insert }: VaultTable, rows: readonly VaultRow[]): void {
  db.exec(clear);
  const statement = db.prepare<[VaultRow]>(insert);
  for (const row of rows) statement.run(row);
}

/** The last numbers that rows have got. */
export function lastNumbers(db: Sqlite): { keys: number; drafts: number; ownDrafts: number } {
  const last = (table: string, sql: string) =>
    hasTable(db, table) ? (db.prepare<[], number | null>(sql).pluck().get() ?? 0) : 0;
  const keys = last('log_keys', 'SELECT count(*) FROM log_keys');
  return {
    keys: Math.max(keys, last('key_changes', 'SELECT max(number) FROM key_changes')),
    drafts: last('drafts', 'SELECT max(number) FROM drafts'),
    ownDrafts: last('own_drafts', "SELECT seq FROM sqlite_sequence WHERE name = 'own_drafts'"),
  };
}

const changes = ['INSERT', 'UPDATE', 'DELETE'];

function triggers(): { table: string; name: string; change: string }[] {
  return vaultTables
    .filter(({ isWritten }) => isWritten)
    .flatMap(({ table }) =>
      changes.map((change) => ({ table, change, name: `${table}_moved_${change.toLowerCase()}` })),
    );
}

/** Has the file refuse changes to the tables that have moved with the log, inside a transaction of the caller. */
export function markVaultMoved(db: Sqlite): void {
  for (const { table, name, change } of triggers()) {
    if (!hasTable(db, table)) continue;
    db.exec(
      `CREATE TRIGGER IF NOT EXISTS ${name} BEFORE ${change} ON ${table} BEGIN SELECT RAISE(ABORT, '${movedAway}'); END`,
    );
  }
}

/** Whether the tables that belong to the log have moved. */
export function isVaultMoved(db: Sqlite): boolean {
  return triggers().some(({ name }) => hasTable(db, name));
}

/** Ends {@link markVaultMoved}, inside a transaction of the caller. */
export function unmarkVault(db: Sqlite): void {
  for (const { name } of triggers()) db.exec(`DROP TRIGGER IF EXISTS ${name}`);
}

/**
 * Deletes the rows that have moved with the log: passwords, keys, previews and so on. The secrets stay: they belong to
 * the directory.
 */
export function forgetMoved(db: Sqlite): void {
  if (!isVaultMoved(db)) return;
  const forget = db.transaction(() => {
    unmarkVault(db);
    for (const { table, clear, isWritten } of vaultTables) if (isWritten && hasTable(db, table)) db.exec(clear);
  });
  forget.immediate();
  db.pragma('wal_checkpoint(TRUNCATE)');
}
