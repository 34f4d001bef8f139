import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { addPerson, desk } from '../../admin/desk.ts';
import { loggedIn } from '../../helpers/accounts.ts';
import { useServiceHere } from '../../helpers/embedded.ts';
import type { CallOptions } from '../../helpers/service.ts';

describe('Unsaved changes to drafts', () => {
  const service = useServiceHere(desk);
  const as = async (role: 'writer' | 'shop'): Promise<CallOptions> => {
    const { collection, email, password } = await addPerson(service, role);
    return (await loggedIn(service, collection, email, password)).as;
  };
  const post = async (query: string): Promise<string> =>
    (await service.call('POST', `/api/collections/posts${query}`, { title: 'A title', price: 1 })).body.id;

  it('are kept of a document that is not public, only for users who may read its draft', async () => {
    const [writer, shop] = [await as('writer'), await as('shop')];
    const hidden = `/api/drafts/posts/${await post('?draft=true')}`;
    const open = `/api/drafts/posts/${await post('')}`;
    const body = { data: { body: 'typed' }, version: 1 };
    const statuses = async (method: string, path: string, content?: object) => {
      const answers = [];
      for (const user of [writer, shop]) answers.push((await service.call(method, path, content, user)).status);
      return answers;
    };
    assert.deepEqual(await statuses('PUT', hidden, body), [200, 404]);
    assert.deepEqual(await statuses('GET', hidden), [200, 404]);
    assert.deepEqual(await statuses('PUT', open, body), [200, 200]);
    const listed = async (user: CallOptions) => (await service.call('GET', '/api/drafts', undefined, user)).body.total;
    assert.deepEqual([await listed(writer), await listed(shop)], [2, 1]);
    assert.deepEqual(await statuses('DELETE', hidden), [200, 404]);
  });

  it('belong to globals too, which are public from the start', async () => {
    const members = async () => {
      const { __status, __publishedAt } = (await service.call('GET', '/api/globals/imprint?draft=true')).body;
      return [__status, __publishedAt];
    };
    assert.deepEqual(await members(), ['published', null]);
    await service.call('PATCH', '/api/globals/imprint?draft=true', { text: 'A draft' });
    assert.deepEqual(await members(), ['changed', null]);
    await service.call('POST', '/api/globals/imprint/publish');
    const [status, publishedAt] = await members();
    assert.equal(status, 'published');
    assert.ok(Date.parse(publishedAt) > 0);
  });
});
