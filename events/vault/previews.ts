import type { Sqlite } from '../../storage/sqlite.ts';

/**
 * A document that is to be looked at before it is written. `data` is JSON, `expiresAt` milliseconds since the epoch.
 */
export type Draft = {
  id: string;
  /** The name of its owner; one that begins with {@link otherCallers} counts to the room of the others. */
  caller: string;
  collection: string;
  document: string;
  data: string;
  expiresAt: number;
};

/** How many drafts there may be, and of how many bytes in all. */
export type Room = { count: number; bytes: number };
/**
 * The room of the caller of a draft, of all callers together, and of the others together, if the caller is one of them.
 */
export type Rooms = { own: Room; all: Room; others: Room | null };

/** With this begins the name of a caller who edits nothing in the admin: all such share a part of the room. */
export const otherCallers = 'other:';

/** So many bytes are overwritten in a row, and then others get their turn. */
export const bytesAtOnce = 8 * 1024 * 1024;
/** A file with more unused bytes than this is written anew when little else is in it. */
const maxUnused = 64 * 1024 * 1024;
const maxRewritten = 16 * 1024 * 1024;

/**
 * `padding` fills a page, so that all of `data` stands in pages of its own: those are overwritten when the draft is
 * deleted. Rows that share a page are moved from one to another, and copies of them are left.
 */
const tables = `
  CREATE TABLE IF NOT EXISTS drafts (
    number INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    caller TEXT NOT NULL,
    collection TEXT NOT NULL,
    document TEXT NOT NULL,
    size INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    padding BLOB NOT NULL,
    data TEXT NOT NULL
  ) STRICT;
  CREATE INDEX IF NOT EXISTS drafts_by_caller ON drafts (caller, number, size);
  CREATE INDEX IF NOT EXISTS drafts_by_document ON drafts (collection, document);
  CREATE INDEX IF NOT EXISTS drafts_by_expiry ON drafts (expires_at, size);
`;

/** A draft as it is counted. */
export type Kept = { number: number; size: number };
type Row = Pick<Draft, 'collection' | 'document' | 'data'>;

/** Drafts in the vault: they are never part of an event, and leave nothing when they go. */
export function openDrafts(db: Sqlite) {
  db.exec(tables);
  const insert = db.prepare(
    `INSERT INTO drafts (id, caller, collection, document, size, expires_at, padding, data)
     VALUES (:id, :caller, :collection, :document, :size, :expiresAt, zeroblob(4096), :data)`,
  );
  const select = db.prepare<[id: string, now: number], Row>(
    'SELECT collection, document, data FROM drafts WHERE id = ? AND expires_at > ?',
  );
  const selectRoom = db.prepare<[], Room>('SELECT count(*) AS count, total(size) AS bytes FROM drafts');
  const selectOthers = db.prepare<{ prefix: string }, Room>(
    'SELECT count(*) AS count, total(size) AS bytes FROM drafts WHERE caller >= :prefix AND caller < :prefix || char(0x10ffff)',
  );
  const selectOf = db.prepare<[caller: string], Kept>(
    'SELECT number, size FROM drafts WHERE caller = ? ORDER BY number',
  );
  const selectExpired = db.prepare<[now: number], Kept>(
    'SELECT number, size FROM drafts WHERE expires_at <= ? ORDER BY expires_at LIMIT 1000',
  );
  const pullBack = db.prepare('UPDATE drafts SET expires_at = :latest WHERE expires_at > :latest');
  const remove = db.prepare('DELETE FROM drafts WHERE number = ?');
  const removeById = db.prepare('DELETE FROM drafts WHERE id = ?');
  const removeAbout = db.prepare('DELETE FROM drafts WHERE collection = ? AND document = ?');
  const removeOf = db.prepare('DELETE FROM drafts WHERE caller = ?');
  // One that was deleted before may stand in the write-ahead log still.
  let hasTraces = true;

  /**
   * Puts a draft in the place of the oldest of its caller, as far as these have no room; false when the others leave
   * none.
   */
  const keep = db.transaction((draft: Draft, { own, all, others }: Rooms): boolean => {
    const size = Buffer.byteLength(draft.data);
    const dropped = tooMany(selectOf.all(draft.caller), size, own);
    const change = { count: 1 - dropped.length, bytes: size - bytesOf(dropped) };
    if (!hasRoom(selectRoom.get(), change, all)) return false;
    if (others && !hasRoom(selectOthers.get({ prefix: otherCallers }), change, others)) return false;
    for (const { number } of dropped) remove.run(number);
    if (dropped.length > 0) hasTraces = true;
    insert.run({ ...draft, size });
    return true;
  });

  /** Deletes some that have expired; false when there are no more. */
  const purgeSome = db.transaction((now: number, lifetime: number): boolean => {
    // One from the future, which a clock that was put back leaves, is of now.
    pullBack.run({ latest: now + lifetime });
    let bytes = 0;
    for (const { number, size } of selectExpired.all(now)) {
      remove.run(number);
      hasTraces = true;
      bytes += size;
      if (bytes >= bytesAtOnce) return true;
    }
    return false;
  });

  function leaveNoTrace(): void {
    // Another process that reads just now is in the way: then the next time.
    if (!hasTraces || db.pragma('wal_checkpoint(TRUNCATE)', { simple: true }) !== 0) return;
    hasTraces = false;
    const of = (name: string) => Number(db.pragma(name, { simple: true }));
    const [pages, unused, size] = [of('page_count'), of('freelist_count'), of('page_size')];
    if (unused * size > maxUnused && (pages - unused) * size < maxRewritten) {
      db.exec('VACUUM');
      db.pragma('wal_checkpoint(TRUNCATE)');
    }
  }

  function noteRemoved(changes: number): void {
    if (changes > 0) hasTraces = true;
    leaveNoTrace();
  }

  return {
    /** The oldest of its caller go if the caller has no room; false if all, or the others, have used up theirs. */
    keep: (draft: Draft, rooms: Rooms): boolean => keep.immediate(draft, rooms),
    get: (id: string, now: number): Row | null => select.get(id, now) ?? null,
    delete: (id: string): void => noteRemoved(removeById.run(id).changes),
    /** Deletes those about a document, and those that some callers keep. */
    forget: (collection: string, id: string, callers: readonly string[]): void => {
      let { changes } = removeAbout.run(collection, id);
      for (const caller of callers) changes += removeOf.run(caller).changes;
      noteRemoved(changes);
    },
    /**
     * Deletes some of those that have expired; true when there may be more. None lives longer than `lifetime` from now.
     */
    purge: (now: number, lifetime: number): boolean => purgeSome.immediate(now, lifetime),
    /** Empties the write-ahead log of what was deleted, and gives back the room that it took. */
    leaveNoTrace,
  };
}

/** The oldest of a caller, which have to go for one more of `size` bytes. */
export function tooMany(kept: readonly Kept[], size: number, room: Room): Kept[] {
  let bytes = bytesOf(kept) + size;
  let count = kept.length + 1;
  const dropped: Kept[] = [];
  for (const one of kept) {
    if (count <= room.count && bytes <= room.bytes) break;
    dropped.push(one);
    bytes -= one.size;
    count -= 1;
  }
  return dropped;
}

/** Whether there is room for what is added to that which is there. */
export function hasRoom(there: Room | undefined, added: Room, room: Room): boolean {
  const { count, bytes } = there ?? { count: 0, bytes: 0 };
  return count + added.count <= room.count && bytes + added.bytes <= room.bytes;
}

export function bytesOf(kept: readonly Kept[]): number {
  let bytes = 0;
  for (const { size } of kept) bytes += size;
  return bytes;
}
