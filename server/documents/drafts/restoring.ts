import type { JsonObject } from '../../../config/schema.ts';
import { decideLineRestore, type LinesNow } from '../../../events/facts/line-decisions.ts';
import type { Change } from '../../../events/facts/log.ts';
import type { Call } from '../../app.ts';
import { actorOf } from '../../http/requests.ts';
import { beforePublish, type HookContext } from '../hooks.ts';
import type { RestorePlan } from '../past/restore-plan.ts';
import { idIn, linesOf, streamOf } from '../write/current.ts';
import type { Write } from '../write/write-steps.ts';
import { readsAll } from '../write/written.ts';
import type { Answer } from './answers.ts';
import { linesAfter } from './outcome.ts';
import { publicOf } from './publication.ts';
import { authorizePublic, editorsOf } from './rights.ts';
import { isDraftWrite, targetOfLines } from './targets.ts';

/** The lines of a document that is restored; it may be deleted. */
export function linesToRestore(call: Call, id: string): LinesNow {
  const now = linesOf(call, id);
  return now.head > 0 ? now : { ...now, head: call.app.events.versionOf(streamOf(call.target, id)) };
}

/** The change of a restore: of both lines, or of the draft. Null if it changes nothing. */
export function lineRestore(
  write: Write,
  { source, document, end }: RestorePlan,
  { at, isSame }: { at: number; isSame: boolean },
): Change | null {
  const { request, target } = write;
  const id = idIn(write);
  const last = typeof end.document.updatedAt === 'string' ? Date.parse(end.document.updatedAt) + 1 : 0;
  const subject = { id, now: linesToRestore(write, id), actor: actorOf(request), at: Math.max(at, last) };
  const { version, position } = source;
  return decideLineRestore(targetOfLines(target), subject, {
    source: { version, position },
    document,
    isDraft: isDraftWrite(write),
    isSame,
  });
}

/** Admits a restore that changes what is public. @throws DomainError `unauthorized` or `forbidden`. */
export async function admitPublicRestore(write: Write, { current, values, document }: RestorePlan): Promise<void> {
  const { app, request, target } = write;
  if (!target.lines || isDraftWrite(write)) return;
  const id = idIn(write);
  const isEdit = Object.keys(values).length > 0 || !current || !(await readsAll(write, current.document, document));
  const editors = editorsOf(app, {}, isEdit ? actorOf(request) : null);
  const published = publicOf(target, { id, now: linesOf(write, id) });
  await authorizePublic(write, { document: target.documentOf(id, document), published, editors });
}

/** The fields that hooks change in a document that a restore makes public. */
export async function publishedByRestore(
  write: Write,
  hookContext: HookContext,
  { document, values }: { document: JsonObject; values: JsonObject },
): Promise<JsonObject> {
  const { target } = write;
  if (!target.lines || isDraftWrite(write) || Object.keys(values).length === 0) return {};
  const id = idIn(write);
  const published = publicOf(target, { id, now: linesOf(write, id) });
  return beforePublish(hookContext, { document: target.documentOf(id, document), published });
}

/** The answer to a restore of lines. */
export function restoredLine(write: Write, change: Change | null, hookContext: HookContext): Answer {
  const { request, target } = write;
  const id = idIn(write);
  const now = linesToRestore(write, id);
  const after = linesAfter(now, change, actorOf(request));
  const isPublished = after.published !== now.published;
  return { id, after, hookContext: change && hookContext, isPublished, published: publicOf(target, { id, now }) };
}
