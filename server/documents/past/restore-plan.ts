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
import { authorize, mayRead } from '../../access/access.ts';
import { refuseMissing } from '../../access/document-access.ts';
import { checkFieldsWritable, hiddenPaths } from '../../access/field-access.ts';
import { auditRightsOf } from '../../access/rights.ts';
import type { App, Call, Target } from '../../app.ts';
import { noteReason } from '../../http/reason.ts';
import { requireExpected } from '../concurrency/precondition.ts';
import { currentOf, idIn, streamOf } from '../write/current.ts';
import type { ShownCall } from '../write/write-steps.ts';
import { type PastVersion, pastOf } from './versions.ts';

/** The version to restore: by its number, or as of a position of the log. */
export type RestoreTarget = { version: number } | { position: number };

/** The outcome of a restore: `values` are the fields that change, `document` has all fields. */
export type RestorePlan = {
  current: Current | null;
  end: Current;
  source: PastVersion & { document: JsonObject };
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
export async function planOf(call: ShownCall, wanted: RestoreTarget, id = idIn(call)): Promise<RestorePlan> {
  const { app, request, target } = call;
  const { model } = target;
  const stream = streamOf(target, id);
  const current = currentOf(target, id);
  const version = app.events.versionOf(stream);
  const right = (await auditRightsOf(app, request)).toPayloadsOf(stream);
  const isAuditor = right !== 'none';
  const isPublic = model.kind === 'collection' && model.hasPublicHistory;
  // Only auditors may know that a deleted document existed.
  if (version === 0 || (!current && !isAuditor)) return refuseUnwritten(call, id, current);
  const operation = current ? 'update' : 'create';
  const source = isAuditor || isPublic ? await sourceOf(app, stream, wanted) : null;
  const then = source?.document ?? null;
  const known = then ? fieldsIn(target, then) : {};
  const subject = { doc: () => current?.document ?? null, data: known };
  await authorize(call, operation, subject);
  await requireExpected(call, current);
  noteReason(request, model);
  if (!isAuditor && !isPublic)
    throw new DomainError('forbidden', `you may not see what a document of ${target.slug} was`);
  const last = current ? null : await lastOf(app, stream, version);
  // Without a right to all payloads, an earlier state is shown only if the read rule shows the document as it is.
  const isRead = current
    ? mayRead(call, current.document)
    : last === null || mayRead(call, last.document, last.position);
  if (right !== 'all' && !(await isRead))
    throw new DomainError('forbidden', `you may not read this document of ${target.slug} as it last was`);
  if (!source || !then) throw refusalOf(source, wanted, version);
  if (!(await mayRead(call, then, source.position))) {
    throw new DomainError('forbidden', `you may not see what this document of ${target.slug} was`);
  }
  const before = current?.document ?? null;
  const changed = before ? differing(known, before) : known;
  // A field of a new document without a value is not written.
  const body = before ? changed : only(changed, (_name, value) => value !== null);
  await checkFieldsWritable(call, operation, { body, doc: before, isPast: true });
  const values = await pastValues(call, operation, changed);
  const end = current ?? { version, document: last?.document ?? {} };
  const base = before ? fieldsIn(target, before) : {};
  const createdAt = before?.createdAt ?? then.createdAt ?? null;
  const made = madeIn(target, changed);
  const document = { createdAt, ...base, ...values, ...made };
  return { current, end, source: { ...source, document: then }, operation, values, document };
}

/** Refuses a caller who asks for a document that was never written, or who may not know that it was. */
async function refuseUnwritten(call: Call, id: string, current: Current | null): Promise<never> {
  const { target } = call;
  if (target.model.kind === 'collection') return refuseMissing(call, 'update', id);
  await authorize(call, 'update', { doc: () => current?.document ?? null, data: null });
  throw new DomainError('conflict', `the global ${target.slug} was never written: it has no versions`);
}

async function sourceOf(app: App, stream: string, wanted: RestoreTarget): Promise<PastVersion | null> {
  const { size } = app.events.head();
  if ('position' in wanted && wanted.position > size) {
    throw invalidField(
      inBody('position', 'out_of_range', { limit: size }),
      `must be at most ${size}, where the log ends, got ${wanted.position}`,
    );
  }
  return pastOf(app, stream, wanted);
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
  app: App,
  stream: string,
  version: number,
): Promise<{ document: JsonObject; position: number } | null> {
  if ((await pastOf(app, stream, { version }))?.document) {
    // Another request is restoring it, and the read tables do not have it yet.
    throw new DomainError('write_conflict', 'others are changing this document; try again');
  }
  for (let last = version - 1; last > 0; last -= 1) {
    const past = await pastOf(app, stream, { version: last });
    if (past?.document) return { document: past.document, position: past.position };
  }
  return null;
}

/** The fields of today that an earlier state has; it has none that were added since. */
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
  const names = new Set(changesBetween(document, { ...document, ...values }).map(({ field }) => field));
  return only(values, (name) => names.has(name));
}

/**
 * The fields as a body would have them. No refusal tells the value of a field that the caller may not read.
 *
 * @throws DomainError `validation_failed` naming the values that do not fit the fields of today.
 */
export async function pastValues(call: Call, operation: 'create' | 'update', changed: JsonObject): Promise<JsonObject> {
  const { validator } = call.target;
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
