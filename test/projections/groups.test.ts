import assert from 'node:assert/strict';
import { it } from 'node:test';
import { openDocuments } from '../../projections/query/documents.ts';
import { type GroupKey, TooManyCombinationsError } from '../../projections/query/groups.ts';
import { tablesOf } from '../../projections/tables/tables.ts';
import { temporaryFolder } from '../helpers/service.ts';
import { openDirectory } from './directory.ts';

const lists = ['a', 'b', 'c'];
const keyOf = (name: string): GroupKey => {
  return { steps: [{ kind: 'items', name, blockTypes: null }], leaf: { name: 'tag', kind: 'text' }, part: null };
};

it('groups by several lists of a document end if they have too many combinations, and others do not', (t) => {
  const directory = openDirectory(temporaryFolder(t), {
    collections: [
      {
        slug: 'posts',
        fields: lists.map((name) => ({ name, type: 'array', fields: [{ name: 'tag', type: 'text' }] }) as const),
      },
    ],
  });
  t.after(() => directory.close());
  const few = [{ tag: 'x' }, { tag: 'y' }];
  const many = Array.from({ length: 2000 }, (_, index) => ({ tag: `${index}` }));
  directory.create('posts', { a: few, b: few, c: few });
  const heavy = directory.create('posts', { a: many, b: many, c: many });
  const [tables] = tablesOf(directory.schema);
  assert.ok(tables);
  const documents = openDocuments(directory.reader, tables);
  const groups = (names: string[], ids: string[] | null = null) =>
    documents.groups({ where: null, ids, keys: names.map(keyOf), measures: [], order: [], limit: 1, patience: 100 });

  assert.throws(() => groups(lists), TooManyCombinationsError);
  assert.throws(() => groups(lists, [heavy]), TooManyCombinationsError);
  assert.equal(groups(['a']).total, 2002);
  directory.remove('posts', heavy);
  assert.equal(groups(lists).total, 8);
});
