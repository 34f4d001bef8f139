import type { Sqlite } from '../../storage/sqlite.ts';
import { openTraces } from './traces.ts';

/** The first request with an idempotency key, under the keyed hash of that. */
type Replay = {
  /** The id of the request that was the first with the key. */
  attempt: string;
  /** The keyed hash of the request: another request with the key has another. */
  fingerprint: string;
  /** The encrypted answer; null as long as there is no answer. */
  answer: string | null;
  /** Milliseconds since the epoch. */
  expiresAt: number;
};

/** A request that is about to be carried out. */
type NewReplay = Omit<Replay, 'answer'> & {
  key: string;
  /** The name of its caller; one that begins with {@link otherReplays} counts to the quota of the others. */
  caller: string;
  /** The stream of the document that the answer shows something of; null: none. */
  about: string | null;
};

/** How many answers are kept at most: of the caller, of the others together if the caller is one, and of all. */
export type ReplayQuotas = { own: number; others: number | null; all: number };

/** The prefix of the names of callers who share a quota. */
export const otherReplays = 'other:';

/** How many are deleted in one go, so that no call waits long. */
const purged = 1000;

const tables = `
  CREATE TABLE IF NOT EXISTS replays (
    key TEXT PRIMARY KEY,
    attempt TEXT NOT NULL,
    fingerprint TEXT NOT NULL,
    caller TEXT NOT NULL,
    about TEXT,
    answer TEXT,
    expires_at INTEGER NOT NULL
  ) STRICT;
  CREATE INDEX IF NOT EXISTS replays_by_caller ON replays (caller, expires_at);
  CREATE INDEX IF NOT EXISTS replays_by_subject ON replays (about) WHERE about IS NOT NULL;
  CREATE INDEX IF NOT EXISTS replays_by_expiry ON replays (expires_at);
`;

function prepare(db: Sqlite) {
  const count = 'SELECT count(*) FROM replays WHERE expires_at > :now';
  return {
    find: db.prepare<[key: string, now: number], Replay>(
      'SELECT attempt, fingerprint, answer, expires_at AS expiresAt FROM replays WHERE key = ? AND expires_at > ?',
    ),
    reserve: db.prepare<NewReplay & ReplayQuotas & { now: number; prefix: string }>(
      `INSERT INTO replays SELECT :key, :attempt, :fingerprint, :caller, :about, NULL, :expiresAt
       WHERE (${count} AND caller = :caller) < :own AND (${count}) < :all
         AND (:others IS NULL OR (${count} AND caller >= :prefix AND caller < :prefix || char(0x10ffff)) < :others)
       ON CONFLICT (key) DO UPDATE SET attempt = excluded.attempt, fingerprint = excluded.fingerprint,
         caller = excluded.caller, about = excluded.about, answer = NULL, expires_at = excluded.expires_at
       WHERE expires_at <= :now`,
    ),
    keep: db.prepare('UPDATE replays SET answer = ? WHERE key = ? AND attempt = ?'),
    drop: db.prepare('DELETE FROM replays WHERE key = ? AND attempt = ?'),
    forget: db.prepare('DELETE FROM replays WHERE caller = ?'),
    forgetAbout: db.prepare('DELETE FROM replays WHERE about = ?'),
    pullBack: db.prepare('UPDATE replays SET expires_at = :latest WHERE expires_at > :latest'),
    purge: db.prepare(
      `DELETE FROM replays WHERE key IN (SELECT key FROM replays WHERE expires_at <= ? ORDER BY expires_at LIMIT ${purged})`,
    ),
  };
}

/** The answers in the vault that may be given again: each encrypted by the idempotency key, which is not kept. */
export function openReplays(db: Sqlite) {
  db.exec(tables);
  const sql = prepare(db);
  const traces = openTraces(db);

  const reserve = db.transaction((replay: NewReplay, quotas: ReplayQuotas, now: number): Replay | null => {
    sql.reserve.run({ ...replay, ...quotas, now, prefix: otherReplays });
    return sql.find.get(replay.key, now) ?? null;
  });

  const purge = db.transaction((now: number, lifetime: number): boolean => {
    sql.pullBack.run({ latest: now + lifetime });
    const { changes } = sql.purge.run(now);
    traces.note(changes);
    return changes === purged;
  });

  return {
    /**
     * Reserves a key for a request, unless another one has it; gives the request that has it. Null: a quota leaves no
     * room.
     */
    reserve: (replay: NewReplay, quotas: ReplayQuotas, now: number): Replay | null =>
      reserve.immediate(replay, quotas, now),
    /** Keeps the answer to the request that has reserved the key. */
    keep: (key: string, attempt: string, answer: string): void => void sql.keep.run(answer, key, attempt),
    /** Gives the key back: the request was refused. */
    drop: (key: string, attempt: string): void => traces.note(sql.drop.run(key, attempt).changes),
    /** Deletes the answers to some callers, and those about a stream. */
    forget: (callers: readonly string[], stream: string): void => {
      let { changes } = sql.forgetAbout.run(stream);
      for (const caller of callers) changes += sql.forget.run(caller).changes;
      traces.note(changes);
      if (changes > 0) traces.remove();
    },
    /**
     * Deletes some that have expired; true if there may be more. One that would be kept longer than `lifetime` from
     * now, since the clock was put back, is kept that long.
     */
    purge: (now: number, lifetime: number): boolean => purge.immediate(now, lifetime),
    /** Takes what was deleted off the disk. */
    leaveNoTrace: (): void => void traces.remove(),
  };
}
