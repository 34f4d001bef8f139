import { rootOf, type Tree } from './merkle.ts';
import type { TreeHead } from './proofs.ts';

/** The first thing found to be wrong, in words that name the event. */
export type Finding = string;

/**
 * A finding, and where it is: the first event that it is about is at one of the positions `from` to `to`; null if that
 * is not known.
 */
export type Trouble = { finding: Finding; from: number | null; to: number | null };

/** The range of a trouble without known events. */
export const everywhere: Omit<Trouble, 'finding'> = { from: null, to: null };

/** A head of the log's tree that was seen; `name` says in findings who saw it. */
export type SeenHead = TreeHead & { name: string };

/** A log of `size` events. */
type LogRoots = { size: number; rootAt: (size: number) => Buffer };

/**
 * How a log contradicts a head that was seen of it; null if the log extends the head.
 *
 * @param others gives other heads that were seen: they narrow down which event was altered first.
 */
export function contradiction(
  log: LogRoots,
  head: SeenHead,
  others: () => readonly TreeHead[] = () => [],
): Finding | null {
  if (head.size > log.size) return lost(log.size, head);
  if (log.rootAt(head.size).equals(head.root)) return null;
  const heads = [...others().filter(({ size }) => size < head.size), head];
  return `${contradicted(head)}; ${firstAltered(bisect(log, heads))}`;
}

/**
 * The events between the last head that the log has and the first that it does not have. At least one head must be one
 * that the log does not have.
 */
function bisect({ rootAt }: LogRoots, heads: readonly TreeHead[]): { from: number; to: number } {
  const sorted = heads.toSorted((a, b) => a.size - b.size);
  let [good, bad] = [-1, sorted.length - 1];
  while (bad - good > 1) {
    const middle = Math.floor((good + bad) / 2);
    const { size, root } = sorted[middle] as TreeHead;
    if (rootAt(size).equals(root)) good = middle;
    else bad = middle;
  }
  return { from: (sorted[good]?.size ?? 0) + 1, to: (sorted[bad] as TreeHead).size };
}

/** The finding about a log that ends before a head that was seen. */
export function lost(size: number, { name, size: seen }: SeenHead): Finding {
  return `the log lost events: it ends at position ${size}, but ${name} has seen position ${seen}`;
}

/** The finding about a log that is not the log of a head that was seen. */
export function contradicted({ name, size }: SeenHead): Finding {
  return `the log was altered: at position ${size} it is not the log that ${name} has seen`;
}

/** Says among which events the first altered one is. */
function firstAltered({ from, to }: { from: number; to: number }): string {
  return from === to ? `event ${from} is the first that was altered` : `first altered between ${from} and ${to}`;
}

/** Compares a growing tree with the heads that were seen of it, smallest first. */
export function compareHeads(tree: Tree, seen: readonly SeenHead[]) {
  let next = 0;
  let good = 0;
  let bad: SeenHead | null = null;

  function compare(): void {
    for (let head = seen[next]; head && head.size <= tree.size; head = seen[next]) {
      next += 1;
      if (bad || head.size < tree.size) continue;
      if (rootOf(tree).equals(head.root)) good = head.size;
      else bad = head;
    }
  }

  /**
   * Narrows a range of events by the heads: the log was altered after the last head that agrees, and before the first
   * that does not.
   */
  function narrow(from: number | null, to: number | null): Omit<Trouble, 'finding'> {
    if (from === null || to === null) return everywhere;
    const first = Math.max(from, good + 1);
    const last = bad ? Math.min(to, bad.size) : to;
    return first <= last ? { from: first, to: last } : everywhere;
  }

  function contradiction(): Trouble | null {
    const ahead = seen.find(({ size }) => size > tree.size);
    if (bad) {
      const altered = { from: good + 1, to: bad.size };
      return { finding: `${contradicted(bad)}; ${firstAltered(altered)}`, ...altered };
    }
    return ahead ? { finding: lost(tree.size, ahead), from: null, to: null } : null;
  }

  return { compare, narrow, contradiction };
}
