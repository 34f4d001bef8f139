import type { Request } from '@hapi/hapi';
import type { JsonObject } from '../../../config/schema.ts';
import { splitStream } from '../../../events/facts/catalogue.ts';
import type { OpenReview } from '../../../projections/query/lines.ts';
import { credentialNeeded, unlessFaulty } from '../../access/access.ts';
import type { App, Call, Target } from '../../app.ts';
import { actorOf } from '../../http/requests.ts';
import type { AnswerOf } from '../../openapi/answers.ts';
import { maySee } from '../drafts/rights.ts';
import { paceOf } from '../read/reading.ts';
import { showableIn, titleOf } from '../search/titles.ts';
import { streamOf } from '../write/current.ts';
import { type ReviewRequest, requestOf } from './requests.ts';

/** An open request for review, as callers see it. */
type Review = AnswerOf<'Reviews'>['docs'][number];

type Found = { call: Call; open: OpenReview; document: JsonObject; request: ReviewRequest };

/**
 * The open requests for review whose drafts the caller may read, the newest first.
 *
 * @throws DomainError `unauthorized` for a caller without a credential who may read none.
 */
export async function openReviewsOf(
  { app, request }: { app: App; request: Request },
  { limit, page }: { limit: number; page: number },
): Promise<{ reviews: Review[]; total: number }> {
  const found: Found[] = [];
  const pace = paceOf({ app, request });
  for (const target of [...app.collections.values(), ...app.globals.values()]) {
    for (const open of target.openReviews?.() ?? []) {
      await pace();
      const one = await foundOf({ app, request, target }, open);
      if (one) found.push(one);
    }
  }
  if (found.length === 0 && actorOf(request).type === 'anonymous') throw credentialNeeded();
  found.sort((one, other) => other.request.header.position - one.request.header.position);
  const shown = found.slice((page - 1) * limit, page * limit);
  return { reviews: await Promise.all(shown.map(describe)), total: found.length };
}

/** Null if the caller may not read the draft, or if it has changed since the list was read. */
async function foundOf(call: Call, open: OpenReview): Promise<Found | null> {
  const { app, target } = call;
  const draft = target.lines?.(open.id).draft;
  if (!draft) return null;
  const document = target.documentOf(open.id, draft);
  if (!(await unlessFaulty(call, maySee(call, 'draft', document), false))) return null;
  const request = requestOf(app, streamOf(target, open.id), open.version);
  return request && { call, open, document, request };
}

async function describe({ call, open, document, request: { header, data } }: Found): Promise<Review> {
  const { app, target } = call;
  const isGlobal = target.model.kind === 'global';
  const { actor, recordedAt } = header;
  const to = Array.isArray(data?.to) ? data.to.map((person) => splitStream(String(person))[1]) : [];
  return {
    collection: isGlobal ? null : target.slug,
    global: isGlobal ? target.slug : null,
    id: isGlobal ? null : open.id,
    title: titleOf(target as Target, document, await showableIn(call)),
    version: open.version,
    newest: open.newest,
    requestedBy: actor.id === undefined ? { type: actor.type } : { type: actor.type, id: actorId(app, actor.id) },
    requestedAt: recordedAt,
    to,
    note: typeof data?.note === 'string' ? data.note : null,
  };
}

/** The id of an actor, with the present slug of the collection of a user. */
function actorId({ names }: App, id: string): string {
  if (!id.includes('/')) return id;
  const [category, rest] = splitStream(id);
  return `${names.slugFor(category)}/${rest}`;
}
