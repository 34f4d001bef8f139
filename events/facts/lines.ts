import { isDeepStrictEqual } from 'node:util';
import { isObject, type Json, type JsonObject } from '../../config/schema.ts';
import type { Header } from './envelope.ts';

/**
 * The authors of unpublished changes: by field, the callers who changed its value since it was last public, in the
 * order of their first change. A user or a key is its `actor.id`, the service itself `system`.
 */
export type Editors = { readonly [field: string]: readonly string[] };

/** A request for review: the version that it asks about, and whether it was refused since. */
export type Review = { state: 'open' | 'refused'; version: number };

/**
 * The two lines of a document or global, folded from one stream. A draft that differs from the public state in
 * `updatedAt` alone is no draft: then both members are one object.
 */
export type Lines = {
  /** The public state; null if nothing is public. */
  published: JsonObject | null;
  /** The newest state; null if there is no document. */
  draft: JsonObject | null;
  /** Empty if nothing is unpublished. */
  editors: Editors;
  /** Null if nothing is unpublished, or no review was asked for. */
  review: Review | null;
};

/** The lines before the first event of a stream. */
export const noLines: Lines = { published: null, draft: null, editors: {}, review: null };

/** The part of an event that the fold needs. `data` is in today's form. */
export type LineEvent = Pick<Header, 'type' | 'version' | 'actor'> & { data: JsonObject };

/**
 * Applies an event to both lines. Pure, and total over all events ever recorded. Without events of drafts both lines
 * are what `foldDocument` makes.
 */
export function foldLines(before: Lines, event: LineEvent): Lines {
  const { type, data } = event;
  switch (type) {
    case 'document.created':
      return equal(data);
    case 'document.restored':
    case 'global.restored':
      return equal(objectOf(data.document));
    case 'document.deleted':
    case 'document.erased':
      return noLines;
    case 'document.draft.created':
      return edited(before, data, event);
    case 'document.draft.updated':
    case 'global.draft.updated':
      return edited(before, { ...before.draft, ...objectOf(data.set) }, event);
    case 'document.draft.restored':
    case 'global.draft.restored':
      return edited(before, objectOf(data.document), event);
    case 'document.draft.discarded':
    case 'global.draft.discarded':
      return discarded(before, data);
    case 'document.published':
    case 'global.published':
      return { ...(isObject(data.document) ? between(before, data.document) : changed(before, data)), review: null };
    case 'document.unpublished':
      return { ...before, published: null };
    case 'review.requested':
      return { ...before, review: { state: 'open', version: Number(data.version) } };
    case 'review.refused':
      return before.review ? { ...before, review: { ...before.review, state: 'refused' } } : before;
    case 'review.withdrawn':
      return { ...before, review: null };
    default:
      return changed(before, data);
  }
}

/** Both lines after an event that makes them equal. */
function equal(document: JsonObject): Lines {
  return { published: document, draft: document, editors: {}, review: null };
}

/** The lines with another draft, which the caller of an event made. */
function edited({ published, draft, editors, review }: Lines, after: JsonObject, { actor }: LineEvent): Lines {
  const by = actor.id ?? actor.type;
  const next = new Map(Object.entries(editors));
  for (const name of changedNames(draft, after)) {
    const before = next.get(name) ?? [];
    next.set(name, before.includes(by) ? before : [...before, by]);
  }
  return settled({ published, draft: after, editors: Object.fromEntries(next), review });
}

/** The public state as it is now, and the draft as it was. */
function between({ draft, editors, review }: Lines, published: JsonObject): Lines {
  return settled({ published, draft: draft ?? published, editors, review });
}

/**
 * A change of public fields. The draft takes each of them in which it was equal to the public state, and keeps its own
 * value of the others.
 */
function changed({ published, draft, editors, review }: Lines, data: JsonObject): Lines {
  const after = withSet(published, data, () => true);
  if (draft === published || draft === null) return equal(after);
  const isEqual = (name: string) => name === 'updatedAt' || isSame(published?.[name], draft[name]);
  return settled({ published: after, draft: withSet(draft, data, isEqual), editors, review });
}

function withSet(before: JsonObject | null, data: JsonObject, isTaken: (name: string) => boolean): JsonObject {
  const after: JsonObject = { ...before };
  for (const [name, value] of Object.entries(objectOf(data.set))) if (isTaken(name)) after[name] = value;
  for (const name of Array.isArray(data.unset) ? data.unset.map(String) : []) if (isTaken(name)) delete after[name];
  return after;
}

function discarded({ published }: Lines, data: JsonObject): Lines {
  // The event has the state that was public last.
  const draft = published ?? (isObject(data.document) ? data.document : null);
  return { published, draft, editors: {}, review: null };
}

/**
 * Lines that may have become equal: then they are one object, and nothing is left to review. Only the editors of fields
 * that differ are kept.
 */
export function settled(lines: Lines): Lines {
  const { published, draft, editors } = lines;
  if (published === null || draft === null) return lines;
  const names = changedNames(published, draft);
  if (names.length === 0) return equal(published);
  return { ...lines, editors: Object.fromEntries(Object.entries(editors).filter(([name]) => names.includes(name))) };
}

/** The names of the fields in which two states differ, without `updatedAt`. A missing field is null. */
export function changedNames(before: JsonObject | null, after: JsonObject): string[] {
  const names = new Set([...Object.keys(before ?? {}), ...Object.keys(after)]);
  names.delete('updatedAt');
  return [...names].filter((name) => before === null || !isSame(before[name], after[name]));
}

function isSame(one: Json | undefined, other: Json | undefined): boolean {
  return isDeepStrictEqual(one ?? null, other ?? null);
}

function objectOf(value: Json | undefined): JsonObject {
  return isObject(value) ? value : {};
}
