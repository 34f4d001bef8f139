import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { useServiceHere } from '../../helpers/embedded.ts';

const posts = '/api/collections/posts';
const strict = '/api/collections/strict';

const service = useServiceHere(`
const calls = (globalThis.draftHookCalls = []);
const note = (name) => ({ data, doc, published }) => {
  calls.push([name, data.title ?? null, doc?.title ?? null, published?.title ?? null]);
};
export default {
  collections: [
    {
      slug: 'posts', drafts: true,
      fields: [{ name: 'title', type: 'text', required: true }, { name: 'slug', type: 'text' }],
      hooks: {
        beforeChange: [note('beforeChange')],
        afterChange: [note('afterChange')],
        beforePublish: [
          note('beforePublish'),
          ({ data }) => {
            if (data.title === 'Refused') throw Object.assign(new Error('not this one'), { statusCode: 422 });
            return data.title === 'Broken' ? { ...data, title: 7 } : { ...data, slug: data.title.toLowerCase() };
          },
        ],
        afterPublish: [note('afterPublish'), ({ data }) => ({ ...data, slug: data.slug + '!' })],
      },
    },
    { slug: 'strict', drafts: { validate: true }, fields: [{ name: 'title', type: 'text', required: true }, { name: 'mail', type: 'email' }] },
  ],
};`);

function calls(): unknown[] {
  const noted = (globalThis as { draftHookCalls?: unknown[] }).draftHookCalls ?? [];
  return noted.splice(0);
}

describe('hooks of publishing', () => {
  it('run with the draft and the public document; values that they return are saved in the draft first', async () => {
    const { body } = await service.call('POST', `${posts}?draft=true`, { title: 'One' });
    const at = `${posts}/${body.id}`;
    assert.deepEqual(calls(), [
      ['beforeChange', 'One', null, null],
      ['afterChange', 'One', null, null],
    ]);
    const published = await service.call('POST', `${at}/publish`);
    assert.equal(published.body.slug, 'one!');
    assert.deepEqual(calls(), [
      ['beforePublish', 'One', 'One', null],
      ['afterPublish', 'One', 'One', null],
    ]);
    const { body: events } = await service.call('GET', `/api/audit/documents/posts/${body.id}`);
    assert.deepEqual(
      events.docs.map(({ type }: { type: string }) => type),
      ['document.draft.created', 'document.draft.updated', 'document.published'],
    );
    await service.call('PATCH', `${at}?draft=true`, { title: 'Two' });
    assert.deepEqual(calls(), [
      ['beforeChange', 'Two', 'One', null],
      ['afterChange', 'Two', 'One', null],
    ]);
    await service.call('POST', `${at}/publish`, { data: { title: 'Three' } });
    assert.deepEqual(calls(), [
      ['beforeChange', 'Three', 'Two', null],
      ['beforePublish', 'Three', 'Two', 'One'],
      ['afterChange', 'Three', 'Two', null],
      ['afterPublish', 'Three', 'Two', 'One'],
    ]);
    assert.deepEqual((await service.call('GET', at)).body.slug, 'three');
    await service.call('POST', `${at}/publish`);
    assert.deepEqual(calls(), []);
  });

  it('run for plain writes too', async () => {
    const made = await service.call('POST', posts, { title: 'Plain' });
    assert.equal(made.body.slug, 'plain!');
    const at = `${posts}/${made.body.id}`;
    assert.equal((await service.call('GET', at)).body.slug, 'plain');
    calls();
    await service.call('PATCH', at, { title: 'Other' });
    assert.deepEqual(calls(), [
      ['beforeChange', 'Other', 'Plain', null],
      ['beforePublish', 'Other', 'Plain', 'Plain'],
      ['afterChange', 'Other', 'Plain', null],
      ['afterPublish', 'Other', 'Plain', 'Plain'],
    ]);
    assert.equal((await service.call('GET', at)).body.slug, 'other');
  });

  it('refuse a publication by throwing, and must make a valid document', async () => {
    const { body } = await service.call('POST', `${posts}?draft=true`, { title: 'Refused' });
    const at = `${posts}/${body.id}`;
    const refused = await service.call('POST', `${at}/publish`);
    assert.deepEqual([refused.status, refused.body.message], [422, 'not this one']);
    assert.equal((await service.call('POST', posts, { title: 'Refused' })).status, 422);
    await service.call('PATCH', `${at}?draft=true`, { title: 'Broken' });
    assert.equal((await service.call('POST', `${at}/publish`)).status, 500);
    assert.equal((await service.call('GET', at)).status, 404);
  });
});

describe('drafts with validate: true', () => {
  it('must be as valid as public documents', async () => {
    assert.equal((await service.call('POST', `${strict}?draft=true`, {})).status, 400);
    assert.equal((await service.call('POST', `${strict}?draft=true`, { title: 'A', mail: 'no' })).status, 400);
    assert.equal((await service.call('POST', `${strict}?draft=true`, { title: 'A' })).status, 201);
  });
});
