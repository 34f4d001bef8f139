import type { Collection } from '../../../config/model.ts';
import type { JsonObject } from '../../../config/schema.ts';
import { documentStream } from '../../../events/facts/catalogue.ts';
import type { EventFilter } from '../../../projections/tables/audit.ts';
import { may, unlessFaulty, unlessRefused, verdictOf } from '../../access/access.ts';
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

/** The trash of a collection, and the operations whose rule must be asked about each deleted document. */
export type Bin = { call: Call<Collection>; asked: readonly ('read' | 'delete')[] };

/** A deleted document: `until` is the position of the event that deleted it. */
type Deletion = { id: string; until: number; version: number };

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
  return { call, asked };
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
      for (const gone of bin.call.target.documents.goneAt(positions, upTo)) {
        await pace();
        if (await unlessFaulty(call, isShown(bin, gone), false)) found.push({ bin, gone });
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
function lastOf({ target }: Call, { id, until }: Deletion): { document: JsonObject; position: number } | null {
  const last = target.documents.asOf(id, until - 1);
  return last && { document: JSON.parse(last.text), position: until - 1 };
}

/** With `asOf`, the rules are also asked about the document as it is today, or as it last was. */
async function isShown({ call, asked }: Bin, gone: Deletion): Promise<boolean> {
  if (asked.length === 0) return true;
  const states = [lastOf(call, gone), ...(asOfFor(call.request) ? [newestOf(call, gone.id)] : [])];
  for (const state of states) {
    if (!state) return false;
    const { document, position } = state;
    for (const operation of asked) {
      if (!(await may(call, operation, { doc: () => document, data: null, position }))) return false;
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
