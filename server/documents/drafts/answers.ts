import type { ResponseObject } from '@hapi/hapi';
import type { JsonObject } from '../../../config/schema.ts';
import type { LinesNow } from '../../../events/facts/line-decisions.ts';
import { afterPublish, type HookContext, runAfterHooks } from '../hooks.ts';
import { sendTagged, sendText } from '../read/sending.ts';
import { lineOf } from '../write/current.ts';
import type { Write } from '../write/write-steps.ts';
import { writtenText } from '../write/written.ts';
import type { LineDecision, LineSubject } from './line-steps.ts';
import { maySee } from './rights.ts';

/** A document after a write. */
export type Answer = {
  id: string;
  after: LinesNow;
  /** Null if nothing has changed. */
  hookContext: HookContext | null;
  /** Whether values were written; false if only what is public has changed. */
  isSaved?: boolean;
  /** Whether the public state has changed, and what it was before. */
  isPublished?: boolean;
  published?: JsonObject | null;
};

/** Answers with a line as its hooks leave it, as far as the caller may see it now. */
export async function answerLine(write: Write, answer: Answer): Promise<ResponseObject> {
  const { target, present, h, lines } = write;
  const { id, after } = answer;
  const line = lines?.answered ?? 'public';
  const { document: fields, version } = lineOf(target, after, line) ?? { document: {}, version: after.head };
  const document = target.documentOf(id, fields);
  const shown = await runLineHooks(document, answer);
  const isReadable = await maySee(write, line, document);
  const text = await writtenText(write, shown, isReadable);
  return sendTagged(
    h,
    text,
    present.tag(version, text, { isStored: isReadable && shown === document, isDraft: line === 'draft' }),
  );
}

/** Runs the hooks that follow a write; gives the document to answer. */
async function runLineHooks(
  document: JsonObject,
  { hookContext, isSaved = true, isPublished = false, published = null }: Omit<Answer, 'id' | 'after'>,
): Promise<JsonObject> {
  const changed = hookContext && isSaved ? await runAfterHooks(hookContext, 'afterChange', document) : document;
  return hookContext && isPublished ? afterPublish(hookContext, { document: changed, published }) : changed;
}

/** Runs the hooks that follow a decision once it is recorded, where no document is answered. */
export async function followLine({ write, id }: LineSubject, decision: LineDecision): Promise<void> {
  const { target, lines, operation } = write;
  const { after, hookContext, isEdit: isSaved } = decision;
  if (operation === 'delete') await runAfterHooks(hookContext, 'afterDelete', hookContext.doc ?? {});
  const current = lineOf(target, after, lines?.answered ?? 'public');
  if (current) await runLineHooks(target.documentOf(id, current.document), { ...decision, isSaved });
}

/** Answers with a document as it was before its end. */
export async function answerDeleted(
  write: Write,
  { hookContext, isReadable }: { hookContext: HookContext & { doc: JsonObject }; isReadable: boolean },
): Promise<ResponseObject> {
  const text = await writtenText(write, hookContext.doc, isReadable);
  await runAfterHooks(hookContext, 'afterDelete', hookContext.doc);
  return sendText(write.h, text);
}
