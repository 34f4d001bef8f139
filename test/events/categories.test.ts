import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import type { CollectionSchema, Schema } from '../../config/schema.ts';
import { categoryOf } from '../../config/schema.ts';
import type { Epoch } from '../../events/facts/lineage.ts';
import { formerSlugs, namesOf, settle } from '../../events/service-events/categories.ts';
import { runsOf } from '../helpers/runs.ts';

/** A collection as its author writes it: its slug, and after a `<` the one that it had. */
function schemaOf(...written: string[]): Schema {
  const collections = written.map((text): CollectionSchema => {
    const [slug = '', renamedFrom] = text.split('<');
    return { slug, ...(renamedFrom === undefined ? {} : { renamedFrom }), fields: [] };
  });
  return { collections, globals: [] };
}

/** A log that has streams of these categories, or of all. */
function logWith(categories: ReadonlySet<string> | null) {
  return { hasUnder: (prefix: string) => categories === null || categories.has(prefix.slice(0, -1)) };
}

/** The schemas of a log, each settled by those before it. */
function epochsOf(...schemas: Schema[]): Epoch[] {
  const epochs: Epoch[] = [];
  for (const schema of schemas) {
    const { schema: settled } = settle(epochs, schema, logWith(null));
    epochs.push({ position: epochs.length + 1, schema: settled });
  }
  return epochs;
}

function recordedIn(schemas: Schema[], next: Schema): string[] {
  const { schema } = settle(epochsOf(...schemas), next, logWith(null));
  return schema.collections.map((one) => `${one.slug}: ${categoryOf(one)}`);
}

describe('the category of a collection', () => {
  it('is its slug, which a schema does not say', () => {
    const schema = schemaOf('posts', 'users');
    assert.deepEqual(settle([], schema, logWith(null)), { schema, problems: [], refusals: [] });
  });

  it('stays under each new name, whether it says renamedFrom still or not', () => {
    const renames = ['posts', 'articles<posts', 'articles', 'essays<articles', 'posts<essays', 'posts'].map((one) =>
      schemaOf(one),
    );
    for (const [index, next] of renames.entries()) {
      const slug = next.collections[0]?.slug;
      assert.deepEqual(recordedIn(renames.slice(0, index), next), [`${slug}: posts`]);
    }
  });

  it('stays while the collection is away', () => {
    const gone = [schemaOf('posts', 'tags'), schemaOf('tags')];
    assert.deepEqual(recordedIn(gone, schemaOf('tags', 'articles<posts')), ['tags: tags', 'articles: posts']);
    const late = [...gone, schemaOf('tags', 'articles<posts'), schemaOf('tags')];
    assert.deepEqual(recordedIn(late, schemaOf('articles', 'tags')), ['articles: posts', 'tags: tags']);
  });

  it('is that of an earlier name alone if the collection has nothing of its own', () => {
    const epochs = epochsOf(schemaOf('posts'), schemaOf('articles'));
    const next = schemaOf('articles<posts');
    const empty = settle(epochs, next, logWith(new Set(['posts'])));
    assert.deepEqual([empty.schema.collections[0]?.category, empty.problems], ['posts', []]);
    for (const own of ['articles', 'accounts/articles']) {
      const { schema, problems } = settle(epochs, next, logWith(new Set(['posts', own])));
      assert.deepEqual(schema, next);
      assert.match(problems.join(), /^articles\.renamedFrom: articles has documents of its own/);
    }
    // From then on the empty one is no more.
    const after = [...epochs, { position: 3, schema: empty.schema }];
    assert.deepEqual(settle(after, schemaOf('articles'), logWith(null)).schema.collections[0]?.category, 'posts');
  });

  it('is not that of another collection but for its case, which tables do not tell apart', () => {
    const epochs = epochsOf(schemaOf('Posts'), schemaOf('posts'));
    const { refusals } = settle(epochs, schemaOf('posts', 'news<Posts'), logWith(null));
    assert.deepEqual(refusals, [
      'posts and news are recorded under names that differ in their case alone, and cannot be there together',
    ]);
    assert.deepEqual(settle(epochs, schemaOf('news<Posts'), logWith(null)).refusals, []);
  });

  it('goes with its collection through any renames, and no two have one', () => {
    const step = fc.record({
      what: fc.constantFrom('add', 'rename', 'rename', 'remove', 'return', 'forget'),
      pick: fc.nat(20),
      slug: fc.constantFrom('a', 'b', 'c', 'd', 'e'),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 30 }), (steps) => {
        const epochs: Epoch[] = [];
        // Each collection by its identity, not by its name.
        const known: { slug: string; from: string | null; isThere: boolean; category: string | null }[] = [];
        for (const { what, pick, slug } of steps) {
          const before = structuredClone(known);
          const there = known.filter(({ isThere }) => isThere);
          const one = (what === 'return' ? known : there)[pick % Math.max(1, known.length)];
          if (what === 'add') known.push({ slug, from: null, isThere: true, category: null });
          else if (!one) continue;
          else if (what === 'rename') Object.assign(one, { slug, from: one.slug });
          else if (what === 'remove') one.isThere = false;
          else if (what === 'return') one.isThere = true;
          else one.from = null;
          const next = known.filter(({ isThere }) => isThere);
          const written = next.map(({ slug, from }) => (from === null ? slug : `${slug}<${from}`));
          const slugs = new Set(next.map((each) => each.slug));
          // Refused by the check of the configuration alone; and names that mean another collection.
          const isAmbiguous =
            slugs.size < next.length ||
            next.some(({ from }) => from !== null && slugs.has(from)) ||
            known.some((each) => !each.isThere && slugs.has(each.slug)) ||
            known.filter(({ slug }) => next.some(({ from }) => from === slug)).length > 0;
          const { schema, problems, refusals } = settle(epochs, schemaOf(...written), logWith(null));
          if (isAmbiguous || problems.length > 0 || refusals.length > 0) {
            known.splice(0, known.length, ...before);
            continue;
          }
          for (const [index, each] of next.entries()) {
            const category = categoryOf(schema.collections[index] as CollectionSchema);
            if (each.category !== null) assert.equal(category, each.category);
            each.category = category;
          }
          assert.equal(new Set(known.map(({ category }) => category)).size, known.length);
          epochs.push({ position: epochs.length + 1, schema });
          // Most authors drop it sooner or later.
          if (pick % 2 === 0) for (const each of known) each.from = null;
          assert.deepEqual(settle(epochs, schema, logWith(null)), { schema, problems: [], refusals: [] });
        }
      }),
      { numRuns: runsOf(300) },
    );
  });
});

describe('the names of collections', () => {
  const [, settled] = epochsOf(schemaOf('posts', 'users'), schemaOf('articles<posts', 'users'));
  const { categoryFor, slugFor, recorded } = namesOf(settled?.schema.collections ?? []);

  it('are known by their slug and as they are recorded', () => {
    for (const name of ['articles', 'posts'])
      assert.deepEqual([categoryFor(name), slugFor(name)], ['posts', 'articles'], name);
    assert.deepEqual([categoryFor('others'), slugFor('others')], ['others', 'others']);
  });

  it('are put into streams as those are recorded', () => {
    for (const [text, expected] of [
      ['articles/1', 'posts/1'],
      ['posts/1', 'posts/1'],
      ['accounts/articles/1', 'accounts/posts/1'],
      ['accounts/articles/invites/1', 'accounts/posts/invites/1'],
      ['articles', 'posts'],
      ['accounts', 'accounts'],
      ['globals/articles', 'globals/articles'],
      ['system/schema', 'system/schema'],
      ['others/articles', 'others/articles'],
    ] as const)
      assert.equal(recorded(text), expected, text);
  });

  it('are told of those that they no longer have', () => {
    const epochs = epochsOf(schemaOf('a', 'z'), schemaOf('b<a', 'z'), schemaOf('c<b'));
    const today = epochs.at(-1)?.schema ?? schemaOf();
    assert.deepEqual(
      [...formerSlugs(epochs, today)],
      [
        ['a', 'c'],
        ['b', 'c'],
      ],
    );
  });
});
