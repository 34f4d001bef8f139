import type { Collection } from '../../../config/model.ts';
import type { JsonObject } from '../../../config/schema.ts';
import { documentStream } from '../../../events/facts/catalogue.ts';
import type { EventFilter } from '../../../projections/tables/audit.ts';
import { may, unlessFaulty, unlessRefused, verdictOf } from '../../access/access.ts';
import { mayReadDraft } from '../../access/draft-view.ts';
import { newestOf } from '../../access/past-documents.ts';
import { type AuditRights, auditRightsOf } from '../../access/rights.ts';
import type { App, Call, RouteCall } from '../../app.ts';
import { asOfFor } from '../../http/requests.ts';
import type { AnswerOf } from '../../openapi/answers.ts';
import { yieldToEventLoop } from '../../platform/yield.ts';
import { paceOf } from '../read/reading.ts';
import { showableIn, titleOf } from '../search/titles.ts';

/** A deleted document as the trash shows it. `version` is its last version; what the caller may not know is null. */
type TrashEntry = AnswerOf<'Trash'>['docs'][number];

/**
 * The trash of a collection, and the operations whose rule must be asked about each deleted document. `seesDrafts`: the
 * caller may read some drafts.
 */
export type Bin = { call: Call<Collection>; asked: readonly ('read' | 'delete')[]; seesDrafts: boolean };

/**
 * A deleted document: `until` is the position of the event that deleted it. `isDraft`: its last state is a draft that
 * was not public.
 */
type Deletion = { id: string; until: number; version: number; isDraft: boolean };

const needed = ['read', 'delete'] as const;

/** How many deletions are looked for at a time. */
const atOnce = 10_000;

/**
 * The trash of a collection; or the name of an operation that the caller may do to none of its documents.
 */
export async function binOf(call: Call<Collection>): Promise<Bin | (typeof needed)[number]> {
  const asked: (typeof needed)[number][] = [];
  for (const operation of needed) {
    const verdict = await unlessRefused(verdictOf(call, operation, null), 'refused');
    if (verdict === 'refused') return operation;
    if (verdict !== 'allowed') asked.push(operation);
  }
  const hasDrafts = call.target.model.drafts !== null;
  const seesDrafts = hasDrafts && (await unlessRefused(verdictOf(call, 'readDrafts', null), 'refused')) !== 'refused';
  return { call, asked, seesDrafts };
}

/**
 * A page of deleted documents, the last deleted first, and how many the caller may see: today, or at the position that
 * the request looks back to.
 *
 * @throws DomainError `unavailable` if the rules take too long.
 */
export async function trashIn(
  call: RouteCall,
  bins: readonly Bin[],
  { limit, page }: { limit: number; page: number },
): Promise<{ trashed: TrashEntry[]; total: number }> {
  const { app, request } = call;
  const pace = paceOf(call);
  const found: { bin: Bin; gone: Deletion }[] = [];
  const upTo = asOfFor(request)?.position ?? Number.MAX_SAFE_INTEGER;
  for await (const positions of deletionsIn(app, bins, upTo)) {
    for (const bin of bins) {
      const shown = new Set<string>();
      for (const gone of goneIn(bin, positions, upTo)) {
        await pace();
        if (shown.has(gone.id) || !(await unlessFaulty(call, isShown(bin, gone), false))) continue;
        shown.add(gone.id);
        found.push({ bin, gone });
      }
    }
  }
  found.sort((one, other) => other.gone.until - one.gone.until);
  const rights = await auditRightsOf(app, request);
  const trashed: TrashEntry[] = [];
  for (const { bin, gone } of found.slice((page - 1) * limit, page * limit)) {
    const one = await describe(bin.call, gone, rights);
    if (one) trashed.push(one);
  }
  return { trashed, total: found.length };
}

/**
 * The documents of a bin that ended at one of these positions and are gone: first those that were drafts then, if the
 * caller may read drafts, then those that were public. One that was both comes twice.
 */
function goneIn({ call, seesDrafts }: Bin, positions: readonly number[], upTo: number): Deletion[] {
  const { documents, draftDocuments } = call.target;
  const ended = documents.goneAt(positions, upTo).map((gone) => ({ ...gone, isDraft: false }));
  if (!draftDocuments) return ended;
  const drafts = seesDrafts ? draftDocuments.goneAt(positions, upTo).map((gone) => ({ ...gone, isDraft: true })) : [];
  // A document that came back is in one of the tables.
  return [...drafts, ...ended].filter(
    ({ id, isDraft }) => (isDraft ? documents : draftDocuments).asOf(id, upTo) === null,
  );
}

/** The positions of deletions up to a position, piece by piece. */
async function* deletionsIn({ auditIndex }: App, bins: readonly Bin[], upTo: number): AsyncGenerator<number[]> {
  const [only] = bins.length === 1 ? bins : [];
  const end = Math.min(auditIndex.reached(), upTo);
  const filter: EventFilter = { type: 'document.deleted', ...(only && { collection: only.call.target.category }) };
  for (let after = 0; after < end; ) {
    const { positions, reached } = auditIndex.find(filter, { after, upTo: end, limit: atOnce });
    if (positions.length > 0) yield positions;
    after = reached;
    await yieldToEventLoop();
  }
}

/** The document as it last was; null if it has been erased meanwhile. */
function lastOf({ target }: Call, { id, until, isDraft }: Deletion): { document: JsonObject; position: number } | null {
  const documents = isDraft ? target.draftDocuments : target.documents;
  const last = documents?.asOf(id, until - 1) ?? null;
  return last && { document: JSON.parse(last.text), position: until - 1 };
}

/** With `asOf`, the rules are also asked about the document as it is today, or as it last was. */
async function isShown({ call, asked }: Bin, gone: Deletion): Promise<boolean> {
  const { isDraft } = gone;
  const operations = isDraft ? (['readDrafts', ...asked.filter((one) => one !== 'read')] as const) : asked;
  if (operations.length === 0) return true;
  const isOfToday = asOfFor(call.request) !== null && !isDraft;
  const newest = isDraft ? call.target.lines?.(gone.id).draft : null;
  if (newest && !(await mayReadDraft(call, newest))) return false;
  const states = [lastOf(call, gone), ...(isOfToday ? [newestOf(call, gone.id)] : [])];
  for (const state of states) {
    if (!state) return false;
    const { document, position } = state;
    for (const operation of operations) {
      if (!(await may(call, operation, { doc: () => document, data: null, position, isDraft }))) return false;
    }
  }
  return true;
}

async function describe(call: Call<Collection>, gone: Deletion, rights: AuditRights): Promise<TrashEntry | null> {
  const { app, target } = call;
  const last = lastOf(call, gone);
  const [event] = app.events.range(gone.until - 1, gone.until);
  if (!last || !event) return null;
  const { header, context } = event;
  // The read rule was asked about the document.
  const seesPayload = rights.toPayloadsOf(documentStream(target.category, gone.id)) !== 'none';
  return {
    collection: target.slug,
    id: gone.id,
    title: seesPayload ? titleOf(target, last.document, await showableIn(call)) : null,
    deletedAt: header.recordedAt,
    deletedBy: rights.has('headers') ? header.actor : null,
    reason: (seesPayload && context?.reason) || null,
    version: gone.version,
  };
}
