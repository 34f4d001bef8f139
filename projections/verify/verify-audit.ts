import type { Header } from '../../events/facts/envelope.ts';
import type { Finding } from '../../events/proof/seen-heads.ts';
import type { Sqlite } from '../../storage/sqlite.ts';
import { auditKinds, collectionOf, type Span } from '../tables/audit.ts';

type AuditRow = [position: number, collection: number, type: number, actorType: number, actor: number];

/** The number of rows that are read at a time. */
const chunk = 100;
const mostWords = 10_000;

/**
 * Compares the rows of the audit tables with the headers of a log, one after the other, as far as the read file has
 * applied them.
 */
export function auditChecker(read: Sqlite, headerAt: (position: number) => Header | null) {
  const selectRows = read
    .prepare<[after: number, limit: number], AuditRow>(
      'SELECT position, collection, type, actor_type, actor FROM audit WHERE position > ? ORDER BY position LIMIT ? + 0',
    )
    .raw();
  const selectWord = read.prepare<[id: number], { kind: number; word: string }>(
    'SELECT kind, word FROM audit_words WHERE id = ?',
  );
  const selectBatch = read.prepare<[batch: string], Span>('SELECT first, last FROM audit_batches WHERE batch = ?');
  const selectReached = read.prepare<[], number>('SELECT position FROM checkpoint').pluck();
  const words = new Map<number, { kind: number; word: string }>();
  let rows: AuditRow[] = [];
  let next = 0;
  let reached = 0;
  let batch: { id: string; last: number } | null = null;

  /** The fault of the rows of an event; null for none, or if the rows are not there yet. */
  function check(header: Header): Finding | null {
    const { position } = header;
    // Read before the rows, which then are at least as far.
    if (position > reached) reached = selectReached.get() ?? 0;
    if (position > reached) return null;
    if (next === rows.length) {
      rows = selectRows.all(position - 1, chunk);
      next = 0;
    }
    const row = rows[next];
    if (row?.[0] !== position) return `event ${position} is missing from table "audit"`;
    next += 1;
    const isIts = says(row, header) && isInBatch(header);
    return isIts ? null : `what the audit tables say of event ${position} is not what its header says`;
  }

  function says([, collection, type, actorType, actor]: AuditRow, header: Header): boolean {
    return (
      isWord(collection, 'collection', collectionOf(header.stream)) &&
      isWord(type, 'type', header.type) &&
      isWord(actorType, 'actor', header.actor.type) &&
      isWord(actor, 'actor', header.actor.id ?? header.actor.type)
    );
  }

  function isWord(id: number, kind: keyof typeof auditKinds, expected: string): boolean {
    let known = words.get(id);
    if (!known) {
      known = selectWord.get(id);
      if (!known) return false;
      if (words.size >= mostWords) words.clear();
      words.set(id, known);
    }
    return known.kind === auditKinds[kind] && known.word === expected;
  }

  /** Whether the first and the last event of a bulk call belong to it, and this event is between them. */
  function isInBatch({ batch: id, position }: Header): boolean {
    if (id === undefined) batch = null;
    if (id === undefined || (batch?.id === id && position <= batch.last)) return true;
    const span = selectBatch.get(id);
    if (!span || position < span.first || position > span.last) return false;
    batch = { id, last: span.last };
    return [span.first, span.last].every((end) => headerAt(end)?.batch === id);
  }

  return { check };
}
