import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { changeable, problemsOf } from '../../admin/src/pages/list/bulk/bulk.ts';
import { rangeOf } from '../../admin/src/pages/list/bulk/range.ts';
import { operatorsOf } from '../../admin/src/pages/list/filter/operators.ts';
import { pageNumbers } from '../../admin/src/pages/list/paging/page-numbers.ts';
import { cellOf, csvRow } from '../../admin/src/pages/list/toolbar/csv.ts';
import {
  type Column,
  columnsOf,
  defaultColumns,
  named,
  nextSort,
  readableFields,
  selectOf,
  sortOf,
} from '../../admin/src/pages/list/view/columns.ts';
import { changeView, queryOf, readView, withQuery } from '../../admin/src/pages/list/view/view.ts';
import { type Formatters, textOfValue } from '../../admin/src/parts/texts.ts';
import type { DataField } from '../../admin/src/schema/fields.ts';
import { modelOf } from '../../admin/src/schema/model.ts';
import { en } from '../../admin/src/words/en/index.ts';
import { ApiError } from '../../client/index.ts';
import { csvRow as csvRowOfService } from '../../server/audit/exports/csv.ts';

const access = { read: true, create: true, update: true, delete: true };
const common = {
  labels: null,
  auth: false,
  upload: false,
  history: null,
  requireReason: false,
  admin: {},
  access,
} as const;
const model = modelOf({
  collections: [
    {
      ...common,
      slug: 'stories',
      category: 'stories',
      fields: [
        { name: 'title', type: 'text', required: true },
        { name: 'teaser', type: 'textarea' },
        { name: 'body', type: 'richText' },
        { name: 'code', type: 'text', unique: true },
        { name: 'secret', type: 'text', access: { read: false, create: false, update: false } },
        { name: 'fixed', type: 'text', access: { read: true, create: true, update: false } },
        { name: 'status', type: 'select', options: [{ value: 'draft', label: 'Draft' }] },
        {
          name: 'tags',
          type: 'multiSelect',
          options: [
            { value: 'a', label: 'News' },
            { value: 'b', label: 'Tech' },
          ],
        },
        { name: 'author', type: 'relationship', relationTo: 'people' },
        { name: 'readers', type: 'relationship', relationTo: 'people', hasMany: true },
        { name: 'cover', type: 'upload', relationTo: 'files' },
        { type: 'row', fields: [{ name: 'views', type: 'number' }] },
        {
          name: 'seo',
          type: 'object',
          fields: [
            { name: 'title', type: 'text' },
            { name: 'day', type: 'date' },
          ],
        },
        { name: 'links', type: 'array', fields: [{ name: 'url', type: 'url' }] },
        { name: 'answers', type: 'join', collection: 'people', on: 'x' },
      ],
    },
    { ...common, slug: 'people', category: 'people', fields: [{ name: 'name', type: 'text' }] },
    { ...common, slug: 'files', category: 'files', upload: { maxFileSize: 1 }, fields: [] },
  ],
  globals: [],
  admin: null,
  richText: null,
});
const stories = model.collections.get('stories') as NonNullable<ReturnType<typeof model.collections.get>>;
const all = columnsOf(stories, model, en);
const column = (path: string) => all.find((one) => one.path === path) as Column;
const paths = (columns: readonly { path: string }[]) => columns.map(({ path }) => path);
const formatters: Formatters = {
  language: 'en',
  yes: 'Yes',
  no: 'No',
  items: (count) => `${count} items`,
  target: (slug) => model.collections.get(slug),
};
const textOf = (value: unknown, path: string) => textOfValue(value, column(path).field, formatters);

describe('the columns of a list', () => {
  it('are the fields that the user may read, those inside of objects too, and no joins', () => {
    assert.ok(paths(all).includes('seo.day'));
    assert.ok(paths(all).includes('views'));
    assert.equal(column('seo.day').label, 'Seo › Day');
    for (const path of ['secret', 'answers', 'seo']) assert.equal(paths(all).includes(path), false);
  });

  it('are those of the configuration, else the title, what says most, and the last change', () => {
    assert.deepEqual(paths(defaultColumns(stories, all)), ['title', 'status', 'author', 'cover', 'views', 'updatedAt']);
    const configured = { ...stories, hints: { defaultColumns: ['seo.title', 'gone', 'title'] } };
    assert.deepEqual(paths(defaultColumns(configured, all)), ['seo.title', 'title']);
  });

  it('ask for the name of what they point at, and for no more of it', () => {
    const select = selectOf(named(all, ['author', 'cover', 'views', 'id']), stories);
    const cover = ['cover.filename', 'cover.mimeType', 'cover.filesize', 'cover.url'];
    assert.deepEqual(select, ['author.name', ...cover, 'views', 'title']);
  });

  it('are sorted by the name of what they point at, up, down, and then as before', () => {
    const author = column('author');
    assert.equal(nextSort(null, author), 'author.name');
    assert.equal(nextSort('author.name', author), '-author.name');
    assert.equal(nextSort('-author.name,title', author), null);
    assert.equal(sortOf('-author.name,title', author), 'descending');
    assert.equal(sortOf('title,author.name', author), 'none');
    for (const path of ['body', 'tags', 'readers', 'links', 'cover']) assert.equal(column(path).sort, null);
  });
});

describe('the address of a list', () => {
  const view = fc.record({
    q: fc.string().map((text) => text.trim()),
    status: fc.option(fc.constantFrom('published' as const, 'changed' as const, 'draft' as const)),
    sort: fc.option(fc.constantFrom('title', '-views,title')),
    page: fc.integer({ min: 1, max: 5_000 }),
    limit: fc.option(fc.integer({ min: 1, max: 100 })),
    columns: fc.option(fc.subarray(['title', 'seo.day', 'author'], { minLength: 1 })),
    where: fc.option(fc.constantFrom({ title: { like: 'a&b=c#%' } }, { or: [{ views: { equals: 1 } }] })),
  });

  it('gives back what was written into it, and keeps what is not of the list', () => {
    fc.assert(
      fc.property(view, (one) => {
        const search = changeView(new URLSearchParams('asOf=2026-01-01'), one);
        assert.deepEqual({ ...readView(new URLSearchParams(search.toString())) }, { ...one, broken: null });
        assert.equal(search.get('asOf'), '2026-01-01');
      }),
    );
  });

  it('gives a saved view back, without its page', () => {
    fc.assert(
      fc.property(view, view, (saved, other) => {
        const query = queryOf(changeView(new URLSearchParams(), saved));
        const there = withQuery(changeView(new URLSearchParams('asOf=5'), other), query);
        assert.deepEqual(readView(there), { ...saved, page: 1, broken: null });
        assert.equal(there.get('asOf'), '5');
      }),
    );
  });

  it('goes back to the first page with other documents, and stays with other columns', () => {
    const third = new URLSearchParams('page=3');
    assert.equal(changeView(third, { q: 'x' }).get('page'), null);
    assert.equal(changeView(third, { where: null }).get('page'), null);
    assert.equal(changeView(third, { columns: ['title'] }).get('page'), '3');
  });

  it('ignores a page or limit that cannot be', () => {
    for (const page of ['0', '-1', '1.5', 'x', 'Infinity'])
      assert.equal(readView(new URLSearchParams({ page })).page, 1);
    for (const limit of ['0', '101', '']) assert.equal(readView(new URLSearchParams({ limit })).limit, null);
  });
});

describe('the cells of a list', () => {
  it('say each value as its type has it', () => {
    assert.equal(textOf('draft', 'status'), 'Draft');
    assert.equal(textOf('gone', 'status'), 'gone');
    assert.equal(textOf(['a', 'b'], 'tags'), 'News, Tech');
    assert.equal(textOf({ id: 'x', name: 'Ada' }, 'author'), 'Ada');
    assert.equal(textOf('01a20947-d3b3-7000-81be-2a37a04dda1f', 'author'), '01a20947…');
    assert.equal(textOf('2026-03-01', 'seo.day'), 'Mar 1, 2026');
    assert.equal(textOf([{ url: 'a' }, { url: 'b' }], 'links'), '2 items');
    assert.equal(textOf([], 'links'), '');
    assert.equal(textOf(12_345.5, 'views'), '12,345.5');
    const doc = { type: 'doc', content: [{ type: 'paragraph', content: [{ type: 'text', text: 'Hello' }] }] };
    assert.equal(textOf(doc, 'body'), 'Hello');
    assert.equal(textOf({ other: '<b>' }, 'body'), '{"other":"<b>"}');
    assert.equal(textOf('a'.repeat(10_000), 'teaser').length, 201);
  });

  it('are whole in a file, and numbers there as programs read them', () => {
    const document = {
      views: 12_345.5,
      teaser: 'a'.repeat(300),
      tags: ['a', 'b'],
      author: { id: 'x', name: 'Ada' },
      body: null,
    };
    const cells = ['views', 'teaser', 'tags', 'author', 'body'].map((path) =>
      cellOf(document, column(path), formatters),
    );
    assert.deepEqual(cells, ['12345.5', 'a'.repeat(300), 'News, Tech', 'Ada', '']);
  });

  it('are guarded in a file as in the exports of the service', () => {
    const start = fc.constantFrom('=', '+', '-', '@', '−', '＝', "'", '"', ' ', '\t', '\n', ';', '\u200b', 'a', '');
    const cell = fc
      .array(fc.oneof(start, fc.string({ unit: 'grapheme', maxLength: 3 })))
      .map((parts) => parts.join(''));
    fc.assert(
      fc.property(fc.array(cell), (cells) => assert.equal(csvRow(cells), csvRowOfService(cells))),
      { numRuns: 500 },
    );
    assert.equal(csvRow(['=1+1', 'a"b']), '"\'=1+1","a""b"\r\n');
  });
});

describe('the parts of a list', () => {
  it('offer the operators that fit a type', () => {
    const of = (field: Partial<DataField>) => operatorsOf({ name: 'x', ...field } as DataField);
    assert.deepEqual(of({ type: 'json' }), ['exists']);
    assert.deepEqual(of({ type: 'relationship', hasMany: true }), ['contains', 'exists']);
    assert.equal(of({ type: 'text' })[0], 'like');
    assert.equal(of({ type: 'join' }).length, 0);
  });

  it('show the first page, the last, and those around', () => {
    assert.deepEqual(pageNumbers(1, 1), [1]);
    assert.deepEqual(pageNumbers(1, 3), [1, 2, 3]);
    assert.deepEqual(pageNumbers(6, 5_000), [1, -5, 5, 6, 7, -5_000, 5_000]);
    assert.deepEqual(pageNumbers(4, 7), [1, 2, 3, 4, 5, 6, 7]);
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 200 }), fc.integer({ min: 1, max: 200 }), (one, other) => {
        const numbers = pageNumbers(Math.min(one, other), Math.max(one, other));
        assert.ok(numbers.length <= 7 && new Set(numbers).size === numbers.length);
        assert.deepEqual(numbers.toSorted((a, b) => Math.abs(a) - Math.abs(b)).at(-1), Math.max(one, other));
      }),
    );
  });

  it('choose the rows between two, in both directions', () => {
    const rows = ['a', 'b', 'c', 'd'].map((id) => ({ id }));
    const ids = (from: string | null, to: string) => rangeOf(rows, from, to).map(({ id }) => id);
    assert.deepEqual(ids('b', 'd'), ['b', 'c', 'd']);
    assert.deepEqual(ids('d', 'b'), ['b', 'c', 'd']);
    assert.deepEqual(ids(null, 'c'), ['c']);
    assert.deepEqual(ids('gone', 'c'), ['c']);
    assert.deepEqual(ids('a', 'gone'), []);
  });

  it('change many documents only in fields that may be written by a simple input', () => {
    const names = paths(changeable(readableFields(stories, en)));
    assert.deepEqual(names, ['title', 'teaser', 'status', 'tags', 'author', 'cover', 'views']);
  });

  it('tell by titles what the service tells by places and ids', () => {
    const one = '01a20947-d3b3-7000-81be-2a37a04dda1f';
    const chosen = new Map([
      ['x', 'Ada'],
      [one, 'Bob'],
    ]);
    const errors = [
      { field: 'docs.0.title', in: 'body', code: 'type', message: 'docs.0.title must be a text' },
      { field: '', in: 'body', code: 'invalid', message: `not ${one}` },
    ] as const;
    const error = new ApiError('refused', { status: 400, error: 'Validation Error', errors });
    assert.deepEqual(problemsOf(error, chosen), ['“Ada”.title must be a text', 'not “Bob”']);
    assert.deepEqual(problemsOf(new ApiError('no such docs.7', { status: 404, error: 'Not Found' }), chosen), [
      'no such docs.7',
    ]);
  });
});
