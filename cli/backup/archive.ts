import { createHash } from 'node:crypto';
import { PassThrough, Readable } from 'node:stream';
import { finished, pipeline } from 'node:stream/promises';
import { extract, pack } from 'tar-stream';
import { isObject } from '../../config/schema.ts';
import { isSegmentName } from '../../events/segments/segments.ts';
import { isSha256 } from '../../storage/blobs.ts';
import { messageOf } from '../../storage/errors.ts';

/** Thrown for a file that is not a whole backup; the message goes on from its name. */
export class BackupError extends Error {
  override name = 'BackupError';
}

/** A file of an archive. Its content must have exactly `size` bytes. */
export type ArchiveEntry = { name: string; size: number; content: () => Readable | Promise<Readable> };

/** The names of the entries that each archive of its kind has (docs/backup.md). */
export const names = {
  manifest: 'annals-backup.json',
  vault: 'vault.db',
  log: 'log.db',
  packedLog: 'log.db.zst',
  events: 'events.ndjson',
  checkpoint: 'checkpoint.txt',
  sums: 'SHA256SUMS',
} as const;

/**
 * The description of a backup inside the archive. `after`: the number of events that an earlier backup must have, 0 if
 * this archive has the whole log; `size`: the number of events with those of this archive. `root` is the root of the
 * tree of `size` events, in base64; `beginsWith` the root of the first `after`.
 */
export type BackupManifest = {
  /** 2 for a backup whose segments are beside it. */
  format: 1 | 2;
  log: string;
  after: number;
  beginsWith: string | null;
  size: number;
  root: string;
  recordedAt: string;
  takenAt: string;
  version: string;
  /** SHA-256 of files that the log names and that the store did not have. */
  missing: string[];
  /**
   * The names of the files with its segments, in the folder `segments` beside it; null if the archive has the segments.
   */
  segments: string[] | null;
  /**
   * Of a node: the token of its log in PostgreSQL, as the file `replica` has it; null if the log is not in PostgreSQL.
   */
  replica: string | null;
};

/** The name of the entry of a stored file. */
export function blobEntry(sha256: string): string {
  return `blobs/${sha256.slice(0, 2)}/${sha256}`;
}

/** The SHA-256 that names the stored file of an entry; null for another entry. */
export function blobIn(name: string): string | null {
  const sha256 = name.slice(-64);
  return isSha256(sha256) && name === blobEntry(sha256) ? sha256 : null;
}

/** The name of an anchored checkpoint; null for another entry. */
export function anchorIn(name: string): string | null {
  return /^blobs\/checkpoints\/([a-z\d-]{1,200})$/.exec(name)?.[1] ?? null;
}

/** The name of the entry of a segment. */
export function segmentEntry(file: string): string {
  return `segments/${file}`;
}

/** The name of the file of a segment; null for another entry. */
export function segmentIn(name: string): string | null {
  const [folder, file = '', ...more] = name.split('/');
  return folder === 'segments' && more.length === 0 && isSegmentName(file) ? file : null;
}

/** An entry with a text. */
export function textEntry(name: string, text: string): ArchiveEntry {
  const bytes = Buffer.from(text);
  return { name, size: bytes.length, content: () => Readable.from([bytes], { objectMode: false }) };
}

const zeros = '0'.repeat(64);

/**
 * A tar archive of these entries as a stream. The last entry, `SHA256SUMS`, is made here: it proves that the archive is
 * whole. The digest of an entry that is written is given to `onEntry`.
 */
export function archiveOf(
  entries: AsyncIterable<ArchiveEntry> | Iterable<ArchiveEntry>,
  { mtime, onEntry = () => {} }: { mtime: Date; onEntry?: (name: string, sha256: string, size: number) => void },
): Readable {
  const tar = pack();
  const output = Readable.from(tar, { objectMode: false });
  addAll().catch((error) => output.destroy(error instanceof Error ? error : new Error(String(error))));
  return output;

  async function addAll(): Promise<void> {
    const sums: string[] = [];
    for await (const { name, size, content } of entries) {
      const digest = createHash('sha256');
      const source = await content();
      let bytes = 0;
      const sink = tar.entry({ name, size, mode: 0o600, mtime });
      for await (const chunk of source as AsyncIterable<Buffer>) {
        bytes += chunk.length;
        if (bytes > size || output.destroyed) break;
        digest.update(chunk);
        if (!sink.write(chunk)) await drained(sink);
      }
      if (output.destroyed) return;
      if (bytes !== size) throw new Error(`${name} changed its size while it was read`);
      sink.end();
      const sha256 = digest.digest('hex');
      sums.push(`${sha256}  ${name}\n`);
      onEntry(name, sha256, size);
    }
    const bytes = Buffer.from(sums.join(''));
    tar.entry({ name: names.sums, size: bytes.length, mode: 0o600, mtime }, bytes);
    tar.finalize();
  }
}

/** The streams of tar-stream are not streams of Node. */
function drained(sink: NodeJS.WritableStream): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const go = () => resolve();
  sink.once('drain', go).once('close', go).once('error', reject);
  return promise.finally(() => sink.off('drain', go).off('close', go).off('error', reject));
}

/** Reads one entry; an unread rest of it is passed over. Gives `stop` for an archive that is not to be read on. */
export type Taking = (name: string, content: Readable, size: number) => Promise<'stop' | undefined>;

const largestText = 64 * 1024 * 1024;

/**
 * Reads an archive from its beginning, entry by entry, and checks every digest.
 *
 * @returns the stored files, by their names, that are not what their names say: they were altered before they were
 * saved.
 * @throws BackupError for what is not an archive, not whole, or not what `SHA256SUMS` says.
 */
export async function readArchive(source: Readable, take: Taking): Promise<string[]> {
  const tar = extract();
  const digests: string[] = [];
  const altered: string[] = [];
  let sums: string | null = null;
  let last: string | null = null;
  let head: Buffer = Buffer.alloc(0);
  source.once('data', (bytes: Buffer) => {
    head = bytes;
  });
  // The end of the source ends the archive, and its failure too.
  source.once('error', (error) => tar.destroy(error));
  source.pipe(tar as typeof tar & NodeJS.WritableStream);
  try {
    for await (const entry of tar) {
      const { name, size = 0, type } = entry.header;
      last = name;
      if (type !== 'file' || !isKnown(name))
        throw new BackupError(`is not a backup of Annals: it has ${JSON.stringify(name)}`);
      if (sums !== null) throw new BackupError(`goes on after ${names.sums}`);
      if (digests.length === 0 && name !== names.manifest)
        throw new BackupError(`is not a backup of Annals: it does not begin with ${names.manifest}`);
      if (name === names.sums) {
        sums = await textOf(Readable.from(entry), size);
        continue;
      }
      const { stopped, sha256 } = await digested(Readable.from(entry), (content) => take(name, content, size));
      if (stopped) return altered;
      const blob = blobIn(name);
      if (blob !== null && blob !== sha256) altered.push(blob);
      digests.push(`${sha256}  ${name}\n`);
    }
  } catch (error) {
    const [isDamaged, isShort] = ['Invalid tar header', 'Unexpected end of data'].map((start) =>
      messageOf(error).startsWith(start),
    );
    if (!isDamaged && !isShort) throw error;
    if (last === null) throw new BackupError(`is not a backup of Annals: ${formatOf(head)}`);
    throw new BackupError(`is not a whole backup: it ${isShort ? 'ends at' : 'is damaged after'} ${last}`);
  } finally {
    source.unpipe();
    source.destroy();
    tar.destroy();
  }
  if (last === null) throw new BackupError('is not a backup of Annals: it is empty');
  if (sums === null) throw new BackupError(`is not a whole backup: it ends without ${names.sums}`);
  const wrong = digests.find((line, index) => line !== `${sums.split('\n')[index]}\n`);
  if (wrong) throw new BackupError(`was altered: ${wrong.slice(zeros.length + 2, -1)} is not what ${names.sums} says`);
  if (sums !== digests.join('')) throw new BackupError(`is not a whole backup: ${names.sums} names more than there is`);
  return altered;
}

/** The first bytes of files that backups are taken for, or packed into. */
const marks: Record<string, string> = {
  '1f8b': 'it is compressed with gzip. Decompress it first',
  '28b52ffd': 'it is compressed with zstd. Decompress it first',
  fd377a585a00: 'it is compressed with xz. Decompress it first',
  '504b0304': 'it is a ZIP archive, and backups are tar archives',
};

function formatOf(head: Buffer): string {
  const found = Object.keys(marks).find((mark) => head.toString('hex', 0, mark.length / 2) === mark);
  return found === undefined ? 'it is not a tar archive' : (marks[found] as string);
}

async function digested(source: Readable, take: (content: Readable) => Promise<'stop' | undefined>) {
  const digest = createHash('sha256');
  const content = new PassThrough();
  const passing = pipeline(
    source,
    async function* (chunks: AsyncIterable<Buffer>) {
      for await (const chunk of chunks) {
        digest.update(chunk);
        yield chunk;
      }
    },
    content,
  );
  passing.catch(() => {});
  const stopped = (await take(content)) === 'stop';
  if (stopped) content.destroy();
  else {
    // A reader may leave a rest of it.
    content.resume();
    await finished(content, { writable: false });
    await passing;
  }
  return { stopped, sha256: digest.digest('hex') };
}

function isKnown(name: string): boolean {
  return (
    (Object.values(names) as string[]).includes(name) ||
    [blobIn, anchorIn, segmentIn].some((find) => find(name) !== null)
  );
}

/** The text of an entry. @throws BackupError if the entry is too large to be a text. */
export async function textOf(content: Readable, size: number): Promise<string> {
  if (size > largestText) throw new BackupError(`is not a backup of Annals: a text in it has ${size} bytes`);
  return Buffer.concat(await content.toArray()).toString();
}

/** Reads the manifest. @throws BackupError for any other text, and for the manifest of a later version. */
export function readManifest(text: string): BackupManifest {
  const found = parsed(text);
  if (!isObject(found)) throw new BackupError(`is not a backup of Annals: ${names.manifest} is not an object`);
  const {
    format,
    log,
    after,
    beginsWith,
    size,
    root,
    recordedAt,
    takenAt,
    version,
    missing,
    segments = null,
    replica = null,
  } = found;
  if (format !== 1 && format !== 2)
    throw new BackupError(`has format ${JSON.stringify(format)}; this version of Annals reads formats 1 and 2`);
  const isSound =
    typeof log === 'string' &&
    isCount(after) &&
    isCount(size) &&
    after <= size &&
    (beginsWith === null || typeof beginsWith === 'string') &&
    typeof root === 'string' &&
    typeof recordedAt === 'string' &&
    typeof takenAt === 'string' &&
    typeof version === 'string' &&
    Array.isArray(missing) &&
    (format === 1 ? segments === null : isTexts(segments)) &&
    (replica === null || typeof replica === 'string');
  if (!isSound) throw new BackupError(`is not a backup of Annals: ${names.manifest} is incomplete`);
  const names_ = missing.filter((one): one is string => typeof one === 'string' && isSha256(one));
  const beside = isTexts(segments) ? segments : null;
  return {
    format,
    log,
    after,
    beginsWith,
    size,
    root,
    recordedAt,
    takenAt,
    version,
    missing: names_,
    segments: beside,
    replica,
  };
}

function parsed(text: string) {
  try {
    return JSON.parse(text);
  } catch {
    throw new BackupError(`is not a backup of Annals: ${names.manifest} is not JSON`);
  }
}

function isTexts(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((one) => typeof one === 'string');
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && Number(value) >= 0;
}
