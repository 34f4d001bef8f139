import assert from 'node:assert/strict';
import { randomInt } from 'node:crypto';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { checkConfig } from '../../config/check.ts';
import type { JsonObject } from '../../config/schema.ts';
import { documentStream } from '../../events/facts/catalogue.ts';
import type { RecordedEvent } from '../../events/facts/log.ts';
import type { Upcaster } from '../../events/facts/upcasters.ts';
import { type Documents, openDocuments, registerFunctions } from '../../projections/query/documents.ts';
import type { Keyset } from '../../projections/query/keyset.ts';
import type { ListRequest, Page } from '../../projections/query/lists.ts';
import type { Shown } from '../../projections/query/overlay.ts';
import { openOverlay } from '../../projections/query/overlay-documents.ts';
import type { Where } from '../../projections/query/where.ts';
import { openProjector } from '../../projections/tables/projector.ts';
import { createIndexes, createTables, type Tables, tablesOf } from '../../projections/tables/tables.ts';
import { readSort, type SearchReach } from '../../server/queries/paths.ts';
import { readWhere, readWhereObject } from '../../server/queries/where.ts';
import { openDatabase } from '../../storage/sqlite.ts';
import { category } from '../helpers/category.ts';
import { runsOf, seenOf } from '../helpers/runs.ts';
import { asObject, config, documents, fieldsOf, indexed, level, type Slug, some, sortable } from './filters.ts';
import { compare, matches, type World } from './matching.ts';

// The view of drafts over random collections of which some documents are public, some changed, and some drafts alone.

const collections = (config.collections ?? []).map((collection) => ({ ...collection, drafts: true }));
const { schema } = checkConfig({ ...config, collections });

type State = 'public' | 'changed' | 'draft' | 'gone';

/** A document: what is public of it, and its draft; null for none. */
type Both = { id: string; published: JsonObject | null; draft: JsonObject | null };

function lines(slug: Slug): fc.Arbitrary<Both[]> {
  const states = fc.array(some<State>(['public', 'changed', 'draft', 'gone']), { minLength: 24, maxLength: 24 });
  return fc.tuple(documents(slug), documents(slug), states).map(([publics, drafts, kinds]) =>
    publics.map((published, index): Both => {
      const kind = kinds[index] ?? 'public';
      const draft = { ...published, ...drafts[index], createdAt: published.createdAt ?? null };
      return {
        id: String(published.id),
        published: kind === 'public' || kind === 'changed' ? published : null,
        draft: kind === 'changed' || kind === 'draft' ? draft : null,
      };
    }),
  );
}

const query = fc.record({
  filter: fc.option(level, { freq: 6 }),
  sort: fc.oneof(
    fc.array(fc.record({ end: some(sortable), isDescending: fc.boolean() }), { maxLength: 3 }),
    fc.tuple(fc.record({ end: some(indexed), isDescending: fc.boolean() })),
  ),
  limit: fc.oneof(fc.constant(1), fc.integer({ min: 1, max: 12 })),
  page: fc.integer({ min: 1, max: 4 }),
});

const queries = runsOf(60) === 60 ? { minLength: 12, maxLength: 20 } : { minLength: 6, maxLength: 9 };

/** Which conditions hide drafts, and public documents. */
const hiding = fc.record({ under: fc.boolean(), over: fc.boolean() });

/** So that few documents find, sort and walk as many would. */
const factors = { few: 2, many: 3 };

async function openWorld(all: Record<Slug, readonly Both[]>, hides: { under: boolean; over: boolean }) {
  const db = openDatabase(':memory:', { durability: 'off' });
  registerFunctions(db);
  const tables = tablesOf(schema);
  createTables(db, tables);
  createIndexes(db, tables);
  const projector = openProjector(db, { tables, upcaster: { upcast: (_key, _header, data) => data } as Upcaster });
  const events: { stream: string; type: string; data: JsonObject; version: number }[] = [];
  for (const slug of ['things', 'others'] as const) {
    for (const { id, published, draft } of all[slug]) {
      const stream = documentStream(category(slug), id);
      const record = (type: string, data: JsonObject, version: number) => events.push({ stream, type, data, version });
      if (published) record('document.created', published, 1);
      if (published && draft) record('document.draft.updated', { set: draft }, 2);
      if (!published && draft) record('document.draft.created', draft, 1);
    }
  }
  projector.apply(
    events.map(({ data, ...header }, index) => {
      const recordedAt = '2026-01-01T00:00:00.000Z';
      return { header: { ...header, position: index + 1, actor: { type: 'system' }, recordedAt }, data };
    }) as unknown as RecordedEvent[],
    Buffer.alloc(32),
  );
  const tablesAt = (key: string) => tables.find((one) => one.key === key) as Tables;
  const plain = (slug: string): SearchReach => ({
    tables: tablesAt(slug),
    fields: fieldsOf(slug),
    related: async (other) => ({ reach: plain(other), filter: null }),
  });
  const flagged = (slug: string) => readWhereObject({ flag: { not_equals: true } }, plain(slug));
  const open = async (slug: string) => {
    const shown: Shown = {
      under: hides.under ? await flagged(slug) : null,
      over: hides.over ? await flagged(slug) : null,
    };
    const [under, over] = [tablesAt(slug), tablesAt(`${slug}#draft`)];
    const layers = { under: openDocuments(db, under, { factors }), over: openDocuments(db, over, { factors }) };
    return openOverlay(db, { under, over, documents: layers, interruptible: () => layers })(shown);
  };
  const views = { things: await open('things'), others: await open('others') };
  const reach = (slug: string): SearchReach => ({
    tables: views[slug as Slug].tables,
    fields: fieldsOf(slug),
    related: async (other) => ({ reach: reach(other), filter: null }),
  });
  return { db, reach, documents: views.things.documents };
}

/** The documents of the view: the draft if it is shown, else the public document if that is. */
function shownOf(all: readonly Both[], hides: { under: boolean; over: boolean }): JsonObject[] {
  return all.flatMap(({ published, draft }) => {
    if (draft && !(hides.over && draft.flag === true)) return [draft];
    return published && !(hides.under && published.flag === true) ? [published] : [];
  });
}

function walked(tested: Documents, asked: Pick<ListRequest, 'where' | 'sort' | 'limit'>): string[] {
  const found: string[] = [];
  let mark: Keyset | null = null;
  for (;;) {
    const page: Page = tested.list({
      ...asked,
      page: 1,
      after: { mark, isEach: found.length % 2 === 0 },
      count: 'none',
    });
    found.push(...page.texts.map((one) => JSON.parse(one).id));
    assert.ok(found.length <= 100, 'the pages have no end');
    if (!page.hasNext) return found;
    mark = page.marks?.at(-1) ?? assert.fail('there is no place');
  }
}

const seed = Number(process.env.TEST_SEED ?? randomInt(2 ** 31));

describe(`The view of drafts against a plain filter (TEST_SEED=${seed})`, () => {
  it('gives the same documents in the same order with the same total, page by page', async () => {
    const counts = { queries: 0, found: 0, empty: 0, walked: 0, hops: 0 };
    await fc.assert(
      fc.asyncProperty(
        fc.tuple(lines('things'), lines('others')),
        hiding,
        fc.array(query, queries),
        async ([things, others], hides, list) => {
          const { db, reach, documents: tested } = await openWorld({ things, others }, hides);
          try {
            const world: World = {
              things: shownOf(things, hides),
              others: shownOf(others, hides),
              isShown: () => true,
            };
            for (const { filter, sort, limit, page } of list) {
              const object = filter && asObject(filter);
              const where: Where | null =
                object && (await readWhere({ where: JSON.stringify(object) }, reach('things')));
              const text = sort.map(({ end, isDescending }) => (isDescending ? '-' : '') + end.path).join(',');
              const { keys } = sort.length > 0 ? await readSort(text, reach('things')) : { keys: [] };
              const expected = world.things
                .filter((doc) => !filter || matches(world, doc, filter))
                .toSorted((a, b) => compare(world, sort, a, b));
              const ids = expected.map(({ id }) => String(id));
              const what = `${JSON.stringify(object)} sort=${text} limit=${limit} page=${page}`;
              const found = tested.list({ where, sort: keys, limit, page });
              assert.equal(found.total, ids.length, what);
              const documents = found.texts.map((one) => JSON.parse(one));
              assert.deepEqual(
                documents.map(({ id }) => id),
                ids.slice((page - 1) * limit, page * limit),
                what,
              );
              // The right one of the two states.
              for (const document of documents)
                assert.equal(document.updatedAt, expected.find(({ id }) => id === document.id)?.updatedAt, what);
              assert.equal(found.hasNext, ids.length > limit * page, what);
              const whole = tested.list({ where, sort: keys, limit: -1, page: 1 });
              assert.deepEqual(
                whole.texts.map((one) => JSON.parse(one).id),
                ids,
                `${what}, all of them`,
              );
              const uncounted = tested.list({ where, sort: keys, limit, page, count: 'none' });
              assert.deepEqual(uncounted.texts, found.texts, what);
              assert.equal(uncounted.hasNext, found.hasNext, what);
              if (counts.queries % 3 === 0) {
                assert.deepEqual(walked(tested, { where, sort: keys, limit }), ids, `${what}, place after place`);
                counts.walked += 1;
              }
              assert.equal(tested.count(where), ids.length, what);
              if (where) {
                const every = things.map(({ id }) => id);
                assert.deepEqual([...tested.some(every, where).keys()].sort(), ids.toSorted(), what);
                const [first = ''] = every;
                assert.equal(tested.matches(first, where), ids.includes(first), what);
              }
              counts.queries += 1;
              counts[ids.length === 0 ? 'empty' : 'found'] += 1;
              if (JSON.stringify(where ?? null).includes('"related"')) counts.hops += 1;
            }
            for (const { id } of things) {
              const shown = world.things.find((one) => one.id === id);
              assert.equal(tested.exists(id), shown !== undefined);
              assert.equal(tested.current(id)?.document.updatedAt, shown?.updatedAt);
            }
          } finally {
            db.close();
          }
        },
      ),
      { seed, numRuns: runsOf(60), endOnFailure: false },
    );
    // A case that never came up was not tested.
    for (const [name, count] of Object.entries(counts)) assert.ok(count >= seenOf(10, 60), `${name}: ${count}`);
  });
});
