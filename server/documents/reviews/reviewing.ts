import type { ResponseObject } from '@hapi/hapi';
import { DomainError } from '../../../config/errors.ts';
import type { JsonObject } from '../../../config/schema.ts';
import { changedNames } from '../../../events/facts/lines.ts';
import type { Change, NewEvent } from '../../../events/facts/log.ts';
import { authorize } from '../../access/access.ts';
import { actorOf } from '../../http/requests.ts';
import { decidedOf, type LineDecision, type LineSteps, type LineSubject } from '../drafts/line-steps.ts';
import { writeLine } from '../drafts/line-writes.ts';
import { publicOf } from '../drafts/publication.ts';
import { authorizeAnyPublishing, authorizeDraft, authorizePublishing, editorsOf } from '../drafts/rights.ts';
import { sendTagged } from '../read/sending.ts';
import { lineOf, streamOf } from '../write/current.ts';
import type { Write } from '../write/write-steps.ts';
import { writtenText } from '../write/written.ts';
import type { WantedReview } from './bodies.ts';
import { requestOf } from './requests.ts';

/** Requests a review of the draft. @throws DomainError as writes do; `conflict` if nothing is unpublished. */
export async function requestReview(write: Write, { to, note }: WantedReview): Promise<ResponseObject> {
  const answer = await answered(write, {
    ...common,
    async admit(subject) {
      await authorize(write, 'update', { doc: () => draftOf(subject), data: null, isDraft: true });
      await authorizeDraft(write, draftOf(subject));
    },
    async decide(subject) {
      const { now } = subject;
      const { published, draft, versions } = now;
      if (draft === null || (published !== null && changedNames(published, draft).length === 0))
        throw new DomainError('conflict', 'the document has no unpublished changes to review');
      const data = { version: versions.draft ?? now.head, ...(to.length > 0 ? { to: [...to] } : {}), ...noted(note) };
      return decided(subject, { type: 'review.requested', data });
    },
  });
  if (to.length > 0) await write.app.passwords.mailWaits();
  return answer;
}

/** Takes a request for review back. @throws DomainError as writes do; `conflict` without one. */
export function withdrawReview(write: Write): Promise<ResponseObject> {
  return answered(write, {
    ...common,
    async admit(subject) {
      await authorizeDraft(write, draftOf(subject));
      const isOwn = subject.now.review === null || requesterOf(subject) === actorOf(write.request).id;
      if (!isOwn) await admitPublisher(subject);
    },
    async decide(subject) {
      if (subject.now.review === null) throw withoutReview();
      return decided(subject, { type: 'review.withdrawn', data: {} });
    },
  });
}

/** Refuses the state that a request for review is about. @throws DomainError as writes do; `conflict` without one. */
export async function refuseReview(write: Write, note: string | null): Promise<ResponseObject> {
  let isTold = false;
  const answer = await answered(write, {
    ...common,
    async admit(subject) {
      await authorizeDraft(write, draftOf(subject));
      await admitPublisher(subject);
    },
    async decide(subject) {
      const { review } = subject.now;
      if (review?.state !== 'open') throw withoutReview();
      const requester = requesterOf(subject);
      isTold = requester?.includes('/') === true;
      const to = isTold && requester !== null ? { to: [requester] } : {};
      return decided(subject, { type: 'review.refused', data: { version: review.version, ...to, ...noted(note) } });
    },
  });
  if (isTold) await write.app.passwords.mailWaits();
  return answer;
}

/** A request for review writes no values, and its note is its reason. */
const common = { hasValues: false, takesReason: false } as const;

function withoutReview(): DomainError {
  return new DomainError('conflict', 'no review of the document is requested');
}

function noted(note: string | null): JsonObject {
  return note === null ? {} : { note };
}

function draftOf({ write: { target }, id, current }: LineSubject): JsonObject {
  return target.documentOf(id, current?.document ?? {});
}

/** The caller who requested the review, as events name them; null without one. */
function requesterOf({ write: { app, target }, id, now: { review } }: LineSubject): string | null {
  return (review && requestOf(app, streamOf(target, id), review.version)?.header.actor.id) ?? null;
}

async function admitPublisher(subject: LineSubject): Promise<void> {
  const { write, id, now } = subject;
  const published = publicOf(write.target, { id, now });
  await authorizeAnyPublishing(write);
  await authorizePublishing(write, {
    document: draftOf(subject),
    published,
    editors: editorsOf(write.app, now.editors),
  });
}

function decided(subject: LineSubject, event: NewEvent): LineDecision {
  const { write, id, now } = subject;
  const stream = streamOf(write.target, id);
  const change: Change = { stream, expectedVersion: now.head, events: [event], claims: [], releases: [] };
  return decidedOf(subject, change);
}

/** Records a decision, and answers with the draft and the state of its review. */
async function answered(write: Write, steps: LineSteps): Promise<ResponseObject> {
  const { target, present, h } = write;
  const { id, after } = await writeLine(write, steps, 'readDrafts');
  const { document, version } = lineOf(target, after, 'draft') ?? { document: {}, version: after.head };
  const shown: JsonObject = JSON.parse(await writtenText(write, target.documentOf(id, document), true));
  const text = JSON.stringify({ ...shown, __review: after.review?.state ?? null });
  return sendTagged(h, text, present.tag(version, text, { isStored: false, isDraft: true }));
}
