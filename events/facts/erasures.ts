import { isDeepStrictEqual } from 'node:util';
import { isObject, type Json, type JsonObject } from '../../config/schema.ts';
import type { Sqlite } from '../../storage/sqlite.ts';
import type { EventType } from './catalogue.ts';
import { headerOf } from './envelope.ts';
import type { Command, RecordedEvent } from './log.ts';

/** A stream whose first `versions` events have lost their payloads. */
export type ErasedStream = { stream: string; versions: number };

/**
 * The work that is left of a recorded erasure. `files`: SHA-256 of stored files that the erased events named, and that
 * are gone unless something else needs them; not looked at yet.
 */
export type Erasure = { position: number; files: string[]; isDone: boolean };

/** The streams that a `document.erased` declares to have lost payloads; none for what is not of that form. */
export function erasedStreams(data: JsonObject | null): ErasedStream[] {
  const streams: Json | undefined = data?.streams;
  if (!Array.isArray(streams)) return [];
  return streams.filter(isErasedStream);
}

function isErasedStream(value: Json): value is ErasedStream {
  return isObject(value) && typeof value.stream === 'string' && Number.isSafeInteger(value.versions);
}

/**
 * The streams that a command erases: those that its event declares, and no more versions than there are.
 *
 * @throws Error when the event does not declare them.
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

/** Whether payloads of this type stay when their stream is erased: they say what was, and why. */
export function staysErased(type: EventType): boolean {
  return type === 'document.erased';
}

/** Whether the payload of an event was erased, as erasures declare it. `header` is its text. */
export type IsErased = (event: { stream: string; version: number; header: string }) => boolean;

/**
 * Knows which payloads the erasures of a log have taken: a missing one is sound exactly when it was declared. Each call
 * gives what is so by then.
 *
 * @param newest gives the position of the newest erasure, 0 before the first; `events` those of all.
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
    // One of its own: who asked before goes on with what was so then.
    const isErased: IsErased = ({ stream, version, header }) =>
      version <= (versionsOf.get(stream) ?? 0) && !staysErased(headerOf(header).type);
    known = { at, isErased };
    return isErased;
  };
}

type ErasureRow = { position: number; files: string; done: number };

const columns = 'SELECT position, files, done FROM erasures';

/**
 * Reads what became of erasures. Rarely asked, so nothing is prepared for it: also a log of an earlier format can be
 * opened.
 */
export function openErasures(db: Sqlite) {
  return {
    /** Those that are not finished, oldest first. */
    unfinished: (): Erasure[] =>
      db.prepare<[], ErasureRow>(`${columns} WHERE done = 0 ORDER BY position`).all().map(fromRow),
    /** The one whose event is at a position. */
    at(position: number): Erasure | null {
      const row = db.prepare<[position: number], ErasureRow>(`${columns} WHERE position = ?`).get(position);
      return row ? fromRow(row) : null;
    },
    /** At most `limit` of those before a position, newest first. */
    before(position: number, limit: number): Erasure[] {
      const select = db.prepare<[position: number, limit: number], ErasureRow>(
        `${columns} WHERE position < ? ORDER BY position DESC LIMIT ?`,
      );
      return select.all(position, limit).map(fromRow);
    },
    /** The position of the newest; 0 before the first. */
    newest: (): number => db.prepare<[], number | null>('SELECT max(position) FROM erasures').pluck().get() ?? 0,
  };
}

function fromRow({ position, files, done }: ErasureRow): Erasure {
  return { position, files: JSON.parse(files), isDone: done === 1 };
}
