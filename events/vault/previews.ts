import type { Sqlite } from '../../storage/sqlite.ts';
import { fits, type Usage } from './quotas.ts';
import { openTraces, removeTraces } from './traces.ts';

/** The values of a document that a preview shows; `collection` is a category, `data` JSON. */
export type PreviewContent = { collection: string; document: string; data: string };

/** A preview: values of a document that are to be looked at before they are written. */
export type Preview = PreviewContent & {
  id: string;
  /** The name of its owner; one that begins with {@link otherCallers} counts to the quota of the others. */
  caller: string;
  /** Milliseconds since the epoch. */
  expiresAt: number;
};

/** The quotas of the caller of a preview, of all callers, and of the others; null if the caller is not one of these. */
type PreviewQuotas = { own: Usage; all: Usage; others: Usage | null };

/** A preview in the vault, as it is counted. */
export type CountedPreview = { number: number; size: number };

/** The prefix of the name of a caller who edits nothing in the admin: all such callers share a quota. */
export const otherCallers = 'other:';

/** Above this, a purge ends and lets other work run. */
const purgedBytes = 8 * 1024 * 1024;
/** A file with more unused bytes than this is written anew when little else is in it. */
const maxUnused = 64 * 1024 * 1024;
const maxRewritten = 16 * 1024 * 1024;

/**
 * `padding` fills a page, so that all of `data` stands in pages that no other row shares: these are overwritten when
 * the preview is deleted. Rows that share a page are moved from one to another, and copies of them are left.
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

function prepare(db: Sqlite) {
  const usage = 'SELECT count(*) AS count, total(size) AS bytes FROM drafts';
  return {
    insert: db.prepare(
      `INSERT INTO drafts (id, caller, collection, document, size, expires_at, padding, data)
       VALUES (:id, :caller, :collection, :document, :size, :expiresAt, zeroblob(4096), :data)`,
    ),
    content: db.prepare<[id: string, now: number], PreviewContent>(
      'SELECT collection, document, data FROM drafts WHERE id = ? AND expires_at > ?',
    ),
    usage: db.prepare<[], Usage>(usage),
    usageOfOthers: db.prepare<{ prefix: string }, Usage>(
      `${usage} WHERE caller >= :prefix AND caller < :prefix || char(0x10ffff)`,
    ),
    ofCaller: db.prepare<[caller: string], CountedPreview>(
      'SELECT number, size FROM drafts WHERE caller = ? ORDER BY number',
    ),
    expired: db.prepare<[now: number], CountedPreview>(
      'SELECT number, size FROM drafts WHERE expires_at <= ? ORDER BY expires_at LIMIT 1000',
    ),
    pullBack: db.prepare('UPDATE drafts SET expires_at = :latest WHERE expires_at > :latest'),
    remove: db.prepare('DELETE FROM drafts WHERE number = ?'),
    removeById: db.prepare('DELETE FROM drafts WHERE id = ?'),
    removeAbout: db.prepare('DELETE FROM drafts WHERE collection = ? AND document = ?'),
    removeOfCaller: db.prepare('DELETE FROM drafts WHERE caller = ?'),
  };
}

/** The previews in the vault: never part of an event, and no byte of them is left when they go. */
export function openPreviews(db: Sqlite) {
  db.exec(tables);
  const sql = prepare(db);
  const traces = openTraces(db);

  function remove(some: readonly CountedPreview[]): void {
    for (const { number } of some) sql.remove.run(number);
    traces.note(some.length);
  }

  const keep = db.transaction((preview: Preview, quotas: PreviewQuotas): boolean => {
    const size = Buffer.byteLength(preview.data);
    const dropped = planPreview(size, quotas, {
      ofCaller: sql.ofCaller.all(preview.caller),
      all: sql.usage.get() ?? nothing,
      others: (quotas.others && sql.usageOfOthers.get({ prefix: otherCallers })) ?? nothing,
    });
    if (!dropped) return false;
    remove(dropped);
    sql.insert.run({ ...preview, size });
    return true;
  });

  const purge = db.transaction((now: number, lifetime: number): boolean => {
    sql.pullBack.run({ latest: now + lifetime });
    const { purged, hasMore } = planPurge(sql.expired.all(now));
    remove(purged);
    return hasMore;
  });

  function leaveNoTrace(): void {
    if (traces.remove()) shrink(db);
  }

  function noteRemoved(rows: number): void {
    traces.note(rows);
    leaveNoTrace();
  }

  return {
    /** Keeps a preview in the place of the oldest of its caller, if need be; false if a quota leaves no room for it. */
    keep: (preview: Preview, quotas: PreviewQuotas): boolean => keep.immediate(preview, quotas),
    get: (id: string, now: number): PreviewContent | null => sql.content.get(id, now) ?? null,
    delete: (id: string): void => noteRemoved(sql.removeById.run(id).changes),
    /** Deletes the previews of a document, and those of some callers. */
    forget: (collection: string, id: string, callers: readonly string[]): void => {
      let { changes } = sql.removeAbout.run(collection, id);
      for (const caller of callers) changes += sql.removeOfCaller.run(caller).changes;
      noteRemoved(changes);
    },
    /**
     * Deletes some that have expired; true if there may be more. A preview that would live longer than `lifetime` from
     * now, since the clock was put back, lives that long.
     */
    purge: (now: number, lifetime: number): boolean => purge.immediate(now, lifetime),
    /** Takes what was deleted off the disk, and gives its pages back. */
    leaveNoTrace,
  };
}

function shrink(db: Sqlite): void {
  const of = (name: string) => Number(db.pragma(name, { simple: true }));
  const [pages, unused, size] = [of('page_count'), of('freelist_count'), of('page_size')];
  if (unused * size <= maxUnused || (pages - unused) * size >= maxRewritten) return;
  db.exec('VACUUM');
  removeTraces(db);
}

const nothing: Usage = { count: 0, bytes: 0 };

/** The previews of the caller, oldest first, and what all callers, and the others, use. */
type FoundPreviews = { ofCaller: readonly CountedPreview[]; all: Usage; others: Usage };

/**
 * Decides which previews go for a new one of `size` bytes: the oldest of its caller, as far as the quota of the caller
 * has no room for it. Null: the other quotas have none.
 */
export function planPreview(size: number, quotas: PreviewQuotas, found: FoundPreviews): CountedPreview[] | null {
  const dropped = dropsFor(size, quotas.own, found.ofCaller);
  const added = { count: 1 - dropped.length, bytes: size - bytesOf(dropped) };
  const isFull = !fits(found.all, added, quotas.all) || (quotas.others && !fits(found.others, added, quotas.others));
  return isFull ? null : dropped;
}

function dropsFor(size: number, most: Usage, ofCaller: readonly CountedPreview[]): CountedPreview[] {
  const used = { count: ofCaller.length, bytes: bytesOf(ofCaller) };
  const dropped: CountedPreview[] = [];
  for (const preview of ofCaller) {
    if (fits(used, { count: 1, bytes: size }, most)) break;
    dropped.push(preview);
    used.count -= 1;
    used.bytes -= preview.size;
  }
  return dropped;
}

function bytesOf(previews: readonly CountedPreview[]): number {
  let bytes = 0;
  for (const { size } of previews) bytes += size;
  return bytes;
}

/** Decides which of the expired previews go now: the first of them, up to a number of bytes. */
export function planPurge(expired: readonly CountedPreview[]): { purged: CountedPreview[]; hasMore: boolean } {
  const purged: CountedPreview[] = [];
  let bytes = 0;
  for (const preview of expired) {
    purged.push(preview);
    bytes += preview.size;
    if (bytes >= purgedBytes) return { purged, hasMore: true };
  }
  return { purged, hasMore: false };
}
