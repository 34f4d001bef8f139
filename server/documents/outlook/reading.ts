import type { Request } from '@hapi/hapi';
import { DomainError, type FieldError, inQuery, invalidField, invalidFields } from '../../../config/errors.ts';
import type { Collection, Global } from '../../../config/model.ts';
import { show } from '../../../config/suggest.ts';
import { hasDrafts } from '../../../config/traits.ts';
import { requireReleases } from '../../access/release-rights.ts';
import type { App, Call, RouteCall, Target } from '../../app.ts';
import { futureTime } from '../../queries/moments.ts';
import { findSteps, partsAfter, type Step, visibleSteps } from './steps.ts';
import { appIn } from './targets.ts';
import { type OpenedToken, openToken, readsAnyDraft } from './tokens.ts';

/**
 * The service as a request reads it that has `release`, a time to come as `asOf`, or a preview token; null for all
 * other requests. From here on the request reads ahead.
 *
 * @throws DomainError `unauthorized`, `forbidden`, `not_found`; `conflict` for an archived release; `validation_failed`
 * for parameters that do not go with it.
 */
export async function readAhead(app: App, request: Request): Promise<App | null> {
  if (!hasDrafts(app.model)) return null;
  const call = { app, request };
  const token = await openToken(call);
  if (token) return tokenView(call, token);
  const { release, asOf } = request.query;
  const time = futureTime(asOf, app);
  if (time !== null && release === undefined) return readFuture(call, time);
  if (release === undefined) return null;
  await requireReleases(call, 'read');
  refuseOthers(request, 'release');
  return outlookOf(call, { name: String(release), steps: stepsOf(app, String(release)) });
}

/** How far ahead a request can read, in milliseconds: for so long releases are planned. */
const mostAhead = 5 * 366 * 24 * 60 * 60 * 1000;

/** The service with all releases due by a time; null for callers who may read no draft, to whom it is a 400. */
async function readFuture(call: RouteCall, time: number): Promise<App | null> {
  const { app, request } = call;
  if (!(await readsAnyDraft(call))) return null;
  refuseOthers(request, 'asOf');
  if (time - app.clock.believed() > mostAhead)
    throw invalidField(inQuery('asOf', 'out_of_range'), 'must be within 5 years from now');
  return futureOf(call, time);
}

/** In the service that this gives it is that time already. */
async function futureOf(call: RouteCall, time: number, asker = call): Promise<App> {
  const { app } = call;
  const ahead = await outlookOf(call, { name: `until ${time}`, steps: stepsUntil(app, time) }, asker);
  return { ...ahead, clock: { ...app.clock, believed: () => time } };
}

/** How many documents may be planned until a time that is read. */
const mostSteps = 10_000;

/** The items of all releases that are due at a time or before, in the order in which they will be published. */
function stepsUntil(app: App, time: number): Step[] {
  const ids: string[] = [];
  for (let page = 1; ; page += 1) {
    const { found } = app.releases.page({ states: ['scheduled'], to: time }, { limit: 100, page });
    ids.unshift(...found.map(({ id }) => id).toReversed());
    if (found.length < 100) break;
  }
  const steps: Step[] = [];
  for (const id of ids) {
    steps.push(...stepsOf(app, id));
    if (steps.length > mostSteps)
      throw invalidField(inQuery('asOf', 'too_expensive'), `is after more than ${mostSteps} planned publications`);
  }
  return steps;
}

/**
 * The service as a token shows it. The drafts of a token with `draft` are those that the rule `read` would show to
 * anybody; the request reads them as one with `draft=true` does.
 */
async function tokenView(call: RouteCall, { view, maker }: OpenedToken): Promise<App | null> {
  const { app, request } = call;
  refuseOthers(request, null);
  if ('draft' in view) {
    request.app.draftsOf = maker.request;
    request.app.ahead = { position: app.appliedPosition(), isApart: false };
    return null;
  }
  if ('asOf' in view) return futureOf(call, Date.parse(view.asOf), maker);
  return outlookOf(call, { name: view.release, steps: stepsOf(app, view.release) }, maker);
}

/** As {@link readAhead}, of a collection or global: the call with the target as the request reads it. */
export async function readTargetAhead<M extends Collection | Global>(
  app: App,
  request: Request,
  target: Target<M>,
): Promise<Call<M> | null> {
  const ahead = await readAhead(app, request);
  if (!ahead) return null;
  const { slug, model } = target;
  const found = model.kind === 'global' ? ahead.globals.get(slug) : ahead.collections.get(slug);
  return { app: ahead, request, target: found as Target<M> };
}

/** The parameters that say in other ways what is read. */
const others = ['asOf', 'draft', 'release', 'proven', 'q'];

/** @throws DomainError `validation_failed` naming the parameters that do not go with another. */
function refuseOthers({ query }: Request, name: 'release' | 'asOf' | null): void {
  const wrong = others.filter((other) => other !== name && query[other] !== undefined);
  const errors = wrong.map((other): FieldError => {
    return { ...inQuery(other, 'contradiction'), message: `${other} cannot be used with ${name ?? 'a preview token'}` };
  });
  if (name && (typeof query[name] !== 'string' || query[name] === ''))
    errors.push({ ...inQuery(name, 'duplicate'), message: `${name} must be given once and not be empty` });
  if (errors.length > 0) throw invalidFields(errors);
}

/** The items of a release as steps; none of a published release: the site has them. */
function stepsOf(app: App, id: string): Step[] {
  const release = app.releases.find(id);
  if (!release) throw new DomainError('not_found', `there is no release ${show(id)}`);
  if (release.state === 'archived') throw new DomainError('conflict', 'the release is archived: it has no preview');
  if (release.state === 'published') return [];
  const at = release.time?.at ?? app.clock.believed();
  return release.items.map((item) => ({ item, release: id, at }));
}

/** The steps of an outlook, and a name that no other outlook has at the same position. */
type Asked = { name: string; steps: readonly Step[] };

/** @param asker the caller whose right to read drafts counts; by default the caller of the request. */
async function outlookOf(call: RouteCall, { name, steps }: Asked, asker = call): Promise<App> {
  const { app, request } = call;
  const { position, erasures } = app.readState();
  const visible = await visibleSteps(asker, await findSteps(app, steps));
  const key = JSON.stringify([name, position, erasures, visible.map(({ item: { category, id } }) => [category, id])]);
  const outlook = app.past.outlook(key, () => partsAfter(visible));
  const { res } = request.raw;
  if (res.closed || res.destroyed) outlook.release();
  res.once('close', outlook.release);
  request.app.ahead = { position, isApart: true };
  return appIn(app, outlook);
}
