import type { ResponseObject, ResponseToolkit } from '@hapi/hapi';
import { DomainError, inQuery, invalidField } from '../../../config/errors.ts';
import { isObject } from '../../../config/schema.ts';
import { decideNothing } from '../../../events/facts/accounts.ts';
import { releaseStream } from '../../../events/facts/catalogue.ts';
import { decideRelease, type ReleaseItem } from '../../../events/facts/releases.ts';
import { refuseMissing } from '../../access/document-access.ts';
import { noteReason } from '../../http/reason.ts';
import { rejectQuery } from '../../queries/parameters.ts';
import { once } from '../concurrency/idempotency.ts';
import { requireExpected } from '../concurrency/precondition.ts';
import { idIn, lineOf, streamOf } from '../write/current.ts';
import type { ShownCall } from '../write/write-steps.ts';
import { write } from '../write/writes.ts';
import { authorizeItem, documentOf } from './items.ts';
import { type PlanRequest, plannedTime, readPlan } from './requests.ts';

/** A request to publish or unpublish one document later, whose body has been read. */
type PlanCall = ShownCall & { h: ResponseToolkit; body: unknown };

/** Whether the body of a publication asks for a later time. */
export function isPlan(body: unknown): boolean {
  return isObject(body) && (body.at !== undefined || body.timeZone !== undefined);
}

/**
 * Plans the publication of one document, or its end, for a time: as a release of this document.
 *
 * @throws DomainError as publishing does; `validation_failed` for a time that cannot be.
 */
export async function planDocument(call: PlanCall, action: ReleaseItem['action']): Promise<ResponseObject> {
  const { app, request, target, h, body } = call;
  if (request.query.dryRun !== undefined)
    throw invalidField(inQuery('dryRun', 'contradiction'), 'does not go with at: check the release that is made');
  rejectQuery(request.query);
  const asked = readPlan(body, action);
  const time = plannedTime(asked, app.clock.believed());

  async function plan(): Promise<ResponseObject> {
    const { id } = app.ids.next();
    await write(call, releaseStream(id), async () => {
      const { item, head } = await admitted(call, action, asked);
      const title = `${action} ${target.tables.name}${target.defaults ? '' : `/${item.id}`}`;
      const lock = decideNothing(streamOf(target, item.id), head);
      return {
        decision: decideRelease({ id, title, description: null, time, items: [item] }),
        also: [lock],
        answer: null,
      };
    });
    return h.response({ release: id }).code(202);
  }

  return once(call, plan, async (recorded) => h.response({ release: recorded.split('/').at(-1) ?? '' }).code(202));
}

/** The item that a caller may plan. */
async function admitted(
  call: PlanCall,
  action: ReleaseItem['action'],
  { version }: PlanRequest,
): Promise<{ item: ReleaseItem; head: number }> {
  const { app, request, target } = call;
  const id = idIn(call);
  const found = documentOf(app, { category: target.category, id });
  if (!found) return refuseMissing(call, 'publish', id);
  const { now } = found;
  const pinned = action === 'publish' ? (version ?? now.versions.draft) : null;
  const item: ReleaseItem = { category: target.category, id, action, version: pinned };
  await authorizeItem(call, item, found);
  const line = action === 'publish' ? 'draft' : 'public';
  await requireExpected(call, lineOf(target, now, line), line);
  noteReason(request, target.model);
  if (action === 'unpublish' && !now.published)
    throw new DomainError('conflict', 'the document is not public, so it cannot be unpublished');
  return { item, head: now.head };
}
