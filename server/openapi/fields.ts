import { type FieldType, isList } from '../../config/field-types.ts';
import type { Field } from '../../config/model.ts';
import { isObject, type Json } from '../../config/schema.ts';

/** A schema object of OpenAPI 3.0. */
export type ApiSchema = { [keyword: string]: Json };

/** Where a schema stands: in an answer, in the body of a create, or in that of an update. */
type Use = 'answer' | 'create' | 'update';

/** How the value of each field type is described, when there is one. The rules are those of `config/fields.ts`. */
const values: Record<FieldType, (field: Field, use: Use) => ApiSchema> = {
  text,
  textarea: text,
  richText: json,
  // The formats `email` and `uri` are ASCII, which the service does not ask for.
  email: (field, use) => (field.isAccountEmail && use !== 'answer' ? accountEmail : email(field)),
  url: (field) => formed(field, '^[hH][tT][tT][pP][sS]?://[^\\s/]\\S*$', 'https://example.org/'),
  number,
  boolean: () => ({ type: 'boolean' }),
  date: () => ({ type: 'string', format: 'date' }),
  datetime,
  // The format `time` is that of RFC 3339, which needs a zone.
  time: () => ({ type: 'string', pattern: '^([01]\\d|2[0-3]):[0-5]\\d(:[0-5]\\d)?$', example: '23:59' }),
  select: oneOption,
  radio: oneOption,
  multiSelect: (field) => ({ ...list(field, oneOption(field)), uniqueItems: true }),
  relationship: reference,
  upload: reference,
  object: ({ fields = [] }, use) => objectOf(fields, inside(use)),
  array: (field, use) => list(field, objectOf(field.fields ?? [], inside(use))),
  blocks: (field, use) => list(field, { oneOf: (field.blocks ?? []).map((block) => blockOf(block, inside(use))) }),
  json,
  join: ({ collection = '', limit }, use) => ({
    type: 'array',
    items: documentOrId(collection, use),
    ...(limit === undefined ? {} : { maxItems: limit }),
  }),
  row: () => ({}),
};

/**
 * Describes an object of these fields. In an answer no field is promised: `select` leaves out fields, and so do rules,
 * also inside other fields. In a body unknown names are refused.
 *
 * @param own members that are not fields, by name.
 */
export function objectOf(fields: readonly Field[], use: Use, own: Readonly<Record<string, ApiSchema>> = {}): ApiSchema {
  const given = fields.filter(({ type, isServerMade }) => use === 'answer' || (type !== 'join' && !isServerMade));
  const members = given.map((field) => [field.name, member(field, use)] as const);
  const required = given.filter((field) => isNeeded(field, use)).map(({ name }) => name);
  const needed = [...Object.keys(own).filter((name) => own[name] !== ignored), ...required];
  return {
    type: 'object',
    properties: { ...own, ...Object.fromEntries(members) },
    ...(needed.length > 0 ? { required: needed } : {}),
    ...(use === 'answer' ? {} : { additionalProperties: false }),
  };
}

/** Refers to a schema by its name in the document. */
export function schemaRef(name: string): ApiSchema {
  return { $ref: `#/components/schemas/${name}` };
}

/** Any JSON, to which a description may be added: some generators take no schema that has one and no type. */
export const anyJson: ApiSchema = { allOf: [schemaRef('Json')] };

/** A member of a body that the service ignores, so that a document that was read can be sent back. */
export const ignored = schemaRef('Ignored');

function isNeeded({ required, makeDefault }: Field, use: Use): boolean {
  return use === 'create' && required === true && !makeDefault;
}

function member(field: Field, use: Use): ApiSchema {
  const value = values[field.type](field, use);
  const isAlwaysThere = field.required || (use === 'answer' && isList(field));
  const { label, admin, defaultValue } = field;
  const description = [label, admin?.description].filter(Boolean).join('. ');
  return {
    ...(isAlwaysThere ? value : nullable(value)),
    ...(description ? { description } : {}),
    ...(use === 'create' && defaultValue !== undefined ? { default: defaultValue } : {}),
  };
}

/** Inside a field that an update sets, `required` and defaults hold as on create. */
function inside(use: Use): Use {
  return use === 'answer' ? use : 'create';
}

/** `nullable` counts only beside a `type`, and null must be among the values of an `enum`. */
export function nullable(schema: ApiSchema): ApiSchema {
  const { type, oneOf, enum: options } = schema;
  if (Array.isArray(oneOf))
    return { oneOf: oneOf.map((one, index) => (index === 0 && isObject(one) ? nullable(one) : one)) };
  if (type === undefined) return schema;
  return { ...schema, nullable: true, ...(Array.isArray(options) ? { enum: [...options, null] } : {}) };
}

function text({ required, minLength = 0, maxLength, pattern }: Field): ApiSchema {
  const least = required ? Math.max(minLength, 1) : minLength;
  return {
    type: 'string',
    ...(least > 0 ? { minLength: least } : {}),
    ...(maxLength === undefined ? {} : { maxLength }),
    ...(pattern === undefined ? {} : { pattern: `^(?:${pattern})$` }),
  };
}

function email(field: Field): ApiSchema {
  return formed(field, '^[^@\\u0000-\\u0020]+@[^@\\u0000-\\u0020]+$', 'ada@example.org');
}

/** The e-mail of an account as it may be sent: white space around it is cut off before its length counts. */
export const accountEmail: ApiSchema = {
  type: 'string',
  pattern: '^\\s*[^@\\s]+@[^@\\s]+\\s*$',
  example: 'ada@example.org',
};

/** A text that has a form by its type, beside the pattern that the field may have. */
function formed(field: Field, form: string, example: string): ApiSchema {
  const { pattern, ...rest } = text(field);
  return { ...rest, pattern: form, ...(pattern === undefined ? {} : { allOf: [{ pattern }] }), example };
}

/** The format `date-time` wants seconds; a body may leave them out, an answer has them. */
function datetime(_: Field, use: Use): ApiSchema {
  if (use === 'answer') return { type: 'string', format: 'date-time' };
  const date = '\\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\\d|3[01])';
  const time = '([01]\\d|2[0-3]):[0-5]\\d(:[0-5]\\d(\\.\\d+)?)?';
  const zone = '(Z|[+-]([01]\\d|2[0-3]):[0-5]\\d)';
  return { type: 'string', pattern: `^${date}T${time}${zone}$`, example: '2024-02-29T12:30:00Z' };
}

function number({ integer, min = Number.MIN_SAFE_INTEGER, max = Number.MAX_SAFE_INTEGER }: Field): ApiSchema {
  return { type: integer ? 'integer' : 'number', minimum: min, maximum: max };
}

function oneOption({ options = [] }: Field): ApiSchema {
  return { type: 'string', enum: options.map(({ value }) => value) };
}

/** Without a type, null passes too. */
function json({ required }: Field): ApiSchema {
  const types = ['object', 'string', 'number', 'boolean'].map((type) => ({ type }));
  return { ...(required ? { oneOf: [...types, { type: 'array', items: {} }] } : anyJson), example: {} };
}

function reference(field: Field, use: Use): ApiSchema {
  const value = documentOrId(field.relationTo ?? '', use);
  return field.hasMany ? list(field, value) : value;
}

/** With `depth` the document stands in the place of its id. */
function documentOrId(slug: string, use: Use): ApiSchema {
  const id = { type: 'string', format: 'uuid', description: `The id of a document of ${slug}.` };
  return use === 'answer' ? { oneOf: [id, schemaRef(`collections.${slug}`)] } : id;
}

/** A list that is not required may be empty whatever its minLength. */
function list({ required, minLength = 0, maxLength }: Field, items: ApiSchema): ApiSchema {
  const least = Math.max(minLength, required ? 1 : 0);
  return {
    type: 'array',
    items,
    ...(required ? { minItems: least } : {}),
    ...(!required && least > 1 ? { anyOf: [{ maxItems: 0 }, { minItems: least }] } : {}),
    ...(maxLength === undefined ? {} : { maxItems: maxLength }),
  };
}

function blockOf({ slug, fields }: { slug: string; fields: readonly Field[] }, use: Use): ApiSchema {
  return objectOf(fields, use, { blockType: { type: 'string', enum: [slug] } });
}
