import { isObject, type Json, type JsonObject } from '../../config/schema.ts';
import { changesBetween, type FieldChange, fieldOf } from '../../events/facts/changes.ts';
import { foldDocument } from '../../events/facts/documents.ts';
import { type Header, headerOf } from '../../events/facts/envelope.ts';
import type { RecordedEvent } from '../../events/facts/log.ts';
import { schemaKey, type Upcaster } from '../../events/facts/upcasters.ts';
import { eventOf, type LogReader, textAt } from '../../events/log/log-reader.ts';
import { requireVersion } from '../../events/store/altered.ts';
import type { SeenEvent, Sight } from '../access/sight.ts';
import { yieldToEventLoop } from '../platform/yield.ts';
import { openEpochs } from './epochs.ts';
import { patchBetween } from './patch.ts';

/** The state of a stream: `version` and `position` are those of its last event. */
export type StreamState = { stream: string; exists: boolean; erased: boolean; version: number; position: number };

/**
 * One event of a stream, without its payload. `rule` stands where it names one, `erased` only where its payload is
 * gone.
 */
export type Entry = Pick<Header, 'version' | 'position' | 'type' | 'recordedAt' | 'actor'> & {
  reason?: string | null;
  rule?: string;
  changed?: string[];
  erased?: true;
};

/** The entries to read: at most `limit` of those after a version. */
export type AskedEntries = { after: number; limit: number };

/** Asks for the entry of one version; version 0 has none. */
export function oneVersion(version: number): AskedEntries {
  return { after: version - 1, limit: version > 0 ? 1 : 0 };
}

/** Entries of a stream, and the version after which the next ones come; null at its end. */
export type EntryPage = { entries: Entry[]; next: number | null };

/** The event that gave a field its value. */
export type Blame = { field: string; value: Json } & (Omit<Entry, 'changed'> | { version: null });

/** The history of a log, as far as a caller sees it. */
export type History = ReturnType<typeof historyAs>;

/** Bytes of payloads that one response reads at most, so that it takes a thread some milliseconds only. */
const mostBytes = 1024 * 1024;

const yieldMilliseconds = 10;
const chunk = 500;

/**
 * Reads the streams of a log one by one, as far as a caller sees them: whatever is told of an event is made of what the
 * caller's sight leaves of it. A walk through a whole stream yields to other requests, however long that stream is.
 */
export function openHistory(log: LogReader) {
  const epochs = openEpochs(log);

  return {
    /** Null when there is no such stream. */
    state: (stream: string) => stateOf(log, stream),
    /** The part that a caller of this sight sees. */
    as: (sight: Sight) => historyAs({ log, epochs }, sight),
  };
}

function stateOf(log: LogReader, stream: string): StreamState | null {
  const version = log.versionOf(stream);
  if (version === 0) return null;
  const position = log.positionOf(stream, version);
  const [header = ''] = log.headers(position - 1, position);
  const { type } = requireVersion(headerOf(header), stream, version);
  const erased = type === 'document.erased';
  return { stream, exists: !erased && type !== 'document.deleted', erased, version, position };
}

type Source = { log: LogReader; epochs: ReturnType<typeof openEpochs> };

function historyAs({ log, epochs }: Source, sight: Sight) {
  /**
   * The events of a stream after a version, oldest first: at most `limit`, and fewer where they are large.
   * Without reasons and changed fields for a caller who sees nothing of what they hold.
   */
  async function entries({ stream, version }: StreamState, { after, limit }: AskedEntries): Promise<EntryPage> {
    const positions = log.positionsOf(stream, after, after + limit);
    const withPayloads = sight.extent !== 'none';
    const read = withPayloads ? readEvents(log, positions) : readHeaders(log, positions);
    for (const [index, { header }] of read.entries()) requireVersion(header, stream, after + index + 1);
    const events = withPayloads ? read.map(sight.seen) : read;
    const found = events.map((event) => (withPayloads ? entryOf(event) : bareEntry(event.header)));
    const restored = events.filter(({ header, data }) => data && header.type.endsWith('.restored'));
    if (withPayloads && restored.length > 0) await compareRestored(stream, found);
    const last = found.at(-1)?.version ?? after;
    return { entries: found, next: last < version ? last : null };
  }

  /** With reason and changed fields. Those of a restored document follow from its state before, so later. */
  function entryOf(event: SeenEvent): Entry {
    const { header, data, context } = event;
    if (data === null) return { ...bareEntry(header), reason: null, changed: [], erased: true };
    const changed = isAboutDocument(header) ? changesOf({ ...event, data }) : [];
    const { reason = null, rule } = context ?? {};
    return { ...bareEntry(header), reason, ...(rule === undefined ? {} : { rule }), changed };
  }

  function changesOf(event: SeenEvent & { data: JsonObject }): string[] {
    const { header } = event;
    const values = valuesIn(event, epochs.today());
    if (header.type === 'document.created') return namesOf(changesBetween(null, values));
    if (header.type === 'global.updated' && header.version === 1)
      return namesOf(changesBetween(null, objectOf(values.set)));
    const set = Object.keys(objectOf(values.set)).filter((name) => name !== 'updatedAt' && name !== 'createdAt');
    return [...set, ...(Array.isArray(values.unset) ? values.unset.map(String) : [])];
  }

  /** An update names the fields that it sets, which is a hundred times less to compare in a long history. */
  function fieldsSet(event: SeenEvent, before: JsonObject | null, after: JsonObject): string[] {
    const { header, data } = event;
    const isUpdate = before !== null && header.type.endsWith('.updated');
    if (data === null) return [];
    return isUpdate ? changesOf({ ...event, data }) : namesOf(changesBetween(before, after));
  }

  async function compareRestored(stream: string, found: Entry[]): Promise<void> {
    const byVersion = new Map(found.map((entry) => [entry.version, entry]));
    const upTo = found.at(-1)?.version ?? 0;
    await walk({ stream, upTo, upcaster: epochs.today() }, ({ header }, before, after) => {
      const entry = byVersion.get(header.version);
      if (entry && header.type.endsWith('.restored')) entry.changed = namesOf(changesBetween(before, after));
    });
  }

  /** Goes through a stream up to a version, with the document before and after each event. */
  async function walk(
    { stream, upTo, upcaster }: { stream: string; upTo: number; upcaster: Upcaster },
    visit: (event: SeenEvent, before: JsonObject | null, after: JsonObject | null) => void,
  ): Promise<void> {
    let document: JsonObject | null = null;
    let since = performance.now();
    for (let from = 0; from < upTo; from += chunk) {
      for (const [index, position] of log.positionsOf(stream, from, Math.min(from + chunk, upTo)).entries()) {
        const event = sight.seen(eventIn(stream, from + index + 1, position));
        const after = foldEvent(document, event, upcaster);
        visit(event, document, after);
        document = after;
        if (performance.now() - since < yieldMilliseconds) continue;
        await yieldToEventLoop();
        since = performance.now();
      }
    }
  }

  /** An event of a stream, of a version that there is. */
  function event(stream: string, version: number): SeenEvent {
    return sight.seen(eventIn(stream, version, log.positionOf(stream, version)));
  }

  function eventIn(stream: string, version: number, position: number): RecordedEvent {
    const event = eventOf(textAt(log, position));
    requireVersion(event.header, stream, version);
    return event;
  }

  /**
   * The document or global as it was after an event; null when there was none, or it has been erased. Where the rules
   * for reading leave fields out, it has the names of today, which those know.
   *
   * @param position by the names and fields of which time; by default that of the event.
   */
  async function documentAt({ header, data }: RecordedEvent, position = header.position): Promise<JsonObject | null> {
    if (data === null) return null;
    let found: JsonObject | null = null;
    const { stream, version } = header;
    const isOfThen = sight.extent === 'all';
    const upcaster = isOfThen ? epochs.at(position) : epochs.today();
    await walk({ stream, upTo: version, upcaster }, (_event, _before, after) => {
      found = after;
    });
    const shape = isOfThen ? epochs.shapeAt(schemaKey(stream), position) : null;
    if (!found || !shape) return found;
    const { id, ...rest } = shape(String(fieldOf(found, 'id')), found);
    return schemaKey(stream) === stream ? rest : { id: id ?? null, ...rest };
  }

  /** The difference between two versions of a document; version 0 is before the first. Names are those of today. */
  async function diff(stream: string, from: number, to: number): Promise<Diff> {
    const ends: [JsonObject | null, JsonObject | null] = [null, null];
    const erased: boolean[] = [false, false];
    const upTo = Math.max(from, to);
    await walk({ stream, upTo, upcaster: epochs.today() }, ({ header, data }, _before, after) => {
      for (const [end, version] of [from, to].entries()) {
        if (header.version !== version) continue;
        ends[end] = after;
        erased[end] = data === null && header.type !== 'document.deleted';
      }
    });
    if (erased.includes(true)) return { fields: null, patch: null, erased: true };
    const [before, after] = ends;
    return { fields: changesBetween(before, after), patch: patchBetween(before, after) };
  }

  /** Which event gave each field its value, for a document as of a version. Names are those of today. */
  async function blame(stream: string, version: number): Promise<Blame[]> {
    const by = new Map<string, Entry>();
    let document: JsonObject | null = null;
    await walk({ stream, upTo: version, upcaster: epochs.today() }, (event, before, after) => {
      document = after;
      if (!after) by.clear();
      else for (const field of fieldsSet(event, before, after)) by.set(field, entryOf(event));
    });
    const found: JsonObject | null = document;
    if (!found) return [];
    const names = new Set([...epochs.names(schemaKey(stream)), ...namesOf(changesBetween(null, found))]);
    return [...names].filter(sight.shows).map((field) => {
      const { changed: _changed, ...entry } = by.get(field) ?? { version: null };
      return { field, value: fieldOf(found, field), ...entry } as Blame;
    });
  }

  const state = (stream: string) => stateOf(log, stream);
  return { state, entries, event, documentAt, diff, blame };
}

/** `fields` and `patch` are null when one of the two versions has been erased. */
export type Diff =
  | { fields: FieldChange[]; patch: ReturnType<typeof patchBetween> }
  | { fields: null; patch: null; erased: true };

/** Events at positions, until they are many bytes: fewer than were asked for, but one at least. */
function readEvents(log: LogReader, positions: readonly number[]): RecordedEvent[] {
  const events: RecordedEvent[] = [];
  let bytes = 0;
  for (const position of positions) {
    const text = textAt(log, position);
    bytes += text.header.length + (text.body?.length ?? 0);
    if (events.length > 0 && bytes > mostBytes) break;
    events.push(eventOf(text));
  }
  return events;
}

/** The same without payloads, which are not read. */
function readHeaders(log: LogReader, positions: readonly number[]): RecordedEvent[] {
  return positions.flatMap((position) => {
    return log
      .headers(position - 1, position)
      .map((header) => ({ header: headerOf(header), data: null, context: null }));
  });
}

function bareEntry({ version, position, type, recordedAt, actor }: Header): Entry {
  return { version, position, type, recordedAt, actor };
}

function isAboutDocument({ type }: Header): boolean {
  return type.startsWith('document.') || type.startsWith('global.');
}

/** As `foldDocument`, but for events whose payload is gone: they change nothing, unless their type says it all. */
function foldEvent(before: JsonObject | null, event: SeenEvent, upcaster: Upcaster): JsonObject | null {
  const { header, data } = event;
  if (header.type === 'document.deleted' || header.type === 'document.erased') return null;
  if (data === null || !isAboutDocument(header)) return before;
  return foldDocument(before, header.type, valuesIn({ ...event, data }, upcaster));
}

/** The values in an event, by the names of an upcaster; one of which fields were left out has those of today. */
function valuesIn({ header, data, isOfToday }: SeenEvent & { data: JsonObject }, upcaster: Upcaster): JsonObject {
  return isOfToday ? data : upcaster.upcast(schemaKey(header.stream), header, data);
}

function namesOf(changes: readonly FieldChange[]): string[] {
  return changes.map(({ field }) => field);
}

function objectOf(value: Json | undefined): JsonObject {
  return isObject(value) ? value : {};
}
