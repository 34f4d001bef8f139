import { keepUntilRest } from '../../storage/kept.ts';
import { collectionSlotOf, erasures, isOdd, type RowMarks, slotOf } from '../tables/row-marks.ts';
import type { Page } from './lists.ts';

/** A document as it is stored, and the version of its stream; the text is null if only the version was read. */
export type KeptRow = { text: string | null; version: number };

/** The values of one kind that a thread keeps for a collection. */
export type ValueCache<V extends object> = {
  /** A value, if it is kept and nothing has changed it since; undefined otherwise. */
  get: (key: string) => V | undefined;
  /** Reads a value, and keeps it unless it is null or may be of another moment. */
  read: <R extends V>(key: string, read: () => R | null) => R | null;
};

/** The rows of a collection by id, and the pages of its lists by their keys. */
export type CollectionCaches = { rows: ValueCache<KeptRow>; pages: ValueCache<Page> };

/** An entry beside its texts: the maps, the key, the object. */
const entryBytes = 200;
/**
 * The memory of a text with characters beyond Latin-1. Whether a text has some is not known, so the bound assumes it
 * for all.
 */
const bytesPerUnit = 2;
/** In UTF-16 units: a longer value would push out many others. */
const longest = 256 * 1024;

/** Keeps nothing. */
export const keepsNothing: CollectionCaches = {
  rows: { get: () => undefined, read: (_id, read) => read() },
  pages: { get: () => undefined, read: (_key, read) => read() },
};

type CacheHalves = { age: () => void; clear: () => void };

/** The caches of this thread, of all its services, and the bytes of their newer halves. */
const stores = new Set<CacheHalves>();
let bytes = 0;

/** Counts bytes; when the newer halves are full, they replace the older ones. */
function grow(by: number, most: number): void {
  bytes += by;
  if (bytes <= most / 2) return;
  bytes = 0;
  for (const { age } of stores) age();
}

keepUntilRest(() => {
  bytes = 0;
  for (const { clear } of stores) clear();
});

/**
 * `most`: the bytes that a thread may keep, for all services together. `isApart`: whether a query would see an earlier
 * moment, inside a transaction.
 */
type KeepOptions = { most: number; isApart: () => boolean };

/**
 * Keeps values of the read tables in a reading thread, which need no look at the file as long as nothing changes them.
 * A value is as new as a query would give it: it counts only while its mark is even, and the same as before it was
 * read. From before a commit is visible until after it the mark is odd, and all threads read from the file.
 *
 * @returns `of` gives the caches of the collection whose tables have this key.
 */
export function keepRows(
  marks: RowMarks,
  { most, isApart }: KeepOptions,
): { of: (key: string) => CollectionCaches; close: () => void } {
  const own: CacheHalves[] = [];
  let erased = Atomics.load(marks, erasures);

  /** Forgets all values after an erasure. */
  function forgetErased(): void {
    const now = Atomics.load(marks, erasures);
    if (now === erased) return;
    erased = now;
    for (const { clear } of own) clear();
  }

  function openStore<V extends object>(slotAt: (key: string) => number, sizeOf: (value: V) => number): ValueCache<V> {
    let young = new Map<string, { value: V; mark: number }>();
    let old = new Map<string, { value: V; mark: number }>();
    const halves = {
      age() {
        old = young;
        young = new Map();
      },
      clear() {
        old = new Map();
        young = new Map();
      },
    };
    own.push(halves);
    stores.add(halves);

    function keep(key: string, value: V, mark: number): void {
      const size = sizeOf(value);
      if (size > longest || most === 0) return;
      young.set(key, { value, mark });
      grow((size + key.length) * bytesPerUnit + entryBytes, most);
    }

    function get(key: string): V | undefined {
      forgetErased();
      const known = young.get(key) ?? old.get(key);
      if (!known || known.mark !== Atomics.load(marks, slotAt(key))) return undefined;
      if (!young.has(key)) keep(key, known.value, known.mark);
      return known.value;
    }

    function read<R extends V>(key: string, readValue: () => R | null): R | null {
      const slot = slotAt(key);
      const mark = Atomics.load(marks, slot);
      const value = readValue();
      if (value === null || isOdd(mark) || isApart() || Atomics.load(marks, slot) !== mark) return value;
      keep(key, value, mark);
      return value;
    }

    return { get, read };
  }

  return {
    of(key) {
      const slot = collectionSlotOf(key);
      return {
        rows: openStore<KeptRow>(slotOf, ({ text }) => text?.length ?? 0),
        pages: openStore<Page>(
          () => slot,
          ({ texts }) => texts.reduce((sum, { length }) => sum + length, 0),
        ),
      };
    },
    close() {
      for (const halves of own) stores.delete(halves);
    },
  };
}
