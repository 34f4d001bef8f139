import { closeSync, fstatSync, openSync, readFileSync, readSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { codeOf } from '../../storage/errors.ts';
import type { Sqlite } from '../../storage/sqlite.ts';
import { formatOf } from '../store/log-file.ts';
import { isOffloaded, offloadedIndex } from './offload-folder.ts';
import {
  hasStore,
  readOffloadedFrame,
  readOffloadedSegment,
  SegmentError,
  unnamedBucket,
  whichSegment,
} from './offloaded.ts';
import {
  bodyAt,
  type Frame,
  headBytes,
  indexBytes,
  type OpenFrame,
  openFrame,
  readIndex,
  SegmentFormatError,
  type SegmentIndex,
  textAt,
} from './segment-file.ts';

/**
 * The row of a segment: the payloads of positions `first` to `last`. `bytes`: size of the file; `raw`: size of the
 * payloads before compression.
 */
export type Segment = { first: number; last: number; file: string; sha256: Buffer; bytes: number; raw: number };

/** The folder of the segments of a log. @param log the path of `log.db`. */
export function segmentFolder(log: string): string {
  return join(dirname(log), 'segments');
}

/** The name of the file of a segment: its positions, and the beginning of the SHA-256 of its bytes. */
export function segmentName({ first, last, sha256 }: Pick<Segment, 'first' | 'last' | 'sha256'>): string {
  const [from, to] = [first, last].map((position) => String(position).padStart(10, '0'));
  return `${from}-${to}-${sha256.toString('hex', 0, 8)}.seg`;
}

/** Whether a file has the name of a segment. */
export function isSegmentName(name: string): boolean {
  return /^\d{10,16}-\d{10,16}-[\da-f]{16}\.seg$/.test(name);
}

/**
 * The payload of an event and its encoding, as columns `enc` and `body` of a query of `events`, or of `headers AS
 * events`, that LEFT JOINs `payloads`. The payload comes from the table while the table has it; else from the segment
 * of the position, unless it was erased after the segment was written. The connection must have gone through
 * {@link withSegments}. The file is read while the statement runs, so no file that the snapshot names has been removed.
 */
export const payloadColumns = `coalesce(payloads.enc, 0) AS enc,
  coalesce(payloads.body, CASE WHEN NOT EXISTS (SELECT 1 FROM removals WHERE removals.position = events.position) THEN
    archived_body((SELECT file FROM segments WHERE first <= events.position ORDER BY first DESC LIMIT 1), events.position)
  END) AS body`;

const connections = new WeakSet<Sqlite>();

/** Gives a connection of a log the function that {@link payloadColumns} calls. */
export function withSegments(db: Sqlite): Sqlite {
  if (connections.has(db)) return db;
  connections.add(db);
  const folder = segmentFolder(db.name);
  db.function('archived_body', { directOnly: true }, (file: unknown, position: unknown) => {
    if (typeof file !== 'string' || typeof position !== 'number') return null;
    return bodyIn(folder, file, position);
  });
  return db;
}

/** The most bytes of decompressed frames that a thread keeps, and the most indexes. */
const mostHeld = 4 * 1024 * 1024;
const mostIndexes = 64;

const indexes = new Map<string, SegmentIndex>();
const frames = new Map<string, OpenFrame>();
let held = 0;

/**
 * The payload of a position in its segment; null if the segment has none for it. Invalid UTF-8 is returned as bytes, so
 * that the commitment fails.
 *
 * @throws SegmentError.
 */
function bodyIn(folder: string, file: string, position: number): string | Buffer | null {
  const path = join(folder, file);
  return reading(path, () => {
    if (!isSegmentName(file)) throw new SegmentFormatError('its name is not one of a segment');
    const index = indexes.get(path) ?? keepIndex(path);
    const frame = frameOf(index, position);
    if (!frame) return null;
    const name = `${path}:${frame.first}`;
    const open = frames.get(name) ?? frameIn(path, name, frame);
    // The read goes on, to find all the frames that it misses.
    if (open === null) return null;
    return open.isText ? textAt(open, position - frame.first) : bodyAt(open, position - frame.first);
  });
}

/** Reads a segment; an error says which events cannot be read. @throws SegmentError. */
export function reading<T>(path: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    const which = whichSegment(path);
    if (codeOf(error) === 'ENOENT') throw new SegmentError(`${which} is missing`, { cause: error });
    if (!(error instanceof SegmentFormatError)) throw error;
    throw new SegmentError(`${which} was altered: ${error.message}`, { cause: error });
  }
}

function frameOf({ frames: all, last }: SegmentIndex, position: number): Frame | null {
  let [low, high] = [0, all.length - 1];
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if ((all[middle] as Frame).first <= position) low = middle;
    else high = middle - 1;
  }
  const frame = all[low];
  return frame && position >= frame.first && position <= last ? frame : null;
}

/** Reads a segment from its file; if the file is not here and the bucket has the segment, from there. */
function localOrOffloaded<T>(path: string, here: () => T, offloaded: () => T): T {
  try {
    return here();
  } catch (error) {
    if (codeOf(error) === 'ENOENT' && isOffloaded(path)) return offloaded();
    throw error;
  }
}

/**
 * All bytes of a segment.
 *
 * @throws SegmentOffloadedError if only the bucket has the segment, in a thread that does not wait.
 */
export function wholeSegment(path: string): Buffer {
  return localOrOffloaded(
    path,
    () => readFileSync(path),
    () => readOffloadedSegment(path),
  );
}

function frameIn(path: string, name: string, frame: Frame): OpenFrame | null {
  const bytes = localOrOffloaded(
    path,
    () => bytesOf(path, frame.offset, frame.length),
    () => readOffloadedFrame(path, frame),
  );
  return bytes && keepFrame(name, openFrame(frame, bytes));
}

function keepIndex(path: string): SegmentIndex {
  const head = (length: number) =>
    localOrOffloaded(
      path,
      () => bytesOf(path, 0, length),
      () => offloadedIndex(path)?.subarray(0, length) ?? Buffer.alloc(0),
    );
  const index = readIndex(head(indexBytes(head(headBytes))));
  const [oldest] = indexes.keys();
  if (indexes.size >= mostIndexes && oldest !== undefined) indexes.delete(oldest);
  indexes.set(path, index);
  return index;
}

function keepFrame(name: string, frame: OpenFrame): OpenFrame {
  frames.set(name, frame);
  held += frame.raw.length;
  for (const [oldest, { raw }] of frames) {
    if (held <= mostHeld || oldest === name) break;
    frames.delete(oldest);
    held -= raw.length;
  }
  return frame;
}

/** Opens the file for each read: the disk keeps the bytes of a removed file while it is open. */
function bytesOf(path: string, offset: number, length: number): Buffer {
  const file = openSync(path, 'r');
  try {
    // A damaged index may ask for more than there is.
    const bytes = Buffer.alloc(Math.max(0, Math.min(length, fstatSync(file).size - offset)));
    let read = 0;
    while (read < bytes.length) {
      const more = readSync(file, bytes, read, bytes.length - read, offset + read);
      if (more === 0) break;
      read += more;
    }
    return bytes.subarray(0, read);
  } finally {
    closeSync(file);
  }
}

/** The segments of a log, in the order of their positions. */
export function segmentsOf(db: Sqlite): Segment[] {
  return db.prepare<[], Segment>('SELECT first, last, file, sha256, bytes, raw FROM segments ORDER BY first').all();
}

/**
 * Looks for the files of all segments, without reading them, and without asking the bucket about the segments it has.
 *
 * @throws SegmentError if a file is missing or has another length, or if a segment is in a bucket that is not named.
 */
export function requireSegments(db: Sqlite): void {
  const folder = segmentFolder(db.name);
  for (const { file, bytes } of segmentsOf(db)) {
    const path = join(folder, file);
    const found = statSync(path, { throwIfNoEntry: false })?.size;
    if (found === undefined && isOffloaded(path)) {
      if (!hasStore(folder)) throw unnamedBucket(path);
      continue;
    }
    reading(path, () => {
      if (found === undefined) statSync(path);
      if (found !== bytes) throw new SegmentFormatError(`segments/${file} has ${found} bytes, and had ${bytes}`);
    });
  }
}

/** Whether only the bucket has the segment of a position. */
export function isInBucket(db: Sqlite, position: number): boolean {
  const select = 'SELECT file FROM segments WHERE first <= ? AND last >= ? ORDER BY first DESC LIMIT 1';
  const file = db.prepare<[number, number], string>(select).pluck().get(position, position);
  return file !== undefined && isGone(db, file);
}

/** Whether only the bucket has some segment. Logs of a format before 4 have no segments. */
export function areSomeInBucket(db: Sqlite): boolean {
  return formatOf(db) >= 4 && segmentsOf(db).some(({ file }) => isGone(db, file));
}

function isGone(db: Sqlite, file: string): boolean {
  const path = join(segmentFolder(db.name), file);
  return !statSync(path, { throwIfNoEntry: false }) && isOffloaded(path);
}

/** The last position whose payload is in a segment; 0 without one. */
export function archivedUpTo(db: Sqlite): number {
  const last = db.prepare<[], number>('SELECT last FROM segments ORDER BY first DESC LIMIT 1').pluck();
  return last.get() ?? 0;
}
