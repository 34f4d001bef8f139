import { randomBytes } from 'node:crypto';
import type { Sqlite } from '../storage/sqlite.ts';
import { type Signer, signerOf } from './notes.ts';
import type { TreeHead } from './proofs.ts';

/** The key that signs a log now, and the newest tree head that it signed. */
export type LogKey = { signer: Signer; signed: TreeHead | null };

/**
 * A key of a log, by its verifier key. `retiredAt` is null for the one that signs. What a disowned one signed does not hold any
 * more: events that it vouched for were lost, and that was accepted.
 */
export type KnownKey = { id: string; verifierKey: string; retiredAt: string | null; isDisowned: boolean };

export type LogKeys = ReturnType<typeof openLogKeys>;

const tables = `
  CREATE TABLE IF NOT EXISTS log_keys (
    id TEXT NOT NULL,
    log TEXT NOT NULL,
    verifier_key TEXT NOT NULL,
    seed TEXT,
    made_at TEXT NOT NULL,
    retired_at TEXT,
    signed_size INTEGER,
    signed_root BLOB,
    PRIMARY KEY (log, id)
  ) STRICT;
  CREATE TABLE IF NOT EXISTS disowned_keys (id TEXT PRIMARY KEY) STRICT;
`;

type Row = { id: string; seed: string; signed_size: number | null; signed_root: Buffer | null };

/** The newest tree head that the key of a log has signed. */
export type SignedHead = { log: string; size: number; root: Uint8Array };

/**
 * The keys that sign checkpoints, in the vault. Beside each stands the newest tree head that it signed: what a key has
 * signed has to be known wherever the key is, whatever becomes of the log.
 */
export function openLogKeys(db: Sqlite) {
  db.exec(tables);
  const select = db.prepare('SELECT * FROM log_keys WHERE log = ? AND retired_at IS NULL');
  const insert = db.prepare('INSERT INTO log_keys (id, log, verifier_key, seed, made_at) VALUES (?, ?, ?, ?, ?)');
  const retire = db.prepare('UPDATE log_keys SET retired_at = ?, seed = NULL WHERE log = ? AND retired_at IS NULL');
  const update = db.prepare('UPDATE log_keys SET signed_size = ?, signed_root = ? WHERE log = ? AND id = ?');
  const disown = db.prepare('INSERT INTO disowned_keys VALUES (?) ON CONFLICT DO NOTHING');

  function make(log: string): void {
    const seed = randomBytes(32);
    const { id, key } = signerOf(log, seed);
    insert.run(id, log, key, seed.toString('base64url'), new Date().toISOString());
  }

  const replace = db.transaction((log: string, disowned: readonly string[]) => {
    retire.run(new Date().toISOString(), log);
    for (const id of disowned) disown.run(id);
    make(log);
  });

  return {
    ...readLogKeys(db),
    /** The key of a log, which also names it; made on first use. */
    current: (log: string): LogKey => {
      if (!select.get(log)) make(log);
      const { seed, signed_size: size, signed_root: root } = select.get(log) as Row;
      const signer = signerOf(log, Buffer.from(seed, 'base64url'));
      return { signer, signed: size === null || root === null ? null : { size, root } };
    },
    /** Remembers what a key signs, before anybody else sees it. */
    sign: (log: string, id: string, { size, root }: TreeHead): void => {
      update.run(size, root, log, id);
    },
    /** Makes a new key for a log; the seed of the old one is erased. `disowned`: ids of keys whose word counts no more. */
    replace: (log: string, disowned: readonly string[]): void => {
      replace.immediate(log, disowned);
      // The seed stands in the write-ahead log until that is emptied.
      db.pragma('wal_checkpoint(TRUNCATE)');
    },
  };
}

/** What is not secret of the keys of logs. */
export type KnownKeys = ReturnType<typeof readLogKeys>;

/** Reads what is not secret of them; a vault from before there were keys knows none. */
export function readLogKeys(db: Sqlite) {
  const isNew = db.prepare(`SELECT count(*) FROM sqlite_schema WHERE name = 'disowned_keys'`).pluck().get() === 1;
  const all = (sql: string, ...values: string[]) => (isNew ? db.prepare(sql).all(...values) : []);
  return {
    /** All keys that a log has had, oldest first. */
    known: (log: string): KnownKey[] => {
      const rows = all(
        `SELECT id, verifier_key AS verifierKey, retired_at AS retiredAt, id IN (SELECT id FROM disowned_keys) AS isDisowned
         FROM log_keys WHERE log = ? ORDER BY made_at, rowid`,
        log,
      ) as (Omit<KnownKey, 'isDisowned'> & { isDisowned: number })[];
      return rows.map((row) => ({ ...row, isDisowned: row.isDisowned === 1 }));
    },
    /** The ids of keys whose word counts no more, also of those that this vault never had. */
    disowned: (): Set<string> => new Set((all('SELECT id FROM disowned_keys') as { id: string }[]).map(({ id }) => id)),
    /** What the keys that sign now have signed last. */
    signed: (): SignedHead[] =>
      all(
        'SELECT log, signed_size AS size, signed_root AS root FROM log_keys WHERE retired_at IS NULL AND signed_size NOT NULL',
      ) as SignedHead[],
  };
}
