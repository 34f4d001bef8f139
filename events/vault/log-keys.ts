import { hasTable, type Sqlite } from '../../storage/sqlite.ts';
import type { TreeHead } from '../proof/proofs.ts';
import type { KeyChange } from '../service-events/key-events.ts';
import {
  type KnownKey,
  keyOf,
  type LogKey,
  logKeyOf,
  nameOf,
  newKey,
  planReplacement,
  type Replacement,
  type StoredChange,
  type StoredKey,
} from './key-replacement.ts';
import { removeTraces } from './traces.ts';

/** A change that no event tells of yet. */
type UntoldChange = { number: number; change: KeyChange };

/** The newest tree head that the key of a log has signed, and its verifier key. */
export type SignedHead = { log: string; size: number; root: Uint8Array; key: string };

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

/** Changes that events have to tell of: a row goes when one does. */
const changesTable =
  'CREATE TABLE key_changes (number INTEGER PRIMARY KEY, log TEXT NOT NULL, change TEXT NOT NULL) STRICT';

function prepare(db: Sqlite) {
  return {
    keys: db.prepare<[log: string], StoredKey>(
      `SELECT id, verifier_key AS verifierKey, seed, retired_at AS retiredAt, signed_size AS signedSize,
         signed_root AS signedRoot FROM log_keys WHERE log = ? ORDER BY made_at, rowid`,
    ),
    current: db.prepare<[log: string], StoredKey>(
      `SELECT id, verifier_key AS verifierKey, seed, retired_at AS retiredAt, signed_size AS signedSize,
         signed_root AS signedRoot FROM log_keys WHERE log = ? AND retired_at IS NULL`,
    ),
    insert: db.prepare<[StoredKey & { log: string; now: string }]>(
      `INSERT INTO log_keys (id, log, verifier_key, seed, made_at, signed_size, signed_root)
       VALUES (:id, :log, :verifierKey, :seed, :now, :signedSize, :signedRoot)`,
    ),
    retire: db.prepare('UPDATE log_keys SET retired_at = :now, seed = NULL WHERE log = :log AND retired_at IS NULL'),
    sign: db.prepare(
      `UPDATE log_keys SET signed_size = :size, signed_root = :root
       WHERE log = :log AND id = :id AND retired_at IS NULL AND signed_size IS :sizeBefore AND signed_root IS :rootBefore`,
    ),
    disown: db.prepare('INSERT INTO disowned_keys VALUES (?) ON CONFLICT DO NOTHING'),
    changes: db.prepare<[log: string], StoredChange>(
      'SELECT number, change FROM key_changes WHERE log = ? ORDER BY number',
    ),
    insertChange: db.prepare('INSERT INTO key_changes (log, change) VALUES (?, ?)'),
    updateChange: db.prepare('UPDATE key_changes SET change = :change WHERE number = :number'),
    deleteChange: db.prepare('DELETE FROM key_changes WHERE number = ?'),
  };
}

/**
 * The keys that sign checkpoints, in the vault. Each is stored with the newest tree head that it has signed: whatever
 * becomes of the log, what a key has signed has to be known wherever the key is.
 */
export function openLogKeys(db: Sqlite) {
  db.exec(tables);
  rememberEarlier(db);
  const sql = prepare(db);
  const { known, disowned, signed } = readLogKeys(db);

  function current(log: string): LogKey {
    const stored = sql.current.get(log);
    if (stored) return logKeyOf(log, stored);
    const made = newKey(log);
    sql.insert.run({ ...made, log, now: new Date().toISOString() });
    return logKeyOf(log, made);
  }

  function note(log: string, change: KeyChange): void {
    sql.insertChange.run(log, JSON.stringify(change));
  }

  const replace = db.transaction((log: string, replacement: Replacement): string | null => {
    const stored = { log, keys: sql.keys.all(log), disowned: disowned(log), untold: sql.changes.all(log) };
    const plan = planReplacement(stored, replacement, newKey(log));
    if (!plan) return null;
    const now = new Date().toISOString();
    sql.retire.run({ log, now });
    for (const change of plan.corrected) sql.updateChange.run(change);
    for (const id of plan.disowned) sql.disown.run(id);
    sql.insert.run({ ...plan.made, log, now });
    for (const change of plan.noted) note(log, change);
    return plan.made.verifierKey;
  });

  return {
    known,
    disowned,
    signed,
    /** The key of a log, which also names it; made on first use. */
    current,
    /** Whether this vault has the key that signs a log: that of a node has only its public part. */
    canSign: (log: string): boolean => sql.current.get(log)?.seed != null,
    /**
     * Remembers what a key signs, before anybody else sees it.
     *
     * @param before the head that it had signed when the caller looked.
     * @returns false, and nothing is changed, if it has signed another head since, or signs no more.
     */
    sign: (log: string, id: string, { size, root }: TreeHead, before: TreeHead | null): boolean => {
      const earlier = { sizeBefore: before?.size ?? null, rootBefore: before?.root ?? null };
      return sql.sign.run({ log, id, size, root, ...earlier }).changes > 0;
    },
    /**
     * Makes a new key for a log, erases the seed of the old one, and notes the changes for the log.
     *
     * @returns the verifier key of the new one; null, and nothing is changed, if another key was expected.
     */
    replace: (log: string, replacement: Replacement): string | null => {
      const made = replace.immediate(log, replacement);
      removeTraces(db);
      return made;
    },
    /** Remembers a change that came about otherwise, until an event tells of it. */
    note,
    /** The changes that no event tells of, oldest first. */
    untold: (log: string): UntoldChange[] =>
      sql.changes.all(log).map(({ number, change }) => ({ number, change: JSON.parse(change) })),
    /** Forgets a change that an event tells of now. */
    told: (number: number): void => {
      sql.deleteChange.run(number);
    },
  };
}

/** Stores the public part of keys of another vault, for commands that verify with this one and sign nothing. */
export function learnLogKeys(db: Sqlite, log: string, keys: readonly KnownKey[]): void {
  const insert = db.prepare(
    `INSERT INTO log_keys (id, log, verifier_key, made_at, retired_at) VALUES (:id, :log, :verifierKey, :now, :retiredAt)
     ON CONFLICT (log, id) DO UPDATE SET retired_at = excluded.retired_at`,
  );
  const disown = db.prepare('INSERT INTO disowned_keys VALUES (?) ON CONFLICT DO NOTHING');
  const now = new Date().toISOString();
  db.transaction(() => {
    for (const { id, verifierKey, retiredAt, isDisowned } of keys) {
      insert.run({ id, log, verifierKey, now, retiredAt });
      if (isDisowned) disown.run(id);
    }
  }).immediate();
}

const earlierReason = 'done by an earlier version, whose log did not tell of it';

/** Changes of keys from before the log recorded them are recorded once, by the first version that does. */
function rememberEarlier(db: Sqlite): void {
  const remember = db.transaction(() => {
    if (hasTable(db, 'key_changes')) return;
    db.exec(changesTable);
    const insert = db.prepare('INSERT INTO key_changes (log, change) VALUES (?, ?)');
    const { known, disowned } = readLogKeys(db);
    const logs = db.prepare<[], string>('SELECT DISTINCT log FROM log_keys').pluck().all();
    for (const log of logs) {
      const keys = known(log);
      const changes: KeyChange[] = [...disowned(log)].map((id) => ({
        kind: 'disowned',
        key: nameOf(id, keys),
        reason: earlierReason,
      }));
      keys.slice(1).forEach((key, index) => {
        const before = keys[index];
        if (before) changes.push({ kind: 'replaced', from: keyOf(before), to: keyOf(key), reason: earlierReason });
      });
      for (const change of changes) insert.run(log, JSON.stringify(change));
    }
  });
  remember.immediate();
}

/** The public part of the keys of logs. */
export type KnownKeys = ReturnType<typeof readLogKeys>;

/** Reads their public part; a vault from before there were keys knows none. */
export function readLogKeys(db: Sqlite) {
  const isNew = hasTable(db, 'disowned_keys');
  const all = <Row>(sql: string, ...values: string[]) => (isNew ? db.prepare<string[], Row>(sql).all(...values) : []);
  return {
    /** All keys that a log has had, oldest first. */
    known: (log: string): KnownKey[] => {
      const rows = all<Omit<KnownKey, 'isDisowned'> & { isDisowned: number }>(
        `SELECT id, verifier_key AS verifierKey, retired_at AS retiredAt, id IN (SELECT id FROM disowned_keys) AS isDisowned
         FROM log_keys WHERE log = ? ORDER BY made_at, rowid`,
        log,
      );
      return rows.map((row) => ({ ...row, isDisowned: row.isDisowned === 1 }));
    },
    /** The ids of keys of a log that were disowned, also of those that this vault never had. */
    disowned: (log: string): Set<string> => {
      const rows = all<{ id: string }>(
        'SELECT id FROM disowned_keys WHERE id NOT IN (SELECT id FROM log_keys WHERE log <> ?)',
        log,
      );
      return new Set(rows.map(({ id }) => id));
    },
    /** The newest heads that the present keys have signed. */
    signed: (): SignedHead[] =>
      all<SignedHead>(
        `SELECT log, signed_size AS size, signed_root AS root, verifier_key AS key FROM log_keys
         WHERE retired_at IS NULL AND signed_size NOT NULL`,
      ),
  };
}
