import { keepUntilRest } from '../storage/kept.ts';

/**
 * A count for each slot of documents, which the thread that writes the read tables shares with those that read them: odd while a commit that
 * changes one of them is under way. The last one counts erasures.
 */
export type RowMarks = Int32Array<SharedArrayBuffer>;

/** A document as it is stored, and the version of its stream; the text is null if only the version was read. */
export type KeptRow = { text: string | null; version: number };

type Entry = KeptRow & { mark: number };

/** The rows of one collection that a thread keeps. */
export type RowStore = {
  /** The row of a document, if it was kept and nothing has changed it since; undefined otherwise. */
  get: (id: string) => KeptRow | undefined;
  /** Reads a row, and keeps it unless it may be that of another moment. */
  read: <R extends KeptRow>(id: string, read: () => R | null) => R | null;
};

/** So many that hardly two documents that are read often share one. */
const slots = 65_536;
const erasures = slots;

/** Half of what the rows of a thread may take: the newer half pushes the older out. */
const mostBytes = 16 * 1024 * 1024;
/** An entry beside its text: the maps, the id, the object. */
const entryBytes = 200;
/** A text that is longer would push out many others. */
const longest = 256 * 1024;

/** The marks of a service. */
export function createRowMarks(): RowMarks {
  return new Int32Array(new SharedArrayBuffer((slots + 1) * Int32Array.BYTES_PER_ELEMENT));
}

/**
 * The side of the thread that writes. A writer that was killed in the middle of a commit may have left marks odd.
 *
 * @returns runs a commit that changes these documents.
 */
export function markRows(marks: RowMarks): (ids: Iterable<string>, isErasure: boolean, commit: () => void) => void {
  for (let slot = 0; slot < slots; slot += 1) if (isOdd(Atomics.load(marks, slot))) Atomics.add(marks, slot, 1);

  return (ids, isErasure, commit) => {
    // One that two documents share would be even again in between.
    const changed = new Set<number>();
    for (const id of ids) changed.add(slotOf(id));
    for (const slot of changed) Atomics.add(marks, slot, 1);
    try {
      commit();
    } finally {
      if (isErasure) Atomics.add(marks, erasures, 1);
      for (const slot of changed) Atomics.add(marks, slot, 1);
    }
  };
}

/**
 * Keeps rows of documents in a thread that reads, up to 32 MiB, without a look at the file for as long as nothing changes them. A row
 * is as new as a query would give it: it counts only while its mark is that from before it was read, and even. From before a commit
 * is visible until after it, the mark is odd, and all threads read from the file.
 *
 * @param isApart whether a query would now see an earlier moment, inside of a transaction.
 */
export function keepRows(marks: RowMarks, isApart: () => boolean): { of: () => RowStore; close: () => void } {
  const stores = new Set<{ age: () => void; clear: () => void }>();
  let bytes = 0;
  let erased = Atomics.load(marks, erasures);

  function grow(by: number): void {
    bytes += by;
    if (bytes <= mostBytes) return;
    bytes = 0;
    for (const { age } of stores) age();
  }

  function clear(): void {
    bytes = 0;
    for (const store of stores) store.clear();
  }

  /** An erasure leaves nothing, here neither. */
  function forgetErased(): void {
    const now = Atomics.load(marks, erasures);
    if (now === erased) return;
    erased = now;
    clear();
  }

  function of(): RowStore {
    let young = new Map<string, Entry>();
    let old = new Map<string, Entry>();
    stores.add({
      age() {
        old = young;
        young = new Map();
      },
      clear() {
        old = new Map();
        young = new Map();
      },
    });

    function keep(id: string, entry: Entry): void {
      const length = entry.text?.length ?? 0;
      if (length > longest) return;
      young.set(id, entry);
      grow(length + entryBytes);
    }

    function get(id: string): KeptRow | undefined {
      forgetErased();
      const known = young.get(id);
      if (known) return known.mark === Atomics.load(marks, slotOf(id)) ? known : undefined;
      const before = old.get(id);
      if (before?.mark !== Atomics.load(marks, slotOf(id))) return undefined;
      keep(id, before);
      return before;
    }

    function read<R extends KeptRow>(id: string, readRow: () => R | null): R | null {
      const slot = slotOf(id);
      const mark = Atomics.load(marks, slot);
      const row = readRow();
      if (row === null || isOdd(mark) || isApart() || Atomics.load(marks, slot) !== mark) return row;
      keep(id, { text: row.text, version: row.version, mark });
      return row;
    }

    return { get, read };
  }

  return { of, close: keepUntilRest(clear) };
}

function isOdd(mark: number): boolean {
  return (mark & 1) === 1;
}

/** Ids differ at their ends. */
function slotOf(id: string): number {
  let sum = 0;
  for (let index = Math.max(0, id.length - 8); index < id.length; index += 1)
    sum = (Math.imul(sum, 31) + id.charCodeAt(index)) | 0;
  return (sum ^ (sum >>> 16)) & (slots - 1);
}
