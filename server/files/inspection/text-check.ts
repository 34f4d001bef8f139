import { isUtf8 } from 'node:buffer';

/** Bytes that no text has: the binary data bytes of the MIME Sniffing Standard (section 3). */
const isBinaryByte = Uint8Array.from({ length: 256 }, (_, byte) =>
  byte < 0x20 && ![0x09, 0x0a, 0x0c, 0x0d, 0x1b].includes(byte) ? 1 : 0,
);

/** Reads the bytes of a file one chunk after another, for as long as they may be a text in UTF-8. */
export function createTextCheck() {
  let isText = true;
  /** The beginning of a character whose end is in the next chunk. */
  let rest: Buffer = Buffer.alloc(0);

  return {
    read(chunk: Buffer): void {
      if (!isText) return;
      const bytes = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
      const end = bytes.length - unfinished(bytes);
      isText = !hasBinaryByte(chunk) && isUtf8(bytes.subarray(0, end));
      // A copy, for the chunk's memory may be used again.
      rest = Buffer.from(bytes.subarray(end));
    },
    /** True while all that was read may be the beginning of a text. */
    isText: () => isText,
    /** True when all that was read is a text. */
    isWhole: () => isText && rest.length === 0,
  };
}

function hasBinaryByte(chunk: Buffer): boolean {
  for (let index = 0; index < chunk.length; index += 1) {
    if (isBinaryByte[chunk[index] as number] === 1) return true;
  }
  return false;
}

/** How many bytes at the end are the beginning of a character: 0 to 3. */
function unfinished(bytes: Buffer): number {
  for (let count = 1; count <= Math.min(3, bytes.length); count += 1) {
    const byte = bytes[bytes.length - count] as number;
    if (byte < 0x80) return 0;
    if (byte >= 0xc0) return count < (byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : 2) ? count : 0;
  }
  return 0;
}
