import { isUtf8 } from 'node:buffer';
import { zstdCompressSync, zstdDecompressSync } from 'node:zlib';

/** "AnnsSeg" and the version of the format, 1. */
const magic = Buffer.from('AnnsSeg\x01', 'latin1');
const fixedBytes = magic.length + 8 + 8 + 4;
const entryBytes = 12;

/** The bytes of payloads in one frame, which the reader of a single payload decompresses. */
const frameBytes = 64 * 1024;

/** The most bytes that a frame may say it has, so that a damaged frame does not take all memory. */
const mostRaw = 2 ** 31 - 1;

/** Thrown for bytes that are not a whole segment. */
export class SegmentFormatError extends Error {
  override name = 'SegmentFormatError';
}

/**
 * A frame of a segment: payloads of `count` positions from `first` on; `length` bytes of the file at `offset`, `raw`
 * decompressed.
 */
export type Frame = { first: number; count: number; offset: number; length: number; raw: number };

/** The beginning of a segment: its positions and its frames. `size`: length of the whole file. */
export type SegmentIndex = { first: number; last: number; frames: readonly Frame[]; size: number };

/** The bytes at the beginning of a file that tell how long its index is. */
export const headBytes = fixedBytes;

/** The bytes of a payload; null for an erased one. */
export type PayloadBytes = Buffer | null;

/** Makes a segment, payload by payload. */
export function buildSegment(first: number) {
  const entries: Omit<Frame, 'first' | 'offset'>[] = [];
  const frames: Buffer[] = [];
  let bodies: PayloadBytes[] = [];
  let held = 0;
  let raw = 0;

  /** @returns the bytes of all payloads so far, before compression. */
  function add(body: PayloadBytes): number {
    bodies.push(body);
    held += 4 + (body?.length ?? 0);
    raw += body?.length ?? 0;
    if (held >= frameBytes) flush();
    return raw;
  }

  function flush(): void {
    if (bodies.length === 0) return;
    const compressed = compress(bodies);
    entries.push({ count: bodies.length, length: compressed.length, raw: held });
    frames.push(compressed);
    bodies = [];
    held = 0;
  }

  function finish(): { bytes: Buffer; last: number; raw: number } {
    flush();
    return { ...assemble(first, entries, frames), raw };
  }

  return { add, finish };
}

/** Copies a segment without some payloads; copies frames that hold none of them as they are. */
export function withoutPayloads(bytes: Buffer, positions: ReadonlySet<number>): { bytes: Buffer; raw: number } {
  const index = readIndex(bytes);
  const entries: Omit<Frame, 'first' | 'offset'>[] = [];
  const frames: Buffer[] = [];
  let raw = 0;
  for (const frame of index.frames) {
    const compressed = bytes.subarray(frame.offset, frame.offset + frame.length);
    const bodies = bodiesIn(frame, compressed);
    const left = bodies.map((body, at) => (positions.has(frame.first + at) ? null : body));
    const isSame = left.every((body, at) => body === bodies[at]);
    const held = left.reduce((sum, body) => sum + 4 + (body?.length ?? 0), 0);
    const made = isSame ? compressed : compress(left);
    raw += held - 4 * left.length;
    entries.push({ count: frame.count, length: made.length, raw: held });
    frames.push(made);
  }
  return { bytes: assemble(index.first, entries, frames).bytes, raw };
}

function compress(bodies: readonly PayloadBytes[]): Buffer {
  const lengths = Buffer.alloc(4 * bodies.length);
  for (const [at, body] of bodies.entries()) lengths.writeUInt32LE(body?.length ?? 0, 4 * at);
  return zstdCompressSync(Buffer.concat([lengths, ...bodies.filter((body) => body !== null)]));
}

function assemble(first: number, entries: readonly Omit<Frame, 'first' | 'offset'>[], frames: readonly Buffer[]) {
  const last = entries.reduce((sum, { count }) => sum + count, first) - 1;
  const head = Buffer.alloc(fixedBytes + entryBytes * entries.length);
  magic.copy(head);
  head.writeBigUInt64LE(BigInt(first), 8);
  head.writeBigUInt64LE(BigInt(last), 16);
  head.writeUInt32LE(entries.length, 24);
  entries.forEach(({ count, length, raw }, at) => {
    const start = fixedBytes + entryBytes * at;
    head.writeUInt32LE(count, start);
    head.writeUInt32LE(length, start + 4);
    head.writeUInt32LE(raw, start + 8);
  });
  return { bytes: Buffer.concat([head, ...frames]), last };
}

/** The length of the index at the beginning of a segment. @param head the first {@link headBytes} of the file. */
export function indexBytes(head: Buffer): number {
  if (head.length < fixedBytes || !head.subarray(0, 8).equals(magic))
    throw new SegmentFormatError('it does not begin as one');
  return fixedBytes + entryBytes * head.readUInt32LE(24);
}

/** Reads the index of a segment. @param bytes the file, or its first {@link indexBytes} bytes. */
export function readIndex(bytes: Buffer): SegmentIndex {
  const length = indexBytes(bytes);
  if (bytes.length < length) throw new SegmentFormatError('it ends within its index');
  const first = Number(bytes.readBigUInt64LE(8));
  const last = Number(bytes.readBigUInt64LE(16));
  const frames: Frame[] = [];
  let position = first;
  let offset = length;
  for (let start = fixedBytes; start < length; start += entryBytes) {
    const [count = 0, size = 0, raw = 0] = [0, 4, 8].map((at) => bytes.readUInt32LE(start + at));
    frames.push({ first: position, count, offset, length: size, raw });
    position += count;
    offset += size;
  }
  if (!Number.isSafeInteger(last) || first < 1 || position !== last + 1 || frames.some(({ count }) => count === 0))
    throw new SegmentFormatError('its index does not have the positions that it says');
  return { first, last, frames, size: offset };
}

/** The payloads of a frame. @param compressed its bytes. */
export function bodiesIn(frame: Frame, compressed: Buffer): PayloadBytes[] {
  const open = openFrame(frame, compressed);
  return Array.from({ length: frame.count }, (_, at) => bodyAt(open, at));
}

/**
 * A frame that is decompressed: `ends` are the ends of its payloads in `raw`, which begins with a table of their
 * lengths. `isText`: all of them are valid UTF-8.
 */
export type OpenFrame = { raw: Buffer; ends: Uint32Array; isText: boolean };

/** Decompresses a frame. @throws SegmentFormatError if the bytes are not of this frame. */
export function openFrame({ first, count, length, raw: size }: Frame, compressed: Buffer): OpenFrame {
  const fault = (why: string) => new SegmentFormatError(`the frame of event ${first} ${why}`);
  if (compressed.length !== length || size < 4 * count || size > mostRaw) throw fault('is not whole');
  const raw = decompressed(compressed, size);
  if (raw?.length !== size) throw fault('is no zstd frame of its length');
  const ends = new Uint32Array(count);
  let end = 4 * count;
  for (let at = 0; at < count; at += 1) {
    end += raw.readUInt32LE(4 * at);
    ends[at] = end;
  }
  if (end !== size) throw fault('does not have the lengths that it says');
  return { raw, ends, isText: isUtf8(raw.subarray(4 * count)) };
}

function decompressed(compressed: Buffer, size: number): Buffer | null {
  try {
    // One output buffer with some space at its end: several buffers take twice as long.
    return zstdDecompressSync(compressed, { chunkSize: size + 64, maxOutputLength: size });
  } catch {
    return null;
  }
}

/** The payload of a frame at an index from 0. */
export function bodyAt({ raw, ends }: OpenFrame, at: number): PayloadBytes {
  const start = at === 0 ? 4 * ends.length : (ends[at - 1] as number);
  const end = ends[at] as number;
  return end === start ? null : raw.subarray(start, end);
}

/** The payload at an index as text, if the frame is text. */
export function textAt({ raw, ends }: OpenFrame, at: number): string | null {
  const start = at === 0 ? 4 * ends.length : (ends[at - 1] as number);
  const end = ends[at] as number;
  return end === start ? null : raw.toString('utf8', start, end);
}
