import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { describe, it } from 'node:test';
import type { FieldConfig } from '../../config/define.ts';
import { decideUpdate } from '../../events/facts/documents.ts';
import { category } from '../helpers/category.ts';
import { findingIn } from './directory.ts';
import {
  body,
  claimsIn,
  configOf,
  logOf,
  posts,
  readFilesIn,
  schemaError,
  startable,
  title,
  typesIn,
} from './starts.ts';

describe('a schema that changes', () => {
  it('gives an added field null in every document and version until it is written', (t) => {
    const { folder, start } = startable(t);
    const id = start(configOf(posts(title))).create('posts', { title: 'a' });
    const list: FieldConfig = { name: 'list', type: 'multiSelect', options: ['x'] };
    const second = start(configOf(posts(title, body, list)));
    assert.equal(second.rebuilt, true);
    assert.deepEqual([second.document('posts', id)?.body, second.document('posts', id)?.list], [null, []]);
    second.update('posts', id, { body: 'b' });
    assert.equal(second.document('posts', id)?.body, 'b');
    const versions = second.reader.prepare(`SELECT doc ->> 'body', doc ->> 'list' FROM "past texts posts"`).raw().all();
    assert.deepEqual(versions, [[null, '[]']]);
    assert.deepEqual(typesIn(folder), ['schema.changed', 'document.created', 'schema.changed', 'document.updated']);
    assert.deepEqual(readFilesIn(folder).length, 1, 'the read file of the schema before is gone');
    assert.equal(findingIn(folder), null);
  });

  it('leaves a removed field out of reads and keeps it in the log, so its values can come back', (t) => {
    const { folder, start } = startable(t);
    const first = start(configOf(posts(title, body)));
    const id = first.create('posts', { title: 'a', body: 'kept' });
    const second = start(configOf(posts(title)));
    assert.deepEqual(Object.keys(second.document('posts', id) ?? {}), ['id', 'createdAt', 'updatedAt', 'title']);
    second.update('posts', id, { title: 'b' });
    assert.equal(second.log.stream(`posts/${id}`)[0]?.data?.body, 'kept');
    const third = start(configOf(posts(title, body)));
    assert.deepEqual([third.document('posts', id)?.title, third.document('posts', id)?.body], ['b', 'kept']);
    assert.equal(findingIn(folder), null);
  });

  it('carries the values and the claims of a renamed field over, and forgets renamedFrom without a rebuild', (t) => {
    const { folder, start } = startable(t);
    const id = start(configOf(posts({ ...title, unique: true }))).create('posts', { title: 'a' });
    const headline: FieldConfig = { name: 'headline', type: 'text', unique: true };
    const second = start(configOf(posts({ ...headline, renamedFrom: 'title' })));
    assert.equal(second.document('posts', id)?.headline, 'a');
    assert.deepEqual(claimsIn(folder), [['posts.headline', '"a"', `posts/${id}`]]);
    assert.throws(() => second.create('posts', { headline: 'a' }), /claim/);
    second.update('posts', id, { headline: 'b' });
    const third = start(configOf(posts(headline)));
    assert.equal(third.rebuilt, false);
    assert.equal(third.document('posts', id)?.headline, 'b');
    const versions = third.reader.prepare(`SELECT "f.headline" FROM "versions posts"`).raw().all();
    assert.deepEqual(versions, [['a']]);
    assert.equal(findingIn(folder), null);
  });

  it('makes up for a forgotten renamedFrom, with or without a start under the old name', (t) => {
    const { folder, start } = startable(t);
    const id = start(configOf(posts(title))).create('posts', { title: 'a' });
    const headline: FieldConfig = { name: 'headline', type: 'text' };
    const renamed = configOf(posts({ ...headline, renamedFrom: 'title' }));
    const forgotten = start(configOf(posts(headline)));
    assert.equal(forgotten.document('posts', id)?.headline, null);
    const own = forgotten.create('posts', { headline: 'since' });
    const other = start(configOf(posts({ ...headline, unique: true, renamedFrom: 'title' })));
    assert.deepEqual(
      [id, own].map((one) => other.document('posts', one)?.headline),
      ['a', 'since'],
    );
    assert.throws(() => other.create('posts', { headline: 'a' }), /claim/);
    assert.equal(JSON.parse(other.asOf('posts', id, 2) ?? '{}').headline, 'a');
    other.update('posts', id, { headline: 'b' });
    assert.equal(findingIn(folder), null);
    const back = start(configOf(posts({ ...title, renamedFrom: 'headline' })));
    assert.deepEqual(
      [id, own].map((one) => back.document('posts', one)?.title),
      ['b', 'since'],
    );
    assert.equal(start(renamed).document('posts', id)?.headline, 'b');
    assert.equal(findingIn(folder), null);
  });

  it('makes a field unique over documents that differ in it', (t) => {
    const { folder, start } = startable(t);
    const seo = (field: FieldConfig): FieldConfig => ({ name: 'seo', type: 'object', fields: [field] });
    const first = start(configOf(posts(title, seo(body))));
    const id = first.create('posts', { title: 'a', seo: { body: 'x' } });
    const without = first.create('posts', { title: null, seo: null });
    first.create('posts', { title: null, seo: { body: null } });
    const second = start(configOf(posts({ ...title, unique: true }, seo({ ...body, unique: true }))));
    assert.deepEqual(claimsIn(folder), [
      ['posts.seo.body', '"x"', `posts/${id}`],
      ['posts.title', '"a"', `posts/${id}`],
    ]);
    assert.throws(() => second.update('posts', without, { title: 'a' }), /claim/);
    assert.throws(() => second.update('posts', without, { seo: { body: 'x' } }), /claim/);
    second.update('posts', without, { title: 'b' });
    assert.equal(findingIn(folder), null);
  });

  it('refuses a field made unique over documents that share a value, naming them, and records nothing', (t) => {
    const { folder, start, stop } = startable(t);
    const seo = (field: FieldConfig): FieldConfig => ({ name: 'seo', type: 'object', fields: [field] });
    const before = configOf(posts(title, seo(body)));
    const first = start(before);
    const [a, b, c] = ['same', 'same', 'other'].map((value) => first.create('posts', { title: value })) as string[];
    const d = first.create('posts', { title: 'd', seo: { body: 'twin' } });
    const e = first.create('posts', { title: 'e', seo: { body: 'twin' } });
    const gone = first.create('posts', { title: 'other' });
    first.remove('posts', gone);
    stop();
    const log = logOf(folder);
    const unique = configOf(posts({ ...title, unique: true }, seo({ ...body, unique: true })));
    for (let turn = 0; turn < 2; turn += 1) {
      assert.throws(
        () => start(unique),
        schemaError('posts.title is unique now', '"same"', a as string, b as string, 'posts.seo.body', '"twin"', d, e),
      );
      assert.throws(
        () => start(unique),
        (error: Error) => !error.message.includes(c as string) && !error.message.includes(gone),
      );
      assert.equal(logOf(folder), log);
    }
    const again = start(before);
    assert.equal(again.rebuilt, false, 'the configuration of before goes on where it was');
    again.update('posts', b as string, { title: 'no longer' });
    again.update('posts', e, { seo: null });
    start(unique);
    assert.equal(findingIn(folder), null);
  });

  it('frees the values of a field that is unique no longer', (t) => {
    const { folder, start } = startable(t);
    const first = start(configOf(posts({ ...title, unique: true, index: true })));
    first.create('posts', { title: 'a' });
    assert.throws(() => first.create('posts', { title: 'a' }), /claim/);
    const second = start(configOf(posts({ ...title, index: true })));
    assert.deepEqual(claimsIn(folder), []);
    second.create('posts', { title: 'a' });
    assert.equal(findingIn(folder), null);
    assert.throws(() => start(configOf(posts({ ...title, unique: true, index: true }))), schemaError('"a"'));
  });

  it('refuses a changed type over documents with values of the old one, naming them, and takes it over nulls', (t) => {
    const { folder, start, stop } = startable(t);
    const first = start(configOf(posts(title, body)));
    const id = first.create('posts', { title: 'a', body: null });
    stop();
    const log = logOf(folder);
    const types: FieldConfig[] = [
      { name: 'title', type: 'number' },
      { name: 'title', type: 'boolean' },
      { name: 'title', type: 'object', fields: [body] },
      { name: 'title', type: 'multiSelect', options: ['a'] },
      { name: 'title', type: 'relationship', relationTo: 'others', hasMany: true },
    ];
    for (const field of types) {
      assert.throws(() => start(configOf(posts(field, body))), schemaError(`posts.title is ${field.type} now`, id));
      assert.equal(logOf(folder), log);
    }
    const second = start(configOf(posts(title, { name: 'body', type: 'number' })));
    second.update('posts', id, { body: 7 });
    assert.equal(second.document('posts', id)?.body, 7);
    const third = start(configOf(posts({ ...title, type: 'textarea' }, { name: 'body', type: 'number' })));
    assert.equal(third.document('posts', id)?.title, 'a', 'another kind of text');
    assert.equal(findingIn(folder), null);
  });

  it('takes the documents of a removed collection away with their claims, and brings them back with it', (t) => {
    const { folder, start } = startable(t);
    const config = configOf(posts({ ...title, unique: true }));
    const first = start(config);
    const id = first.create('posts', { title: 'a' });
    const other = first.create('others', { title: 'x' });
    const before = first.document('posts', id);
    const second = start(configOf());
    assert.equal(second.document('posts', id), null);
    assert.equal(second.document('others', other)?.title, 'x');
    assert.deepEqual(claimsIn(folder), []);
    assert.equal(second.log.stream(`posts/${id}`).length, 1);
    assert.equal(findingIn(folder), null);
    const third = start(config);
    assert.deepEqual(third.document('posts', id), before);
    assert.throws(() => third.create('posts', { title: 'a' }), /claim/);
    assert.equal(findingIn(folder), null);
  });

  it('records a change of labels, validation or order of options, and builds nothing anew', (t) => {
    const { folder, start } = startable(t);
    const first = start(configOf(posts({ ...title, unique: true })));
    const id = first.create('posts', { title: 'a' });
    const changes: FieldConfig[] = [
      { ...title, unique: true, label: 'Headline' },
      { ...title, unique: true, label: 'Headline', maxLength: 5 },
      { ...title, unique: true, label: 'Headline', required: true, admin: { hidden: true } },
    ];
    for (const [index, field] of changes.entries()) {
      const next = start(configOf(posts(field)));
      assert.equal(next.rebuilt, false);
      assert.equal(next.readFile, first.readFile);
      assert.equal(typesIn(folder).filter((type) => type === 'schema.changed').length, index + 2);
      assert.deepEqual(next.log.stream('system/schema').at(-1)?.data, { schema: next.schema, rules: {} });
      assert.deepEqual(next.document('posts', id)?.title, 'a');
      assert.deepEqual(claimsIn(folder), [['posts.title', '"a"', `posts/${id}`]]);
      assert.equal(findingIn(folder), null);
    }
  });

  it('records a changed rule or description once, and looks at no document', (t) => {
    const { folder, start } = startable(t);
    const withRule = (update: object) =>
      configOf({ ...posts({ ...title, unique: true }), access: { update } as never });
    const first = start(withRule(({ user }: { user: unknown }) => user !== null));
    first.create('posts', { title: 'a' });
    const claims = claimsIn(folder);
    const mine = () => ({ author: { equals: 'me' } });
    for (const update of [mine, { rule: mine, description: 'One’s own' }]) {
      for (const _start of [1, 2]) {
        const next = start(withRule(update));
        assert.deepEqual([next.rebuilt, next.readFile], [false, first.readFile]);
      }
    }
    const recorded = start(withRule({ rule: mine, description: 'One’s own' })).log.stream('system/schema');
    const sha256 = createHash('sha256').update(String(mine)).digest('hex');
    assert.deepEqual(
      recorded.slice(1).map(({ data }) => data?.rules),
      [{ 'posts.update': { sha256 } }, { 'posts.update': { sha256, description: 'One’s own' } }],
    );
    assert.deepEqual(typesIn(folder).length, 4);
    assert.deepEqual(claimsIn(folder), claims);
    assert.equal(findingIn(folder), null);
  });

  it('records the rules of a log from before they were recorded, once', (t) => {
    const { folder, start } = startable(t);
    const before = start(configOf(posts(title)));
    const schema = before.schema as never;
    before.record({
      stream: 'system/schema',
      expectedVersion: 1,
      events: [{ type: 'schema.changed', data: { schema } }],
      claims: [],
      releases: [],
    });
    for (const _start of [1, 2]) assert.equal(start(configOf(posts(title))).rebuilt, false);
    const [, old, added, ...more] = start(configOf(posts(title))).log.stream('system/schema');
    assert.deepEqual([old?.data, added?.data, more], [{ schema }, { schema, rules: {} }, []]);
    assert.equal(findingIn(folder), null);
  });

  it('takes the claims from all that was recorded, also if the read file was left behind', (t) => {
    const { folder, start } = startable(t);
    const first = start(configOf(posts({ ...title, unique: true })));
    const id = first.create('posts', { title: 'a' });
    const current = { version: 1, document: first.document('posts', id) ?? {} };
    const target = { category: category('posts'), unique: [{ scope: 'posts.title', path: ['title'], isTime: false }] };
    const decision = decideUpdate(target, id, { current, values: { title: 'b' }, at: Date.now() });
    // Killed before the read file has it; the next start brings a label.
    assert.ok(decision && first.append(decision).ok);
    const second = start(configOf(posts({ ...title, unique: true, label: 'Headline' })));
    assert.equal(second.rebuilt, false);
    assert.deepEqual(claimsIn(folder), [['posts.title', '"b"', `posts/${id}`]]);
    second.create('posts', { title: 'a' });
    assert.throws(() => second.create('posts', { title: 'b' }), /claim/);
    assert.equal(findingIn(folder), null);
  });
});
