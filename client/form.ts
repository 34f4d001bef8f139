import { shown } from './address.ts';

/** A file to be sent: of a text, make a `Blob`. A Node stream is an `AsyncIterable`, a Buffer a typed array. */
export type FileSource =
  | Blob
  | ArrayBuffer
  | ArrayBufferView
  | ReadableStream<Uint8Array>
  | AsyncIterable<Uint8Array | string>;

/** A form of texts and, as the last part, a file: what it is made of, in this order. A stream has no size and can be read but once. */
export type Form = { type: string } & (
  | { isStream: false; parts: (string | Blob)[] }
  | { isStream: true; parts: (string | AsyncIterable<Uint8Array | string>)[] }
);

/**
 * Writes a form as `multipart/form-data`. `FormData` would do for files that are there; it takes no streams, tells no progress, and
 * turns the line ends of texts into CRLF.
 *
 * @param fields texts, numbers and booleans as they are, lists and objects as JSON; undefined ones are left out.
 * @throws TypeError for a value that a form cannot hold, and for a file that is not one of these.
 */
export function writeForm(fields: object, source: FileSource, filename: string | undefined): Form {
  const boundary = `annals-${Math.random().toString(36).slice(2)}${Math.random().toString(36).slice(2)}`;
  const open = `--${boundary}\r\ncontent-disposition: form-data; name=`;
  const texts = Object.entries(fields)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => `${open}"${escaped(name)}"\r\n\r\n${textOf(name, value)}\r\n`);
  const file = fileOf(source);
  const name = filename ?? ('name' in source ? source.name : null) ?? 'file';
  const type = (file instanceof Blob && file.type) || 'application/octet-stream';
  const head = `${open}"file"; filename="${escaped(String(name))}"\r\ncontent-type: ${type}\r\n\r\n`;
  const [start, end] = [texts.join('') + head, `\r\n--${boundary}--\r\n`];
  const form = { type: `multipart/form-data; boundary=${boundary}` };
  return file instanceof Blob
    ? { ...form, isStream: false, parts: [start, file, end] }
    : { ...form, isStream: true, parts: [start, file, end] };
}

/** The bytes of a form one after the other. */
export async function* chunksOf({ parts }: Form): AsyncGenerator<Uint8Array> {
  for (const part of parts) {
    if (typeof part === 'string') yield encoder.encode(part);
    else if (part instanceof Blob) yield* chunksOfStream(part.stream());
    else for await (const chunk of part) yield typeof chunk === 'string' ? encoder.encode(chunk) : chunk;
  }
}

const encoder = new TextEncoder();

/** Not every browser can iterate over a stream. */
async function* chunksOfStream(stream: ReadableStream<Uint8Array>): AsyncGenerator<Uint8Array> {
  const reader = stream.getReader();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      yield value;
    }
  } finally {
    await reader.cancel();
  }
}

function fileOf(source: FileSource): Blob | AsyncIterable<Uint8Array | string> {
  if (source instanceof Blob) return source;
  if (source instanceof ArrayBuffer || ArrayBuffer.isView(source))
    return new Blob([source as ArrayBufferView<ArrayBuffer>]);
  if (source instanceof ReadableStream) return chunksOfStream(source);
  if (typeof source === 'object' && source !== null && Symbol.asyncIterator in source) return source;
  const allowed = 'a File, Blob, ArrayBuffer, typed array (Buffer) or stream';
  throw new TypeError(`the file must be ${allowed}, got ${typeof source === 'string' ? 'a text' : shown(source)}`);
}

/** As browsers write names into a form, and as the service reads them. */
function escaped(name: string): string {
  return name.replaceAll('\r', '%0D').replaceAll('\n', '%0A').replaceAll('"', '%22');
}

function textOf(name: string, value: unknown): string {
  if (value === null) {
    throw new TypeError(`${name} is null, which a form cannot say: leave it out, or set it with update() afterwards`);
  }
  if (value instanceof Date) return value.toISOString();
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}
