import { createHash } from 'node:crypto';
import { finished } from 'node:stream/promises';
import { categoryOf } from '../../../config/schema.ts';
import { splitStream } from '../../../events/facts/catalogue.ts';
import { type LogReader, readLog } from '../../../events/log/log-reader.ts';
import { type NamedFile, readNamings } from '../../../events/service-events/blobs.ts';
import type { FileAt } from '../../../events/service-events/losses.ts';
import type { Progress } from '../../../projections/start/rebuild.ts';
import { epochsOf } from '../../../projections/tables/epochs.ts';
import { BlobMissingError, type BlobStore, BlobsUnavailableError } from '../../../storage/blobs.ts';
import { codeOf, messageOf } from '../../../storage/errors.ts';
import type { Sqlite } from '../../../storage/sqlite.ts';

/** A finding about a file. `what` goes on from "is", `namedBy` from that: empty when no event names it. */
export type FileProblem = { sha256: string; what: string; namedBy: string };

/** A file as a document has it, from that version on, and whether it is there. */
export type HeldFile = FileAt & { state: 'sound' | 'missing' | 'altered' };

/** The result of a check of a store. */
export type StoreVerdict = {
  /** The size of every file that was there, in bytes. */
  stored: ReadonlyMap<string, number>;
  /** The stored files that no event names. */
  unnamed: string[];
  /** How many files the versions of the log need. */
  needed: number;
  problems: FileProblem[];
};

/** As many files are read at once: a bucket takes its time before the first byte of each. */
const readers = 4;

/** The most versions named for each file with a finding. */
const maxTold = 20;

const missing = 'missing';

/**
 * Holds every file of a store against its name, and the store against the log. Files that come and go meanwhile are not
 * reported: what an event names was stored before it and is not removed, so the log is read first.
 */
export async function verifyStore(
  db: Sqlite,
  blobs: BlobStore,
  progress: { log: Progress; files: Progress },
): Promise<StoreVerdict> {
  const log = readLog(db);
  const isUpload = uploadsOf(log);
  const { size } = log.head();
  /** True for what a version of an upload needs; anything else only has the looks of it. */
  const named = new Map<string, boolean>();
  for (const naming of readNamings(db, 0, size, progress.log)) {
    named.set(naming.sha256, named.get(naming.sha256) === true || isUpload(naming));
  }
  const stored = new Map<string, number>();
  for await (const blob of blobs.list()) stored.set(blob.sha256, blob.size);

  const problems = await checkAll(blobs, stored, progress.files);
  for (const [sha256, isNeeded] of named) {
    if (isNeeded && !stored.has(sha256) && (await blobs.size(sha256)) === null) problems.set(sha256, missing);
  }
  for (const [sha256, what] of problems) {
    // It went while it was looked at, and nothing needs it: it was collected.
    if (what === missing && !named.get(sha256)) problems.delete(sha256);
  }
  const later = new Set(readNamings(db, size, log.head().size).map(({ sha256 }) => sha256));
  return {
    stored,
    unnamed: [...stored.keys()].filter((sha256) => !named.has(sha256) && !later.has(sha256)),
    needed: [...named.values()].filter((isNeeded) => isNeeded).length,
    problems: toldOf(db, size, problems),
  };
}

/** Which events are about uploads: by the schema that held when they were recorded. */
function uploadsOf(log: LogReader): (naming: NamedFile) => boolean {
  const epochs = epochsOf(log).map(({ position, schema }) => {
    const uploads = schema.collections.filter(({ upload }) => upload !== undefined);
    return { position, categories: new Set(uploads.map(categoryOf)) };
  });
  return ({ position, stream }) => {
    const epoch = epochs.findLast((one) => one.position <= position);
    return epoch?.categories.has(splitStream(stream)[0]) ?? false;
  };
}

/** Each file of the log as the documents hold it, after a check of the store. */
export function* holdingsOf(db: Sqlite, { problems }: StoreVerdict): Generator<HeldFile> {
  const log = readLog(db);
  const isUpload = uploadsOf(log);
  const known = new Map(
    problems.map(({ sha256, what }) => [sha256, what === missing ? 'missing' : 'altered'] as const),
  );
  const told = new Set<string>();
  for (const naming of readNamings(db, 0, log.head().size)) {
    const { sha256, stream, version } = naming;
    if (told.has(`${stream} ${sha256}`) || !isUpload(naming)) continue;
    told.add(`${stream} ${sha256}`);
    yield { stream, version, state: known.get(sha256) ?? 'sound' };
  }
}

/** Reads every file. Gives those whose bytes are wrong, with the digest found. */
async function checkAll(blobs: BlobStore, stored: ReadonlyMap<string, number>, progress: Progress) {
  const problems = new Map<string, string>();
  const total = [...stored.values()].reduce((sum, size) => sum + size, 0);
  const queue = stored.keys();
  let done = 0;

  async function work(): Promise<void> {
    for (const sha256 of queue) {
      const problem = await check(blobs, sha256, (count) => {
        done += count;
        progress(done, total);
      });
      if (problem) problems.set(sha256, problem);
    }
  }

  await Promise.all(Array.from({ length: readers }, work));
  return problems;
}

async function check(blobs: BlobStore, sha256: string, onBytes: (count: number) => void): Promise<string | null> {
  const hash = createHash('sha256');
  try {
    const stream = await blobs.open(sha256);
    stream.on('data', (chunk: Buffer) => {
      hash.update(chunk);
      onBytes(chunk.length);
    });
    await finished(stream);
  } catch (error) {
    if (error instanceof BlobMissingError || (await blobs.size(sha256)) === null) return missing;
    // A file that the disk cannot read is a finding; a store that does not answer is not.
    if (error instanceof BlobsUnavailableError || codeOf(error) !== 'EIO') throw error;
    return `damaged: ${messageOf(error)}`;
  }
  const found = hash.digest('hex');
  return found === sha256 ? null : `altered: the SHA-256 of its bytes is ${found}`;
}

/** The problems with the versions that name each file. */
function toldOf(db: Sqlite, upTo: number, problems: ReadonlyMap<string, string>): FileProblem[] {
  const versions = new Map<string, { told: string[]; more: number }>();
  for (const { sha256, stream, version } of problems.size > 0 ? readNamings(db, 0, upTo) : []) {
    if (!problems.has(sha256)) continue;
    const found = versions.get(sha256) ?? { told: [], more: 0 };
    versions.set(sha256, found);
    if (found.told.length < maxTold) found.told.push(`${stream} version ${version}`);
    else found.more += 1;
  }
  return [...problems].map(([sha256, what]) => {
    const { told, more } = versions.get(sha256) ?? { told: [], more: 0 };
    const list = `${told.join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
    return { sha256, what, namedBy: told.length > 0 ? `; named by ${list}` : '' };
  });
}
