import type { TreeHead } from './proofs.ts';
import type { Finding } from './verify.ts';

/** A head of the log's tree as somebody has seen it, who is named in what is found. */
export type Witness = TreeHead & { name: string };

type Rooted = { rootAt: (size: number) => Buffer };

/**
 * In which way a log of `size` events is not the one that a witness has seen; null when it goes on from there.
 *
 * @param others have seen it too: they tell between which events it was altered first.
 */
export function contradiction(
  log: Rooted,
  size: number,
  witness: Witness,
  others: () => readonly TreeHead[] = () => [],
): Finding | null {
  if (witness.size > size) return lost(size, witness);
  if (log.rootAt(witness.size).equals(witness.root)) return null;
  const heads = [...others().filter((head) => head.size < witness.size), witness];
  return `${contradicted(witness)}; ${firstAltered(bisect(log, heads))}`;
}

/** Of heads of which one at least is not the log's: between the last that is and the first that is not something was altered. */
function bisect(log: Rooted, heads: readonly TreeHead[]): { from: number; to: number } {
  const sorted = heads.toSorted((a, b) => a.size - b.size);
  let [good, bad] = [-1, sorted.length - 1];
  while (bad - good > 1) {
    const middle = Math.floor((good + bad) / 2);
    const { size, root } = sorted[middle] as TreeHead;
    if (log.rootAt(size).equals(root)) good = middle;
    else bad = middle;
  }
  return { from: (sorted[good]?.size ?? 0) + 1, to: (sorted[bad] as TreeHead).size };
}

/** What is found where a log ends before what a witness has seen. */
export function lost(size: number, { name, size: seen }: Witness): Finding {
  return `the log lost events: it ends at position ${size}, but ${name} has seen position ${seen}`;
}

/** What is found where a log is another than a witness has seen. */
export function contradicted({ name, size }: Witness): Finding {
  return `the log was altered: at position ${size} it is not the log that ${name} has seen`;
}

/** Which events the first one is among that was altered. */
export function firstAltered({ from, to }: { from: number; to: number }): string {
  return from === to ? `event ${from} is the first that was altered` : `first altered between ${from} and ${to}`;
}
