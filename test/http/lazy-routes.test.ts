import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Server } from '@hapi/hapi';
import { createLazyRoutes } from '../../server/http/lazy-routes.ts';
import { neverListening, portOf } from '../../server/running/http-server.ts';

const paths = [
  '/api/collections/posts',
  '/api/collections/posts/{id}',
  '/api/collections/users',
  '/api/audit/log',
  '/account/users/setup',
  '/',
];

describe('Routes that are added with the first request for their part of the paths', () => {
  let server: Server;
  let url: string;
  const added = () => server.table().map(({ path }) => path);
  const ask = async (path: string) => (await fetch(url + path)).text();

  before(async () => {
    const lazy = createLazyRoutes();
    server = neverListening([lazy.addFor]);
    const host = lazy.keepFor(server);
    const handler = ({ route }: { route: { path: string } }) => route.path;
    for (const path of paths) host.route({ method: 'GET', path, handler });
    host.route([
      { method: '*', path: '/{any*}', handler: () => 'none' },
      { method: 'PUT', path: '/api/drafts/{id}', options: { plugins: { neverShed: true } }, handler },
    ]);
    await server.initialize();
    server.listener.listen(0, '127.0.0.1');
    await new Promise((resolve) => server.listener.once('listening', resolve));
    url = `http://127.0.0.1:${portOf(server.listener)}`;
  });
  after(() => new Promise((resolve) => server.listener.close(resolve)));

  it('exist at the start only for all paths, and if they are looked up before hapi has the request', () => {
    assert.deepEqual(added().sort(), ['/api/drafts/{id}', '/{any*}']);
  });

  it('answer the first request as each that follows, and those of no other part are added', async () => {
    assert.equal(await ask('/api/collections/none/1'), 'none');
    assert.equal(added().length, 2);
    for (let time = 0; time < 2; time += 1)
      assert.equal(await ask('/api/collections/posts/1'), '/api/collections/posts/{id}');
    assert.deepEqual(
      added().filter((path) => path.includes('posts')),
      ['/api/collections/posts', '/api/collections/posts/{id}'],
    );
    assert.equal(added().length, 4);
  });

  it('are found under any spelling of a path, at once by many', async () => {
    const texts = await Promise.all(
      ['/api/collections/%75sers', '/api/collections/users?limit=1', '/api/collections/users'].map(ask),
    );
    assert.deepEqual(texts, Array(3).fill('/api/collections/users'));
    assert.equal(await ask('/api/audit/log'), '/api/audit/log');
    assert.equal(await ask('/account/users/setup'), '/account/users/setup');
    assert.equal(await ask('/'), '/');
    assert.equal(added().length, paths.length + 2);
  });
});
