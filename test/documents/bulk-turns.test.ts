import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { createBulkQueue } from '../../server/running/bulk-queue.ts';
import { useServiceHere } from '../helpers/embedded.ts';
import { apiKey } from '../helpers/service.ts';
import { dial, eventually } from '../helpers/shared.ts';

const posts = '/api/collections/posts';
const keys = [apiKey, 'another-key-0123456789', 'third-key-0123456789'];
const [, otherKey = '', thirdKey = ''] = keys;
/** The titles whose hooks run now, those that began, and the most of one caller at once. */
const inHand: string[] = [];
const begun: string[] = [];
let most = 0;

async function beforeChange({ data }: { data: { title: string } }) {
  const { title } = data;
  if (title.startsWith('quick')) return data;
  inHand.push(title);
  begun.push(title);
  most = Math.max(most, inHand.length);
  await wait(title.startsWith('slow') ? 300 : 5);
  inHand.splice(inHand.indexOf(title), 1);
  return data;
}

const service = useServiceHere(
  {
    collections: [
      { slug: 'posts', fields: [{ name: 'title', type: 'text' }], hooks: { beforeChange: [beforeChange] } },
    ],
  },
  { apiKeys: keys },
);
const create = (title: string, key = apiKey) =>
  service.call('POST', `${posts}/bulk`, { docs: [{ title: `${title}-0` }, { title: `${title}-1` }] }, { key });

describe('Calls about many documents', () => {
  it('of one caller are done one after the other, also those that change, and single writes meanwhile', async () => {
    const first = await create('quick');
    const ids = first.body.results.map(({ id }: { id: string }) => id);
    const change = (title: string) => service.call('POST', `${posts}/bulk/update`, { ids, data: { title } });
    const calls = [create('a'), change('b'), create('c'), change('d'), create('slow')];
    await eventually(() => inHand.some((title) => title.startsWith('slow')));
    assert.equal((await service.call('POST', posts, { title: 'quick' })).status, 201);
    const answers = await Promise.all(calls);
    assert.deepEqual(
      answers.map(({ status }) => status),
      [201, 200, 201, 200, 201],
    );
    assert.equal(most, 1);
  });

  it('of two callers are done at the same time', async () => {
    most = 0;
    const answers = await Promise.all([create('slow a'), create('slow b', otherKey)]);
    assert.deepEqual([answers.map(({ status }) => status), most], [[201, 201], 2]);
  });

  for (const [what, holders, key] of [
    ['a call of their own', [apiKey], apiKey],
    ['calls of others', [apiKey, otherKey], thirdKey],
  ] as const)
    it(`are dropped if their client has gone while they waited for ${what}`, async () => {
      begun.length = 0;
      const slow = holders.map((holder) => create('slow', holder));
      await eventually(() => inHand.length === holders.length);
      const body = JSON.stringify({ docs: [{ title: 'gone' }] });
      const head = `host: x\r\nx-api-key: ${key}\r\ncontent-type: application/json\r\ncontent-length: ${body.length}`;
      const socket = dial(service.url, `POST ${posts}/bulk HTTP/1.1\r\n${head}\r\n\r\n${body}`);
      // So that it waits for its turn.
      await service.call('POST', posts, { title: 'quick' });
      socket.destroy();
      await Promise.all(slow);
      assert.equal((await create('later', key)).status, 201);
      assert.deepEqual([begun.includes('gone'), begun.includes('later-1')], [false, true]);
    });
});

describe('The turns of a process', () => {
  it('are one for each caller in all threads, and two begin at once', async () => {
    const turns = createBulkQueue();
    const [here, there] = [turns.join(), turns.join()];
    const one = await here.take('a');
    const order: string[] = [];
    const second = there.take('a').then((turn) => {
      order.push('a');
      return turn;
    });
    const others = await Promise.all([here.take('b'), there.take('c')]);
    assert.equal(order.length, 0);
    assert.deepEqual(await Promise.all([here.begin(one as number), here.begin(others[0] as number)]), [true, true]);
    const third = there.begin(others[1] as number).then((may) => order.push(`c ${may}`));
    await wait(1);
    assert.equal(order.length, 0);
    await here.end(one as number);
    await Promise.all([second, third]);
    assert.deepEqual(order.sort(), ['a', 'c true']);
  });

  it('are passed on by a call whose body does not come, which still begins later', async (t) => {
    t.mock.timers.enable({ apis: ['setTimeout'] });
    const { take, begin, end } = createBulkQueue().join();
    const slow = (await take('a')) as number;
    const order: ('next' | 'slow')[] = [];
    const next = take('a').then((turn) => turn as number);
    next.then(() => order.push('next'));
    await new Promise(setImmediate);
    assert.equal(order.length, 0);
    t.mock.timers.tick(2000);
    assert.equal(await begin(await next), true);
    const late = begin(slow).then(() => order.push('slow'));
    await new Promise(setImmediate);
    assert.deepEqual(order, ['next']);
    await end(await next);
    await late;
    assert.deepEqual(order, ['next', 'slow']);
  });

  it('are passed on by a limited number of calls without a body, of one caller and in all', async (t) => {
    t.mock.timers.enable({ apis: ['setTimeout'] });
    const { take, end } = createBulkQueue().join();
    const turns = new Map<string, number[]>();
    const ask = (caller: string, count: number) => {
      const own: number[] = [];
      turns.set(caller, own);
      for (let index = 0; index < count; index += 1) take(caller).then((turn) => own.push(turn as number));
    };
    const lateAll = async () => {
      await new Promise(setImmediate);
      t.mock.timers.tick(2000);
      await new Promise(setImmediate);
    };
    const given = (caller: string) => turns.get(caller)?.length;
    for (const caller of ['a', 'b', 'c', 'd', 'e', 'f']) ask(caller, 6);
    for (let round = 0; round < 6; round += 1) await lateAll();
    // Of the first four, three were passed and the next one is not; sixteen in all leave two to each of the others.
    assert.deepEqual(['a', 'b', 'c', 'd', 'e', 'f'].map(given), [4, 4, 4, 4, 3, 3]);
    await end(turns.get('a')?.[3] as number);
    await new Promise(setImmediate);
    assert.equal(given('a'), 5);
  });

  it('are given back by a thread that ends, those too that it still waits for', async () => {
    const turns = createBulkQueue();
    const [ending, staying] = [turns.join(), turns.join()];
    for (const caller of ['a', 'b']) await ending.begin((await ending.take(caller)) as number);
    ending.take('a');
    const waiting = staying.take('a');
    ending.release();
    const turn = await waiting;
    assert.equal(await staying.begin(turn as number), true);
  });

  it('are refused if too many of one caller wait, and not those of others', async () => {
    const { take } = createBulkQueue().join();
    const taken: (number | null | undefined)[] = [];
    for (let count = 0; count < 30; count += 1) take('a').then((turn) => taken.push(turn));
    await wait(1);
    assert.deepEqual(taken.filter((turn) => turn === null).length, 13);
    assert.equal(typeof (await take('b')), 'number');
  });
});
