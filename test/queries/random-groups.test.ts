import assert from 'node:assert/strict';
import { randomInt } from 'node:crypto';
import { before, describe, it } from 'node:test';
import fc from 'fast-check';
import { useServiceHere } from '../helpers/embedded.ts';
import { runsOf } from '../helpers/runs.ts';
import { type End, ends, level, some, sortable } from '../projections/filters.ts';
import { mayUse, type Role, worldOf } from './model/documents.ts';
import { type By, compareGroups, type Figure, type Group, groupsIn, nameOf, type Term } from './model/groups.ts';
import { foundBy, type Question, realized, whereOf } from './model/question.ts';
import { assertSame, done, type Filled, fill, worldConfig } from './model/world.ts';

const seed = Number(process.env.TEST_SEED ?? randomInt(2 ** 31));

const groupable = ends.filter(({ field }) => !['json', 'richText', 'object', 'array', 'blocks'].includes(field.type));
const near = groupable.filter(({ hops }) => hops < 2);
const lists = groupable.filter(({ hops, isMany }) => hops < 2 && isMany);
const timed = (end: End) => end.field.type === 'date' || end.field.type === 'datetime';
const numbers = sortable.filter(({ field, hops }) => field.type === 'number' && hops < 3);
const ordered = sortable.filter(
  ({ field, hops }) => ['number', 'date', 'datetime', 'time'].includes(field.type) && hops < 3,
);

const anyBy: fc.Arbitrary<By> = fc
  .tuple(
    fc.oneof(
      { weight: 3, arbitrary: some(near) },
      { weight: 4, arbitrary: some(lists) },
      { weight: 1, arbitrary: some(groupable) },
      { weight: 1, arbitrary: some(groupable.filter(timed)) },
    ),
    some([null, 'year', 'month', 'day'] as const),
  )
  .map(([end, part]) => ({ end, part: timed(end) ? part : null }));
const anyFigure: fc.Arbitrary<Figure> = fc.oneof(
  fc.record({ kind: some(['sum', 'avg'] as const), end: some(numbers) }),
  fc.record({ kind: some(['min', 'max'] as const), end: some(ordered) }),
);
const anyTerm: fc.Arbitrary<Term> = fc.record({
  by: some(['count', 'key', 'figure'] as const),
  index: fc.nat(2),
  isDescending: fc.boolean(),
});
const asked = fc.record({
  role: some<Role>(['key', 'key', 'where', 'row']),
  filter: fc.option(level, { freq: 2 }),
  isJson: fc.boolean(),
  by: fc.uniqueArray(anyBy, { maxLength: 3, selector: nameOf }),
  figures: fc.uniqueArray(anyFigure, { maxLength: 4, selector: ({ kind, end }) => `${kind}.${end.path}` }),
  order: fc.uniqueArray(anyTerm, {
    maxLength: 2,
    selector: ({ by, index }) => (by === 'count' ? by : `${by}.${index}`),
  }),
  limit: fc.oneof(fc.constant(1000), fc.integer({ min: 1, max: 20 })),
  moment: fc.option(fc.nat(1000), { nil: null, freq: 2 }),
  isDistinct: fc.boolean(),
});
type Asked = typeof asked extends fc.Arbitrary<infer T> ? T : never;

describe(`Groups over HTTP against documents in memory (TEST_SEED=${seed})`, () => {
  const service = useServiceHere(worldConfig);
  let filled: Filled;
  before(async () => {
    filled = await fill(service, seed);
  });

  it('are the same for each grouping, figure, filter, order and moment, for three callers', async () => {
    const counts = { several: 0, lists: 0, distinct: 0 };
    await fc.assert(
      fc.asyncProperty(asked, async (generated) => {
        const { states, callers, real } = filled;
        const { role, moment, limit } = generated;
        const today = states.at(-1) ?? assert.fail('nothing was written');
        const state = moment === null ? today : (states[moment % states.length] ?? today);
        const isUsable = ({ end }: { end: End }) => mayUse(role, end.path, 'filter');
        const by = generated.by.filter(isUsable);
        const figures = generated.figures.filter(isUsable);
        const isDistinct = generated.isDistinct && by.length === 1;
        const one = { ...generated, sort: [], select: [], page: 1, depth: 0 } satisfies Question & Asked;
        const question = realized(one, real);
        const order = isDistinct ? [] : termsIn(generated.order, { by, figures });
        const terms: Term[] = order.length > 0 ? order : [{ by: 'count', index: 0, isDescending: true }];
        const sight = { role, state, today };
        const wanted = groupsIn(worldOf(sight), foundBy(question, sight), {
          by,
          figures: isDistinct ? [] : figures,
        }).sort((a, b) => compareGroups(terms, a, b));

        const query = new URLSearchParams([...whereOf(question), ['limit', String(limit)]]);
        if (moment !== null) query.set('asOf', String(state.position));
        if (isDistinct) query.set('field', by.map(nameOf).join());
        else writeQuery(query, { by, figures, order });
        const path = `/api/collections/things/${isDistinct ? 'distinct' : 'aggregate'}?${query}`;
        const answer = await service.call('GET', path, undefined, callers[role]);
        if (answer.status === 431) return;
        const what = `${role} ${decodeURIComponent(path)}`;
        const { groups, values, total } = await done(Promise.resolve(answer));
        const found: Group[] = isDistinct
          ? values.map(({ value, count }: { value: never; count: number }) => ({ keys: [value], count, figures: [] }))
          : groups.map((group: Answered) => groupOf(group, { by, figures }));
        const shown = wanted.slice(0, limit);
        const plain = ({ keys, count }: Group) => [keys, count];
        assertSame(found.map(plain), shown.map(plain), what);
        for (const [index, { figures: some }] of shown.entries())
          for (const [at, figure] of some.entries()) assertNear(found[index]?.figures[at], figure, what);
        assert.equal(total, isDistinct || by.length > 0 ? wanted.length : 1, what);
        counts.several += Number(by.length > 1 && wanted.length > 3);
        counts.lists += Number(by.some(({ end }) => end.isMany));
        counts.distinct += Number(isDistinct);
      }),
      { seed, numRuns: runsOf(2000, 80) },
    );
    if (runsOf(2000, 80) < 2000) return;
    for (const [name, count] of Object.entries(counts)) assert.ok(count >= 100, `${name}: ${count}`);
  });
});

type Paths = { by: readonly By[]; figures: readonly Figure[] };

/** The terms that name a key or a figure of the request; an order by sums would be one by last digits. */
function termsIn(terms: readonly Term[], { by, figures }: Paths): Term[] {
  return terms.filter((term) => {
    if (term.by === 'key') return term.index < by.length;
    return term.by === 'count' || /^m/.test(figures[term.index]?.kind ?? '');
  });
}

function writeQuery(query: URLSearchParams, { by, figures, order }: Paths & { order: readonly Term[] }): void {
  if (by.length > 0) query.set('groupBy', by.map(nameOf).join());
  for (const [kind, some = []] of Map.groupBy(figures, ({ kind }) => kind))
    query.set(kind, some.map(({ end }) => end.path).join());
  const texts = order.map(({ by: what, index, isDescending }) => {
    const figure = figures[index];
    const name =
      what === 'count' ? 'count' : what === 'key' ? nameOf(by[index] as By) : `${figure?.kind}.${figure?.end.path}`;
    return (isDescending ? '-' : '') + name;
  });
  if (texts.length > 0) query.set('sort', texts.join());
}

type Answered = { key: Record<string, never>; count: number } & Record<Figure['kind'], Record<string, never>>;

function groupOf(group: Answered, { by, figures }: Paths): Group {
  return {
    keys: by.map((one) => group.key[nameOf(one)] ?? null),
    count: group.count,
    figures: figures.map(({ kind, end }) => group[kind][end.path] ?? null),
  };
}

/** The order in which numbers are added decides their last digits. */
function assertNear(found: unknown, wanted: number | string | null, what: string): void {
  if (typeof wanted !== 'number' || typeof found !== 'number') assert.equal(found, wanted, what);
  else
    assert.ok(
      Math.abs(found - wanted) <= 16 * Math.max(1, Math.abs(wanted)) * 2 ** -52 + 1e-9,
      `${what}: ${found}, ${wanted}`,
    );
}
