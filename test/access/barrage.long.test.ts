import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { useServiceHere } from '../helpers/embedded.ts';
import { request, type Sent } from '../helpers/requests.ts';
import { spreadOf } from '../helpers/rounds.ts';
import type { Answer } from '../helpers/service.ts';
import { unzip } from '../helpers/unzip.ts';
import { type Address, addressesOf, pathsOf } from './barrage/addresses.ts';
import { bodyOf, isWrite } from './barrage/bodies.ts';
import {
  type CallerName,
  type CanaryName,
  callerNames,
  canariesIn,
  canary,
  canaryNames,
  placeOf,
} from './barrage/canaries.ts';
import { config } from './barrage/config.ts';
import { type Route, routesOfConfig } from './barrage/routes.ts';
import { createWorld, type World } from './barrage/world.ts';

const service = useServiceHere(config);
const callers = spreadOf(callerNames, 6);

/** The whole text of an answer, decompressed if it is compressed. */
function textOf({ headers, body }: Answer): string {
  const type = headers.get('content-type') ?? '';
  const head = JSON.stringify([...headers]);
  if (!Buffer.isBuffer(body)) return head + JSON.stringify(body);
  if (!type.startsWith('application/zip')) return head + body.toString('latin1');
  return head + [...unzip(body)].map(([name, bytes]) => name + bytes.toString('latin1')).join('\n');
}

/** The requests that find documents by a word in a field, or count them. */
function questionsAbout([slug, field]: readonly [slug: string, field: string], word: string): string[] {
  const where = (operator: string, value: string) =>
    `where=${encodeURIComponent(JSON.stringify({ [field]: { [operator]: value } }))}`;
  const conditions = [
    where('equals', word),
    where('like', word.slice(2)),
    where('in', word),
    where('greater_than_equal', word),
  ];
  const list = `/api/collections/${slug}`;
  return [
    ...conditions.flatMap((condition) =>
      ['?', '/count?', '/aggregate?groupBy=createdAt&', '/distinct?field=createdAt&'].map(
        (path) => list + path + condition,
      ),
    ),
    ...['', '/count'].map((path) => `${list}${path}?q=${word}`),
    `/api/search?q=${word}`,
    `/api/search?q=${word.slice(0, -1)}&collections=${slug}`,
  ];
}

/** These paths, and the same with `draft=true` where the route takes that. */
function withDrafts({ operation }: Route, paths: readonly string[]): string[] {
  const takesDraft = operation?.query?.draft !== undefined;
  return [...paths, ...(takesDraft ? paths.map((path) => `${path}?draft=true`) : [])];
}

describe('A value that a caller may not see', () => {
  let world: World;
  let reads: Address[];
  let writes: Route[];
  /** By whom each canary was seen. */
  const seen = new Map<CanaryName, Set<CallerName>>(canaryNames.map((name) => [name, new Set()]));

  before(async () => {
    const routes = await routesOfConfig(config);
    world = await createWorld(service);
    const all = addressesOf(
      routes.filter((route) => !isWrite(route)),
      world.ids,
    );
    // A short run tries all paths without a query, and a few queries.
    reads = [
      ...all.filter(({ isBase }) => isBase),
      ...spreadOf(
        all.filter(({ isBase }) => !isBase),
        150,
      ),
    ];
    const order = ['POST', 'PUT', 'PATCH', 'DELETE'];
    writes = routes.filter(isWrite).sort((a, b) => order.indexOf(a.method) - order.indexOf(b.method));
  });

  /** Makes a request, and asserts that nothing is in its answer that is not for this caller. */
  async function attack(caller: CallerName, method: string, path: string, more: Sent = {}): Promise<Answer> {
    const sent = world.callers[caller];
    const answer = await request(world.url, method, path, {
      ...sent,
      ...more,
      headers: { ...sent.headers, ...more.headers },
    });
    const about = `${caller}: ${method} ${path} (${answer.status})`;
    assert.ok(answer.status < 500, `${about} ${JSON.stringify(answer.body)}`);
    const text = textOf(answer);
    const own = canariesIn(decodeURIComponent(path));
    for (const name of canariesIn(text)) {
      if (own.has(name)) continue;
      seen.get(name)?.add(caller);
      assert.ok(placeOf(name).seenBy.includes(caller), `${about} shows the canary "${name}"`);
    }
    assert.doesNotMatch(text, /\$2[aby]\$\d\d\$/, `${about} shows the hash of a password`);
    for (const secret of world.secrets) assert.ok(!text.includes(secret), `${about} shows a token or a key`);
    return answer;
  }

  for (const caller of callers) {
    it(`is in no answer to a read by ${caller}`, async () => {
      for (const { route, path } of reads) await attack(caller, route.method === '*' ? 'GET' : route.method, path);
    });
  }

  for (const caller of callers) {
    it(`decides nothing that ${caller} is told: neither what is found by it, nor how much`, async () => {
      for (const name of spreadOf(canaryNames, 6)) {
        const { at, seenBy, foundBy = [] } = placeOf(name);
        if (!at || seenBy.includes(caller) || foundBy.includes(caller)) continue;
        const [word, other] = [canary(name), canary(name).replace('qz', 'qx')];
        for (const path of questionsAbout(at, word)) {
          const [there, absent] = [
            await attack(caller, 'GET', path),
            await attack(caller, 'GET', path.replaceAll(word, other)),
          ];
          const told = JSON.stringify([there.status, there.body]).replaceAll(word, other);
          assert.equal(told, JSON.stringify([absent.status, absent.body]), `${caller}: ${path} tells of "${name}"`);
        }
      }
    });
  }

  it('is in no answer to a write, whatever is done by it', async () => {
    const writers = spreadOf(callerNames, 2);
    for (const route of writes) {
      for (const caller of writers) {
        for (const path of withDrafts(route, pathsOf(route, world.ids)))
          for (const body of new Set([bodyOf(route, world.ids), {}]))
            await attack(caller, route.method, path, { body });
      }
    }
  });

  it('is no more than that: callers who may see a canary are shown it by some answer', () => {
    for (const name of canaryNames) {
      const wanted = callers.filter((caller) => placeOf(name).seenBy.includes(caller));
      const found = callers.filter((caller) => seen.get(name)?.has(caller));
      assert.deepEqual(found, wanted, name);
    }
  });
});
