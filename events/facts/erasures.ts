import { isDeepStrictEqual } from 'node:util';
import { isObject, type Json, type JsonObject } from '../../config/schema.ts';
import type { Sqlite } from '../../storage/sqlite.ts';
import type { EventType } from './catalogue.ts';
import { headerOf } from './envelope.ts';
import type { Command, RecordedEvent } from './log.ts';

/** A stream whose first `versions` events have lost their payloads. */
export type ErasedStream = { stream: string; versions: number };

/**
 * The work that is left of a recorded erasure. `files`: SHA-256 of stored files that the erased events named. Each is
 * to be removed unless something else needs it, which is not looked at yet.
 */
export type Erasure = { position: number; files: string[]; isDone: boolean };

/** The streams that a `document.erased` declares to have lost payloads; none for data of another form. */
export function erasedStreams(data: JsonObject | null): ErasedStream[] {
  const streams: Json | undefined = data?.streams;
  if (!Array.isArray(streams)) return [];
  return streams.filter(isErasedStream);
}

function isErasedStream(value: Json): value is ErasedStream {
  return isObject(value) && typeof value.stream === 'string' && Number.isSafeInteger(value.versions);
}

/**
 * The streams that a command erases, as its event declares them; no more versions than there are.
 *
 * @throws Error if the event does not declare the streams.
 */
export function declaredBy(
  { stream, events, erases = [] }: Command,
  versionOf: (stream: string) => number,
): ErasedStream[] {
  if (erases.length === 0) return [];
  const declared = erasedStreams(events[0]?.data ?? null);
  const isMeant = isDeepStrictEqual(
    declared.map(({ stream }) => stream),
    erases,
  );
  if (!isMeant || declared.some(({ stream, versions }) => versions > versionOf(stream)))
    throw new Error(`the erasure of ${stream} does not declare what it takes`);
  return declared;
}

/** Whether payloads of this type stay when their stream is erased: they say what was erased, and why. */
export function staysErased(type: EventType): boolean {
  return type === 'document.erased';
}

/** Whether the payload of an event was erased, as erasures declare. `header` is the text of the header. */
export type IsErased = (event: { stream: string; version: number; header: string }) => boolean;

/**
 * Knows which payloads the erasures of a log have taken: a missing payload is sound exactly if an erasure declared it.
 * Each call gives the state at that moment.
 *
 * @param newest gives the position of the newest erasure, 0 before the first; `events` gives the events of all
 * erasures.
 */
export function knowErased({
  newest,
  events,
}: {
  newest: () => number;
  events: () => Pick<RecordedEvent, 'data'>[];
}): () => IsErased {
  let known: { at: number; isErased: IsErased } = { at: 0, isErased: () => false };

  return () => {
    const at = newest();
    if (at === known.at) return known.isErased;
    const versionsOf = new Map<string, number>();
    for (const { stream, versions } of events().flatMap(({ data }) => erasedStreams(data)))
      versionsOf.set(stream, Math.max(versions, versionsOf.get(stream) ?? 0));
    // A new function: an earlier caller keeps the state that it asked for.
    const isErased: IsErased = ({ stream, version, header }) =>
      version <= (versionsOf.get(stream) ?? 0) && !staysErased(headerOf(header).type);
    known = { at, isErased };
    return isErased;
  };
}

type ErasureRow = { position: number; files: string; done: number };

const columns = 'SELECT position, files, done FROM erasures';

/**
 * Reads what became of erasures. It is rarely asked, so no statement is prepared: a log of an earlier format can be
 * opened too.
 */
export function openErasures(db: Sqlite) {
  return {
    /** The unfinished erasures, oldest first. */
    unfinished: (): Erasure[] =>
      db.prepare<[], ErasureRow>(`${columns} WHERE done = 0 ORDER BY position`).all().map(fromRow),
    /** The erasure whose event is at a position. */
    at(position: number): Erasure | null {
      const row = db.prepare<[position: number], ErasureRow>(`${columns} WHERE position = ?`).get(position);
      return row ? fromRow(row) : null;
    },
    /** At most `limit` of the erasures before a position, newest first. */
    before(position: number, limit: number): Erasure[] {
      const select = db.prepare<[position: number, limit: number], ErasureRow>(
        `${columns} WHERE position < ? ORDER BY position DESC LIMIT ?`,
      );
      return select.all(position, limit).map(fromRow);
    },
    /** The position of the newest erasure; 0 before the first. */
    newest: (): number => db.prepare<[], number | null>('SELECT max(position) FROM erasures').pluck().get() ?? 0,
  };
}

function fromRow({ position, files, done }: ErasureRow): Erasure {
  return { position, files: JSON.parse(files), isDone: done === 1 };
}
