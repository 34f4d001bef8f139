import type { ResponseObject } from '@hapi/hapi';
import { DomainError } from '../../../config/errors.ts';
import { decideDiscard, decideUnpublish, type LinesNow } from '../../../events/facts/line-decisions.ts';
import { authorize } from '../../access/access.ts';
import { actorOf } from '../../http/requests.ts';
import { pastLinesOf } from '../past/past-lines.ts';
import { streamOf } from '../write/current.ts';
import type { Write } from '../write/write-steps.ts';
import { answerLine } from './answers.ts';
import { decidedOf, type LineSteps } from './line-steps.ts';
import { writeLine } from './line-writes.ts';
import { publicOf } from './publication.ts';
import { authorizeAnyPublishing, authorizeDraft, authorizePublishing } from './rights.ts';
import { targetOfLines } from './targets.ts';

/**
 * Takes a document out of what is public; its draft stays.
 *
 * @throws DomainError as writes do; `conflict` if it is not public.
 */
export async function unpublish(write: Write): Promise<ResponseObject> {
  return answerLine(write, await writeLine(write, unpublication, 'publish'));
}

/** The steps of {@link unpublish}. */
export const unpublication: LineSteps = {
  hasValues: false,
  // A draft that was never public is told to be so.
  isMissing: ({ now }) => now.draft === null,
  async admit({ write, id, now }) {
    const { target } = write;
    const published = publicOf(target, { id, now });
    await authorizeAnyPublishing(write);
    const document = target.documentOf(id, now.draft ?? {});
    await authorizePublishing(write, { document, published, editors: [] });
  },
  async decide(subject) {
    const { write, id, now, at } = subject;
    if (!now.published) throw new DomainError('conflict', 'the document is not public, so it cannot be unpublished');
    const actor = actorOf(write.request);
    return decidedOf(subject, decideUnpublish(targetOfLines(write.target), { id, now, actor, at }));
  },
};

/**
 * Makes the draft what is public; of an unpublished document what was public last.
 *
 * @throws DomainError as writes do; `conflict` if the document was never public.
 */
export async function discard(write: Write): Promise<ResponseObject> {
  return answerLine(write, await writeLine(write, discarding));
}

/** The steps of {@link discard}. */
export const discarding: LineSteps = {
  hasValues: false,
  async admit({ write, id, now }) {
    const doc = write.target.documentOf(id, now.draft ?? write.target.defaults?.() ?? {});
    await authorize(write, 'update', { doc: () => doc, data: null, isDraft: true });
    await authorizeDraft(write, doc);
  },
  async decide(subject) {
    const { write, id, now, at } = subject;
    const last = await lastPublic(write, id, now);
    const actor = actorOf(write.request);
    return decidedOf(subject, decideDiscard(targetOfLines(write.target), { id, now, actor, at }, last));
  },
};

/** The last public state of a document of which nothing is public; null for a global, which then has its defaults. */
async function lastPublic({ app, target }: Write, id: string, now: LinesNow) {
  if (now.published || target.defaults) return null;
  const past = await pastLinesOf(app, streamOf(target, id), { version: now.head });
  if (past?.lastPublic) return past.lastPublic;
  throw new DomainError('conflict', 'the document was never public, so there is nothing that its draft could become');
}
