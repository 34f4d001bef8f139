import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { addressesOf } from './barrage/addresses.ts';
import { bodyOf, isWrite } from './barrage/bodies.ts';
import { config } from './barrage/config.ts';
import { type Route, routesOfConfig } from './barrage/routes.ts';
import { keyNeed } from './barrage/scopes.ts';
import type { Ids } from './barrage/world.ts';

/** Ids that stand for those of the world that the long tests make. */
const ids: Ids = {
  documents: Object.fromEntries(config.collections.map(({ slug }) => [slug, ['1']])),
  files: ['/api/media/files/1/a.txt'],
  ...{
    invitation: '1',
    key: '1',
    session: '1',
    batch: '1',
    delivery: '1',
    position: 1,
    erasure: 1,
    release: '1',
    viewToken: '1',
  },
};

describe('The attacks of the long tests', () => {
  let routes: Route[];
  before(async () => {
    routes = await routesOfConfig(config);
    assert.ok(routes.length > 150);
  });

  // Each of these tests fails with the name of a route, and of the parameter without a value.
  it('have an address for every route, and values for every parameter that it declares', () => {
    for (const route of routes) assert.ok(addressesOf([route], ids).length > 0, `${route.name} has no address`);
  });

  it('have a body for every route that writes', () => {
    for (const route of routes.filter(isWrite)) bodyOf(route, ids);
  });

  it('know the scope that each route needs of an API key', () => {
    for (const route of routes) keyNeed(route);
  });
});
