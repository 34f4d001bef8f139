import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { useServiceHere } from '../helpers/embedded.ts';
import { assertRecorded } from '../helpers/recorded.ts';
import type { CallOptions } from '../helpers/service.ts';
import { errorsOf, eventually, logLines } from '../helpers/shared.ts';

const service = useServiceHere(`
const fail = (message, statusCode) => { throw Object.assign(new Error(message), { statusCode }); };
const has = (word) => ({ req }) => !(req.headers['x-refuse'] ?? '').includes(word);
const rule = has('rule');
export default {
  collections: [
    { slug: 'posts', access: { read: () => true, create: rule, update: rule },
      fields: [
        { name: 'title', type: 'text', hooks: { beforeChange: ({ value, req }) => has('field hook')({ req }) ? value : fail('field hook', 418) } },
        { name: 'secret', type: 'text', access: { create: has('field access'), update: has('field access') } },
        { name: 'code', type: 'text', unique: true },
      ],
      hooks: {
        beforeChange: ({ data, req }) => has('before hook')({ req }) ? data : fail('before hook', 422),
        afterChange: ({ req }) => has('after hook')({ req }) ? undefined : fail('after hook', 422),
      } },
    { slug: 'read', access: { read: () => true }, fields: [{ name: 'text', type: 'text', hooks: { afterRead: ({ value }) => value + ' 2' } }],
      hooks: {
        beforeRead: [({ data, doc }) => ({ ...data, text: doc.text + ' 1' }), ({ data, req }) => has('before read')({ req }) ? data : fail('not now', 423)],
        afterRead: [({ data }) => ({ ...data, text: data.text + ' 3' }), ({ data, req }) => has('after read')({ req }) ? undefined : fail('hidden')],
      } },
  ],
};`);

const posts = '/api/collections/posts';

/** Every step of a write that can refuse, in the decided order, and what it answers. */
const steps: [step: string, status: number, message: RegExp][] = [
  ['key', 401, /the API key is not valid/],
  ['missing', 404, /there is no document/],
  ['rule', 403, /^you may not (create|update) posts$/],
  ['field access', 403, /^you may not (create|update) secret$/],
  ['validate', 400, /^code must be a text/],
  ['field hook', 418, /^field hook$/],
  ['before hook', 422, /^before hook$/],
  ['conflict', 409, /^code is taken/],
];

describe('The order of a write', () => {
  for (const method of ['POST', 'PATCH']) {
    it(`of ${method} is: who, whether it is there, may they, is it right, hooks, conflicts`, async () => {
      const code = `taken by ${method}`;
      await service.call('POST', posts, { code });
      const { id } = (await service.call('POST', posts, { code: `own of ${method}` })).body;
      const inOrder = method === 'POST' ? steps.filter(([step]) => step !== 'missing') : steps;
      // Everything is wrong at first; then one thing after the other is right.
      for (const [index, [step, status, message]] of inOrder.entries()) {
        const wrong = inOrder.slice(index).map(([name]) => name);
        const options: CallOptions = {
          key: wrong.includes('key') ? 'wrong' : null,
          headers: { 'x-refuse': wrong.join(',') },
        };
        const body = { title: 't', secret: 's', code: wrong.includes('validate') ? 3 : code };
        const path = wrong.includes('missing') ? `${posts}/nope` : `${posts}/${id}`;
        // A missing document is told only to those who might have been let near it.
        if (step === 'missing') options.headers = { 'x-refuse': wrong.filter((name) => name !== 'rule').join(',') };
        const send = () => service.call(method, method === 'POST' ? posts : path, body, options);
        const answer = await assertRecorded(service, send, []);
        // Without a credential, a rule that says no is a 401.
        const expected = step === 'rule' ? 401 : status;
        assert.equal(answer.status, expected, `${step}: ${JSON.stringify(answer.body)}`);
        assert.match(answer.body.message, step === 'rule' ? /key or a token is needed/ : message);
      }
      const free = { title: 't', secret: 's', code: `free for ${method}` };
      const headers = { 'x-refuse': 'after hook' };
      const done = await service.call(method, method === 'POST' ? posts : `${posts}/${id}`, free, {
        key: null,
        headers,
      });
      assert.deepEqual([done.status, done.body.code], [method === 'POST' ? 201 : 200, free.code]);
      await eventually(() => logLines(service).some(({ err }) => err?.message === 'after hook'));
    });
  }

  it('refuses query parameters after access, and before the body is judged', async () => {
    const refused = { key: null, headers: { 'x-refuse': 'rule' } };
    assert.equal((await service.call('POST', `${posts}?x=1`, { code: 3 }, refused)).status, 401);
    const answer = await service.call('POST', `${posts}?x=1`, { code: 3 });
    assert.deepEqual([answer.status, Object.keys(errorsOf(answer))], [400, ['x']]);
  });
});

describe('Hooks of a read', () => {
  const path = '/api/collections/read';

  it('chain: before, the fields, after; and what is stored stays', async () => {
    const made = await service.call('POST', path, { text: 'x' });
    assert.equal(made.body.text, 'x 1 2 3');
    assert.equal((await service.call('GET', `${path}/${made.body.id}`)).body.text, 'x 1 2 3');
    assert.equal((await service.call('GET', path)).body.docs[0].text, 'x 1 2 3');
    assert.equal((await service.call('GET', `${path}?where[text][equals]=x`)).body.total, 1);
  });

  it('that throw answer with their status, or with a bare 500', async () => {
    const { id } = (await service.call('POST', path, { text: 'y' })).body;
    for (const url of [path, `${path}/${id}`]) {
      const before = await service.call('GET', url, undefined, { headers: { 'x-refuse': 'before read' } });
      assert.deepEqual([before.status, before.body.message], [423, 'not now']);
      const after = await service.call('GET', url, undefined, { headers: { 'x-refuse': 'after read' } });
      assert.equal(after.status, 500);
      assert.doesNotMatch(JSON.stringify(after.body), /hidden/);
    }
  });
});
