import { isDeepStrictEqual } from 'node:util';
import { idempotencyMilliseconds } from '../facts/idempotency.ts';
import { appendLeaf, leafHash, rootOf, type Tree } from '../proof/merkle.ts';
import type { Copying } from '../replica/copying.ts';
import { type Arrival, MoveError } from './arrival.ts';

type Stores = { copying: Copying; arrival: Arrival };

export type Comparison = ReturnType<typeof openComparison>;

/** So many events are read back at once. */
const page = 500;

/** Reads back what is in PostgreSQL, and holds it against the log in its file, byte for byte. */
export function openComparison(arrival: Arrival) {
  /** Made from what was read back. */
  const tree: Tree = { size: 0, nodes: [] };
  /** The positions of payloads that were erased here since they were copied. */
  let erased: number[] = [];

  /**
   * Compares the events up to a position that were not compared before.
   *
   * @param isStill whether the log stays as it is meanwhile.
   */
  async function events(
    copying: Copying,
    { upTo, isStill, progress }: { upTo: number; isStill: boolean; progress?: (done: number) => void },
  ): Promise<void> {
    const read = () => arrival.events(tree.size, Math.min(page, upTo - tree.size));
    for (let next = tree.size < upTo ? read() : null; next; ) {
      const rows = await next;
      const texts = copying.texts(tree.size, tree.size + rows.length);
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
    if (!rootOf(tree).equals(copying.rootAt(upTo))) throw different('the root of the tree');
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

  /** The numbers of claims, attempts and erasures; for a log that stays as it is meanwhile. */
  async function counts(copying: Copying): Promise<void> {
    // Those that are older may be forgotten at any time.
    const since = Date.now() - idempotencyMilliseconds + 60_000;
    const [here, there] = [copying.counts(since), await arrival.counts(since)];
    if (here.claims !== there.claims || here.claims !== there.changes) throw different('the number of unique values');
    if (here.attempts !== there.attempts) throw different('the number of attempts');
    if (!isDeepStrictEqual(copying.erasures(), await arrival.erasures())) throw different('the erasures');
  }

  return { events, counts };
}

/** Compares all claims and attempts, of a log that stays as it is meanwhile. */
export async function compareRows({ copying, arrival }: Stores): Promise<void> {
  for await (const { scope, value, stream, holder } of arrival.claims()) {
    if (holder !== stream || copying.holderOf(scope, value) !== stream)
      throw different(`a unique value of ${scope} that ${stream} holds`);
  }
  for await (const attempt of arrival.attempts()) {
    if (!isDeepStrictEqual(copying.attempt(attempt.key), attempt)) throw different(`an attempt on ${attempt.stream}`);
  }
}

function different(what: string): MoveError {
  return new MoveError(`what is in PostgreSQL is not what was copied: ${what} differs; nothing was moved`);
}
