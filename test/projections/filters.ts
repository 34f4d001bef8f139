import fc from 'fast-check';
import { checkConfig } from '../../config/check.ts';
import type { Config, FieldConfig } from '../../config/define.ts';
import { isList } from '../../config/field-types.ts';
import type { Field } from '../../config/model.ts';
import type { Json, JsonObject } from '../../config/schema.ts';

// A collection with fields of all kinds, random documents of it and random filters on them.

const letters = ['x', 'y', 'z', '%'];
const to = { type: 'relationship', relationTo: 'others' } as const;
const back = { type: 'relationship', relationTo: 'things' } as const;

const simple = (names: string[]): FieldConfig[] => {
  const all: FieldConfig[] = [
    { name: 'word', type: 'text' },
    { name: 'n', type: 'number' },
    { name: 'flag', type: 'boolean' },
    { name: 'day', type: 'date' },
    { name: 'at', type: 'datetime' },
    { name: 'clock', type: 'time' },
    { name: 'pick', type: 'select', options: letters },
    { name: 'tags', type: 'multiSelect', options: letters },
    { name: 'data', type: 'json' },
    { name: 'one', ...to },
    { name: 'many', ...to, hasMany: true },
  ];
  return all.filter((field) => 'name' in field && names.includes(field.name));
};

export const config: Config = {
  collections: [
    {
      slug: 'things',
      fields: [
        { name: 'word', type: 'text', index: true },
        { name: 'body', type: 'textarea' },
        { name: 'note', type: 'textarea', index: true },
        { name: 'code', type: 'text', unique: true },
        { name: 'rich', type: 'richText' },
        { name: 'mail', type: 'email' },
        { name: 'link', type: 'url', index: true },
        { name: 'n', type: 'number', index: true },
        { name: 'm', type: 'number' },
        { name: 'flag', type: 'boolean', index: true },
        { name: 'day', type: 'date' },
        { name: 'at', type: 'datetime', index: true },
        { name: 'clock', type: 'time', index: true },
        { name: 'pick', type: 'select', options: letters, index: true },
        { name: 'dial', type: 'radio', options: letters },
        { name: 'tags', type: 'multiSelect', options: letters },
        { name: 'data', type: 'json' },
        { name: 'one', ...to },
        { name: 'many', ...to, hasMany: true },
        {
          name: 'group',
          type: 'object',
          fields: [
            ...simple(['word', 'n', 'flag', 'at', 'tags', 'data', 'one', 'many']),
            {
              name: 'inner',
              type: 'object',
              fields: [{ name: 'code', type: 'text', index: true }, ...simple(['n', 'day'])],
            },
            { name: 'list', type: 'array', fields: simple(['word', 'n', 'one']) },
          ],
        },
        {
          name: 'items',
          type: 'array',
          fields: [
            ...simple(['word', 'n', 'flag', 'day', 'clock', 'pick', 'tags', 'data', 'one', 'many']),
            { name: 'inner', type: 'object', fields: simple(['word', 'n']) },
            { name: 'subs', type: 'array', fields: simple(['word', 'tags']) },
          ],
        },
        {
          name: 'parts',
          type: 'blocks',
          blocks: [
            {
              slug: 'hero',
              fields: [
                ...simple(['word', 'tags', 'one']),
                { name: 'call', type: 'object', fields: simple(['word']) },
                { name: 'size', type: 'number' },
              ],
            },
            {
              slug: 'quote',
              fields: [
                ...simple(['word', 'flag', 'one']),
                { name: 'call', type: 'object', fields: simple(['word', 'n']) },
                { name: 'size', type: 'text' },
              ],
            },
          ],
        },
      ],
    },
    {
      slug: 'others',
      fields: [
        ...simple(['word', 'n', 'flag', 'tags']),
        { name: 'group', type: 'object', fields: simple(['word', 'n']) },
        { name: 'next', ...to },
        { name: 'back', ...back },
        { name: 'backs', ...back, hasMany: true },
      ],
    },
  ],
};

export const model = checkConfig(config);

export type Slug = 'things' | 'others';
export const fieldsOf = (slug: string) => model.collections.get(slug)?.fields ?? [];
/** Several documents are of one millisecond; ids go up with time, and begin with it. */
export const timeOf = (index: number) => new Date(Date.UTC(2026, 0, 1, 0, 0, 0, index >> 1)).toISOString();
const idOf = (index: number, end: string) => {
  const time = Date.parse(timeOf(index)).toString(16).padStart(12, '0');
  return `${time.slice(0, 8)}-${time.slice(8)}-7${end}${10 + index}-8000-000000000000`;
};
export const ids: Record<Slug, string[]> = {
  things: Array.from({ length: 24 }, (_, index) => idOf(index, 'a')),
  others: Array.from({ length: 8 }, (_, index) => idOf(index, 'b')),
};

const pools = {
  text: [
    ...['', 'a', 'A', 'ab', 'aB', 'b', 'é', 'É', 'e\u0301', 'straße', 'STRASSE', 'STRAẞE', 'ς', 'Σ', 'ﬀ', 'FF'],
    ...[
      'i',
      'İ',
      'ı',
      'k',
      '\u212a',
      'å',
      '\u212b',
      'A\u030a',
      'ω',
      '\u2126',
      'ᾴ',
      '\u03b1\u0301\u0345',
      'ΆΙ',
      'Ꭰ',
      'ꭰ',
    ],
    ...['%', '_', 'a%b', 'a_b', "it's", '"q"', '\\', "';--", 'a,b', 'null', 'true', '1', '[0]', '$.a'],
    ...['😀', 'a😀', '\uffee', '\u{10400}', '\u{10428}', '\n', ' a', '漢字'],
  ],
  number: [0, 1, -1, 2, 10, 0.1, 0.30000000000000004, 2 ** 53 - 1, 1 - 2 ** 53, 5e-324, -1.5],
  date: ['0000-01-01', '2024-02-29', '2024-03-01', '9999-12-31'],
  datetime: ['2024-02-29T00:00:00.000Z', '2024-02-29T00:00:00.001Z', '1969-12-31T23:59:59.999Z'],
  time: ['00:00', '00:00:01', '12:30', '12:30:30', '23:59:59'],
  json: [0, false, '', 'x', [], {}, [null], { word: 'a' }, null] as Json[],
};

/** The foldings of these texts' characters that are not their lower case (CaseFolding.txt of Unicode, C and F). */
const foldings = new Map([
  ...['ß', 'ẞ'].map((one) => [one, 'ss'] as const),
  ...([
    ['ς', 'σ'],
    ['ﬀ', 'ff'],
    ['\u0345', 'ι'],
    ['ꭰ', 'Ꭰ'],
    ['Ꭰ', 'Ꭰ'],
  ] as const),
]);

/** The common form of texts that differ in case alone, or in how they are composed. Sorted as upper case is. */
export function caseless(text: string): string {
  const folded = [...text.normalize('NFD')].flatMap((one) => [...(foldings.get(one) ?? one.toLowerCase())]);
  return folded
    .map((one) => (one === 'ı' ? one : one.toUpperCase()))
    .join('')
    .normalize('NFC');
}

export const some = <T>(values: readonly T[]) => fc.constantFrom(...values);

function anyValue(field: Field): fc.Arbitrary<Json> {
  const orNull = (value: fc.Arbitrary<Json>) => fc.option(value, { nil: null, freq: 5 });
  const { type, options = [], relationTo, fields = [], blocks = [] } = field;
  if (relationTo) {
    const id = some([...ids[relationTo as Slug], 'gone']);
    return field.hasMany ? fc.uniqueArray(id, { maxLength: 3 }) : orNull(id);
  }
  const letter = () => some(options.map(({ value }) => value));
  switch (type) {
    case 'number':
    case 'date':
    case 'datetime':
    case 'time':
      return orNull(some<Json>(pools[type]));
    case 'boolean':
      return orNull(fc.boolean());
    case 'select':
    case 'radio':
      return orNull(letter());
    case 'multiSelect':
      return fc.uniqueArray(letter());
    case 'json':
    case 'richText':
      return some(pools.json);
    case 'object':
      return orNull(anyObject(fields));
    case 'array':
      return fc.array(anyObject(fields), { maxLength: 3 });
    case 'blocks':
      return fc.array(
        fc.oneof(
          ...blocks.map((block) =>
            anyObject(block.fields).map((item): JsonObject => ({ blockType: block.slug, ...item })),
          ),
        ),
        { maxLength: 3 },
      );
    default:
      return orNull(some(pools.text));
  }
}

export function anyObject(fields: readonly Field[]): fc.Arbitrary<JsonObject> {
  return fc.record(Object.fromEntries(fields.map((field) => [field.name, anyValue(field)])));
}

export function documents(slug: Slug): fc.Arbitrary<JsonObject[]> {
  const rows = ids[slug].map((id, index) =>
    fc.record({ values: anyObject(fieldsOf(slug)), later: fc.integer({ min: 0, max: 3 }) }).map(
      ({ values, later }): JsonObject => ({
        id,
        createdAt: timeOf(index),
        updatedAt: timeOf(index + later * 7),
        ...values,
      }),
    ),
  );
  return fc.tuple(...rows);
}

/** A field that a path can end at. */
export type End = { path: string; field: Field; hops: number; isMany: boolean };

export const own: Field[] = [
  { name: 'id', type: 'text' },
  { name: 'createdAt', type: 'datetime' },
  { name: 'updatedAt', type: 'datetime' },
];
export const blockType: Field = {
  name: 'blockType',
  type: 'select',
  options: ['hero', 'quote'].map((value) => ({ label: value, value })),
};

function endsOf(fields: readonly Field[], prefix = '', hops = 0, isMany = false): End[] {
  return fields.flatMap((field) => {
    const path = prefix + field.name;
    const inside = (inner: readonly Field[], many: boolean, hop = 0) =>
      hops + hop > 3 ? [] : endsOf(inner, `${path}.`, hops + hop, isMany || many);
    const end = { path, field, hops, isMany };
    if (field.relationTo) return [end, ...inside([...own, ...fieldsOf(field.relationTo)], field.hasMany === true, 1)];
    if (field.fields) return [end, ...inside(field.fields, field.type === 'array')];
    if (field.blocks) {
      // If blocks disagree about a type, the first one decides.
      const first = new Map(
        field.blocks
          .flatMap((block) => block.fields)
          .toReversed()
          .map((one) => [one.name, one]),
      );
      const call = { ...first.get('call'), fields: fieldsOfCall(field) } as Field;
      return [end, ...inside([blockType, ...first.values().filter(({ name }) => name !== 'call'), call], true)];
    }
    return [end];
  });
}

function fieldsOfCall({ blocks = [] }: Field): Field[] {
  const calls = blocks.flatMap(({ fields }) => fields.find(({ name }) => name === 'call')?.fields ?? []);
  return [...new Map(calls.map((one) => [one.name, one])).values()];
}

/** Every path of a thing, through at most three relationships. */
export const ends = endsOf([...own, ...fieldsOf('things')]);
const endsByHops = [0, 1, 2, 3].map((hops) => ends.filter((end) => end.hops === hops));
const anyEnd = fc.oneof(
  { weight: 6, arbitrary: some(endsByHops[0] ?? []) },
  { weight: 3, arbitrary: some(endsByHops[1] ?? []) },
  { weight: 1, arbitrary: some(endsByHops[2] ?? []) },
  { weight: 1, arbitrary: some(endsByHops[3] ?? []) },
);
/** Sorts reach across single relationships; whatever is reached through a list has no one value. */
export const sortable = ends.filter(({ path, field }) => {
  const through = path.split('.').slice(0, -1);
  return (
    !['many', 'backs', 'items', 'parts', 'list', 'subs'].some((name) => through.includes(name)) &&
    !isList(field) &&
    !['json', 'richText', 'object'].includes(field.type)
  );
});

export const indexed = sortable.filter(({ hops, field }) => hops === 0 && (field.index || field.unique));

export type Condition = { end: End; operator: string; value: Json };
export type Level = { conditions: readonly Condition[]; or: readonly Level[]; and: readonly Level[] };

function operatorsOf({ field }: End): string[] {
  if (['json', 'richText', 'object', 'array', 'blocks'].includes(field.type)) return ['exists'];
  if (isList(field)) return ['contains', 'in', 'not_in', 'exists'];
  const always = ['equals', 'not_equals', 'in', 'not_in', 'exists'];
  const ranges = ['greater_than', 'less_than', 'greater_than_equal', 'less_than_equal'];
  if (field.name === 'id') return [...always, 'like', ...ranges];
  if (['number', 'date', 'datetime', 'time'].includes(field.type)) return [...always, ...ranges];
  return field.type === 'boolean' ? always : [...always, 'like'];
}

function wanted({ field }: End): fc.Arbitrary<Json> {
  if (field.relationTo) return some([...ids[field.relationTo as Slug], 'gone']);
  if (field.name === 'id') return some([...ids.things, ...ids.others]);
  if (/^(created|updated)At$/.test(field.name)) return fc.oneof(some(pools.datetime), fc.nat(40).map(timeOf));
  if (field.type === 'boolean') return fc.boolean();
  if (field.options) return some(field.options.map(({ value }) => value));
  if (field.type === 'time') return some([...pools.time, '00:00:00', '12:30:00']);
  if (field.type === 'number' || field.type === 'date' || field.type === 'datetime')
    return some<Json>(pools[field.type]);
  return some(pools.text.filter((text) => text !== 'null'));
}

function conditionAt(end: End): fc.Arbitrary<Condition> {
  return some(operatorsOf(end)).chain((operator) => {
    const value = wanted(end);
    const orNull = fc.option(value, { nil: null, freq: 6 });
    if (operator === 'exists') return fc.boolean().map((is): Condition => ({ end, operator, value: is }));
    if (operator === 'in' || operator === 'not_in') {
      const list = fc.array(orNull, { minLength: 1, maxLength: 4 });
      return list.map((values): Condition => ({ end, operator, value: values }));
    }
    if (operator === 'like') return some(pools.text).map((text): Condition => ({ end, operator, value: text }));
    return (operator.endsWith('equals') ? orNull : value).map((one): Condition => ({ end, operator, value: one }));
  });
}

function levelsOf(condition: fc.Arbitrary<Condition>): fc.Arbitrary<Level> {
  return fc.letrec<{ level: Level }>((tie) => ({
    level: fc.oneof(
      { maxDepth: 3, depthSize: 'small' },
      fc.record({
        conditions: fc.array(condition, { minLength: 1, maxLength: 3 }),
        or: fc.constant([]),
        and: fc.constant([]),
      }),
      fc.record({
        conditions: fc.array(condition, { maxLength: 2 }),
        or: fc.array(tie('level'), { minLength: 1, maxLength: 3 }),
        and: fc.array(tie('level'), { maxLength: 2 }),
      }),
    ),
  })).level;
}

/** A filter with conditions, some of them on related documents. */
export const level = levelsOf(anyEnd.chain(conditionAt));

/** A filter that asks the documents alone. */
export const ownLevel = levelsOf(some(endsByHops[0] ?? []).chain(conditionAt));

/** The filter as an object. Of two conditions on one operator of one field only the first can be said. */
export function asObject({ conditions, or, and }: Level): JsonObject {
  const result: Record<string, JsonObject | JsonObject[]> = {};
  for (const { end, operator, value } of conditions) {
    const operators = (result[end.path] ?? {}) as JsonObject;
    result[end.path] = operators;
    if (!Object.hasOwn(operators, operator)) operators[operator] = value;
  }
  if (or.length > 0) result.or = or.map(asObject);
  if (and.length > 0) result.and = and.map(asObject);
  return result;
}
