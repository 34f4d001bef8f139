import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { compare, firstChoice, taken } from '../../admin/src/pages/document/conflict/merge.ts';
import { relatedIn, shownValue } from '../../admin/src/pages/document/conflict/shown.ts';
import {
  changedFields,
  createBody,
  duplicated,
  isChanged,
  updateBody,
} from '../../admin/src/pages/document/form/bodies.ts';
import { layoutOf } from '../../admin/src/pages/document/form/layout.ts';
import { labelAt, saidAtFields } from '../../admin/src/pages/document/form/problems.ts';
import { slugOf } from '../../admin/src/pages/document/form/slug.ts';
import {
  emptyValues,
  getAt,
  isSame,
  isUnparsed,
  newItem,
  setAt,
  unparsed,
  withoutPasswords,
} from '../../admin/src/pages/document/form/values.ts';
import { momentAt, wallClock } from '../../admin/src/parts/wall-clock.ts';
import type { DataField, Field } from '../../admin/src/schema/fields.ts';

/** Fields of every type there is. */
const fields: Field[] = [
  { name: 'title', type: 'text', required: true },
  { name: 'lead', type: 'textarea' },
  { name: 'body', type: 'richText' },
  {
    type: 'row',
    fields: [
      { name: 'email', type: 'email' },
      { name: 'site', type: 'url' },
    ],
  },
  { name: 'count', type: 'number', defaultValue: 3, hasDefault: true },
  { name: 'isOpen', type: 'boolean', required: true },
  { name: 'isChecked', type: 'boolean' },
  { name: 'day', type: 'date' },
  { name: 'at', type: 'datetime' },
  { name: 'time', type: 'time' },
  {
    name: 'status',
    type: 'select',
    options: [{ label: 'Draft', value: 'draft' }],
    defaultValue: 'draft',
    hasDefault: true,
  },
  { name: 'kind', type: 'radio', options: [{ label: 'A', value: 'a' }] },
  { name: 'topics', type: 'multiSelect', options: [{ label: 'Sport', value: 'sport' }] },
  { name: 'author', type: 'relationship', relationTo: 'authors' },
  { name: 'related', type: 'relationship', relationTo: 'posts', hasMany: true },
  { name: 'cover', type: 'upload', relationTo: 'files' },
  {
    name: 'seo',
    type: 'object',
    fields: [
      { name: 'title', type: 'text', required: true },
      { name: 'key', type: 'text', hasDefault: true },
    ],
  },
  {
    name: 'links',
    type: 'array',
    fields: [
      { name: 'url', type: 'url' },
      { name: 'token', type: 'text', hasDefault: true },
    ],
  },
  {
    name: 'sections',
    type: 'blocks',
    blocks: [
      { slug: 'text', fields: [{ name: 'text', type: 'textarea', label: 'Words' }] },
      { slug: 'quote', fields: [{ name: 'who', type: 'text' }] },
    ],
  },
  { name: 'data', type: 'json' },
  { name: 'key', type: 'text', hasDefault: true, unique: true },
  { name: 'locked', type: 'text', access: { read: true, create: false, update: false } },
  { name: 'posts', type: 'join', collection: 'posts', on: 'author' },
];

function fieldNamed(name: string): DataField {
  return fields
    .flatMap((field) => [field, ...(field.type === 'row' ? (field.fields ?? []) : [])])
    .find((field) => field.name === name) as DataField;
}

describe('the values of a form', () => {
  it('begin with the constant defaults, without what a function gives, and with no third state of a switch', () => {
    const values = emptyValues(fields);
    assert.deepEqual(values, {
      title: null,
      lead: null,
      body: null,
      email: null,
      site: null,
      count: 3,
      isOpen: false,
      isChecked: null,
      day: null,
      at: null,
      time: null,
      status: 'draft',
      kind: null,
      topics: [],
      author: null,
      related: [],
      cover: null,
      seo: { title: null },
      links: [],
      sections: [],
      data: null,
      locked: null,
    });
    assert.deepEqual(newItem(fieldNamed('links').fields ?? []), { url: null });
    assert.deepEqual(newItem(fieldNamed('sections').blocks?.[1]?.fields ?? [], 'quote'), {
      blockType: 'quote',
      who: null,
    });
  });

  it('are set at a path without touching what is not on the way', () => {
    const values = { a: { b: [{ c: 1 }, { c: 2 }] }, other: {} };
    const next = setAt(values, 'a.b.1.c', 3);
    assert.deepEqual(next, { a: { b: [{ c: 1 }, { c: 3 }] }, other: {} });
    assert.deepEqual(values.a.b[1], { c: 2 });
    assert.equal(next.other, values.other);
    assert.equal(next.a.b[0], values.a.b[0]);
    assert.equal(getAt(next, 'a.b.1.c'), 3);
    assert.equal(getAt(next, 'a.b.9.c'), undefined);
    assert.equal(getAt(next, '__proto__.x'), undefined);
  });

  it('are the same whatever the order of their members', () => {
    assert.ok(isSame({ a: 1, b: [{ c: null }] }, { b: [{ c: null }], a: 1 }));
    assert.ok(!isSame({ a: undefined }, { b: undefined }));
    assert.ok(!isSame([1, 2], [2, 1]));
    assert.ok(!isSame([], {}));
  });

  it('keep text that is no JSON yet, and are kept without passwords', () => {
    assert.ok(isUnparsed(unparsed('{"a":')));
    assert.ok(!isUnparsed({ 'annals:unparsed': 'x', more: 1 }));
    const values = { password: 'secret', list: [{ password: 'x', name: 'Ada' }] };
    assert.deepEqual(withoutPasswords(values), { list: [{ name: 'Ada' }] });
  });
});

describe('the body of a create', () => {
  it('leaves out what was not touched, so that the service fills in its defaults', () => {
    assert.deepEqual(createBody(fields, emptyValues(fields)), { isOpen: false });
  });

  it('has what was filled in, and null for a default that was emptied', () => {
    const values = {
      ...emptyValues(fields),
      title: 'Hello',
      count: null,
      status: 'draft',
      key: null,
      topics: ['sport'],
    };
    assert.deepEqual(createBody(fields, values), {
      title: 'Hello',
      count: null,
      isOpen: false,
      topics: ['sport'],
      key: null,
    });
  });

  it('has an optional object only if a value in it is set, and leaves out computed values', () => {
    const filled = { ...emptyValues(fields), seo: { title: 'Found' } };
    assert.deepEqual(createBody(fields, filled).seo, { title: 'Found' });
    const items = {
      ...emptyValues(fields),
      links: [{ url: null }],
      sections: [newItem([{ name: 'who', type: 'text' }], 'quote')],
    };
    assert.deepEqual(createBody(fields, items).links, [{ url: null }]);
    assert.deepEqual(createBody(fields, items).sections, [{ blockType: 'quote', who: null }]);
  });

  it('has a required object even if it is empty, so that messages name the missing fields in it', () => {
    const required: Field[] = [
      { name: 'place', type: 'object', required: true, fields: [{ name: 'x', type: 'number', required: true }] },
    ];
    assert.deepEqual(createBody(required, { place: { x: null } }), { place: { x: null } });
  });

  it('has nothing that may not be written, and nothing of a join', () => {
    const body = createBody(fields, { ...emptyValues(fields), locked: 'x', posts: ['1'] });
    assert.ok(!('locked' in body) && !('posts' in body));
  });

  it('keeps an empty text as no value', () => {
    assert.ok(!('title' in createBody(fields, { ...emptyValues(fields), title: '' })));
  });
});

describe('the body of a change', () => {
  const document = {
    ...emptyValues(fields),
    title: 'Hello',
    key: 'k',
    seo: null,
    links: [{ url: 'https://example.org', token: 't' }],
    sections: [
      { blockType: 'text', text: 'a' },
      { blockType: 'gone', x: 1 },
    ],
    posts: ['1'],
  };

  it('is empty if nothing differs, however a value is written', () => {
    const values = { ...document, seo: { title: null }, title: 'Hello', posts: [] };
    assert.deepEqual(updateBody(fields, values, document), {});
    assert.deepEqual(changedFields(fields, structuredClone(document), document), []);
  });

  it('has each changed field whole, and null for what was emptied', () => {
    const values = setAt({ ...document, title: '', key: null }, 'links.0.url', null);
    assert.deepEqual(updateBody(fields, values, document), {
      title: null,
      key: null,
      links: [{ url: null, token: 't' }],
    });
  });

  it('leaves a block that is configured no longer as it is', () => {
    const values = setAt(document, 'sections.0.text', 'b');
    assert.deepEqual(updateBody(fields, values, document).sections, [
      { blockType: 'text', text: 'b' },
      { blockType: 'gone', x: 1 },
    ]);
  });

  it('notices another order, another block, and another item', () => {
    const field = fieldNamed('sections');
    const [one, other] = [
      { blockType: 'text', text: 'a' },
      { blockType: 'quote', who: 'b' },
    ];
    assert.ok(isChanged(field, [other, one], [one, other]));
    assert.ok(isChanged(field, [one], [one, other]));
    assert.ok(!isChanged(field, [{ text: 'a', blockType: 'text' }], [one]));
    assert.ok(isChanged(field, [{ blockType: 'quote', who: null }], [{ blockType: 'text', text: null }]));
  });

  it('has nothing that may not be changed', () => {
    assert.deepEqual(updateBody(fields, { ...document, locked: 'x' }, document), {});
  });

  it('of a copy has neither what is unique nor what may not be written', () => {
    const copy = duplicated(fields, { ...document, locked: 'x', id: '1' });
    assert.equal(copy.title, 'Hello');
    assert.ok(!('key' in copy) && !('id' in copy) && !('posts' in copy));
    assert.equal(copy.locked, null);
    assert.notEqual(copy.links, document.links);
  });
});

describe('the three states of a conflict', () => {
  const read = { ...emptyValues(fields), title: 'read', lead: 'read', count: 1, day: '2026-01-01' };
  const now = { ...read, title: 'theirs', lead: 'theirs', day: '2026-02-02' };
  const mine = { ...read, title: 'mine', count: 2, day: '2026-02-02' };
  const differences = compare(fields, { read, now, mine });

  it('list the fields that differ, with who has changed them', () => {
    const facts = differences.map(({ field, isConflict, isTheirs }) => [field.name, isConflict, isTheirs]);
    assert.deepEqual(facts, [
      ['title', true, true],
      ['lead', false, true],
      ['count', false, false],
    ]);
  });

  it('take over what only they have changed, and keep what was typed here, until another choice is made', () => {
    assert.deepEqual(differences.map(firstChoice), ['mine', 'now', 'mine']);
    assert.deepEqual(taken(differences, new Map()), { lead: 'theirs' });
    const choices = new Map([['title', 'now'] as const, ['lead', 'mine'] as const]);
    assert.deepEqual(taken(differences, choices), { title: 'theirs' });
  });

  it('are none if both have changed to the same value', () => {
    assert.deepEqual(compare(fields, { read, now, mine: now }), []);
  });
});

describe('what a form shows', () => {
  it('has main and side, and tabs in the order in which they come', () => {
    const layout = layoutOf([
      { name: 'a', type: 'text' },
      { name: 'b', type: 'text', admin: { tab: 'Two' } },
      { name: 'c', type: 'text', admin: { position: 'side' } },
      { type: 'row', fields: [{ name: 'd', type: 'text' }], admin: { tab: 'One' } },
      { name: 'e', type: 'text', admin: { tab: 'Two' } },
    ]);
    assert.deepEqual(
      layout.main.map(({ name }) => name),
      ['a'],
    );
    assert.deepEqual(
      layout.side.map(({ name }) => name),
      ['c'],
    );
    assert.deepEqual(
      layout.tabs.map(({ name, names }) => [name, names]),
      [
        ['Two', ['b', 'e']],
        ['One', ['d']],
      ],
    );
  });

  it('has messages with the labels of their fields', () => {
    const values = { sections: [{ blockType: 'quote' }, { blockType: 'text' }] };
    const said = saidAtFields(fields, values, [
      { field: 'sections.1.text', code: 'required', message: 'sections.1.text is required, got null' },
      { field: 'title', message: 'title must be at most 3 characters, got 4' },
      { field: 'elsewhere', message: 'elsewhere is not a field' },
    ]);
    assert.deepEqual(
      said.map(({ message }) => message),
      ['Words is required', 'Title must be at most 3 characters, got 4', 'elsewhere is not a field'],
    );
    assert.equal(labelAt(fields, values, 'sections.0.text'), undefined);
    assert.equal(labelAt(fields, values, 'seo.title'), 'Title');
  });

  it('has values in words', () => {
    const words = { language: 'en', yes: 'Yes', no: 'No', titles: new Map([['posts/a', 'The first']]) };
    assert.equal(shownValue(fieldNamed('status'), 'draft', words), 'Draft');
    assert.equal(shownValue(fieldNamed('topics'), ['sport', 'x'], words), 'Sport, x');
    assert.equal(shownValue(fieldNamed('isOpen'), false, words), 'No');
    assert.equal(shownValue(fieldNamed('related'), [], words), '');
    assert.equal(shownValue(fieldNamed('seo'), { title: 'T', key: null }, words), 'Title: T');
    assert.equal(shownValue(fieldNamed('sections'), [{ blockType: 'text', text: 'a' }], words), '1. text: Words: a');
    const doc = { type: 'doc', content: [{ type: 'paragraph', content: [{ type: 'text', text: 'Hi' }] }] };
    assert.equal(shownValue(fieldNamed('body'), doc, words).trim(), 'Hi');
    assert.equal(shownValue(fieldNamed('data'), [1], words), '[\n  1\n]');
  });

  it('shows related documents by their titles, in blocks and objects too', () => {
    const to: Field = { name: 'to', type: 'relationship', relationTo: 'posts' };
    const links: Field = { name: 'links', type: 'blocks', blocks: [{ slug: 'link', fields: [to] }] };
    const seo: Field = { name: 'seo', type: 'object', fields: [{ ...to, hasMany: true }] };
    const words = { language: 'en', yes: 'Yes', no: 'No', titles: new Map([['posts/a', 'The first']]) };
    const told = (field: Field, value: unknown) => [
      relatedIn(field, value).map(({ relationTo, id }) => `${relationTo}/${id}`),
      shownValue(field, value, words),
    ];
    assert.deepEqual(told(to, 'a'), [['posts/a'], 'The first']);
    assert.deepEqual(told(links, [{ blockType: 'link', to: 'a' }]), [['posts/a'], '1. link: To: The first']);
    assert.deepEqual(told(seo, { to: ['a', 'b'] }), [['posts/a', 'posts/b'], 'To: The first, b']);
    assert.deepEqual(told(links, [{ blockType: 'gone', to: 'a' }])[0], []);
    assert.deepEqual(told(fieldNamed('data'), { to: 'a' })[0], []);
  });

  it('makes slugs of titles', () => {
    assert.equal(slugOf('  Über uns & mehr! '), 'ueber-uns-mehr');
    assert.equal(slugOf('Crème Brûlée 2.0'), 'creme-brulee-2-0');
    assert.equal(slugOf('東京 がいど'), '東京-がいど');
    assert.equal(slugOf('한국 소식'), '한국-소식');
    assert.equal(slugOf('!!!'), '');
  });

  it('has moments on the clock of the wall, and back', () => {
    for (const moment of ['2026-03-01T09:00:00.000Z', '2026-07-01T09:00:30.000Z', '2026-03-01T09:00:00.123Z']) {
      assert.equal(momentAt(wallClock(moment)), moment);
    }
    const moments = fc.date({ min: new Date(0), max: new Date('2100-01-01'), noInvalidDate: true });
    fc.assert(fc.property(moments, (date) => assert.equal(momentAt(wallClock(date)), date.toISOString())));
    assert.equal(wallClock('2026-03-01T09:00:00.000Z').length, '2026-03-01T09:00'.length);
    assert.equal(wallClock('not a moment'), '');
    assert.equal(momentAt(''), null);
  });
});
