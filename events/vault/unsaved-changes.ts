import type { Category } from '../../config/schema.ts';
import type { Sqlite } from '../../storage/sqlite.ts';
import { hasRoom, type Room } from './previews.ts';

/**
 * A document as its user has typed it and not written it. `target` is its stream, or `<category>/new-<uuid>` of one
 * that is not there yet; `version` the one that was changed, null for such. `revision` differs each time that it is
 * kept. Times are milliseconds since the epoch.
 */
export type OwnDraft = {
  target: string;
  revision: number;
  version: number | null;
  title: string;
  updatedAt: number;
};

/**
 * A draft to be kept; `data` is JSON. `adminCollection`: the category of the collection that most of the room is for;
 * null: there is no such. `expected`: the revisions in whose place it may come; null: in that of any, or of none.
 */
export type NewOwnDraft = Pick<OwnDraft, 'target' | 'version' | 'title'> & {
  owner: string;
  adminCollection: Category | null;
  data: string;
  expected: readonly number[] | '*' | null;
};

/**
 * The result of keeping a draft: `stale` where another revision is there than was expected, `full` where the others
 * take too much of the room of their user, of that of all users who are not of the admin collection, or of that of all.
 */
export type Kept =
  | { kind: 'kept'; draft: OwnDraft }
  | { kind: 'stale' }
  | { kind: 'full'; of: 'user' | 'others' | 'all'; count: number; bytes: number };

/**
 * The room of each user, of all who are not of the admin collection together, and of all together; and for how many
 * milliseconds a draft is kept.
 */
export type OwnRoom = { user: Room; others: Room; all: Room; lifetime: number };

/**
 * As for the drafts of previews, `padding` makes what follows it stand in pages of its own, which are overwritten when
 * the row goes.
 */
const tables = `
  CREATE TABLE IF NOT EXISTS own_drafts (
    revision INTEGER PRIMARY KEY AUTOINCREMENT,
    owner TEXT NOT NULL,
    target TEXT NOT NULL,
    version INTEGER,
    size INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    padding BLOB NOT NULL,
    title TEXT NOT NULL,
    data TEXT NOT NULL,
    UNIQUE (owner, target)
  ) STRICT;
  CREATE INDEX IF NOT EXISTS own_drafts_by_target ON own_drafts (target);
  CREATE INDEX IF NOT EXISTS own_drafts_by_age ON own_drafts (updated_at);
  DROP INDEX IF EXISTS own_drafts_by_size;
  CREATE INDEX IF NOT EXISTS own_drafts_by_owner ON own_drafts (owner, size);
`;

const drafts = 'SELECT target, revision, version, title, updated_at AS updatedAt FROM own_drafts';

/** Drafts that users keep in the vault: never part of an event. An owner is a user, as `<category>/<id>`. */
export function openOwnDrafts(db: Sqlite) {
  db.exec(tables);
  const select = db.prepare<[owner: string, target: string, since: number], OwnDraft & { data: string }>(
    `${drafts.replace(' FROM', ', data FROM')} WHERE owner = ? AND target = ? AND updated_at > ?`,
  );
  const selectAll = db.prepare<[owner: string, since: number], OwnDraft>(
    `${drafts} WHERE owner = ? AND updated_at > ? ORDER BY updated_at DESC, revision DESC`,
  );
  const selectAllRoom = db.prepare<[], Room>('SELECT count(*) AS count, total(size) AS bytes FROM own_drafts');
  const selectOutsideRoom = db.prepare<{ prefix: string }, Room>(
    `SELECT count(*) AS count, total(size) AS bytes FROM own_drafts
     WHERE substr(owner, 1, length(:prefix)) <> :prefix`,
  );
  const selectSize = db
    .prepare<[owner: string, target: string], number>('SELECT size FROM own_drafts WHERE owner = ? AND target = ?')
    .pluck();
  const selectOthers = db.prepare<[owner: string, target: string, since: number], Room>(
    'SELECT count(*) AS count, total(size) AS bytes FROM own_drafts WHERE owner = ? AND target <> ? AND updated_at > ?',
  );
  const insert = db.prepare(
    `INSERT INTO own_drafts (owner, target, version, size, updated_at, padding, title, data)
     VALUES (:owner, :target, :version, :size, :now, zeroblob(4096), :title, :data)`,
  );
  const remove = db.prepare('DELETE FROM own_drafts WHERE owner = ? AND target = ?');
  const removeAbout = db.prepare('DELETE FROM own_drafts WHERE target = :stream OR owner = :stream');
  const removeOld = db.prepare(
    'DELETE FROM own_drafts WHERE revision IN (SELECT revision FROM own_drafts WHERE updated_at <= ? LIMIT 20)',
  );
  const pullBack = db.prepare('UPDATE own_drafts SET updated_at = :now WHERE updated_at > :now');
  // One that went before may stand in the write-ahead log still.
  let hasTraces = true;

  const keep = db.transaction((draft: NewOwnDraft, room: OwnRoom, now: number): Kept => {
    const { expected, adminCollection, ...values } = draft;
    const { owner, target } = values;
    const since = now - room.lifetime;
    const before = select.get(owner, target, since);
    if (!isExpected(before, expected)) return { kind: 'stale' };
    const size = Buffer.byteLength(values.data) + Buffer.byteLength(values.title);
    const added = { count: 1, bytes: size };
    const own = selectOthers.get(owner, target, since) ?? failed();
    if (!hasRoom(own, added, room.user)) return { kind: 'full', of: 'user', ...own };
    const sizeBefore = selectSize.get(owner, target);
    const prefix = ownersOf(adminCollection);
    if (!owner.startsWith(prefix)) {
      const others = without(selectOutsideRoom.get({ prefix }) ?? failed(), sizeBefore);
      if (!hasRoom(others, added, room.others)) return { kind: 'full', of: 'others', ...others };
    }
    const all = without(selectAllRoom.get() ?? failed(), sizeBefore);
    if (!hasRoom(all, added, room.all)) return { kind: 'full', of: 'all', ...all };
    if (remove.run(owner, target).changes > 0) hasTraces = true;
    insert.run({ ...values, size, now });
    const { data: _, ...kept } = select.get(owner, target, since) ?? failed();
    return { kind: 'kept', draft: kept };
  });

  const removeExpected = db.transaction((owner: string, target: string, { expected, since }: Removal): Removed => {
    const before = select.get(owner, target, since);
    if (!before) return { kind: 'none' };
    if (!isExpected(before, expected)) return { kind: 'stale' };
    remove.run(owner, target);
    hasTraces = true;
    const { data: _, ...draft } = before;
    return { kind: 'removed', draft };
  });

  function leaveNoTrace(): void {
    // Another process that reads just now is in the way: then the next time.
    if (hasTraces && db.pragma('wal_checkpoint(TRUNCATE)', { simple: true }) === 0) hasTraces = false;
  }

  return {
    keep: (draft: NewOwnDraft, room: OwnRoom, now: number): Kept => keep.immediate(draft, room, now),
    /** A draft that was kept after `since`; null without one. */
    get: (owner: string, target: string, since: number) => select.get(owner, target, since) ?? null,
    /** Those of a user, newest first. */
    all: (owner: string, since: number): OwnDraft[] => selectAll.all(owner, since),
    remove: (owner: string, target: string, removal: Removal): Removed =>
      removeExpected.immediate(owner, target, removal),
    /** Deletes the drafts of a document, and those of its user. */
    forget(stream: string): void {
      if (removeAbout.run({ stream }).changes > 0) hasTraces = true;
      leaveNoTrace();
    },
    /** Deletes some of those kept before a time; true when there may be more. One from the future is of now. */
    purge(before: number, now: number): boolean {
      pullBack.run({ now });
      const { changes } = removeOld.run(before);
      if (changes > 0) hasTraces = true;
      return changes > 0;
    },
    leaveNoTrace,
  };
}

/** Which draft is to be removed: one of these revisions, kept after a time. */
export type Removal = { expected: NewOwnDraft['expected']; since: number };

/** The result of removing one. */
export type Removed = { kind: 'removed'; draft: OwnDraft } | { kind: 'none' } | { kind: 'stale' };

/** Whether the draft that is there is one of those that were expected. */
export function isExpected(before: Pick<OwnDraft, 'revision'> | undefined, expected: NewOwnDraft['expected']): boolean {
  if (expected === null) return true;
  return before !== undefined && (expected === '*' || expected.includes(before.revision));
}

/** How owners begin that are users of a collection; null: no owner does. */
export function ownersOf(category: Category | null): string {
  return `${category ?? ''}/`;
}

/** The drafts of a room but for one of `size` bytes; undefined: it is not there. */
function without({ count, bytes }: Room, size: number | undefined): Room {
  return size === undefined ? { count, bytes } : { count: count - 1, bytes: bytes - size };
}

function failed(): never {
  throw new Error('vault.db does not have its drafts');
}
