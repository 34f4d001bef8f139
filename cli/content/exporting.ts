import { type CollectionSchema, categoryOf, type DataField, dataFields, type JsonObject } from '../../config/schema.ts';
import { documentStream, globalStream, splitStream } from '../../events/facts/catalogue.ts';
import { eventOf, type LogReader, textAt } from '../../events/log/log-reader.ts';
import type { History } from '../../server/audit/history.ts';
import { showProgress } from '../../server/platform/progress.ts';
import { yieldToEventLoop } from '../../server/platform/yield.ts';
import { CallError } from '../errors.ts';

/**
 * The log that is exported: as of `position`, by the names and fields at `end`, the end of the log when the export
 * began. A service that writes meanwhile changes nothing. `ids` are the documents to export, and `names` their fields;
 * null for all.
 */
export type Exporting = {
  log: LogReader;
  histories: History;
  position: number;
  end: number;
  ids: ReadonlySet<string> | null;
  names: ReadonlySet<string> | null;
  signal: AbortSignal;
};

/**
 * The fields of a collection that can be exported. The URL of a file follows from the id, and differs after an import.
 */
export function fieldsOf({ fields, upload }: CollectionSchema): DataField[] {
  return dataFields(fields).filter(({ name, type }) => type !== 'join' && !(upload && name === 'url'));
}

/**
 * The documents of a collection as they are stored, in the order of their ids: no hook changes them. `onDocument` gets
 * each.
 *
 * @throws CallError when the export is stopped.
 */
export async function* documentsOf(
  exporting: Exporting,
  collection: CollectionSchema,
  onDocument: (document: JsonObject) => void,
): AsyncGenerator<JsonObject> {
  const { slug } = collection;
  const isFile = collection.upload !== undefined;
  const streams = exporting.log.streamsUnder(documentStream(categoryOf(collection), ''));
  const progress = showProgress(`exporting ${slug}`);
  for (const [index, stream] of streams.entries()) {
    const isWanted = exporting.ids?.has(splitStream(stream)[1]) ?? true;
    const document = isWanted ? await documentIn(exporting, stream) : null;
    if (document) {
      if (isFile) delete document.url;
      onDocument(document);
      yield only(document, exporting.names);
    }
    progress(index + 1, streams.length);
    if (index % 100 === 0) await yieldToEventLoop();
    if (exporting.signal.aborted) throw new CallError('stopped; nothing was exported');
  }
}

/** A global; null if it was not written yet. */
export function globalOf(exporting: Exporting, slug: string): Promise<JsonObject | null> {
  return documentIn(exporting, globalStream(slug));
}

function only(document: JsonObject, names: ReadonlySet<string> | null): JsonObject {
  return names ? Object.fromEntries(Object.entries(document).filter(([name]) => names.has(name))) : document;
}

async function documentIn({ log, histories, position, end }: Exporting, stream: string): Promise<JsonObject | null> {
  const last = log.lastOf(stream, position);
  return last ? (await histories.documentAt(eventOf(textAt(log, last.position)), end)).published : null;
}
