import type { Request } from '@hapi/hapi';
import { DomainError } from '../config/errors.ts';
import type { AccessArgs, Field, FieldRule } from '../config/model.ts';
import type { Json, JsonObject } from '../config/schema.ts';
import type { Target } from './app.ts';
import { anyField } from './hooks.ts';
import { actorOf, viewOf } from './requests.ts';

/** True when some field of this target is not for every reader. */
export function hasReadRules({ fields }: Target['model']): boolean {
  return anyField(fields, ({ access }) => Boolean(access?.read));
}

/**
 * Refuses values for fields that the caller may not write.
 *
 * @throws DomainError `forbidden` naming them all, nested ones by dotted path.
 */
export async function checkFieldsWritable(
  request: Request,
  { model }: Target,
  operation: 'create' | 'update',
  body: unknown,
  doc: JsonObject | null,
): Promise<void> {
  if (actorOf(request).type === 'apiKey' || !isObject(body)) return;
  const refused: string[] = [];
  await walk(model.fields, body, '', async ({ access }, value, path) => {
    const rule = access?.[operation];
    if (rule && !(await passes(rule, { user: null, doc, data: body, req: viewOf(request) }))) refused.push(path);
    return value;
  });
  if (refused.length === 0) return;
  const errors = refused.map((field) => ({ field, message: `you may not ${operation} ${field}` }));
  throw new DomainError('forbidden', `you may not ${operation} ${refused.join(', ')}`, errors);
}

/** Leaves out the fields that the caller may not read. */
export async function readableFields(request: Request, { model }: Target, document: JsonObject): Promise<JsonObject> {
  if (actorOf(request).type === 'apiKey') return document;
  const args = { user: null, doc: document, data: null, req: viewOf(request) };
  return walk(model.fields, document, '', async ({ access }, value) => {
    return !access?.read || (await passes(access.read, args)) ? value : undefined;
  });
}

/**
 * The fields that the caller may filter and sort by: those that are readable whatever the document, for a filter tells
 * what it filters by. A rule that looks at the document cannot answer that.
 */
export async function filterableFields(request: Request, target: Target): Promise<readonly Field[]> {
  const { fields } = target.model;
  return actorOf(request).type === 'apiKey' || !target.hasReadRules ? fields : filterable(request, fields);
}

async function filterable(request: Request, fields: readonly Field[]): Promise<Field[]> {
  const result: Field[] = [];
  for (const field of fields) {
    if (field.access?.read && !(await readsWithoutDocument(request, field.access.read))) continue;
    const blocks = field.blocks?.map(async (block) => ({ ...block, fields: await filterable(request, block.fields) }));
    result.push({
      ...field,
      ...(field.fields ? { fields: await filterable(request, field.fields) } : {}),
      ...(blocks ? { blocks: await Promise.all(blocks) } : {}),
    });
  }
  return result;
}

async function readsWithoutDocument(request: Request, rule: FieldRule): Promise<boolean> {
  let hasLooked = false;
  const args = {
    user: null,
    data: null,
    req: viewOf(request),
    get doc() {
      hasLooked = true;
      return null;
    },
  };
  return (await passes(rule, args)) && !hasLooked;
}

/** A rule that throws says no. */
async function passes(rule: FieldRule, args: AccessArgs): Promise<boolean> {
  try {
    return (await rule(args)) === true;
  } catch {
    return false;
  }
}

type Visit = (field: Field, value: Json, path: string) => Promise<Json | undefined>;

/** Visits every value that belongs to a field, outside in; one that becomes undefined is left out. */
async function walk(fields: readonly Field[], values: JsonObject, prefix: string, visit: Visit): Promise<JsonObject> {
  const result = { ...values };
  for (const field of fields) {
    const value = values[field.name];
    if (value === undefined) continue;
    const path = prefix + field.name;
    const visited = await visit(field, value, path);
    if (visited === undefined) delete result[field.name];
    else result[field.name] = await walkInside(field, visited, path, visit);
  }
  return result;
}

async function walkInside(field: Field, value: Json, path: string, visit: Visit): Promise<Json> {
  const { fields, blocks } = field;
  if (!fields && !blocks) return value;
  if (Array.isArray(value)) {
    return Promise.all(value.map((item, index) => walkInside(field, item, `${path}.${index}`, visit)));
  }
  if (!isObject(value)) return value;
  const inside = fields ?? blocks?.find(({ slug }) => slug === value.blockType)?.fields ?? [];
  return walk(inside, value, `${path}.`, visit);
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
