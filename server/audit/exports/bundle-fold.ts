import { isObject, type Json, type JsonObject } from '../../../config/schema.ts';
import { foldDocument } from '../../../events/documents.ts';
import { isSha256 } from '../../../storage/blobs.ts';
import { payloadOf, type ShownEvent } from './shown.ts';

/**
 * Folds a stream's events into its document, in the names that fields had when they were written: without renames, so that
 * a verifier that has only the events gets the same result (docs/log-format.md).
 */
export function foldShown(before: JsonObject | null, event: ShownEvent): JsonObject | null {
  const { type, stream } = event.header;
  if (!/^(document|global)\./.test(type)) return before;
  const { data } = payloadOf(event) ?? {};
  if (type === 'document.erased') return data && isOf(data.streams, stream) ? null : before;
  if (!data) return before;
  if (type.endsWith('.restored')) return isObject(data.document) ? data.document : null;
  return foldDocument(before, type, data);
}

function isOf(streams: Json | undefined, stream: string): boolean {
  return Array.isArray(streams) && streams.some((one) => isObject(one) && one.stream === stream);
}

/** A file that a version names. */
export type NamedFile = { sha256: string; bytes: number; version: number };

/** The file that a document names, if it names one. */
export function fileOf(document: JsonObject | null, version: number): NamedFile | null {
  const { sha256, filename, filesize } = document ?? {};
  if (typeof sha256 !== 'string' || !isSha256(sha256) || typeof filename !== 'string') return null;
  return typeof filesize === 'number' && Number.isSafeInteger(filesize) ? { sha256, bytes: filesize, version } : null;
}
