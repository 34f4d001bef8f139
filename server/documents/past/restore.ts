import type { ResponseObject, ResponseToolkit, ServerRoute } from '@hapi/hapi';
import { DomainError, type FieldError, inBody } from '../../../config/errors.ts';
import type { JsonObject } from '../../../config/schema.ts';
import { hasChangeHooks } from '../../../config/traits.ts';
import { changesBetween } from '../../../events/facts/changes.ts';
import { type Current, decideRestore } from '../../../events/facts/documents.ts';
import { type Change, UnknownOutcomeError } from '../../../events/facts/log.ts';
import { isSha256 } from '../../../storage/blobs.ts';
import { authorize, mayRead, requireCredential } from '../../access/access.ts';
import { hiddenPaths, readableWith } from '../../access/field-access.ts';
import type { Call } from '../../app.ts';
import { strategy } from '../../callers/authentication.ts';
import { jsonPayload, readBody } from '../../http/body.ts';
import type { ApiOperation } from '../../openapi/operation.ts';
import { refuseDryRunIn } from '../../queries/dry-run.ts';
import { readQuery } from '../../queries/parameters.ts';
import { draftParameter, dryRunParameter } from '../../queries/query.ts';
import { idempotency } from '../concurrency/idempotency.ts';
import { refuseKeyOfDryRun } from '../concurrency/idempotency-key.ts';
import { type Answer, answerLine } from '../drafts/answers.ts';
import {
  admitPublicRestore,
  lineRestore,
  linesToRestore,
  publishedByRestore,
  restoredLine,
} from '../drafts/restoring.ts';
import { authorizeDraft } from '../drafts/rights.ts';
import { isDraftWrite } from '../drafts/targets.ts';
import { beforeChange } from '../hooks.ts';
import { idIn, streamOf } from '../write/current.ts';
import { answerChange, type WriteResult } from '../write/document-writes.ts';
import { danglingIn } from '../write/relations.ts';
import { rivalsOf } from '../write/unique.ts';
import { beforeAppend, perform, type Writable, type Write, writeOf } from '../write/write-steps.ts';
import { write as append } from '../write/writes.ts';
import { readsAll } from '../write/written.ts';
import { planOf, type RestorePlan, type RestoreTarget, readWanted } from './restore-plan.ts';

/** The route by which a document or global is restored. */
export function restoreRoute(path: string, writable: Writable, openApi: () => ApiOperation): ServerRoute {
  return {
    method: 'POST',
    path,
    options: { auth: strategy, payload: jsonPayload, plugins: { openApi, takes: ['if-match', 'idempotency-key'] } },
    handler: (_request, h) => restore(writable, h),
  };
}

/**
 * Makes a document or global what it was at an earlier version, also a deleted document; with `dryRun`, only tells what
 * that would change.
 *
 * @throws DomainError as writes do; `forbidden` for a caller who may not see the earlier state; `conflict` if that
 * has been erased, if its file is gone, and if others have its unique values, naming them.
 */
async function restore(writable: Writable, h: ResponseToolkit): Promise<ResponseObject> {
  const { app, target } = writable;
  const { request } = h;
  requireCredential({ request, target }, 'update');
  const body = await readBody(request, app.model.limits.body);
  refuseDryRunIn(body);
  const wanted = readWanted(body);
  const parameters = target.lines ? { ...dryRunParameter, ...draftParameter } : dryRunParameter;
  const { dryRun: isDry } = readQuery(parameters, request.query, app);
  const steps = [idempotency];
  const write = writeOf({ ...writable, steps }, h, { operation: 'update', body, upload: null, data: null });
  return isDry ? tryOut(write, wanted) : perform(write, () => restoreTo(write, wanted));
}

async function restoreTo(write: Write, wanted: RestoreTarget): Promise<ResponseObject> {
  const { app, request, target } = write;
  const id = idIn(write);
  const held = new Set<string>();

  async function decide() {
    const plan = await planOf(write, wanted);
    await admitPublicRestore(write, plan);
    const { current, end, operation } = plan;
    const hookContext = { app, request, target, operation, doc: current?.document ?? null };
    const isHooked = hasChangeHooks(target.model) && Object.keys(plan.values).length > 0;
    const validator = isDraftWrite(write) ? (target.draftValidator ?? undefined) : undefined;
    const made = isHooked ? await beforeChange(hookContext, plan.values, validator) : plan.values;
    const changed = { ...plan.document, ...made };
    const published = await publishedByRestore(write, hookContext, { document: changed, values: plan.values });
    const restored = { ...changed, ...published };
    const change = await changeSeenBy(write, { ...plan, document: restored });
    if (change) await refuseRivals(write, change);
    if (change) await holdFile(write, { document: restored, current, held });
    const version = target.lines ? linesToRestore(write, id).head : end.version;
    const also = await beforeAppend(write, { id, change, version });
    if (target.lines) return { decision: change, also, answer: restoredLine(write, change, hookContext) };
    const fields = (change?.events[0]?.data.document ?? current?.document ?? restored) as JsonObject;
    const answer = {
      hookContext: change && hookContext,
      document: target.documentOf(id, fields),
      version: end.version + (change ? 1 : 0),
    };
    return { decision: change, also, answer };
  }

  try {
    const answer = await append<Answer | WriteResult>(write, streamOf(target, id), decide);
    return 'after' in answer ? await answerLine(write, answer) : await answerChange(write, answer);
  } catch (error) {
    // The restore may be recorded, so its files may be needed.
    if (error instanceof UnknownOutcomeError) held.clear();
    throw error;
  } finally {
    await Promise.allSettled([...held].map((sha256) => app.pins.unpin(sha256)));
  }
}

/**
 * The change of a restore. An answer that nothing changes would tell the document to a caller who may not read it, so
 * for this caller the change is recorded all the same.
 */
async function changeSeenBy(call: Write, plan: RestorePlan): Promise<Change | null> {
  const { at } = call.app.ids.next();
  const change = changeOf(call, plan, { at });
  const line = call.lines?.addressed;
  if (change || !plan.current || (await readsAll(call, plan.current.document, plan.document, line))) return change;
  return changeOf(call, plan, { at, isSame: true });
}

function changeOf(
  call: Write,
  plan: RestorePlan,
  { at, isSame = false }: { at: number; isSame?: boolean },
): Change | null {
  const { target } = call;
  if (target.lines) return lineRestore(call, plan, { at, isSame });
  const { current, end, source, document } = plan;
  const { version, position } = source;
  const restored = { ...target, isGlobal: target.model.kind === 'global' };
  const restoring = { source: { version, position }, current, end, document, at, isSame };
  return decideRestore(restored, idIn(call), restoring);
}

/** Tells what a restore would change; no hook runs, and nothing is recorded. */
async function tryOut(write: Write, wanted: RestoreTarget): Promise<ResponseObject> {
  const { app, request, target, present, h } = write;
  refuseKeyOfDryRun(request);
  const id = idIn(write);
  const plan = await planOf(write, wanted);
  const { current, end, source, document } = plan;
  await admitPublicRestore(write, plan);
  if (current) await authorizeSight(write, current.document);
  const shown = async (fields: JsonObject): Promise<JsonObject> =>
    JSON.parse(await present.document(request, target.documentOf(id, fields)));
  // The rules of fields are asked about the document as it is: another state may open a field only once it is there.
  const after = await readableWith(write, await shown(document), [(current ?? end).document]);
  const before = current ? await shown(current.document) : {};
  // Joins are not part of the document.
  const joins = new Set(target.joins.map(({ name }) => name));
  const diff = changesBetween(before, after).filter(({ field }) => !joins.has(field));
  const dangling = danglingIn(app, target.model.fields, after).map(({ field, id }) => ({ field, id }));
  const change = changeOf(write, plan, { at: app.clock.believed() });
  const conflicts = change ? await visibleRivals(write, change) : [];
  return h.response({ source: { version: source.version, position: source.position }, diff, dangling, conflicts });
}

/** Refuses a caller who may not read the state that a restore replaces. */
function authorizeSight(write: Write, document: JsonObject): Promise<void> {
  if (isDraftWrite(write)) return authorizeDraft(write, document);
  return authorize(write, 'read', { doc: () => document, data: null });
}

/** A document to be restored, and the bytes that are held for it. */
type Holding = { document: JsonObject; current: Current | null; held: Set<string> };

/** Pins the bytes that a restored document names: they must exist, and are not removed meanwhile. */
async function holdFile({ app }: Call, { document, current, held }: Holding): Promise<void> {
  const { sha256, filesize } = document;
  if (typeof sha256 !== 'string' || !isSha256(sha256) || current?.document.sha256 === sha256) return;
  if (!held.has(sha256)) {
    await app.pins.pin(sha256);
    held.add(sha256);
  }
  if ((await app.blobs.size(sha256)) === filesize) return;
  throw new DomainError('conflict', 'the file of this version is gone from the store, so it cannot be restored');
}

async function refuseRivals(call: Call, change: Change): Promise<void> {
  const rivals = await visibleRivals(call, change);
  if (rivals.length === 0) return;
  const errors: FieldError[] = rivals.map(({ field, id }) => {
    const by = id === undefined ? 'another document' : `the document ${id}`;
    return { ...inBody(field, 'unique'), message: `${field} is taken by ${by}` };
  });
  const message = errors.map((error) => error.message).join('; ');
  throw new DomainError('unique', message, errors, null, { conflicts: rivals });
}

/** The documents that have the unique values; with ids only if the caller may read the document and the value. */
async function visibleRivals(call: Call, change: Change): Promise<{ field: string; id?: string }[]> {
  const { target } = call;
  const rivals = await rivalsOf(target, change);
  const isHidden = await hiddenPaths(call);
  return Promise.all(
    rivals.map(async ({ field, id }) => {
      const found = isHidden(field) ? null : target.documents.current(id);
      return found && (await mayRead(call, found.document)) ? { field, id } : { field };
    }),
  );
}
