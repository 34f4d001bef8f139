import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { useServiceHere } from '../helpers/embedded.ts';
import { assertRecorded } from '../helpers/recorded.ts';
import { errorsOf, eventually, logLines } from '../helpers/shared.ts';

const service = useServiceHere(
  `const fail = (message, statusCode) => { throw Object.assign(new Error(message), { statusCode }); };
const calls = [];
const note = (name, result) => (args) => { calls.push(name); return result?.(args); };
export default { collections: [
  { slug: 'posts', access: { read: () => true, create: () => true, update: () => true, delete: () => true },
    fields: [
      { name: 'title', type: 'text', hooks: { beforeChange: [({ value }) => value?.trim(), ({ value }) => value === 'clear' ? null : value], afterRead: ({ value }) => value && value + '!' } },
      { name: 'slug', type: 'text', unique: true },
      { name: 'secret', type: 'text', access: { read: () => false, create: () => true, update: () => false } },
      { name: 'parts', type: 'array', fields: [{ name: 'label', type: 'text', hooks: { beforeChange: ({ value }) => value?.toUpperCase() } }, { name: 'hidden', type: 'text', access: { read: () => false, create: () => false } }] },
    ],
    hooks: {
      beforeChange: [({ data, operation }) => ({ ...data, slug: data.slug ?? (operation === 'create' ? data.title : undefined) }), ({ data, doc }) => {
        if (data.title === 'refuse') fail('not this one', 422);
        if (data.title === 'bug') fail('secret detail');
        if (data.title === 'invalid') return { ...data, slug: 7 };
        if (data.title === 'in place') data.title = 'mutated';
        if (data.title === 'inside and returned') { data.parts.push({ label: 'more' }); return data; }
        if (data.title === 'doc') doc.title = 'mutated';
      }],
      afterChange: ({ data }) => { if (data.title === 'after') data.slug = 'mutated'; if (data.title === 'late') fail('too late'); return { ...data, slug: data.slug + '?' }; },
      beforeDelete: ({ doc }) => { if (doc.title === 'keep') fail('kept', 409); },
      afterDelete: () => fail('too late as well'),
    } },
  { slug: 'drafts', fields: [{ name: 'n', type: 'number' }, { name: 'isPublic', type: 'boolean' }], access: { read: ({ doc }) => doc.isPublic === true } },
  { slug: 'sneaky', fields: [{ name: 'isPublic', type: 'boolean' }], access: { read: ({ doc }) => !doc || doc.isPublic === true } },
] };`,
);

const posts = '/api/collections/posts';
const anonymous = { key: null };

describe('Hooks', () => {
  it('change what is written, the fields first, each on what the one before returned', async () => {
    const create = () => service.call('POST', posts, { title: '  Hello ', parts: [{ label: 'a' }] });
    const answer = await assertRecorded(service, create, ({ body }) => [`document.created posts/${body.id}`]);
    assert.equal(answer.status, 201);
    const stored = (await service.call('GET', `${posts}/${answer.body.id}`)).body;
    assert.deepEqual([stored.title, stored.slug, stored.parts[0].label], ['Hello!', 'Hello', 'A']);
  });

  it('after a change may alter the answer and never what is stored', async () => {
    const answer = await assertRecorded(service, () => service.call('POST', posts, { title: 'answered' }), [
      'document.created',
    ]);
    assert.equal(answer.body.slug, 'answered?');
    assert.equal((await service.call('GET', `${posts}/${answer.body.id}`)).body.slug, 'answered');
  });

  it('that mutate their arguments cause an error that names hook and collection, and record nothing', async () => {
    const { id } = (await service.call('POST', posts, { title: 'to be changed' })).body;
    for (const [method, path, body, changed] of [
      ['POST', posts, { title: 'in place' }, 'data'],
      ['POST', posts, { title: 'inside and returned', parts: [{ label: 'a' }] }, 'data'],
      ['PATCH', `${posts}/${id}`, { title: 'doc' }, 'doc'],
    ] as const) {
      const { status } = await assertRecorded(service, () => service.call(method, path, body), []);
      assert.equal(status, 500);
      const message = `the beforeChange hook of posts changed ${changed} in place, where only what a hook returns counts`;
      await eventually(() => logLines(service).some(({ err }) => String(err?.message).startsWith(message)));
    }
    const after = await service.call('POST', posts, { title: 'after' });
    assert.equal(after.status, 201);
    const message = 'the afterChange hook of posts changed data in place';
    await eventually(() => logLines(service).some(({ err }) => String(err?.message).startsWith(message)));
    assert.equal((await service.call('GET', `${posts}/${after.body.id}`)).body.slug, 'after');
  });

  it('clear a field by returning null', async () => {
    const answer = await service.call('POST', posts, { title: 'clear', slug: 'cleared' });
    assert.equal((await service.call('GET', `${posts}/${answer.body.id}`)).body.title, null);
  });

  it('that throw with a status before a change answer with it, and nothing is recorded', async () => {
    const refused = (title: string) => assertRecorded(service, () => service.call('POST', posts, { title }), []);
    const answer = await refused('refuse');
    assert.deepEqual([answer.status, answer.body.message], [422, 'not this one']);
    const bug = await refused('bug');
    assert.equal(bug.status, 500);
    assert.doesNotMatch(JSON.stringify(bug.body), /secret detail/);
    assert.equal((await refused('invalid')).status, 500);
  });

  it('that throw after a change are logged and fail nothing', async () => {
    const answer = await assertRecorded(service, () => service.call('POST', posts, { title: 'late' }), [
      'document.created',
    ]);
    assert.equal(answer.status, 201);
    await eventually(() => logLines(service).some(({ msg }) => /afterChange hook of posts threw/.test(String(msg))));
  });

  it('before a delete can keep the document', async () => {
    const kept = (await service.call('POST', posts, { title: 'keep', slug: 'kept' })).body.id;
    const remove = (id: string) => () => service.call('DELETE', `${posts}/${id}`);
    assert.equal((await assertRecorded(service, remove(kept), [])).status, 409);
    assert.equal((await service.call('GET', `${posts}/${kept}`)).status, 200);
    const gone = (await service.call('POST', posts, { title: 'go', slug: 'gone' })).body.id;
    assert.equal((await assertRecorded(service, remove(gone), [`document.deleted posts/${gone}`])).status, 200);
    assert.equal((await service.call('GET', `${posts}/${gone}`)).status, 404);
  });
});

describe('Field access', () => {
  it('leaves out what the caller may not read, at any depth, in documents and lists', async () => {
    const { body } = await service.call('POST', posts, {
      title: 'f',
      slug: 'f',
      secret: 's',
      parts: [{ label: 'x', hidden: 'h' }],
    });
    assert.equal(body.secret, 's');
    const seen = (await service.call('GET', `${posts}/${body.id}`, undefined, anonymous)).body;
    assert.ok(!('secret' in seen) && !('hidden' in seen.parts[0]) && seen.parts[0].label === 'X');
    const list = (await service.call('GET', posts, undefined, anonymous)).body.docs;
    assert.ok(list.every((doc: object) => !('secret' in doc)));
  });

  it('refuses what the caller may not write with a 403 naming it', async () => {
    const { body } = await service.call('POST', posts, { title: 'g', slug: 'g' }, anonymous);
    const update = await service.call('PATCH', `${posts}/${body.id}`, { secret: 'z' }, anonymous);
    assert.deepEqual([update.status, Object.keys(errorsOf(update))], [403, ['secret']]);
    const create = await service.call('POST', posts, { title: 'h', slug: 'h', parts: [{ hidden: 'h' }] }, anonymous);
    assert.deepEqual([create.status, Object.keys(errorsOf(create))], [403, ['parts.0.hidden']]);
  });

  it('hides a field from sorting as if it did not exist', async () => {
    const answer = await service.call('GET', `${posts}?sort=secret`, undefined, anonymous);
    assert.equal(answer.status, 400);
    assert.doesNotMatch(answer.body.message, /"secret".*"secret"/);
    assert.equal((await service.call('GET', `${posts}?sort=secret`)).status, 200);
  });
});

describe('A read rule that looks at the document', () => {
  for (const slug of ['drafts', 'sneaky']) {
    it(`is asked for every document of a list of ${slug}, so that total and pages are right`, async () => {
      const path = `/api/collections/${slug}`;
      for (const isPublic of [true, false, true, null, true]) await service.call('POST', path, { isPublic });
      const page = (await service.call('GET', `${path}?limit=2&page=2`, undefined, anonymous)).body;
      assert.deepEqual([page.total, page.totalPages, page.docs.length, page.hasNextPage], [3, 2, 1, false]);
      assert.ok(page.docs.every((doc: { isPublic: boolean }) => doc.isPublic));
      assert.equal((await service.call('GET', path)).body.total, 5);
    });
  }
});

describe('A wrong API key', () => {
  it('is a 401 on paths that do not exist too', async () => {
    assert.equal((await service.call('GET', '/api/nowhere', undefined, { key: 'wrong' })).status, 401);
    assert.equal((await service.call('GET', '/api/nowhere', undefined, anonymous)).status, 404);
  });
});
