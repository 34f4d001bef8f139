import { pluckLate, prepareLate, type Sqlite } from '../storage/sqlite.ts';
import { alteredEvent } from './altered.ts';
import { headerOf, payloadOf } from './envelope.ts';
import { type IsErased, knowErased } from './erasures.ts';
import {
  agrees,
  differingRow,
  type EventRow,
  type EventText,
  eventColumns,
  type PayloadRow,
  wrongPayload,
} from './event-checks.ts';
import { leafHash } from './merkle.ts';
import { proveHashes } from './proven.ts';
import type { StoredTree } from './stored-tree.ts';

/** An event with its payload, as a query gives it. */
export type Row = EventRow & PayloadRow;

const noneErased: IsErased = () => false;

/**
 * Decides which rows of a log are what was recorded: a header by the tree that the head proves, a payload by the commitment in its
 * header, a missing payload by the erasures. Anything else is an AlteredEventError.
 */
export function proveEvents(db: Sqlite, tree: StoredTree) {
  const selectErasures = prepareLate<[upTo: number], Row>(
    db,
    `SELECT ${eventColumns} FROM erasures JOIN events USING (position) LEFT JOIN payloads USING (position)
     WHERE position <= ? ORDER BY position`,
  );
  const selectNewestErasure = pluckLate<[], number | null>(db, 'SELECT max(position) FROM erasures');

  const { hashes, leafOf } = proveHashes(tree);
  const erased = knowErased({
    newest: () => selectNewestErasure().get() ?? 0,
    events: () => erasureTexts(Number.MAX_SAFE_INTEGER).map(({ body }) => ({ data: payloadOf(body)?.data ?? null })),
  });

  /** @param read is called after the erasures are known, so that an erased payload that it finds was put back. */
  function proven(read: () => Row[]): EventText[] {
    const isErased = erased();
    // An event may have been erased since.
    return read().map((row) => provenEvent(row, isErased, (event) => erased()(event)));
  }

  function provenEvent(row: Row, isErased: IsErased, isErasedNow: IsErased): EventText {
    requireHeader(row);
    const { position, header, body } = row;
    if (body === null && !isErased(row) && !isErasedNow(row)) throw alteredEvent(position, 'its payload is missing');
    if (body !== null && isErased(row)) throw alteredEvent(position, 'its payload was erased, and is there');
    const wrong = body === null ? null : wrongPayload(db, row);
    if (wrong !== null) throw alteredEvent(position, wrong);
    return { header, body: body as string | null };
  }

  function requireHeader(row: EventRow): void {
    const { position, header } = row;
    if (!leafHash(header).equals(leafOf(position)))
      throw alteredEvent(position, 'its header is not the one that the tree holds');
    if (!agrees(row))
      throw alteredEvent(position, differingRow(row, JSON.parse(header)) ?? 'its header is not one of an event');
  }

  /** The events that say which payloads were erased, of the first `upTo`. */
  function erasureTexts(upTo: number): EventText[] {
    return selectErasures()
      .all(upTo)
      .map((row) => {
        // They say what is erased, and nothing takes what they say.
        const text = provenEvent(row, noneErased, noneErased);
        if (headerOf(row.header).type !== 'document.erased')
          throw alteredEvent(row.position, 'it is among the erasures, and erased nothing');
        return text;
      });
  }

  return { hashes, proven, requireHeader, erasureTexts };
}
