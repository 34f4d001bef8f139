import assert from 'node:assert/strict';
import { randomInt } from 'node:crypto';
import { describe, it } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import type { HookArgs } from '../../config/model.ts';
import type { Json, JsonObject } from '../../config/schema.ts';
import { useServiceHere } from '../helpers/embedded.ts';
import { runsOf } from '../helpers/runs.ts';
import type { Answer } from '../helpers/service.ts';
import { names } from './model/names.ts';
import { assertSame, done } from './model/world.ts';

const seed = Number(process.env.TEST_SEED ?? randomInt(2 ** 31));

const fields = [
  { name: 'code', type: 'text', unique: true },
  { name: 'n', type: 'number', unique: true },
  { name: 'title', type: 'text', defaultValue: 'new' },
  { name: 'tags', type: 'multiSelect', options: ['a', 'b'] },
  { name: 'list', type: 'array', fields: [{ name: 'word', type: 'text' }] },
  { name: 'stamp', type: 'text' },
] as const;
const stamp = ({ data }: HookArgs) => ({ ...data, stamp: `${data.title}, ${JSON.stringify(data.tags ?? null)}` });
const sides = ['bulk', 'single'] as const;
const kinds = ['plain', 'hooked'] as const;

const nullable = <T>(values: fc.Arbitrary<T>) => fc.option(values, { nil: null, freq: 3 });
const values = fc.record(
  {
    n: nullable(fc.nat(30)),
    title: nullable(fc.constantFrom('x', 'ß', '😀', '')),
    tags: fc.subarray(['a', 'b']),
    list: fc.array(fc.record({ word: nullable(fc.constantFrom('y', 'z')) }), { maxLength: 2 }),
  },
  { requiredKeys: [] },
);
const code = fc.nat(30).map((one) => `c${one}`);
const step = fc.record({
  call: fc.constantFrom('create', 'upsert', 'rotate', 'update', 'update', 'delete'),
  docs: fc.array(fc.tuple(values, nullable(code)), { minLength: 1, maxLength: 4 }),
  picks: fc.uniqueArray(fc.nat(19), { minLength: 1, maxLength: 5 }),
  isByIds: fc.boolean(),
  undone: fc.nat(2),
});
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;
type Kind = (typeof kinds)[number];

/** The documents of a collection, by their ids. */
type State = Map<string, JsonObject>;

const uniqueNames = ['code', 'n'] as const;

/** The single call for one document of a bulk call, and the unique values that it gives up and takes. */
type SingleWrite = { id: string | null; gives: string[]; takes: string[]; run: () => Promise<unknown> };

function singleWrite(
  id: string | null,
  { was = {}, is = {} }: { was: JsonObject | undefined; is: JsonObject | undefined },
  run: () => Promise<unknown>,
): SingleWrite {
  const [before, after] = [keysOf(was), keysOf(is)];
  const gives = before.filter((key) => !after.includes(key));
  return { id, gives, takes: after.filter((key) => !before.includes(key)), run };
}

describe(`Bulk calls against single calls (TEST_SEED=${seed})`, () => {
  const service = useServiceHere({
    rateLimit: false,
    collections: kinds.flatMap((kind) =>
      sides.map((side) => {
        const hooks = kind === 'hooked' ? { hooks: { beforeChange: stamp } } : {};
        return { slug: `${kind}-${side}`, fields, ...hooks };
      }),
    ),
  });
  /** The document that is made by single calls for each that is made in bulk. */
  const twins = new Map<string, string>();
  /** The versions of these that only made room: single calls cannot swap values. */
  const parked = new Map<string, number[]>();
  let counts: Record<string, number> = {};
  const count = (name: string) => {
    counts[name] = (counts[name] ?? 0) + 1;
  };
  const pathOf = (kind: Kind, side: (typeof sides)[number], rest = '') => `/api/collections/${kind}-${side}${rest}`;

  async function stateOf(kind: Kind, side: (typeof sides)[number]): Promise<State> {
    const { docs, total } = await done(service.call('GET', pathOf(kind, side, '?limit=100&sort=id')));
    assert.equal(docs.length, total);
    return new Map(docs.map((doc: JsonObject) => [String(doc.id), doc]));
  }

  async function historyOf(kind: Kind, side: (typeof sides)[number], id: string): Promise<Json[]> {
    const body = await done(service.call('GET', `/api/audit/documents/${kind}-${side}/${id}?limit=100`));
    return names.versionsOf(body).map(({ version, type }) => [version, type]);
  }

  /** The history of a document that is made by single calls, as the bulk calls make it. */
  async function twinHistoryOf(kind: Kind, id: string): Promise<Json[]> {
    const twin = twins.get(id) ?? '';
    const rest = (await historyOf(kind, 'single', twin)).filter((_, at) => !parked.get(twin)?.includes(at + 1));
    return rest.map((one, at) => [at + 1, (one as Json[])[1] ?? null]);
  }

  const single = (kind: Kind, method: string, rest: string, body?: object) =>
    done(service.call(method, pathOf(kind, 'single', rest), body));

  /** Does single calls in an order in which each finds its unique values free, and makes room where it has to. */
  async function inTurn(kind: Kind, writes: readonly SingleWrite[], before: State): Promise<void> {
    const held = new Set([...before.values()].flatMap(keysOf));
    const waiting = [...writes];
    while (waiting.length > 0) {
      const ready = waiting.findIndex(({ takes }) => !takes.some((key) => held.has(key)));
      const [one] = waiting.splice(ready < 0 ? waiting.findIndex(({ gives }) => gives.length > 0) : ready, 1);
      if (!one) throw new Error('no document gives up what the others take');
      for (const key of one.gives) held.delete(key);
      for (const key of ready < 0 ? [] : one.takes) held.add(key);
      if (ready >= 0) await one.run();
      else waiting.push({ ...one, gives: await park(kind, one) });
    }
  }

  /** Takes the values from a document that it will give up. @returns those that it has left to give up: none. */
  async function park(kind: Kind, { id, gives }: SingleWrite): Promise<[]> {
    const twin = twins.get(id ?? '') ?? '';
    await single(kind, 'PATCH', `/${twin}`, Object.fromEntries(gives.map((key) => [key.split(' ')[0], null])));
    parked.set(twin, [...(parked.get(twin) ?? []), (await historyOf(kind, 'single', twin)).length]);
    count('swapped');
    return [];
  }

  /** Does one by one what made one state of another. */
  async function redo(kind: Kind, before: State, after: State): Promise<void> {
    const ids = [...new Set([...before.keys(), ...after.keys()])];
    const writes = ids.map((id): SingleWrite => {
      const states = { was: before.get(id), is: after.get(id) };
      return singleWrite(id, states, () => redoOne(kind, twins.get(id) ?? '', states));
    });
    await inTurn(kind, writes, before);
  }

  async function redoOne(
    kind: Kind,
    twin: string,
    { was, is }: { was: JsonObject | undefined; is: JsonObject | undefined },
  ): Promise<void> {
    if (was && !is) await single(kind, 'DELETE', `/${twin}`);
    else if (!was && is) {
      const version = (await historyOf(kind, 'single', twin)).length - 1;
      await single(kind, 'POST', `/${twin}/restore`, { version });
    } else if (was && is) {
      const changed = fields.map(({ name }) => name).filter((name) => !isDeepStrictEqual(was[name], is[name]));
      if (changed.length > 0)
        await single(kind, 'PATCH', `/${twin}`, Object.fromEntries(changed.map((name) => [name, is[name]])));
    }
  }

  /** Both collections are the same but for ids and times. */
  async function compare(kind: Kind, what: string): Promise<State> {
    const [made, wanted] = [await stateOf(kind, 'bulk'), await stateOf(kind, 'single')];
    const plain = ({ id: _, createdAt: __, updatedAt: ___, ...rest }: JsonObject) => rest;
    // Single calls may have made them in another order.
    const twinOf = new Map([...made].map(([id, doc]) => [twins.get(id) ?? '', plain(doc)]));
    assertSame(
      [...twinOf].sort(([one], [other]) => (one < other ? -1 : 1)),
      [...wanted].map(([id, doc]) => [id, plain(doc)]),
      what,
    );
    return made;
  }

  async function run(kind: Kind, one: Step): Promise<void> {
    const before = await stateOf(kind, 'bulk');
    const call = callOf(one, before);
    const what = `${call.name} ${JSON.stringify(call.body)} of ${JSON.stringify([...before.values()])}`;
    const isDry = call.name === 'update' || call.name === 'delete';
    const bulkPath = pathOf(kind, 'bulk', call.rest);
    const dry = isDry ? await service.call('POST', ...names.dryRun(bulkPath, call.body)) : null;
    const { status, body } = await service.call('POST', bulkPath, call.body);
    const taken = takenBy(call.changes, before);
    if (taken.length > 0) {
      assertSame([status, fieldsIn(body)], [409, taken], what);
      if (dry) assertSame([dry.status, fieldsIn(dry.body)], [409, taken], what);
      assertSame(await stateOf(kind, 'bulk'), before, what);
      return count('taken');
    }
    assert.ok(status < 300, `${what}: ${JSON.stringify(body)}`);
    if (dry && kind === 'plain') assertSame({ ...dry.body, batch: body.batch }, body, `${what}, dry`);
    const results: { id: string }[] = body.results;
    const writes = call.changes.map(({ id, values: sent }, index): SingleWrite => {
      const was = before.get(id ?? '');
      const run = async () => {
        if (call.name === 'delete') await single(kind, 'DELETE', `/${twins.get(String(id))}`);
        else if (id !== null) await single(kind, 'PATCH', `/${twins.get(id)}`, sent);
        else twins.set(results[index]?.id ?? '', (await single(kind, 'POST', '', sent)).id);
      };
      return singleWrite(id, { was, is: call.name === 'delete' ? {} : { ...was, ...sent } }, run);
    });
    await inTurn(kind, writes, before);
    const after = await compare(kind, what);
    count(call.name);
    let [from, to, batch] = [after, before, body.batch];
    for (let times = 0; times < one.undone && batch !== null; times += 1) {
      const undone = await done(service.call('POST', names.undo(batch), {}));
      await redo(kind, from, to);
      // A hook may make of the former values those that are there.
      if (kind === 'plain') assertSame(undone.changed, body.changed ?? undone.changed, what);
      [from, to, batch] = [await compare(kind, `${what}, undone ${times + 1}`), from, undone.batch];
      count(`undone ${times + 1}`);
    }
    for (const { id } of results) assertSame(await historyOf(kind, 'bulk', id), await twinHistoryOf(kind, id), what);
  }

  for (const kind of kinds) {
    it(`leave the same documents with the same histories, if they are undone too, ${kind}`, async () => {
      counts = {};
      const property = fc.asyncProperty(step, (one) => run(kind, one));
      await fc.assert(property, { seed, numRuns: runsOf(1000, 200), endOnFailure: true });
      if (runsOf(1000, 200) < 1000) return;
      for (const name of ['create', 'upsert', 'rotate', 'update', 'delete', 'taken', 'undone 1', 'undone 2'])
        assert.ok((counts[name] ?? 0) >= 50, `${name}: ${counts[name]}`);
      assert.ok((counts.swapped ?? 0) >= 10, `swapped: ${counts.swapped}`);
    });
  }
});

/** A change of a call: `at` is its path in errors, `id` null for a new document. */
type BulkChange = { at: string; id: string | null; values: JsonObject };
type BulkCall = { name: Step['call']; rest: string; body: object; changes: BulkChange[] };

/** The call of a step: there are never more than 20 documents, and always some. */
function callOf({ call, docs, picks, isByIds }: Step, before: State): BulkCall {
  const ids = [...before.keys()];
  const name = ids.length > 16 ? 'delete' : ids.length < 4 ? 'create' : call;
  if (name === 'create') {
    const sent = docs.map(([one, key]): JsonObject => ({ ...one, code: key }));
    const changes = sent.map((one, index) => ({ at: `docs.${index}`, id: null, values: one }));
    return { name, rest: '/bulk', body: { docs: sent }, changes };
  }
  if (name === 'upsert') {
    const keyed = docs.map(([one, key], index): JsonObject => ({ ...one, code: key ?? `d${index}` }));
    const sent = [...new Map(keyed.map((one) => [one.code, one])).values()];
    const changes = sent.map(({ code: key, ...one }, index): BulkChange => {
      const id = ids.find((other) => before.get(other)?.code === key) ?? null;
      return { at: `docs.${index}`, id, values: id === null ? { ...one, code: key ?? null } : one };
    });
    return { name, rest: '/bulk', body: { upsertBy: 'code', docs: sent }, changes };
  }
  const chosen = [...new Set(picks.map((pick) => ids[pick % ids.length] ?? ''))];
  if (name === 'rotate') {
    // Each gets the number that the next one has.
    const keyed = ids.filter((id) => before.get(id)?.code != null && chosen.includes(id));
    const numbers = keyed.map((_, at) => before.get(keyed[(at + 1) % keyed.length] ?? '')?.n ?? null);
    const changes = keyed.map((id, at) => ({ at: `docs.${at}`, id, values: { n: numbers[at] ?? null } }));
    const sent = keyed.map((id, at) => ({ code: before.get(id)?.code, n: numbers[at] }));
    return { name, rest: '/bulk', body: { upsertBy: 'code', docs: sent }, changes };
  }
  const selection = isByIds ? { ids: chosen } : { where: { id: { in: chosen } } };
  const [[one, key] = [{}, null]] = docs;
  const data = name === 'update' ? { ...one, ...(picks.length % 2 === 0 ? { code: key } : {}) } : {};
  const changes = chosen.map((id) => ({ at: 'data', id, values: data }));
  return { name, rest: `/bulk/${name}`, body: { ...selection, ...(name === 'update' ? { data } : {}) }, changes };
}

/** The unique values of a document, each with the name of its field. */
function keysOf(doc: JsonObject): string[] {
  return uniqueNames.flatMap((name) => (doc[name] == null ? [] : [`${name} ${doc[name]}`]));
}

/** The unique fields whose values other documents keep, or that come twice in the call. */
function takenBy(changes: readonly BulkChange[], before: State): string[] {
  const claimed = new Set<string>();
  const taken = new Set<string>();
  const after = new Map(before);
  for (const { id, values: sent } of changes) if (id !== null) after.set(id, { ...before.get(id), ...sent });
  for (const { at, id, values: sent } of changes) {
    for (const name of uniqueNames) {
      const value = sent[name] ?? null;
      if (value === null || (id !== null && before.get(id)?.[name] === value)) continue;
      const key = `${name} ${value}`;
      const isHeld = [...before].some(([other, doc]) => doc[name] === value && after.get(other)?.[name] === value);
      if (isHeld || claimed.has(key)) taken.add(`${at}.${name}`);
      claimed.add(key);
    }
  }
  return [...taken].sort();
}

function fieldsIn({ errors = [] }: Answer['body']): string[] {
  return errors.map(({ field }: { field: string }) => field).sort();
}
