import type { ResponseObject, ResponseToolkit } from '@hapi/hapi';
import { sendsJsonAtOnce } from '../../http/at-once.ts';
import { wholeTexts } from '../../http/whole-text.ts';
import type { Tag } from '../concurrency/etags.ts';
import { tellPosition } from '../past/as-of.ts';
import { sendTagged } from './sending.ts';

/** Sends a page of documents as JSON, in pieces of text. */
export function sendTexts(h: ResponseToolkit, texts: readonly string[]): ResponseObject {
  return wholeTexts(h, texts).type('application/json');
}

/**
 * Sends a document that was read, as {@link sendTagged} does; past hapi, if the answer needs nothing of what hapi does.
 */
export function sendRead(h: ResponseToolkit, text: string, tag: Tag): ResponseObject | symbol {
  const { atOnce } = h.realm.plugins;
  const isAhead = h.request.app.ahead !== undefined;
  if (
    atOnce &&
    !isAhead &&
    h.request.method === 'get' &&
    sendsJsonAtOnce(h.request, { text, etag: `"${tag}"` }, atOnce)
  )
    return h.abandon;
  return tellPosition(h.request, sendTagged(h, text, tag));
}
