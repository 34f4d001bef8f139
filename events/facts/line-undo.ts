import type { JsonObject } from '../../config/schema.ts';
import { changeOf, type LineSubject } from './line-decisions.ts';
import { changedNames, foldLines, type Lines } from './lines.ts';
import type { Change, NewEvent } from './log.ts';

/** The lines before and after the events that are to be undone. */
export type LinesUndone = {
  before: Pick<Lines, 'published' | 'draft'>;
  after: Pick<Lines, 'published' | 'draft'>;
  /** The version before them, and the position of its event. */
  source: { version: number; position: number };
};

type Target = Parameters<typeof changeOf>[0];

/**
 * Gives both lines of a document back what events have changed in them; null if nothing is left to undo. Fields that
 * later events changed, and these did not, stay.
 */
export function decideLinesBack(target: Target, subject: LineSubject, undone: LinesUndone): Change | null {
  const { before } = undone;
  const { now } = subject;
  if (before.draft === null) {
    if (now.draft === null) return null;
    return changeOf(target, subject, [{ type: 'document.deleted', data: {} }]);
  }
  const events = now.draft === null ? restoration(subject, undone) : publicBack(subject, undone);
  if (events === null) return null;
  const lines = after(subject, events);
  const wanted = now.draft === null ? before.draft : draftWanted(now.draft, undone);
  const names = changedNames(lines.draft, wanted);
  if (names.length > 0) {
    const set = { ...values(wanted, names), updatedAt: nextTime(lines, subject.at) };
    events.push({ type: 'document.draft.updated', data: { set } });
  }
  return events.length === 0 ? null : changeOf(target, subject, events);
}

/** The events that bring a document back which these events ended; null if others have. */
function restoration({ at }: LineSubject, { before, after: made, source }: LinesUndone): NewEvent[] | null {
  if (made.draft !== null) return null;
  const { published, draft } = before;
  const restored: JsonObject = { ...(published ?? draft), updatedAt: nextTime(before, at) };
  const type = published === null ? 'document.draft.restored' : 'document.restored';
  return [{ type, data: { source, document: restored } }];
}

/** The events that make public again what was. */
function publicBack({ now, at }: LineSubject, { before, after: made, source }: LinesUndone): NewEvent[] {
  const updatedAt = nextTime(now, at);
  if (before.published === null) {
    const isMade = made.published !== null && now.published !== null;
    return isMade ? [{ type: 'document.unpublished', data: {} }] : [];
  }
  if (made.published === null) {
    if (now.published !== null) return [];
    const document = { ...before.published, updatedAt };
    return [{ type: 'document.published', data: { version: source.version, document } }];
  }
  if (now.published === null) return [];
  const wanted = { ...now.published, ...values(before.published, changedNames(made.published, before.published)) };
  const names = changedNames(now.published, wanted);
  return names.length === 0
    ? []
    : [{ type: 'document.updated', data: { set: { ...values(wanted, names), updatedAt } } }];
}

/** The draft of today with the values that these events took from it. */
function draftWanted(draft: JsonObject, { before, after: made }: LinesUndone): JsonObject {
  return made.draft && before.draft
    ? { ...draft, ...values(before.draft, changedNames(made.draft, before.draft)) }
    : draft;
}

function after({ now, actor }: LineSubject, events: readonly NewEvent[]): Lines {
  let lines: Lines = now;
  for (const [index, event] of events.entries()) {
    lines = foldLines(lines, { ...event, version: now.head + index + 1, actor });
  }
  return lines;
}

/** The values of fields; null of one that is missing. */
function values(document: JsonObject, names: readonly string[]): JsonObject {
  return Object.fromEntries(names.map((name) => [name, document[name] ?? null]));
}

/** `updatedAt` strictly increases, whatever the clock does. */
function nextTime({ published, draft }: Pick<Lines, 'published' | 'draft'>, at: number): string {
  const times = [published, draft].map((line) => {
    return typeof line?.updatedAt === 'string' ? Date.parse(line.updatedAt) : 0;
  });
  return new Date(Math.max(at, ...times.map((time) => time + 1))).toISOString();
}
