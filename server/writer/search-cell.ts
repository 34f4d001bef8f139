/** The state of the search index that threads share: numbers at the indexes of {@link at}. */
export type SearchCell = BigInt64Array<SharedArrayBuffer>;

const at = {
  /** The position that the index has reached. */
  position: 0,
  /** 1 if the writer has recorded events since the index last looked; else 0. */
  isNotified: 1,
  /** How many times the file of the index was opened: a new file may have the name of the former one. */
  opened: 2,
  /** The position that a search waits for. */
  requested: 3,
};

/** Makes the cell of a service. */
export function createSearchCell(): SearchCell {
  return new BigInt64Array(new SharedArrayBuffer(32));
}

/** Publishes the position that the index has reached. */
export function publish(cell: SearchCell, position: number): void {
  Atomics.store(cell, at.position, BigInt(position));
}

/** The position that the index has reached. */
export function searchPosition(cell: SearchCell): number {
  return Number(Atomics.load(cell, at.position));
}

/** Notes that events were recorded. True if the cell did not say so yet: then the thread of the index must be told. */
export function notify(cell: SearchCell): boolean {
  return Atomics.exchange(cell, at.isNotified, 1n) === 0n;
}

/** Clears the notification; to be called before the index looks for events. */
export function takeNotification(cell: SearchCell): void {
  Atomics.store(cell, at.isNotified, 0n);
}

/** Notes that a search waits until the index has reached a position. */
export function requestPosition(cell: SearchCell, position: number): void {
  Atomics.store(cell, at.requested, BigInt(position));
}

/** Whether a search waits for a position that the index has not reached. */
export function isRequested(cell: SearchCell): boolean {
  return Atomics.load(cell, at.requested) > Atomics.load(cell, at.position);
}

/** Notes that the file of the index was opened, and that its position is not known yet. */
export function announceFile(cell: SearchCell): void {
  publish(cell, 0);
  Atomics.add(cell, at.opened, 1n);
}

/** The number of the opening of the file, by which readers see that it was opened again. */
export function fileNumber(cell: SearchCell): number {
  return Number(Atomics.load(cell, at.opened));
}
