/**
 * The counts of a histogram: the number of values in each bucket, then the number above the last bound, and last the
 * sum of all values. Only one thread adds to it; in shared memory others may read it meanwhile.
 */
export type Tally = Float64Array;

/** The upper bounds of the buckets of a histogram, ascending. */
export type BucketBounds = readonly number[];

/** An empty tally, in shared memory. */
export function createTally(bounds: BucketBounds): Float64Array<SharedArrayBuffer> {
  return new Float64Array(new SharedArrayBuffer(lengthOf(bounds) * Float64Array.BYTES_PER_ELEMENT));
}

/** How many numbers a tally has. */
function lengthOf(bounds: BucketBounds): number {
  return bounds.length + 2;
}

/** Counts a value. */
export function tallyUp(tally: Tally, bounds: BucketBounds, value: number): void {
  let at = 0;
  while (at < bounds.length && value > (bounds[at] as number)) at += 1;
  tally[at] = (tally[at] as number) + 1;
  const last = bounds.length + 1;
  tally[last] = (tally[last] as number) + value;
}

/** Adds the counts of a tally to another one with the same bounds. */
export function addTally(to: Tally, from: ArrayLike<number>): void {
  for (let at = 0; at < to.length; at += 1) to[at] = (to[at] as number) + (from[at] ?? 0);
}
