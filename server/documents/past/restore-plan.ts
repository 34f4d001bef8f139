import type { Validator } from '../../../config/documents.ts';
import {
  cutField,
  DomainError,
  type FieldError,
  inBody,
  invalidBody,
  invalidField,
  invalidFields,
} from '../../../config/errors.ts';
import { InvalidBody } from '../../../config/invalid-body.ts';
import { isObject, type Json, type JsonObject, memberOf } from '../../../config/schema.ts';
import { didYouMean, show } from '../../../config/suggest.ts';
import { changesBetween } from '../../../events/facts/changes.ts';
import type { Current } from '../../../events/facts/documents.ts';
import { authorize } from '../../access/access.ts';
import { refuseMissing } from '../../access/document-access.ts';
import { checkFieldsWritable, hiddenPaths } from '../../access/field-access.ts';
import { auditRightsOf } from '../../access/rights.ts';
import type { Call, Target } from '../../app.ts';
import { noteReason } from '../../http/reason.ts';
import { requireExpected } from '../concurrency/precondition.ts';
import { authorizeAnyPublic, authorizeDraft, authorizeNewDraft, maySee } from '../drafts/rights.ts';
import { currentOf, idIn, type Line, lineOf, linesOf, streamOf } from '../write/current.ts';
import type { ShownCall, Write } from '../write/write-steps.ts';
import { pastLinesOf } from './past-lines.ts';
import { type PastVersion, pastOf } from './versions.ts';

/** A call that restores: with the line that it addresses, where there are drafts. */
type RestoreCall = ShownCall & Partial<Pick<Write, 'lines'>>;

/** The version to restore: by its number, or as of a position of the log. */
export type RestoreTarget = { version: number } | { position: number };

/** The outcome of a restore: `values` are the fields that change, `document` has all fields. */
export type RestorePlan = {
  current: Current | null;
  end: Current;
  source: PastState & { document: JsonObject };
  operation: 'create' | 'update';
  values: JsonObject;
  document: JsonObject;
};

/**
 * Makes every check of a restore except the hooks, and gives its outcome.
 *
 * @param id of the document; by default the id in the path.
 * @throws DomainError in the order of a write; `forbidden` if the caller may not see the earlier state, `conflict` if
 * it has been erased.
 */
export async function planOf(call: RestoreCall, wanted: RestoreTarget, id = idIn(call)): Promise<RestorePlan> {
  const { app, request, target } = call;
  const { model } = target;
  const line = call.lines?.addressed ?? 'public';
  const isDraft = line === 'draft';
  const stream = streamOf(target, id);
  const current = target.lines ? lineIn(call, id) : currentOf(target, id);
  const version = app.events.versionOf(stream);
  const right = (await auditRightsOf(app, request)).toPayloadsOf(stream);
  const isAuditor = right !== 'none';
  const isPublic = model.kind === 'collection' && model.hasPublicHistory;
  // Only auditors may know that a deleted document existed.
  const isUnpublished = !isDraft && !current && target.lines !== null && linesOf(call, id).draft !== null;
  if (version === 0 || (!current && !isAuditor) || isUnpublished) return refuseUnwritten(call, id, current);
  const operation = current ? 'update' : 'create';
  const source = isAuditor || isPublic ? await sourceOf(call, stream, wanted) : null;
  const then = source?.document ?? null;
  const known = then ? fieldsIn(target, then) : {};
  const subject = { doc: () => current?.document ?? null, data: known, isDraft };
  await authorize(call, operation, subject);
  if (isDraft && current) await authorizeDraft(call, current.document);
  if (target.lines && !isDraft) await authorizeAnyPublic(call);
  await requireExpected(call, current, line);
  noteReason(request, model);
  if (!isAuditor && !isPublic)
    throw new DomainError('forbidden', `you may not see what a document of ${target.slug} was`);
  const last = current ? null : await lastOf(call, stream, version);
  // Without a right to all payloads, an earlier state is shown only if the read rule shows the document as it is.
  const isRead = current
    ? maySee(call, line, current.document)
    : last === null || maySee(call, last.line, last.document, last.position);
  if (right !== 'all' && !(await isRead))
    throw new DomainError('forbidden', `you may not read this document of ${target.slug} as it last was`);
  if (!source || !then) throw refusalOf(source, wanted, version);
  if (!(await maySee(call, source.line, then, source.position))) {
    throw new DomainError('forbidden', `you may not see what this document of ${target.slug} was`);
  }
  const before = current?.document ?? null;
  const changed = before ? differing(known, before) : known;
  // A field of a new document without a value is not written.
  const body = before ? changed : only(changed, (_name, value) => value !== null);
  await checkFieldsWritable(call, operation, { body, doc: before, isPast: true });
  const validator = (isDraft ? target.draftValidator : null) ?? target.validator;
  const values = await pastValues(call, operation, changed, validator);
  const end = current ?? { version, document: last?.document ?? {} };
  const base = before ? fieldsIn(target, before) : {};
  const createdAt = before?.createdAt ?? then.createdAt ?? null;
  const made = madeIn(target, changed);
  const document = { createdAt, ...base, ...values, ...made };
  if (isDraft && !current) await authorizeNewDraft(call, target.documentOf(id, document));
  return { current, end, source: { ...source, document: then }, operation, values, document };
}

/** Refuses a caller who asks for a document that was never written, or who may not know that it was. */
async function refuseUnwritten(call: Call, id: string, current: Current | null): Promise<never> {
  const { target } = call;
  if (target.model.kind === 'collection') return refuseMissing(call, 'update', id);
  await authorize(call, 'update', { doc: () => current?.document ?? null, data: null });
  throw new DomainError('conflict', `the global ${target.slug} was never written: it has no versions`);
}

/** The line that a restore addresses. */
function lineIn(call: RestoreCall, id: string): Current | null {
  const { target, lines } = call;
  return lineOf(target, linesOf(call, id), lines?.addressed ?? 'public');
}

/** A past state, and the line of which it is: a state that was public too is of the public line. */
type PastState = PastVersion & { line: Line };

/** A stream at a version or position: where there are drafts, the state that editors had. */
async function stateOf({ app, target }: Call, stream: string, end: RestoreTarget): Promise<PastState | null> {
  if (!target.lines) {
    const past = await pastOf(app, stream, end);
    return past && { ...past, line: 'public' };
  }
  const past = await pastLinesOf(app, stream, end);
  if (!past) return null;
  const { version, position, isErased, draft, published } = past;
  return { version, position, isErased, document: draft, line: draft === published ? 'public' : 'draft' };
}

async function sourceOf(call: Call, stream: string, wanted: RestoreTarget): Promise<PastState | null> {
  const { size } = call.app.events.head();
  if ('position' in wanted && wanted.position > size) {
    throw invalidField(
      inBody('position', 'out_of_range', { limit: size }),
      `must be at most ${size}, where the log ends, got ${wanted.position}`,
    );
  }
  return stateOf(call, stream, wanted);
}

function refusalOf(source: PastVersion | null, wanted: RestoreTarget, end: number): DomainError {
  const field = 'version' in wanted ? 'version' : 'position';
  const given = 'version' in wanted ? wanted.version : wanted.position;
  if (source?.isErased) return new DomainError('erased', `version ${source.version} was erased: nothing is left of it`);
  if (source)
    return invalidField(
      inBody(field, 'out_of_range'),
      `names version ${source.version}, at which the document was deleted: name one before it`,
    );
  if (field === 'version')
    return invalidField(
      inBody(field, 'out_of_range', { limit: end }),
      `must be at most ${end}, the newest version, got ${given}`,
    );
  return invalidField(
    inBody(field, 'out_of_range'),
    `must be one at which there was something: at ${given} there was nothing yet`,
  );
}

/**
 * The last state of a deleted document: everything that is recorded of it from now on is later. Null if the state is no
 * longer known.
 */
async function lastOf(
  call: Call,
  stream: string,
  version: number,
): Promise<{ document: JsonObject; position: number; line: Line } | null> {
  if ((await stateOf(call, stream, { version }))?.document) {
    // Another request is restoring it, and the read tables do not have it yet.
    throw new DomainError('write_conflict', 'others are changing this document; try again');
  }
  for (let last = version - 1; last > 0; last -= 1) {
    const past = await stateOf(call, stream, { version: last });
    if (past?.document) return { document: past.document, position: past.position, line: past.line };
  }
  return null;
}

/** The fields of today that an earlier state has; it has none that were added since. */
export function fieldsIn({ model }: Target, document: JsonObject): JsonObject {
  const names = model.fields.filter(({ type }) => type !== 'join').map(({ name }) => name);
  return Object.fromEntries(
    names.flatMap((name) => {
      const value = memberOf(document, name);
      return value === undefined ? [] : [[name, value] as const];
    }),
  );
}

function differing(values: JsonObject, document: JsonObject): JsonObject {
  const names = new Set(changesBetween(document, { ...document, ...values }).map(({ field }) => field));
  return only(values, (name) => names.has(name));
}

/**
 * The fields as a body would have them. No refusal tells the value of a field that the caller may not read.
 *
 * @throws DomainError `validation_failed` naming the values that do not fit the fields of today.
 */
export async function pastValues(
  call: Call,
  operation: 'create' | 'update',
  changed: JsonObject,
  validator: Validator = call.target.validator,
): Promise<JsonObject> {
  try {
    return operation === 'create' ? validator.create(changed) : validator.update(changed);
  } catch (error) {
    if (!(error instanceof InvalidBody)) throw error;
    const isHidden = await hiddenPaths(call);
    if (!error.errors.some(({ field }) => isHidden(field))) throw error;
    const errors = error.errors.map((one): FieldError => {
      const { field } = one;
      if (!isHidden(field)) return one;
      return { ...inBody(field, 'invalid'), message: `${field} was something that it may not be now` };
    });
    throw invalidFields(errors);
  }
}

/** The values that the server sets for a file. */
function madeIn({ model }: Target, values: JsonObject): JsonObject {
  const made = new Set(model.fields.filter(({ isServerMade }) => isServerMade).map(({ name }) => name));
  return only(values, (name) => made.has(name));
}

function only(values: JsonObject, keep: (name: string, value: Json) => boolean): JsonObject {
  return Object.fromEntries(Object.entries(values).filter(([name, value]) => keep(name, value)));
}

const names = ['version', 'position'] as const;

/** Reads the body of a restore. @throws DomainError `validation_failed` naming what is wrong with it. */
export function readWanted(body: unknown): RestoreTarget {
  if (!isObject(body)) throw invalidBody('type', 'the body must be a JSON object');
  const given = Object.keys(body);
  const unknown = given.find((name) => !names.some((one) => one === name));
  if (unknown !== undefined)
    throw invalidField(inBody(cutField(unknown), 'unknown_field'), `is not a field${didYouMean(unknown, names)}`);
  const [name, other] = names.filter((one) => given.includes(one));
  if (name === undefined || other !== undefined) {
    const message = 'version or position, exactly one of them, must say what to restore';
    throw invalidFields([{ ...inBody('version', name === undefined ? 'required' : 'contradiction'), message }]);
  }
  const value = body[name];
  if (typeof value !== 'number' || !Number.isSafeInteger(value) || value < 1) {
    const isLess = typeof value === 'number' && value < 1;
    throw invalidField(
      isLess ? inBody(name, 'min', { limit: 1 }) : inBody(name, 'type'),
      `must be a whole number from 1, got ${show(value)}`,
    );
  }
  return name === 'version' ? { version: value } : { position: value };
}
