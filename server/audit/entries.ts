import { isObject, type Json, type JsonObject } from '../../config/schema.ts';
import { isCreation, isPublication } from '../../events/facts/catalogue.ts';
import { changesBetween, type FieldChange } from '../../events/facts/changes.ts';
import { type Header, headerOf } from '../../events/facts/envelope.ts';
import type { RecordedEvent } from '../../events/facts/log.ts';
import { eventOf, type LogReader, textAt } from '../../events/log/log-reader.ts';
import { requireVersion } from '../../events/store/altered.ts';
import type { SeenEvent } from '../access/sight.ts';
import { type EventWithData, isAboutDocument, type SeenLog, valuesIn, walk } from './stream-walk.ts';

/**
 * An event of a stream without its payload. `rule`: if the event names one; `erased`: if its payload is gone;
 * `withheld`: if it is about a draft that the caller may not see.
 */
export type HistoryEntry = Pick<Header, 'version' | 'position' | 'type' | 'recordedAt' | 'actor'> & {
  reason?: string | null;
  rule?: string;
  changed?: string[];
  erased?: true;
  withheld?: true;
};

/** The entries to read: at most `limit` of those after a version. */
export type AskedEntries = { after: number; limit: number };

/** Asks for the entry of one version; version 0 has none. */
export function oneVersion(version: number): AskedEntries {
  return { after: version - 1, limit: version > 0 ? 1 : 0 };
}

/** Entries of a stream, and the version after which the next ones come; null at its end. */
export type EntryPage = { entries: HistoryEntry[]; next: number | null };

/** Bytes of payloads that one response reads at most, so that it takes a thread some milliseconds only. */
const mostBytes = 1024 * 1024;

/**
 * The events of a stream after a version, oldest first: at most `limit`, and fewer if they are large. Without reasons
 * and changed fields for a caller who sees nothing of payloads.
 */
export async function entriesOf(
  seen: SeenLog,
  { stream, version }: { stream: string; version: number },
  { after, limit }: AskedEntries,
): Promise<EntryPage> {
  const { log, sight } = seen;
  const positions = log.positionsOf(stream, after, after + limit);
  const withPayloads = sight.extent !== 'none';
  const read = withPayloads ? readEvents(log, positions) : readHeaders(log, positions);
  for (const [index, { header }] of read.entries()) requireVersion(header, stream, after + index + 1);
  const events = withPayloads ? read.map(sight.seen) : read;
  const found = events.map((event) => (withPayloads ? entryOf(seen, event) : bareEntry(event.header)));
  const compared = events.filter(({ header, data }) => data && isCompared(header));
  if (withPayloads && compared.length > 0) await compareStates(seen, stream, found);
  const last = found.at(-1)?.version ?? after;
  return { entries: found, next: last < version ? last : null };
}

/**
 * With reason and changed fields. `compareStates` adds those that follow from the state before. A version that is
 * withheld from the caller has neither.
 */
export function entryOf(seen: SeenLog, event: SeenEvent): HistoryEntry {
  const { header, data, context } = event;
  if (event.isWithheld) return { ...bareEntry(header), withheld: true };
  if (data === null) return { ...bareEntry(header), reason: null, changed: [], erased: true };
  const changed = isAboutDocument(header) ? changesOf(seen, { ...event, data }) : [];
  const { reason = null, rule } = context ?? {};
  return { ...bareEntry(header), reason, ...(rule === undefined ? {} : { rule }), changed };
}

function changesOf({ epochs }: SeenLog, event: EventWithData): string[] {
  const { header } = event;
  const values = valuesIn(event, epochs.today());
  if (isCreation(header.type)) return namesOf(changesBetween(null, values));
  if (isPublication(header.type) && isObject(values.document)) return namesOf(changesBetween(null, values.document));
  if (/^global\.(?:draft\.)?updated$/.test(header.type) && header.version === 1)
    return namesOf(changesBetween(null, objectOf(values.set)));
  const set = Object.keys(objectOf(values.set)).filter((name) => name !== 'updatedAt' && name !== 'createdAt');
  return [...set, ...(Array.isArray(values.unset) ? values.unset.map(String) : [])];
}

/** The fields that an event changed in a line. An update names them: to read them costs a hundredth of a comparison. */
export function fieldsSet(
  seen: SeenLog,
  event: SeenEvent,
  [before, after]: readonly [JsonObject | null, JsonObject],
): string[] {
  const { header, data } = event;
  if (data === null) return [];
  const isUpdate = before !== null && header.type.endsWith('.updated');
  return isUpdate ? changesOf(seen, { ...event, data }) : namesOf(changesBetween(before, after));
}

/** Whether the fields that an event changed follow only from the state before. */
function isCompared({ type }: Header): boolean {
  return type.endsWith('.restored') || type.endsWith('.discarded');
}

async function compareStates(seen: SeenLog, stream: string, found: HistoryEntry[]): Promise<void> {
  const byVersion = new Map(found.map((entry) => [entry.version, entry]));
  const upTo = found.at(-1)?.version ?? 0;
  await walk(seen, { stream, upTo, upcaster: seen.epochs.today() }, (event, before, after) => {
    const entry = byVersion.get(event.header.version);
    if (entry && event.data && isCompared(event.header))
      entry.changed = namesOf(changesBetween(before.draft, after.draft));
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

/** The names of changed fields. */
export function namesOf(changes: readonly FieldChange[]): string[] {
  return changes.map(({ field }) => field);
}

function objectOf(value: Json | undefined): JsonObject {
  return isObject(value) ? value : {};
}
