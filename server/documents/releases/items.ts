import { type FieldError, inBody } from '../../../config/errors.ts';
import { globalsCategory } from '../../../config/schema.ts';
import { decideNothing } from '../../../events/facts/accounts.ts';
import type { LinesNow } from '../../../events/facts/line-decisions.ts';
import type { Change } from '../../../events/facts/log.ts';
import type { ReleaseItem, ReleaseSubject } from '../../../events/facts/releases.ts';
import type { App, Call, RouteCall, Target } from '../../app.ts';
import { yieldToEventLoop } from '../../platform/yield.ts';
import { gatherErrors, refuseInvalid } from '../bulk/refusals.ts';
import { draftOf, type Publication, publicOf } from '../drafts/publication.ts';
import { pinnedLines } from '../drafts/publishing.ts';
import { authorizeAnyPublishing, authorizePublishing, editorsOf } from '../drafts/rights.ts';
import { linesOf, streamOf } from '../write/current.ts';
import { isForbidden, refuseItems } from './refusals.ts';
import type { AskedItem } from './requests.ts';

/** The document or global of an item, as it is now. */
export type ItemDocument = { target: Target; id: string; now: LinesNow };

/** After this many items other requests go on. */
const atOnce = 25;

/** Runs for one item after the other, and lets other requests go on now and then. */
export async function forEachItem<T>(
  items: readonly T[],
  run: (item: T, index: number) => Promise<void>,
): Promise<void> {
  for (const [index, item] of items.entries()) {
    if (index % atOnce === atOnce - 1) await yieldToEventLoop();
    await run(item, index);
  }
}

/** The collection or global of an item; null if it is not configured, or has no drafts. */
function targetOf(app: App, { category, id }: ReleaseSubject): Target | null {
  const target = category === globalsCategory ? app.globals.get(id) : app.byCategory.get(category);
  return target?.lines ? target : null;
}

/** The document or global of an item; null if it does not exist. */
export function documentOf(app: App, subject: ReleaseSubject): ItemDocument | null {
  const target = targetOf(app, subject);
  if (!target) return null;
  const now = linesOf({ app, target }, subject.id);
  return now.draft ? { target, id: subject.id, now } : null;
}

/** The publication that an item stands for. @throws DomainError for a version without a draft. */
export async function publicationFor(call: Call, item: ReleaseItem, { id, now }: ItemDocument): Promise<Publication> {
  const { version } = item;
  const source = version === null || version === now.versions.draft ? null : await pinnedLines(call, id, version);
  return { id, now, source, values: {} };
}

/** Asks the rule `publish` about an item. @throws DomainError `forbidden`. */
export async function authorizeItem(call: Call, item: ReleaseItem, found: ItemDocument): Promise<void> {
  const { app, target } = call;
  const { id, now } = found;
  await authorizeAnyPublishing(call);
  const published = publicOf(target, found);
  if (item.action === 'unpublish') {
    await authorizePublishing(call, { document: target.documentOf(id, now.draft ?? {}), published, editors: [] });
    return;
  }
  const publication = await publicationFor(call, item, found);
  const document = target.documentOf(id, draftOf(target, publication) ?? {});
  const editors = editorsOf(app, (publication.source?.lines ?? now).editors);
  await authorizePublishing(call, { document, published, editors });
}

/** Items that the caller may set: `locks` hold each document at the state that was looked at. */
type PinnedItems = { items: ReleaseItem[]; locks: Change[] };

/**
 * The items that a caller names, each with the version that it publishes: by default the newest of the draft.
 *
 * @throws DomainError `validation_failed` naming items that cannot be; `forbidden` naming items that the caller may not
 * publish.
 */
export async function pinItems(call: RouteCall, asked: readonly AskedItem[]): Promise<PinnedItems> {
  const { app, request } = call;
  const pinned: PinnedItems = { items: [], locks: [] };
  const wrong = gatherErrors();
  const refused: FieldError[] = [];
  await forEachItem(asked, async (one, index) => {
    const at = `items.${index}`;
    const subject = subjectOf(app, one);
    const target = targetOf(app, subject);
    if (!target) throw new Error(`${at} has no drafts`);
    const own = { app, request, target };
    const isRefused = await isForbidden(authorizeAnyPublishing(own));
    const found = isRefused ? null : documentOf(app, subject);
    if (!isRefused && !found) {
      wrong.add([{ ...inBody(at, 'reference_not_found'), message: `${at} names no document with a draft` }]);
      return;
    }
    await wrong.check(at, async () => {
      const version = found && one.action === 'publish' ? (one.version ?? found.now.versions.draft) : null;
      const item = { ...subject, action: one.action, version };
      if (!found || (await isForbidden(authorizeItem(own, item, found)))) {
        refused.push({ ...inBody(at, 'forbidden_document'), message: `you may not ${one.action} ${at}` });
        return;
      }
      pinned.items.push(item);
      pinned.locks.push(decideNothing(streamOf(target, subject.id), found.now.head));
    });
  });
  refuseItems(refused);
  refuseInvalid(wrong.all());
  return pinned;
}

/** Asks the rule `publish` about all items of a release. @throws DomainError `forbidden` naming the refused ones. */
export async function authorizeItems(call: RouteCall, items: readonly ReleaseItem[]): Promise<void> {
  const { app, request } = call;
  const refused: FieldError[] = [];
  await forEachItem(items, async (item, index) => {
    const found = documentOf(app, item);
    // It is told as a problem when the release is checked or published.
    if (!found) return;
    if (!(await isForbidden(authorizeItem({ app, request, target: found.target }, item, found)))) return;
    const at = `items.${index}`;
    refused.push({ ...inBody(at, 'forbidden_document'), message: `you may not ${item.action} ${at}` });
  });
  refuseItems(refused);
}

function subjectOf({ names }: App, { collection, id, global }: AskedItem): ReleaseSubject {
  if (global !== undefined) return { category: globalsCategory, id: global };
  return { category: names.categoryFor(collection ?? ''), id: id ?? '' };
}
