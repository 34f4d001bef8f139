/**
 * Joins chunks as they arrive, by copies. If they were kept as they are, a client that sends each byte as a chunk would
 * take hundreds of times the memory.
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

/** The text of bytes in UTF-8, with its byte order mark; null for invalid UTF-8. */
export function utf8Text(bytes: Buffer): string | null {
  try {
    return utf8.decode(bytes);
  } catch {
    return null;
  }
}
