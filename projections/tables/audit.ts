import { splitStream } from '../../events/facts/catalogue.ts';
import type { Header } from '../../events/facts/envelope.ts';
import type { RecordedEvent } from '../../events/facts/log.ts';
import { AlteredEventError } from '../../events/store/altered.ts';
import type { Sqlite, Statement } from '../../storage/sqlite.ts';

/** The table over the headers of all events, the one of the words in them, and that of bulk calls. */
export const auditTables = { events: '"audit"', words: '"audit_words"', batches: '"audit_batches"' } as const;

/**
 * Makes them in an empty file. `audit` has a row of about fifteen bytes per event and no index: so it costs a write
 * next to nothing, and is read in the order of positions. `audit_batches` says between which positions the events of a
 * bulk call are.
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
 * The subject of an event: the category of a collection, the whole stream of a global or of the service's own
 * events, `accounts/<category>` for the accounts of a collection.
 */
export function collectionOf(stream: string): string {
  const [category, rest] = splitStream(stream);
  if (category === 'accounts') return `accounts/${rest.slice(0, rest.indexOf('/'))}`;
  return category === 'globals' || category === 'system' ? stream : category;
}

const mostWordsKept = 10_000;

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

  /** Has to be called when what was applied is rolled back: the words of it are gone too. */
  function forget(): void {
    for (const words of Object.values(known)) words.clear();
  }

  return { apply, forget };
}

/**
 * Which events: those that are all of what is said here. `collection` is as of {@link collectionOf}, or one of {@link
 * categories}; `type` is one, or several with commas between; `actor` is a type of actor or the id of one.
 */
export type EventFilter = { collection?: string; type?: string; actor?: string };

/** The types that a filter names, each once. */
export function typesOf(type: string): string[] {
  return [...new Set(type.split(','))];
}

/** The result of a search: positions in their order, and how far it has looked. */
export type Found = { positions: number[]; reached: number };

/** The first and the last position of some events. */
export type Span = { first: number; last: number };

export type AuditIndex = ReturnType<typeof openAuditIndex>;

/** How many rows a search looks at, at most: some milliseconds. */
const mostRows = 50_000;

/** Streams of these are not about documents of a collection; each is also the word for all of them. */
export const categories: readonly string[] = ['globals', 'accounts', 'system'];

/** The types of actors are words for all of their kind too. */
export const actorTypes: readonly string[] = [
  'user',
  'apiKey',
  'system',
  'anonymous',
] satisfies Header['actor']['type'][];

/** Reads the audit tables. */
export function openAuditIndex(db: Sqlite) {
  const selectReached = db.prepare<[], number>('SELECT position FROM checkpoint').pluck();
  // The part before a slash is the word for all of its kind.
  const selectCollections = db
    .prepare<[word: string, pattern: string], number>(
      `SELECT id FROM audit_words WHERE kind = ${auditKinds.collection} AND (word = ? OR word GLOB ?)`,
    )
    .pluck();
  const selectId = db
    .prepare<WordKey, number>('SELECT id FROM audit_words WHERE kind = ? AND word = (SELECT ?)')
    .pluck();
  const selectWords = db
    .prepare<[kind: number], string>('SELECT word FROM audit_words WHERE kind = ? ORDER BY id')
    .pluck();
  const selectBatch = db.prepare<[batch: string], Span>('SELECT first, last FROM audit_batches WHERE batch = ?');
  const countRows = db
    .prepare<[after: number, upTo: number], number>('SELECT count(*) FROM audit WHERE position > ? AND position <= ?')
    .pluck();
  const selectRows = db
    .prepare<[after: number, upTo: number], number>(
      'SELECT position FROM audit WHERE position > ? AND position <= ? ORDER BY position',
    )
    .pluck();
  const searches = new Map<string, Statement<number>>();

  /**
   * The positions of events after `after` up to `upTo`, at most `limit` of them. It may give fewer before the end,
   * where few events match: go on after `reached`.
   *
   * @throws AlteredEventError where it has no row of an event that it has looked for.
   */
  function find(filter: EventFilter, { after, upTo, limit }: { after: number; upTo: number; limit: number }): Found {
    const end = Math.min(upTo, after + mostRows);
    const { collection, type, actor } = filter;
    const conditions: string[] = [];
    const values: number[] = [];
    const isOneOf = (column: string, ids: number[]) => {
      conditions.push(` AND ${column} IN (${ids.map(() => '?').join(', ')})`);
      values.push(...ids);
    };
    if (collection !== undefined) {
      // An empty pattern matches no word.
      const pattern = categories.includes(collection) ? `${collection}/*` : '';
      isOneOf('collection', selectCollections.all(collection, pattern));
    }
    const types = type === undefined ? [] : typesOf(type);
    if (type !== undefined)
      isOneOf(
        'type',
        types.flatMap((one) => selectId.all(auditKinds.type, one)),
      );
    if (actor !== undefined) {
      isOneOf(actorTypes.includes(actor) ? 'actor_type' : 'actor', selectId.all(auditKinds.actor, actor));
    }
    // A word that was never recorded is in no event.
    if (conditions.some((condition) => condition.endsWith('()')))
      return { positions: [], reached: Math.max(after, upTo) };
    const positions = search(conditions.join('')).all(after, end, ...values, limit);
    const last = positions.length === limit ? positions.at(-1) : undefined;
    const reached = last ?? Math.max(after, end);
    requireRows(after, reached);
    return { positions, reached };
  }

  function requireRows(after: number, upTo: number): void {
    if (countRows.get(after, upTo) === upTo - after) return;
    let next = after + 1;
    for (const position of selectRows.iterate(after, upTo)) {
      if (position !== next) break;
      next += 1;
    }
    throw new AlteredEventError(`event ${next} of the log is missing from the index of events: the index was altered`);
  }

  function search(conditions: string): Statement<number> {
    let statement = searches.get(conditions);
    if (!statement) {
      const sql = `SELECT position FROM audit WHERE position > ? AND position <= ?${conditions} ORDER BY position LIMIT ? + 0`;
      statement = db.prepare<unknown[], number>(sql).pluck();
      searches.set(conditions, statement);
    }
    return statement;
  }

  return {
    /** The last position that it knows of. */
    reached: (): number => selectReached.get() ?? 0,
    /** All that events were about so far, see {@link collectionOf}. */
    collections: (): string[] => selectWords.all(auditKinds.collection),
    /** The positions of the first and the last event of a bulk call; null for an unknown id. */
    batch: (id: string): Span | null => selectBatch.get(id) ?? null,
    find,
  };
}
