import type { JsonObject } from '../../../config/schema.ts';
import type { LineFacts } from '../../../projections/query/line-facts.ts';
import type { Members } from '../../../projections/query/lists.ts';
import { lineFieldsOf } from '../../access/draft-view.ts';
import type { Call } from '../../app.ts';
import { asOfFor } from '../../http/requests.ts';

/** The documents as they are stored, and the members that are wanted of them; null for all. */
type Asked = { stored: readonly JsonObject[]; wanted: Members };

/**
 * Adds the members that say how each document is published: in the view of drafts all, else those that are selected.
 */
export async function withLineMembers(
  call: Call,
  documents: JsonObject[],
  { stored, wanted }: Asked,
): Promise<JsonObject[]> {
  const { target } = call;
  if (!target.model.drafts || (!target.view && !hasLineMember(wanted))) return documents;
  const { toSelect } = await lineFieldsOf(call);
  const names = toSelect.map(({ name }) => name).filter((name) => wanted === null || wanted.has(name));
  if (names.length === 0) return documents;
  const ids = stored.map(({ id }) => String(id ?? target.slug));
  const facts = await factsOf(call, ids);
  return documents.map((document, index) => {
    const known = facts.get(ids[index] ?? '');
    const found = target.model.kind === 'global' ? alwaysPublic(known) : known;
    return { ...document, ...Object.fromEntries(names.map((name) => [name, found ? memberOf(name, found) : null])) };
  });
}

/** The facts of a global, which has its defaults before anything is published. */
function alwaysPublic(known: LineFacts | undefined): LineFacts {
  if (!known) return { status: 'published', publishedAt: null, review: null, editors: [] };
  return known.status === 'draft' ? { ...known, status: 'changed' } : known;
}

function hasLineMember(wanted: Members): boolean {
  return wanted !== null && [...wanted].some((name) => name.startsWith('__'));
}

function factsOf({ app, request, target }: Call, ids: readonly string[]) {
  const moment = asOfFor(request);
  return moment ? app.past.facts(moment.position, target.tables, ids) : target.documents.facts(ids);
}

function memberOf(name: string, { status, publishedAt, review, editors }: LineFacts): JsonObject[string] {
  if (name === '__status') return status;
  if (name === '__review') return review;
  if (name === '__editors') return [...editors];
  return publishedAt === null ? null : new Date(publishedAt).toISOString();
}
