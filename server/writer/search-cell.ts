/**
 * The numbers of the search index that threads share. 0: the position that it has come to. 1: whether the writer has
 * said that there is something new. 2: how many times its file was opened: a new one may be another file of the same
 * name. 3: the position that a search waits for.
 */
export type SearchCell = BigInt64Array<SharedArrayBuffer>;

/** Makes the cell of a service. */
export function createSearchCell(): SearchCell {
  return new BigInt64Array(new SharedArrayBuffer(32));
}

/** Publishes the position that the index has come to. */
export function publish(cell: SearchCell, position: number): void {
  Atomics.store(cell, 0, BigInt(position));
}

/** The position that the index has come to. */
export function searchPosition(cell: SearchCell): number {
  return Number(Atomics.load(cell, 0));
}

/** Notes that there is something new. True where it was not noted yet: then the thread of the index has to be told. */
export function poke(cell: SearchCell): boolean {
  return Atomics.exchange(cell, 1, 1n) === 0n;
}

/** Takes the note away, before looking for what is new. */
export function takePoke(cell: SearchCell): void {
  Atomics.store(cell, 1, 0n);
}

/** Notes that a search waits until the index has come to a position. */
export function want(cell: SearchCell, position: number): void {
  Atomics.store(cell, 3, BigInt(position));
}

/** Whether a search waits for more than is indexed. */
export function isWanted(cell: SearchCell): boolean {
  return Atomics.load(cell, 3) > Atomics.load(cell, 0);
}

/** Notes that the file of the index was opened, and nothing of it is known yet. */
export function announceFile(cell: SearchCell): void {
  publish(cell, 0);
  Atomics.add(cell, 2, 1n);
}

/** Tells one opening of the file from another. */
export function fileNumber(cell: SearchCell): number {
  return Number(Atomics.load(cell, 2));
}
