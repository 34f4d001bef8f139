import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import type { MissingIndex } from '../../client/index.ts';
import type { Config } from '../../config/define.ts';
import { readsWaiting } from '../../server/reads/long-read-queue.ts';
import { type HereService, useServiceHere } from '../helpers/embedded.ts';
import type { Answer } from '../helpers/service.ts';
import { errorsOf, eventually, fieldsOf } from '../helpers/shared.ts';

const config: Config = {
  collections: [
    {
      slug: 'notes',
      fields: [
        { name: 'title', type: 'text' },
        { name: 'place', type: 'number', index: true },
        { name: 'views', type: 'number' },
        { name: 'body', type: 'textarea' },
        { name: 'tags', type: 'array', fields: [{ name: 'word', type: 'text' }] },
        { name: 'more', type: 'array', fields: [{ name: 'word', type: 'text' }] },
      ],
      access: { read: () => true },
    },
    {
      slug: 'asked',
      fields: [{ name: 'title', type: 'text' }],
      // A loop of the author's: 2 ms for each document.
      access: {
        read: ({ doc, user }) => {
          for (const end = performance.now() + 2; performance.now() < end; );
          return doc === null ? user !== null : true;
        },
      },
    },
    {
      slug: 'binned',
      fields: [{ name: 'title', type: 'text' }],
      access: {
        read: ({ doc }) => {
          for (const end = performance.now() + 2; performance.now() < end; );
          return doc?.title === 'gone';
        },
        delete: () => true,
        create: () => true,
      },
    },
    {
      slug: 'small',
      fields: [
        { name: 'title', type: 'text' },
        { name: 'items', type: 'array', fields: [{ name: 'word', type: 'text' }] },
      ],
      access: { read: () => true },
    },
    {
      slug: 'linked',
      fields: [{ name: 'to', type: 'relationship', relationTo: 'small' }],
      access: { read: () => true },
    },
  ],
};

const words = 'one two three four five six seven eight nine ten ';

/** A list whose pairs of items are many. */
const listed = (word: string) => Array.from({ length: 2000 }, (_, index) => ({ word: `${word}${index}` }));

/** @param times how often each body has all the words. */
async function fill({ call }: HereService, times: number): Promise<void> {
  const text = words.repeat(times);
  const docs = Array.from({ length: 400 }, (_, index) => ({
    title: `title ${index}`,
    place: index,
    views: index % 7,
    body: `${text} ${index}`,
    ...(index === 0 && { tags: listed('a'), more: listed('b') }),
  }));
  for (let at = 0; at < docs.length; at += 100)
    assert.equal((await call('POST', '/api/collections/notes/bulk', { docs: docs.slice(at, at + 100) })).status, 201);
}

/** Reads a path without a credential. */
function get({ url }: HereService, path: string, signal?: AbortSignal): Promise<Response> {
  return fetch(url + path, signal ? { signal } : {});
}

describe('A read that no index serves', () => {
  /** A search looks for all these words in each text, which takes longer than to see that the first is missing. */
  const manyWords = words.trim().replaceAll(' ', '%20');
  const service = useServiceHere(config, { readSeconds: 0.05, logLevel: 'info' });
  let id = '';
  before(async () => {
    // A read that takes too long here has to take a small part of the time that it has elsewhere.
    await fill(service, 500);
    id = (await service.call('GET', '/api/collections/notes?limit=1')).body.docs[0].id;
  });

  /** Repeats a call until it has its turn: an earlier one may not have ended yet. */
  async function read(path: string, body?: object): Promise<Answer> {
    for (;;) {
      const answer = await service.call(body ? 'POST' : 'GET', path, body);
      if (answer.status !== 503 || !/came before/.test(answer.body.message)) return answer;
    }
  }
  const notes = (query: string) => read(`/api/collections/notes${query}`);

  it('is refused by its end, naming the index of words that is missing', async () => {
    const answer = await notes(`?q=${manyWords}%20eleven`);
    assert.equal(answer.status, 400, JSON.stringify(answer.body));
    assert.deepEqual(errorsOf(answer), {
      q: 'q looks through all texts of notes, which takes too long here: name the fields to search in admin.searchFields of notes',
    });
    assert.equal((await read(`/api/search?q=${manyWords}%20eleven`)).status, 400);
    assert.equal((await notes(`/count?q=${manyWords}%20eleven`)).status, 400);
  });

  it('names the field that has no index, of where and of sort, and no index where none would help', async () => {
    const slow = (field: string) =>
      Array.from({ length: 60 }, (_, index) => `where[or][${index}][${field}]=nowhere${index}`).join('&');
    const like = await notes(`?${slow('body][like')}`);
    assert.equal(like.status, 400, JSON.stringify(like.body));
    assert.partialDeepStrictEqual(like.body.errors, [{ in: 'query', code: 'index_needed' }]);
    assert.deepEqual(errorsOf(like), {
      where: 'where goes by body of notes, which has no index and takes too long here: set index: true of that field',
    });
    const without = await notes(
      `?${slow('body][not_equals').replaceAll('or', 'and')}&sort=place&where[and][60][body][like]=x`,
    );
    assert.equal(without.status, 503, JSON.stringify(without.body));
    assert.equal(without.headers.get('retry-after'), '2');
  });

  it('is refused in a call about many documents too, and in the trash', async () => {
    const or = Array.from({ length: 60 }, (_, index) => ({ body: { like: `nowhere${index}` } }));
    const body = { where: { or }, data: { views: 1 } };
    const answer = await read('/api/collections/notes/bulk/update?dryRun=true', body);
    assert.deepEqual(errorsOf(answer), {
      where: 'where goes by body of notes, which has no index and takes too long here: set index: true of that field',
    });
    const docs = Array.from({ length: 60 }, () => ({ title: 'gone' }));
    const { results } = (await service.call('POST', '/api/collections/binned/bulk', { docs })).body;
    const ids = results.map(({ id }: { id: string }) => id);
    assert.equal((await service.call('POST', '/api/collections/binned/bulk/delete', { ids })).status, 200);
    const trash = await get(service, '/api/collections/binned/trash');
    assert.deepEqual([trash.status, /^this read took too long/.test((await trash.json()).message)], [503, true]);
  });

  it('is refused though there are three documents, if they are long', async () => {
    const items = Array.from({ length: 5000 }, (_, index) => ({ word: `w${index}` }));
    for (let count = 0; count < 3; count += 1)
      assert.equal((await service.call('POST', '/api/collections/small', { title: `${count}`, items })).status, 201);
    const or = Array.from({ length: 100 }, (_, index) => ({ 'items.word': { equals: `none${index}` } }));
    for (const moment of ['', `&asOf=${new Date().toISOString()}`]) {
      const where = encodeURIComponent(JSON.stringify({ or }));
      const slow = read(`/api/collections/small?where=${where}${moment}`);
      const health = service.call('GET', '/health');
      const answer = await slow;
      assert.ok([400, 503].includes(answer.status), JSON.stringify(answer.body));
      assert.equal((await health).status, 200);
    }
  });

  it('is refused by the lists that it combines', async () => {
    const answer = await notes('/aggregate?groupBy=tags.word,more.word');
    assert.deepEqual([answer.status, fieldsOf(answer)], [400, ['groupBy']]);
  });

  it('that asks a rule about each document is ended too, and others have their turns meanwhile', async () => {
    const docs = Array.from({ length: 100 }, (_, index) => ({ title: `${index}` }));
    await service.call('POST', '/api/collections/asked/bulk', { docs });
    const slow = get(service, '/api/collections/asked');
    assert.equal((await get(service, '/health')).status, 200);
    assert.equal((await slow).status, 503);
  });

  it('leaves everything else as it is', async () => {
    const [slow, byId, page] = await Promise.all([
      notes(`?q=${manyWords}%20fourteen`),
      notes(`/${id}`),
      notes('?sort=-place&limit=3&where[place][less_than]=50'),
    ]);
    assert.equal(slow.status, 400);
    assert.deepEqual([byId.status, byId.body.id], [200, id]);
    assert.deepEqual(
      page.body.docs.map(({ place }: { place: number }) => place),
      [49, 48, 47],
    );
  });
});

describe('A long read', () => {
  const service = useServiceHere(config, { readSeconds: 5, logLevel: 'info' });
  before(() => fill(service, 40));
  const notes = (query: string): Promise<Answer> => service.call('GET', `/api/collections/notes${query}`);
  /** Each read takes time in proportion to its conditions, for 120 some 0.2 s of the CPU; no two are the same. */
  const slow = (conditions: number, index: number) => {
    const parts = Array.from({ length: conditions }, (_, at) => `where[or][${at}][body][like]=gone${index}x${at}`);
    return `/api/collections/notes?${parts.join('&')}`;
  };
  const linesOf = (path: string) => service.lines().filter((line) => line.path === path && line.method === 'GET');

  it('is answered as any other: with its headers, in one line of the log, under the rules', async () => {
    const path = '/api/collections/notes';
    const before = linesOf(path).length;
    const answer = await notes('?q=ten%20399');
    assert.equal(answer.status, 200, JSON.stringify(answer.body));
    assert.deepEqual([answer.body.totalDocs ?? answer.body.total, answer.body.docs[0].place], [1, 399]);
    assert.match(answer.headers.get('vary') ?? '', /authorization/i);
    await eventually(() => linesOf(path).length === before + 1);
    const [line] = linesOf(path).slice(-1);
    assert.equal(line.status, 200);
    assert.ok(line.milliseconds >= 1, 'its time is that until the answer');
  });

  it('names the index that it lacked, in its line of the log and to operators', async () => {
    const path = '/api/collections/notes';
    const before = linesOf(path).length;
    assert.equal((await get(service, slow(120, 1000))).status, 200);
    assert.equal((await notes('?limit=1')).status, 200);
    await eventually(() => linesOf(path).length === before + 2);
    assert.deepEqual(
      linesOf(path)
        .slice(-2)
        .map(({ missingIndex }) => missingIndex),
      ['notes.body', undefined],
    );
    const { body } = await service.call('GET', '/api/schemas');
    const found: MissingIndex[] = body.missingIndexes;
    const { slowest = 0, lastAt = '', ...missing } = found.find(({ field }) => field === 'body') ?? {};
    assert.deepEqual(missing, { collection: 'notes', field: 'body', reads: 1 });
    assert.ok(slowest >= 10 && Date.now() - Date.parse(lastAt) < 600_000);
    const anonymous = await service.call('GET', '/api/schemas', undefined, { key: null });
    assert.equal('missingIndexes' in anonymous.body, false);
  });

  it('is dropped when its client has gone', async () => {
    const leaving = new AbortController();
    const asked = Array.from({ length: 60 }, (_, index) => get(service, slow(120, index), leaving.signal));
    await eventually(() => readsWaiting() >= 50);
    leaving.abort();
    for (const ended of await Promise.allSettled(asked)) assert.equal(ended.status, 'rejected');
    // The next one of the same caller: all of them together would take twice as long as it may wait.
    const answer = await get(service, '/api/collections/notes?q=ten%20398');
    assert.equal(answer.status, 200);
    assert.equal((await answer.json()).docs[0].place, 398);
  });

  it('has a share for each caller, and those beyond it are told to come again', async () => {
    const leaving = new AbortController();
    const refused: Response[] = [];
    const many = Array.from({ length: 80 }, async (_, index) => {
      const answer = await get(service, slow(60, index), leaving.signal);
      if (answer.status === 503) refused.push(answer);
    });
    const other = await service.call('GET', '/api/collections/notes?q=ten%20397');
    assert.equal(other.status, 200);
    await eventually(() => refused.length >= 5);
    leaving.abort();
    await Promise.allSettled(many);
    assert.ok(refused.length < 30, `${refused.length} refused`);
    for (const { headers } of refused) assert.equal(headers.get('retry-after'), '2');
  });

  it('behind ten thousand documents says in the log how to read on', async () => {
    const path = '/api/collections/small';
    for (const page of [102, 101])
      assert.equal((await service.call('GET', `${path}?page=${page}&limit=100`)).status, 200);
    await eventually(() => linesOf(path).length === 2);
    assert.deepEqual(
      linesOf(path).map(({ advice }) => typeof advice === 'string' && /\bafter\b/.test(advice)),
      [true, false],
    );
  });
});

describe('An answer that is kept', () => {
  const service = useServiceHere(config);
  before(() => fill(service, 1));
  const sums = async (query = '') =>
    (await service.call('GET', `/api/collections/notes/aggregate?groupBy=views&sum=place${query}`)).body;

  it('is right after each write, and for what else is asked', async () => {
    const { call } = service;
    const first = await sums();
    assert.deepEqual(await sums(), first);
    const { body } = await call('POST', '/api/collections/notes', { title: 'more', views: 99, place: 5000 });
    const found = (await sums()).groups.find((group: { key: { views: number } }) => group.key.views === 99);
    assert.deepEqual(found, { key: { views: 99 }, count: 1, sum: { place: 5000 } });
    await call('PATCH', `/api/collections/notes/${body.doc?.id ?? body.id}`, { views: 98 });
    const views = (await sums()).groups.map((group: { key: { views: number } }) => group.key.views);
    assert.ok(views.includes(98) && !views.includes(99));
    assert.equal((await sums('&limit=1')).groups.length, 1);
    assert.equal((await sums('&where[views][equals]=98')).total, 1);
    const asWritten = await call('GET', '/api/collections/notes/distinct?field=views&limit=3');
    assert.equal(asWritten.body.values.length, 3);
  });

  it('stays while others are written, and is made anew after a write of any that it goes through', async () => {
    const { call } = service;
    const { body: small } = await call('POST', '/api/collections/small', { title: 'before' });
    await call('POST', '/api/collections/linked', { to: small.id });
    const titles = async () => {
      const { body } = await call('GET', '/api/collections/linked/distinct?field=to.title');
      return body.values.map(({ value }: { value: string }) => value);
    };
    assert.deepEqual(await titles(), ['before']);
    await call('POST', '/api/collections/notes', { title: 'elsewhere' });
    assert.deepEqual(await titles(), ['before']);
    await call('PATCH', `/api/collections/small/${small.id}`, { title: 'after' });
    assert.deepEqual(await titles(), ['after']);
    await call('DELETE', `/api/collections/small/${small.id}`);
    assert.deepEqual(await titles(), [null]);
  });
});
