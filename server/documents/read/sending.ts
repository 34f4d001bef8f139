import type { ResponseObject, ResponseToolkit } from '@hapi/hapi';
import { wholeText } from '../../http/whole-text.ts';
import type { Tag } from '../concurrency/etags.ts';

/** Sends JSON text as it is: a stored document is neither parsed nor written again. */
export function sendText(h: ResponseToolkit, text: string): ResponseObject {
  return wholeText(h, text).type('application/json');
}

/** Sends a document as JSON text with its tag, or 304 if the reader's copy is current. */
export function sendTagged(h: ResponseToolkit, text: string, tag: Tag): ResponseObject {
  const { request } = h;
  const known: unknown = request.headers['if-none-match'];
  const isReading = request.method === 'get' || request.method === 'head';
  if (known !== undefined && isReading && names(String(known), tag)) {
    // A cached answer may be any form of the whole answer, compressed or not.
    return h.response().code(304).etag(tag).vary('accept-encoding');
  }
  return sendText(h, text).etag(tag);
}

/** Whether a header names a tag: compared weakly (RFC 9110, section 13.1.2), and without the mark of compression. */
function names(header: string, tag: Tag): boolean {
  return header.split(',').some((one) => {
    const named = one.trim().replace(/^W\//, '');
    return named === '*' || named.replace(/-(?:gzip|deflate|br|zstd)"$/, '"') === `"${tag}"`;
  });
}
