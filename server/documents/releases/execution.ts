import { DomainError, inBody } from '../../../config/errors.ts';
import { decideNothing } from '../../../events/facts/accounts.ts';
import { releaseStream } from '../../../events/facts/catalogue.ts';
import { decideUnpublish } from '../../../events/facts/line-decisions.ts';
import type { Change } from '../../../events/facts/log.ts';
import { decideReleasePublication, type Planned, type ReleaseItem } from '../../../events/facts/releases.ts';
import type { Call, RouteCall } from '../../app.ts';
import { noteReason } from '../../http/reason.ts';
import { actorOf } from '../../http/requests.ts';
import { gatherErrors, refuseInvalid } from '../bulk/refusals.ts';
import { linesAfter } from '../drafts/outcome.ts';
import { publicationOf, publicOf } from '../drafts/publication.ts';
import { targetOfLines } from '../drafts/targets.ts';
import { afterPublish, type HookContext } from '../hooks.ts';
import { streamOf } from '../write/current.ts';
import { writeMany } from '../write/writes.ts';
import { livingOf } from './finding.ts';
import { authorizeItem, documentOf, forEachItem, type ItemDocument, publicationFor } from './items.ts';
import { isForbidden, refusalOfItem, refuseItems, refuseTaken, takenIn } from './refusals.ts';

/** The most characters that the events of a release may have. */
const mostCharacters = 64 * 1024 * 1024;

/** The publication of a release. */
type Execution = {
  id: string;
  /** The change that makes the release, if it is published at once; null if it is there. */
  making: { change: Change; items: readonly ReleaseItem[] } | null;
  /** The time that it was planned for, and who planned it; null if it is published by hand, by who asks. */
  planned: Planned | null;
  /** Called in each try with the version of the release. */
  requireVersion?: (version: number) => void;
};

/** The decision on an item; `hook` runs its hooks once it is recorded. */
type DecidedItem = { at: string; change: Change; hook: (() => Promise<unknown>) | null };

/**
 * Publishes and unpublishes all documents of a release in one append, all or none.
 *
 * @returns the id in each of its events.
 * @throws DomainError as publishing does, whose errors name `items.3.title`; `conflict` if the release is published or
 * archived; what a hook throws.
 */
export async function execute(call: RouteCall, { id, making, planned, requireVersion }: Execution): Promise<string> {
  const { app, request } = call;
  const { rule } = request.app;
  request.app.bulk = { call: 'release' };
  const streams = making ? [] : [releaseStream(id)];
  const { batch, hooks } = await writeMany(call, streams, async () => {
    const { version, items } = making ? { version: 0, items: making.items } : livingOf(call, id);
    if (!making) requireVersion?.(version);
    const decided = await decideItems(call, { id, items, asks: planned === null });
    if (rule !== undefined) request.app.rule = rule;
    refuseTaken(takenIn(app, decided, null));
    const { id: batch } = app.ids.next();
    const published = decideReleasePublication(id, version, planned);
    const own = making ? { ...making.change, events: [...making.change.events, ...published.events] } : published;
    return {
      changes: [own, ...decided.map(({ change }) => change)],
      batch,
      answer: { batch, hooks: decided.flatMap(({ hook }) => hook ?? []) },
      refuse: async (claim) => refuseTaken(takenIn(app, decided, claim)),
    };
  });
  await forEachItem(hooks, async (hook) => {
    await hook();
  });
  return batch;
}

/**
 * Decides on all items, before anything is recorded. @param asks whether the rule `publish` is asked about each.
 */
async function decideItems(
  call: RouteCall,
  { id, items, asks }: { id: string; items: readonly ReleaseItem[]; asks: boolean },
): Promise<DecidedItem[]> {
  const { app, request } = call;
  const decided: DecidedItem[] = [];
  const wrong = gatherErrors();
  const refused: ReturnType<typeof forbidden>[] = [];
  let characters = 0;
  await forEachItem(items, async (item, index) => {
    const at = `items.${index}`;
    const found = documentOf(app, item);
    if (!found) {
      wrong.add([{ ...inBody(at, 'reference_not_found'), message: `${at} names a document that does not exist` }]);
      return;
    }
    const own = { app, request, target: found.target };
    if (asks && (await isForbidden(authorizeItem(own, item, found)))) {
      refused.push(forbidden(at, item));
      return;
    }
    const { rule } = request.app;
    if (refused.length > 0 || wrong.isFull()) return;
    await wrong.check(at, async () => {
      const one = await decideItem(own, { item, found, release: id }).catch((error: unknown) => {
        throw refusalOfItem(error, index);
      });
      if (asks && rule !== undefined) one.change.rule = rule;
      characters += JSON.stringify(one.change.events).length;
      if (characters > mostCharacters) throw tooLarge();
      decided.push({ at, ...one });
    });
  });
  refuseItems(refused);
  refuseInvalid(wrong.all());
  return decided;
}

type Deciding = { item: ReleaseItem; found: ItemDocument; release: string };

async function decideItem(call: Call, { item, found, release }: Deciding): Promise<Omit<DecidedItem, 'at'>> {
  const { app, request, target } = call;
  const { id, now } = found;
  noteReason(request, target.model, `release ${release}`);
  const unchanged = decideNothing(streamOf(target, id), now.head);
  const subject = { id, now, actor: actorOf(request), at: app.ids.next().at };
  if (item.action === 'unpublish') {
    const change = now.published ? decideUnpublish(targetOfLines(target), subject, release) : unchanged;
    return { change, hook: null };
  }
  const publication = { ...(await publicationFor(call, item, found)), release };
  const doc = publicOf(target, found) ?? target.documentOf(id, now.draft ?? {});
  const hookContext = { app, request, target, operation: 'update', doc } satisfies HookContext;
  const { change } = await publicationOf(call, publication, hookContext);
  const after = linesAfter(now, change, actorOf(request)).published;
  if (!change || after === now.published) return { change: change ?? unchanged, hook: null };
  const document = target.documentOf(id, after ?? {});
  return { change, hook: () => afterPublish(hookContext, { document, published: publicOf(target, found) }) };
}

function forbidden(at: string, { action }: ReleaseItem) {
  return { ...inBody(at, 'forbidden_document'), message: `you may not ${action} ${at}` };
}

function tooLarge(): DomainError {
  return new DomainError(
    'too_large',
    'the documents of the release have more than 64 MiB together: take fewer at once',
  );
}
