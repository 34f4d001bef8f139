import { DomainError } from '../../../config/errors.ts';
import type { Collection } from '../../../config/model.ts';
import { show } from '../../../config/suggest.ts';
import { isDraftOnly, splitStream } from '../../../events/facts/catalogue.ts';
import type { BulkKind, Context, Header } from '../../../events/facts/envelope.ts';
import { may, mayRead, unlessFaulty } from '../../access/access.ts';
import { mayReadDrafts } from '../../access/draft-access.ts';
import { newestOf } from '../../access/past-documents.ts';
import { type AuditRights, auditRightsOf } from '../../access/rights.ts';
import type { App, Call, RouteCall } from '../../app.ts';
import { headersIn } from '../../documents/bulk/answers.ts';
import { paceOf } from '../../documents/read/reading.ts';
import { showableIn, titleOf } from '../../documents/search/titles.ts';
import type { AnswerOf } from '../../openapi/answers.ts';
import { spanOf } from '../events.ts';
import { undoingOf } from './undone.ts';

type Batch = AnswerOf<'Batch'>;
type BatchDocument = Batch['docs'][number];
type Summary = Omit<Batch, 'docs' | 'total' | 'limit' | 'page' | `${string}Page` | `${string}Pages`>;

/** A document of a bulk call that the caller may read, and the event of the call about it. */
type Seen = { call: Call<Collection>; id: string; header: Header };

/** A bulk call as the caller may know it. */
type ReadBatch = { call: Summary; docs: BatchDocument[]; total: number };

/**
 * A bulk call, with a page of those of its documents that the caller may read. A caller without the right to headers is
 * told only what follows from these documents: neither the number of the others nor the author.
 *
 * @throws DomainError `not_found` if there is no such call, and if the caller may read none of its documents and has no
 *   right to headers; `unavailable` if the rules take too long.
 */
export async function readBatch(
  call: RouteCall,
  batch: string,
  { limit, page }: { limit: number; page: number },
): Promise<ReadBatch> {
  const { app, request } = call;
  const headers = headersOf(app, batch);
  const rights = await auditRightsOf(app, request);
  const seen = await seenIn(call, headers, rights);
  const [first] = headers;
  if (!first || (seen.length === 0 && !rights.has('headers'))) {
    throw new DomainError('not_found', `there is no bulk call ${show(batch)}`);
  }
  const told = rights.has('headers') ? headers : seen.map(({ header }) => header);
  const { kind, undoes } = originOf(app, headers);
  const undoing = await undoingOf(call, batch, headers);
  const docs: BatchDocument[] = [];
  for (const one of seen.slice((page - 1) * limit, page * limit)) docs.push(await describe(one, rights));
  return {
    call: {
      batch,
      call: kind,
      recordedAt: first.recordedAt,
      actor: rights.has('headers') ? first.actor : null,
      reason: reasonOf(app, { headers, seen, rights }),
      collections: [...new Set(told.map(({ stream }) => app.names.slugFor(splitStream(stream)[0])))],
      outcomes: countsOf(told),
      undoes: await ifKnown(call, undoes, rights),
      undoneBy: await ifKnown(call, undoing, rights),
    },
    docs,
    total: seen.length,
  };
}

/** The headers of the events about documents of a bulk call, in their order; none for an unknown id. */
function headersOf(app: App, batch: string): Header[] {
  const span = spanOf(app, batch);
  if (!span) return [];
  const headers = headersIn(app, batch, span.first - 1).filter(({ type }) => Object.hasOwn(outcomeOf, type));
  return onePerDocument(headers);
}

/** Of a document whose states the call changed both: the event about what is public. */
function onePerDocument(headers: readonly Header[]): Header[] {
  const byStream = new Map<string, Header>();
  for (const header of headers) {
    const known = byStream.get(header.stream);
    if (!known || !isDraftOnly(header.type)) byStream.set(header.stream, header);
  }
  return [...byStream.values()];
}

const outcomeOf: { readonly [type: string]: BatchDocument['outcome'] } = {
  'document.created': 'created',
  'document.updated': 'updated',
  'document.deleted': 'deleted',
  'document.restored': 'restored',
  'document.draft.created': 'created',
  'document.draft.updated': 'updated',
  'document.draft.restored': 'restored',
  'document.draft.discarded': 'updated',
  'document.published': 'published',
  'document.unpublished': 'unpublished',
};

function countsOf(headers: readonly Header[]): Batch['outcomes'] {
  const counts: Batch['outcomes'] = { created: 0, updated: 0, deleted: 0, restored: 0 };
  for (const { type } of headers) {
    const outcome = outcomeOf[type];
    if (outcome) counts[outcome] = (counts[outcome] ?? 0) + 1;
  }
  return counts;
}

async function seenIn(call: RouteCall, headers: readonly Header[], rights: AuditRights): Promise<Seen[]> {
  const pace = paceOf(call);
  const seen: Seen[] = [];
  for (const header of headers) {
    await pace();
    const one = await seenOne(call, header, rights);
    if (one) seen.push(one);
  }
  return seen;
}

/**
 * The document of an event, if the caller may read it as it is today; a deleted one, as it last was, if the caller may
 * also see its past, or delete it: then the trash shows it too. An erased one is not shown.
 */
async function seenOne({ app, request }: RouteCall, header: Header, rights: AuditRights): Promise<Seen | null> {
  const [category, id] = splitStream(header.stream);
  const target = app.byCategory.get(category);
  if (!target) return null;
  const call = { app, request, target };
  const isShown = isDraftOnly(header.type) || header.type === 'document.unpublished' ? isDraftSeen : isSeen;
  return (await unlessFaulty(call, isShown(call, { id, stream: header.stream }, rights), false))
    ? { call, id, header }
    : null;
}

/** Of a document that is not public, and of changes that were never public, callers learn who may read its draft. */
async function isDraftSeen(
  call: Call<Collection>,
  about: { id: string; stream: string },
  rights: AuditRights,
): Promise<boolean> {
  const lines = call.target.lines?.(about.id);
  return lines?.draft ? mayReadDrafts(call, lines) : rights.has('payloads') && isSeen(call, about, rights);
}

async function isSeen(
  call: Call<Collection>,
  { id, stream }: { id: string; stream: string },
  rights: AuditRights,
): Promise<boolean> {
  const today = call.target.documents.current(id);
  if (today) return mayRead(call, today.document);
  const last = newestOf(call, id);
  if (!last || !(await mayRead(call, last.document, last.position))) return false;
  if (rights.toPayloadsOf(stream) !== 'none') return true;
  return may(call, 'delete', { doc: () => last.document, data: null, position: last.position });
}

async function describe({ call, id, header }: Seen, rights: AuditRights): Promise<BatchDocument> {
  const { target } = call;
  const { stream, version, type } = header;
  const today = target.documents.current(id)?.document;
  const document = today ?? (rights.toPayloadsOf(stream) === 'none' ? null : newestOf(call, id)?.document);
  const title = document ? titleOf(target, document, await showableIn(call)) : null;
  return { collection: target.slug, id, title, version, outcome: outcomeOf[type] ?? 'updated' };
}

type Told = { headers: readonly Header[]; seen: readonly Seen[]; rights: AuditRights };

/** The reason of the call, for a caller who may see the payload of one of its events. */
function reasonOf(app: App, { headers, seen, rights }: Told): string | null {
  const isSeen = new Set(seen.map(({ header }) => header.stream));
  const shown = headers.find(({ stream }) => {
    const right = rights.toPayloadsOf(stream);
    return right === 'all' || (right === 'byRules' && isSeen.has(stream));
  });
  return (shown && contextIn(app, headers)?.reason) ?? null;
}

/** The kind of the call, and the call that it undid; of a call whose payloads are erased, what its events say. */
function originOf(app: App, headers: readonly Header[]): { kind: BulkKind; undoes: string | null } {
  const { call, undoes = null } = contextIn(app, headers) ?? {};
  const { created, updated, deleted, restored } = countsOf(headers);
  const guessed = restored > 0 ? 'undo' : created > 0 && updated > 0 ? 'upsert' : created > 0 ? 'create' : null;
  return { kind: call ?? guessed ?? (deleted > 0 ? 'delete' : 'update'), undoes };
}

/** The context of the call, which all its events have; null if all of them are erased. */
function contextIn({ events }: App, headers: readonly Header[]): Context | null {
  for (const { position } of headers) {
    const [event] = events.range(position - 1, position);
    if (event?.context) return event.context;
  }
  return null;
}

/** The id of another call if the caller may know of it. */
async function ifKnown(call: RouteCall, batch: string | null, rights: AuditRights): Promise<string | null> {
  if (batch === null || rights.has('headers')) return batch;
  const pace = paceOf(call);
  for (const header of headersOf(call.app, batch)) {
    await pace();
    if (await seenOne(call, header, rights)) return batch;
  }
  return null;
}
