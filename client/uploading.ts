import { chunksOf, type FileSource, isReference, referringForm, writeForm } from './form.ts';
import type { KeyedOptions, WriteOptions } from './options.ts';
import type { Content, Fetch } from './sending.ts';

/** The progress of an upload, in bytes of the whole form. `total` is null for a stream, whose size is not known. */
export type Progress = { sent: number; total: number | null };

type FileOptions = {
  /** The name of the file; default: the name of a `File`, else `file`. */
  filename?: string | undefined;
  /** Called while bytes are sent. A retry starts again from 0. */
  onProgress?: ((progress: Progress) => void) | undefined;
};

/** The options of an upload. */
export type UploadOptions = KeyedOptions & FileOptions;

/** The options of the replacement of a file. */
export type ReplaceOptions = WriteOptions & FileOptions;

/**
 * The body of an upload. `type` is null if the environment sets the content type. `fetch` is present if the upload must
 * not use the client's `fetch`.
 */
export type FormContent = Content & { type: string | null; fetch?: Fetch };

/**
 * Prepares a file and its fields to be sent in the way that suits the environment. Browsers send no streams over
 * HTTP/1.1, and report progress only for an `XMLHttpRequest`. Node, Deno and Bun send streams, whose progress can be
 * counted. React Native reads files on the device itself.
 */
export async function contentOf(source: FileSource, fields: object, options: FileOptions): Promise<FormContent> {
  const { onProgress } = options;
  if (isReference(source)) {
    const form = referringForm(fields, source, options.filename);
    return watched({ type: null, make: () => form, isStream: false, isOnce: false }, onProgress);
  }
  const form = writeForm(fields, source, options.filename);
  const { type, isStream } = form;
  if (sendsStreams() && (isStream || onProgress)) {
    const total = form.isStream ? null : new Blob(form.parts).size;
    const make = () => streamOf(counted(chunksOf(form), total, onProgress));
    return { type, make, isStream: true, isOnce: isStream };
  }
  const blob = new Blob(form.isStream ? await collected(chunksOf(form)) : form.parts);
  return watched({ type, make: () => blob, isStream: false, isOnce: false }, onProgress);
}

function watched(content: FormContent, onProgress: FileOptions['onProgress']): FormContent {
  if (!onProgress || typeof XMLHttpRequest === 'undefined') return content;
  return { ...content, fetch: (url, init) => sendWatched(url, init, onProgress) };
}

function sendsStreams(): boolean {
  return (globalThis as { process?: { versions?: { node?: string } } }).process?.versions?.node !== undefined;
}

async function* counted(
  chunks: AsyncIterable<Uint8Array>,
  total: number | null,
  onProgress: FileOptions['onProgress'],
): AsyncGenerator<Uint8Array> {
  let sent = 0;
  for await (const chunk of chunks) {
    yield chunk;
    sent += chunk.byteLength;
    onProgress?.({ sent, total });
  }
}

/** A stream that reads its source no faster than it is read itself. */
function streamOf(chunks: AsyncGenerator<Uint8Array>): ReadableStream<Uint8Array> {
  return new ReadableStream({
    async pull(controller) {
      const { done, value } = await chunks.next();
      if (done) controller.close();
      else controller.enqueue(value);
    },
    async cancel() {
      await chunks.return(undefined);
    },
  });
}

async function collected(chunks: AsyncIterable<Uint8Array>): Promise<BlobPart[]> {
  const parts: BlobPart[] = [];
  for await (const chunk of chunks) parts.push(chunk as Uint8Array<ArrayBuffer>);
  return parts;
}

/** A `fetch` that reports the progress of the upload. */
function sendWatched(url: string, init: RequestInit, onProgress: (progress: Progress) => void): Promise<Response> {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    const abort = () => request.abort();
    request.open(init.method ?? 'POST', url);
    new Headers(init.headers).forEach((value, name) => {
      request.setRequestHeader(name, value);
    });
    request.upload.onprogress = ({ loaded, total }) => onProgress({ sent: loaded, total });
    request.onload = () => resolve(answerOf(request, new URL(url).href));
    request.onerror = () => reject(new TypeError('the request failed'));
    request.onabort = () => reject(init.signal?.reason);
    request.onloadend = () => init.signal?.removeEventListener('abort', abort);
    init.signal?.addEventListener('abort', abort);
    request.send(init.body as Blob | FormData);
  });
}

function answerOf(request: XMLHttpRequest, url: string): Response {
  // `XMLHttpRequest` follows redirects, and another address must not answer for the service.
  if (request.responseURL !== url) {
    return new Response(null, { status: 302, headers: { location: request.responseURL } });
  }
  const lines = request.getAllResponseHeaders().trim().split('\r\n').filter(Boolean);
  const headers = lines.map((line): [string, string] => {
    const end = line.indexOf(':');
    return [line.slice(0, end), line.slice(end + 1).trim()];
  });
  const { status, statusText, responseText } = request;
  return new Response(responseText || null, { status, statusText, headers });
}
