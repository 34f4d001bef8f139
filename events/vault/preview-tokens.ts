import type { Sqlite } from '../../storage/sqlite.ts';

/**
 * A token that shows a view of the site. `hash`: of the token, which nothing else has; `view` is JSON; `maker` is the
 * stream of a user, or the id of an API key. Times are in milliseconds since the epoch.
 */
export type PreviewToken = {
  id: string;
  hash: string;
  maker: string;
  view: string;
  createdAt: number;
  expiresAt: number;
};

const tables = `
  CREATE TABLE IF NOT EXISTS preview_tokens (
    id TEXT PRIMARY KEY, hash TEXT NOT NULL UNIQUE, maker TEXT NOT NULL, view TEXT NOT NULL,
    created_at INTEGER NOT NULL, expires_at INTEGER NOT NULL
  ) STRICT;
`;

const columns = 'id, hash, maker, view, created_at AS createdAt, expires_at AS expiresAt';

/** The tokens that show views of the site, in the vault. */
export function openPreviewTokens(db: Sqlite) {
  db.exec(tables);
  const insert = db.prepare('INSERT INTO preview_tokens VALUES (@id, @hash, @maker, @view, @createdAt, @expiresAt)');
  const select = db.prepare<[hash: string, now: number], PreviewToken>(
    `SELECT ${columns} FROM preview_tokens WHERE hash = ? AND expires_at > ?`,
  );
  const selectAll = db.prepare<[now: number], PreviewToken>(
    `SELECT ${columns} FROM preview_tokens WHERE expires_at > ? ORDER BY created_at DESC, id DESC`,
  );
  const count = db.prepare<[], number>('SELECT count(*) FROM preview_tokens').pluck();
  const remove = db.prepare('DELETE FROM preview_tokens WHERE id = ?');
  const removeOfMaker = db.prepare('DELETE FROM preview_tokens WHERE maker = ?');
  const removeExpired = db.prepare('DELETE FROM preview_tokens WHERE expires_at <= ?');

  const add = db.transaction((token: PreviewToken, { now, most }: { now: number; most: number }): boolean => {
    removeExpired.run(now);
    if ((count.get() ?? 0) >= most) return false;
    insert.run(token);
    return true;
  });

  return {
    /** Keeps a token, and deletes expired ones; false if there are as many as there may be. */
    add: (token: PreviewToken, bounds: { now: number; most: number }): boolean => add.immediate(token, bounds),
    /** The token with a hash; null without one, and if it has expired. */
    find: (hash: string, now: number): PreviewToken | null => select.get(hash, now) ?? null,
    /** All that have not expired, the newest first. */
    all: (now: number): PreviewToken[] => selectAll.all(now),
    delete(id: string): void {
      remove.run(id);
    },
    /** Deletes those that somebody has made. */
    forget(maker: string): void {
      removeOfMaker.run(maker);
    },
  };
}
