import type { Request } from '@hapi/hapi';
import { DomainError, inBody } from '../../config/errors.ts';
import type { InvalidBody } from '../../config/invalid-body.ts';
import type { AccessArgs, Field, FieldRule } from '../../config/model.ts';
import { fieldsInside, mapObjectsAsync, withParts } from '../../config/nesting.ts';
import { withHiddenPassword } from '../../config/passwords.ts';
import { isObject, type Json, type JsonObject, memberOf } from '../../config/schema.ts';
import type { Call } from '../app.ts';
import { asOfFor, isTrusted, madeKeyOf, userOf, viewOf } from '../http/requests.ts';
import { argsWithoutDocument } from './rules.ts';

/** A caller, and the target whose fields are asked about. */
type FieldsCall = Pick<Call, 'request' | 'target'>;

/**
 * A body, and the document that it is to change; null for a new document. `isPast`: the body is an earlier state, so
 * the caller has not named its fields.
 */
type SentBody = { body: unknown; doc: JsonObject | null; isPast?: boolean };

/**
 * Refuses values for fields that the caller may not write.
 *
 * @throws DomainError `forbidden` naming all such fields, nested ones by dotted path; of an earlier state only those
 * that the caller may read.
 */
export async function checkFieldsWritable(
  call: FieldsCall,
  operation: 'create' | 'update',
  { body, doc, isPast = false }: SentBody,
): Promise<void> {
  const { request, target } = call;
  const { model } = target;
  if (isTrusted(request, model) || !isObject(body)) return;
  const data = withHiddenPassword(target, body) as JsonObject;
  const refused: string[] = [];
  await walk({ fields: model.fields, values: body }, '', async ({ access }, value, path) => {
    const rule = access?.[operation];
    if (rule && !(await passes(rule, { user: userOf(request), doc, data, req: viewOf(request) }))) refused.push(path);
    return value;
  });
  if (refused.length === 0) return;
  const isHidden = isPast ? await hiddenPaths(call) : () => false;
  const named = refused.filter((path) => !isHidden(path));
  const errors = named.map((field) => ({
    ...inBody(field, 'forbidden_field'),
    message: `you may not ${operation} ${field}`,
  }));
  if (named.length < refused.length) {
    named.push('a field that you may not read');
    errors.push({
      ...inBody('', 'forbidden_field'),
      message: `you may not ${operation} a field that you may not read`,
    });
  }
  throw new DomainError('forbidden', `you may not ${operation} ${named.join(', ')}`, errors);
}

/**
 * Leaves out the fields that the caller may not read. With `asOf`, a field must be readable in the document as it was
 * and as it is today.
 *
 * @param id of the document, which hooks may have removed from it; of a global its slug.
 */
export async function readableFields(call: FieldsCall, document: JsonObject, id: string): Promise<JsonObject> {
  const today = asOfFor(call.request) ? call.target.documents.text(id) : null;
  return readableWith(call, document, [document, ...(today === null ? [] : [JSON.parse(today)])]);
}

/** Leaves out a field that the caller may not read in at least one of these states of the document. */
export async function readableWith(
  { request, target }: FieldsCall,
  document: JsonObject,
  states: readonly JsonObject[],
): Promise<JsonObject> {
  const { model } = target;
  if (isTrusted(request, model)) return document;
  const args = states.map((doc) => ({ user: userOf(request), doc, data: null, req: viewOf(request) }));
  return walk({ fields: model.fields, values: document }, '', async ({ access }, value) => {
    for (const one of args) if (access?.read && !(await passes(access.read, one))) return undefined;
    return value;
  });
}

/**
 * The fields that the caller may filter and sort by: a filter tells the values of its field, so the field must be
 * readable in every document and shown as it is stored. A field whose rule looks at the document is not among them.
 */
export async function filterableFields(call: FieldsCall): Promise<readonly Field[]> {
  const { request, target } = call;
  const fields = queryableBy(call);
  return readsEverything({ request, target }) ? fields : pick(fields, await readableAlways(request, fields));
}

/**
 * The fields that no hook hides from the caller, so that their stored values may decide an answer. No rule is asked.
 */
export function queryableBy(call: FieldsCall): readonly Field[] {
  return seesStored(call) ? call.target.model.fields : call.target.queryable;
}

/**
 * Whether the caller may know stored values, whatever hooks show: trusted code, except keys that were made at run time,
 * which see no more than their makers.
 */
export function seesStored({ request, target }: FieldsCall): boolean {
  return isTrusted(request, target.model) && madeKeyOf(request) === null;
}

/**
 * The fields that the caller may read in some document, including those whose rule looks at the document.
 */
export async function selectableFields(call: FieldsCall): Promise<readonly Field[]> {
  const { fields } = call.target.model;
  if (readsEverything(call)) return fields;
  return pick(fields, await readableAmong(call.request, fields, ({ isAllowed, hasLooked }) => isAllowed || hasLooked));
}

/** The rights of a caller to a field. A right in only some documents is true too. */
export type FieldRights = { read: boolean; create: boolean; update: boolean };

/**
 * The rights of the caller to every field of a target, at any depth. No caller writes a join, or a field that the
 * server sets for a file. A field is never more open than the one that it is inside of, nor than `outer`: the rights to
 * the target.
 */
export async function rightsToFields(
  { request, target }: FieldsCall,
  outer: FieldRights = { read: true, create: true, update: true },
): Promise<ReadonlyMap<Field, FieldRights>> {
  const rights = new Map<Field, FieldRights>();
  const asked = isTrusted(request, target.model) ? null : request;

  async function note(fields: readonly Field[], around: FieldRights): Promise<void> {
    for (const field of fields) {
      const isWritten = field.type !== 'join' && !field.isServerMade;
      const own = {
        read: around.read && (await mayReach(asked, field.access?.read)),
        create: around.create && isWritten && (await mayReach(asked, field.access?.create)),
        update: around.update && isWritten && (await mayReach(asked, field.access?.update)),
      };
      rights.set(field, own);
      await note(fieldsInside(field), own);
    }
  }

  await note(target.model.fields, outer);
  return rights;
}

/** Whether a rule may admit the caller in some document. @param asked the request; null if everything is allowed. */
async function mayReach(asked: Request | null, rule: FieldRule | undefined): Promise<boolean> {
  if (!asked || !rule) return true;
  const { isAllowed, hasLooked } = await askWithoutDocument(asked, rule);
  return isAllowed || hasLooked;
}

/**
 * The fields of a document whose recorded values the caller may see: readable in each of these states of it, and not
 * changed by a read hook. Null if the whole document has a read hook.
 */
export async function recordedFields(
  { request, target }: FieldsCall,
  states: readonly JsonObject[],
): Promise<readonly Field[] | null> {
  const { fields, hooks } = target.model;
  if (hooks.beforeRead || hooks.afterRead) return null;
  const args = states.map((doc) => ({ user: userOf(request), doc, data: null, req: viewOf(request) }));
  const shown = await fieldsThat(fields, async ({ hooks, access }) => {
    if (hooks?.afterRead) return false;
    for (const one of args) if (access?.read && !(await passes(access.read, one))) return false;
    return true;
  });
  return pick(fields, shown);
}

/** The refusal of a body, with hints that name only fields that the caller may read in every document. */
export async function withOwnHints(call: FieldsCall, refusal: InvalidBody): Promise<InvalidBody> {
  if (!refusal.hasHints || readsEverything(call)) return refusal;
  const readable = await readableAlways(call.request, call.target.model.fields);
  return refusal.withHints((field) => readable.has(field));
}

/** Makes a test of dotted paths: whether a field on the path is not readable for the caller in every document. */
export async function hiddenPaths(call: FieldsCall): Promise<(path: string) => boolean> {
  if (readsEverything(call)) return () => false;
  const { fields } = call.target.model;
  const readable = await readableAlways(call.request, fields);
  return (path) => {
    let level = fields;
    for (const name of path.split('.')) {
      if (/^\d+$/.test(name)) continue;
      const found = level.filter((field) => field.name === name);
      if (found.some((field) => !readable.has(field))) return true;
      level = found.flatMap(fieldsInside);
    }
    return false;
  };
}

function readsEverything({ request, target }: FieldsCall): boolean {
  return isTrusted(request, target.model) || !target.hasReadRules;
}

/** The fields, at any depth, that the caller may read in every document. */
function readableAlways(request: Request, fields: readonly Field[]): Promise<ReadonlySet<Field>> {
  return readableAmong(request, fields, ({ isAllowed, hasLooked }) => isAllowed && !hasLooked);
}

/**
 * The answer of a rule before there is a document. `hasLooked`: the rule looked at the document or the values, which
 * are not there.
 */
type AnswerInAdvance = { isAllowed: boolean; hasLooked: boolean };

function readableAmong(
  request: Request,
  fields: readonly Field[],
  isEnough: (answer: AnswerInAdvance) => boolean,
): Promise<ReadonlySet<Field>> {
  return fieldsThat(fields, async ({ access }) => {
    return !access?.read || isEnough(await askWithoutDocument(request, access.read));
  });
}

/** The fields, at any depth, that pass, and whose outer fields pass. */
async function fieldsThat(
  fields: readonly Field[],
  passes: (field: Field) => Promise<boolean>,
): Promise<ReadonlySet<Field>> {
  const found = new Set<Field>();
  for (const field of fields) {
    if (!(await passes(field))) continue;
    found.add(field);
    for (const inside of await fieldsThat(fieldsInside(field), passes)) found.add(inside);
  }
  return found;
}

function pick(fields: readonly Field[], wanted: ReadonlySet<Field>): Field[] {
  return fields
    .filter((field) => wanted.has(field))
    .map((field) => ({ ...field, ...withParts(field, (inside) => pick(inside, wanted)) }));
}

async function askWithoutDocument(request: Request, rule: FieldRule): Promise<AnswerInAdvance> {
  const { args, hasLooked } = argsWithoutDocument(request, true);
  const isAllowed = await passes(rule, args);
  return { isAllowed, hasLooked: hasLooked() };
}

/** Whether a rule says yes; a rule that throws says no. */
async function passes(rule: FieldRule, args: AccessArgs): Promise<boolean> {
  try {
    return (await rule(args)) === true;
  } catch {
    return false;
  }
}

type Visit = (field: Field, value: Json, path: string) => Promise<Json | undefined>;

/** Fields, and an object with their values. */
type Level = { fields: readonly Field[]; values: JsonObject };

/** Visits the value of every field, outside in, and leaves out what `visit` makes undefined. */
async function walk({ fields, values }: Level, prefix: string, visit: Visit): Promise<JsonObject> {
  const result = { ...values };
  for (const field of fields) {
    const value = memberOf(values, field.name);
    if (value === undefined) continue;
    const path = prefix + field.name;
    const visited = await visit(field, value, path);
    if (visited === undefined) delete result[field.name];
    else {
      result[field.name] = await mapObjectsAsync(field, visited, (inside) =>
        walk(inside, `${path}${inside.path}.`, visit),
      );
    }
  }
  return result;
}
