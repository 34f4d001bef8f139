import { randomBytes } from 'node:crypto';
import { hasTable, type Sqlite } from '../../storage/sqlite.ts';
import { type HandedOver, signHandover } from '../proof/handovers.ts';
import { type Signer, signerOf } from '../proof/notes.ts';
import type { TreeHead } from '../proof/proofs.ts';
import type { KeyChange, NamedKey } from '../service-events/key-events.ts';

/** The key that signs a log now, and the newest tree head that it signed. */
export type LogKey = { signer: Signer; signed: TreeHead | null };

/**
 * A key of a log, by its verifier key. `retiredAt` is null for the one that signs. The signatures of a disowned one do
 * not hold any more: events that it vouched for were lost, and that was accepted. It counts as disowned where the log
 * tells of it too.
 */
export type KnownKey = { id: string; verifierKey: string; retiredAt: string | null; isDisowned: boolean };

/** A key whose word shall count no more; `signed` as {@link KeyChange} has it. */
export type GivenUp = { id: string; signed?: number };

/**
 * Why a key is replaced, and which ones are disowned with that. `from`: the one that signed, where this vault has
 * another. `handedOver`: the head at which the present key itself hands over to the new one. `expected`: the key that
 * is to be replaced, by its id, and what it had signed when that was looked at; where it is given and another one
 * signs, or more was signed, nothing is changed.
 */
export type Replacement = {
  reason: string;
  disowned?: readonly GivenUp[];
  from?: NamedKey;
  handedOver?: HandedOver;
  expected?: ExpectedKey;
};

/** As {@link Replacement} has it. */
export type ExpectedKey = { id: string; signed: TreeHead | null };

/** A change of which no event tells yet. */
export type UntoldChange = { number: number; change: KeyChange };

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

/** Changes that the log has to be told of: a row goes when it has been. */
const changesTable =
  'CREATE TABLE key_changes (number INTEGER PRIMARY KEY, log TEXT NOT NULL, change TEXT NOT NULL) STRICT';

type Row = { id: string; seed: string | null; signed_size: number | null; signed_root: Buffer | null };

/** The newest tree head that the key of a log has signed, and its verifier key. */
export type SignedHead = { log: string; size: number; root: Uint8Array; key: string };

/**
 * The keys that sign checkpoints, in the vault. Beside each stands the newest tree head that it signed: what a key has
 * signed has to be known wherever the key is, whatever becomes of the log.
 */
export function openLogKeys(db: Sqlite) {
  db.exec(tables);
  rememberEarlier(db);
  const select = db.prepare<[log: string], Row>('SELECT * FROM log_keys WHERE log = ? AND retired_at IS NULL');
  const insert = db.prepare('INSERT INTO log_keys (id, log, verifier_key, seed, made_at) VALUES (?, ?, ?, ?, ?)');
  const retire = db.prepare('UPDATE log_keys SET retired_at = ?, seed = NULL WHERE log = ? AND retired_at IS NULL');
  const update = db.prepare('UPDATE log_keys SET signed_size = ?, signed_root = ? WHERE log = ? AND id = ?');
  const updateExpected = db.prepare(
    `UPDATE log_keys SET signed_size = :size, signed_root = :root
     WHERE log = :log AND id = :id AND retired_at IS NULL AND signed_size IS :sizeBefore AND signed_root IS :rootBefore`,
  );
  const disown = db.prepare('INSERT INTO disowned_keys VALUES (?) ON CONFLICT DO NOTHING');

  function make(log: string): void {
    const seed = randomBytes(32);
    const { id, key } = signerOf(log, seed);
    insert.run(id, log, key, seed.toString('base64url'), new Date().toISOString());
  }

  const { known } = readLogKeys(db);
  const selectUntold = db.prepare<[log: string], { number: number; change: string }>(
    'SELECT number, change FROM key_changes WHERE log = ? ORDER BY number',
  );
  const insertChange = db.prepare('INSERT INTO key_changes (log, change) VALUES (?, ?)');
  const deleteChange = db.prepare('DELETE FROM key_changes WHERE number = ?');
  const updateChange = db.prepare('UPDATE key_changes SET change = ? WHERE number = ?');

  function note(log: string, change: KeyChange): void {
    insertChange.run(log, JSON.stringify(change));
  }

  function current(log: string): LogKey {
    if (!select.get(log)) make(log);
    const row = select.get(log);
    if (!row?.seed) throw new Error(`vault.db does not hold the key that was made for ${log}`);
    const { seed, signed_size: size, signed_root: root } = row;
    const signer = signerOf(log, Buffer.from(seed, 'base64url'));
    return { signer, signed: size === null || root === null ? null : { size, root } };
  }

  /** The new key signs the head as well, so it will sign no log without these events. */
  function handOver(log: string, old: Signer, head: HandedOver): string {
    const { signer } = current(log);
    update.run(head.size, head.root, log, signer.id);
    return signHandover(old, signer, head);
  }

  function withdraw(log: string, ids: ReadonlySet<string>): void {
    for (const { number, change } of selectUntold.all(log)) {
      const without = withoutLostHandover(change, ids);
      if (without !== null) updateChange.run(without, number);
    }
  }

  const replace = db.transaction((log: string, replacement: Replacement): string | null => {
    const { disowned = [], from, handedOver, expected, reason } = replacement;
    if (expected && !isExpected(expected, current(log))) return null;
    const old = handedOver && current(log).signer;
    const all = known(log);
    const before = from ?? all.find(isCurrent);
    retire.run(new Date().toISOString(), log);
    withdraw(log, new Set(disowned.map(({ id }) => id)));
    for (const { id, ...signed } of disowned) {
      disown.run(id);
      note(log, { kind: 'disowned', key: nameOf(id, all), ...signed, reason });
    }
    make(log);
    const to = known(log).find(isCurrent);
    const signed = old && handedOver && { handover: handOver(log, old, handedOver) };
    if (before && to) note(log, { kind: 'replaced', from: nameOf(before.id, all), to: keyOf(to), ...signed, reason });
    return to?.verifierKey ?? null;
  });

  return {
    ...readLogKeys(db),
    /** The key of a log, which also names it; made on first use. */
    current,
    /** Whether this vault has the key that signs a log: that of a node has only its public part. */
    canSign: (log: string): boolean => select.get(log)?.seed != null,
    /**
     * Remembers what a key signs, before anybody else sees it.
     *
     * @param before what it had signed when that was looked at.
     * @returns false, and nothing is changed, where it has signed another head since, or signs no more.
     */
    sign: (log: string, id: string, { size, root }: TreeHead, before: TreeHead | null): boolean => {
      const earlier = { sizeBefore: before?.size ?? null, rootBefore: before?.root ?? null };
      return updateExpected.run({ log, id, size, root, ...earlier }).changes > 0;
    },
    /**
     * Makes a new key for a log; the seed of the old one is erased. That is still to be told to the log.
     *
     * @returns the verifier key of the new one; null where nothing was changed, since another key was expected.
     */
    replace: (log: string, replacement: Replacement): string | null => {
      const made = replace.immediate(log, replacement);
      // The seed stands in the write-ahead log until that is emptied.
      db.pragma('wal_checkpoint(TRUNCATE)');
      return made;
    },
    /** Remembers a change that came about otherwise, until the log has been told. */
    note,
    /** The changes of which the log has not been told, oldest first. */
    untold: (log: string): UntoldChange[] =>
      selectUntold.all(log).map(({ number, change }) => ({ number, change: JSON.parse(change) })),
    /** The log tells of a change now. */
    told: (number: number): void => {
      deleteChange.run(number);
    },
  };
}

/**
 * Keeps the public part of keys that another vault has, for those who verify beside this one; nothing is signed with
 * them here.
 */
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

/**
 * A hand-over to a key that is disowned before the log was told of it is of a log that is lost.
 *
 * @returns the change without it, as JSON; null where it has none to such a key.
 */
export function withoutLostHandover(change: string, disowned: ReadonlySet<string>): string | null {
  const { handover, ...rest } = JSON.parse(change);
  return handover !== undefined && disowned.has(rest.to.id) ? JSON.stringify(rest) : null;
}

/** A key by its id, with its verifier key where it is one of these. */
export function nameOf(id: string, known: readonly KnownKey[]): NamedKey {
  const key = known.find((one) => one.id === id);
  return key ? keyOf(key) : { id };
}

/** Whether the key that signs is the one that was looked at, and has signed nothing since. */
export function isExpected({ id, signed: before }: ExpectedKey, { signer, signed }: LogKey): boolean {
  if (signer.id !== id || signed === null || before === null) return signer.id === id && signed === before;
  return signed.size === before.size && Buffer.from(signed.root).equals(before.root);
}

function isCurrent({ retiredAt }: KnownKey): boolean {
  return retiredAt === null;
}

/** A key as events name it. */
export function keyOf({ id, verifierKey }: Pick<KnownKey, 'id' | 'verifierKey'>): NamedKey {
  return { id, verifierKey };
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
