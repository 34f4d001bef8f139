/**
 * Joins chunks as they come, by copies. Kept one by one, those of a client that sends each byte as a chunk of its own
 * take hundreds of times their size.
 */
export function joinChunks() {
  let held = Buffer.allocUnsafe(1024);
  let size = 0;
  return {
    add(chunk: Buffer): void {
      if (size + chunk.length > held.length) {
        const larger = Buffer.allocUnsafe(Math.max(2 * held.length, size + chunk.length));
        held.copy(larger, 0, 0, size);
        held = larger;
      }
      chunk.copy(held, size);
      size += chunk.length;
    },
    size: () => size,
    bytes: () => held.subarray(0, size),
  };
}

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** The text of bytes in UTF-8, with its byte order mark; null for other bytes. */
export function utf8Text(bytes: Buffer): string | null {
  try {
    return utf8.decode(bytes);
  } catch {
    return null;
  }
}
