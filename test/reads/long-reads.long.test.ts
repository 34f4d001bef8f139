import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { apiKey } from '../helpers/service.ts';
import { useService } from '../helpers/shared.ts';

const config = {
  collections: [
    { slug: 'authors', fields: [{ name: 'name', type: 'text' }] },
    {
      slug: 'posts',
      fields: [
        { name: 'title', type: 'text' },
        { name: 'views', type: 'number' },
        { name: 'body', type: 'textarea' },
        { name: 'author', type: 'relationship', relationTo: 'authors' },
      ],
    },
  ],
};

const documents = 100_000;
const atOnce = 1000;
const word = (index: number) => `w${((index * 7919) % 4001).toString(36)}x`;
const words = (from: number, count: number) => Array.from({ length: count }, (_, at) => word(from + at)).join(' ');

describe('Long reads of 100,000 documents', { timeout: 1_200_000 }, () => {
  const service = useService(config, { ANNALS_METRICS_TOKEN: 'a-token-of-this-test', ANNALS_LOG_LEVEL: 'warn' });
  const ids: string[] = [];

  before(async () => {
    const authors: string[] = [];
    for (let index = 0; index < 50; index += 1) {
      const { body } = await service.call('POST', '/api/collections/authors', { name: `author ${index}` });
      authors.push(body.id);
    }
    for (let at = 0; at < documents; at += atOnce) {
      const docs = Array.from({ length: atOnce }, (_, index) => {
        const number = at + index;
        return {
          title: words(number, 5),
          views: number % 977,
          body: words(number * 3, 50),
          author: authors[number % 50],
        };
      });
      assert.equal((await service.call('POST', '/api/collections/posts/bulk', { docs })).status, 201);
    }
    const { body } = await service.call('GET', '/api/collections/posts?limit=100');
    for (const { id } of body.docs) ids.push(id);
  });

  /** The times of reads, in milliseconds in ascending order, one after the other while something goes on. */
  async function timesWhile(goesOn: () => boolean, path: () => string): Promise<number[]> {
    const times: number[] = [];
    while (goesOn()) {
      const began = performance.now();
      assert.equal((await service.call('GET', path())).status, 200);
      times.push(performance.now() - began);
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    return times.sort((one, other) => one - other);
  }

  const byId = () => `/api/collections/posts/${ids[Math.floor(Math.random() * ids.length)]}`;
  const middle = (times: readonly number[]) => times[Math.floor(times.length / 2)] ?? 0;

  /** The value of a metric with these labels. */
  async function metric(name: string): Promise<number> {
    const answer = await fetch(`${service.url}/metrics`, { headers: { authorization: 'Bearer a-token-of-this-test' } });
    const line = (await answer.text()).split('\n').find((one) => one.startsWith(`${name} `));
    assert.ok(line, `${name} is not among the metrics`);
    return Number(line.slice(name.length));
  }

  it('hold up neither /health nor reads by id, and are dropped with their clients', async () => {
    const second = Date.now() + 1000;
    const alone = await timesWhile(() => Date.now() < second, byId);
    const leaving = new AbortController();
    const searches = Array.from({ length: 64 }, (_, index) => {
      const path = `/api/collections/posts?q=${word(index)}y&limit=10`;
      return fetch(service.url + path, { headers: { 'x-api-key': apiKey }, signal: leaving.signal });
    });
    const settled = Promise.allSettled(searches);
    setTimeout(() => leaving.abort(), 1000);
    const end = Date.now() + 3000;
    const [health, reads] = await Promise.all([
      timesWhile(
        () => Date.now() < end,
        () => '/health',
      ),
      timesWhile(() => Date.now() < end, byId),
    ]);
    await settled;
    // One search takes a second or more of a core: in the thread of the reads all reads would wait for it, and few
    // would be answered.
    const most = 50 + 10 * middle(alone);
    assert.ok(
      middle(health) < most && middle(reads) < most,
      `${middle(alone)}, ${middle(health)}, ${middle(reads)} ms`,
    );
    // Searches whose client has gone were dropped: the next one has its turn.
    const next = await service.call('GET', '/api/collections/posts?where[views][equals]=5&limit=1');
    assert.deepEqual([next.status, next.body.total], [200, 103]);
    assert.ok((await metric('annals_long_reads_total{end="dropped"}')) >= 48);
    assert.equal(await metric('annals_long_reads_waiting'), 0);
  });

  /** How many reads by id are answered within a time alone, and how many beside figures for 32 connections. */
  async function readsBeside(milliseconds: number): Promise<{ alone: number; beside: number }> {
    const count = async () => {
      const end = Date.now() + milliseconds;
      return (await timesWhile(() => Date.now() < end, byId)).length;
    };
    const alone = await count();
    const leaving = new AbortController();
    const figures = Array.from({ length: 32 }, async (_, connection) => {
      for (let round = 0; !leaving.signal.aborted; round += 1) {
        const filter = `where[views][greater_than]=${(connection + 32 * round) % 900}`;
        const path = `/api/collections/posts/aggregate?groupBy=author.name&avg=views&${filter}`;
        const headers = { 'x-api-key': apiKey };
        const { status } = await fetch(service.url + path, { headers, signal: leaving.signal });
        assert.ok(status === 200 || status === 503, `${status}`);
      }
    });
    const settled = Promise.allSettled(figures);
    const beside = await count();
    leaving.abort();
    for (const ended of await settled) {
      if (ended.status === 'rejected') assert.equal(ended.reason.name, 'AbortError');
    }
    return { alone, beside };
  }

  it('behind ten thousand documents are answered', async () => {
    for (const page of [101, 102]) {
      const { status, body } = await service.call(
        'GET',
        `/api/collections/posts?page=${page}&limit=100&sort=createdAt`,
      );
      assert.deepEqual([status, body.docs.length, body.docs[0].title], [200, 100, words((page - 1) * 100, 5)]);
    }
  });

  it('by figures leave reads by id a half of their rate', async () => {
    // Others use the machine too: in one of some rounds they do as much in both halves.
    const rounds: { alone: number; beside: number }[] = [];
    while (rounds.length < 6 && !rounds.some(({ alone, beside }) => beside * 2 >= alone))
      rounds.push(await readsBeside(2000));
    assert.ok(
      rounds.some(({ alone, beside }) => beside * 2 >= alone),
      JSON.stringify(rounds),
    );
  });

  it('are answered from what was kept until something is written', async () => {
    const posts = '/api/collections/posts';
    const total = `${posts}/aggregate?groupBy=author.name&sum=views`;
    const paths = [
      total,
      `${posts}/distinct?field=title`,
      `${posts}/count?where[title][like]=w1`,
      `${posts}?q=${word(7)}`,
    ];
    for (const path of paths) {
      const first = await service.call('GET', path);
      assert.equal(first.status, 200, JSON.stringify(first.body));
      const answered = await metric('annals_long_reads_total{end="answered"}');
      for (let index = 0; index < 5; index += 1) assert.deepEqual((await service.call('GET', path)).body, first.body);
      assert.equal(await metric('annals_long_reads_total{end="answered"}'), answered, path);
    }
    const before = (await service.call('GET', total)).body.total;
    await service.call('POST', posts, { title: 'one more', views: 1 });
    assert.equal((await service.call('GET', total)).body.total, before + 1);
  });
});
