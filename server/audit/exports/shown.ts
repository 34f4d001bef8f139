import { isObject, type Json, type JsonObject } from '../../../config/schema.ts';
import { clockStream, isDraftOnly } from '../../../events/facts/catalogue.ts';
import { foldDocument } from '../../../events/facts/documents.ts';
import { type Header, headerOf, payloadOf } from '../../../events/facts/envelope.ts';
import { erasedStreams } from '../../../events/facts/erasures.ts';
import type { EventText } from '../../../events/log/event-checks.ts';
import { eventOf, type LogReader } from '../../../events/log/log-reader.ts';
import { isSha256 } from '../../../storage/blobs.ts';

/** The payload of an event as shown, or why it is not. `hidden`: payloads were not requested. */
type State = 'shown' | 'erased' | 'withheld' | 'hidden';

/** An event as bundles and exports show it: both texts are exactly as stored, since proofs are about those. */
export type ShownEvent = { header: Header; text: string; body: string | null; state: State };

/** @param seesPayloadsOf null: no payload is asked for. */
export function showEvent({ header: text, body }: EventText, seesPayloadsOf: Sees | null): ShownEvent {
  const header = headerOf(text);
  if (seesPayloadsOf === null) return { header, text, body: null, state: 'hidden' };
  if (!seesPayloadsOf(header.stream)) return { header, text, body: null, state: 'withheld' };
  return { header, text, body, state: body === null ? 'erased' : 'shown' };
}

/** Whether the caller may see the payloads of a stream. */
export type Sees = (stream: string) => boolean;

/** A shown event as JSON of the formats has it (docs/log-format.md). */
export function shownJson({ text, body, state }: ShownEvent, proof: readonly string[]): string {
  const flag = state === 'erased' || state === 'withheld' ? { [state]: true } : {};
  return JSON.stringify({ header: text, payload: body, ...flag, proof });
}

/**
 * The corrections of the clock at positions `from` to `to`: events shown without those between need them, since only
 * they let times be earlier than before, and they alone say that times before them may be wrong.
 */
export function correctionsWithin(log: LogReader, from: number, to: number): EventText[] {
  const positions = log.positionsWithin(clockStream, { after: from - 1, upTo: to, limit: Number.MAX_SAFE_INTEGER });
  return positions.flatMap((position) => log.texts(position - 1, position));
}

/** Thrown when a payload is missing that no erasure declares, so that the archive cannot be sound. */
class UndeclaredError extends Error {
  override name = 'UndeclaredError';
}

/** Remembers of which streams erased payloads were shown, to find the events that declare it. */
export function noteErased() {
  const last = new Map<string, number>();
  const shown = new Set<number>();

  function note({ header: { stream, version, position, type }, state }: ShownEvent): void {
    if (state === 'erased') last.set(stream, Math.max(version, last.get(stream) ?? 0));
    if (type === 'document.erased' && state === 'shown') shown.add(position);
  }

  /**
   * The events of the first `size` that declare missing payloads and were not noted themselves.
   *
   * @throws UndeclaredError when something is missing that none declares: an erasure came in between, or the log is not
   * sound.
   */
  function declarations(log: LogReader, size: number): EventText[] {
    if (last.size === 0) return [];
    const missing = new Map(last);
    const needed: EventText[] = [];
    for (const found of log.erasureTexts(size)) {
      const declared = erasedStreams(eventOf(found).data).filter(({ stream }) => last.has(stream));
      for (const { stream, versions } of declared) {
        if ((last.get(stream) ?? 0) <= versions) missing.delete(stream);
      }
      const { position } = headerOf(found.header);
      if (declared.length > 0 && !shown.has(position)) needed.push(found);
    }
    const [stream] = missing.keys();
    if (stream !== undefined)
      throw new UndeclaredError(`a payload of ${stream} is missing, and no erasure declares it`);
    return needed;
  }

  return { note, declarations };
}

/**
 * Folds a stream's events into its public document, in the names that fields had when they were written: without
 * renames, so that a verifier that has only the events gets the same result (docs/log-format.md).
 */
export function foldShown(before: JsonObject | null, event: ShownEvent): JsonObject | null {
  const { type, stream } = event.header;
  if (!/^(document|global)\./.test(type)) return before;
  const { data } = payloadOf(event.body) ?? {};
  if (type === 'document.erased') return data && isOf(data.streams, stream) ? null : before;
  if (!data) return before;
  if (type.endsWith('.restored') && !isDraftOnly(type)) return isObject(data.document) ? data.document : null;
  return foldDocument(before, type, data);
}

function isOf(streams: Json | undefined, stream: string): boolean {
  return Array.isArray(streams) && streams.some((one) => isObject(one) && one.stream === stream);
}

/** A file that a version names. */
export type ShownFile = { sha256: string; bytes: number; version: number };

/** The file that a document names, if it names one. */
export function fileOf(document: JsonObject | null, version: number): ShownFile | null {
  const { sha256, filename, filesize } = document ?? {};
  if (typeof sha256 !== 'string' || !isSha256(sha256) || typeof filename !== 'string') return null;
  return typeof filesize === 'number' && Number.isSafeInteger(filesize) ? { sha256, bytes: filesize, version } : null;
}
