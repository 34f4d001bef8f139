import { hash } from 'node:crypto';
import type { LongRead } from './long-read-queue.ts';

/** The state of the read tables: the position of the log, and the number of erasures they have had. */
export type TableState = { position: number; erasures: number };

/** The most characters of all answers that a thread keeps, and of one answer. */
const keptBounds = { all: 4 * 1024 * 1024, one: 256 * 1024, idleMilliseconds: 30_000 };

/** An answer, and the last position at which it is known to hold. */
type Entry = { file: string; position: number; answer: unknown; characters: number };

/** The key of an answer: the read file, and a hash of all else that decides it. */
type KeptKey = { file: string; hash: string };

/** The answers that a thread keeps until something is written that they depend on. */
type KeptAnswers = {
  /**
   * The answer under a key, if it was made from the same documents.
   *
   * @param lastWrite gives the position of the newest event about the documents, at that state of the read tables or
   * later.
   */
  get: <T>(key: KeptKey, state: TableState, lastWrite: () => number) => T | undefined;
  /** @param state in which it was made, or would have been: nothing was written since that it depends on. */
  set: (key: KeptKey, state: TableState, answer: unknown) => void;
  size: () => number;
  /** Drops all answers. */
  close: () => void;
};

/**
 * Keeps the most recently used answers in memory, each until a document is written in a collection that it depends on.
 * The answers of a read file are dropped after an erasure, and all if none is asked for in 30 to 60 s.
 */
export function openKept(bounds = keptBounds): KeptAnswers {
  const entries = new Map<string, Entry>();
  let characters = 0;
  let timer: NodeJS.Timeout | undefined;
  let isUsed = false;
  /** The number of erasures that each read file is known to have had. */
  const erasures = new Map<string, number>();

  function drop(hash: string, entry: Entry): void {
    entries.delete(hash);
    characters -= entry.characters;
  }

  function clear(): void {
    entries.clear();
    erasures.clear();
    characters = 0;
    clearInterval(timer);
    timer = undefined;
  }

  function look(): void {
    if (!isUsed) clear();
    isUsed = false;
  }

  /**
   * Drops the answers of a read file that has had another erasure. @returns false for an answer from before the last
   * erasure.
   */
  function isCurrent(file: string, state: TableState): boolean {
    const known = erasures.get(file) ?? 0;
    if (state.erasures > known) {
      for (const [hash, entry] of entries) if (entry.file === file) drop(hash, entry);
      erasures.set(file, state.erasures);
    }
    return state.erasures >= known;
  }

  return {
    get<T>({ file, hash }: KeptKey, state: TableState, lastWrite: () => number) {
      const entry = isCurrent(file, state) ? entries.get(hash) : undefined;
      if (!entry) return undefined;
      if (entry.position !== state.position) {
        if (lastWrite() > entry.position) {
          drop(hash, entry);
          return undefined;
        }
        entry.position = Math.max(entry.position, state.position);
      }
      entries.delete(hash);
      entries.set(hash, entry);
      isUsed = true;
      // The key of a read leads to an answer of its kind.
      return entry.answer as T;
    },
    set({ file, hash }, state, answer) {
      const size = hash.length + charactersIn(answer);
      if (size > bounds.one || !isCurrent(file, state)) return;
      const known = entries.get(hash);
      if (known) drop(hash, known);
      entries.set(hash, { file, position: state.position, answer, characters: size });
      characters += size;
      isUsed = true;
      for (const [oldest, entry] of entries) {
        if (characters <= bounds.all) break;
        drop(oldest, entry);
      }
      timer ??= setInterval(look, bounds.idleMilliseconds).unref();
    },
    size: () => entries.size,
    close: clear,
  };
}

/** The number of characters in the texts of an answer, which may be many. */
function charactersIn(value: unknown): number {
  if (typeof value === 'string') return value.length;
  if (typeof value !== 'object' || value === null) return 8;
  return Object.values(value).reduce((sum: number, one) => sum + charactersIn(one), 0);
}

/**
 * The key of an answer: all that decides it, except for the state of the read tables. Tables are identified by their
 * keys, overlays by their texts too.
 */
export function keyOf({ file, tables, position, read }: LongRead): KeptKey {
  const said = JSON.stringify([file, nameOf(tables), position, read], (name, value: unknown) =>
    name === 'tables' && isTables(value) ? nameOf(value) : plain(value),
  );
  return { file, hash: hash('sha256', said, 'base64') };
}

type NamedTables = Pick<LongRead['tables'], 'key' | 'documents' | 'overlay'>;

function isTables(value: unknown): value is NamedTables {
  return typeof value === 'object' && value !== null && 'key' in value && 'documents' in value;
}

/** The text of an overlay has its conditions. */
function nameOf({ key, documents, overlay }: NamedTables): string {
  return overlay ? `${key} ${documents}` : key;
}

/** Writes sets as lists, because JSON would make all sets alike. */
function plain(value: unknown): unknown {
  return value instanceof Set ? [...value] : value;
}
