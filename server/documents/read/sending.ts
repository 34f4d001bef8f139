import type { ResponseObject, ResponseToolkit } from '@hapi/hapi';
import { sendsJsonAtOnce } from '../../http/at-once.ts';
import { wholeText, wholeTexts } from '../../http/whole-text.ts';
import type { Tag } from '../concurrency/etags.ts';
import { tellPosition } from '../past/as-of.ts';

/** Sends JSON text as it is: a stored document is neither parsed nor written again. */
export function sendText(h: ResponseToolkit, text: string): ResponseObject {
  return wholeText(h, text).type('application/json');
}

/** Sends JSON that is a row of texts. */
export function sendTexts(h: ResponseToolkit, texts: readonly string[]): ResponseObject {
  return wholeTexts(h, texts).type('application/json');
}

/**
 * Sends a document of a read that nothing else is told of, as JSON text with its tag; as {@link sendTagged}, and at
 * once if nothing is in the way of it.
 */
export function sendRead(h: ResponseToolkit, text: string, tag: Tag): ResponseObject | symbol {
  const { atOnce } = h.realm.plugins;
  if (atOnce && h.request.method === 'get' && sendsJsonAtOnce(h.request, { text, etag: `"${tag}"` }, atOnce))
    return h.abandon;
  return tellPosition(h.request, sendTagged(h, text, tag));
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
