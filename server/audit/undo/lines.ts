import { DomainError } from '../../../config/errors.ts';
import type { JsonObject } from '../../../config/schema.ts';
import { changesBetween } from '../../../events/facts/changes.ts';
import type { LinesNow } from '../../../events/facts/line-decisions.ts';
import { decideLinesBack, type LinesUndone } from '../../../events/facts/line-undo.ts';
import { foldLines, type Lines } from '../../../events/facts/lines.ts';
import type { Change } from '../../../events/facts/log.ts';
import { authorize } from '../../access/access.ts';
import { checkFieldsWritable } from '../../access/field-access.ts';
import type { ItemDecision } from '../../documents/bulk/items.ts';
import { authorizePublic, editorsOf, maySee } from '../../documents/drafts/rights.ts';
import { targetOfLines } from '../../documents/drafts/targets.ts';
import { pastValues } from '../../documents/past/restore-plan.ts';
import { linesOf, streamOf } from '../../documents/write/current.ts';
import { beforeAppend, type Write } from '../../documents/write/write-steps.ts';
import { actorOf } from '../../http/requests.ts';

/** How the lines of a document are undone: by an update, by its deletion, or by its restoration. */
export type LinesStep = { kind: 'lines'; operation: 'update' | 'delete' | 'create'; undone: LinesUndone };

/** The step that undoes the change of both lines; null if later changes have left nothing to undo. */
export function linesStepOf(now: Pick<Lines, 'draft'> | null, undone: LinesUndone): LinesStep | null {
  const isThere = now?.draft !== null && now !== null;
  if (undone.before.draft === null) return isThere ? { kind: 'lines', operation: 'delete', undone } : null;
  if (isThere) return { kind: 'lines', operation: 'update', undone };
  return undone.after.draft === null ? { kind: 'lines', operation: 'create', undone } : null;
}

/**
 * Decides how a document with drafts gets back both its states. No hook changes values that were recorded.
 *
 * @throws DomainError `forbidden` if the caller may not see the states of before, or may not make this change;
 *   `validation_failed` naming public values that are not valid today.
 */
export async function decideLines(
  { item, step, id }: { item: ItemDecision['item']; step: LinesStep; id: string },
  isDry: boolean,
): Promise<ItemDecision> {
  const { write } = item;
  const { app, request, target } = write;
  const found = linesOf(write, id);
  // The read tables keep nothing of a document that is gone.
  const now = { ...found, head: found.head || app.events.versionOf(streamOf(target, id)) };
  const actor = actorOf(request);
  const change = decideLinesBack(targetOfLines(target), { id, now, actor, at: app.ids.next().at }, step.undone);
  const after = change ? change.events.reduce(advance, now as Lines) : now;
  const doc = now.draft ?? now.published;
  await requireSeen(write, step.undone);
  await authorize(write, step.operation, { doc: () => doc, data: doc && after.draft, isDraft: true });
  const { rule } = request.app;
  if (after.published !== now.published) await requirePublic(write, { id, now, after });
  const changed = changesBetween(doc, after.draft ?? after.published);
  const body = Object.fromEntries(changed.map(({ field, after: value }) => [field, value]));
  if (step.operation !== 'delete') await checkFieldsWritable(write, step.operation, { body, doc, isPast: true });
  await requireValid(write, { now, after });
  if (change && rule !== undefined) change.rule = rule;
  const hookContext = { app, request, target, operation: step.operation, doc };
  const also = change && !isDry ? await beforeAppend(write, { id, change, version: now.head }) : [];
  const document = target.documentOf(id, after.draft ?? doc ?? {});
  return { item, id, change, also, hookContext, document, version: now.head + eventsIn(change) };

  function advance(lines: Lines, event: Change['events'][number], index: number): Lines {
    return foldLines(lines, { ...event, version: now.head + index + 1, actor });
  }
}

function eventsIn(change: Change | null): number {
  return change?.events.length ?? 0;
}

async function requireSeen(write: Write, { before, source }: LinesUndone): Promise<void> {
  const { published, draft } = before;
  const isSeen =
    (published === null || (await maySee(write, 'public', published, source.position))) &&
    (draft === null || draft === published || (await maySee(write, 'draft', draft, source.position)));
  if (!isSeen) throw new DomainError('forbidden', 'you may not see what the document was');
}

/** A draft may lack what a public document needs, so only values that become public are checked. */
async function requireValid(write: Write, { now, after }: Pick<Becoming, 'now' | 'after'>): Promise<void> {
  if (after.published === null || after.published === now.published) return;
  const changed = changesBetween(now.published, after.published);
  const operation = now.published ? 'update' : 'create';
  const written = changed.filter((one) => operation === 'update' || one.after !== null);
  await pastValues(write, operation, Object.fromEntries(written.map(({ field, after: value }) => [field, value])));
}

type Becoming = { id: string; now: LinesNow; after: Lines };

/** A change of what is public needs the right to publish; the caller is an editor of what becomes public by it. */
function requirePublic(write: Write, { id, now, after }: Becoming): Promise<void> {
  const { app, request, target } = write;
  const shown = (document: JsonObject | null) => document && target.documentOf(id, document);
  const isShown = after.published !== null;
  return authorizePublic(write, {
    document: shown(after.published ?? now.draft) ?? {},
    published: shown(now.published),
    editors: isShown ? editorsOf(app, {}, actorOf(request)) : [],
  });
}
