import assert from 'node:assert/strict';
import { randomInt } from 'node:crypto';
import { before, describe, it } from 'node:test';
import fc from 'fast-check';
import type { JsonObject } from '../../config/schema.ts';
import { useServiceHere } from '../helpers/embedded.ts';
import { runsOf } from '../helpers/runs.ts';
import { type Sight, selectedBy, shown } from './model/documents.ts';
import { names } from './model/names.ts';
import { anyQuestion, foundBy, type Question, queryOf, realized } from './model/question.ts';
import { assertSame, done, type Filled, fill, worldConfig } from './model/world.ts';

const seed = Number(process.env.TEST_SEED ?? randomInt(2 ** 31));
const list = '/api/collections/things';

describe(`Lists over HTTP against documents in memory (TEST_SEED=${seed})`, () => {
  const service = useServiceHere(worldConfig);
  let filled: Filled;
  before(async () => {
    filled = await fill(service, seed);
  });

  function sightOf({ role, moment }: Question): Sight {
    const { states } = filled;
    const today = states.at(-1) ?? assert.fail('nothing was written');
    return { role, today, state: moment === null ? today : (states[moment % states.length] ?? today) };
  }

  function positionOf(question: Question): number | null {
    return question.moment === null ? null : sightOf(question).state.position;
  }

  async function ask(question: Question, more: Record<string, string | number>) {
    const query = queryOf(question, positionOf(question));
    for (const [name, value] of Object.entries(more)) query.set(name, String(value));
    const path = `${list}?${query}`;
    return { path, answer: await service.call('GET', path, undefined, filled.callers[question.role]) };
  }

  function expectedOf(question: Question): { all: JsonObject[]; show: (doc: JsonObject) => JsonObject } {
    const sight = sightOf(question);
    const select = question.select.length > 0 ? selectedBy(question.select) : null;
    return { all: foundBy(question, sight), show: (doc) => shown(sight, doc, { depth: question.depth, select }) };
  }

  async function listed(generated: Question): Promise<Record<string, boolean>> {
    const question = realized(generated, filled.real);
    const { limit, page } = question;
    const { path, answer } = await ask(question, { limit, page });
    if (isTooMuch(answer)) return { refused: true };
    const what = `${question.role} ${decodeURIComponent(path)}`;
    const { all, show } = expectedOf(question);
    const { docs, ...rest } = await done(Promise.resolve(answer));
    assertSame(docs.map(idOf), all.slice((page - 1) * limit, page * limit).map(idOf), what);
    assertSame(docs, all.slice((page - 1) * limit, page * limit).map(show), what);
    const totalPages = Math.ceil(all.length / limit);
    assertSame(
      [rest.total, rest.limit, rest.page, rest.totalPages, rest.hasNextPage, rest.nextPage],
      [all.length, limit, page, totalPages, page < totalPages, page < totalPages ? page + 1 : null],
      what,
    );
    if (limit % 4 === 0) {
      const query = queryOf({ ...question, sort: [], depth: 0, select: [] }, positionOf(question));
      const counted = await service.call('GET', `${list}/count?${query}`, undefined, filled.callers[question.role]);
      assert.equal(names.countOf(await done(Promise.resolve(counted))), all.length, what);
    }
    return { found: docs.length > 0, sorted: question.sort.length > 1, deep: question.depth > 0 };
  }

  /** Tries a property of questions; `least` names what must have come up. */
  async function tryAll(all: number, questions: fc.Arbitrary<Question>, run: typeof listed, least: string[]) {
    const counts: Record<string, number> = {};
    await fc.assert(
      fc.asyncProperty(questions, async (question) => {
        for (const [name, is] of Object.entries(await run(question))) counts[name] = (counts[name] ?? 0) + Number(is);
      }),
      { seed, numRuns: runsOf(all, 80) },
    );
    if (runsOf(all, 80) < all) return;
    for (const name of least) assert.ok((counts[name] ?? 0) >= all / 20, `${name}: ${counts[name]}`);
    assert.ok((counts.refused ?? 0) <= all / 20, `${counts.refused} are too much to ask`);
  }

  it('are the same for each filter, sort, page, depth and selection, for three callers', async () => {
    await tryAll(2000, anyQuestion, listed, ['found', 'sorted', 'deep']);
  });

  it('are the same as of each moment', async () => {
    const past = fc.tuple(anyQuestion, fc.nat(1000)).map(([question, moment]) => ({ ...question, moment }));
    await tryAll(2000, past, listed, ['found', 'sorted', 'deep']);
  });

  async function walked(generated: Question): Promise<Record<string, boolean>> {
    const question = realized(generated, filled.real);
    const limit = question.limit + 1;
    const { all, show } = expectedOf(question);
    const docs: JsonObject[] = [];
    let what = '';
    let pages = 0;
    for (let after: string | null = ''; after !== null; pages += 1) {
      const { path, answer } = await ask(question, { limit, [names.next]: after });
      if (isTooMuch(answer)) return { refused: true };
      what ||= `${question.role} ${decodeURIComponent(path)}`;
      const body = await done(Promise.resolve(answer));
      docs.push(...body.docs);
      after = body[names.next];
      assert.ok(pages <= all.length, `${what} does not end`);
    }
    assertSame(docs, all.map(show), what);
    return { several: pages > 1 };
  }

  it('are walked by cursors from the first document to the last', async () => {
    const walks = anyQuestion.map((question) => ({ ...question, depth: 0 }));
    await tryAll(1000, walks, walked, ['several']);
  });

  it('are walked by cursors as of each moment', async () => {
    const walks = fc.tuple(anyQuestion, fc.nat(1000)).map(([question, moment]) => ({ ...question, moment, depth: 0 }));
    await tryAll(1000, walks, walked, ['several']);
  });
});

const idOf = ({ id }: JsonObject) => id;

/** A request of more than 16 KiB, or an answer of more than 20,000 related documents. */
function isTooMuch({ status, body }: { status: number; body: { message?: string } }): boolean {
  return status === 431 || status === 414 || (status === 400 && /^depth \d puts more than/.test(body.message ?? ''));
}
