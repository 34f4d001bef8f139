import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { anonymous, bearer, login } from '../helpers/accounts.ts';
import { useServiceHere } from '../helpers/embedded.ts';
import { apiKey } from '../helpers/service.ts';

const service = useServiceHere(
  {
    bcryptCost: 4,
    collections: [
      { slug: 'users', auth: true, fields: [], access: { create: () => true } },
      { slug: 'posts', access: { read: () => true }, fields: [{ name: 'text', type: 'text' }] },
      { slug: 'secrets', fields: [] },
      { slug: 'files', upload: true, fields: [] },
    ],
    globals: [{ slug: 'site', fields: [] }],
  },
  { path: '/cms' },
);

const one = 'GET, HEAD, PATCH, DELETE, OPTIONS';
const methodsOf: Record<string, string> = {
  '/api/collections/posts': 'GET, HEAD, POST, OPTIONS',
  '/api/collections/secrets': 'GET, HEAD, POST, OPTIONS',
  '/api/collections/posts/nope': one,
  '/api/collections/posts/nope/restore': 'POST, OPTIONS',
  '/api/collections/posts/bulk/update': 'POST, OPTIONS',
  '/api/collections/users/login': `GET, HEAD, POST, PATCH, DELETE, OPTIONS`,
  '/api/globals/site': 'GET, HEAD, PATCH, OPTIONS',
  '/api/media/files/nope/a.txt': 'GET, HEAD, OPTIONS',
  '/api/keys': 'GET, HEAD, POST, OPTIONS',
  '/api/preferences': 'GET, HEAD, PATCH, OPTIONS',
  '/api/audit/erasures': 'GET, HEAD, POST, OPTIONS',
  '/api/drafts/posts/nope': 'GET, HEAD, PUT, DELETE, OPTIONS',
  '/api/openapi.json': 'GET, HEAD, OPTIONS',
  '/health': 'GET, HEAD, OPTIONS',
};

const nowhere = [
  '/api/collections/nope',
  '/api/collections/posts/a/b',
  '/api/globals/nope',
  '/api/nope',
  '/nope',
  '/api/operator/reload',
];

describe('A path', () => {
  it('refuses a method that it does not have with 405, and names those that it has', async () => {
    for (const [path, allow] of Object.entries(methodsOf)) {
      for (const method of ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'PROPFIND']) {
        if (allow.split(', ').includes(method)) continue;
        const { status, headers, body } = await service.call(method, path, undefined, anonymous);
        assert.deepEqual([status, headers.get('allow')], [405, allow], `${method} ${path}`);
        const message = `there is no ${method} ${path}; it takes ${allow}`;
        const refusal = { statusCode: 405, error: 'Method Not Allowed', message, code: 'method_not_allowed' };
        const told = method === 'HEAD' ? null : refusal;
        assert.deepEqual(body, told);
      }
    }
  });

  it('answers OPTIONS with its methods, to a caller without a credential too', async () => {
    for (const [path, allow] of Object.entries(methodsOf)) {
      for (const caller of [anonymous, {}]) {
        const { status, headers, body } = await service.call('OPTIONS', path, undefined, caller);
        assert.deepEqual([status, headers.get('allow'), body], [204, allow, null], path);
      }
    }
  });

  it('is a 404 for every method if there is no such collection, global or route', async () => {
    for (const path of nowhere) {
      for (const method of ['PUT', 'DELETE', 'OPTIONS']) {
        const { status, headers } = await service.call(method, path);
        assert.deepEqual([status, headers.get('allow')], [404, null], `${method} ${path}`);
      }
    }
  });
});

describe('A 401', () => {
  const plain = 'Bearer realm="annals"';
  const challenge = async (path: string, options = {}) => {
    const { status, headers } = await service.call('GET', path, undefined, { ...anonymous, ...options });
    assert.equal(status, 401);
    return headers.get('www-authenticate');
  };

  it('names the scheme of tokens, and a token that is not valid', async () => {
    const path = '/api/collections/secrets';
    assert.equal(await challenge(path), plain);
    assert.equal(await challenge(path, { key: 'wrong' }), plain);
    for (const authorization of ['Bearer wrong', 'Bearer', 'Basic YTpi'])
      assert.equal(await challenge(path, { headers: { authorization } }), `${plain}, error="invalid_token"`);
    assert.equal(await challenge('/api/preview-data?token=x'), plain);
    assert.equal(await challenge('/api/collections/users/me', { key: apiKey }), plain);
  });

  it('names it for a login that fails, and for a token whose session has ended', async () => {
    const user = { email: 'ada@example.org', password: 'correct horse battery' };
    await service.call('POST', '/api/collections/users', user, anonymous);
    const failed = await login(service, 'users', user.email, 'wrong');
    assert.deepEqual([failed.status, failed.headers.get('www-authenticate')], [401, plain]);
    const { token } = (await login(service, 'users', user.email, user.password)).body;
    await service.call('POST', '/api/collections/users/logout', undefined, bearer(token));
    assert.equal(await challenge('/api/collections/users/me', bearer(token)), `${plain}, error="invalid_token"`);
  });
});
