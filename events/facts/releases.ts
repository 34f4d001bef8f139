import { type Category, globalsCategory, type JsonObject } from '../../config/schema.ts';
import { releaseStream } from './catalogue.ts';
import type { Actor } from './envelope.ts';
import { type Change, changeOf, type NewEvent } from './log.ts';

/**
 * A document or global of a release. The category of a global is `globals`, its id is its slug. `version` is that
 * of the stream whose draft is published; null for `unpublish`.
 */
export type ReleaseItem = { category: Category; id: string; action: 'publish' | 'unpublish'; version: number | null };

/** The document or global of an item. */
export type ReleaseSubject = Pick<ReleaseItem, 'category' | 'id'>;

/** When a release is published (milliseconds since the epoch), and the IANA name of the time zone to show it in. */
export type ReleaseTime = { at: number; timeZone: string | null };

/** The time that a release was planned for, in milliseconds since the epoch, and who planned it. */
export type Planned = { at: number; by: Actor | null };

/** A problem of a release: of one item, and perhaps of one of its fields. `code` is a code of errors or of fields. */
export type ReleaseProblem = ReleaseSubject & { field: string | null; code: string };

/** A new release. */
type NewRelease = {
  id: string;
  title: string;
  description: string | null;
  /** Null: it has no time yet. */
  time: ReleaseTime | null;
  items: readonly ReleaseItem[];
};

/** A release with its items. */
export function decideRelease({ id, title, description, time, items }: NewRelease): Change {
  const created: NewEvent = { type: 'release.created', data: { title, description, ...timeData(time) } };
  return changeOf(releaseStream(id), [created, ...items.map(itemSet)], 0);
}

/** New members of a release; `time: null` takes its time away. */
type ReleaseChanges = { title?: string; description?: string | null; time?: ReleaseTime | null };

/** A change of a release. Here and below, `version` is that of its stream: of two changes at once, one succeeds. */
export function decideReleaseUpdate(id: string, version: number, { time, ...rest }: ReleaseChanges): Change {
  const set = { ...rest, ...(time !== undefined && timeData(time)) };
  return changeOf(releaseStream(id), [{ type: 'release.updated', data: { set } }], version);
}

/** New items of a release, or other actions and versions of those that it has. */
export function decideReleaseItems(id: string, version: number, items: readonly ReleaseItem[]): Change {
  return changeOf(releaseStream(id), items.map(itemSet), version);
}

/** The removal of items from a release. */
export function decideReleaseRemoval(id: string, version: number, subjects: readonly ReleaseSubject[]): Change {
  const events = subjects.map((subject): NewEvent => ({ type: 'release.item.removed', data: subjectData(subject) }));
  return changeOf(releaseStream(id), events, version);
}

/**
 * The publication of a release.
 *
 * @param planned the time that it was planned for, and who planned it; null if it is published by hand.
 */
export function decideReleasePublication(id: string, version: number, planned: Planned | null): Change {
  const data = planned ? plannedData(planned) : {};
  return changeOf(releaseStream(id), [{ type: 'release.published', data }], version);
}

/** A release that could not be published at its time `at` (milliseconds since the epoch), for which `by` planned it. */
export function decideReleaseFailure(
  id: string,
  version: number,
  { problems, ...planned }: Planned & { problems: readonly ReleaseProblem[] },
): Change {
  const told = problems.map(({ field, code, ...subject }) => ({ ...subjectData(subject), field, code }));
  const data = { ...plannedData(planned), problems: told };
  return changeOf(releaseStream(id), [{ type: 'release.failed', data }], version);
}

/** The end of a release that is not published. */
export function decideReleaseEnd(id: string, version: number): Change {
  return changeOf(releaseStream(id), [{ type: 'release.archived', data: {} }], version);
}

/** The document or global that the data of an event names. */
export function subjectIn(data: JsonObject): ReleaseSubject {
  if (data.global !== undefined) return { category: globalsCategory, id: String(data.global) };
  return { category: String(data.collection) as Category, id: String(data.id) };
}

function itemSet({ category, id, action, version }: ReleaseItem): NewEvent {
  const data = { ...subjectData({ category, id }), action, ...(version !== null && { version }) };
  return { type: 'release.item.set', data };
}

function subjectData({ category, id }: ReleaseSubject): JsonObject {
  return category === globalsCategory ? { global: id } : { collection: category, id };
}

function timeData(time: ReleaseTime | null): JsonObject {
  return { at: time && timeText(time.at), timeZone: time?.timeZone ?? null };
}

function plannedData({ at, by }: Planned): JsonObject {
  return { at: timeText(at), ...(by && { scheduledBy: { ...by } }) };
}

function timeText(at: number): string {
  return new Date(at).toISOString();
}
