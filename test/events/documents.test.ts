import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { JsonObject } from '../../config/schema.ts';
import { decideDelete, decideGlobalUpdate, decideRestore, decideUpdate } from '../../events/facts/documents.ts';
import { category } from '../helpers/category.ts';

const noon = Date.parse('2026-11-20T12:00:00.000Z');
const timeAt = (milliseconds: number) => new Date(noon + milliseconds).toISOString();

/** A document of version 3 that was changed at noon. */
const current = (values: JsonObject = {}) => ({
  version: 3,
  document: { id: '1', createdAt: timeAt(-1000), updatedAt: timeAt(0), title: 'a', ...values },
});
const posts = { category: category('posts'), unique: [] };

describe('updatedAt', () => {
  it('is later than the one before, also within a millisecond and after the clock was put back', () => {
    const values = { title: 'b' };
    const source = { version: 1, position: 1 };
    const end = current();
    const restoring = { source, current: end, end, document: { title: 'b' } };
    for (const [at, expected] of [
      [1000, 1000],
      [1, 1],
      [0, 1],
      [-60_000, 1],
    ] as const) {
      const changes = [
        decideUpdate(posts, '1', { current: current(), values, at: noon + at })?.events[0]?.data.set,
        decideGlobalUpdate('site', current(), { values, at: noon + at })?.events[0]?.data.set,
        decideRestore({ ...posts, isGlobal: false }, '1', { ...restoring, at: noon + at })?.events[0]?.data.document,
      ];
      assert.deepEqual(
        changes.map((change) => (change as JsonObject).updatedAt),
        Array(3).fill(timeAt(expected)),
        `${at} ms`,
      );
    }
  });
});

describe('The unique values of a document', () => {
  const target = { ...posts, unique: [{ scope: 'posts.code', path: ['code'], isTime: false }] };
  const before = current({ code: 'x' });
  const claim = (value: string) => ({ scope: 'posts.code', value: JSON.stringify(value) });
  const changed = (values: JsonObject) => {
    const { claims, releases } = decideUpdate(target, '1', { current: before, values, at: noon }) ?? {};
    return { claims, releases };
  };

  it('are given up when it is deleted, and the one before when it is changed or emptied', () => {
    const { claims, releases } = decideDelete(target, '1', before);
    assert.deepEqual({ claims, releases }, { claims: [], releases: [claim('x')] });
    assert.deepEqual(changed({ code: 'y' }), { claims: [claim('y')], releases: [claim('x')] });
    assert.deepEqual(changed({ code: null }), { claims: [], releases: [claim('x')] });
  });

  it('stay as they are when something else is changed', () => {
    assert.deepEqual(changed({ title: 'b', code: 'x' }), { claims: [], releases: [] });
  });
});

describe('A change of values that are there already', () => {
  it('is not recorded, unless it is to be all the same', () => {
    const values = { title: 'a' };
    assert.equal(decideUpdate(posts, '1', { current: current(), values, at: noon }), null);
    assert.equal(decideGlobalUpdate('site', current(), { values, at: noon }), null);
    const same = decideUpdate(posts, '1', { current: current(), values, at: noon, isSame: true });
    assert.deepEqual(same?.events[0]?.data, { set: { title: 'a', updatedAt: timeAt(1) } });
  });
});
