import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { useServiceHere } from '../helpers/embedded.ts';
import { errorsOf, fieldsOf } from '../helpers/shared.ts';

const service = useServiceHere({
  collections: [
    { slug: 'items', fields: [{ name: 'n', type: 'number' }] },
    { slug: 'none', fields: [{ name: 'n', type: 'number' }] },
    {
      slug: 'words',
      fields: [
        { name: 'word', type: 'text' },
        { name: 'rank', type: 'number' },
        { name: 'isOpen', type: 'boolean' },
        { name: 'day', type: 'date' },
        { name: 'tags', type: 'multiSelect', options: ['a'] },
        { name: 'data', type: 'json' },
        { name: 'seo', type: 'object', fields: [{ name: 'path', type: 'text' }] },
        { type: 'row', fields: [{ name: 'inRow', type: 'text' }] },
        { name: 'items', type: 'join', collection: 'links', on: 'word' },
      ],
    },
    { slug: 'links', fields: [{ name: 'word', type: 'relationship', relationTo: 'words' }] },
  ],
});

const count = 25;
const ids: string[] = [];

before(async () => {
  for (let n = 0; n < count; n += 1) ids.push((await service.call('POST', '/api/collections/items', { n })).body.id);
});

async function list(query: string, slug = 'items') {
  const answer = await service.call('GET', `/api/collections/${slug}${query}`);
  assert.equal(answer.status, 200, JSON.stringify(answer.body));
  return answer.body;
}

describe('GET /api/collections/:slug, the envelope (2.5)', () => {
  const envelope = async (query: string) => {
    const { docs, ...rest } = await list(query);
    return { ...rest, numbers: docs.map(({ n }: { n: number }) => n) };
  };

  it('holds the page, newest first, and tells where it stands: first, middle and last page', async () => {
    assert.deepEqual(await envelope(''), {
      numbers: [24, 23, 22, 21, 20, 19, 18, 17, 16, 15],
      total: 25,
      limit: 10,
      page: 1,
      totalPages: 3,
      hasNextPage: true,
      hasPrevPage: false,
      nextPage: 2,
      prevPage: null,
    });
    assert.deepEqual(await envelope('?page=2&limit=8'), {
      numbers: [16, 15, 14, 13, 12, 11, 10, 9],
      total: 25,
      limit: 8,
      page: 2,
      totalPages: 4,
      hasNextPage: true,
      hasPrevPage: true,
      nextPage: 3,
      prevPage: 1,
    });
    assert.deepEqual(await envelope('?page=3'), {
      numbers: [4, 3, 2, 1, 0],
      total: 25,
      limit: 10,
      page: 3,
      totalPages: 3,
      hasNextPage: false,
      hasPrevPage: true,
      nextPage: null,
      prevPage: 2,
    });
  });

  it('has exactly the members of the contract', async () => {
    assert.deepEqual(Object.keys(await list('')).sort(), [
      'docs',
      'hasNextPage',
      'hasPrevPage',
      'limit',
      'nextPage',
      'page',
      'prevPage',
      'total',
      'totalPages',
    ]);
  });

  it('counts whole pages when the last one is full', async () => {
    const { totalPages, hasNextPage, numbers } = await envelope('?limit=5&page=5');
    assert.deepEqual([totalPages, hasNextPage, numbers.length], [5, false, 5]);
    assert.deepEqual([(await envelope('?limit=25')).totalPages, (await envelope('?limit=24')).totalPages], [1, 2]);
  });

  it('is empty past the end, with the last page that exists as the previous one', async () => {
    for (const page of [4, 5, 1_000_000, Number.MAX_SAFE_INTEGER]) {
      assert.deepEqual(await envelope(`?page=${page}`), {
        numbers: [],
        total: 25,
        limit: 10,
        page,
        totalPages: 3,
        hasNextPage: false,
        hasPrevPage: true,
        nextPage: null,
        prevPage: 3,
      });
    }
  });

  it('has no pages when there are no documents, whichever page is asked for', async () => {
    for (const page of [1, 2]) {
      assert.deepEqual(await list(`?page=${page}`, 'none'), {
        docs: [],
        total: 0,
        limit: 10,
        page,
        totalPages: 0,
        hasNextPage: false,
        hasPrevPage: false,
        nextPage: null,
        prevPage: null,
      });
    }
  });

  it('goes on from an id, whatever was made meanwhile', async () => {
    const create = async () => (await service.call('POST', '/api/collections/links', {})).body.id;
    const made: string[] = [];
    for (let n = 0; n < 17; n += 1) made.push(await create());
    const seen: string[] = [];
    for (let from = ''; ; from = `&where[id][less_than]=${seen.at(-1)}`) {
      const { docs, hasNextPage } = await list(`?limit=5&sort=-id${from}`, 'links');
      seen.push(...docs.map((doc: { id: string }) => doc.id));
      if (!hasNextPage) break;
      await create();
    }
    assert.deepEqual(seen, made.toReversed());
  });

  it('shows every document once over all pages', async () => {
    const seen: string[] = [];
    for (let page = 1; page <= 4; page += 1)
      seen.push(...(await list(`?limit=7&page=${page}`)).docs.map((doc: { id: string }) => doc.id));
    assert.deepEqual(seen, [...ids].reverse());
  });

  it('counts the documents that were made and deleted a moment ago', async () => {
    const { body } = await service.call('POST', '/api/collections/none', { n: 1 });
    assert.deepEqual((await list('', 'none')).docs, [body]);
    await service.call('DELETE', `/api/collections/none/${body.id}`);
    assert.equal((await list('', 'none')).total, 0);
  });
});

describe('limit and page (4.8, 8)', () => {
  it('take the default 10 and at most 100', async () => {
    assert.equal((await list('')).limit, 10);
    for (const limit of [1, 99, 100]) assert.equal((await list(`?limit=${limit}`)).limit, limit);
    for (const limit of ['101', '1000000', '1000000000', '007']) {
      const { limit: used, totalPages } = await list(`?limit=${limit}`);
      assert.equal(used, limit === '007' ? 7 : 100);
      assert.equal(totalPages, limit === '007' ? 4 : 1);
    }
  });

  for (const name of ['limit', 'page']) {
    it(`refuse a ${name} that is not one whole number from 1, saying so`, async () => {
      for (const text of [
        '0',
        '-1',
        'abc',
        '1e9',
        '1.5',
        '',
        '%20',
        '+1',
        '0x10',
        'NaN',
        'null',
        '1,2',
        '٣',
        '9'.repeat(30),
      ]) {
        const answer = await service.call('GET', `/api/collections/items?${name}=${text}`);
        assert.deepEqual([answer.status, answer.body.error, fieldsOf(answer)], [400, 'Validation Error', [name]], text);
        assert.match(errorsOf(answer)[name] ?? '', /must be one whole number from 1, got /);
      }
      const twice = await service.call('GET', `/api/collections/items?${name}=1&${name}=1`);
      assert.deepEqual(
        [twice.status, errorsOf(twice)],
        [400, { [name]: `${name} must be one whole number from 1, got 2 values` }],
      );
    });
  }
});

describe('Query parameters', () => {
  it('that are unknown are refused, with what is allowed and the nearest name', async () => {
    const answer = await service.call('GET', '/api/collections/items?limt=5&offset=3&Page=1');
    assert.equal(answer.status, 400);
    const errors = errorsOf(answer);
    assert.deepEqual(Object.keys(errors), ['limt', 'offset', 'Page']);
    assert.equal(
      errors.limt,
      'limt is not a query parameter; did you mean "limit"?; allowed: "limit", "page", "next", "count", "sort", "depth", "select", "where", "q", "asOf"',
    );
    assert.match(errors.Page ?? '', /did you mean "page"\?/);
    assert.doesNotMatch(errors.offset ?? '', /did you mean/);
  });

  it('are all told, not only the first that is wrong', async () => {
    const answer = await service.call('GET', '/api/collections/items?limit=0&page=x&sort=m&foo=1');
    assert.deepEqual(fieldsOf(answer).sort(), ['foo', 'limit', 'page', 'sort']);
  });

  it('that begin with _ pass', async () => {
    assert.equal((await list('?_cb=1699999999&_=1&__proto__=x&limit=3')).docs.length, 3);
  });

  it('may hold anything without harm', async () => {
    for (const query of ['constructor=1', 'toString', '%zz=1', '%00=1', '=1', 'a[b][c]=1', `${'x'.repeat(5000)}=1`]) {
      const answer = await service.call('GET', `/api/collections/items?${query}`);
      assert.deepEqual([answer.status, answer.body.error], [400, 'Validation Error'], query);
      assert.ok(answer.body.message.length < 1000);
    }
    assert.equal((await service.call('GET', '/api/collections/items?')).status, 200);
  });
});

describe('sort (4.8)', () => {
  const words = ['banana', 'Apple', 'éclair', 'Éclair', 'zebra', 'apple', 'Zebra', 'ÉCLAIR', null, 'Banana', null];
  const made: { id: string; word: string | null; rank: number | null }[] = [];

  before(async () => {
    for (const [index, word] of words.entries()) {
      const rank = index % 4 === 3 ? null : index % 4;
      const body = { word, rank, isOpen: index % 2 === 0, day: `2024-01-${10 + index}` };
      made.push((await service.call('POST', '/api/collections/words', body)).body);
    }
  });

  const sorted = async (sort: string) => (await list(`?limit=100&sort=${sort}`, 'words')).docs as typeof made;
  const wordsBy = async (sort: string) => (await sorted(sort)).map(({ word }) => word);
  const idsBy = async (sort: string) => (await sorted(sort)).map(({ id }) => id);
  const inOrder = () => made.map(({ id }) => id);

  it('is newest first when nothing is said', async () => {
    const { docs } = await list('?limit=100', 'words');
    assert.deepEqual(
      docs.map(({ id }: { id: string }) => id),
      inOrder().reverse(),
    );
    assert.deepEqual(await idsBy('-createdAt'), inOrder().reverse());
  });

  it('goes up by a name and down by -name, nulls last both times, without regard to case', async () => {
    assert.deepEqual(await wordsBy('word'), [
      'Apple',
      'apple',
      'banana',
      'Banana',
      'zebra',
      'Zebra',
      'éclair',
      'Éclair',
      'ÉCLAIR',
      null,
      null,
    ]);
    assert.deepEqual(await wordsBy('-word'), [
      'ÉCLAIR',
      'Éclair',
      'éclair',
      'Zebra',
      'zebra',
      'Banana',
      'banana',
      'apple',
      'Apple',
      null,
      null,
    ]);
  });

  it('breaks ties by id in the direction of the first key', async () => {
    const ranked = (direction: 1 | -1) =>
      [...made]
        .sort((a, b) => {
          if (a.rank === b.rank) return direction * (a.id < b.id ? -1 : 1);
          if (a.rank === null || b.rank === null) return a.rank === null ? 1 : -1;
          return direction * (a.rank - b.rank);
        })
        .map(({ id }) => id);
    assert.deepEqual(await idsBy('rank'), ranked(1));
    assert.deepEqual(await idsBy('-rank'), ranked(-1));
  });

  it('takes several fields, each in its own direction', async () => {
    const answer = await sorted('isOpen,-rank,word');
    const keys = answer.map((doc) => [(doc as unknown as { isOpen: boolean }).isOpen, doc.rank]);
    assert.deepEqual(keys, [
      [false, 1],
      [false, 1],
      [false, 1],
      [false, null],
      [false, null],
      [true, 2],
      [true, 2],
      [true, 2],
      [true, 0],
      [true, 0],
      [true, 0],
    ]);
    assert.deepEqual(
      answer.slice(3, 5).map(({ word }) => word),
      ['Éclair', 'ÉCLAIR'],
    );
  });

  it('serves numbers by value, dates, ids and the times of the server', async () => {
    assert.deepEqual(
      (await list('?sort=n&limit=3')).docs.map(({ n }: { n: number }) => n),
      [0, 1, 2],
    );
    assert.deepEqual(await idsBy('day'), inOrder());
    assert.deepEqual(await idsBy('-id'), inOrder().reverse());
    assert.deepEqual(await idsBy('createdAt'), inOrder());
    const [first] = made;
    await service.call('PATCH', `/api/collections/words/${first?.id}`, { inRow: 'now the newest change' });
    assert.equal((await idsBy('-updatedAt'))[0], first?.id);
    assert.equal((await idsBy('inRow'))[0], first?.id);
  });

  it('by a field that is not there, or has no order, is refused with the fields it can be', async () => {
    const unknown = ['wrd', 'items', '', '-', '--word', 'word desc', 'word;drop', 'doc', '1', 'Word', 'constructor'];
    for (const field of unknown) {
      const answer = await service.call('GET', `/api/collections/words?sort=${encodeURIComponent(field)}`);
      assert.deepEqual([answer.status, fieldsOf(answer)], [400, ['sort']], field);
      assert.match(
        errorsOf(answer).sort ?? '',
        /^sort: ".*" is not a field to filter or sort by.*allowed: "id", "createdAt", "updatedAt", "word", "rank"/,
      );
    }
    for (const field of ['tags', 'data', 'seo', '-seo']) {
      const answer = await service.call('GET', `/api/collections/words?sort=${field}`);
      assert.deepEqual([answer.status, answer.body.error], [400, 'Validation Error'], field);
      assert.deepEqual(errorsOf(answer), { sort: `sort: "${field}" has no single value to sort by` });
    }
    const join = await service.call('GET', '/api/collections/words?where[items][exists]=true');
    assert.match(join.body.message, /"items" is not a field to filter or sort by/);
    const near = await service.call('GET', '/api/collections/words?sort=-wrd');
    assert.match(near.body.message, /did you mean "word"\?/);
    const [last] = (await service.call('GET', '/api/collections/words?sort=word,,rank')).body.errors;
    assert.match(last.message, /^sort: "" is not a field/);
  });

  it('must be given once', async () => {
    const answer = await service.call('GET', '/api/collections/words?sort=word&sort=rank');
    assert.deepEqual([answer.status, fieldsOf(answer)], [400, ['sort']]);
    assert.match(answer.body.message, /given once/);
  });

  it('by the same field twice, or by very many, is no harm', async () => {
    assert.equal((await service.call('GET', '/api/collections/words?sort=word,-word')).status, 200);
    const ten = Array(10).fill('word').join(',');
    assert.equal((await service.call('GET', `/api/collections/words?sort=${ten}`)).status, 200);
    for (const count of [11, 1000]) {
      const answer = await service.call('GET', `/api/collections/words?sort=${Array(count).fill('rank').join(',')}`);
      assert.deepEqual([answer.status, answer.body.message], [400, 'sort must have at most 10 fields']);
    }
    assert.equal((await service.call('GET', '/api/collections/words')).status, 200);
  });
});
