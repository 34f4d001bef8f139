import type { ResponseObject, ResponseToolkit } from '@hapi/hapi';
import { wholeText } from '../http/whole-text.ts';
import type { Tag } from './concurrency/etags.ts';

/** Sends JSON text as it is: a stored document is neither parsed nor written again. */
export function sendText(h: ResponseToolkit, text: string): ResponseObject {
  return wholeText(h, text).type('application/json');
}

/** Sends a document as JSON text with its tag, or 304 when a reader's copy is current. */
export function sendTagged(h: ResponseToolkit, text: string, tag: Tag): ResponseObject {
  const { request } = h;
  const known: unknown = request.headers['if-none-match'];
  const isReading = request.method === 'get' || request.method === 'head';
  if (known !== undefined && isReading && names(String(known), tag)) {
    // A cached response is one of the forms that the whole answer would have been sent in.
    return h.response().code(304).etag(tag).vary('accept-encoding');
  }
  return sendText(h, text).etag(tag);
}

/** Weakly (RFC 9110, section 13.1.2), and whatever mark of compression has been put to the tag. */
function names(header: string, tag: Tag): boolean {
  return header.split(',').some((one) => {
    const named = one.trim().replace(/^W\//, '');
    return named === '*' || named.replace(/-(?:gzip|deflate|br|zstd)"$/, '"') === `"${tag}"`;
  });
}
