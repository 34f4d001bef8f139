/** The bytes of a file, with room behind them. */
export type Bytes = { room: Buffer; size: number };

/** A change of a file: bytes that are written, or a new size. */
export type Change = { at: number; bytes: Buffer } | { size: number };

export function newBytes(): Bytes {
  return { room: Buffer.alloc(0), size: 0 };
}

export function copyOf({ room, size }: Bytes): Bytes {
  return { room: Buffer.from(room.subarray(0, size)), size };
}

export function contentOf({ room, size }: Bytes): Buffer {
  return room.subarray(0, size);
}

export function applyTo(file: Bytes, change: Change): void {
  if ('size' in change) resize(file, change.size);
  else {
    const end = change.at + change.bytes.length;
    if (end > file.size) resize(file, end);
    change.bytes.copy(file.room, change.at);
  }
}

/** Bytes that were never written are zeros. */
function resize(file: Bytes, size: number): void {
  if (size > file.room.length) {
    const room = Buffer.alloc(Math.max(size, 2 * file.room.length, 4096));
    file.room.copy(room, 0, 0, file.size);
    file.room = room;
  } else if (size < file.size) file.room.fill(0, size, file.size);
  file.size = size;
}
