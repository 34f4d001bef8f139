import { isObject, type Json, type JsonObject } from '../../config/schema.ts';
import { changesBetween, type FieldChange, fieldOf } from '../../events/facts/changes.ts';
import { type Header, headerOf } from '../../events/facts/envelope.ts';
import type { RecordedEvent } from '../../events/facts/log.ts';
import { schemaKey } from '../../events/facts/upcasters.ts';
import { eventOf, type LogReader, textAt } from '../../events/log/log-reader.ts';
import { requireVersion } from '../../events/store/altered.ts';
import type { SeenEvent, Sight } from '../access/sight.ts';
import { openEpochs } from './epochs.ts';
import { patchBetween } from './patch.ts';
import { type EventWithData, eventIn, isAboutDocument, type SeenLog, valuesIn, walk } from './stream-walk.ts';

/** The state of a stream. `version` and `position` are from its last event. */
export type StreamState = { stream: string; exists: boolean; erased: boolean; version: number; position: number };

/** An event of a stream without its payload. `rule`: if the event names one; `erased`: if its payload is gone. */
export type HistoryEntry = Pick<Header, 'version' | 'position' | 'type' | 'recordedAt' | 'actor'> & {
  reason?: string | null;
  rule?: string;
  changed?: string[];
  erased?: true;
};

/** The entries to read: at most `limit` of those after a version. */
type AskedEntries = { after: number; limit: number };

/** Asks for the entry of one version; version 0 has none. */
export function oneVersion(version: number): AskedEntries {
  return { after: version - 1, limit: version > 0 ? 1 : 0 };
}

/** Entries of a stream, and the version after which the next ones come; null at its end. */
export type EntryPage = { entries: HistoryEntry[]; next: number | null };

/** The event that gave a field its value. */
export type Blame = { field: string; value: Json } & (Omit<HistoryEntry, 'changed'> | { version: null });

/** `fields` and `patch` are null if one of the two versions has been erased. */
type Diff =
  | { fields: FieldChange[]; patch: ReturnType<typeof patchBetween> }
  | { fields: null; patch: null; erased: true };

/** The history of a log, as far as a caller sees it. */
export type History = ReturnType<typeof historyAs>;

/** Bytes of payloads that one response reads at most, so that it takes a thread some milliseconds only. */
const mostBytes = 1024 * 1024;

/**
 * Reads the streams of a log, as far as a caller sees them: all answers are made of the events that the caller's sight
 * lets through.
 */
export function openHistory(log: LogReader) {
  const epochs = openEpochs(log);

  return {
    /** Null if the log has no such stream. */
    state: (stream: string) => stateOf(log, stream),
    /** The part that a caller of this sight sees. */
    as: (sight: Sight) => historyAs({ log, epochs, sight }),
  };
}

function historyAs(seen: SeenLog) {
  const { log, sight } = seen;
  return {
    state: (stream: string) => stateOf(log, stream),
    entries: (state: StreamState, asked: AskedEntries) => entriesOf(seen, state, asked),
    /** An event of a stream. The version must exist. */
    event: (stream: string, version: number) =>
      sight.seen(eventIn(log, { stream, version }, log.positionOf(stream, version))),
    /** @param position the document has the names and fields as of this position; by default as of the event. */
    documentAt: (event: RecordedEvent, position = event.header.position) => documentAt(seen, event, position),
    diff: (stream: string, from: number, to: number) => diff(seen, stream, [from, to]),
    blame: (stream: string, version: number) => blame(seen, stream, version),
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

/**
 * The events of a stream after a version, oldest first: at most `limit`, and fewer if they are large. Without reasons
 * and changed fields for a caller who sees nothing of payloads.
 */
async function entriesOf(
  seen: SeenLog,
  { stream, version }: StreamState,
  { after, limit }: AskedEntries,
): Promise<EntryPage> {
  const { log, sight } = seen;
  const positions = log.positionsOf(stream, after, after + limit);
  const withPayloads = sight.extent !== 'none';
  const read = withPayloads ? readEvents(log, positions) : readHeaders(log, positions);
  for (const [index, { header }] of read.entries()) requireVersion(header, stream, after + index + 1);
  const events = withPayloads ? read.map(sight.seen) : read;
  const found = events.map((event) => (withPayloads ? entryOf(seen, event) : bareEntry(event.header)));
  const restored = events.filter(({ header, data }) => data && header.type.endsWith('.restored'));
  if (withPayloads && restored.length > 0) await compareRestored(seen, stream, found);
  const last = found.at(-1)?.version ?? after;
  return { entries: found, next: last < version ? last : null };
}

/**
 * With reason and changed fields. `compareRestored` adds those of a restored document, which follow from its state
 * before.
 */
function entryOf(seen: SeenLog, event: SeenEvent): HistoryEntry {
  const { header, data, context } = event;
  if (data === null) return { ...bareEntry(header), reason: null, changed: [], erased: true };
  const changed = isAboutDocument(header) ? changesOf(seen, { ...event, data }) : [];
  const { reason = null, rule } = context ?? {};
  return { ...bareEntry(header), reason, ...(rule === undefined ? {} : { rule }), changed };
}

function changesOf({ epochs }: SeenLog, event: EventWithData): string[] {
  const { header } = event;
  const values = valuesIn(event, epochs.today());
  if (header.type === 'document.created') return namesOf(changesBetween(null, values));
  if (header.type === 'global.updated' && header.version === 1)
    return namesOf(changesBetween(null, objectOf(values.set)));
  const set = Object.keys(objectOf(values.set)).filter((name) => name !== 'updatedAt' && name !== 'createdAt');
  return [...set, ...(Array.isArray(values.unset) ? values.unset.map(String) : [])];
}

/** An update names the fields that it sets: to read them costs a hundredth of a comparison in a long history. */
function fieldsSet(seen: SeenLog, event: SeenEvent, [before, after]: [JsonObject | null, JsonObject]): string[] {
  const { header, data } = event;
  const isUpdate = before !== null && header.type.endsWith('.updated');
  if (data === null) return [];
  return isUpdate ? changesOf(seen, { ...event, data }) : namesOf(changesBetween(before, after));
}

async function compareRestored(seen: SeenLog, stream: string, found: HistoryEntry[]): Promise<void> {
  const byVersion = new Map(found.map((entry) => [entry.version, entry]));
  const upTo = found.at(-1)?.version ?? 0;
  await walk(seen, { stream, upTo, upcaster: seen.epochs.today() }, ({ header }, before, after) => {
    const entry = byVersion.get(header.version);
    if (entry && header.type.endsWith('.restored')) entry.changed = namesOf(changesBetween(before, after));
  });
}

/**
 * The document or global as it was after an event; null if there was none, or it has been erased. If the rules for
 * reading leave fields out, the document has today's names, which the rules know.
 */
async function documentAt(
  seen: SeenLog,
  { header, data }: RecordedEvent,
  position: number,
): Promise<JsonObject | null> {
  if (data === null) return null;
  let found: JsonObject | null = null;
  const { stream, version } = header;
  const { sight, epochs } = seen;
  const isOfThen = sight.extent === 'all';
  const upcaster = isOfThen ? epochs.at(position) : epochs.today();
  await walk(seen, { stream, upTo: version, upcaster }, (_event, _before, after) => {
    found = after;
  });
  const shape = isOfThen ? epochs.shapeAt(schemaKey(stream), position) : null;
  if (!found || !shape) return found;
  const { id, ...rest } = shape(String(fieldOf(found, 'id')), found);
  return schemaKey(stream) === stream ? rest : { id: id ?? null, ...rest };
}

/** The difference between two versions of a document, by today's names; version 0 is before the first. */
async function diff(seen: SeenLog, stream: string, versions: readonly [from: number, to: number]): Promise<Diff> {
  const ends: [JsonObject | null, JsonObject | null] = [null, null];
  const erased: boolean[] = [false, false];
  const upTo = Math.max(...versions);
  await walk(seen, { stream, upTo, upcaster: seen.epochs.today() }, ({ header, data }, _before, after) => {
    for (const [end, version] of versions.entries()) {
      if (header.version !== version) continue;
      ends[end] = after;
      erased[end] = data === null && header.type !== 'document.deleted';
    }
  });
  if (erased.includes(true)) return { fields: null, patch: null, erased: true };
  const [before, after] = ends;
  return { fields: changesBetween(before, after), patch: patchBetween(before, after) };
}

/** The event that gave each field its value, for a document as of a version, by today's names. */
async function blame(seen: SeenLog, stream: string, version: number): Promise<Blame[]> {
  const { epochs, sight } = seen;
  const by = new Map<string, HistoryEntry>();
  let document: JsonObject | null = null;
  await walk(seen, { stream, upTo: version, upcaster: epochs.today() }, (event, before, after) => {
    document = after;
    if (!after) by.clear();
    else for (const field of fieldsSet(seen, event, [before, after])) by.set(field, entryOf(seen, event));
  });
  const found: JsonObject | null = document;
  if (!found) return [];
  const names = new Set([...epochs.names(schemaKey(stream)), ...namesOf(changesBetween(null, found))]);
  return [...names].filter(sight.shows).map((field) => {
    const { changed: _changed, ...entry } = by.get(field) ?? { version: null };
    return { field, value: fieldOf(found, field), ...entry } as Blame;
  });
}

/** Reads the events at positions until they are many bytes: at least one, and maybe fewer than there are positions. */
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

function bareEntry({ version, position, type, recordedAt, actor }: Header): HistoryEntry {
  return { version, position, type, recordedAt, actor };
}

function namesOf(changes: readonly FieldChange[]): string[] {
  return changes.map(({ field }) => field);
}

function objectOf(value: Json | undefined): JsonObject {
  return isObject(value) ? value : {};
}
