import { createHash, randomBytes, randomUUID } from 'node:crypto';
import type { Request } from '@hapi/hapi';
import { DomainError, inBody, inQuery, invalidField } from '../../../config/errors.ts';
import { show } from '../../../config/suggest.ts';
import { splitStream } from '../../../events/facts/catalogue.ts';
import type { Actor } from '../../../events/facts/envelope.ts';
import type { PreviewToken } from '../../../events/vault/preview-tokens.ts';
import { credentialNeeded, unlessRefused, verdictOf } from '../../access/access.ts';
import { requireReleases } from '../../access/release-rights.ts';
import type { App, RouteCall } from '../../app.ts';
import { actorOf, madeKeyOf, requestId } from '../../http/requests.ts';
import { livingOf } from '../releases/finding.ts';
import { plannedTime } from '../releases/requests.ts';
import type { ViewRequest } from './requests.ts';

/** The view that a token shows: a release, the drafts that would be public, or the releases due by a time. */
export type PreviewView = { release: string } | { draft: true } | { asOf: string };

/** A token as the callers see it who may take it away. */
type ShownToken = { id: string; view: PreviewView; maker: string; createdAt: string; expiresAt: string };

/**
 * Makes a token that shows a view of the site to anyone who has it.
 *
 * @throws DomainError `unauthorized`, `forbidden`; `validation_failed` for a release that is not there; `unavailable`
 * if there are too many.
 */
export async function makeToken(call: RouteCall, asked: ViewRequest): Promise<{ token: string; expiresAt: string }> {
  const { app, request } = call;
  const { view, expiresIn } = asked;
  const maker = makerOf(request);
  if ('asOf' in view) plannedTime({ at: view.asOf, timeZone: null }, app.clock.believed(), 'view.asOf');
  if ('release' in view) {
    await requireReleases(call, 'read');
    if (!app.releases.find(view.release))
      throw invalidField(inBody('view.release', 'reference_not_found'), `names no release, got ${show(view.release)}`);
    livingOf(call, view.release);
  } else if (!(await readsAnyDraft(call))) {
    throw new DomainError('forbidden', 'you may read no drafts, so there is nothing that a token could show');
  }
  const token = randomBytes(32).toString('base64url');
  const now = app.clock.believed();
  const expiresAt = now + expiresIn * 1000;
  const kept = { id: randomUUID(), hash: hashOf(token), maker, view: JSON.stringify(view), createdAt: now, expiresAt };
  await app.previewTokens.add(kept);
  return { token, expiresAt: new Date(expiresAt).toISOString() };
}

/** The name under which a caller makes tokens. @throws DomainError `unauthorized`; `forbidden` for keys made here. */
function makerOf(request: Request): string {
  const { type, id = null } = actorOf(request);
  if (type === 'anonymous') throw credentialNeeded();
  if (madeKeyOf(request) || id === null)
    throw new DomainError('forbidden', 'only users, and API keys of the settings, have preview tokens');
  return id;
}

/** Whether a caller may read some draft, as far as can be told without one. */
export async function readsAnyDraft({ app, request }: RouteCall): Promise<boolean> {
  for (const target of [...app.collections.values(), ...app.globals.values()]) {
    if (!target.model.drafts) continue;
    const verdict = verdictOf({ app, request, target }, 'readDrafts', null);
    if ((await unlessRefused(verdict, 'refused')) !== 'refused') return true;
  }
  return false;
}

/** The tokens that the caller may take away: its own, and for an API key of the settings all; the newest first. */
export async function tokensOf({ app, request }: RouteCall): Promise<ShownToken[]> {
  const maker = makerOf(request);
  const isKey = actorOf(request).type === 'apiKey';
  const all = await app.previewTokens.all();
  return all.filter((token) => isKey || token.maker === maker).map((token) => shownOf(app, token));
}

function shownOf({ names }: App, { id, view, maker, createdAt, expiresAt }: PreviewToken): ShownToken {
  const [category, own] = splitStream(maker);
  return {
    id,
    view: JSON.parse(view),
    maker: maker.includes('/') ? `${names.slugFor(category)}/${own}` : maker,
    createdAt: new Date(createdAt).toISOString(),
    expiresAt: new Date(expiresAt).toISOString(),
  };
}

/**
 * Takes a token away, and gives it as it was: from then on it is a 401.
 *
 * @throws DomainError `not_found` for one of another.
 */
export async function revokeToken(call: RouteCall, id: string): Promise<ShownToken> {
  const found = (await tokensOf(call)).find((token) => token.id === id);
  if (!found) throw new DomainError('not_found', `there is no preview token ${show(id)}`);
  await call.app.previewTokens.drop(id);
  return found;
}

/** The view that the token of a request shows, and a call by the maker of the token. */
export type OpenedToken = { id: string; view: PreviewView; maker: RouteCall };

/**
 * The token that a request came with: null without one. From here on its caller is anybody: no credential counts.
 *
 * @throws DomainError `unauthorized` for a token that is wrong, has expired or was taken away, or whose maker is gone.
 */
export async function openToken({ app, request }: RouteCall): Promise<OpenedToken | null> {
  const token = tokenIn(request);
  if (token === null) return null;
  const found = await app.previewTokens.find(hashOf(token));
  const maker = found && makerCall({ app, request }, found.maker);
  if (!found || !maker)
    throw new DomainError('invalid_token', 'the preview token is not valid, has expired, or was taken away');
  request.auth.credentials = { user: { actor: { type: 'anonymous' }, session: null } };
  delete request.app.readUser;
  request.app.user = null;
  return { id: found.id, view: JSON.parse(found.view), maker };
}

/** The header and the parameter that a token comes in. */
function tokenIn({ headers, query }: Request): string | null {
  const inHeader: unknown = headers['annals-preview'];
  const given: unknown = query.preview ?? inHeader;
  if (given === undefined) return null;
  if (query.preview !== undefined && inHeader !== undefined)
    throw invalidField(inQuery('preview', 'contradiction'), 'must not stand beside the header annals-preview');
  if (typeof given !== 'string' || given === '')
    throw invalidField(inQuery('preview', 'required'), 'must be given once and not be empty');
  return given;
}

/** A call by the maker of a token; null if it is gone. */
function makerCall({ app, request }: RouteCall, maker: string): RouteCall | null {
  const [category, id] = splitStream(maker);
  if (!maker.includes('/')) {
    const isKnown = app.credentials.apiKeys.some((key) => key.id === maker);
    return isKnown ? { app, request: requestBy(request, { type: 'apiKey', id: maker }, null) } : null;
  }
  const target = app.byCategory.get(category);
  const user = target?.model.auth ? app.userOf(target.slug, id) : null;
  return user && { app, request: requestBy(request, { type: 'user', id: maker }, user) };
}

/** The same request by another caller. */
function requestBy(request: Request, actor: Actor, user: NonNullable<Request['app']['user']> | null): Request {
  const { ip } = request.app;
  const own: Request['app'] = { requestId: requestId(request), user, ...(ip !== undefined && { ip }) };
  const auth: Request['auth'] = { ...request.auth, credentials: { user: { actor, session: null } } };
  return Object.create(request, { app: { value: own }, auth: { value: auth } });
}

function hashOf(token: string): string {
  return createHash('sha256').update(token).digest('hex');
}
