import { once } from 'node:events';
import { Readable } from 'node:stream';
import { ZipFile } from 'yazl';

/** A file of an archive: its text or bytes, at once or piece by piece as they are asked for. */
export type ZipEntry = {
  name: string;
  content: string | Buffer | (() => AsyncIterable<string | Buffer>);
  /** True for what gains nothing from being compressed. */
  isStored?: boolean;
};

/** Text gains most of it at the lower levels, at a fraction of the time. */
const textLevel = 4;

/**
 * A ZIP archive as a stream. The entries are made one after the other, each when the one before has been read, so
 * nothing is held but what is on its way; destroying the stream ends the work. An error of an entry is an error of the
 * stream.
 */
export function zipOf(entries: Iterable<ZipEntry>, mtime: Date): Readable {
  const zip = new ZipFile();
  const output = zip.outputStream as Readable;
  let current: Readable | null = null;
  const fail = (error: unknown) => {
    output.destroy(error instanceof Error ? error : new Error(String(error)));
  };
  zip.on('error', fail);
  output.once('close', () => current?.destroy());
  addAll().catch(fail);
  return output;

  async function addAll(): Promise<void> {
    for (const { name, content, isStored = false } of entries) {
      if (output.destroyed) return;
      const source = Readable.from(piecesOf(content), { objectMode: false });
      current = source;
      // Without a listener the error of a stream ends the thread.
      source.on('error', fail);
      zip.addReadStream(source, name, { mtime, mode: 0o100644, compressionLevel: isStored ? 0 : textLevel });
      await Promise.race([once(source, 'close'), once(output, 'close')]);
    }
    zip.end();
  }
}

function piecesOf(content: ZipEntry['content']): AsyncIterable<string | Buffer> | Iterable<string | Buffer> {
  return typeof content === 'function' ? content() : [content];
}
