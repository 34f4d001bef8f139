import type { Sqlite } from '../../storage/sqlite.ts';
import { removeTraces } from './traces.ts';

/**
 * As for previews, `padding` makes `data` stand in pages that no other row shares, which are overwritten when the row
 * goes. For the same reason a change makes a new row.
 */
const tables = `
  CREATE TABLE IF NOT EXISTS preferences (
    number INTEGER PRIMARY KEY,
    user TEXT NOT NULL UNIQUE,
    padding BLOB NOT NULL,
    data TEXT NOT NULL
  ) STRICT;
`;

/** The preferences of users in the vault, as JSON, under `<slug>/<id>`: never part of an event. */
export function openPreferences(db: Sqlite) {
  db.exec(tables);
  const select = db.prepare<[user: string], string>('SELECT data FROM preferences WHERE user = ?').pluck();
  const insert = db.prepare('INSERT INTO preferences (user, padding, data) VALUES (?, zeroblob(4096), ?)');
  const remove = db.prepare('DELETE FROM preferences WHERE user = ?');

  const change = db.transaction((user: string, next: (before: string | null) => string): string => {
    const data = next(select.get(user) ?? null);
    remove.run(user);
    insert.run(user, data);
    return data;
  });

  return {
    get: (user: string): string | null => select.get(user) ?? null,
    /** Replaces them by the result of `next`, and gives it; nothing changes if `next` throws. */
    change: (user: string, next: (before: string | null) => string): string => change.immediate(user, next),
    delete(user: string): void {
      if (remove.run(user).changes > 0) removeTraces(db);
    },
  };
}
