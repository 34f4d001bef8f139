import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import fc from 'fast-check';
import { matches } from '../../admin/src/pages/document/form/condition.ts';
import { useServiceHere } from '../helpers/embedded.ts';
import { request } from '../helpers/requests.ts';

describe('a condition', () => {
  const values = {
    title: 'Harbour',
    count: 3,
    isOpen: false,
    day: '2026-03-01',
    at: '2026-03-01T10:00:00+01:00',
    time: '23:59',
    topics: ['sport', 'culture'],
    none: null,
    place: { city: 'Kiel' },
    items: [
      { name: 'a', size: 1 },
      { name: 'b', size: null },
    ],
  };
  const cases: [object, boolean][] = [
    [{}, true],
    [{ title: { equals: 'Harbour' } }, true],
    [{ title: { equals: 'harbour' } }, false],
    [{ title: { like: 'HARB' } }, true],
    [{ title: { in: ['x', 'Harbour'] } }, true],
    [{ title: { in: 'x,Harbour' } }, true],
    [{ title: { not_in: ['Harbour'] } }, false],
    [{ none: { not_in: ['Harbour'] } }, true],
    [{ none: { not_equals: 'x' } }, true],
    [{ none: { equals: null } }, true],
    [{ missing: { exists: false } }, true],
    [{ count: { greater_than: 2, less_than_equal: 3 } }, true],
    [{ count: { greater_than: '10' } }, false],
    [{ count: { equals: '3' } }, true],
    [{ none: { less_than: 5 } }, false],
    [{ isOpen: { equals: false } }, true],
    [{ isOpen: { equals: 'false' } }, true],
    [{ day: { less_than: '2026-03-02' } }, true],
    [{ at: { equals: '2026-03-01T09:00:00Z' } }, true],
    [{ at: { greater_than: '2026-03-01T09:30:00Z' } }, false],
    [{ time: { equals: '23:59:00' } }, true],
    [{ topics: { contains: 'sport' } }, true],
    [{ topics: { in: ['science', 'culture'] } }, true],
    [{ topics: { exists: true } }, true],
    [{ 'place.city': { equals: 'Kiel' } }, true],
    [{ 'title.city': { exists: true } }, false],
    [{ 'items.name': { equals: 'b' } }, true],
    [{ 'items.name': { not_equals: 'b' } }, false],
    [{ 'items.size': { greater_than: 0 } }, true],
    [{ 'items.0.name': { equals: 'b' } }, false],
    [{ or: [{ count: { equals: 1 } }, { title: { exists: true } }] }, true],
    [{ and: [{ count: { equals: 3 } }, { title: { exists: false } }] }, false],
    [{ or: [{ count: { equals: 1 } }], title: { exists: true } }, false],
    [{ '__proto__.toString': { exists: true } }, false],
  ];
  for (const [where, expected] of cases) {
    it(`${JSON.stringify(where)} is ${expected}`, () => assert.equal(matches(where, values), expected));
  }

  it('that cannot be understood shows the field', () => {
    for (const where of [null, 'x', 3, { title: { equls: 'x' } }, { and: 'x' }, { or: 'x' }])
      assert.ok(matches(where, values));
  });
});

const words = ['a', 'Ab', 'ab', 'b,c', 'é', 'ß'];
const numbers = [-1, 0, 1.5, 2];
const days = ['2025-12-31', '2026-01-01', '2026-02-28'];
const moments = ['2026-01-01T00:00:00.000Z', '2026-01-01T12:00:00.000Z', '2026-01-02T00:00:00.000Z'];
const times = ['00:00', '12:30', '23:59'];
const topics = ['sport', 'culture', 'science'];

/** The operators of single values, and those of ranges and lists. */
const single = ['equals', 'not_equals', 'in', 'not_in', 'exists'];
const ranges = ['greater_than', 'less_than', 'greater_than_equal', 'less_than_equal'];
const kinds = {
  text: { values: words, operators: [...single, 'like'] },
  number: { values: numbers, operators: [...single, ...ranges] },
  isOpen: { values: [true, false], operators: single },
  day: { values: days, operators: [...single, ...ranges] },
  at: { values: moments, operators: [...single, ...ranges] },
  time: { values: times, operators: [...single, ...ranges] },
  choice: { values: topics, operators: single },
  topics: { values: topics, operators: ['contains', 'in', 'not_in', 'exists'] },
  'place.name': { values: words, operators: [...single, 'like'] },
  'items.name': { values: words, operators: [...single, 'like'] },
} as const;

const leaf = fc.constantFrom(...(Object.keys(kinds) as (keyof typeof kinds)[])).chain((path) => {
  const { values, operators } = kinds[path];
  return fc.constantFrom(...(operators as readonly string[])).chain((operator) => {
    const one = fc.constantFrom(...(values as readonly (string | number | boolean)[]));
    const operand =
      operator === 'exists'
        ? fc.boolean()
        : operator === 'in' || operator === 'not_in'
          ? fc.array(one, { minLength: 1, maxLength: 3 })
          : one;
    return operand.map((value) => ({ [path]: { [operator]: value } }) as object);
  });
});
const where = fc.letrec<{ tree: object }>((tie) => ({
  tree: fc.oneof(
    { maxDepth: 2 },
    leaf,
    fc.array(tie('tree'), { minLength: 1, maxLength: 3 }).map((and) => ({ and })),
    fc.array(tie('tree'), { minLength: 1, maxLength: 3 }).map((or) => ({ or })),
  ),
})).tree;

const orNull = <T>(values: readonly T[]) => fc.option(fc.constantFrom(...values), { nil: null });
const document = fc.record({
  text: orNull(words),
  number: orNull(numbers),
  isOpen: orNull([true, false]),
  day: orNull(days),
  at: orNull(moments),
  time: orNull(times),
  choice: orNull(topics),
  topics: fc.uniqueArray(fc.constantFrom(...topics)),
  place: fc.option(fc.record({ name: orNull(words) }), { nil: null }),
  items: fc.array(fc.record({ name: orNull(words) }), { maxLength: 2 }),
});

describe('a condition beside the same filter', () => {
  const service = useServiceHere({
    collections: [
      {
        slug: 'posts',
        fields: [
          { name: 'text', type: 'text' },
          { name: 'number', type: 'number' },
          { name: 'isOpen', type: 'boolean' },
          { name: 'day', type: 'date' },
          { name: 'at', type: 'datetime' },
          { name: 'time', type: 'time' },
          { name: 'choice', type: 'select', options: topics },
          { name: 'topics', type: 'multiSelect', options: topics },
          { name: 'place', type: 'object', fields: [{ name: 'name', type: 'text' }] },
          { name: 'items', type: 'array', fields: [{ name: 'name', type: 'text' }] },
        ],
      },
    ],
  });
  let docs: { id: string }[] = [];
  before(async () => {
    const made = await service.call('POST', '/api/collections/posts/bulk', {
      docs: fc.sample(document, { numRuns: 60, seed: 20 }),
    });
    assert.equal(made.status, 201, JSON.stringify(made.body));
    docs = (await service.call('GET', '/api/collections/posts?limit=100')).body.docs;
  });

  it('matches the documents that the service finds', async () => {
    const check = fc.asyncProperty(where, async (tree) => {
      const query = `where=${encodeURIComponent(JSON.stringify(tree))}&select=id&limit=100`;
      const { status, body } = await request(service.url, 'GET', `/api/collections/posts?${query}`);
      assert.equal(status, 200, JSON.stringify(body));
      const found = body.docs.map(({ id }: { id: string }) => id).sort();
      const matching = docs.filter((one) => matches(tree, one)).map(({ id }) => id);
      assert.deepEqual(matching.sort(), found);
    });
    await fc.assert(check, { numRuns: 150 });
  });
});
