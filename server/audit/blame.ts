import type { Json, JsonObject } from '../../config/schema.ts';
import { isPublication } from '../../events/facts/catalogue.ts';
import { changesBetween, fieldOf } from '../../events/facts/changes.ts';
import { schemaKey } from '../../events/facts/upcasters.ts';
import type { SeenEvent } from '../access/sight.ts';
import { entryOf, fieldsSet, type HistoryEntry, namesOf } from './entries.ts';
import { isAboutLines, type SeenLines, type SeenLog, walk } from './stream-walk.ts';

/** An event that gave a field its value, or made the value public. */
type BlamedEntry = Omit<HistoryEntry, 'changed'>;

/**
 * The event that gave a field its value. `published`, in a stream with events of drafts: the event that made the value
 * public; null if it is not public.
 */
export type Blame = { field: string; value: Json; published?: BlamedEntry | null } & (BlamedEntry | { version: null });

/** The line of a document that is asked about, as of a version. */
export type BlameQuestion = { stream: string; version: number; line: 'published' | 'draft' };

/** The events behind a public value. */
type Publication = { by: HistoryEntry; published: HistoryEntry };

/** The events that gave each field its value, for one line of a document as of a version, by today's names. */
export async function blameOf(seen: SeenLog, { stream, version, line }: BlameQuestion): Promise<Blame[]> {
  const { epochs, sight } = seen;
  const authors = followAuthors(seen);
  let lines: SeenLines = { published: null, draft: null };
  await walk(seen, { stream, upTo: version, upcaster: epochs.today() }, (event, before, after) => {
    lines = after;
    authors.note(event, before, after);
  });
  const found: JsonObject | null = (lines as SeenLines)[line];
  if (!found) return [];
  const names = new Set([...epochs.names(schemaKey(stream)), ...namesOf(changesBetween(null, found))]);
  return [...names].filter(sight.shows).map((field) => {
    const { by, published } = authors.of(field, line, lines);
    const publication = authors.hasDrafts() ? { published: published && blamed(published) } : {};
    return { field, value: fieldOf(found, field), ...(by ? blamed(by) : { version: null }), ...publication } as Blame;
  });
}

/** Follows who wrote the values of the draft, and who made which of them public. */
function followAuthors(seen: SeenLog) {
  // The writers of a field since it was last written in public, for a publication may name an earlier version.
  const writers = new Map<string, HistoryEntry[]>();
  const publications = new Map<string, Publication>();
  let hasDrafts = false;

  /** The last writer of a field up to a version. */
  function writerOf(field: string, version: number): HistoryEntry | undefined {
    const all = writers.get(field) ?? [];
    return all.findLast((entry) => entry.version <= version) ?? all[0];
  }

  function note(event: SeenEvent, before: SeenLines, after: SeenLines): void {
    hasDrafts ||= isAboutLines(event.header);
    const { draft, published } = after;
    if (draft === null) writers.clear();
    if (published === null) publications.clear();
    const inPublic = published && published !== before.published ? fieldsIn(event, 'published', before, after) : [];
    const isOne = before.draft === before.published && draft === published;
    const inDraft = isOne ? inPublic : draft && draft !== before.draft ? fieldsIn(event, 'draft', before, after) : [];
    if (inPublic.length + inDraft.length === 0) return;
    const entry = entryOf(seen, event);
    const { type, version } = event.header;
    const source = isPublication(type) ? Number(event.data?.version ?? version) : null;
    const by = (field: string) => (source === null ? entry : (writerOf(field, source) ?? entry));
    const written = inPublic.map((field) => [field, { by: by(field), published: entry }] as const);
    const isDiscard = type.endsWith('.discarded');
    for (const field of inDraft) {
      const writer = isDiscard ? (publications.get(field)?.by ?? entry) : by(field);
      writers.set(field, isOne || isDiscard ? [writer] : [...(writers.get(field) ?? []), writer]);
    }
    for (const [field, publication] of written) publications.set(field, publication);
  }

  function fieldsIn(event: SeenEvent, line: keyof SeenLines, before: SeenLines, after: SeenLines): string[] {
    // An update of what is public is not one of each field of the draft.
    const isWhole = before.draft === before.published || event.header.type.includes('.draft.') || line === 'published';
    const states = [before[line], after[line] ?? {}] as const;
    return isWhole ? fieldsSet(seen, event, states) : namesOf(changesBetween(...states));
  }

  function authorsOf(field: string, line: keyof SeenLines, { published, draft }: SeenLines) {
    const publication = publications.get(field) ?? null;
    if (line === 'published') return { by: publication?.by, published: publication?.published ?? null };
    const isPublic = published !== null && changesBetween(pick(published, field), pick(draft, field)).length === 0;
    return { by: writers.get(field)?.at(-1), published: (isPublic && publication?.published) || null };
  }

  return { note, of: authorsOf, hasDrafts: () => hasDrafts };
}

function pick(document: JsonObject | null, field: string): JsonObject {
  return { [field]: fieldOf(document, field) };
}

function blamed({ changed: _changed, ...entry }: HistoryEntry): BlamedEntry {
  return entry;
}
