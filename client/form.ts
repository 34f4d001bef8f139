import { shown } from './address.ts';
import { isObject } from './answers.ts';

/** A file of the device in React Native, as its `FormData` takes it. */
export type FileReference = {
  /** Where the file is, for example `file:///…/photo.jpg`. */
  uri: string;
  /** The name of the file; `file` without it. */
  name?: string | null | undefined;
  /** The media type of the file; `application/octet-stream` without it. */
  type?: string | null | undefined;
};

/**
 * A file to be sent: of a text, make a `Blob`. A Node stream is an `AsyncIterable`, a Buffer a typed array. A
 * `FileReference` can be sent in React Native only.
 */
export type FileSource = FileReference | FileContent;

/** A file whose bytes can be read here. */
type FileContent =
  | Blob
  | ArrayBuffer
  | ArrayBufferView
  | ReadableStream<Uint8Array>
  | AsyncIterable<Uint8Array | string>;

/**
 * A form of texts and, as the last part, a file: what it is made of, in this order. A stream has no size and can be
 * read but once.
 */
type Form = { type: string } & (
  | { isStream: false; parts: (string | Blob)[] }
  | { isStream: true; parts: (string | AsyncIterable<Uint8Array | string>)[] }
);

/**
 * Writes a form as `multipart/form-data`. `FormData` would do for files that are there; it takes no streams, tells no
 * progress, and turns the line ends of texts into CRLF.
 *
 * @param fields texts, numbers and booleans as they are, lists and objects as JSON; undefined ones are left out.
 * @throws TypeError for a value that a form cannot hold, and for a file that is not one of these.
 */
export function writeForm(fields: object, source: FileContent, filename: string | undefined): Form {
  const boundary = `annals-${Math.random().toString(36).slice(2)}${Math.random().toString(36).slice(2)}`;
  const open = `--${boundary}\r\ncontent-disposition: form-data; name=`;
  const texts = textsOf(fields).map(([name, text]) => `${open}"${escaped(name)}"\r\n\r\n${text}\r\n`);
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

/** Whether a file is named by its place on a device. */
export function isReference(source: FileSource): source is FileReference {
  return isObject(source) && typeof source.uri === 'string';
}

/**
 * Makes a form with a file of the device, which React Native reads as it sends the form.
 *
 * @throws TypeError for a value that a form cannot hold, and in any environment but React Native, where the file would
 * be the text `[object Object]`.
 */
export function referringForm(fields: object, { uri, name, type }: FileReference, filename: string | undefined) {
  const form = new FormData();
  if (!('getParts' in form)) {
    throw new TypeError(`a file { uri, name, type } can be sent in React Native only; elsewhere it must be ${allowed}`);
  }
  for (const [field, text] of textsOf(fields)) form.append(field, text);
  // It refuses a file without a type. Its types are not known here: it takes this as it is.
  const file: unknown = { uri, name: filename ?? name ?? 'file', type: type ?? 'application/octet-stream' };
  form.append('file', file as Blob);
  return form;
}

/** The bytes of a form one after the other. */
export async function* chunksOf({ parts }: Form): AsyncGenerator<Uint8Array> {
  const encoder = new TextEncoder();
  for (const part of parts) {
    if (typeof part === 'string') yield encoder.encode(part);
    else if (part instanceof Blob) yield* chunksOfStream(part.stream());
    else for await (const chunk of part) yield typeof chunk === 'string' ? encoder.encode(chunk) : chunk;
  }
}

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

const allowed = 'a File, Blob, ArrayBuffer, typed array (Buffer) or stream';

function fileOf(source: FileContent): Blob | AsyncIterable<Uint8Array | string> {
  if (source instanceof Blob) return source;
  if (source instanceof ArrayBuffer || ArrayBuffer.isView(source))
    return new Blob([source as ArrayBufferView<ArrayBuffer>]);
  // React Native has none.
  if (typeof ReadableStream !== 'undefined' && source instanceof ReadableStream) return chunksOfStream(source);
  if (typeof source === 'object' && source !== null && Symbol.asyncIterator in source) return source;
  throw new TypeError(`the file must be ${allowed}, got ${typeof source === 'string' ? 'a text' : shown(source)}`);
}

/** As browsers write names into a form, and as the service reads them. */
function escaped(name: string): string {
  return name.replaceAll('\r', '%0D').replaceAll('\n', '%0A').replaceAll('"', '%22');
}

function textsOf(fields: object): [name: string, text: string][] {
  const given = Object.entries(fields).filter(([, value]) => value !== undefined);
  return given.map(([name, value]) => [name, textOf(name, value)]);
}

function textOf(name: string, value: unknown): string {
  if (value === null) {
    throw new TypeError(`${name} is null, which a form cannot say: leave it out, or set it with update() afterwards`);
  }
  if (value instanceof Date) return value.toISOString();
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}
