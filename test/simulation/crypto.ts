/** Stands in for `node:crypto` in the product: the same, but for random bytes. */
export * from 'node:crypto';

const salt = Buffer.from('a run has the same bytes each time');

/** Fills a buffer with the same 32 bytes again and again, so that it does not matter which of them come next. */
export function randomFillSync(into: Buffer): Buffer {
  for (let at = 0; at < into.length; at += 32) salt.copy(into, at, 0, Math.min(32, into.length - at));
  return into;
}
