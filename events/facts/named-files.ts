import { isObject, type JsonObject } from '../../config/schema.ts';
import { isSha256 } from '../../storage/blobs.ts';
import { type Header, payloadOf } from './envelope.ts';

/** The files that one event names. @param body the text of its payload. */
export function filesNamedIn({ type }: Pick<Header, 'type'>, body: string): Set<string> {
  return type.startsWith('document.') ? filesIn(payloadOf(body).data) : new Set();
}

/** Made or replaced whole, a document holds its values as they are; changed, under `set`. */
export function filesIn(data: JsonObject): Set<string> {
  // A restored document is whole, under its own name.
  const holders = [data, ...[data.set, data.document].filter(isObject)];
  const found = holders.map(({ sha256 }) => sha256);
  return new Set(found.filter((value) => typeof value === 'string').filter(isSha256));
}
