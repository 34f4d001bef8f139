import { DomainError } from '../../../config/errors.ts';
import type { JsonObject } from '../../../config/schema.ts';
import { decidePublish, decideUnpublish, type LinesNow } from '../../../events/facts/line-decisions.ts';
import type { ReleaseItem } from '../../../events/facts/releases.ts';
import type { OutlookDocument, OutlookPart } from '../../../projections/past/outlook.ts';
import type { App, RouteCall, Target } from '../../app.ts';
import { linesAfter } from '../drafts/outcome.ts';
import { firstTime, outcomeOf, type PinnedLines, type Publication } from '../drafts/publication.ts';
import { linesAtVersion } from '../drafts/publishing.ts';
import { maySee } from '../drafts/rights.ts';
import { targetOfLines } from '../drafts/targets.ts';
import { documentOf, forEachItem } from '../releases/items.ts';

/** An item of a release that an outlook takes as done, at a time in milliseconds since the epoch. */
export type Step = { item: ReleaseItem; release: string; at: number };

/** A step with the lines of its document now, and at the version that it publishes if that is not the newest. */
type FoundStep = Step & { target: Target; id: string; now: LinesNow; source: PinnedLines | null };

/** The steps whose documents, and versions, are there. Items that could not be published are left out. */
export async function findSteps(app: App, steps: readonly Step[]): Promise<FoundStep[]> {
  const found: FoundStep[] = [];
  const byItem = new Map(steps.map((step) => [step.item, step]));
  await forEachItem([...byItem.keys()], async (item) => {
    const step = byItem.get(item);
    const document = documentOf(app, item);
    if (!step || !document) return;
    const { target, id, now } = document;
    const { version } = item;
    const isNewest = version === null || version === now.versions.draft;
    const source = isNewest ? null : await linesAtVersion({ app, target }, id, version).catch(nullIfRefused);
    if (isNewest || source) found.push({ ...step, target, id, now, source });
  });
  return found;
}

function nullIfRefused(error: unknown): null {
  if (error instanceof DomainError) return null;
  throw error;
}

/**
 * The steps about drafts that a caller may read.
 *
 * @param call of the caller whom the rule `readDrafts` is asked about.
 */
export async function visibleSteps(call: RouteCall, found: readonly FoundStep[]): Promise<FoundStep[]> {
  const visible: FoundStep[] = [];
  await forEachItem(found, async (step) => {
    const { target, id, now, source } = step;
    const draft = target.documentOf(id, (source?.lines ?? now).draft ?? {});
    if (await maySee({ ...call, target }, 'draft', draft, source?.position)) visible.push(step);
  });
  return visible;
}

/** A document as the steps so far leave it. */
type State = { target: Target; id: string; before: JsonObject | null; now: LinesNow };

/** The documents that are public in another state once all steps are done, in this order. */
export function partsAfter(steps: readonly FoundStep[]): OutlookPart[] {
  const states = new Map<string, State>();
  for (const step of steps) {
    const { target, id } = step;
    const key = `${target.tables.key}/${id}`;
    const { before, now } = states.get(key) ?? { before: step.now.published, now: step.now };
    states.set(key, { target, id, before, now: linesBehind(step, now) });
  }
  const changed = [...states.values()].filter(({ before, now }) => now.published !== before);
  const byTarget = Map.groupBy(changed, ({ target }) => target);
  return [...byTarget].map(([{ tables }, group]) => ({ tables, documents: group.map(shownOf) }));
}

function shownOf({ id, now }: State): OutlookDocument {
  const { published, versions, head, publishedAt } = now;
  return { id, document: published, version: versions.published ?? head, head, publishedAt: publishedAt ?? 0 };
}

/** The lines after a step, as the release would leave them: its hooks are not run, and nothing is checked. */
function linesBehind({ target, id, item, release, at, source }: FoundStep, now: LinesNow): LinesNow {
  const lines = targetOfLines(target);
  const subject = { id, now, actor: { type: 'system' }, at } as const;
  if (item.action === 'unpublish') {
    const change = now.published ? decideUnpublish(lines, subject, release) : null;
    return { ...linesAfter(now, change, subject.actor), publishedAt: null };
  }
  const publication: Publication = { id, now, source, values: {}, release };
  const time = outcomeOf(target, publication).isChange ? firstTime(target, publication, at) : {};
  const pinned = source && { ...source.lines, draft: { ...source.lines.draft, ...time } };
  const change = decidePublish(lines, subject, {
    values: time,
    ...(source && pinned ? { source: { version: source.version, lines: pinned } } : {}),
    defaults: target.defaults?.() ?? null,
    release,
  });
  const after = linesAfter(now, change, subject.actor);
  return { ...after, publishedAt: now.published ? now.publishedAt : at };
}
