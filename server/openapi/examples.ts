import { affinityOf, isList, typeFacts } from '../../config/field-types.ts';
import { fieldTypes, validation } from '../../config/fields.ts';
import type { Collection, Field, UploadOptions } from '../../config/model.ts';
import { isNesting, partsOf, tagOf } from '../../config/nesting.ts';
import type { Operator } from '../../config/operators.ts';
import type { Json, JsonObject } from '../../config/schema.ts';
import { queryableFields } from '../../config/traits.ts';
import { mediaPath } from '../../config/uploads.ts';
import { leafOf } from '../queries/paths.ts';
import { operatorsFor } from '../queries/values.ts';

/** Examples of a parameter by their names, as OpenAPI has them. */
type Examples = Record<string, { summary: string; value: Json }>;

const id = '0190a5d2-7c1e-7000-8a3b-5d2f6c9e1b40';
const times = { createdAt: '2024-02-29T12:30:00.000Z', updatedAt: '2024-03-01T08:00:00.000Z' };

/** A document of a collection; undefined where no value comes to mind for one of its fields that needs one. */
export function documentExample({ slug, fields, upload }: Collection): JsonObject | undefined {
  const values = objectExample(fields.filter(({ isServerMade }) => !isServerMade));
  return values && { id, ...times, ...(upload ? fileExample(slug, upload) : {}), ...values };
}

/** A global of these fields that was written; undefined as for {@link documentExample}. */
export function globalExample(fields: readonly Field[]): JsonObject | undefined {
  const values = objectExample(fields);
  return values && { ...times, ...values };
}

/** Filters of a collection. The first is one that most documents meet, since Swagger UI fills it in. */
export function whereExamples(target: Collection): Examples {
  const since: JsonObject = { createdAt: { greater_than_equal: '2024-01-01' } };
  const ofField = firstOf(open(target), conditionOf);
  // Of all collections alike, so that the document has them once.
  const either = { or: [{ updatedAt: { less_than: '2024-01-01' } }, since] };
  return {
    since: { summary: 'Created on a day or later', value: since },
    ...(ofField ? { field: { summary: 'By a field', value: ofField } } : {}),
    either: { summary: 'One or the other', value: either },
    json: { summary: 'The same as JSON', value: JSON.stringify(either) },
  };
}

/** An order of the documents of a collection. */
export function sortExample(target: Collection): string {
  const sortable = open(target).find((field) => affinityOf(field) !== null && field.type !== 'boolean');
  return sortable ? `${sortable.name},-createdAt` : '-updatedAt';
}

/** Those that every caller may filter and sort by. */
function open(target: Collection): Field[] {
  return queryableFields(target).filter(({ access }) => !access?.read);
}

/** Operators that tell something, the best first. */
const telling: readonly Operator[] = ['greater_than_equal', 'contains', 'like', 'equals'];

function conditionOf(field: Field): JsonObject | undefined {
  const operators = operatorsFor({ steps: [], leaf: leafOf(field, true), field });
  const isOneOfFew = Boolean(field.options ?? field.relationTo);
  const operator = telling.find((one) => operators.includes(one) && !(one === 'like' && isOneOfFew));
  const value = exampleOf(field);
  if (operator === undefined || value === undefined) return undefined;
  return { [field.name]: { [operator]: Array.isArray(value) ? (value[0] ?? null) : value } };
}

function objectExample(fields: readonly Field[]): JsonObject | undefined {
  const values = fields.flatMap((field) => {
    const value = memberExample(field);
    return value === undefined ? [] : [[field.name, value] as const];
  });
  return values.length === fields.length ? Object.fromEntries(values) : undefined;
}

/** A value, or none where the field may do without. */
function memberExample(field: Field): Json | undefined {
  const value = exampleOf(field);
  if (value !== undefined || field.required) return value;
  return isList(field) ? [] : null;
}

/** The first value that comes to mind which the field takes. */
function exampleOf(field: Field): Json | undefined {
  const { type, defaultValue, admin } = field;
  if (defaultValue !== undefined && defaultValue !== '') return defaultValue;
  // Inner schemas have been checked by themselves.
  if (isNesting(field)) return nestedExample(field);
  const schema = fieldTypes[type].schema(field);
  return firstOf([...(admin?.placeholder === undefined ? [] : [admin.placeholder]), ...ideasOf(field)], (idea) => {
    const { value, error } = schema.validate(idea, validation);
    return error ? undefined : value;
  });
}

function firstOf<T, R>(items: readonly T[], give: (item: T) => R | undefined): R | undefined {
  for (const item of items) {
    const given = give(item);
    if (given !== undefined) return given;
  }
  return undefined;
}

/** Candidates for an example, from which the rules of the field choose. */
function ideasOf(field: Field): readonly Json[] {
  const { type, options, relationTo, min, max, minLength = 0 } = field;
  const { column, sample } = typeFacts[type];
  const words = options?.map(({ value }) => value);
  if (words) return isList(field) ? [words.slice(0, Math.max(1, minLength))] : words;
  if (relationTo !== undefined) return field.hasMany ? repeated(field, id) : [id];
  if (type === 'join') return [[id]];
  if (column === 'REAL') return [sample, min, max, Math.ceil(min ?? 0)].filter((one) => one !== undefined);
  return sample === undefined ? texts(field) : [sample];
}

/** No longer than needed, so that a pattern which takes long over a long text does not here. */
const alphabets = ['abcdefghijkl', 'ABCDEFGHIJKL', '123456789012'];

function texts({ name, pattern, minLength = 0, maxLength = name.length }: Field): string[] {
  if (pattern === undefined)
    return minLength > 200 ? [] : [name.padEnd(minLength, name).slice(0, Math.max(maxLength, minLength))];
  return alphabets.flatMap((letters) => [...letters].map((_, index) => letters.slice(0, index + 1)));
}

function nestedExample(field: Field): Json | undefined {
  const objects = partsOf(field).map((part) => ({ tag: tagOf(part), values: objectExample(part.fields) }));
  const found = objects.find(({ values }) => values !== undefined);
  const example = found && { ...found.tag, ...found.values };
  return isList(field) ? repeated(field, example)[0] : example;
}

/** As many as a list needs, where that is not too many to show. */
function repeated({ minLength = 0, maxLength = 10 }: Field, item: Json | undefined): Json[] {
  if (item === undefined || minLength > 10) return [];
  return [Array.from({ length: Math.min(Math.max(1, minLength), maxLength) }, () => item)];
}

/** The description of a file. Where any type of a kind is taken it is that of examples (RFC 4735), `audio/example`. */
function fileExample(slug: string, { mimeTypes }: UploadOptions): JsonObject {
  const [first = 'image/*'] = mimeTypes ?? [];
  const mimeType = first === 'image/*' ? 'image/png' : first.replace('*', 'example');
  const filename = `example.${mimeType.slice(mimeType.indexOf('/') + 1).replace(/\+.*/, '')}`;
  const size = mimeType.startsWith('image/') ? { width: 800, height: 600 } : { width: null, height: null };
  return {
    filename,
    mimeType,
    filesize: 2048,
    ...size,
    sha256: 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855',
    url: mediaPath(slug, id, filename),
  };
}
