import { isObject, type JsonObject } from '../../config/schema.ts';
import { isSha256 } from '../../storage/blobs.ts';
import { type Header, payloadOf } from './envelope.ts';

/** The files that one event names. @param body the text of its payload. */
export function filesNamedIn({ type }: Pick<Header, 'type'>, body: string): Set<string> {
  return type.startsWith('document.') ? filesIn(payloadOf(body).data) : new Set();
}

/** The files in the data of an event. A created document has its values at the top, a changed one under `set`. */
export function filesIn(data: JsonObject): Set<string> {
  // A restored document has its values under `document`.
  const holders = [data, ...[data.set, data.document].filter(isObject)];
  const found = holders.map(({ sha256 }) => sha256);
  return new Set(found.filter((value) => typeof value === 'string').filter(isSha256));
}
