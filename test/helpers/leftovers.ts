import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { zstdDecompressSync } from 'node:zlib';
import { bodiesIn, readIndex } from '../../events/segments/segment-file.ts';

/**
 * The texts that occur in any file of a folder, in whatever case, with the names of the files. The texts must be ASCII,
 * so that their bytes are the same in UTF-8, in JSON and in a page of SQLite.
 */
export function remainsIn(folder: string, texts: readonly string[]): string[] {
  const sought = texts.map((text) => text.toLowerCase());
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .flatMap(({ parentPath, name }) => {
      const bytes = contentOf(join(parentPath, name)).toString('latin1').toLowerCase();
      return sought.filter((text) => bytes.includes(text)).map((text) => `${name}: ${text}`);
    });
}

/** The bytes of a segment, followed by its payloads, which it holds compressed. */
export function payloadsIn(bytes: Buffer): Buffer {
  const { frames } = readIndex(bytes);
  const bodies = frames.flatMap((frame) => bodiesIn(frame, bytes.subarray(frame.offset, frame.offset + frame.length)));
  return Buffer.concat([bytes, ...bodies.filter((body) => body !== null)]);
}

/** The bytes of a file, decompressed; empty if a running service has removed the file just now. */
function contentOf(path: string): Buffer {
  try {
    const bytes = readFileSync(path);
    if (/\.(fetched|kept)$/.test(path)) return zstdDecompressSync(bytes);
    return /\.(seg|tmp)$/.test(path) ? payloadsIn(bytes) : bytes;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return Buffer.alloc(0);
    throw error;
  }
}
