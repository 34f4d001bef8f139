import type { Sqlite } from '../../storage/sqlite.ts';

/** Failed logins in a row under one key. Times are milliseconds since the epoch. */
export type Counter = {
  failures: number;
  /** Null: there is no lock. */
  lockedUntil: number | null;
  /** When the last failure was counted. */
  touched: number;
  /** Whether the last failure was for an account with a password. */
  isKnown: boolean;
};

const tables = `
  CREATE TABLE IF NOT EXISTS attempts (
    key TEXT PRIMARY KEY,
    failures INTEGER NOT NULL,
    locked_until INTEGER,
    touched INTEGER NOT NULL,
    known INTEGER NOT NULL
  ) STRICT;
  CREATE INDEX IF NOT EXISTS attempts_by_age ON attempts (known, touched);
`;

type CounterRow = { failures: number; locked_until: number | null; touched: number; known: number };

/** Counters of failed logins, each under a key that tells nothing. */
export function openCounters(db: Sqlite) {
  db.exec(tables);
  const select = db.prepare<[key: string], CounterRow>(
    'SELECT failures, locked_until, touched, known FROM attempts WHERE key = ?',
  );
  const replace = db.prepare('INSERT OR REPLACE INTO attempts VALUES (?, ?, ?, ?, ?)');
  const remove = db.prepare('DELETE FROM attempts WHERE key = ?');
  const count = db.prepare<[], number>('SELECT count(*) FROM attempts').pluck();
  const pullBack = db.prepare('UPDATE attempts SET touched = :now WHERE touched > :now');
  const removeOld = db.prepare(
    'DELETE FROM attempts WHERE touched < :before AND (locked_until IS NULL OR locked_until <= :now)',
  );
  const removeUnknown = db.prepare(
    `DELETE FROM attempts WHERE key IN
       (SELECT key FROM attempts WHERE known = 0 ORDER BY touched DESC LIMIT -1 OFFSET ?)`,
  );

  function get(key: string): Counter | null {
    const row = select.get(key);
    if (!row) return null;
    const { failures, locked_until: lockedUntil, touched, known } = row;
    return { failures, lockedUntil, touched, isKnown: known === 1 };
  }

  const change = db.transaction((key: string, next: (counter: Counter | null) => Counter | null): Counter | null => {
    const counter = next(get(key));
    if (counter) {
      const { failures, lockedUntil, touched, isKnown } = counter;
      replace.run(key, failures, lockedUntil, touched, isKnown ? 1 : 0);
    } else remove.run(key);
    return counter;
  });

  const tidy = db.transaction((now: number, before: number, maxUnknown: number): void => {
    pullBack.run({ now });
    removeOld.run({ now, before });
    removeUnknown.run(maxUnknown);
  });

  return {
    get,
    /** Puts what `next` makes of a counter in its place; null deletes it. */
    change: (key: string, next: (counter: Counter | null) => Counter | null): Counter | null =>
      change.immediate(key, next),
    /**
     * Deletes counters last touched before `before`, unless they are locked, and the oldest of those that are not known
     * until at most `maxUnknown` are left. A counter from the future, since the clock was put back, counts as touched
     * now.
     */
    tidy: (now: number, before: number, maxUnknown: number): void => tidy.immediate(now, before, maxUnknown),
    count: (): number => count.get() ?? 0,
  };
}
