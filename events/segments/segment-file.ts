import { isUtf8 } from 'node:buffer';
import { zstdCompressSync, zstdDecompressSync } from 'node:zlib';

/** "AnnsSeg" and the version of the format, 1. */
const magic = Buffer.from('AnnsSeg\x01', 'latin1');
const fixedBytes = magic.length + 8 + 8 + 4;
const entryBytes = 12;

/** So much of what is compressed goes into one frame: what the reader of a single payload decompresses. */
const frameBytes = 64 * 1024;

/** The most that a frame may say it has: a damaged one does not take all memory. */
const mostRaw = 2 ** 31 - 1;

/** Thrown for bytes that are no segment, or not a whole one. */
export class SegmentFormatError extends Error {
  override name = 'SegmentFormatError';
}

/**
 * A frame of a segment: payloads of `count` positions from `first` on; `length` bytes of the file at `offset`, `raw`
 * decompressed.
 */
export type Frame = { first: number; count: number; offset: number; length: number; raw: number };

/** The beginning of a segment: its positions, and where its frames are. `size` is the length of the whole file. */
export type SegmentIndex = { first: number; last: number; frames: readonly Frame[]; size: number };

/** So many bytes of a file tell how long its index is. */
export const headBytes = fixedBytes;

/** A payload of a position in its bytes; null for an erased one. */
export type Body = Buffer | null;

/** Makes a segment, payload by payload. */
export function buildSegment(first: number) {
  const entries: Omit<Frame, 'first' | 'offset'>[] = [];
  const frames: Buffer[] = [];
  let bodies: Body[] = [];
  let held = 0;
  let raw = 0;

  /** @returns the bytes so far, before they are compressed. */
  function add(body: Body): number {
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

/** The same segment without some payloads: frames that hold none of them are copied as they are. */
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

function compress(bodies: readonly Body[]): Buffer {
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
    const place = fixedBytes + entryBytes * at;
    head.writeUInt32LE(count, place);
    head.writeUInt32LE(length, place + 4);
    head.writeUInt32LE(raw, place + 8);
  });
  return { bytes: Buffer.concat([head, ...frames]), last };
}

/** The length of the index of a segment, which begins the file. @param head its first {@link headBytes}. */
export function indexBytes(head: Buffer): number {
  if (head.length < fixedBytes || !head.subarray(0, 8).equals(magic))
    throw new SegmentFormatError('it does not begin as one');
  return fixedBytes + entryBytes * head.readUInt32LE(24);
}

/** Reads the index of a segment. @param bytes the file, or as much of it as {@link indexBytes} says. */
export function readIndex(bytes: Buffer): SegmentIndex {
  const length = indexBytes(bytes);
  if (bytes.length < length) throw new SegmentFormatError('it ends within its index');
  const first = Number(bytes.readBigUInt64LE(8));
  const last = Number(bytes.readBigUInt64LE(16));
  const frames: Frame[] = [];
  let position = first;
  let offset = length;
  for (let place = fixedBytes; place < length; place += entryBytes) {
    const [count = 0, size = 0, raw = 0] = [0, 4, 8].map((at) => bytes.readUInt32LE(place + at));
    frames.push({ first: position, count, offset, length: size, raw });
    position += count;
    offset += size;
  }
  if (!Number.isSafeInteger(last) || first < 1 || position !== last + 1 || frames.some(({ count }) => count === 0))
    throw new SegmentFormatError('its index does not have the positions that it says');
  return { first, last, frames, size: offset };
}

/** The payloads of a frame. @param compressed its bytes. */
export function bodiesIn(frame: Frame, compressed: Buffer): Body[] {
  const open = openFrame(frame, compressed);
  return Array.from({ length: frame.count }, (_, at) => bodyAt(open, at));
}

/**
 * A frame that is decompressed: `ends` are the ends of its payloads in `raw`, which begins with a table of their
 * lengths. `isText`: all of them are valid UTF-8.
 */
export type OpenFrame = { raw: Buffer; ends: Uint32Array; isText: boolean };

/** @throws SegmentFormatError for bytes that are not those of the frame. */
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
    // In one piece, with room at its end: in many it takes twice as long.
    return zstdDecompressSync(compressed, { chunkSize: size + 64, maxOutputLength: size });
  } catch {
    return null;
  }
}

/** The payload at a place of a frame, counted from 0. */
export function bodyAt({ raw, ends }: OpenFrame, at: number): Body {
  const start = at === 0 ? 4 * ends.length : (ends[at - 1] as number);
  const end = ends[at] as number;
  return end === start ? null : raw.subarray(start, end);
}

/** The same as text, of a frame that is text. */
export function textAt({ raw, ends }: OpenFrame, at: number): string | null {
  const start = at === 0 ? 4 * ends.length : (ends[at - 1] as number);
  const end = ends[at] as number;
  return end === start ? null : raw.toString('utf8', start, end);
}
