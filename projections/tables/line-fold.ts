import type { JsonObject } from '../../config/schema.ts';
import type { Header } from '../../events/facts/envelope.ts';
import { foldLines, type Lines, settled } from '../../events/facts/lines.ts';
import type { LineValues, TableVersion, TableWriter } from './table-writer.ts';

/** The versions of a document in the tables of both lines. `draft` is null unless the draft differs. */
type LineVersions = { published: TableVersion | null; draft: TableVersion | null };

/** Writes the tables of both lines. */
type LineWriters = { published: TableWriter; draft: TableWriter };

/** An event about one document; `data` is in today's form. */
type LineFact = { id: string; header: Header; data: JsonObject };

/** The versions of both lines that an event makes of others. It writes past versions and links. */
export function foldLineVersions(writers: LineWriters, before: LineVersions, fact: LineFact): LineVersions {
  const { id, header, data } = fact;
  if (header.type === 'document.erased') {
    return { published: writers.published.forget(id, before.published), draft: writers.draft.forget(id, before.draft) };
  }
  const lines = linesOf(before);
  const after = shaped(writers, id, { lines, after: foldLines(lines, { ...header, data }) });
  const published = publishedAfter(writers, before, { id, header, lines, after });
  const draft = draftAfter(writers, before, { id, header, lines, after, published });
  // The head is in the row of the draft, if there is one.
  if (draft || published === null || published.line?.head === header.version) return { published, draft };
  return { published: { ...published, line: published.line && { ...published.line, head: header.version } }, draft };
}

/** Both lines of a document, from its versions in the tables. */
export function linesOf({ published, draft }: LineVersions): Lines {
  const line = draft?.line;
  const review = line?.review ? { state: line.review, version: line.review_version ?? 0 } : null;
  return {
    published: published?.document ?? null,
    draft: (draft ?? published)?.document ?? null,
    editors: line ? JSON.parse(line.editors) : {},
    review,
  };
}

/** Lines whose documents have today's shape, in which they may be equal. */
function shaped(writers: LineWriters, id: string, { lines, after }: { lines: Lines; after: Lines }): Lines {
  const { published, draft } = after;
  const shapedPublic = published === lines.published ? published : published && writers.published.shape(id, published);
  if (draft === published) return { ...after, published: shapedPublic, draft: shapedPublic };
  const isKept = draft === lines.draft || draft === lines.published;
  return settled({
    ...after,
    published: shapedPublic,
    draft: isKept ? draft : draft && writers.draft.shape(id, draft),
  });
}

/** The lines of a document before and after an event. */
type Step = { id: string; header: Header; lines: Lines; after: Lines };

function publishedAfter({ published: writer }: LineWriters, { published: before }: LineVersions, step: Step) {
  const { id, header, lines, after } = step;
  if (after.published === lines.published) return before;
  const line: LineValues = {
    head: header.version,
    published_at: before?.line?.published_at ?? Date.parse(header.recordedAt),
    is_public: 1,
    editors: '{}',
    review: null,
    review_version: null,
  };
  return writer.advance(id, header, { before, document: after.published, line });
}

function draftAfter(
  { draft: writer }: LineWriters,
  before: LineVersions,
  { id, header, lines, after, published }: Step & { published: TableVersion | null },
): TableVersion | null {
  if (after.draft === null || after.draft === after.published) {
    return before.draft && writer.advance(id, header, { before: before.draft, document: null });
  }
  const line: LineValues = {
    head: header.version,
    published_at: published?.line?.published_at ?? null,
    is_public: published ? 1 : 0,
    editors: JSON.stringify(after.editors),
    review: after.review?.state ?? null,
    review_version: after.review?.version ?? null,
  };
  const isKept = after.draft === lines.draft;
  if (isKept && before.draft?.line && isSameLine(before.draft.line, line)) return { ...before.draft, line };
  // A draft that has only become different from what is public keeps its version.
  const version = isKept ? ((before.draft ?? before.published)?.version ?? header.version) : header.version;
  return writer.advance(id, { ...header, version }, { before: before.draft, document: after.draft, line });
}

function isSameLine(one: LineValues, other: LineValues): boolean {
  return (
    one.published_at === other.published_at &&
    one.is_public === other.is_public &&
    one.editors === other.editors &&
    one.review === other.review &&
    one.review_version === other.review_version
  );
}
