import type { ResponseObject } from '@hapi/hapi';
import type { JsonObject } from '../../../config/schema.ts';
import { type Current, decideCreate, decideDelete } from '../../../events/facts/documents.ts';
import { authorize, mayRead } from '../../access/access.ts';
import { refuseMissing } from '../../access/document-access.ts';
import type { Call } from '../../app.ts';
import { locationOf } from '../../http/location.ts';
import { noteReason } from '../../http/reason.ts';
import { rejectQuery } from '../../queries/parameters.ts';
import { beforeDelete, type HookContext, runAfterHooks } from '../hooks.ts';
import { sendTagged, sendText } from '../read/sending.ts';
import { checkedValues } from './checked-values.ts';
import { currentOf, idIn, streamOf } from './current.ts';
import { admitted, beforeAppend, recorded, type Write } from './write-steps.ts';
import { write as append } from './writes.ts';
import { decideValues, writtenText } from './written.ts';

/** Creates a document (contract, section 4.1). */
export async function create(write: Write): Promise<ResponseObject> {
  const { app, request, target, body, data, upload } = write;
  await authorize(write, 'create', { doc: () => null, data });
  rejectQuery(request.query);
  noteReason(request, target.model);
  await admitted(write, null);
  const hookContext = { app, request, target, operation: 'create', doc: null } as const;
  const values = await checkedValues(hookContext, body, upload?.values);
  const { id, at } = app.ids.next();
  const change = decideCreate(target, id, { at, values });
  await append(write, change.stream, async () => {
    return { decision: change, also: await beforeAppend(write, { id, change, version: 0 }), answer: null };
  });
  await recorded(write);
  const document = target.documentOf(id, change.events[0]?.data ?? {});
  const answer = await answerChange(write, { hookContext, document, version: 1 });
  return answer.location(placeOf(write, id));
}

/** The address of a document that was created. */
export function placeOf({ app, target }: Call, id: string): string {
  return locationOf(app, `/api/collections/${target.slug}/${id}`);
}

/** Changes fields of a document or global (contract, sections 4.1 and 4.3). */
export async function update(write: Write): Promise<ResponseObject> {
  const { app, request, target, body, upload } = write;
  const id = idIn(write);
  const changed = await append(write, streamOf(target, id), async () => {
    const current = await find(write, id);
    const hookContext = { app, request, target, operation: 'update', doc: current.document } as const;
    const values = await checkedValues(hookContext, body, upload?.values);
    const change = await decideValues(write, id, { current, values });
    const also = await beforeAppend(write, { id, change, version: current.version });
    const set = change?.events[0]?.data.set as JsonObject | undefined;
    const document = target.documentOf(id, { ...current.document, ...set });
    const version = current.version + (change ? 1 : 0);
    return { decision: change, also, answer: { hookContext: change && hookContext, document, version } };
  });
  await recorded(write);
  return answerChange(write, changed);
}

/** Deletes a document (contract, section 4.1). */
export async function remove(write: Write): Promise<ResponseObject> {
  const { app, request, target, h } = write;
  const id = idIn(write);
  const { hookContext, isReadable } = await append(write, streamOf(target, id), async () => {
    const current = await find(write, id);
    const hookContext = { app, request, target, operation: 'delete', doc: current.document } as const;
    const isReadable = await mayRead(write, current.document);
    await beforeDelete(hookContext, current.document);
    const change = decideDelete(target, id, current);
    const also = await beforeAppend(write, { id, change, version: current.version });
    return { decision: change, also, answer: { hookContext, isReadable } };
  });
  await recorded(write);
  const answer = await writtenText(write, hookContext.doc, isReadable);
  await runAfterHooks(hookContext, 'afterDelete', hookContext.doc);
  return sendText(h, answer);
}

/** The document that is to change; the caller is admitted to this version of it. */
async function find(write: Write, id: string): Promise<Current> {
  const { request, target, operation, data } = write;
  const current = currentOf(target, id);
  if (!current) return refuseMissing(write, operation, id);
  await authorize(write, operation, { doc: () => current.document, data });
  await admitted(write, current);
  rejectQuery(request.query);
  noteReason(request, target.model);
  return current;
}

/** A document after a write; `hookContext` is null if nothing has changed. */
export type WriteResult = { hookContext: HookContext | null; document: JsonObject; version: number };

/** Answers with the document as its hooks leave it, as far as the caller may read it now. */
export async function answerChange(
  write: Write,
  { hookContext, document, version }: WriteResult,
): Promise<ResponseObject> {
  const { present, h } = write;
  const shown = hookContext ? await runAfterHooks(hookContext, 'afterChange', document) : document;
  const isReadable = await mayRead(write, document);
  const answer = await writtenText(write, shown, isReadable);
  return sendTagged(h, answer, present.tag(version, answer, { isStored: isReadable && shown === document }));
}
