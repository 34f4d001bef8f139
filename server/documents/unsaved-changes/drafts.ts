import type { Request } from '@hapi/hapi';
import type { OwnDraftRequest } from '../../../config/drafts.ts';
import { DomainError } from '../../../config/errors.ts';
import type { Collection, Global } from '../../../config/model.ts';
import { globalsCategory, type JsonObject } from '../../../config/schema.ts';
import { didYouMean, show } from '../../../config/suggest.ts';
import { documentStream, splitStream } from '../../../events/facts/catalogue.ts';
import type { Kept, OwnDraft } from '../../../events/vault/unsaved-changes.ts';
import { authorize, authorizeInAdvance, mayRead } from '../../access/access.ts';
import { unlessRefused } from '../../access/asking.ts';
import { refuseMissing } from '../../access/document-access.ts';
import type { App, Call, RouteCall, Target } from '../../app.ts';
import { requireLiving, requireUser } from '../../callers/sessions.ts';
import { expectedVersions } from '../concurrency/etags.ts';
import { showableIn, titleOf } from '../search/titles.ts';
import { currentOf, streamOf } from '../write/current.ts';
import { ownRoom } from './keeping.ts';

/** A draft as answers show it, without its data. `id` is null for a global; `updatedAt` is ISO 8601. */
export type DraftView = ({ collection: string; id: string } | { global: string; id: null }) & {
  title: string;
  updatedAt: string;
  version: number | null;
};

/** A draft as answers show it, and its revision, which tells one content from the next. */
export type Shown = { view: DraftView; revision: number };

/** The subject of a draft: a document, a document that is not there yet, or a global. */
export type Subject =
  | { kind: 'document' | 'new'; target: Target<Collection>; id: string }
  | { kind: 'global'; target: Target<Global>; id: string };

const newId = /^new-[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/;

/** The subject that a path names. @throws DomainError `not-found` for a collection or global that is not configured. */
export function subjectIn(app: App, { params }: Request): Subject {
  const slug = String(params.slug);
  if (params.id === undefined) {
    const target = app.globals.get(slug);
    if (target) return { kind: 'global', target, id: slug };
    throw new DomainError('not-found', `there is no global ${show(slug)}${didYouMean(slug, app.globals.keys())}`);
  }
  const target = app.collections.get(slug);
  if (!target) {
    const hint = didYouMean(slug, app.collections.keys());
    throw new DomainError('not-found', `there is no collection ${show(slug)}${hint}`);
  }
  const id = String(params.id);
  return { kind: newId.test(id) ? 'new' : 'document', target, id };
}

/**
 * Keeps what a user has typed, in the place of what was kept before.
 *
 * @throws DomainError `not-found`, `forbidden` where they may not write it; `precondition-failed`; `too-large` above
 * their room.
 */
export async function keepDraft(
  { app, request }: RouteCall,
  subject: Subject,
  { data, version }: OwnDraftRequest,
): Promise<Shown> {
  const call = { app, request, target: subject.target };
  await requireWritable(call, subject, data);
  requireLiving(app, request);
  const owner = ownerOf(request);
  const kept = await app.passwords.keepOwnDraft({
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
  return shownOf(app, kept.draft);
}

/** The draft of a user about a document that they may read. @throws DomainError `not-found`, `forbidden`. */
export async function readDraft({ app, request }: RouteCall, subject: Subject): Promise<Shown & { data: string }> {
  await requireReadable({ app, request, target: subject.target }, subject);
  const draft = await app.passwords.ownDraft(ownerOf(request), streamOf(subject.target, subject.id));
  if (!draft) throw noDraft(subject);
  return { ...shownOf(app, draft), data: draft.data };
}

/** Drops a draft. It takes no right: it is the user's own. @throws DomainError `not-found`, `precondition-failed`. */
export async function dropDraft({ app, request }: RouteCall, subject: Subject): Promise<Shown> {
  const removed = await app.passwords.removeOwnDraft(
    ownerOf(request),
    streamOf(subject.target, subject.id),
    expectedIn(request),
  );
  if (removed.kind === 'none') throw noDraft(subject);
  if (removed.kind === 'stale') throw stale();
  return shownOf(app, removed.draft);
}

/** The drafts of a user, newest first: those about what they may read. */
export async function listDrafts({ app, request }: RouteCall): Promise<DraftView[]> {
  const shown: DraftView[] = [];
  for (const draft of await app.passwords.ownDrafts(ownerOf(request))) {
    if (await isShown({ app, request }, draft)) shown.push(shownOf(app, draft).view);
  }
  return shown;
}

async function isShown({ app, request }: RouteCall, { target: stream }: OwnDraft): Promise<boolean> {
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
  const current = currentOf(target, id);
  return current !== null && mayRead(call, current.document);
}

async function requireWritable(call: Call, { kind, target, id }: Subject, data: JsonObject): Promise<void> {
  if (kind === 'new') return authorize(call, 'create', { doc: () => null, data });
  const current = currentOf(target, id);
  if (!current) return refuseMissing(call, 'update', id);
  return authorize(call, 'update', { doc: () => current.document, data });
}

/**
 * The typed content of a document that is not there yet is about none, so a rule that looks at the document says
 * nothing of it.
 */
async function requireReadable(call: Call, { kind, target, id }: Subject): Promise<void> {
  if (kind === 'new') return authorizeInAdvance(call, 'read', null);
  const current = currentOf(target, id);
  if (!current) return refuseMissing(call, 'read', id);
  return authorize(call, 'read', { doc: () => current.document, data: null });
}

/** Of a document or a user that was erased while the draft was kept, nothing stays. */
async function forgetErased({ app, request }: RouteCall, { kind, target, id }: Subject): Promise<void> {
  const { category, id: user } = requireUser(request);
  if (kind === 'document' && !target.documents.exists(id)) {
    await app.passwords.forgetOwnDrafts(documentStream(target.category, id));
    throw new DomainError('not-found', `there is no document ${show(id)} in ${target.slug}`);
  }
  if (app.byCategory.get(category)?.documents.exists(user)) return;
  await app.passwords.forgetOwnDrafts(documentStream(category, user));
  throw new DomainError('unauthorized', 'the session has ended');
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

function shownOf({ names }: App, { target, revision, title, updatedAt, version }: OwnDraft): Shown {
  const [category, id] = splitStream(target);
  const about = category === globalsCategory ? { global: id, id: null } : { collection: names.slugFor(category), id };
  return { view: { ...about, title, updatedAt: new Date(updatedAt).toISOString(), version }, revision };
}

function noDraft({ id, target }: Subject): DomainError {
  return new DomainError('not-found', `you keep no draft of ${show(id)} in ${target.slug}`);
}

function stale(): DomainError {
  return new DomainError(
    'precondition-failed',
    'the draft is not the one that if-match names: it was kept or dropped elsewhere',
  );
}

function full({ of, count, bytes }: Extract<Kept, { kind: 'full' }>): DomainError {
  const { count: most, bytes: mostBytes } = ownRoom[of];
  const room = `${most} drafts of ${mostBytes} bytes in all`;
  if (of === 'user') {
    const message = `a user keeps at most ${room}; there are ${count} others, of ${bytes} bytes: drop one of them`;
    return new DomainError('too-large', message);
  }
  const users = of === 'all' ? 'all users' : 'all users who are not of the admin collection';
  const message = `${users} together keep at most ${room}: drop drafts, or try again when others have gone`;
  return new DomainError('unavailable', message, [], fullRetrySeconds);
}

/** Expired drafts are deleted once a minute. */
const fullRetrySeconds = 60;
