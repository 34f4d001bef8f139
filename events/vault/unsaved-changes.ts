import type { Category } from '../../config/schema.ts';
import type { Sqlite } from '../../storage/sqlite.ts';
import { fits, type Usage } from './quotas.ts';
import { openTraces } from './traces.ts';

/** The values that a user has typed into a document and not saved. Times are milliseconds since the epoch. */
export type UnsavedChange = {
  /** The stream of the document, or `<category>/new-<uuid>` of a document that is not there yet. */
  target: string;
  /** Another number each time that the change is kept. */
  revision: number;
  /** The version of the document that was changed; null for a document that is not there yet. */
  version: number | null;
  title: string;
  updatedAt: number;
};

/** The same with its values, as JSON. */
export type UnsavedDocument = UnsavedChange & { data: string };

/** The revisions that a call expects: one of these, or any; null: any, or no change at all. */
export type ExpectedRevisions = readonly number[] | '*' | null;

/** A change that is to be kept. */
export type NewUnsavedChange = Pick<UnsavedDocument, 'target' | 'version' | 'title' | 'data'> & {
  /** The user, as `<category>/<id>`. */
  owner: string;
  /** The category of the admin collection, whose users have most of the room; null: there is no such collection. */
  adminCollection: Category | null;
  expected: ExpectedRevisions;
};

/** The result of keeping a change. */
export type KeepResult =
  | { kind: 'kept'; change: UnsavedChange }
  /** Another revision is there than was expected. */
  | { kind: 'stale' }
  /** No room: the other changes of the user, of all who are not of the admin collection, or of all, use so much. */
  | ({ kind: 'full'; of: 'user' | 'others' | 'all' } & Usage);

/** The change that is to be removed: one of these revisions, kept after a time. */
type Removal = { expected: ExpectedRevisions; since: number };

/** The result of removing a change. */
export type RemoveResult =
  | { kind: 'removed'; change: UnsavedChange }
  /** There was none. */
  | { kind: 'none' }
  /** Another revision is there than was expected. */
  | { kind: 'stale' };

/**
 * The quotas of each user, of all users who are not of the admin collection, and of all users; and for how many
 * milliseconds a change is kept.
 */
export type UnsavedQuotas = { user: Usage; others: Usage; all: Usage; lifetime: number };

/**
 * As for previews, `padding` makes what follows it stand in pages that no other row shares, which are overwritten when
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

function prepare(db: Sqlite) {
  const columns = 'target, revision, version, title, updated_at AS updatedAt';
  const usage = 'SELECT count(*) AS count, total(size) AS bytes FROM own_drafts';
  return {
    one: db.prepare<[owner: string, target: string, since: number], UnsavedChange>(
      `SELECT ${columns} FROM own_drafts WHERE owner = ? AND target = ? AND updated_at > ?`,
    ),
    document: db.prepare<[owner: string, target: string, since: number], UnsavedDocument>(
      `SELECT ${columns}, data FROM own_drafts WHERE owner = ? AND target = ? AND updated_at > ?`,
    ),
    ofOwner: db.prepare<[owner: string, since: number], UnsavedChange>(
      `SELECT ${columns} FROM own_drafts WHERE owner = ? AND updated_at > ? ORDER BY updated_at DESC, revision DESC`,
    ),
    size: db
      .prepare<[owner: string, target: string], number>('SELECT size FROM own_drafts WHERE owner = ? AND target = ?')
      .pluck(),
    usage: db.prepare<[], Usage>(usage),
    usageOutside: db.prepare<{ prefix: string }, Usage>(`${usage} WHERE substr(owner, 1, length(:prefix)) <> :prefix`),
    usageBeside: db.prepare<[owner: string, target: string, since: number], Usage>(
      `${usage} WHERE owner = ? AND target <> ? AND updated_at > ?`,
    ),
    insert: db.prepare(
      `INSERT INTO own_drafts (owner, target, version, size, updated_at, padding, title, data)
       VALUES (:owner, :target, :version, :size, :now, zeroblob(4096), :title, :data)`,
    ),
    remove: db.prepare('DELETE FROM own_drafts WHERE owner = ? AND target = ?'),
    removeAbout: db.prepare('DELETE FROM own_drafts WHERE target = :stream OR owner = :stream'),
    removeOld: db.prepare(
      'DELETE FROM own_drafts WHERE revision IN (SELECT revision FROM own_drafts WHERE updated_at <= ? LIMIT 20)',
    ),
    pullBack: db.prepare('UPDATE own_drafts SET updated_at = :now WHERE updated_at > :now'),
  };
}

/** The unsaved changes of users in the vault: never part of an event. */
export function openUnsavedChanges(db: Sqlite) {
  db.exec(tables);
  const sql = prepare(db);
  const traces = openTraces(db);

  const keep = db.transaction((change: NewUnsavedChange, quotas: UnsavedQuotas, now: number): KeepResult => {
    const { owner, target, version, title, data, adminCollection } = change;
    const since = now - quotas.lifetime;
    const size = sizeOf(change);
    const sizeBefore = sql.size.get(owner, target);
    const refused = refusalOf(change, quotas, {
      before: sql.one.get(owner, target, since),
      user: sql.usageBeside.get(owner, target, since) ?? failed(),
      others: isOutside(change)
        ? without(sql.usageOutside.get({ prefix: ownersOf(adminCollection) }), sizeBefore)
        : null,
      all: without(sql.usage.get(), sizeBefore),
    });
    if (refused) return refused;
    traces.note(sql.remove.run(owner, target).changes);
    sql.insert.run({ owner, target, version, title, data, size, now });
    return { kind: 'kept', change: sql.one.get(owner, target, since) ?? failed() };
  });

  const remove = db.transaction((owner: string, target: string, { expected, since }: Removal): RemoveResult => {
    const result = decideRemoval(sql.one.get(owner, target, since), expected);
    if (result.kind === 'removed') traces.note(sql.remove.run(owner, target).changes);
    return result;
  });

  return {
    keep: (change: NewUnsavedChange, quotas: UnsavedQuotas, now: number): KeepResult =>
      keep.immediate(change, quotas, now),
    /** A change that was kept after `since`; null without one. */
    get: (owner: string, target: string, since: number): UnsavedDocument | null =>
      sql.document.get(owner, target, since) ?? null,
    /** The changes of a user, newest first. */
    all: (owner: string, since: number): UnsavedChange[] => sql.ofOwner.all(owner, since),
    remove: (owner: string, target: string, removal: Removal): RemoveResult => remove.immediate(owner, target, removal),
    /** Deletes the changes to a document, and those of a user. */
    forget(stream: string): void {
      traces.note(sql.removeAbout.run({ stream }).changes);
      traces.remove();
    },
    /**
     * Deletes some that were kept before a time; true if there may be more. A change from the future, since the clock
     * was put back, counts as kept now.
     */
    purge(before: number, now: number): boolean {
      sql.pullBack.run({ now });
      const { changes } = sql.removeOld.run(before);
      traces.note(changes);
      return changes > 0;
    },
    /** Takes what was deleted off the disk. */
    leaveNoTrace(): void {
      traces.remove();
    },
  };
}

/** The bytes of a change that count to quotas. */
export function sizeOf({ data, title }: NewUnsavedChange): number {
  return Buffer.byteLength(data) + Buffer.byteLength(title);
}

/**
 * The change that is there, and what the other changes use: those of the user, of all who are not of the admin
 * collection, and of all. `others` is null for a user of the admin collection.
 */
type FoundChanges = { before: UnsavedChange | undefined; user: Usage; others: Usage | null; all: Usage };

/** Why a change cannot be kept; null: it can. */
export function refusalOf(
  change: NewUnsavedChange,
  quotas: UnsavedQuotas,
  found: FoundChanges,
): Exclude<KeepResult, { kind: 'kept' }> | null {
  if (!isExpected(found.before, change.expected)) return { kind: 'stale' };
  const added = { count: 1, bytes: sizeOf(change) };
  for (const whose of ['user', 'others', 'all'] as const) {
    const used = found[whose];
    if (used && !fits(used, added, quotas[whose]))
      return { kind: 'full', of: whose, count: used.count, bytes: used.bytes };
  }
  return null;
}

/** Whether a change that is there goes. */
export function decideRemoval(before: UnsavedChange | undefined, expected: ExpectedRevisions): RemoveResult {
  if (!before) return { kind: 'none' };
  return isExpected(before, expected) ? { kind: 'removed', change: before } : { kind: 'stale' };
}

function isExpected(before: UnsavedChange | undefined, expected: ExpectedRevisions): boolean {
  if (expected === null) return true;
  return before !== undefined && (expected === '*' || expected.includes(before.revision));
}

/** Whether a change is of a user who is not of the admin collection. */
export function isOutside({ owner, adminCollection }: NewUnsavedChange): boolean {
  return !owner.startsWith(ownersOf(adminCollection));
}

/** The prefix of the names of owners who are users of a collection; null: no name begins with the result. */
export function ownersOf(category: Category | null): string {
  return `${category ?? ''}/`;
}

/** A usage without one change of `size` bytes; undefined: there is no such change. */
function without(usage: Usage | undefined, size: number | undefined): Usage {
  const { count, bytes } = usage ?? failed();
  return size === undefined ? { count, bytes } : { count: count - 1, bytes: bytes - size };
}

function failed(): never {
  throw new Error('vault.db does not have its unsaved changes');
}
