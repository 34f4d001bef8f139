import { isObject, type Json, type JsonObject } from '../../config/schema.ts';
import { releaseIdOf } from '../../events/facts/catalogue.ts';
import type { Actor, Header } from '../../events/facts/envelope.ts';
import type { RecordedEvent } from '../../events/facts/log.ts';
import {
  type ReleaseItem,
  type ReleaseProblem,
  type ReleaseSubject,
  type ReleaseTime,
  subjectIn,
} from '../../events/facts/releases.ts';
import type { Sqlite } from '../../storage/sqlite.ts';

/** The tables of releases and of their items. */
export const releaseTables = { releases: 'releases', items: 'release_items' } as const;

/** The state of a release; `open`: it has no time, `scheduled`: it has one that is still to come. */
export type ReleaseState = 'open' | 'scheduled' | 'published' | 'failed' | 'archived';

/** The states in which a release can be changed and published. */
export const livingStates: readonly ReleaseState[] = ['open', 'scheduled', 'failed'];

/**
 * A release without its items. Times are milliseconds since the epoch; `version` is that of its stream. `time` stays
 * when it is published. `problems`: why it could not be published at its time; empty in every state but `failed`.
 */
export type ReleaseRecord = {
  id: string;
  title: string;
  description: string | null;
  state: ReleaseState;
  time: ReleaseTime | null;
  createdAt: number;
  createdBy: Actor;
  scheduledBy: Actor | null;
  publishedAt: number | null;
  batch: string | null;
  problems: ReleaseProblem[];
  version: number;
};

/** Makes the tables in an empty file. `place` orders the items of a release as they were first set. */
export function createReleaseTables(db: Sqlite): void {
  db.exec(`
    CREATE TABLE ${releaseTables.releases} (
      id TEXT PRIMARY KEY, title TEXT NOT NULL, description TEXT, state TEXT NOT NULL, at INTEGER, time_zone TEXT,
      created_at INTEGER NOT NULL, created_by TEXT NOT NULL, scheduled_by TEXT, published_at INTEGER, batch TEXT,
      problems TEXT NOT NULL, version INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX releases_due ON ${releaseTables.releases} (at, id) WHERE state = 'scheduled';
    CREATE TABLE ${releaseTables.items} (
      release TEXT NOT NULL, category TEXT NOT NULL, id TEXT NOT NULL, place INTEGER NOT NULL, action TEXT NOT NULL,
      version INTEGER, PRIMARY KEY (release, category, id)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX release_items_of ON ${releaseTables.items} (category, id);
  `);
}

export type ReleaseFold = ReturnType<typeof openReleaseFold>;

type ReleaseRow = {
  title: string;
  description: string | null;
  state: ReleaseState;
  at: number | null;
  time_zone: string | null;
  scheduled_by: string | null;
  published_at: number | null;
  batch: string | null;
  problems: string;
  version: number;
};

/** The columns that events change. */
const changing = [
  'title',
  'description',
  'state',
  'at',
  'time_zone',
  'scheduled_by',
  'published_at',
  'batch',
  'problems',
  'version',
] as const satisfies (keyof ReleaseRow)[];

/** Folds events into the tables of releases, one by one. */
export function openReleaseFold(db: Sqlite) {
  const insert = db.prepare(
    `INSERT INTO ${releaseTables.releases} (id, created_at, created_by, ${changing.join(', ')})
     VALUES (@id, @created_at, @created_by, ${changing.map((name) => `@${name}`).join(', ')})`,
  );
  const select = db.prepare<[id: string], ReleaseRow>(
    `SELECT ${changing.join(', ')} FROM ${releaseTables.releases} WHERE id = ?`,
  );
  const update = db.prepare(
    `UPDATE ${releaseTables.releases} SET ${changing.map((name) => `${name} = @${name}`).join(', ')} WHERE id = @id`,
  );
  const setItem = db.prepare(
    `INSERT INTO ${releaseTables.items} VALUES (?, ?, ?, ?, ?, ?)
     ON CONFLICT DO UPDATE SET action = excluded.action, version = excluded.version`,
  );
  const removeItem = db.prepare(`DELETE FROM ${releaseTables.items} WHERE release = ? AND category = ? AND id = ?`);

  /** Applies one event. Must be called for every event of the log, in order. */
  function apply({ header, data }: RecordedEvent): void {
    const id = releaseIdOf(header.stream);
    if (id === null || data === null) return;
    const { type, version, recordedAt, actor } = header;
    if (type === 'release.created') {
      const made = { id, created_at: Date.parse(recordedAt), created_by: actorText(actor) };
      insert.run({
        ...made,
        ...withTimes({ ...noRow, title: String(data.title), description: textOf(data.description) }, data, header),
        version,
      });
      return;
    }
    if (type === 'release.item.set') {
      const { category, id: document } = subjectIn(data);
      setItem.run(id, category, document, version, String(data.action), numberOf(data.version));
    }
    if (type === 'release.item.removed') {
      const { category, id: document } = subjectIn(data);
      removeItem.run(id, category, document);
    }
    const row = select.get(id);
    if (row) update.run({ id, ...changed(row, header, data), version });
  }

  return { apply };
}

const noRow: ReleaseRow = {
  title: '',
  description: null,
  state: 'open',
  at: null,
  time_zone: null,
  scheduled_by: null,
  published_at: null,
  batch: null,
  problems: '[]',
  version: 0,
};

/** A release after an event that is not about its items. */
function changed(row: ReleaseRow, header: Header, data: JsonObject): ReleaseRow {
  const { type, recordedAt, batch = null } = header;
  if (type === 'release.updated') {
    const set = isObject(data.set) ? data.set : {};
    const named = {
      title: typeof set.title === 'string' ? set.title : row.title,
      description: set.description === undefined ? row.description : textOf(set.description),
    };
    return withTimes({ ...row, ...named }, set, header);
  }
  if (type === 'release.published') {
    return { ...row, state: 'published', published_at: Date.parse(recordedAt), batch, problems: '[]' };
  }
  if (type === 'release.failed') return { ...row, state: 'failed', problems: JSON.stringify(data.problems ?? []) };
  if (type === 'release.archived') return { ...row, state: 'archived', problems: '[]' };
  return row;
}

/** A release whose time is set, or taken away, by data that has `at`. */
function withTimes(row: ReleaseRow, data: JsonObject, { actor }: Header): ReleaseRow {
  if (data.at === undefined) return row;
  if (typeof data.at !== 'string') {
    return { ...row, state: 'open', at: null, time_zone: null, scheduled_by: null, problems: '[]' };
  }
  const time = { at: Date.parse(data.at), time_zone: textOf(data.timeZone) };
  return { ...row, ...time, state: 'scheduled', scheduled_by: actorText(actor), problems: '[]' };
}

export type Releases = ReturnType<typeof openReleases>;

type StoredRelease = ReleaseRow & { id: string; created_at: number; created_by: string };

/** Releases in these states, of times from `from` to `to`, both included; absent members exclude none. */
type ReleaseFilter = { states?: readonly ReleaseState[]; from?: number; to?: number };

/** Reads what the log says about releases. */
export function openReleases(db: Sqlite) {
  const columns = `id, created_at, created_by, ${changing.join(', ')}`;
  const select = db.prepare<[id: string], StoredRelease>(
    `SELECT ${columns} FROM ${releaseTables.releases} WHERE id = ?`,
  );
  const selectItems = db.prepare<[id: string], ReleaseItem>(
    `SELECT category, id, action, version FROM ${releaseTables.items} WHERE release = ? ORDER BY place, category, id`,
  );
  const countItems = db
    .prepare<[id: string], number>(`SELECT count(*) FROM ${releaseTables.items} WHERE release = ?`)
    .pluck();
  const living = livingStates.map((state) => `'${state}'`).join(', ');
  const selectOf = db.prepare<[category: string, id: string], StoredRelease>(
    `SELECT ${columns} FROM ${releaseTables.releases} WHERE state IN (${living}) AND id IN
     (SELECT release FROM ${releaseTables.items} WHERE category = ? AND id = ?) ORDER BY id`,
  );
  const selectNext = db.prepare<[], { id: string; at: number }>(
    `SELECT id, at FROM ${releaseTables.releases} WHERE state = 'scheduled' ORDER BY at, id LIMIT 1`,
  );
  const met = `(@states IS NULL OR state IN (SELECT value FROM json_each(@states)))
    AND (@from IS NULL OR at >= @from) AND (@to IS NULL OR at <= @to)`;
  const selectPage = db.prepare<[object], StoredRelease>(
    `SELECT ${columns} FROM ${releaseTables.releases} WHERE ${met}
     ORDER BY coalesce(at, created_at) DESC, id DESC LIMIT @limit OFFSET @skipped`,
  );
  const selectCount = db
    .prepare<[object], number>(`SELECT count(*) FROM ${releaseTables.releases} WHERE ${met}`)
    .pluck();

  /** Both reads see the same state. */
  const pageOf = db.transaction((filter: object, page: object) => ({
    rows: selectPage.all({ ...filter, ...page }),
    total: selectCount.get(filter) ?? 0,
  }));
  const wholeOf = db.transaction((id: string) => {
    const row = select.get(id);
    return row ? { ...recordOf(row), items: selectItems.all(id) } : null;
  });

  return {
    /** A release with its items, in the order in which they were first set. */
    find: (id: string): (ReleaseRecord & { items: ReleaseItem[] }) | null => wholeOf(id),
    /** The number of its items. */
    size: (id: string): number => countItems.get(id) ?? 0,
    /** The release that is due next; it may be due already. */
    next: (): { id: string; at: number } | null => selectNext.get() ?? null,
    /** The releases with a document that are not published or archived. */
    livingWith: ({ category, id }: ReleaseSubject): ReleaseRecord[] => selectOf.all(category, id).map(recordOf),
    /** A page of releases, latest time first, and their number. One without a time counts by when it was made. */
    page(
      { states, from, to }: ReleaseFilter,
      { limit, page }: { limit: number; page: number },
    ): { found: ReleaseRecord[]; total: number } {
      const filter = { states: states ? JSON.stringify(states) : null, from: from ?? null, to: to ?? null };
      const { rows, total } = pageOf(filter, { limit, skipped: (page - 1) * limit });
      return { found: rows.map(recordOf), total };
    },
  };
}

function recordOf(row: StoredRelease): ReleaseRecord {
  const { id, title, description, state, at, time_zone: timeZone, batch, version } = row;
  return {
    id,
    title,
    description,
    state,
    time: at === null ? null : { at, timeZone },
    createdAt: row.created_at,
    createdBy: JSON.parse(row.created_by),
    scheduledBy: row.scheduled_by === null ? null : JSON.parse(row.scheduled_by),
    publishedAt: row.published_at,
    batch,
    problems: (JSON.parse(row.problems) as JsonObject[]).map(problemOf),
    version,
  };
}

function problemOf(data: JsonObject): ReleaseProblem {
  return { ...subjectIn(data), field: textOf(data.field), code: String(data.code) };
}

/** Gives the same text for an actor of a command and for an actor from the log, whose members have another order. */
function actorText({ type, id }: Actor): string {
  return JSON.stringify({ type, id });
}

function textOf(value: Json | undefined): string | null {
  return typeof value === 'string' ? value : null;
}

function numberOf(value: Json | undefined): number | null {
  return typeof value === 'number' ? value : null;
}
