import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { privateFile } from '../../storage/private.ts';

/** A missing index: of the values of a field, by its path; if `field` is null, of the words of a collection. */
export type Missing = { collection: string; field: string | null };

/**
 * A missing index with its reads: how many took long, the milliseconds of the slowest, and when the last was (ISO
 * 8601).
 */
export type SeenMissing = Missing & { reads: number; slowest: number; lastAt: string };

/** The missing indexes; the main thread has the list. */
export type MissingIndexes = {
  note: (read: Missing & { milliseconds: number }) => Promise<void>;
  /** Sorted by the number of reads, most first. */
  all: () => Promise<SeenMissing[]>;
};

/** The list of missing indexes, which outlives the service. */
type MissingList = MissingIndexes & {
  /** Writes changes that are not written yet. */
  close: () => void;
};

/** The fields are those of the configuration, so the list stays short. */
const mostListed = 100;
/** A slow read is forgotten after this time: its client may no longer exist. */
const mostDays = 30;
const writeMilliseconds = 5000;

const fileIn = (directory: string) => join(directory, 'missing-indexes.json');

/**
 * Opens the list of a data directory. The list is written some seconds after a read; if the disk refuses, nothing
 * fails.
 */
export function openMissingList(directory: string, now = Date.now): MissingList {
  const listed = new Map(readMissingList(directory, now()).map((one) => [nameOfMissing(one), one]));
  let timer: NodeJS.Timeout | undefined;

  function write(): void {
    clearTimeout(timer);
    timer = undefined;
    try {
      const partial = `${fileIn(directory)}.${process.pid}.partial`;
      writeFileSync(partial, JSON.stringify([...listed.values()]), { mode: privateFile });
      renameSync(partial, fileIn(directory));
    } catch {}
  }

  return {
    async note({ milliseconds, ...missing }) {
      const name = nameOfMissing(missing);
      const known = listed.get(name);
      listed.delete(name);
      listed.set(name, {
        ...missing,
        reads: (known?.reads ?? 0) + 1,
        slowest: Math.max(known?.slowest ?? 0, Math.round(milliseconds)),
        lastAt: new Date(now()).toISOString(),
      });
      const [oldest] = listed.keys();
      if (listed.size > mostListed && oldest !== undefined) listed.delete(oldest);
      timer ??= setTimeout(write, writeMilliseconds).unref();
    },
    all: async () => byReads([...listed.values()]),
    close() {
      if (timer !== undefined) write();
    },
  };
}

/** The list in a data directory, sorted by the number of reads, most first; empty if the file is not such a list. */
export function readMissingList(directory: string, now: number): SeenMissing[] {
  try {
    const found: unknown = JSON.parse(readFileSync(fileIn(directory), 'utf8'));
    const listed = Array.isArray(found) ? found.filter(isListed) : [];
    const earliest = now - mostDays * 86_400_000;
    return byReads(listed.filter(({ lastAt }) => Date.parse(lastAt) >= earliest).slice(0, mostListed));
  } catch {
    return [];
  }
}

function byReads(listed: readonly SeenMissing[]): SeenMissing[] {
  return listed.toSorted((one, other) => other.reads - one.reads);
}

function isListed(one: Partial<SeenMissing> | null): one is SeenMissing {
  return (
    typeof one?.collection === 'string' &&
    (one.field === null || typeof one.field === 'string') &&
    Number.isInteger(one.reads) &&
    Number.isFinite(one.slowest) &&
    typeof one.lastAt === 'string'
  );
}

/** The name of an index in a line: `posts.views`, or `posts: admin.searchFields`. */
export function nameOfMissing({ collection, field }: Missing): string {
  return field === null ? `${collection}: admin.searchFields` : `${collection}.${field}`;
}

/** Advice about a missing index, for the operator. */
export function adviceOnMissing(seen: SeenMissing): string {
  const { collection, field, reads, slowest } = seen;
  const many = reads === 1 ? '1 read took' : `${reads} reads took`;
  return field === null
    ? `${many} up to ${slowest} ms to look through all texts of ${collection}: name the fields to search in admin.searchFields`
    : `${many} up to ${slowest} ms by ${nameOfMissing(seen)}, which has no index: set index: true of that field`;
}
