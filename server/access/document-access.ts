import { DomainError } from '../../config/errors.ts';
import type { Collection } from '../../config/model.ts';
import { documentStream } from '../../events/facts/catalogue.ts';
import type { SomeRequest } from '../../projections/past/past.ts';
import type { Call } from '../app.ts';
import { type AsOf, actorOf, asOfFor, idOf } from '../http/requests.ts';
import { authorize } from './access.ts';
import { mayReadDraft } from './draft-view.ts';
import { requireScope } from './key-scopes.ts';
import { absenceAsOf, type LifetimeEvent } from './past-documents.ts';
import type { Right, RuleSubject } from './rules.ts';

/** A document as it is stored, and the version of its stream. */
type StoredDocument = { text: string; version: number };

/**
 * The document that the path names by its `{id}`, if the caller may read it.
 *
 * @throws DomainError `not_found`; `unauthorized` or `forbidden`.
 */
export async function readableDocument(call: Call<Collection>): Promise<StoredDocument> {
  const { request, target } = call;
  if (target.view) return newestReadable({ ...call, target: target.view.published as typeof target });
  const moment = asOfFor(request);
  if (moment) return readableAsOf(call, moment);
  const stored = target.documents.stored(idOf(request));
  if (stored === null) return refuseMissing(call, 'read');
  await authorize(call, 'read', { doc: () => JSON.parse(stored.text), data: null });
  return stored;
}

/** The draft, if there is one that the caller may read; else the public document, as {@link readableDocument}. */
async function newestReadable(call: Call<Collection>): Promise<StoredDocument> {
  return (await readableDraft(call, idOf(call.request))) ?? readableDocument(call);
}

/**
 * The draft of a document or global that the caller may read, today or at the position that the request looks back to.
 * Null without one.
 */
export async function readableDraft(call: Call, id: string): Promise<StoredDocument | null> {
  const { request, target } = call;
  const { draftDocuments, lines } = target;
  const moment = asOfFor(request);
  if (!moment) {
    const draft = draftDocuments?.stored(id) ?? null;
    return draft && (await mayReadDraft(call, JSON.parse(draft.text))) ? draft : null;
  }
  const sight = moment.scopeFor(target);
  const then = sight && draftDocuments?.asOf(id, moment.position);
  if (!then || !(await mayReadDraft(call, JSON.parse(then.text), moment.position))) return null;
  const today = lines?.(id).draft ?? null;
  if (today === null) return sight === 'every' ? then : null;
  return (await mayReadDraft(call, today)) ? then : null;
}

/** As {@link readableDocument}, at the position that the request looks back to: the rule is asked about both states. */
async function readableAsOf(call: Call<Collection>, moment: AsOf): Promise<StoredDocument> {
  const { request, target } = call;
  const id = idOf(request);
  const then = moment.fold ? await provenAsOf(call, moment.fold) : target.documents.asOf(id, moment.position);
  const today = target.documents.text(id);
  const isHidden = today === null && moment.scopeFor(target) !== 'every';
  if (then === null && !isHidden) await refuseAbsent(call, moment);
  if (then === null || isHidden) return refuseMissing(call, 'read');
  await authorize(call, 'read', { doc: () => JSON.parse(then.text), data: null, position: moment.position });
  if (today !== null) await authorize(call, 'read', { doc: () => JSON.parse(today), data: null });
  return then;
}

/** Says when a document that was not there was created or deleted, if the caller may know that. */
async function refuseAbsent(call: Call<Collection>, { position }: AsOf): Promise<void> {
  const { request, target } = call;
  const absence = await absenceAsOf(call, idOf(request), position);
  if (absence === null) return;
  const [yet, what] =
    'created' in absence ? [' yet', `created ${at(absence.created)}`] : ['', `deleted ${at(absence.deleted)}`];
  const it = `the document "${idOf(request)}" in ${target.slug}`;
  const message = `${it} did not exist${yet} as of position ${position}: it was ${what}`;
  throw new DomainError('not_found', message, [], null, absence);
}

function at({ position, recordedAt }: LifetimeEvent): string {
  return `at position ${position}, ${recordedAt}`;
}

/** The document, folded from its events, which are proven as they are read. Rights are decided by the read tables. */
async function provenAsOf(
  { request, target }: Call<Collection>,
  fold: NonNullable<AsOf['fold']>,
): Promise<StoredDocument | null> {
  const id = idOf(request);
  const folded = await fold(documentStream(target.category, id));
  return folded && { text: JSON.stringify(target.documentOf(id, folded.document)), version: folded.version };
}

/**
 * The documents with these ids that meet a condition, by id: today, or at the position that the request looks back to.
 */
export function someOf(
  { app, request, target }: Call,
  asked: SomeRequest,
): Map<string, string> | Promise<Map<string, string>> {
  const { documents, tables } = target;
  const moment = asOfFor(request);
  if (moment) return app.past.some(moment.position, tables, asked);
  return documents.some(asked.ids, asked.where, asked.only);
}

/** The subject of a rule if there is no document. */
const noDocument: RuleSubject = {
  doc: () => null,
  data: null,
  publishing: () => ({ published: null, editors: [] }),
};

/**
 * Refuses a request for a document that does not exist. A caller who would be refused anyway is not told that.
 *
 * @param id of the document; by default the id in the path.
 */
export async function refuseMissing(
  call: Call,
  operation: Right,
  id = idOf(call.request),
  isDraft = false,
): Promise<never> {
  const { request, target } = call;
  requireScope(request, target.model, operation, isDraft);
  if (actorOf(request).type === 'anonymous') {
    // A rule may throw without a document: that error would tell a missing document from a hidden one.
    await authorize(call, operation, noDocument).catch(() => {
      throw new DomainError('unauthorized', 'an API key or a token is needed');
    });
  }
  const shown = JSON.stringify(id.slice(0, 100));
  const moment = asOfFor(request);
  const then = moment ? ` as of position ${moment.position}` : '';
  throw new DomainError('not_found', `there is no document ${shown} in ${target.slug}${then}`);
}
