import type { Request, ResponseObject, ResponseToolkit } from '@hapi/hapi';
import { DomainError, type FieldError } from '../config/errors.ts';
import { type JsonObject, memberOf } from '../config/schema.ts';
import { didYouMean, show } from '../config/suggest.ts';
import type { FileValues } from '../config/uploads.ts';
import { decideNothing } from '../events/accounts.ts';
import { type Current, decideRestore } from '../events/documents.ts';
import type { Change, FirstAnswer } from '../events/log.ts';
import { isSha256 } from '../storage/blobs.ts';
import { authorize, readsPast } from './access.ts';
import type { Presenter } from './answers.ts';
import type { App, Target } from './app.ts';
import { auditRightsOf } from './audit/rights.ts';
import { atMostOnce, isNamed } from './concurrency/attempts.ts';
import { sendTagged } from './concurrency/etags.ts';
import { mayRead, type Past, pastOf } from './concurrency/past.ts';
import { differencesOf, requireExpected } from './concurrency/precondition.ts';
import { replayOf } from './concurrency/replay.ts';
import { checkFieldsWritable } from './field-access.ts';
import { after, beforeChange, hasChangeHooks } from './hooks.ts';
import { readDryRun } from './query.ts';
import { noteReason } from './reason.ts';
import { danglingIn } from './relations.ts';
import { rivalsOf, write } from './writes.ts';

/** A document or global that may be restored, as the routes of its kind know it. */
export type Restorable = {
  app: App;
  request: Request;
  target: Target;
  present: Presenter;
  stream: string;
  /** The id of a document; the slug of a global. */
  id: string;
  current: () => Current | null;
  answerOf: (fields: JsonObject) => JsonObject;
  /** Refuses a caller who asks for a document that there is not, or may not know that there was one. */
  refuseMissing: () => Promise<never>;
};

/** Which version is wanted: by its number, or as the log stood at a position. */
type Wanted = { version: number } | { position: number };

/** What a restore comes to: `values` are the fields that it changes, `document` all of them. */
type Plan = {
  current: Current | null;
  end: Current;
  source: Past & { document: JsonObject };
  operation: 'create' | 'update';
  values: JsonObject;
  document: JsonObject;
};

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
  const pinned: string[] = [];

  async function attempt() {
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
    if (decision) await holdFile(app, document, current, pinned);
    const named = request.app.attempt ? decideNothing(stream, end.version) : null;
    const after = (decision?.events[0]?.data.document ?? current?.document ?? document) as JsonObject;
    const answer = { occasion: decision && occasion, fields: after, version: end.version + (decision ? 1 : 0) };
    return { decision: decision ?? named, answer };
  }

  try {
    const { occasion, fields, version } = await write(app, request, stream, attempt);
    const document = answerOf(fields);
    const shown = occasion ? await after(app, target, 'afterChange', occasion, document) : document;
    const answer = await present.document(request, shown);
    return sendTagged(request, h, answer, present.tag(version, answer, { isStored: shown === document }));
  } finally {
    await Promise.allSettled(pinned.map((sha256) => app.pins.unpin(sha256)));
  }
}

/** What would be different, without a hook and without a trace. */
async function tryOut(restorable: Restorable, h: ResponseToolkit, wanted: Wanted): Promise<ResponseObject> {
  const { app, request, target, present, id, answerOf } = restorable;
  if (isNamed(request)) {
    const message = 'idempotency-key does not go with dryRun, which does nothing';
    throw new DomainError('invalid', message, [{ field: 'idempotency-key', message }]);
  }
  const { current, end, source, document } = await planOf(restorable, wanted);
  if (current) await authorize(app, request, target, 'read', { doc: () => current.document, data: null });
  const shown = async (fields: JsonObject) =>
    JSON.parse(await present.document(request, answerOf(fields))) as JsonObject;
  const after = await shown(document);
  const before = current ? await shown(current.document) : {};
  const diff = differencesOf(before, after).map(({ field, before, current }) => ({ field, before, after: current }));
  const dangling = danglingIn(app, target.model.fields, after).map(({ field, id }) => ({ field, id }));
  const { version, position } = source;
  const restored = { ...target, isGlobal: target.model.kind === 'global' };
  const change = decideRestore(restored, id, { current, end, source: { version, position } }, document, Date.now());
  const conflicts = change ? await visibleRivals(restorable, change) : [];
  return h.response({ source: { version, position }, diff, dangling, conflicts });
}

/** Asks everything that stands between the caller and the restore, but for the hooks. */
async function planOf(restorable: Restorable, wanted: Wanted): Promise<Plan> {
  const { app, request, target, stream } = restorable;
  const { model } = target;
  const current = restorable.current();
  const version = app.events.versionOf(stream);
  const isAuditor = (await auditRightsOf(app, request)).seesPayloadsOf(stream);
  const isPublic = model.kind === 'collection' && model.hasPublicHistory;
  // That there was something once is for auditors to know.
  if (version === 0 || (!current && !isAuditor)) return restorable.refuseMissing();
  const operation = current ? 'update' : 'create';
  const source = isAuditor || isPublic ? sourceOf(app, stream, wanted) : null;
  const then = source?.document ?? null;
  const known = then ? fieldsIn(target, then) : {};
  const subject = { doc: () => current?.document ?? null, data: known };
  await authorize(app, request, target, operation, subject);
  await requireExpected({ ...restorable }, current);
  noteReason(request, model);
  if (!isAuditor && !isPublic)
    throw new DomainError('forbidden', `you may not see what a document of ${target.slug} was`);
  if (!source || !then) throw refusalOf(source, wanted, version);
  if (!(await readsPast(app, request, target, { document: then, position: source.position }))) {
    throw new DomainError('forbidden', `you may not see what this document of ${target.slug} was`);
  }
  const before = current?.document ?? null;
  const changed = before ? differing(known, before) : known;
  // What a field of a new document holds nothing of is written by nobody.
  await checkFieldsWritable(request, target, operation, before ? changed : withValue(changed), before);
  const values = valuesOf(target, changed, operation);
  const end = current ?? { version, document: endOf(app, stream, version) };
  const base = before ? fieldsIn(target, before) : {};
  const createdAt = before?.createdAt ?? then.createdAt ?? null;
  const made = madeIn(target, changed);
  const document = { createdAt, ...base, ...values, ...made };
  return { current, end, source: { ...source, document: then }, operation, values, document };
}

function sourceOf(app: App, stream: string, wanted: Wanted): Past | null {
  const { size } = app.events.head();
  if ('position' in wanted && wanted.position > size) {
    throw invalid('position', `must be at most ${size}, where the log ends, got ${wanted.position}`);
  }
  return pastOf(app, stream, wanted);
}

function refusalOf(source: Past | null, wanted: Wanted, end: number): DomainError {
  const field = 'version' in wanted ? 'version' : 'position';
  const given = 'version' in wanted ? wanted.version : wanted.position;
  if (source?.isErased)
    return new DomainError('conflict', `version ${source.version} was erased: nothing is left of it`);
  if (source)
    return invalid(field, `names version ${source.version}, at which the document was deleted: name one before it`);
  if (field === 'version') return invalid(field, `must be at most ${end}, the newest version, got ${given}`);
  return invalid(field, `must be one at which there was something: at ${given} there was nothing yet`);
}

/** What a document that is gone was last: whatever is said of it from now on is later. */
function endOf(app: App, stream: string, version: number): JsonObject {
  if (pastOf(app, stream, { version })?.document) {
    // It is being restored at this moment, and the read tables do not have it yet.
    throw new DomainError('conflict', 'others are changing this document; try again');
  }
  for (let last = version - 1; last > 0; last -= 1) {
    const document = pastOf(app, stream, { version: last })?.document;
    if (document) return document;
  }
  return {};
}

/** The fields of today that a document holds: one that did not exist yet it says nothing about. */
function fieldsIn({ model }: Target, document: JsonObject): JsonObject {
  const names = model.fields.filter(({ type }) => type !== 'join').map(({ name }) => name);
  return Object.fromEntries(
    names.flatMap((name) => {
      const value = memberOf(document, name);
      return value === undefined ? [] : [[name, value] as const];
    }),
  );
}

function differing(values: JsonObject, document: JsonObject): JsonObject {
  const names = new Set(differencesOf(document, { ...document, ...values }).map(({ field }) => field));
  return Object.fromEntries(Object.entries(values).filter(([name]) => names.has(name)));
}

/** @throws DomainError `invalid` with what does not fit the fields of today. */
function valuesOf({ validator }: Target, changed: JsonObject, operation: 'create' | 'update'): JsonObject {
  return operation === 'create' ? validator.create(changed) : validator.update(changed);
}

function withValue(values: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== null));
}

/** What the server says of a file. */
function madeIn({ model }: Target, values: JsonObject): JsonObject {
  const made = new Set(model.fields.filter(({ isServerMade }) => isServerMade).map(({ name }) => name));
  return Object.fromEntries(Object.entries(values).filter(([name]) => made.has(name)));
}

/** Holds the bytes that a restored document names: nobody removes them now, and they must be there. */
async function holdFile(app: App, document: JsonObject, current: Current | null, pinned: string[]): Promise<void> {
  const { sha256, filesize } = document as JsonObject & FileValues;
  if (typeof sha256 !== 'string' || !isSha256(sha256) || current?.document.sha256 === sha256) return;
  if (!pinned.includes(sha256)) {
    await app.pins.pin(sha256);
    pinned.push(sha256);
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
  throw new DomainError('conflict', message, errors, null, { conflicts: rivals as JsonObject[] });
}

/** Who has the unique values; by their ids only for who may read them. */
async function visibleRivals(
  { app, request, target }: Restorable,
  change: Change,
): Promise<{ field: string; id?: string }[]> {
  const rivals = await rivalsOf(target, change);
  return Promise.all(
    rivals.map(async ({ field, id }) => {
      const found = target.documents.current(id);
      return found && (await mayRead(app, request, target, found.document)) ? { field, id } : { field };
    }),
  );
}

const names = ['version', 'position'] as const;

function readWanted(body: unknown): Wanted {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) {
    throw new DomainError('invalid', 'The body must be a JSON object');
  }
  const given = Object.keys(body);
  const unknown = given.find((name) => !names.includes(name as 'version'));
  if (unknown !== undefined) throw invalid(unknown, `is not a field${didYouMean(unknown, names)}`);
  const [name, other] = given as ('version' | 'position')[];
  if (name === undefined || other !== undefined) {
    const message = 'version or position, exactly one of them, must say what to restore';
    throw new DomainError('invalid', message, [{ field: 'version', message }]);
  }
  const value: unknown = Reflect.get(body, name);
  if (!Number.isSafeInteger(value) || (value as number) < 1) {
    throw invalid(name, `must be a whole number from 1, got ${show(value)}`);
  }
  return name === 'version' ? { version: value as number } : { position: value as number };
}

function invalid(field: string, problem: string): DomainError {
  const shown = field.length > 100 ? `${field.slice(0, 100)}…` : field;
  const message = `${shown} ${problem}`;
  return new DomainError('invalid', message, [{ field: shown, message }]);
}
