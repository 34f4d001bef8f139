import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { openForm } from '../../admin/src/pages/document/form/store.ts';
import type { Values } from '../../admin/src/pages/document/form/values.ts';
import { actionsOf, changesBetween, lineFactsOf } from '../../admin/src/pages/document/publishing/lines.ts';
import { openSaver } from '../../admin/src/pages/document/save/saver.ts';
import { columnsOf, defaultColumns } from '../../admin/src/pages/list/view/columns.ts';
import { changeView, queryOf, readView, withQuery } from '../../admin/src/pages/list/view/view.ts';
import type { Field } from '../../admin/src/schema/fields.ts';
import { type Collection, isOfDrafts, modelOf, viewOf, viewOfAny } from '../../admin/src/schema/model.ts';
import { en } from '../../admin/src/words/en/index.ts';

const fields: Field[] = [
  { name: 'title', type: 'text', hasDefault: false },
  { name: 'price', type: 'number', hasDefault: false },
  { name: 'tags', type: 'multiSelect', options: [{ value: 'a', label: 'A' }], hasDefault: false },
];

type Rights = { update?: boolean; create?: boolean; delete?: boolean; readDrafts?: boolean; publish?: boolean };

function modelWith(rights: Rights, hasDrafts = true) {
  const access = { read: true, create: true, update: true, delete: true, ...rights };
  return modelOf({
    collections: [
      {
        slug: 'posts',
        category: 'posts',
        labels: null,
        auth: false,
        upload: false,
        history: null,
        requireReason: false,
        admin: {},
        fields,
        access,
        ...(hasDrafts ? { drafts: { validate: false, publishedAt: null } } : {}),
      },
    ],
    globals: [],
    admin: null,
    richText: null,
  });
}

function postsWith(rights: Rights, hasDrafts = true): Collection {
  const posts = modelWith(rights, hasDrafts).collections.get('posts');
  assert.ok(posts);
  return posts;
}

const rightsIn = ({ access }: Collection) => [access.create, access.update, access.delete];

describe('the rights to drafts', () => {
  it('decide whether the user works on drafts, on what is public, or on nothing', () => {
    const chief = postsWith({ readDrafts: true, publish: true });
    assert.deepEqual([isOfDrafts(chief), viewOf(chief), rightsIn(chief)], [true, { draft: true }, [true, true, true]]);
    const shop = postsWith({ readDrafts: false, publish: true });
    assert.deepEqual([isOfDrafts(shop), viewOf(shop), rightsIn(shop)], [false, {}, [true, true, true]]);
    const reader = postsWith({ readDrafts: false, publish: false });
    assert.deepEqual([isOfDrafts(reader), rightsIn(reader)], [false, [false, false, false]]);
    const plain = postsWith({}, false);
    assert.deepEqual([isOfDrafts(plain), viewOf(plain), rightsIn(plain)], [false, {}, [true, true, true]]);
  });

  it('decide whether calls about all collections are about drafts', () => {
    assert.deepEqual(viewOfAny(modelWith({ readDrafts: true })), { draft: true });
    assert.deepEqual(viewOfAny(modelWith({ readDrafts: false, publish: true })), {});
    assert.deepEqual(viewOfAny(modelWith({}, false)), {});
  });

  it('decide which actions are offered, by the status', () => {
    const chief = postsWith({ readDrafts: true, publish: true });
    const all = { publish: true, discard: true, unpublish: true, delete: true };
    assert.deepEqual(actionsOf(chief, false, 'changed'), all);
    assert.deepEqual(actionsOf(chief, true, 'changed'), { ...all, unpublish: false });
    assert.deepEqual(actionsOf(chief, false, 'published'), { ...all, discard: false });
    assert.deepEqual(actionsOf(chief, false, 'draft'), { ...all, discard: false, unpublish: false });
    assert.deepEqual(actionsOf(chief, false, null), { ...all, discard: false, unpublish: false });
    const none = { publish: false, discard: false, unpublish: false, delete: false };
    const writer = postsWith({ readDrafts: true, publish: false });
    assert.deepEqual(actionsOf(writer, false, 'changed'), { ...none, discard: true });
    assert.deepEqual(actionsOf(writer, false, 'draft'), { ...none, delete: true });
    const shop = postsWith({ readDrafts: false, publish: true });
    assert.deepEqual(actionsOf(shop, false, null), { ...none, delete: true });
    const publisher = postsWith({ update: false, delete: false, readDrafts: true, publish: true });
    assert.deepEqual(actionsOf(publisher, false, 'changed'), { ...none, publish: true, unpublish: true });
  });
});

describe('the lines of a document', () => {
  it('are told by the members beside a draft, and by nothing else', () => {
    const read = { title: 'a', __status: 'changed', __publishedAt: '2026-11-03T10:00:00.000Z', __review: 'open' };
    const facts = { status: 'changed', publishedAt: '2026-11-03T10:00:00.000Z', review: 'open' };
    assert.deepEqual(lineFactsOf(read), facts);
    assert.deepEqual(lineFactsOf({ __status: 'draft', __publishedAt: null, __review: null }), {
      status: 'draft',
      publishedAt: null,
      review: null,
    });
    assert.equal(lineFactsOf({ title: 'a', status: 'draft' }), null);
    assert.equal(lineFactsOf({ __status: 'scheduled' }), null);
  });

  it('differ in the fields that a publication would change', () => {
    const published = { title: 'Sale', price: 9, tags: ['a'], updatedAt: '1' };
    const changes = changesBetween(fields, { ...published, title: 'Winter sale', updatedAt: '2' }, published);
    assert.deepEqual(
      changes.map(({ field, ...sides }) => [field.name, sides]),
      [['title', { published: 'Sale', draft: 'Winter sale' }]],
    );
    const names = (draft: Values) => changesBetween(fields, draft, null).map(({ field }) => field.name);
    assert.deepEqual(names({ title: 'New', price: null, tags: [] }), ['title']);
  });
});

describe('a publication', () => {
  it('sends what was typed, and nothing if nothing was', async () => {
    const form = openForm(fields, { title: 'a', price: 1, tags: [] });
    const sent: [Values, boolean | undefined][] = [];
    const states: unknown[] = [];
    const saver = openSaver({
      form,
      isNew: false,
      etag: '"1-x"',
      write: async (body, { isPublication }) => {
        sent.push([body, isPublication]);
        return { document: { ...form.base(), ...body }, etag: '"2-x"' };
      },
      focused: () => null,
      newKey: () => 'key',
      onState: (running) => states.push(running),
    });
    form.set('title', 'b');
    // The wish to publish comes while a save is under way: it is not lost.
    const saved = saver.save();
    assert.equal(saver.save(undefined, { isPublication: true }), null);
    assert.equal(saver.save(), null);
    assert.deepEqual(await saved, {
      kind: 'saved',
      document: { title: 'b', price: 1, tags: [] },
      isNew: false,
      isPublication: true,
    });
    assert.deepEqual(sent, [
      [{ title: 'b' }, undefined],
      [{}, true],
    ]);
    assert.deepEqual(states, ['save', 'publish', null]);
  });
});

describe('the list of a collection with drafts', () => {
  it('has a column of the status behind the title, for users who work on drafts', () => {
    const paths = (rights: Rights, hasDrafts = true) => {
      const model = modelWith(rights, hasDrafts);
      const posts = postsWith(rights, hasDrafts);
      return defaultColumns(posts, columnsOf(posts, model, en)).map(({ path }) => path);
    };
    assert.deepEqual(paths({ readDrafts: true }).slice(0, 2), ['title', '__status']);
    assert.ok(!paths({ readDrafts: false, publish: true }).includes('__status'));
    assert.ok(!paths({}, false).includes('__status'));
  });

  it('keeps the status in its address, and in saved views', () => {
    const shown = changeView(new URLSearchParams('page=3&q=sale'), { status: 'changed' });
    assert.equal(shown.toString(), 'q=sale&status=changed');
    assert.equal(readView(shown).status, 'changed');
    assert.equal(readView(new URLSearchParams('status=scheduled')).status, null);
    assert.equal(withQuery(new URLSearchParams(), queryOf(shown)).toString(), 'q=sale&status=changed');
    assert.equal(changeView(shown, { status: null }).toString(), 'q=sale');
  });
});
