import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import {
  type Filter,
  filterOf,
  isKept,
  itemOf,
  problemOf,
  readWhere,
  spotOf,
  type Where,
  whereOf,
} from '../../admin/src/pages/list/filter/filter.ts';

const path = fc.constantFrom('title', 'views', 'author.name', '__proto__', 'constructor', 'x');
const operator = fc.constantFrom('equals', 'not_equals', 'in', 'exists', 'toString');
const value = fc.oneof(fc.constantFrom(1, 2, 'a', true, null), fc.array(fc.constantFrom(1, 'a'), { maxLength: 2 }));
const named = (name: string, inner: unknown) => Object.fromEntries([[name, inner]]);

/** Conditions as the service takes them, and some that no chip can show. */
const { where } = fc.letrec<{ where: Where; list: Where[] }>((tie) => ({
  list: fc.array(tie('where'), { maxLength: 3 }),
  where: fc
    .array(
      fc.oneof(
        { weight: 4, arbitrary: fc.tuple(path, fc.dictionary(operator, value, { maxKeys: 2, noNullPrototype: true })) },
        { weight: 1, arbitrary: fc.tuple(fc.constantFrom('and', 'or'), tie('list')) },
        { weight: 1, arbitrary: fc.tuple(fc.constantFrom('and', 'or', 'title'), value) },
      ),
      { maxLength: 3 },
    )
    .map((entries) => Object.fromEntries(entries)),
}));

const isObject = (one: unknown): one is Where => typeof one === 'object' && one !== null && !Array.isArray(one);

/** Whether a condition holds, if `truth` decides each comparison of one chip. */
function holds(condition: Where, truth: (...fact: unknown[]) => boolean): boolean {
  return Object.entries(condition).every(([name, inner]) => {
    const list = Array.isArray(inner) && inner.length > 0 && inner.every(isObject) ? inner : null;
    if (list !== null && name === 'and') return list.every((one) => holds(one, truth));
    if (list !== null && name === 'or') return list.some((one) => holds(one, truth));
    if (!isObject(inner) || Object.keys(inner).length === 0) return truth(name, inner);
    if (name === 'and' || name === 'or') return truth(name, inner);
    return Object.entries(inner).every(([one, wanted]) => truth(name, one, wanted));
  });
}

const chip = fc.record({ path, operator, value }, { noNullPrototype: true });
const kept = where.filter((one) => Object.keys(one).length > 0).map(itemOf);
const filter: fc.Arbitrary<Filter> = fc.record(
  {
    joint: fc.constantFrom('all' as const, 'any' as const),
    items: fc.array(fc.oneof({ weight: 3, arbitrary: chip }, kept), { minLength: 1, maxLength: 4 }),
  },
  { noNullPrototype: true },
);

describe('the filter of a list', () => {
  it('comes back from the condition that it was written as, whatever it holds', () => {
    fc.assert(
      fc.property(filter, (one) => {
        assert.deepEqual(filterOf(whereOf(one)), one);
      }),
    );
  });

  it('means the same as the condition that it was read from', () => {
    fc.assert(
      fc.property(where, fc.func(fc.boolean()), (one, truth) => {
        assert.equal(holds(whereOf(filterOf(one)) ?? {}, truth), holds(one, truth));
      }),
      { numRuns: 1_000 },
    );
  });

  it('is the same after it went through the text of an address', () => {
    fc.assert(
      fc.property(filter, (one) => {
        const text = JSON.stringify(whereOf(one));
        assert.deepEqual(filterOf(readWhere(text).where), one);
      }),
    );
  });

  it('shows conditions on several fields as chips of which all hold', () => {
    const read = filterOf({ landlocked: { equals: true }, area: { greater_than: 1, less_than: 9 } });
    assert.deepEqual(read, {
      joint: 'all',
      items: [
        { path: 'landlocked', operator: 'equals', value: true },
        { path: 'area', operator: 'greater_than', value: 1 },
        { path: 'area', operator: 'less_than', value: 9 },
      ],
    });
    const twice = {
      and: [{ landlocked: { equals: true } }, named('area', { greater_than: 1 }), named('area', { less_than: 9 })],
    };
    assert.deepEqual(whereOf(read), twice);
  });

  it('keeps what chips cannot show', () => {
    const nested = { landlocked: { equals: true }, or: [{ area: { less_than: 10 } }, { area: { greater_than: 20 } }] };
    const read = filterOf(nested);
    assert.deepEqual(read.items.map(isKept), [false, true]);
    assert.deepEqual(whereOf(read), { and: [{ landlocked: { equals: true } }, { or: nested.or }] });
  });

  it('shows a text that is no object as what it is', () => {
    for (const text of ['{', '[1]', '"a"', '3', 'null']) {
      assert.deepEqual(readWhere(text), { where: null, broken: text });
    }
    assert.deepEqual(readWhere(''), { where: null, broken: null });
    assert.deepEqual(readWhere('{}'), { where: null, broken: null });
  });

  it('finds the chip that the service has named in an error', () => {
    const one = filterOf({ area: { equals: 'x' } });
    assert.equal(spotOf(one, 0), 'where[area]');
    const errors = [{ field: 'where[area][equals]', message: 'where[area][equals]: must be a number' }];
    assert.equal(problemOf(one, 0, errors), 'must be a number');
    const two = filterOf({ or: [{ area: { equals: 1 } }, { populton: { equals: 1 } }] });
    const second = [{ field: 'where[or][1][populton]', message: 'where[or][1][populton]: no field' }];
    assert.deepEqual([problemOf(two, 0, second), problemOf(two, 1, second)], [null, 'no field']);
    assert.equal(problemOf(two, 1, [{ field: 'where[or][10][x]', message: 'other' }]), null);
  });
});
