import { releaseIdOf, releasesStream, splitStream } from '../../events/facts/catalogue.ts';
import type { Header } from '../../events/facts/envelope.ts';
import type { RecordedEvent } from '../../events/facts/log.ts';
import { AlteredEventError } from '../../events/store/altered.ts';
import type { Sqlite, Statement } from '../../storage/sqlite.ts';

/** The tables of the headers of all events, of the words in them, and of bulk calls. */
export const auditTables = { events: '"audit"', words: '"audit_words"', batches: '"audit_batches"' } as const;

/**
 * Makes the audit tables in an empty file. `audit` has a row of about fifteen bytes per event and no index: so it costs
 * a write next to nothing, and is read in the order of positions. `audit_batches` has the first and the last position
 * of the events of a bulk call.
 */
export function createAuditTables(db: Sqlite): void {
  db.exec(`
    CREATE TABLE audit_words (id INTEGER PRIMARY KEY, kind INTEGER NOT NULL, word TEXT NOT NULL, UNIQUE (kind, word)) STRICT;
    CREATE TABLE audit (
      position INTEGER PRIMARY KEY, collection INTEGER NOT NULL, type INTEGER NOT NULL, actor_type INTEGER NOT NULL,
      actor INTEGER NOT NULL
    ) STRICT;
    CREATE TABLE audit_batches (
      batch TEXT PRIMARY KEY, first INTEGER NOT NULL, last INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID;
  `);
}

/** The kinds of words, as `audit_words` has them. */
export const auditKinds = { collection: 0, type: 1, actor: 2 } as const;

type Kind = keyof typeof auditKinds;
type WordKey = [kind: number, word: string];

/**
 * The subject of an event: the category of a collection, `system/releases`, the whole stream of a global or of other
 * events of the service, `accounts/<category>` for the accounts of a collection.
 */
export function collectionOf(stream: string): string {
  const [category, rest] = splitStream(stream);
  if (category === 'accounts') return `accounts/${rest.slice(0, rest.indexOf('/'))}`;
  if (releaseIdOf(stream) !== null) return releasesStream;
  return category === 'globals' || category === 'system' ? stream : category;
}

const mostWordsKept = 10_000;

export type AuditFold = ReturnType<typeof openAuditFold>;

/** Folds headers into the audit tables. */
export function openAuditFold(db: Sqlite) {
  const insert = db.prepare('INSERT INTO audit VALUES (?, ?, ?, ?, ?)');
  const upsertBatch = db.prepare<[batch: string, position: number, position: number]>(
    'INSERT INTO audit_batches VALUES (?, ?, ?) ON CONFLICT (batch) DO UPDATE SET last = excluded.last',
  );
  const selectWord = db.prepare<WordKey, number>('SELECT id FROM audit_words WHERE kind = ? AND word = ?').pluck();
  const insertWord = db
    .prepare<WordKey, number>('INSERT INTO audit_words (kind, word) VALUES (?, ?) RETURNING id')
    .pluck();
  const known: Record<Kind, Map<string, number>> = { collection: new Map(), type: new Map(), actor: new Map() };

  function apply({ header: { position, stream, type, actor, batch } }: RecordedEvent): void {
    const actorType = idOf('actor', actor.type);
    const who = actor.id === undefined ? actorType : idOf('actor', actor.id);
    insert.run(position, idOf('collection', collectionOf(stream)), idOf('type', type), actorType, who);
    if (batch !== undefined) upsertBatch.run(batch, position, position);
  }

  function idOf(kind: Kind, word: string): number {
    const words = known[kind];
    const found = words.get(word);
    if (found !== undefined) return found;
    const id = selectWord.get(auditKinds[kind], word) ?? insertWord.get(auditKinds[kind], word);
    if (id === undefined) throw new Error(`SQLite gave no id to the word ${word}`);
    if (words.size >= mostWordsKept) words.clear();
    words.set(word, id);
    return id;
  }

  /** Must be called when applied events are rolled back: their words are gone too. */
  function forget(): void {
    for (const words of Object.values(known)) words.clear();
  }

  return { apply, forget };
}

/**
 * A filter of events, which must meet each given member. `collection` is as in {@link collectionOf}, or one of {@link
 * categories}; `type` is one type, or several with commas between; `actor` is a type of actor or the id of an actor.
 */
export type EventFilter = { collection?: string; type?: string; actor?: string };

/** The types that a filter names, each once. */
export function typesOf(type: string): string[] {
  return [...new Set(type.split(','))];
}

/** The result of a search: positions in their order, and the last position that was looked at. */
export type AuditMatches = { positions: number[]; reached: number };

/** The first and the last position of some events. */
export type Span = { first: number; last: number };

export type AuditIndex = ReturnType<typeof openAuditIndex>;

/** The most rows that a search looks at, which takes some milliseconds. */
const mostRows = 50_000;

/**
 * The categories of streams that are not about documents of a collection; each is also the word for all its streams.
 */
export const categories: readonly string[] = ['globals', 'accounts', 'system'];

/** The types of actors; each is also the word for all actors of the type. */
export const actorTypes: readonly string[] = [
  'user',
  'apiKey',
  'system',
  'anonymous',
] satisfies Header['actor']['type'][];

/** The database of an audit index, and its prepared statements. */
type AuditReader = {
  db: Sqlite;
  statements: ReturnType<typeof prepareStatements>;
  /** The prepared searches, by their conditions. */
  searches: Map<string, Statement<number>>;
};

/** A range of positions, and how many of them a search gives at most. */
type SearchRange = { after: number; upTo: number; limit: number };

/** Reads the audit tables. */
export function openAuditIndex(db: Sqlite) {
  const reader: AuditReader = { db, statements: prepareStatements(db), searches: new Map() };
  const { selectReached, selectWords, selectBatch } = reader.statements;
  return {
    /** The position of the last event in the tables. */
    reached: (): number => selectReached.get() ?? 0,
    /** All subjects of events so far, see {@link collectionOf}. */
    collections: (): string[] => selectWords.all(auditKinds.collection),
    /** The positions of the first and the last event of a bulk call; null for an unknown id. */
    batch: (id: string): Span | null => selectBatch.get(id) ?? null,
    /**
     * The positions of events after `after` up to `upTo`, at most `limit` of them. It may give fewer before the end, if
     * few events match: continue after `reached`.
     *
     * @throws AlteredEventError if the table has no row of an event that was looked at.
     */
    find: (filter: EventFilter, range: SearchRange): AuditMatches => find(reader, filter, range),
  };
}

function prepareStatements(db: Sqlite) {
  return {
    selectReached: db.prepare<[], number>('SELECT position FROM checkpoint').pluck(),
    // The part before a slash is the word for all of its kind.
    selectCollections: db
      .prepare<[word: string, pattern: string], number>(
        `SELECT id FROM audit_words WHERE kind = ${auditKinds.collection} AND (word = ? OR word GLOB ?)`,
      )
      .pluck(),
    selectId: db.prepare<WordKey, number>('SELECT id FROM audit_words WHERE kind = ? AND word = (SELECT ?)').pluck(),
    selectWords: db.prepare<[kind: number], string>('SELECT word FROM audit_words WHERE kind = ? ORDER BY id').pluck(),
    selectBatch: db.prepare<[batch: string], Span>('SELECT first, last FROM audit_batches WHERE batch = ?'),
    countRows: db
      .prepare<[after: number, upTo: number], number>('SELECT count(*) FROM audit WHERE position > ? AND position <= ?')
      .pluck(),
    selectRows: db
      .prepare<[after: number, upTo: number], number>(
        'SELECT position FROM audit WHERE position > ? AND position <= ? ORDER BY position',
      )
      .pluck(),
  };
}

function find(reader: AuditReader, filter: EventFilter, { after, upTo, limit }: SearchRange): AuditMatches {
  const end = Math.min(upTo, after + mostRows);
  const conditions = conditionsOf(reader, filter);
  // A word that was never recorded is in no event.
  if (conditions.some(({ ids }) => ids.length === 0)) return { positions: [], reached: Math.max(after, upTo) };
  const text = conditions.map(({ column, ids }) => ` AND ${column} IN (${ids.map(() => '?').join(', ')})`).join('');
  const positions = searchOf(reader, text).all(after, end, ...conditions.flatMap(({ ids }) => ids), limit);
  const last = positions.length === limit ? positions.at(-1) : undefined;
  const reached = last ?? Math.max(after, end);
  requireRows(reader, after, reached);
  return { positions, reached };
}

/** The columns that a filter is about, and the ids of words of which each must have one. */
function conditionsOf(
  { statements: { selectCollections, selectId } }: AuditReader,
  { collection, type, actor }: EventFilter,
): { column: string; ids: number[] }[] {
  const conditions: { column: string; ids: number[] }[] = [];
  if (collection !== undefined) {
    // An empty pattern matches no word.
    const pattern = categories.includes(collection) ? `${collection}/*` : '';
    conditions.push({ column: 'collection', ids: selectCollections.all(collection, pattern) });
  }
  if (type !== undefined) {
    const ids = typesOf(type).flatMap((one) => selectId.all(auditKinds.type, one));
    conditions.push({ column: 'type', ids });
  }
  if (actor !== undefined) {
    const column = actorTypes.includes(actor) ? 'actor_type' : 'actor';
    conditions.push({ column, ids: selectId.all(auditKinds.actor, actor) });
  }
  return conditions;
}

function requireRows({ statements: { countRows, selectRows } }: AuditReader, after: number, upTo: number): void {
  if (countRows.get(after, upTo) === upTo - after) return;
  let next = after + 1;
  for (const position of selectRows.iterate(after, upTo)) {
    if (position !== next) break;
    next += 1;
  }
  throw new AlteredEventError(`event ${next} of the log is missing from the index of events: the index was altered`);
}

function searchOf({ db, searches }: AuditReader, conditions: string): Statement<number> {
  let statement = searches.get(conditions);
  if (!statement) {
    const sql = `SELECT position FROM audit WHERE position > ? AND position <= ?${conditions} ORDER BY position LIMIT ? + 0`;
    statement = db.prepare<unknown[], number>(sql).pluck();
    searches.set(conditions, statement);
  }
  return statement;
}
