import type { Actor } from '../../../events/facts/envelope.ts';
import type { LinesNow } from '../../../events/facts/line-decisions.ts';
import { foldLines, type LineEvent, type Lines } from '../../../events/facts/lines.ts';
import type { Change } from '../../../events/facts/log.ts';

/** Both lines of a document, and the versions of the events that last changed each. */
export type VersionedLines = Lines & Pick<LinesNow, 'versions'>;

/** The lines after an event, as the read tables will have them. */
export function advanced(before: VersionedLines, event: LineEvent): VersionedLines {
  const lines = foldLines(before, event);
  const { versions } = before;
  const isEqual = lines.draft === lines.published;
  const published = lines.published === before.published ? versions.published : event.version;
  const draft = lines.draft === before.draft ? versions.draft : event.version;
  const ofPublic = lines.published === null ? null : published;
  const ofDraft = lines.draft === null ? null : draft;
  return { ...lines, versions: { published: ofPublic, draft: isEqual ? ofPublic : ofDraft } };
}

/** The lines after a decision; those of before if it is null. The versions count from `now.head`. */
export function linesAfter(now: LinesNow, change: Change | null, actor: Actor): LinesNow {
  let lines: VersionedLines = now;
  const events = change?.events ?? [];
  for (const [index, { type, data }] of events.entries()) {
    lines = advanced(lines, { type, data, version: now.head + index + 1, actor });
  }
  return { ...now, ...lines, head: now.head + events.length };
}
