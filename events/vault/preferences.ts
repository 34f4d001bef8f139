import type { Sqlite } from '../../storage/sqlite.ts';

/**
 * `padding` fills a page, so that all of `data` stands in pages of its own, which are overwritten when the row goes:
 * see `drafts.ts`. A change is a row of its own for the same reason.
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
    /** Puts what `next` makes of them in their place, and gives it; nothing changes where it throws. */
    change: (user: string, next: (before: string | null) => string): string => change.immediate(user, next),
    delete(user: string): void {
      // Deleted content is zeros in the file, but stands in the write-ahead log until that is emptied.
      if (remove.run(user).changes > 0) db.pragma('wal_checkpoint(TRUNCATE)');
    },
  };
}
