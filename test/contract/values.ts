import fc from 'fast-check';
import type { OpenApi } from '../helpers/contract.ts';

type Arbitrary = fc.Arbitrary<unknown>;

/** Texts that the service takes: without NUL, and well-formed. */
const text = fc.string({ unit: 'grapheme', maxLength: 60 }).map((value) => value.replaceAll('\0', ''));
const json = fc
  .jsonValue({ maxDepth: 3, stringUnit: 'grapheme' })
  .map((value) => JSON.parse(JSON.stringify(value).replaceAll('\\u0000', '')));

const formats: Record<string, Arbitrary> = {
  uuid: fc.uuid(),
  date: fc
    .date({ min: new Date('0001-01-01'), max: new Date('9999-12-31'), noInvalidDate: true })
    .map((date) => date.toISOString().slice(0, 10)),
  'date-time': fc.date({ noInvalidDate: true }).map((date) => date.toISOString()),
  password: fc.string({ unit: 'grapheme-ascii', minLength: 8, maxLength: 60 }),
};

/** Below this, nothing goes in that can be left out. */
const maxDepth = 4;

/**
 * Values that fit a schema of a document, as far as the keywords go that the documents have.
 *
 * @param idOf the id of a document that there is in a collection.
 */
export function valuesOf(
  document: OpenApi,
  idOf: (slug: string) => string | undefined,
): (schema: OpenApi) => Arbitrary {
  function idsOf({ description = '' }: OpenApi): Arbitrary {
    const [, slug = ''] = /^The id of a document of (\S+)\.$/.exec(description) ?? [];
    const id = idOf(slug);
    return id === undefined
      ? fc.uuid()
      : fc.oneof({ weight: 9, arbitrary: fc.constant(id) }, { weight: 1, arbitrary: fc.uuid() });
  }

  function of(schema: OpenApi, depth = 0): Arbitrary {
    if (schema.$ref) return of(resolve(document, schema.$ref), depth);
    const value = withoutNull(schema, depth);
    return schema.nullable ? fc.option(value, { nil: null, freq: 4 }) : value;
  }

  function withoutNull(schema: OpenApi, depth: number): Arbitrary {
    if (schema.enum) return fc.constantFrom(...schema.enum);
    const branches = schema.oneOf ?? (schema.type ? undefined : schema.anyOf);
    if (branches) return fc.oneof(...branches.map((branch: OpenApi) => of(branch, depth)));
    switch (schema.type) {
      case 'string':
        return textOf(schema);
      case 'integer':
        return wholeOf(schema);
      case 'number':
        return fc
          .double({ min: schema.minimum ?? -1e9, max: schema.maximum ?? 1e9, noNaN: true })
          .map((value) => value + 0);
      case 'boolean':
        return fc.boolean();
      case 'array':
        return listOf(schema, depth);
      case 'object':
        return objectOf(schema, depth);
      default:
        return json;
    }
  }

  function wholeOf({ minimum = -1000, maximum = 1000 }: OpenApi): Arbitrary {
    const min = Math.max(minimum, -(2 ** 31));
    const max = Math.min(maximum, 2 ** 31);
    return fc.oneof(fc.integer({ min, max: Math.min(max, min + 1) }), fc.integer({ min, max }));
  }

  function textOf(schema: OpenApi): Arbitrary {
    const { format, pattern, example, minLength = 0, maxLength = 60 } = schema;
    if (format === 'uuid') return idsOf(schema);
    if (pattern) {
      const formed = fc.stringMatching(new RegExp(pattern, 'u')).filter((value) => [...value].length <= maxLength);
      if (example === undefined) return formed;
      // A form may be more than a pattern says.
      const named = fc
        .stringMatching(/^[a-z0-9]{10}$/)
        .map((name) => (example.includes('@') ? name + example : example));
      return fc.oneof({ weight: 4, arbitrary: named }, { weight: 1, arbitrary: formed });
    }
    if (format && formats[format]) return formats[format];
    return text.filter((value) => [...value].length >= minLength && [...value].length <= maxLength);
  }

  function listOf({ items, minItems = 0, maxItems = 3, uniqueItems }: OpenApi, depth: number): Arbitrary {
    const sizes = { minLength: minItems, maxLength: depth >= maxDepth ? minItems : Math.min(maxItems, minItems + 2) };
    const item = of(items, depth + 1);
    return uniqueItems ? fc.uniqueArray(item, sizes) : fc.array(item, sizes);
  }

  function objectOf({ properties = {}, required = [], minProperties = 0 }: OpenApi, depth: number): Arbitrary {
    const names = Object.keys(properties).filter(
      (name) => depth < maxDepth || required.includes(name) || minProperties > 0,
    );
    const members = Object.fromEntries(names.map((name) => [name, of(properties[name], depth + 1)]));
    return fc
      .record(members, { requiredKeys: required, noNullPrototype: true })
      .filter((value) => Object.keys(value).length >= minProperties);
  }

  return (schema) => of(schema);
}

function resolve(document: OpenApi, ref: string): OpenApi {
  const [, , , name = ''] = ref.split('/');
  return document.components.schemas[name];
}

const deepMark = '\ue000 deep';
/** So deep that a function that calls itself for each level may find no end: ours do too, so it is put in at last. */
const deepText = `${'['.repeat(5000)}${']'.repeat(5000)}`;

/** A value as JSON. */
export function inJson(value: unknown): string {
  return (JSON.stringify(value) ?? 'null').replaceAll(JSON.stringify(deepMark), deepText);
}

const hostile: readonly unknown[] = [
  null,
  true,
  false,
  0,
  -1,
  1.5,
  1e300,
  -(2 ** 53),
  '',
  ' ',
  'x',
  '\0',
  '\ud800',
  'x'.repeat(5000),
  "'; DROP TABLE events; --",
  '2024-02-30',
  [],
  [null],
  {},
  { $ne: null },
  { equals: 'x' },
  { length: 3, toString: 'x', constructor: null },
  JSON.parse('{"__proto__": {"isAdmin": true}}'),
  deepMark,
];
const names = ['x', '__proto__', 'constructor', 'toString', 'Id', '', 'a.b', 'password ', '\ud800', 'x'.repeat(300)];

/**
 * The intended value with one difference: a member more, less or of another name, or some value that does not belong.
 */
export function mutated(value: Arbitrary): Arbitrary {
  const nature = fc.record({
    value,
    at: fc.nat(),
    how: fc.constantFrom('put', 'add', 'drop', 'rename'),
    what: fc.constantFrom(...hostile),
    name: fc.constantFrom(...names),
  });
  return nature.map(({ value, at, how, what, name }) => {
    const places = placesIn(value);
    const path = places[at % places.length] ?? [];
    return change(value, path, (inner) => {
      if (how === 'put' || !isObject(inner)) return what;
      const entries = Object.entries(inner);
      const which = at % Math.max(entries.length, 1);
      if (how === 'add') return objectFrom([...entries, [name, what]]);
      if (how === 'drop') return objectFrom(entries.filter((_, index) => index !== which));
      return objectFrom(entries.map(([key, one], index) => [index === which ? name : key, one]));
    });
  });
}

/** Objects whose keys are their own, whatever they are called. */
function objectFrom(entries: readonly (readonly [string, unknown])[]): object {
  const object = {};
  for (const [key, value] of entries)
    Object.defineProperty(object, key, { value, enumerable: true, configurable: true, writable: true });
  return object;
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The paths of all that is in a value, itself first. */
function placesIn(value: unknown, path: readonly string[] = []): (readonly string[])[] {
  if (typeof value !== 'object' || value === null || path.length > 5) return [path];
  return [path, ...Object.entries(value).flatMap(([key, inner]) => placesIn(inner, [...path, key]))];
}

function change(value: unknown, [first, ...rest]: readonly string[], how: (inner: unknown) => unknown): unknown {
  if (first === undefined) return how(value);
  if (Array.isArray(value)) return value.map((one, index) => (String(index) === first ? change(one, rest, how) : one));
  const entries = Object.entries(value as object);
  return objectFrom(entries.map(([key, one]) => [key, key === first ? change(one, rest, how) : one]));
}
