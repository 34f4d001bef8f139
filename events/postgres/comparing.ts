import { isDeepStrictEqual } from 'node:util';
import { idempotencyMilliseconds } from '../facts/idempotency.ts';
import { appendLeaf, leafHash, rootOf, type Tree } from '../proof/merkle.ts';
import type { RowSource } from '../replica/row-source.ts';
import type { Arrival } from './arrival.ts';
import { MoveError } from './move-error.ts';

type Stores = { source: RowSource; arrival: Arrival };

/** The events that are read back at once. */
const page = 500;

/** Reads back the log in PostgreSQL, and compares it with the log in its file, byte for byte. */
export function openComparison(arrival: Arrival) {
  /** The tree of the events that were read back. */
  const tree: Tree = { size: 0, nodes: [] };
  /** The positions of payloads that were erased here since they were copied. */
  let erased: number[] = [];

  /**
   * Compares the events up to a position that were not compared before.
   *
   * @param isStill whether the log does not change meanwhile.
   */
  async function events(
    source: RowSource,
    { upTo, isStill, progress }: { upTo: number; isStill: boolean; progress?: (done: number) => void },
  ): Promise<void> {
    const read = () => arrival.events(tree.size, Math.min(page, upTo - tree.size));
    for (let next = tree.size < upTo ? read() : null; next; ) {
      const rows = await next;
      const texts = source.texts(tree.size, tree.size + rows.length);
      rows.forEach(({ header, body }, at) => {
        const text = texts[at];
        const position = tree.size + 1;
        if (text?.body === null && body !== null && !isStill) erased.push(position);
        else if (text?.body !== body) throw different(`the payload of event ${position}`);
        if (text.header !== header) throw different(`the header of event ${position}`);
        appendLeaf(tree, leafHash(header), () => {});
      });
      if (rows.length === 0) throw different(`event ${tree.size + 1}`);
      progress?.(tree.size);
      next = tree.size < upTo ? read() : null;
    }
    if (!rootOf(tree).equals(source.rootAt(upTo))) throw different('the root of the tree');
    if (isStill) await erasedSince();
  }

  /** Payloads that were erased while they were copied must be gone there too. */
  async function erasedSince(): Promise<void> {
    for (const position of erased) {
      const [row] = await arrival.events(position - 1, 1);
      if (row?.body !== null) throw different(`the erased payload of event ${position}`);
    }
    erased = [];
  }

  /** Compares the numbers of claims, idempotency records and erasures. The log must not change meanwhile. */
  async function counts(source: RowSource): Promise<void> {
    // Older records may be deleted at any time.
    const since = Date.now() - idempotencyMilliseconds + 60_000;
    const [here, there] = [source.counts(since), await arrival.counts(since)];
    if (here.claims !== there.claims || here.claims !== there.changes) throw different('the number of unique values');
    if (here.idempotencyRecords !== there.idempotencyRecords) throw different('the number of idempotency records');
    if (!isDeepStrictEqual(source.erasures(), await arrival.erasures())) throw different('the erasures');
  }

  return { events, counts };
}

/** Compares all claims and idempotency records. The log must not change meanwhile. */
export async function compareRows({ source, arrival }: Stores): Promise<void> {
  for await (const { scope, value, stream, holder } of arrival.claims()) {
    if (holder !== stream || source.holderOf(scope, value) !== stream)
      throw different(`a unique value of ${scope} that ${stream} holds`);
  }
  for await (const record of arrival.idempotencyRecords()) {
    if (!isDeepStrictEqual(source.idempotencyRecord(record.key), record))
      throw different(`an idempotency record on ${record.stream}`);
  }
}

function different(what: string): MoveError {
  return new MoveError(`what is in PostgreSQL is not what was copied: ${what} differs; nothing was moved`);
}
