import type { ResponseObject, ResponseToolkit } from '@hapi/hapi';
import { DomainError } from '../../../config/errors.ts';
import { decidePublish, decideUnpublish } from '../../../events/facts/line-decisions.ts';
import type { Change } from '../../../events/facts/log.ts';
import type { ReleaseItem } from '../../../events/facts/releases.ts';
import type { Call, RouteCall } from '../../app.ts';
import { actorOf } from '../../http/requests.ts';
import type { AnswerOf } from '../../openapi/answers.ts';
import type { Publication } from '../drafts/publication.ts';
import { maySee } from '../drafts/rights.ts';
import { targetOfLines } from '../drafts/targets.ts';
import { trialOf } from '../drafts/trying.ts';
import { serializerFor } from '../read/serialize.ts';
import { livingOf } from './finding.ts';
import { documentOf, forEachItem, type ItemDocument, publicationFor } from './items.ts';
import { type ItemChange, takenIn } from './refusals.ts';

type ReleaseCheck = AnswerOf<'ReleaseCheck'>;
type Findings = { [name in keyof ReleaseCheck]: ReleaseCheck[name][number][] };

/** Tells what would be wrong if a release were published now: no hook runs, and nothing is recorded. */
export async function checkRelease(call: RouteCall & { h: ResponseToolkit }, id: string): Promise<ResponseObject> {
  const { app, request, h } = call;
  const { items } = livingOf(call, id);
  const found: Findings = { problems: [], overwritten: [], notPublished: [], releases: [] };
  const changes: ItemChange[] = [];
  const seen = new Set<string>();
  await forEachItem(items, async (item, index) => {
    const at = `items.${index}`;
    for (const { id: other, title } of app.releases.livingWith(item)) {
      if (other !== id) found.releases.push({ field: at, id: other, title });
    }
    const document = documentOf(app, item);
    if (!document) {
      found.problems.push(problemOf(at, 'reference_not_found', 'names a document that does not exist'));
      return;
    }
    const own = { app, request, target: document.target };
    await withProblems(found, at, async () => {
      const { change, publication } = await decided(own, item, document);
      if (change) changes.push({ at, change });
      if (!(await isSeen(own, document))) return;
      seen.add(at);
      if (publication) await tell(own, publication, { at, found, items });
    });
  });
  for (const { field, code, message } of takenIn(app, changes, null)) {
    if (seen.has(field.split('.', 2).join('.'))) found.problems.push({ field, code, message });
  }
  return h.response(found);
}

function isSeen(call: Call, { target, id, now }: ItemDocument): Promise<boolean> {
  return maySee(call, 'draft', target.documentOf(id, now.draft ?? {}));
}

/** The change of an item as it would be without hooks. */
async function decided(
  call: Call,
  item: ReleaseItem,
  document: ItemDocument,
): Promise<{ change: Change | null; publication: Publication | null }> {
  const { app, request, target } = call;
  const { id, now } = document;
  const subject = { id, now, actor: actorOf(request), at: app.clock.believed() };
  const lines = targetOfLines(target);
  if (item.action === 'unpublish') {
    return { change: now.published ? decideUnpublish(lines, subject) : null, publication: null };
  }
  const publication = await publicationFor(call, item, document);
  const { source } = publication;
  const defaults = target.defaults?.() ?? null;
  return { change: decidePublish(lines, subject, { ...(source && { source }), defaults }), publication };
}

/** Adds what a trial of a publication finds. A document that the release publishes too will be public. */
async function tell(
  call: Call,
  publication: Publication,
  { at, found, items }: { at: string; found: Findings; items: readonly ReleaseItem[] },
): Promise<void> {
  const { app, target } = call;
  const { problems, overwritten, notPublished } = await trialOf(
    { ...call, present: serializerFor(app, target) },
    publication,
  );
  const isPublished = ({ collection, id }: { collection: string; id: string }) => {
    const category = app.names.categoryFor(collection);
    return items.some((one) => one.category === category && one.id === id && one.action === 'publish');
  };
  found.problems.push(...problems.map(({ field, code, message }) => problemOf(at, code, message, field)));
  found.overwritten.push(...overwritten.map((one) => ({ ...one, field: `${at}.${one.field}` })));
  for (const one of notPublished) {
    if (!isPublished(one)) found.notPublished.push({ ...one, field: `${at}.${one.field}` });
  }
}

/** Runs a check of an item, and adds its refusal to the problems. */
async function withProblems(found: Findings, at: string, run: () => Promise<void>): Promise<void> {
  try {
    await run();
  } catch (error) {
    if (!(error instanceof DomainError)) throw error;
    found.problems.push(problemOf(at, error.code, error.message));
  }
}

function problemOf(at: string, code: string, message: string, field = ''): ReleaseCheck['problems'][number] {
  return { field: field === '' ? at : `${at}.${field}`, code, message: `${at}${field === '' ? ' ' : '.'}${message}` };
}
