import type { Actor } from '../../../../../client/index.ts';
import { isOfDrafts } from '../../../schema/model.ts';
import { useAsOf } from '../../../service/as-of.ts';
import { versionOf } from '../../../service/client.ts';
import { useModel } from '../../../service/model.tsx';
import { keys, useRead } from '../../../service/queries.ts';
import {
  configOf,
  fieldsOf,
  readPublic,
  type Subject,
  slugOf,
  type TaggedDocument,
  versionIn,
} from '../save/subject.ts';
import { actionsOf, changesBetween, type LineActions, type LineChange, type LineFacts, lineFactsOf } from './lines.ts';

/** The two lines of a document, for a user who works on drafts. */
export type Lines = LineFacts & {
  /** The version of the draft as it was read. */
  etag: string | undefined;
  /** The fields that a publication would change; null until what is public is read. */
  changes: LineChange[] | null;
  /** When and by whom the public state became public; null if the user may not know. */
  publication: { recordedAt: string; actor: Actor } | null;
  actions: LineActions;
};

/** Reads what is public beside a draft; null for a document that is not created yet, or was not read as a draft. */
export function useLines(subject: Subject, latest: TaggedDocument | null): Lines | null {
  const config = configOf(subject);
  const { audit } = useModel();
  const isNow = useAsOf() === null;
  const facts = latest !== null && isOfDrafts(config) ? lineFactsOf(latest.document) : null;
  const id = subject.kind === 'global' ? '' : (subject.id ?? '');
  const slug = slugOf(subject);
  const place = subject.kind === 'global' ? keys.global(slug) : keys.document(slug, id);
  const { data: other } = useRead([...place, 'public'], (reading) => readPublic(subject, reading), {
    enabled: facts?.status === 'changed',
    staysBehindLogin: true,
  });
  const published = facts?.status === 'changed' ? other : facts?.status === 'published' ? latest : null;
  const version = published ? versionOf(published.etag) : null;
  const { data: fact } = useRead(
    ['version', slug, id, version],
    async ({ signal }) => (version === null ? null : versionIn(subject, version, signal).catch(() => null)),
    { enabled: audit.has('headers') && isNow && version !== null, staleTime: Number.POSITIVE_INFINITY },
  );
  if (facts === null || latest === null) return null;
  return {
    ...facts,
    etag: latest.etag,
    changes:
      published === undefined ? null : changesBetween(fieldsOf(subject), latest.document, published?.document ?? null),
    publication: fact ?? null,
    actions: actionsOf(config, subject.kind === 'global', facts.status),
  };
}
