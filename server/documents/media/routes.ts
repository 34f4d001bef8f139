import type { ServerResponse } from 'node:http';
import type { Readable } from 'node:stream';
import type { Request, ResponseObject, ResponseToolkit, Server } from '@hapi/hapi';
import { create as dispositionOf } from 'content-disposition';
import { counted } from '../../../config/counted.ts';
import { DomainError } from '../../../config/errors.ts';
import type { Collection } from '../../../config/model.ts';
import type { JsonObject } from '../../../config/schema.ts';
import { type FileValues, mediaRoot } from '../../../config/uploads.ts';
import { BlobMissingError, type ByteRange, isSha256 } from '../../../storage/blobs.ts';
import { notePassed } from '../../../storage/garbage.ts';
import { readableDocument } from '../../access/document-access.ts';
import type { App, RouteCall, Target } from '../../app.ts';
import { strategy } from '../../callers/authentication.ts';
import { namesTag, rangeOf } from '../../http/ranges.ts';
import { actorOf, idOf, requestId } from '../../http/requests.ts';
import { isStoreFailure } from '../../http/store-refusals.ts';
import { isUtf8, pathProblem } from '../../http/url.ts';
import { readQuery } from '../../queries/parameters.ts';
import { readAsOf, tellPosition } from '../past/as-of.ts';
import { serializerFor } from '../read/serialize.ts';
import { mediaOperation, mediaParameters } from './operations.ts';
import { servingOf } from './serving.ts';

/** How long a download may stall, at either end. */
const stallMilliseconds = 120_000;

/** The routes of files: one per upload collection, for callers who may read the document. */
export function media(server: Server, app: App, patience = stallMilliseconds): void {
  const targets = [...app.collections.values()].filter(({ model }) => model.upload);
  for (const target of targets) routeOf(server, { app, target }, patience);
}

/**
 * Answers 404 to a path below `/api/media/` that has dot segments or is not UTF-8: hapi would resolve the segments and
 * find another route, and other routes answer 400.
 */
export function refuseOddPath({ raw, path: found }: Request): void {
  const { url = '' } = raw.req;
  if (!url.includes(mediaRoot) && !found.includes(mediaRoot)) return;
  const [path = ''] = url.split(/[?#]/, 1);
  const hasDotSegment = /[/\\](\.|%2e){1,2}([/\\]|$)/i.test(path);
  if (hasDotSegment) throw new DomainError('not_found', 'there is no such file');
  if (!isUtf8(path)) throw new DomainError('not_found', `there is no such file: ${pathProblem(path)}`);
}

type MediaTarget = { app: App; target: Target<Collection> };

function routeOf(server: Server, { app, target }: MediaTarget, patience: number): void {
  const present = serializerFor(app, target);

  server.route({
    method: 'GET',
    path: `${mediaRoot}${target.slug}/{id}/{filename}`,
    options: {
      auth: strategy,
      plugins: { openApi: () => mediaOperation(target.model, app.site), takes: ['if-match'] },
      // The ranges are ours: hapi reads a file to its end to send a part of it.
      response: { ranges: false },
      timeout: { socket: patience },
    },
    handler: async (request, h) => {
      const file = await readableFile(request);
      const tag = tagOf(file.sha256);
      const wanted: unknown = request.headers['if-match'];
      if (wanted !== undefined && !namesTag(String(wanted), tag))
        throw new DomainError('stale', `the file is another than if-match names: it is ${tag}`);
      const isKnown = namesTag(String(request.headers['if-none-match']), tag);
      const response = isKnown ? h.response().code(304) : await fileAnswer(app, h, file);
      // Pages of any origin may show a public file.
      if (actorOf(request).type === 'anonymous') response.header('cross-origin-resource-policy', 'cross-origin');
      return tellPosition(request, response.header('etag', tag));
    },
  });

  /** @throws DomainError as a read of the document does, and `not_found` if its file has another name. */
  async function readableFile(request: Request): Promise<FileValues> {
    const moment = await readAsOf(app, request, target);
    const { text } = await readableDocument({ app, request, target });
    readQuery(mediaParameters(app.site), request.query, app);
    // A hook that refuses to show a document refuses its file too; what else the hook makes of the document is ignored.
    if (target.hasReadHooks) await present.text(request, text);
    const document: JsonObject & FileValues = JSON.parse(text);
    const filename = String(request.params.filename);
    // A document that was written before the collection had files may have any value here.
    // With `asOf` the file may have another name than the caller knows.
    if (!isSha256(String(document.sha256)) || (!moment && document.filename !== filename)) {
      const name = JSON.stringify(filename.slice(0, 100));
      throw new DomainError('not_found', `the document ${idOf(request)} in ${target.slug} has no file ${name}`);
    }
    return document;
  }
}

function tagOf(sha256: string): string {
  return `"${sha256}"`;
}

async function fileAnswer(app: App, h: ResponseToolkit, file: FileValues): Promise<ResponseObject> {
  const { request } = h;
  const { filename, mimeType, filesize } = file;
  const range = request.method === 'get' ? askedRange(request, file) : null;
  const { start, end } = range ?? { start: 0, end: filesize - 1 };
  const length = end - start + 1;
  const bytes = await openFile({ app, request }, file, { start, end });
  const { contentType, disposition, policy } = servingOf(mimeType);
  // Compressed, a file would have another length, and other ranges.
  request.info.acceptEncoding = 'identity';
  const response = h
    .response(bytes ?? undefined)
    .code(range ? 206 : 200)
    .type(contentType)
    .bytes(length)
    .header('accept-ranges', 'bytes')
    .header('content-disposition', dispositionOf(filename, { type: disposition }));
  // The type has a charset if it needs one.
  response.charset('');
  // hapi would take over the headers of the bucket's answer.
  Object.assign(response.settings, { passThrough: false });
  if (range) response.header('content-range', `bytes ${start}-${end}/${filesize}`);
  if (policy !== null) response.header('content-security-policy', policy);
  return response;
}

/** The range of a request; null if `If-Range` names another file: the part would not fit the client's rest. */
function askedRange({ headers }: Request, { filesize, sha256 }: FileValues): ByteRange | null {
  const { range, 'if-range': ifRange } = headers;
  return range === undefined || (ifRange !== undefined && ifRange !== tagOf(sha256))
    ? null
    : rangeOf(String(range), filesize);
}

/** Opens the bytes of a file; null for a HEAD request. */
async function openFile(
  { app, request }: RouteCall,
  { sha256, filesize }: FileValues,
  range: ByteRange,
): Promise<Readable | null> {
  try {
    const size = await app.blobs.size(sha256);
    if (size === null) throw new BlobMissingError(sha256);
    if (size !== filesize) throw new Error(`of the bytes with SHA-256 ${sha256} there are ${size}, not ${filesize}`);
    if (request.method === 'head') return null;
    const bytes = await app.blobs.open(sha256, range);
    return watchDownload(bytes, {
      response: request.raw.res,
      length: range.end - range.start + 1,
      onCut: (err) => app.log.warn({ err, requestId: requestId(request) }, 'a download was cut off'),
    });
  } catch (error) {
    if (isStoreFailure(error)) throw error;
    throw new Error(`a file cannot be sent as it was received: ${request.path}; "annals blobs verify" checks all`, {
      cause: error,
    });
  }
}

type Download = {
  response: ServerResponse;
  /** How many bytes the client was promised. */
  length: number;
  /** Receives the reason, once, if the download is cut off; not if the client leaves. */
  onCut: (error: Error) => void;
};

/**
 * Ends the connection if bytes are missing, or too many: the client is to see that the file is not whole. hapi would
 * end the answer as if it were whole, and the client would wait for the rest.
 *
 * @returns the bytes, for hapi to send.
 */
function watchDownload(bytes: Readable, { response, length, onCut }: Download): Readable {
  let left = length;
  const cut = (error: Error) => {
    // If the client has left, the bytes end early too.
    if (response.destroyed) return;
    onCut(error);
    response.destroy();
  };
  const isWhole = () => {
    if (left !== 0) cut(new Error(`${counted(left, 'byte')} less than expected came from the store`));
  };
  // Paused, they wait for hapi in spite of the listener.
  return bytes
    .pause()
    .on('data', (chunk: Buffer) => {
      notePassed(chunk.length);
      left -= chunk.length;
      if (left < 0) cut(new Error('more bytes than expected came from the store'));
    })
    .on('error', cut)
    .on('end', isWhole)
    .on('close', isWhole);
}
