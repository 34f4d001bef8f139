import type { Request } from '@hapi/hapi';
import type { OwnDraftRequest } from '../../../config/drafts.ts';
import { DomainError } from '../../../config/errors.ts';
import type { Collection, Global } from '../../../config/model.ts';
import { globalsCategory, type JsonObject } from '../../../config/schema.ts';
import { didYouMean, show } from '../../../config/suggest.ts';
import { documentStream, splitStream } from '../../../events/facts/catalogue.ts';
import type { KeepResult, UnsavedChange } from '../../../events/vault/unsaved-changes.ts';
import { authorize, authorizeInAdvance, mayRead, unlessRefused } from '../../access/access.ts';
import { refuseMissing } from '../../access/document-access.ts';
import type { App, Call, RouteCall, Target } from '../../app.ts';
import { requireLiving, requireUser } from '../../callers/sessions.ts';
import type { AnswerOf } from '../../openapi/answers.ts';
import { entriesOf, type PageRequest } from '../../queries/pages.ts';
import { expectedVersions } from '../concurrency/etags.ts';
import { maySee } from '../drafts/rights.ts';
import { showableIn, titleOf } from '../search/titles.ts';
import { currentOf, lineOf, linesOf, streamOf } from '../write/current.ts';
import { usualQuotas } from './keeping.ts';

/** An unsaved change as answers show it, without its data. `id` is null for a global; `updatedAt` is ISO 8601. */
type UnsavedView = AnswerOf<'OwnDraft'>;

/** The same with its revision, another one each time that it is kept. */
export type UnsavedRevision = { view: UnsavedView; revision: number };

/** The subject of an unsaved change: a document, a document that is not there yet, or a global. */
type Subject =
  | { kind: 'document' | 'new'; target: Target<Collection>; id: string }
  | { kind: 'global'; target: Target<Global>; id: string };

const newId = /^new-[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/;

/** The subject that a path names. @throws DomainError `not_found` for a collection or global that is not configured. */
export function subjectIn(app: App, { params }: Request): Subject {
  const slug = String(params.slug);
  if (params.id === undefined) {
    const target = app.globals.get(slug);
    if (target) return { kind: 'global', target, id: slug };
    throw new DomainError('not_found', `there is no global ${show(slug)}${didYouMean(slug, app.globals.keys())}`);
  }
  const target = app.collections.get(slug);
  if (!target) {
    const hint = didYouMean(slug, app.collections.keys());
    throw new DomainError('not_found', `there is no collection ${show(slug)}${hint}`);
  }
  const id = String(params.id);
  return { kind: newId.test(id) ? 'new' : 'document', target, id };
}

/**
 * Keeps what a user has typed, in the place of what was kept before.
 *
 * @throws DomainError `not_found`; `forbidden` if the user may not write it; `stale`; `too_large` above
 * the quota of the user, `unavailable` above the quota of all.
 */
export async function keepUnsaved(
  { app, request }: RouteCall,
  subject: Subject,
  { data, version }: OwnDraftRequest,
): Promise<UnsavedRevision> {
  const call = { app, request, target: subject.target };
  await requireWritable(call, subject, data);
  requireLiving(app, request);
  const owner = ownerOf(request);
  const kept = await app.unsavedChanges.keep({
    owner,
    adminCollection: app.model.adminCollection === null ? null : app.names.categoryFor(app.model.adminCollection),
    target: streamOf(subject.target, subject.id),
    version,
    title: titleOf(call.target, { ...data, id: subject.id }, await showableIn(call))
      .slice(0, maxTitle)
      .toWellFormed(),
    data: JSON.stringify(data),
    expected: expectedIn(request),
  });
  if (kept.kind === 'stale') throw stale();
  if (kept.kind === 'full') throw full(kept);
  await forgetErased({ app, request }, subject);
  return revisionOf(app, kept.change);
}

/** The unsaved change of a user to a document that they may read. @throws DomainError `not_found`, `forbidden`. */
export async function readUnsaved(
  { app, request }: RouteCall,
  subject: Subject,
): Promise<UnsavedRevision & { data: string }> {
  await requireReadable({ app, request, target: subject.target }, subject);
  const change = await app.unsavedChanges.read(ownerOf(request), streamOf(subject.target, subject.id));
  if (!change) throw noChange(subject);
  return { ...revisionOf(app, change), data: change.data };
}

/**
 * Drops an unsaved change. That takes no right, since it is the user's own.
 *
 * @throws DomainError `not_found`, `stale`.
 */
export async function dropUnsaved({ app, request }: RouteCall, subject: Subject): Promise<UnsavedRevision> {
  const removed = await app.unsavedChanges.remove(
    ownerOf(request),
    streamOf(subject.target, subject.id),
    expectedIn(request),
  );
  if (removed.kind === 'none') throw noChange(subject);
  if (removed.kind === 'stale') throw stale();
  return revisionOf(app, removed.change);
}

/** A page of the unsaved changes of a user to documents that they may read, newest first, and their number. */
export async function listUnsaved(
  { app, request }: RouteCall,
  asked: PageRequest,
): Promise<{ drafts: UnsavedView[]; total: number }> {
  const shown: UnsavedChange[] = [];
  // A quota bounds the changes of a user.
  for (const change of await app.unsavedChanges.list(ownerOf(request))) {
    if (await isShown({ app, request }, change)) shown.push(change);
  }
  return { drafts: entriesOf(shown, asked).map((change) => revisionOf(app, change).view), total: shown.length };
}

async function isShown({ app, request }: RouteCall, { target: stream }: UnsavedChange): Promise<boolean> {
  const [category, id] = splitStream(stream);
  const target = category === globalsCategory ? app.globals.get(id) : app.byCategory.get(category);
  if (!target) return false;
  const call = { app, request, target };
  if (newId.test(id)) {
    return unlessRefused(
      authorizeInAdvance(call, 'read', null).then(() => true),
      false,
    );
  }
  const worked = await workedOn(call, id);
  return worked !== null && (worked.isDraft || (await mayRead(call, worked.document)));
}

/** The state of a document that a user works on: its draft if they may read it, else what is public. */
async function workedOn(call: Call, id: string): Promise<{ document: JsonObject; isDraft: boolean } | null> {
  const { target } = call;
  const draft = target.lines && lineOf(target, linesOf(call, id), 'draft');
  const shown = draft && target.documentOf(id, draft.document);
  if (shown && (await maySee(call, 'draft', shown))) return { document: shown, isDraft: true };
  const current = currentOf(target, id);
  return current && { document: current.document, isDraft: false };
}

async function requireWritable(call: Call, { kind, id }: Subject, data: JsonObject): Promise<void> {
  if (kind === 'new') return authorize(call, 'create', { doc: () => null, data });
  const worked = await workedOn(call, id);
  if (!worked) return refuseMissing(call, 'update', id);
  const { document, isDraft } = worked;
  return authorize(call, 'update', { doc: () => document, data, isDraft });
}

/** A rule that looks at the document says nothing about a change to a document that is not there yet. */
async function requireReadable(call: Call, { kind, id }: Subject): Promise<void> {
  if (kind === 'new') return authorizeInAdvance(call, 'read', null);
  const worked = await workedOn(call, id);
  if (!worked) return refuseMissing(call, 'read', id);
  const { document, isDraft } = worked;
  if (!isDraft) await authorize(call, 'read', { doc: () => document, data: null });
}

/** A document or a user may have been erased while the change was kept: then nothing stays. */
async function forgetErased({ app, request }: RouteCall, { kind, target, id }: Subject): Promise<void> {
  const { category, id: user } = requireUser(request);
  const isThere = target.documents.exists(id) || target.draftDocuments?.exists(id) === true;
  if (kind === 'document' && !isThere) {
    await app.unsavedChanges.forget(documentStream(target.category, id));
    throw new DomainError('not_found', `there is no document ${show(id)} in ${target.slug}`);
  }
  if (app.byCategory.get(category)?.documents.exists(user)) return;
  await app.unsavedChanges.forget(documentStream(category, user));
  throw new DomainError('invalid_token', 'the session has ended');
}

const maxTitle = 500;

function ownerOf(request: Request): string {
  const { category, id } = requireUser(request);
  return documentStream(category, id);
}

function expectedIn(request: Request): readonly number[] | '*' | null {
  const expected = expectedVersions(request);
  return expected === null || expected === '*' ? expected : [...expected];
}

function revisionOf({ names }: App, { target, revision, title, updatedAt, version }: UnsavedChange): UnsavedRevision {
  const [category, id] = splitStream(target);
  const about = category === globalsCategory ? { global: id, id: null } : { collection: names.slugFor(category), id };
  return { view: { ...about, title, updatedAt: new Date(updatedAt).toISOString(), version }, revision };
}

function noChange({ id, target }: Subject): DomainError {
  return new DomainError('not_found', `you have no unsaved changes to ${show(id)} in ${target.slug}`);
}

function stale(): DomainError {
  return new DomainError(
    'stale',
    'the unsaved changes are not the ones that if-match names: they were kept or dropped elsewhere',
  );
}

function full({ of, count, bytes }: Extract<KeepResult, { kind: 'full' }>): DomainError {
  const { count: most, bytes: mostBytes } = usualQuotas[of];
  const room = `${most} unsaved changes of ${mostBytes} bytes in all`;
  if (of === 'user') {
    const message = `a user keeps at most ${room}; there are ${count} others, of ${bytes} bytes: drop one of them`;
    return new DomainError('too_large', message);
  }
  const users = of === 'all' ? 'all users' : 'all users who are not of the admin collection';
  const message = `${users} together keep at most ${room}: drop some, or try again when others have gone`;
  return new DomainError('unavailable', message, [], fullRetrySeconds);
}

/** Expired changes are deleted within a minute. */
const fullRetrySeconds = 60;
