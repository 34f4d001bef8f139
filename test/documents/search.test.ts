import assert from 'node:assert/strict';
import { readdirSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, describe, it, type TestContext } from 'node:test';
import fc from 'fast-check';
import type { Config } from '../../config/define.ts';
import { type HereService, startHere, useServiceHere } from '../helpers/embedded.ts';
import { runsOf } from '../helpers/runs.ts';
import { askUntil, errorsOf, useFolder } from '../helpers/shared.ts';
import { anyText } from '../helpers/text.ts';

const everybody = { read: () => true };
const rich = (...texts: string[]) => ({
  type: 'doc',
  content: [{ type: 'paragraph', content: texts.map((text) => ({ type: 'text', text })) }],
});

const config: Config = {
  collections: [
    {
      slug: 'notes',
      fields: [
        { name: 'title', type: 'text' },
        { name: 'body', type: 'textarea' },
        { name: 'code', type: 'url' },
        { name: 'seo', type: 'object', fields: [{ name: 'words', type: 'text' }] },
      ],
      access: everybody,
    },
    {
      slug: 'pages',
      admin: { useAsTitle: 'heading', searchFields: ['heading', 'content', 'seo.words'] },
      fields: [
        { name: 'other', type: 'text' },
        { name: 'heading', type: 'text' },
        { name: 'content', type: 'richText' },
        { name: 'seo', type: 'object', fields: [{ name: 'words', type: 'text' }] },
      ],
      access: everybody,
    },
    {
      slug: 'staff',
      fields: [
        { name: 'name', type: 'text' },
        { name: 'secret', type: 'text', access: { read: ({ user }) => user !== null } },
        { name: 'own', type: 'text', access: { read: ({ doc }) => doc?.name === 'open' } },
        { name: 'shown', type: 'text', queryable: true, hooks: { afterRead: () => 'masked' } },
        { name: 'status', type: 'select', options: ['draft', 'published'] },
      ],
      access: { read: ({ user }) => user !== null || { status: { equals: 'published' } } },
    },
    {
      slug: 'rows',
      fields: [{ name: 'text', type: 'text' }],
      access: { read: ({ doc }) => doc?.text !== 'hidden word' },
    },
    {
      slug: 'guarded',
      admin: { useAsTitle: 'secret', searchFields: ['secret', 'name', 'own'] },
      fields: [
        { name: 'name', type: 'text' },
        { name: 'secret', type: 'text', access: { read: ({ user }) => user !== null } },
        { name: 'own', type: 'text', access: { read: ({ doc }) => doc?.name === 'open' } },
      ],
      access: { read: ({ user }) => user !== null || { name: { not_equals: 'obsidian' } } },
    },
    {
      slug: 'asked',
      admin: { searchFields: ['text'] },
      fields: [{ name: 'text', type: 'text' }],
      access: { read: ({ doc }) => doc?.text !== 'sealed word' },
    },
    {
      slug: 'many',
      admin: { searchFields: ['text'] },
      fields: [{ name: 'text', type: 'text' }],
      access: everybody,
    },
    { slug: 'closed', fields: [{ name: 'text', type: 'text' }] },
    {
      slug: 'hooked',
      fields: [{ name: 'text', type: 'text', queryable: true }],
      access: everybody,
      hooks: { afterRead: ({ data }) => data },
    },
  ],
};

const service = useServiceHere(config);

const ids: Record<string, string> = {};

async function create(slug: string, data: object): Promise<string> {
  const { status, body } = await service.call('POST', `/api/collections/${slug}`, data);
  assert.equal(status, 201, JSON.stringify(body));
  return body.id;
}

before(async () => {
  ids.cafe = await create('notes', { title: 'Café Zürich', body: 'Strong coffee, and a phrase of words' });
  ids.plain = await create('notes', { title: 'cafe', body: null });
  ids.other = await create('notes', {
    title: 'Words of a phrase',
    seo: { words: 'hidden treasure' },
    code: 'https://cafe.example',
  });
  ids.page = await create('pages', {
    other: 'unsearched',
    heading: 'Élan <b>vital</b>',
    content: rich('wo', 'rd in ', 'bold'),
  });
  ids.json = await create('pages', { heading: null, content: { anything: 'vital' }, seo: { words: 'vital signs' } });
  ids.open = await create('staff', {
    name: 'open',
    secret: 'quartz',
    own: 'basalt',
    shown: 'granite',
    status: 'published',
  });
  ids.draft = await create('staff', { name: 'granite', status: 'draft' });
  ids.row = await create('rows', { text: 'visible word' });
  await create('rows', { text: 'hidden word' });
  ids.asked = await create('asked', { text: 'unsealed word' });
  await create('asked', { text: 'sealed word' });
  ids.guarded = await create('guarded', { name: 'marble', secret: 'feldspar', own: 'gneiss' });
  await create('guarded', { name: 'obsidian', secret: 'marble' });
  await create('closed', { text: 'visible' });
  ids.hooked = await create('hooked', { text: 'visible once more' });
});

const anonymous = { key: null };

async function find(slug: string, q: string, more = '', how: object = {}): Promise<string[]> {
  const answer = await service.call(
    'GET',
    `/api/collections/${slug}?q=${encodeURIComponent(q)}${more}`,
    undefined,
    how,
  );
  assert.equal(answer.status, 200, JSON.stringify(answer.body));
  return answer.body.docs.map(({ id }: { id: string }) => id);
}

async function everywhere(query: string, how: object = {}) {
  const answer = await service.call('GET', `/api/search?${query}`, undefined, how);
  assert.equal(answer.status, 200, JSON.stringify(answer.body));
  return answer.body;
}

describe('q on a list', () => {
  it('finds every word in some field, without regard to case, accents and how characters are composed', async () => {
    for (const q of ['cafe', 'CAFÉ', 'cafe\u0301']) {
      assert.deepEqual((await find('notes', q)).sort(), [ids.cafe, ids.plain].sort(), q);
    }
    assert.deepEqual(await find('notes', 'coffee zurich'), [ids.cafe]);
    assert.deepEqual(await find('notes', 'coffee berlin'), []);
  });

  it('takes the last word for the beginning of one, and no other', async () => {
    assert.deepEqual(await find('notes', 'strong cof'), [ids.cafe]);
    assert.deepEqual(await find('notes', 'cof strong'), []);
  });

  it('takes words in quotation marks for a phrase, whose last word is whole', async () => {
    assert.deepEqual(await find('notes', '"a phrase of words"'), [ids.cafe]);
    assert.deepEqual(await find('notes', '"words of a phrase"'), [ids.other]);
    assert.deepEqual(await find('notes', '"a phras"'), []);
    assert.deepEqual(await find('notes', '"strong cof'), [ids.cafe], 'a mark that none follows');
  });

  it('looks into text, textarea and email fields if no field is named, also in objects', async () => {
    assert.deepEqual(await find('notes', 'treasure'), [ids.other]);
    assert.deepEqual(await find('notes', 'example'), []);
  });

  it('looks into the fields that admin.searchFields names alone: rich text gives the text of ProseMirror JSON', async () => {
    assert.deepEqual(await find('pages', 'unsearched'), []);
    assert.deepEqual(await find('pages', 'word bold'), [ids.page]);
    assert.deepEqual(await find('pages', 'anything'), []);
    assert.deepEqual((await find('pages', 'vital')).sort(), [ids.page, ids.json].sort());
  });

  it('puts the best matches first, or follows sort if given; where and page combine with it', async () => {
    assert.deepEqual(await find('notes', 'words phrase'), [ids.other, ids.cafe]);
    assert.deepEqual(await find('notes', 'words phrase', '&sort=createdAt'), [ids.cafe, ids.other]);
    assert.deepEqual(await find('notes', 'words phrase', '&limit=1&page=2'), [ids.cafe]);
    assert.deepEqual(await find('notes', 'words phrase', '&where[title][like]=zürich'), [ids.cafe]);
    const { body } = await service.call('GET', '/api/collections/notes?q=words&limit=1');
    assert.equal(body.total, 2);
  });

  it('puts the newest 500 into that order, and has the others behind them', async () => {
    const docs = Array.from({ length: 503 }, (_, index) => ({
      text: index % 100 === 2 ? 'pebble' : `pebble and ${index}`,
    }));
    const { results } = (await service.call('POST', '/api/collections/many/bulk', { docs })).body;
    const made: string[] = results.map(({ id }: { id: string }) => id);
    const pages = [];
    for (const page of [1, 2, 3, 4, 5, 6]) pages.push(await find('many', 'pebble', `&limit=100&page=${page}`));
    const best = [502, 402, 302, 202, 102].map((index) => made[index]);
    assert.deepEqual(pages[0]?.slice(0, 5), best, 'the one at 2 fits as well, and is not among the newest');
    assert.deepEqual(
      pages[5],
      [2, 1, 0].map((index) => made[index]),
    );
    assert.deepEqual(pages.flat().sort(), made.toSorted());
    const last = await find('many', 'pebble', '&limit=90&page=6');
    assert.deepEqual([last.length, last.slice(50)], [53, pages[5]]);
  });

  it('finds nothing by what has neither letter nor digit', async () => {
    for (const q of ['!', '"', '* - ^', ' ']) assert.deepEqual(await find('notes', q), [], q);
  });

  it('answers 400 with asOf, without a text, and with too long a one', async () => {
    const refused = async (query: string) => errorsOf(await service.call('GET', `/api/collections/notes?${query}`));
    assert.deepEqual(await refused('q=a&asOf=1'), {
      q: 'q cannot be used with asOf: only the documents of today are searched',
    });
    assert.match((await refused('q=')).q ?? '', /must be given once and not be empty/);
    assert.match((await refused(`q=${'a'.repeat(201)}`)).q ?? '', /must have at most 200 characters, got 201/);
  });

  it('neither finds nor shows by fields and documents that the caller may not read', async () => {
    assert.deepEqual(await find('staff', 'quartz', '', anonymous), []);
    assert.deepEqual(await find('staff', 'quartz'), [ids.open]);
    assert.deepEqual(await find('staff', 'basalt', '', anonymous), [], 'a rule that looks at the document');
    assert.deepEqual(await find('staff', 'granite', '', anonymous), [ids.open]);
    assert.deepEqual(await find('rows', 'word', '', anonymous), [ids.row]);
    // The same search by the index.
    assert.deepEqual(await find('asked', 'word', '', anonymous), [ids.asked]);
    const found = await everywhere('q=word&collections=asked', anonymous);
    assert.deepEqual([found.docs.map(({ id }: { id: string }) => id), found.total], [[ids.asked], 1]);
    for (const q of ['feldspar', 'gneiss', 'obsidian', 'marble feldspar']) {
      assert.deepEqual(await find('guarded', q, '', anonymous), [], q);
    }
    assert.deepEqual(await find('guarded', 'marble', '', anonymous), [ids.guarded]);
    assert.equal((await find('guarded', 'marble')).length, 2);
    assert.deepEqual(await everywhere('q=marb&collections=guarded', anonymous), {
      docs: [{ collection: 'guarded', id: ids.guarded, title: 'marble', excerpt: '<mark>marble</mark>' }],
      total: 1,
    });
    assert.deepEqual(await everywhere('q=feldspar', anonymous), { docs: [], total: 0 });
  });
});

describe('GET /api/search', () => {
  it('finds in all collections that the caller may read, with a title and an escaped excerpt', async () => {
    assert.deepEqual(await everywhere('q=elan'), {
      docs: [
        {
          collection: 'pages',
          id: ids.page,
          title: 'Élan <b>vital</b>',
          excerpt: '<mark>Élan</mark> &lt;b&gt;vital&lt;/b&gt;',
        },
      ],
      total: 1,
    });
    const { docs: hits, total } = await everywhere('q=visib', anonymous);
    assert.equal(total, 2);
    assert.deepEqual(hits, [
      { collection: 'rows', id: ids.row, title: 'visible word', excerpt: '<mark>visible</mark> word' },
      { collection: 'hooked', id: ids.hooked, title: ids.hooked, excerpt: '' },
    ]);
  });

  it('titles a document by the next field that has a value, last by its id', async () => {
    const { docs: hits } = await everywhere('q=signs');
    assert.deepEqual(
      hits.map(({ title }: { title: string }) => title),
      [ids.json],
    );
  });

  it('shows no excerpt of a field whose value a hook changes', async () => {
    assert.deepEqual(await everywhere('q=granite&collections=staff', anonymous), {
      docs: [{ collection: 'staff', id: ids.open, title: 'open', excerpt: '' }],
      total: 1,
    });
  });

  it('is limited to some collections, and to a number of hits', async () => {
    assert.equal((await everywhere('q=visible&collections=rows,hooked')).total, 2);
    const { docs: hits, total } = await everywhere('q=visible&limit=1');
    assert.deepEqual([hits.length, total], [1, 3]);
  });

  it('refuses what it does not know, and a collection that the caller may not read', async () => {
    const refused = async (query: string) => errorsOf(await service.call('GET', `/api/search?${query}`));
    assert.match(
      (await refused('q=a&collections=note,rows')).collections ?? '',
      /"note" is not a collection; did you mean "notes"\?/,
    );
    assert.match((await refused('')).q ?? '', /must be given once and not be empty, it is missing/);
    assert.match((await refused('q=a&limt=1')).limt ?? '', /did you mean "limit"/);
    assert.match((await refused('q=a&asOf=1')).asOf ?? '', /is not a query parameter/);
    const { status } = await service.call('GET', '/api/search?q=a&collections=closed', undefined, anonymous);
    assert.equal(status, 401);
  });
});

describe('A search with any text', () => {
  /** Whether a search finds these texts, said as simply as it can be. */
  function model(texts: readonly string[], q: string): boolean {
    const split = (text: string) =>
      text
        .normalize('NFD')
        .toLowerCase()
        .replace(/\p{Script=Inherited}/gu, '')
        .split(/[^\p{L}\p{N}\p{M}\p{Co}]+/u)
        .filter((word) => word !== '');
    const quoted = q.split('"');
    const parts = quoted.map((part, index) => ({ part, isPhrase: index % 2 === 1 && index < quoted.length - 1 }));
    const asked = parts.flatMap(({ part, isPhrase }, index) => {
      const words = split(part);
      if (isPhrase) return words.length > 0 ? [` ${words.join(' ')} `] : [];
      return words.map((word, at) =>
        index === parts.length - 1 && at === words.length - 1 ? ` ${word}` : ` ${word} `,
      );
    });
    return asked.length > 0 && asked.every((one) => texts.some((text) => ` ${split(text).join(' ')} `.includes(one)));
  }

  const word = fc.constantFrom('and', 'OR', 'not', 'NEAR', 'a', 'ab', 'abc', 'é', 'É', 'e', 'c0', 'words', 'x1');
  const mark = fc.constantFrom(
    ' ',
    '"',
    '*',
    ':',
    '-',
    '^',
    '(',
    ')',
    '{',
    '}',
    "'",
    ';',
    '+',
    ',',
    '\\',
    '%',
    '_',
    '" "',
    '""',
  );
  const text = fc.array(fc.oneof(word, mark), { maxLength: 12 }).map((parts) => parts.join(''));
  const anything = fc.oneof(text, text, anyText({ maxLength: 30 }), fc.string({ maxLength: 30 }));

  for (const slug of ['notes', 'pages']) {
    it(`finds what a simple model says, in ${slug}`, async () => {
      const [first, second] = slug === 'notes' ? ['title', 'body'] : ['heading', 'seo'];
      const texts = fc.sample(fc.tuple(text, text), { numRuns: 40, seed: 7 });
      const docs = texts.map(([one, other]) => {
        return { [first]: `zz ${one}`, [second]: slug === 'notes' ? other : { words: other } };
      });
      const { results } = (await service.call('POST', `/api/collections/${slug}/bulk`, { docs })).body;
      const kept = texts.map(([one, other], index) => ({ id: results[index].id, texts: [`zz ${one}`, other] }));
      await fc.assert(
        fc.asyncProperty(anything, async (q) => {
          // A lone surrogate cannot be sent, and the name of a parameter needs a value.
          if (!q.isWellFormed() || q === '') return;
          const answer = await service.call(
            'GET',
            `/api/collections/${slug}?q=zz ${encodeURIComponent(q)}&limit=100`.replace('zz ', '%22zz%22'),
          );
          assert.equal(answer.status, 200, JSON.stringify(answer.body));
          const expected = kept.filter(({ texts }) => model(texts, `"zz"${q}`)).map(({ id }) => id);
          assert.deepEqual(
            answer.body.docs.map(({ id }: { id: string }) => id).sort(),
            expected.sort(),
            JSON.stringify(q),
          );
        }),
        { numRuns: runsOf(600) },
      );
    });
  }
});

describe('The search index at a start', () => {
  const pages: Config = { collections: (config.collections ?? []).filter(({ slug }) => slug === 'pages') };
  const data = join(useFolder(), 'data');
  const start = (t: TestContext) => startHere(t, pages, { data });
  const told = ({ lines }: HereService) =>
    lines()
      .filter(({ msg }) => /^the search index/.test(msg))
      .map(({ level, msg }) => `${level} ${msg}`);

  async function findsAll({ call }: HereService): Promise<void> {
    const search = () => call('GET', '/api/collections/pages?q=wombat');
    // A busy machine may take longer to make the index than a search waits.
    const answer = await askUntil(search, ({ status }) => status !== 503);
    assert.deepEqual([answer.status, answer.body.total], [200, 3]);
  }

  it('of no document is not worth a line', async (t) => {
    const first = await start(t);
    // The index is there before a document is: otherwise it would be made of that one.
    await first.call('GET', '/api/collections/pages?q=wombat');
    for (let n = 0; n < 3; n += 1) await first.call('POST', '/api/collections/pages', { heading: `Wombat ${n}` });
    await findsAll(first);
    assert.deepEqual(told(first), []);
    await first.stop();
  });

  it('goes on if it is there', async (t) => {
    const next = await start(t);
    await findsAll(next);
    assert.deepEqual(told(next), []);
    await next.stop();
  });

  for (const [what, harm, why] of [
    ['missing', rmSync, 'missing'],
    ['cut short', (file: string) => truncateSync(file, 5000), 'damaged, unfinished, or not of these documents'],
    [
      'no database',
      (file: string) => writeFileSync(file, 'not a database at all'),
      'damaged, unfinished, or not of these documents',
    ],
  ] as const) {
    it(`is made anew if it is ${what}, which a line in the log tells`, async (t) => {
      harm(join(data, readdirSync(data).find((name) => /^search-\w+\.db$/.test(name)) ?? assert.fail()));
      const next = await start(t);
      await findsAll(next);
      assert.deepEqual(told(next), [
        `40 the search index was ${why}: it is made anew of 3 documents, and searches wait`,
        '30 the search index is made',
      ]);
      await next.stop();
    });
  }
});
