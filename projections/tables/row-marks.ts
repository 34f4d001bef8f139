/**
 * A count for each slot of documents, and for each slot of collections, which the thread that writes the read tables
 * shares with the threads that read them. A count is odd while a commit that changes a document of the slot is under
 * way. The last count is of erasures.
 */
export type RowMarks = Int32Array<SharedArrayBuffer>;

/** A document that a commit changes: the key of its tables, and its id. */
export type ChangedDocument = { key: string; id: string };

/** Enough slots that two documents which are read often hardly ever share one. */
const slots = 65_536;
const collectionSlots = 1024;
/** The slot that counts erasures. */
export const erasures = slots + collectionSlots;

/** The marks of a service. */
export function createRowMarks(): RowMarks {
  return new Int32Array(new SharedArrayBuffer((erasures + 1) * Int32Array.BYTES_PER_ELEMENT));
}

/**
 * Prepares the marks for the thread that writes. A writer that was killed in the middle of a commit may have left odd
 * marks, which are made even.
 *
 * @returns the function that runs a commit which changes these documents.
 */
export function markRows(
  marks: RowMarks,
): (changed: Iterable<ChangedDocument>, isErasure: boolean, commit: () => void) => void {
  for (let slot = 0; slot < erasures; slot += 1) if (isOdd(Atomics.load(marks, slot))) Atomics.add(marks, slot, 1);

  return (changed, isErasure, commit) => {
    // Each slot once: a slot that two documents share would be even again in between.
    const touched = new Set<number>();
    for (const { key, id } of changed) touched.add(slotOf(id)).add(collectionSlotOf(key));
    for (const slot of touched) Atomics.add(marks, slot, 1);
    try {
      commit();
    } finally {
      if (isErasure) Atomics.add(marks, erasures, 1);
      for (const slot of touched) Atomics.add(marks, slot, 1);
    }
  };
}

/** Whether a mark says that a commit is under way. */
export function isOdd(mark: number): boolean {
  return (mark & 1) === 1;
}

/** The slot of a document. Ids differ at their ends. */
export function slotOf(id: string): number {
  return hashed(id, Math.max(0, id.length - 8)) & (slots - 1);
}

/** The slot of a collection, by the key of its tables. */
export function collectionSlotOf(key: string): number {
  return slots + (hashed(key, 0) & (collectionSlots - 1));
}

function hashed(text: string, start: number): number {
  let sum = 0;
  for (let index = start; index < text.length; index += 1) sum = (Math.imul(sum, 31) + text.charCodeAt(index)) | 0;
  return sum ^ (sum >>> 16);
}
