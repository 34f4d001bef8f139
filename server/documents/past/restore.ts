import type { ResponseObject, ResponseToolkit } from '@hapi/hapi';
import { DomainError, type FieldError, invalidField } from '../../../config/errors.ts';
import type { JsonObject } from '../../../config/schema.ts';
import { hasChangeHooks } from '../../../config/traits.ts';
import { decideNothing } from '../../../events/accounts.ts';
import { changesBetween } from '../../../events/changes.ts';
import { type Current, decideRestore } from '../../../events/documents.ts';
import { type Change, type FirstAnswer, UnknownOutcomeError } from '../../../events/log.ts';
import { isSha256 } from '../../../storage/blobs.ts';
import { authorize } from '../../access/access.ts';
import { hiddenPaths } from '../../access/field-access.ts';
import type { App } from '../../app.ts';
import { readDryRun } from '../../queries/query.ts';
import { atMostOnce, isNamed } from '../concurrency/attempts.ts';
import { sendTagged } from '../concurrency/etags.ts';
import { replayOf } from '../concurrency/replay.ts';
import { after, beforeChange } from '../hooks.ts';
import { danglingIn } from '../relations.ts';
import { rivalsOf, write } from '../writes.ts';
import { planOf, type Restorable, readWanted, type Wanted } from './restore-plan.ts';
import { mayRead } from './versions.ts';

/**
 * Makes a document or global what it was at an earlier version, one that was deleted too; with `dryRun`, tells what that would
 * change.
 *
 * @throws DomainError as writes do; `forbidden` for who may not see what it was; `conflict` where that has been erased, where its
 *   file is gone, and where others have its unique values, naming them.
 */
export async function restore(restorable: Restorable, h: ResponseToolkit, body: unknown): Promise<ResponseObject> {
  const { app, request, target, present } = restorable;
  const wanted = readWanted(body);
  const isDry = readDryRun(request.query);
  if (isDry) return tryOut(restorable, h, wanted);
  const repeated = { target, present, operation: 'update', data: null } as const;
  const replay = (first: FirstAnswer) => replayOf(app, request, h, repeated, first);
  return atMostOnce(app, request, target, { body }, replay, () => restoreOnce(restorable, h, wanted));
}

async function restoreOnce(restorable: Restorable, h: ResponseToolkit, wanted: Wanted): Promise<ResponseObject> {
  const { app, request, target, present, stream, id, answerOf } = restorable;
  let held: string[] = [];

  async function decide() {
    const plan = await planOf(restorable, wanted);
    const { current, end, source, operation } = plan;
    const occasion = { request, operation, doc: current?.document ?? null };
    const isHooked = hasChangeHooks(target.model) && Object.keys(plan.values).length > 0;
    const made = isHooked ? await beforeChange(target, occasion, plan.values) : plan.values;
    const document = { ...plan.document, ...made };
    const { version, position } = source;
    const restored = { ...target, isGlobal: target.model.kind === 'global' };
    const decision = decideRestore(
      restored,
      id,
      { current, end, source: { version, position } },
      document,
      app.ids.next().at,
    );
    if (decision) await refuseRivals(restorable, decision);
    if (decision) await holdFile(app, document, current, held);
    const named = request.app.attempt ? decideNothing(stream, end.version) : null;
    const after = (decision?.events[0]?.data.document ?? current?.document ?? document) as JsonObject;
    const answer = { occasion: decision && occasion, fields: after, version: end.version + (decision ? 1 : 0) };
    return { decision: decision ?? named, answer };
  }

  try {
    const { occasion, fields, version } = await write(app, request, stream, decide);
    const document = answerOf(fields);
    const shown = occasion ? await after(app, target, 'afterChange', occasion, document) : document;
    const answer = await present.document(request, shown);
    return sendTagged(request, h, answer, present.tag(version, answer, { isStored: shown === document }));
  } catch (error) {
    // Nobody knows whether they are needed.
    if (error instanceof UnknownOutcomeError) held = [];
    throw error;
  } finally {
    await Promise.allSettled(held.map((sha256) => app.pins.unpin(sha256)));
  }
}

/** What would be different, without a hook and without a trace. */
async function tryOut(restorable: Restorable, h: ResponseToolkit, wanted: Wanted): Promise<ResponseObject> {
  const { app, request, target, present, id, answerOf } = restorable;
  if (isNamed(request)) {
    throw invalidField('idempotency-key', 'does not go with dryRun, which does nothing');
  }
  const { current, end, source, document } = await planOf(restorable, wanted);
  if (current) await authorize(app, request, target, 'read', { doc: () => current.document, data: null });
  const shown = async (fields: JsonObject): Promise<JsonObject> =>
    JSON.parse(await present.document(request, answerOf(fields)));
  const after = await shown(document);
  const before = current ? await shown(current.document) : {};
  // What points here is not part of the document.
  const joins = new Set(target.joins.map(({ name }) => name));
  const diff = changesBetween(before, after).filter(({ field }) => !joins.has(field));
  const dangling = danglingIn(app, target.model.fields, after).map(({ field, id }) => ({ field, id }));
  const { version, position } = source;
  const restored = { ...target, isGlobal: target.model.kind === 'global' };
  const change = decideRestore(
    restored,
    id,
    { current, end, source: { version, position } },
    document,
    app.clock.believed(),
  );
  const conflicts = change ? await visibleRivals(restorable, change) : [];
  return h.response({ source: { version, position }, diff, dangling, conflicts });
}

/** Holds the bytes that a restored document names: nobody removes them now, and they must be there. */
async function holdFile(app: App, document: JsonObject, current: Current | null, held: string[]): Promise<void> {
  const { sha256, filesize } = document;
  if (typeof sha256 !== 'string' || !isSha256(sha256) || current?.document.sha256 === sha256) return;
  if (!held.includes(sha256)) {
    await app.pins.pin(sha256);
    held.push(sha256);
  }
  if ((await app.blobs.size(sha256)) === filesize) return;
  throw new DomainError('conflict', 'the file of this version is gone from the store, so it cannot be restored');
}

async function refuseRivals(restorable: Restorable, change: Change): Promise<void> {
  const rivals = await visibleRivals(restorable, change);
  if (rivals.length === 0) return;
  const errors: FieldError[] = rivals.map(({ field, id }) => {
    return { field, message: `${field} is taken by ${id === undefined ? 'another document' : `the document ${id}`}` };
  });
  const message = errors.map((error) => error.message).join('; ');
  throw new DomainError('conflict', message, errors, null, { conflicts: rivals });
}

/** Who has the unique values; by their ids only for who may read them, and the values. */
async function visibleRivals(
  { app, request, target }: Restorable,
  change: Change,
): Promise<{ field: string; id?: string }[]> {
  const rivals = await rivalsOf(target, change);
  const isHidden = await hiddenPaths(request, target);
  return Promise.all(
    rivals.map(async ({ field, id }) => {
      const found = isHidden(field) ? null : target.documents.current(id);
      return found && (await mayRead(app, request, target, found.document)) ? { field, id } : { field };
    }),
  );
}
