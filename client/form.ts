import { shown } from './address.ts';
import { isObject } from './answers.ts';

/** A file on the device in React Native, in the form that its `FormData` accepts. */
export type FileReference = {
  /** The URI of the file, for example `file:///…/photo.jpg`. */
  uri: string;
  /** The name of the file; default `file`. */
  name?: string | null | undefined;
  /** The media type of the file; default `application/octet-stream`. */
  type?: string | null | undefined;
};

/**
 * A file to send. Node streams are `AsyncIterable`s, and a `Buffer` is a typed array; wrap a text in a `Blob`. A
 * `FileReference` can only be sent in React Native.
 */
export type FileSource = FileReference | FileContent;

/** A file whose bytes can be read by this program. */
type FileContent =
  | Blob
  | ArrayBuffer
  | ArrayBufferView
  | ReadableStream<Uint8Array>
  | AsyncIterable<Uint8Array | string>;

/**
 * The parts of a form, in order: the texts, and the file as the last part. A stream has no known size and can be read
 * only once.
 */
type Form = { type: string } & (
  | { isStream: false; parts: (string | Blob)[] }
  | { isStream: true; parts: (string | AsyncIterable<Uint8Array | string>)[] }
);

/**
 * Writes a form as `multipart/form-data`. `FormData` would be enough for files in memory, but it accepts no streams,
 * reports no progress, and changes line ends in texts to CRLF.
 *
 * @param fields are written as texts, lists and objects as JSON. Undefined fields are left out.
 * @throws TypeError for a value that a form cannot hold, and for a file of an unsupported type.
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

/** True for a file that is given by its URI on the device. */
export function isReference(source: FileSource): source is FileReference {
  return isObject(source) && typeof source.uri === 'string';
}

/**
 * Makes a form with a file on the device. React Native reads the file when it sends the form.
 *
 * @throws TypeError for a value that a form cannot hold, and outside React Native: other environments would send the
 * file as the text `[object Object]`.
 */
export function referringForm(fields: object, { uri, name, type }: FileReference, filename: string | undefined) {
  const form = new FormData();
  if (!('getParts' in form)) {
    throw new TypeError(`a file { uri, name, type } can be sent in React Native only; elsewhere it must be ${allowed}`);
  }
  for (const [field, text] of textsOf(fields)) form.append(field, text);
  // React Native refuses a file without a type. The types of its `FormData` are not known here, so the object is cast.
  const file: unknown = { uri, name: filename ?? name ?? 'file', type: type ?? 'application/octet-stream' };
  form.append('file', file as Blob);
  return form;
}

/** The bytes of a form, in order. */
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
  // React Native has no `ReadableStream`.
  if (typeof ReadableStream !== 'undefined' && source instanceof ReadableStream) return chunksOfStream(source);
  if (typeof source === 'object' && source !== null && Symbol.asyncIterator in source) return source;
  throw new TypeError(`the file must be ${allowed}, got ${typeof source === 'string' ? 'a text' : shown(source)}`);
}

/** Escapes a name as browsers do in forms; the service reads names this way. */
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
