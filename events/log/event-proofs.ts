import { pluckLate, prepareLate, type Sqlite } from '../../storage/sqlite.ts';
import { headerOf, payloadOf } from '../facts/envelope.ts';
import { type IsErased, knowErased } from '../facts/erasures.ts';
import { leafHash } from '../proof/merkle.ts';
import { collectMissing } from '../segments/offloaded.ts';
import { alteredEvent } from '../store/altered.ts';
import type { StoredTree } from '../store/stored-tree.ts';
import {
  agrees,
  differingRow,
  type EventRow,
  type EventText,
  eventColumns,
  type PayloadRow,
  wrongPayload,
} from './event-checks.ts';
import { proveHashes } from './proven.ts';

/** An event with its payload, as a query gives it. */
export type StoredEvent = EventRow & PayloadRow;

const noneErased: IsErased = () => false;

/**
 * Proves that rows of a log are what was recorded: a header by the tree that the head proves, a payload by the
 * commitment in its header, a missing payload by the erasures. Anything else is an AlteredEventError.
 */
export function proveEvents(db: Sqlite, tree: StoredTree) {
  const selectErasures = prepareLate<[upTo: number], StoredEvent>(
    db,
    `SELECT ${eventColumns} FROM erasures JOIN headers AS events USING (position) LEFT JOIN payloads USING (position)
     WHERE position <= ? ORDER BY position`,
  );
  const selectNewestErasure = pluckLate<[], number | null>(db, 'SELECT max(position) FROM erasures');

  const { hashes, leafOf } = proveHashes(tree);
  const erased = knowErased({
    newest: () => selectNewestErasure().get() ?? 0,
    events: () => erasureTexts(Number.MAX_SAFE_INTEGER).map(({ body }) => ({ data: payloadOf(body)?.data ?? null })),
  });

  /**
   * The texts of the events that `read` gives. It is called when the erasures are known: an erased payload that it
   * finds was put back.
   */
  function proven(read: () => StoredEvent[]): EventText[] {
    const isErased = erased();
    return collectMissing(read).map((row) => {
      requireHeader(row);
      requirePayload(row, isErased);
      return textOf(row);
    });
  }

  /** Reads as {@link proven} rows whose headers are proven otherwise. */
  function withPayloads(read: () => StoredEvent[]): StoredEvent[] {
    const isErased = erased();
    const rows = collectMissing(read);
    for (const row of rows) requirePayload(row, isErased);
    return rows;
  }

  // The event may have been erased after its row was read.
  function requirePayload(
    row: StoredEvent,
    isErased: IsErased,
    isErasedNow: IsErased = (event) => erased()(event),
  ): void {
    const { position, body } = row;
    if (body === null && !isErased(row) && !isErasedNow(row)) throw alteredEvent(position, 'its payload is missing');
    if (body !== null && isErased(row)) throw alteredEvent(position, 'its payload was erased, and is there');
    const wrong = body === null ? null : wrongPayload(db, row);
    if (wrong !== null) throw alteredEvent(position, wrong);
  }

  function requireHeader(row: EventRow): void {
    const { position, header } = row;
    if (!leafHash(header).equals(leafOf(position)))
      throw alteredEvent(position, 'its header is not the one that the tree holds');
    if (!agrees(row))
      throw alteredEvent(position, differingRow(row, JSON.parse(header)) ?? 'its header is not one of an event');
  }

  /** The events among the first `upTo` that say which payloads were erased. */
  function erasureTexts(upTo: number): EventText[] {
    return collectMissing(() => selectErasures().all(upTo)).map((row) => {
      // The payload of an erasure is never erased.
      requireHeader(row);
      requirePayload(row, noneErased, noneErased);
      if (headerOf(row.header).type !== 'document.erased')
        throw alteredEvent(row.position, 'it is among the erasures, and erased nothing');
      return textOf(row);
    });
  }

  return { hashes, proven, requireHeader, withPayloads, erasureTexts };
}

/** The text of a row whose payload was found to be sound. */
export function textOf({ header, body }: StoredEvent): EventText {
  return { header, body: body as string | null };
}
