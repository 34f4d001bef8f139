import { randomFillSync } from 'node:crypto';

/**
 * Ids and times that only increase, whatever the clock does: every id is greater than the id before, and the
 * millisecond in it is the time given with it, so documents sort alike by either.
 */
export type Ids = {
  /** A moment not used before, its milliseconds since the epoch, and a UUID v7 made of it (RFC 9562, section 5.7). */
  next: () => { id: string; at: number };
  /** Makes every later id later than this moment, in milliseconds since the epoch. */
  raise: (floor: number) => void;
  /** Makes later ids follow the clock again, even if it is behind earlier ids: then it was wrong before. */
  restart: () => void;
};

/** @param counter a 64-bit cell, shared if several threads make ids: milliseconds · 4096 + a sequence number. */
export function createIds(counter: BigInt64Array<SharedArrayBuffer>, now: () => number): Ids {
  return {
    raise: (floor) => raise(counter, BigInt(floor) * 4096n + 4095n),
    restart: () => void Atomics.store(counter, 0, BigInt(now()) * 4096n),
    next() {
      const tick = advance(counter, BigInt(now()) * 4096n);
      return { id: uuidOf(tick), at: Number(tick >> 12n) };
    },
  };
}

/** A UUID v7 in lower case. */
export const uuid7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

/** Whether a text is a UUID v7 in lower case. */
export function isUuid7(text: string): boolean {
  return uuid7.test(text);
}

/** The latest moment that ids were made of, in milliseconds since the epoch. */
export function newestOf(counter: BigInt64Array<SharedArrayBuffer>): number {
  return Number(Atomics.load(counter, 0) >> 12n);
}

function raise(counter: BigInt64Array<SharedArrayBuffer>, to: bigint): void {
  let seen = Atomics.load(counter, 0);
  while (seen < to) {
    const found = Atomics.compareExchange(counter, 0, seen, to);
    if (found === seen) return;
    seen = found;
  }
}

function advance(counter: BigInt64Array<SharedArrayBuffer>, clock: bigint): bigint {
  let seen = Atomics.load(counter, 0);
  for (;;) {
    // More than 4,096 ids in a millisecond borrow from the next one rather than repeat.
    const next = clock > seen ? clock : seen + 1n;
    const found = Atomics.compareExchange(counter, 0, seen, next);
    if (found === seen) return next;
    seen = found;
  }
}

const random = Buffer.alloc(8 * 256);
let used = random.length;

function uuidOf(tick: bigint): string {
  if (used === random.length) {
    randomFillSync(random);
    used = 0;
  }
  const tail = Buffer.from(random.subarray(used, used + 8));
  used += 8;
  tail[0] = ((tail[0] ?? 0) & 0x3f) | 0x80;
  const time = tick.toString(16).padStart(15, '0');
  const rest = tail.toString('hex');
  return `${time.slice(0, 8)}-${time.slice(8, 12)}-7${time.slice(12)}-${rest.slice(0, 4)}-${rest.slice(4)}`;
}

/** The moment at which an id was made, in milliseconds since the epoch. */
export function timeOfId(id: string): number {
  return Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16);
}
