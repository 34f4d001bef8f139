import { type LinesNow, noLinesNow } from '../../events/facts/line-decisions.ts';
import type { Sqlite } from '../../storage/sqlite.ts';
import { intact } from '../tables/damage.ts';
import { linesOf } from '../tables/line-fold.ts';
import type { LineValues } from '../tables/table-writer.ts';
import type { Tables } from '../tables/tables.ts';

type LineRow = LineValues & { isDraft: number; version: number; text: string | null };

/** An open request for review: the version that it asks about, and the version of the newest draft. */
export type OpenReview = { id: string; version: number; newest: number };

/** Reads the documents of a collection or global with drafts of which a review is requested. */
export function openReviews(db: Sqlite, { documents }: Tables): () => OpenReview[] {
  const select = db.prepare<[], OpenReview>(
    `SELECT id, review_version AS version, version AS newest FROM ${documents} WHERE review = 'open'`,
  );
  return () => select.all();
}

/** Reads both lines of the documents of a collection or global with drafts. */
export function openLines(db: Sqlite, { documents, texts }: Tables, drafts: Tables) {
  const columns = 'id, version, head, published_at';
  // One statement, so both rows are of one moment.
  const select = db.prepare<[{ id: string }], LineRow>(
    `SELECT 0 AS isDraft, ${columns}, 1 AS is_public, '{}' AS editors, NULL AS review, NULL AS review_version,
      (SELECT doc FROM ${texts} WHERE key = d.key) AS text FROM ${documents} AS d WHERE id = @id
     UNION ALL SELECT 1, ${columns}, is_public, editors, review, review_version,
      (SELECT doc FROM ${drafts.texts} WHERE key = d.key) FROM ${drafts.documents} AS d WHERE id = @id`,
  );

  /** Both lines of a document; `noLinesNow` if it does not exist. */
  return function lines(id: string): LinesNow {
    const rows = select.all({ id });
    const [published = null, draft = null] = [0, 1].map((line) => rows.find(({ isDraft }) => isDraft === line));
    if (!published && !draft) return noLinesNow;
    const versionOf = (row: LineRow | null, table: string) => {
      if (!row) return null;
      const text = intact(row.text, table, id);
      return { key: 0, validFrom: 0, version: row.version, text, document: JSON.parse(text), line: row };
    };
    const versions = { published: versionOf(published, texts), draft: versionOf(draft, drafts.texts) };
    return {
      ...linesOf(versions),
      head: Math.max(published?.head ?? 0, draft?.head ?? 0),
      versions: { published: published?.version ?? null, draft: (draft ?? published)?.version ?? null },
      publishedAt: published?.published_at ?? null,
    };
  };
}
