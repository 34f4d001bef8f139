import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { useServiceHere } from '../helpers/embedded.ts';
import { followLog } from '../helpers/recorded.ts';
import { request } from '../helpers/requests.ts';
import { spreadOf } from '../helpers/rounds.ts';
import { pathsOf } from './barrage/addresses.ts';
import { bodyOf, isWrite } from './barrage/bodies.ts';
import { config } from './barrage/config.ts';
import { type Route, routesOfConfig } from './barrage/routes.ts';
import { auditParts, type Grant, keyNeed, type Need } from './barrage/scopes.ts';
import { createWorld, type World } from './barrage/world.ts';

const service = useServiceHere(config);

const rights = ['read', 'create', 'update', 'delete'] as const;

/** One grant for each scope there is, and null for a key without any. */
const grants: readonly (Grant | null)[] = [
  null,
  ...config.collections.flatMap(({ slug }) => rights.map((right) => ({ right, kind: 'collection', slug }) as const)),
  ...config.globals.flatMap(({ slug }) =>
    (['read', 'update'] as const).map((right) => ({ right, kind: 'global', slug }) as const),
  ),
  ...auditParts.map((audit) => ({ audit })),
];

/** The body by which a key is made that holds these, and nothing else. */
function keyBody(grants: readonly Grant[]): object {
  const scopes = grants.flatMap((grant) => {
    if ('audit' in grant) return [];
    const { right, kind, slug } = grant;
    const slugs = slug === '*' ? slug : [slug];
    const targets = slug === '*' ? { collections: '*', globals: '*' } : { [`${kind}s`]: slugs };
    return [{ ...targets, operations: [right] }];
  });
  return { name: 'a key', scopes, audit: grants.flatMap((grant) => ('audit' in grant ? [grant.audit] : [])) };
}

/** Whether a grant holds one of those that are needed. */
function holds(grant: Grant | null, needed: Grant): boolean {
  if (grant === null) return false;
  if ('audit' in grant || 'audit' in needed) {
    if (!('audit' in grant && 'audit' in needed)) return false;
    return grant.audit === needed.audit || (grant.audit === 'payloads' && needed.audit === 'headers');
  }
  return grant.right === needed.right && grant.kind === needed.kind && grant.slug === needed.slug;
}

function passes(need: Need, grant: Grant | null): boolean {
  if (need === 'any') return true;
  return 'oneOf' in need && need.oneOf.some((all) => all.every((one) => holds(grant, one)));
}

describe('An API key with one scope', () => {
  let world: World;
  let routes: Route[];

  before(async () => {
    routes = (await routesOfConfig(config)).filter((route) => keyNeed(route) !== 'any');
    world = await createWorld(service);
  });

  async function keyOf(grants: readonly Grant[]): Promise<string> {
    const { status, body } = await request(world.url, 'POST', '/api/keys', { body: keyBody(grants) });
    assert.equal(status, 201, JSON.stringify(body));
    return body.secret;
  }

  /** Calls a route at each of its paths. */
  async function callAll(route: Route, key: string): Promise<{ about: string; status: number }[]> {
    const answers = [];
    for (const path of pathsOf(route, world.ids)) {
      const body = isWrite(route) ? { body: bodyOf(route, world.ids) } : {};
      const { status, body: said } = await request(world.url, route.method, path, { key, ...body });
      answers.push({ status, about: `${route.method} ${path}: ${status} ${JSON.stringify(said).slice(0, 300)}` });
    }
    return answers;
  }

  for (const grant of spreadOf(grants, 6)) {
    it(`is refused on every route that needs another, and records nothing: ${JSON.stringify(grant)}`, async () => {
      const key = await keyOf(grant === null ? [] : [grant]);
      const log = followLog(service.data);
      log.next();
      let refused = 0;
      for (const route of routes.filter((one) => !passes(keyNeed(one), grant))) {
        const need = keyNeed(route);
        const holdsPart =
          typeof need === 'object' && 'oneOf' in need && need.oneOf.flat().some((one) => holds(grant, one));
        const wanted = need !== 'any' && 'never' in need ? need.status : 403;
        for (const { status, about } of await callAll(route, key)) {
          // A key with a part of the needed scopes learns that a document does not exist.
          assert.ok(status === wanted || (status === 404 && holdsPart), about);
          refused += 1;
        }
        assert.deepEqual(log.next(), [], `${route.name} recorded this`);
      }
      log.close();
      assert.ok(refused > 250, `only ${refused} requests were refused`);
    });
  }

  it('is let in with what it is said to need: so the refusals above are by that alone', async () => {
    let tried = 0;
    // Routes that delete come last.
    const last = (route: Route) => Number(/^DELETE|delete$|erasures$/.test(route.name));
    for (const route of spreadOf(
      routes.sort((a, b) => last(a) - last(b)),
      100,
    )) {
      const need = keyNeed(route);
      if (need === 'any' || !('oneOf' in need)) continue;
      for (const all of need.oneOf) {
        tried += 1;
        const answers = await callAll(route, await keyOf(all));
        const about = answers.map((one) => one.about).join('\n');
        assert.ok(
          answers.some(({ status }) => ![401, 403].includes(status) && status < 500),
          `${JSON.stringify(all)}\n${about}`,
        );
      }
    }
    assert.ok(tried > 30, `only ${tried} were tried`);
  });
});
