import { applyTo, type Bytes, type Change, copyOf } from './bytes.ts';

type Random = () => number;

/** Whole numbers from 0 up to a bound. */
export function below(random: Random, bound: number): number {
  return Math.floor(random() * bound);
}

/** One of some things. */
export function oneOf<T>(random: Random, things: readonly T[]): T {
  return things[below(random, things.length)] as T;
}

/** The changes kept of those that no sync has covered: a journal keeps them up to one of them, another disk any. */
export function keptOf<T>(random: Random, changes: readonly T[], isInOrder: boolean): T[] {
  const chance = oneOf(random, [0, 1, random()]);
  if (isInOrder) return changes.slice(0, chance === 1 ? changes.length : below(random, changes.length + 1));
  return changes.filter(() => random() < chance);
}

/** So writes are cut in two: between sectors, between pages, at any byte, or not at all. */
const cuts = ['sectors', 'pages', 'bytes', null] as const;

/**
 * The bytes of a file that a power cut leaves: those that were synced, and of the changes since then all, none, those
 * up to one of them or any, each of them whole or in part.
 */
export function afterCut(random: Random, durable: Bytes, pending: readonly Change[]): Bytes {
  const left = copyOf(durable);
  if (pending.length === 0) return left;
  const cut = oneOf(random, cuts);
  for (const change of keptOf(random, pending, random() < 0.5))
    for (const part of partsOf(random, change, cut)) applyTo(left, part);
  // The new size of a file can be on the disk without the bytes that were written there.
  const longest = pending.reduce((most, change) => Math.max(most, endOf(change)), left.size);
  if (longest > left.size && random() < 0.25) applyTo(left, { size: longest });
  return left;
}

function endOf(change: Change): number {
  return 'size' in change ? 0 : change.at + change.bytes.length;
}

function partsOf(random: Random, change: Change, cut: (typeof cuts)[number]): Change[] {
  if ('size' in change || cut === null) return [change];
  const { at, bytes } = change;
  if (cut === 'bytes')
    return random() < 0.7 ? [change] : [{ at, bytes: bytes.subarray(0, below(random, bytes.length)) }];
  const unit = cut === 'sectors' ? 512 : 4096;
  const chance = oneOf(random, [0.5, 0.9, 1]);
  const parts: Change[] = [];
  for (let from = 0; from < bytes.length; ) {
    const to = Math.min(bytes.length, from + unit - ((at + from) % unit));
    if (random() < chance) parts.push({ at: at + from, bytes: bytes.subarray(from, to) });
    from = to;
  }
  return parts;
}
