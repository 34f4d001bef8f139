import type { JsonObject } from '../../config/schema.ts';
import { changesBetween, type FieldChange, fieldOf } from '../../events/facts/changes.ts';
import { headerOf } from '../../events/facts/envelope.ts';
import { schemaKey } from '../../events/facts/upcasters.ts';
import type { LogReader } from '../../events/log/log-reader.ts';
import { requireVersion } from '../../events/store/altered.ts';
import type { SeenEvent, Sight } from '../access/sight.ts';
import { type Blame, type BlameQuestion, blameOf } from './blame.ts';
import { type AskedEntries, entriesOf } from './entries.ts';
import { openEpochs } from './epochs.ts';
import { patchBetween } from './patch.ts';
import { eventIn, isAboutLines, type SeenLines, type SeenLog, walk } from './stream-walk.ts';

/** The state of a stream. `version` and `position` are from its last event. */
export type StreamState = { stream: string; exists: boolean; erased: boolean; version: number; position: number };

/** A state of a document: at a version, or one of its lines as it is at its newest version. */
type DiffEnd = number | 'published' | 'draft';

/**
 * A document as it was after an event: its newest state, and its public state. `hasDrafts`: events of drafts made it
 * so; without, both are one.
 */
type DocumentThen = { document: JsonObject | null; published: JsonObject | null; hasDrafts: boolean };

/**
 * `fields` and `patch` are null if one of the two versions has been erased. `versions` are those of the ends, of a line
 * that which changed it last; 0 if it is not there.
 */
type Diff = { versions: [from: number, to: number] } & (
  | { fields: FieldChange[]; patch: ReturnType<typeof patchBetween> }
  | { fields: null; patch: null; erased: true }
);

/** The history of a log, as far as a caller sees it. */
export type History = ReturnType<typeof historyAs>;

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
    /**
     * The public state after an event, and the newest one.
     *
     * @param position the document has the names and fields as of this position; by default as of the event.
     */
    documentAt: (event: SeenEvent, position = event.header.position) => documentAt(seen, event, position),
    /** @param newest the newest version, at which the lines are compared. */
    diff: (stream: string, ends: readonly [from: DiffEnd, to: DiffEnd], newest: number) =>
      diff(seen, { stream, newest }, ends),
    blame: (question: BlameQuestion): Promise<Blame[]> => blameOf(seen, question),
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
 * The document or global as it was after an event; null if there was none, or it has been erased. If the rules for
 * reading leave fields out, the document has today's names, which the rules know.
 */
async function documentAt(
  seen: SeenLog,
  { header, data, isWithheld }: SeenEvent,
  position: number,
): Promise<DocumentThen> {
  const none: DocumentThen = { document: null, published: null, hasDrafts: false };
  if (data === null && !isWithheld) return none;
  let found: SeenLines = { published: null, draft: null };
  let hasDrafts = false;
  const { stream, version } = header;
  const { sight, epochs } = seen;
  const isOfThen = sight.extent === 'all';
  const upcaster = isOfThen ? epochs.at(position) : epochs.today();
  await walk(seen, { stream, upTo: version, upcaster }, (event, _before, after) => {
    found = after;
    hasDrafts ||= isAboutLines(event.header);
  });
  const { published, draft }: SeenLines = found;
  const shape = isOfThen ? epochs.shapeAt(schemaKey(stream), position) : null;

  function shaped(document: JsonObject | null): JsonObject | null {
    if (!document || !shape) return document;
    const { id, ...rest } = shape(String(fieldOf(document, 'id')), document);
    return schemaKey(stream) === stream ? rest : { id: id ?? null, ...rest };
  }

  const document = shaped(draft);
  return { document, published: draft === published ? document : shaped(published), hasDrafts };
}

/**
 * The difference between two versions of a document, or its lines at its newest version, by today's names; version 0 is
 * before the first.
 */
async function diff(
  seen: SeenLog,
  { stream, newest }: { stream: string; newest: number },
  wanted: readonly [from: DiffEnd, to: DiffEnd],
): Promise<Diff> {
  const ends: [JsonObject | null, JsonObject | null] = [null, null];
  const versions: [number, number] = [0, 0];
  const erased: boolean[] = [false, false];
  const upTo = Math.max(...wanted.map((end) => (typeof end === 'number' ? end : newest)));
  await walk(seen, { stream, upTo, upcaster: seen.epochs.today() }, (event, before, after) => {
    const { header, data, isWithheld } = event;
    for (const [end, one] of wanted.entries()) {
      const line = typeof one === 'number' ? 'draft' : one;
      const isAsked = typeof one === 'number' ? header.version === one : after[line] !== before[line];
      if (!isAsked) continue;
      ends[end] = after[line];
      versions[end] = typeof one === 'string' && after[line] === null ? 0 : header.version;
      // Of an erased stream no line is there.
      erased[end] = typeof one === 'number' && data === null && !isWithheld && header.type !== 'document.deleted';
    }
  });
  if (erased.includes(true)) return { versions, fields: null, patch: null, erased: true };
  const [before, after] = ends;
  return { versions, fields: changesBetween(before, after), patch: patchBetween(before, after) };
}
