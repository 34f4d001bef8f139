import { type Category, isObject, type JsonObject } from '../../config/schema.ts';
import { documentStream, isCreation } from './catalogue.ts';
import { amongDrafts, claimChanges, claimsOf, type UniqueField } from './claims.ts';
import type { Actor } from './envelope.ts';
import { changedNames, foldLines, type Lines, noLines } from './lines.ts';
import type { Change, Claim, NewEvent } from './log.ts';

/** The lines of a document or global as the read tables have them. */
export type LinesNow = Lines & {
  /** The version of the stream; 0 before its first event. */
  head: number;
  /** The versions of the lines: of the last event that changed each. Both are equal if the lines are. */
  versions: { published: number | null; draft: number | null };
  /** When the document became public, in milliseconds since the epoch; null if it is not public. */
  publishedAt: number | null;
};

/** The lines of a document that does not exist. */
export const noLinesNow: LinesNow = {
  ...noLines,
  head: 0,
  versions: { published: null, draft: null },
  publishedAt: null,
};

/** A collection or global with drafts. */
export type LineTarget = { category: Category; unique: readonly UniqueField[]; isGlobal: boolean };

/** The document or global to change: its id, its lines, who changes it, and when (milliseconds since the epoch). */
export type LineSubject = { id: string; now: LinesNow; actor: Actor; at: number };

/** A new draft, of which nothing is public. `values` are its fields, defaults and hooks applied. */
export function decideDraft(target: LineTarget, { id, actor, at }: Omit<LineSubject, 'now'>, values: JsonObject) {
  const time = new Date(at).toISOString();
  const data = { id, createdAt: time, updatedAt: time, ...values };
  return changeOf(target, { id, now: noLinesNow, actor }, [{ type: 'document.draft.created', data }]);
}

/** A new document that is public at once. */
export function decidePublicCreate(
  target: LineTarget,
  { id, actor, at }: Omit<LineSubject, 'now'>,
  values: JsonObject,
) {
  const time = new Date(at).toISOString();
  const data = { id, createdAt: time, updatedAt: time, ...values };
  return changeOf(target, { id, now: noLinesNow, actor }, [{ type: 'document.created', data }]);
}

/**
 * New values of some fields of the draft; null if they change nothing. The first change of a global records every
 * field.
 *
 * @param defaults of a global: its fields before its first change.
 */
export function decideDraftUpdate(
  target: LineTarget,
  subject: LineSubject,
  { values, defaults = null }: { values: JsonObject; defaults?: JsonObject | null },
): Change | null {
  const event = draftUpdate(target, subject, { values, defaults });
  return event && changeOf(target, subject, [event]);
}

function draftUpdate(
  { isGlobal }: LineTarget,
  { now, at }: LineSubject,
  { values, defaults }: { values: JsonObject; defaults: JsonObject | null },
): NewEvent | null {
  const before = now.draft ?? defaults ?? {};
  const changed = picked(values, changedNames(before, { ...before, ...values }));
  if (Object.keys(changed).length === 0) return null;
  const updatedAt = nextTime(now, at);
  const set = now.draft ? { ...changed, updatedAt } : { ...before, ...changed, createdAt: updatedAt, updatedAt };
  return { type: isGlobal ? 'global.draft.updated' : 'document.draft.updated', data: { set } };
}

/**
 * New values of some public fields; null if they change nothing. The draft takes those in which it does not differ.
 *
 * @param defaults of a global: its fields before its first change.
 */
export function decidePublicUpdate(
  target: LineTarget,
  subject: LineSubject,
  { values, defaults = null, isSame = false }: { values: JsonObject; defaults?: JsonObject | null; isSame?: boolean },
): Change | null {
  const { now, at } = subject;
  const before = now.published ?? defaults ?? {};
  const changed = isSame ? values : picked(values, changedNames(before, { ...before, ...values }));
  if (Object.keys(changed).length === 0) return null;
  const updatedAt = nextTime(now, at);
  if (!target.isGlobal) return changeOf(target, subject, [update('document.updated', { ...changed, updatedAt })]);
  if (now.published) return changeOf(target, subject, [update('global.updated', { ...changed, updatedAt })]);
  const first = update('global.updated', { ...before, ...changed, createdAt: updatedAt, updatedAt });
  // The first change sets every field, so the fold cannot tell in which of them the draft was as the defaults.
  const { draft } = now;
  const untouched = draft ? Object.keys(changed).filter((name) => !changedNames(before, draft).includes(name)) : [];
  const follow =
    untouched.length > 0 ? [update('global.draft.updated', { ...picked(changed, untouched), updatedAt })] : [];
  return changeOf(target, subject, [first, ...follow]);
}

/** A publication: of the newest draft, or of a version. */
type Publication = {
  /** Values that are saved in the draft first. */
  values?: JsonObject;
  /** The version of the stream to publish, with the lines at it; absent for the newest. */
  source?: { version: number; lines: Lines };
  /** The field that gets the time of the publication if it is empty; null for none. */
  timeField?: string | null;
  /** The id of the release that publishes it. */
  release?: string;
  /** Of a global: its fields before its first change. */
  defaults?: JsonObject | null;
};

/**
 * Makes a draft public; null if that changes nothing. Of a version it publishes the fields in which draft and public
 * state differed at it, so what has become public since stays.
 */
export function decidePublish(target: LineTarget, subject: LineSubject, publication: Publication): Change | null {
  const { now, at, actor } = subject;
  const { values, timeField = null, release, defaults = null } = publication;
  const saved = values ? draftUpdate(target, subject, { values, defaults }) : null;
  const first = saved ? [saved] : [];
  const version = now.head + first.length;
  const lines = saved ? foldLines(now, { ...saved, version, actor }) : now;
  const source = publication.source ?? { version, lines };
  const { draft } = source.lines;
  if (draft === null) return null;
  const updatedAt = nextTime(lines, at);
  const timed = timeField !== null && (draft[timeField] ?? null) === null ? { [timeField]: updatedAt } : {};
  const names = changedNames(source.lines.published, draft);
  if (lines.published === null) {
    const document = { ...draft, ...timed, updatedAt };
    return changeOf(target, subject, [...first, published(target, { version: source.version, document }, release)]);
  }
  const isNever = source.lines.published === null;
  const set = picked(draft, changedNames(lines.published, { ...lines.published, ...picked(draft, names) }));
  if (Object.keys(set).length === 0) return saved && changeOf(target, subject, first);
  const data = { version: source.version, set: { ...set, ...(isNever ? timed : {}), updatedAt } };
  return changeOf(target, subject, [...first, published(target, data, release)]);
}

function published({ isGlobal }: LineTarget, data: JsonObject, release: string | undefined): NewEvent {
  const type = isGlobal ? 'global.published' : 'document.published';
  return { type, data: release === undefined ? data : { ...data, release } };
}

/** Takes a document out of what is public. Its draft stays. */
export function decideUnpublish(target: LineTarget, subject: LineSubject, release?: string): Change {
  return changeOf(target, subject, [{ type: 'document.unpublished', data: release === undefined ? {} : { release } }]);
}

/**
 * Makes the draft what is public; null if it is so. Of an unpublished document it is what was public last.
 *
 * @param last the last public state of a document of which nothing is public now.
 */
export function decideDiscard(target: LineTarget, subject: LineSubject, last: JsonObject | null): Change | null {
  const { published: isPublic, draft } = subject.now;
  if (draft === isPublic) return null;
  if (isPublic === null && last !== null && draft && changedNames(last, draft).length === 0) return null;
  const type = target.isGlobal ? 'global.draft.discarded' : 'document.draft.discarded';
  return changeOf(target, subject, [{ type, data: isPublic === null && last !== null ? { document: last } : {} }]);
}

/** The end of a document with its draft. */
export function decideEnd(target: LineTarget, subject: LineSubject): Change {
  return changeOf(target, subject, [{ type: 'document.deleted', data: {} }]);
}

type LineRestore = {
  /** The version that is restored, and the position of its event. */
  source: { version: number; position: number };
  /** The fields that the document gets, `createdAt` among them. */
  document: JsonObject;
  /** Only the draft, or both lines. */
  isDraft: boolean;
  /** Record it even if nothing changes. */
  isSame?: boolean;
};

/** A document or global as it was; null if it is so already. */
export function decideLineRestore(
  target: LineTarget,
  subject: LineSubject,
  { source, document, isDraft, isSame = false }: LineRestore,
): Change | null {
  const { id, now, at } = subject;
  const { published: isPublic, draft } = now;
  const restored: JsonObject = { ...(target.isGlobal ? {} : { id }), ...document, updatedAt: nextTime(now, at) };
  const isLike = (line: JsonObject | null) =>
    line !== null && changedNames(line, { ...line, ...restored }).length === 0;
  if (!isSame && isLike(draft) && (isDraft || isLike(isPublic))) return null;
  const type = `${target.isGlobal ? 'global' : 'document'}.${isDraft ? 'draft.' : ''}restored` as const;
  return changeOf(target, subject, [{ type, data: { source, document: restored } }]);
}

/** A change of the lines with the unique values that it takes and gives up. */
export function changeOf(target: LineTarget, { id, now, actor }: Omit<LineSubject, 'at'>, events: NewEvent[]): Change {
  let lines: Lines = now;
  for (const [index, event] of events.entries()) {
    lines = foldLines(lines, { ...event, version: now.head + index + 1, actor });
  }
  const isNew = events.some(({ type }) => isCreation(type));
  return {
    stream: documentStream(target.category, id),
    expectedVersion: isNew ? 0 : now.head,
    events,
    ...claimChanges(claimsOfLines(target, now), claimsOfLines(target, lines)),
  };
}

/** The claims of both lines. */
function claimsOfLines({ unique }: LineTarget, { published: isPublic, draft }: Lines): Claim[] {
  return [...(isPublic ? claimsOf(unique, isPublic) : []), ...(draft ? claimsOf(amongDrafts(unique), draft) : [])];
}

function update(type: 'document.updated' | 'global.updated' | 'global.draft.updated', set: JsonObject): NewEvent {
  return { type, data: { set } };
}

function picked(values: JsonObject, names: readonly string[]): JsonObject {
  return Object.fromEntries(Object.entries(values).filter(([name]) => names.includes(name)));
}

/** `updatedAt` strictly increases per document, whatever the clock does. */
function nextTime({ published: isPublic, draft }: Lines, at: number): string {
  const times = [isPublic, draft].map((line) => {
    return isObject(line) && typeof line.updatedAt === 'string' ? Date.parse(line.updatedAt) : 0;
  });
  return new Date(Math.max(at, ...times.map((time) => time + 1))).toISOString();
}
