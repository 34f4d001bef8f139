import assert from 'node:assert/strict';
import { randomInt } from 'node:crypto';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import type { Json, JsonObject } from '../../config/schema.ts';
import { documentStream } from '../../events/facts/catalogue.ts';
import type { RecordedEvent } from '../../events/facts/log.ts';
import type { Upcaster } from '../../events/facts/upcasters.ts';
import { matchedAt } from '../../projections/past/past.ts';
import { type Documents, openDocuments, registerFunctions } from '../../projections/query/documents.ts';
import type { Keyset } from '../../projections/query/keyset.ts';
import type { ListRequest, Page } from '../../projections/query/lists.ts';
import { preparer } from '../../projections/query/lists.ts';
import { compileSort } from '../../projections/query/sort.ts';
import { compileWhere, type SortKey, type Where } from '../../projections/query/where.ts';
import { openProjector } from '../../projections/tables/projector.ts';
import { createIndexes, createTables, tablesOf } from '../../projections/tables/tables.ts';
import { readSort, type SearchReach } from '../../server/queries/paths.ts';
import { readWhere, readWhereObject } from '../../server/queries/where.ts';
import { openDatabase } from '../../storage/sqlite.ts';
import { category } from '../helpers/category.ts';
import { runsOf, seenOf } from '../helpers/runs.ts';
import {
  asObject,
  documents,
  type End,
  fieldsOf,
  ids,
  indexed,
  level,
  model,
  some,
  sortable,
  timeOf,
} from './filters.ts';
import { asBrackets, compare, matches, type World } from './matching.ts';

const query = fc.record({
  /** Whether the caller may see some of `others` only. */
  hides: fc.boolean(),
  filter: fc.option(level, { freq: 8 }),
  sort: fc.oneof(
    fc.array(fc.record({ end: some(sortable), isDescending: fc.boolean() }), { maxLength: 3 }),
    fc.tuple(fc.record({ end: some(indexed), isDescending: fc.boolean() })),
  ),
  limit: fc.oneof(fc.constant(1), fc.integer({ min: 1, max: 12 })),
  page: fc.integer({ min: 1, max: 4 }),
});

/** All documents, by one index and by two keys: few of them are asked for, and many, however few runs there are. */
function plainQueries() {
  const at = (name: string) => sortable.find(({ path }) => path === name) ?? assert.fail();
  const [id, age, key = assert.fail()] = [at('id'), at('createdAt'), indexed[0]];
  const filter = { conditions: [{ end: id, operator: 'exists', value: true }], or: [], and: [] };
  const by = (...ends: End[]) => ends.map((end) => ({ end, isDescending: false }));
  return [
    { hides: true, filter, sort: by(key), limit: 1, page: 1 },
    { hides: true, filter, sort: by(key, id), limit: 12, page: 2 },
    { hides: true, filter, sort: by(age, key), limit: 12, page: 1 },
  ];
}

/** The number of queries of each world; `npm test` makes fewer. */
const queries = runsOf(90) === 90 ? { minLength: 15, maxLength: 25 } : { minLength: 7, maxLength: 10 };

/** So that few documents find, sort and walk as many would. */
const factors = { few: 2, many: 3 };

/**
 * A read file in memory with these documents in it, and what a caller who may see some of `others` can look through.
 */
function openWorld(things: readonly JsonObject[], others: readonly JsonObject[]) {
  const db = openDatabase(':memory:', { durability: 'off' });
  registerFunctions(db);
  const all = tablesOf(model.schema);
  createTables(db, all);
  createIndexes(db, all);
  const upcaster = { upcast: (_key, _header, data) => data } as Upcaster;
  const events = [...things.map((doc) => ['things', doc] as const), ...others.map((doc) => ['others', doc] as const)];
  const projector = openProjector(db, { tables: all, upcaster });
  const apply = (type: string, those: typeof events, from: number) =>
    projector.apply(
      those.map(([slug, doc], index) => {
        const stream = documentStream(category(slug), String(doc.id));
        const header = { stream, type, version: 1, position: from + index + 1, actor: { type: 'system' } };
        return { header, data: doc };
      }) as unknown as RecordedEvent[],
      Buffer.alloc(32),
    );
  apply('document.created', events, 0);
  const tablesAt = (slug: string) => all.find(({ key }) => key === slug) as (typeof all)[number];
  const reach = (slug: string, filter: Where | null): SearchReach => ({
    tables: tablesAt(slug),
    fields: fieldsOf(slug),
    related: async (other) => ({ reach: reach(other, filter), filter: other === 'others' ? filter : null }),
  });
  /** The ids of those that meet a condition, as a page would have them if none were cut off. */
  function ordered(
    where: Where | null,
    sort: readonly SortKey[],
    onlyIndex: string | null,
    isSorted: boolean,
  ): string[] {
    const tables = tablesAt('things');
    const condition = where ? compileWhere(where, { tables, alias: 'd', onlyIndex }) : { text: '1', values: [] };
    const order = compileSort(sort, tables, 'd');
    const sql = `SELECT d.id FROM ${tables.documents} AS d WHERE ${condition.text} ORDER BY ${isSorted ? order.unindexed : order.text}`;
    return db
      .prepare(sql)
      .pluck()
      .all(...condition.values, ...order.values) as string[];
  }

  /** The ids of those that met a condition before some were removed, asked one by one. */
  function met(where: Where): string[] {
    const isMet = matchedAt(preparer(db), tablesAt('things'), where);
    return things.map(({ id }) => String(id)).filter((id) => isMet(events.length, id));
  }

  function removeSome(): void {
    const some = events.filter((_, index) => index % 3 > 0);
    apply('document.deleted', some, events.length);
  }

  return { db, reach, ordered, met, removeSome, things: openDocuments(db, tablesAt('things'), { factors }) };
}

/** The ids of a list, each page behind the place where the one before has ended. */
function walked(tested: Documents, asked: Pick<ListRequest, 'where' | 'sort' | 'limit'>): string[] {
  const ids: string[] = [];
  let mark: Keyset | null = null;
  for (;;) {
    const page: Page = tested.list({ ...asked, page: 1, after: { mark, isEach: ids.length % 2 === 0 }, count: 'none' });
    ids.push(...page.texts.map((one) => JSON.parse(one).id));
    if (!page.hasNext) return ids;
    mark = page.marks?.at(-1) ?? assert.fail('there is no place');
  }
}

const seed = Number(process.env.TEST_SEED ?? randomInt(2 ** 31));

describe(`where, sort and pages against a plain filter (TEST_SEED=${seed})`, () => {
  it('give the same documents in the same order with the same total, in both notations', async () => {
    const counts = { queries: 0, found: 0, empty: 0, hidden: 0, sorted: 0, indexed: 0, few: 0, many: 0 };
    const world = fc.tuple(documents('things'), documents('others'));
    await fc.assert(
      fc.asyncProperty(world, fc.array(query, queries), async ([things, others], list) => {
        const { db, reach, things: tested, ordered, met, removeSome } = openWorld(things, others);
        const asked: { where: Where; expected: string[]; what: string }[] = [];
        try {
          const rule = await readWhereObject({ flag: { not_equals: true } }, reach('others', null));
          for (const { hides, filter, sort, limit, page } of list) {
            const isShown = (doc: JsonObject, slug: string) => slug === 'things' || !hides || doc.flag !== true;
            const naive: World = { things, others, isShown };
            const caller = reach('things', hides ? rule : null);
            const object = filter && asObject(filter);
            const where = object && (await readWhere({ where: JSON.stringify(object) }, caller));
            if (object) {
              const brackets = Object.fromEntries(asBrackets(object));
              // A value of a list that holds a comma can only be given twice in brackets.
              const same = JSON.stringify(await readWhere(brackets, caller));
              if (!Object.values(brackets).some(Array.isArray)) assert.equal(same, JSON.stringify(where));
            }
            const text = sort.map(({ end, isDescending }) => (isDescending ? '-' : '') + end.path).join(',');
            const { keys, problems } = sort.length > 0 ? await readSort(text, caller) : { keys: [], problems: [] };
            assert.deepEqual(problems, []);

            const expected = things
              .filter((doc) => !filter || matches(naive, doc, filter))
              .toSorted((a, b) => compare(naive, sort, a, b))
              .map(({ id }) => String(id));
            const found = tested.list({ where, sort: keys, limit, page });
            const shown = found.texts.map((one) => JSON.parse(one).id);
            const what = `${JSON.stringify(object)} sort=${text} limit=${limit} page=${page}`;
            assert.equal(found.total, expected.length, what);
            assert.deepEqual(shown, expected.slice((page - 1) * limit, page * limit), what);
            const whole = tested.list({ where, sort: keys, limit: -1, page: 1 });
            assert.deepEqual(
              whole.texts.map((one) => JSON.parse(one).id),
              expected,
              `${what}, all of them`,
            );
            // By whatever index, the order is the same.
            const { index } = compileSort(keys, caller.tables, 'd');
            assert.deepEqual(ordered(where, keys, index, false), expected, `${what} by the index of ${index}`);
            assert.deepEqual(ordered(where, keys, null, true), expected, `${what} by no index of the order`);
            if (index !== null && index !== 'id') counts.indexed += 1;
            const uncounted = tested.list({ where, sort: keys, limit, page, count: 'none' });
            assert.deepEqual(uncounted.texts, found.texts, what);
            assert.equal(uncounted.hasNext, found.hasNext, what);
            assert.equal(found.hasNext, expected.length > limit * page, what);
            if (counts.queries % 3 === 0)
              assert.deepEqual(walked(tested, { where, sort: keys, limit }), expected, `${what}, place after place`);
            assert.equal(tested.count(where), expected.length, what);
            if (where) {
              assert.deepEqual([...tested.some(ids.things, where).keys()].sort(), expected.toSorted(), what);
              const [first = ''] = ids.things;
              assert.equal(tested.matches(first, where), expected.includes(first), what);
              if (counts.queries % 12 === 0) asked.push({ where, expected, what });
            }
            counts.queries += 1;
            counts[expected.length === 0 ? 'empty' : 'found'] += 1;
            if (hides) counts.hidden += 1;
            if (sort.length > 1) counts.sorted += 1;
            if (where && found.texts.length > 0) {
              if (found.total < factors.few * page * limit) counts.few += 1;
              if (found.total > factors.many * page * limit) counts.many += 1;
            }
          }
          removeSome();
          for (const { where, expected, what } of asked)
            assert.deepEqual(met(where).sort(), expected.toSorted(), `${what}, one by one as of then`);
        } finally {
          db.close();
        }
      }),
      {
        seed,
        numRuns: runsOf(90),
        endOnFailure: false,
        examples: [[fc.sample(world, { seed, numRuns: 1 })[0] ?? assert.fail(), plainQueries()]],
      },
    );
    // A case that never came up was not tested.
    for (const [name, count] of Object.entries(counts)) assert.ok(count >= seenOf(20, 90), `${name}: ${count}`);
  });

  it('never fail over values that are of another type than their field is by now', async () => {
    const strange = some<Json>([
      'x',
      5,
      true,
      {},
      ['x'],
      [5, null],
      [[{}]],
      { word: ['x'] },
      [{ word: 5, inner: 'x' }],
    ]);
    const named = fieldsOf('things').map(({ name }) => [name, fc.option(strange, { nil: null })] as const);
    const document = fc.record(Object.fromEntries(named));
    await fc.assert(
      fc.asyncProperty(fc.array(document, { minLength: 5, maxLength: 8 }), fc.array(query), async (docs, list) => {
        const things = docs.map((doc, index): JsonObject => {
          return { id: ids.things[index] ?? '', createdAt: timeOf(index), updatedAt: timeOf(index), ...doc };
        });
        const { db, reach, things: tested } = openWorld(things, []);
        try {
          const caller = reach('things', null);
          for (const { filter, sort } of list) {
            const where = filter && (await readWhere({ where: JSON.stringify(asObject(filter)) }, caller));
            const text = sort.map(({ end }) => end.path).join(',');
            const keys = text === '' ? [] : (await readSort(text, caller)).keys;
            tested.list({ where, sort: keys, limit: 10, page: 1 });
          }
        } finally {
          db.close();
        }
      }),
      { seed, numRuns: runsOf(100) },
    );
  });
});
