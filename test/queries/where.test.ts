import assert from 'node:assert/strict';
import { randomInt } from 'node:crypto';
import { before, describe, it } from 'node:test';
import fc from 'fast-check';
import { fieldTypeNames } from '../../config/fields.ts';
import { operatorNames } from '../../config/operators.ts';
import { readDatetime } from '../../config/times.ts';
import { useServiceHere } from '../helpers/embedded.ts';
import { runsOf } from '../helpers/runs.ts';
import { errorsOf, fieldsOf } from '../helpers/shared.ts';
import { anyText } from '../helpers/text.ts';
import { asking } from './asking.ts';

const service = useServiceHere(`
const options = ['red', 'green', 'blue'];
const to = { type: 'relationship', relationTo: 'marks' };
export default { collections: [
  { slug: 'marks', fields: [{ name: 'name', type: 'text' }, { name: 'n', type: 'number' }, { name: 'next', ...to }] },
  { slug: 'all', fields: [
    { name: 'name', type: 'text' },
    { name: 'text', type: 'text' }, { name: 'textarea', type: 'textarea' }, { name: 'richText', type: 'richText' },
    { name: 'email', type: 'email' }, { name: 'url', type: 'url' }, { name: 'number', type: 'number' },
    { name: 'boolean', type: 'boolean' }, { name: 'date', type: 'date' }, { name: 'datetime', type: 'datetime' },
    { name: 'time', type: 'time' }, { name: 'select', type: 'select', options }, { name: 'radio', type: 'radio', options },
    { name: 'multiSelect', type: 'multiSelect', options }, { name: 'relationship', ...to },
    { name: 'relationships', ...to, hasMany: true },
    { name: 'object', type: 'object', fields: [{ name: 'word', type: 'text' }, { name: 'n', type: 'number' }] },
    { name: 'array', type: 'array', fields: [{ name: 'word', type: 'text' }, { name: 'mark', ...to }] },
    { name: 'blocks', type: 'blocks', blocks: [
      { slug: 'one', fields: [{ name: 'word', type: 'text' }, { name: 'size', type: 'number' }] },
      { slug: 'two', fields: [{ name: 'word', type: 'text' }, { name: 'size', type: 'text' }] },
    ] },
    { name: 'json', type: 'json' },
  ] },
  { slug: 'points', fields: [{ name: 'name', type: 'text' }, { name: 'mark', ...to }, { name: 'marks', ...to, hasMany: true }] },
  { slug: 'words', fields: [{ name: 'name', type: 'text', unique: true }, { name: 'plain', type: 'text' }, { name: 'long', type: 'textarea' }] },
] };`);

const { brackets, call, create, found, json, query, refused } = asking(service);

const marks: string[] = [];

before(async () => {
  for (const [index, name] of ['m0', 'm1', 'm2'].entries()) {
    marks.push(await create('marks', { name, n: index, next: marks.at(-1) ?? null }));
  }
});

describe('Every operator (4.9)', () => {
  type Row = {
    type?: string;
    low: unknown;
    high: unknown;
    kind: 'text' | 'ordered' | 'plain' | 'list' | 'there' | 'always';
  };
  const rows = (): Record<string, Row> => ({
    text: { low: 'Äpfel, "1"', high: "b'irne", kind: 'text' },
    textarea: { low: 'Long\nText', high: 'other', kind: 'text' },
    email: { low: 'A@example.org', high: 'b@other.org', kind: 'text' },
    url: { low: 'http://Example.org/A', high: 'https://x.org', kind: 'text' },
    number: { low: -1.5, high: Number.MAX_SAFE_INTEGER, kind: 'ordered' },
    boolean: { low: false, high: true, kind: 'plain' },
    date: { low: '2024-02-29', high: '2024-03-01', kind: 'ordered' },
    datetime: { low: '2024-02-29T12:00:00.000Z', high: '2024-02-29T12:00:00.001Z', kind: 'ordered' },
    time: { low: '08:30', high: '23:59:59', kind: 'ordered' },
    select: { low: 'red', high: 'green', kind: 'text' },
    radio: { low: 'red', high: 'green', kind: 'text' },
    relationship: { low: marks[0], high: marks[1], kind: 'text' },
    multiSelect: { low: ['red', 'blue'], high: ['green'], kind: 'list' },
    relationships: { type: 'relationship', low: [marks[0], marks[2]], high: [marks[1]], kind: 'list' },
    richText: { low: [{ p: 1 }], high: 'x', kind: 'there' },
    json: { low: false, high: [], kind: 'there' },
    object: { low: { word: 'A', n: 1 }, high: {}, kind: 'there' },
    array: { low: [{ word: 'A' }], high: [{ word: 'b' }, {}], kind: 'always' },
    blocks: { low: [{ blockType: 'one', word: 'A' }], high: [{ blockType: 'two' }], kind: 'always' },
  });

  /** Operator, value, and the names of the documents found. */
  function cases({ low, high, kind }: Row): [string, unknown, string][] {
    if (kind === 'always')
      return [
        ['exists', true, 'low high none'],
        ['exists', false, ''],
      ];
    if (kind === 'there')
      return [
        ['exists', true, 'low high'],
        ['exists', false, 'none'],
      ];
    if (kind === 'list') {
      const [[first, second], [other]] = [low, high] as [string[], string[]];
      return [
        ['contains', first, 'low'],
        ['contains', other, 'high'],
        ['in', [second, other], 'low high'],
        ['in', second, 'low'],
        ['not_in', [second], 'high none'],
        ['not_in', [first, other], 'none'],
        ['exists', true, 'low high none'],
        ['exists', false, ''],
      ];
    }
    const single: [string, unknown, string][] = [
      ['equals', low, 'low'],
      ['equals', null, 'none'],
      ['not_equals', low, 'high none'],
      ['not_equals', null, 'low high'],
      ['in', [low, high], 'low high'],
      ['in', [high, null], 'high none'],
      ['not_in', [low, low], 'high none'],
      ['not_in', [low, null], 'high'],
      ['exists', true, 'low high'],
      ['exists', false, 'none'],
    ];
    if (kind === 'text') {
      const part = String(low).slice(1).toUpperCase();
      return [...single, ['like', part, 'low'], ['like', part.toLowerCase(), 'low'], ['like', '', 'low high']];
    }
    if (kind === 'plain') return single;
    return [
      ...single,
      ['greater_than', low, 'high'],
      ['greater_than', high, ''],
      ['less_than', high, 'low'],
      ['less_than', low, ''],
      ['greater_than_equal', low, 'low high'],
      ['greater_than_equal', high, 'high'],
      ['less_than_equal', high, 'low high'],
      ['less_than_equal', low, 'low'],
    ];
  }

  before(async () => {
    const values = (which: 'low' | 'high') =>
      Object.fromEntries(Object.entries(rows()).map(([field, row]) => [field, row[which]]));
    await create('all', { name: 'low', ...values('low') });
    await create('all', { name: 'high', ...values('high') });
    await create('all', { name: 'none' });
  });

  it('finds what it means on every type that can carry it, in brackets and as JSON', async () => {
    for (const [field, row] of Object.entries(rows())) {
      for (const [operator, value, expected] of cases(row)) {
        const what = `${field} ${operator} ${JSON.stringify(value)}`;
        const names = expected === '' ? [] : expected.split(' ');
        assert.deepEqual(await found('all', json({ [field]: { [operator]: value } })), names, what);
        // One text is split on commas, several are not.
        const texts = Array.isArray(value) ? value.map(String) : [String(value)];
        const isSplit = texts.length > 1 && !texts.some((text) => text.includes(','));
        const parameters = isSplit ? [texts.join(',')] : texts;
        const text = parameters.map((one) => brackets(field, operator, one)).join('&');
        assert.deepEqual(await found('all', text), names, `${what} in brackets`);
      }
    }
  });

  it('is refused on the types that cannot, saying which are allowed', async () => {
    for (const [field, row] of Object.entries(rows())) {
      const allowed = new Set(cases(row).map(([operator]) => operator));
      for (const operator of operatorNames.filter((one) => !allowed.has(one))) {
        const answer = await refused('all', brackets(field, operator, 'x'));
        const [name = '', message = ''] = Object.entries(errorsOf(answer))[0] ?? [];
        assert.equal(name, `where[${field}][${operator}]`);
        assert.ok(message.includes(`is not for a field of type ${row.type ?? field}; allowed here: "`), message);
        for (const one of allowed) assert.ok(message.includes(`"${one}"`), message);
        assert.ok(!message.slice(message.indexOf('allowed')).includes(`"${operator}"`), message);
      }
    }
  });

  it('was tried on every field type but upload, which is a relationship', () => {
    const tried = new Set(Object.keys(rows()));
    assert.deepEqual(
      fieldTypeNames.filter((type) => !tried.has(type)),
      ['upload', 'join', 'row'],
    );
  });

  it("serves the server's own fields", async () => {
    const { docs } = (await query('all', 'sort=createdAt')).body;
    const [low, high] = docs;
    assert.deepEqual(await found('all', brackets('id', 'equals', low.id)), ['low']);
    assert.deepEqual(await found('all', brackets('id', 'in', `${low.id},${high.id},x`)), ['low', 'high']);
    assert.deepEqual(await found('all', brackets('id', 'greater_than', low.id)), ['high', 'none']);
    assert.deepEqual(await found('all', brackets('id', 'greater_than_equal', high.id)), ['high', 'none']);
    assert.deepEqual(await found('all', json({ id: { less_than: high.id } })), ['low']);
    assert.deepEqual(await found('all', json({ id: { less_than_equal: high.id, greater_than: low.id } })), ['high']);
    const [, second = ''] = marks;
    assert.deepEqual(await found('all', brackets('relationship.id', 'less_than', second)), ['low']);
    assert.deepEqual(await found('all', brackets('relationships.id', 'greater_than', second)), ['low']);
    for (const wrong of [
      'x',
      '',
      '5',
      '2024-01-01',
      low.id.toUpperCase(),
      `${low.id} `,
      low.id.slice(1),
      'null',
      null,
    ]) {
      for (const operator of ['greater_than', 'less_than', 'greater_than_equal', 'less_than_equal']) {
        const { body } = await refused('all', json({ id: { [operator]: wrong } }));
        assert.match(body.message, /^where\[id\]\[\w+\]: must be an id like "01a1fc16-[^"]+", in lower case, got /);
      }
    }
    for (const field of ['createdAt', 'updatedAt']) {
      assert.deepEqual(await found('all', brackets(field, 'less_than_equal', docs[2][field])), ['low', 'high', 'none']);
      assert.ok(!(await found('all', brackets(field, 'greater_than', high[field]))).includes('high'));
      assert.ok((await found('all', brackets(field, 'equals', high[field]))).includes('high'));
      assert.deepEqual(await found('all', brackets(field, 'greater_than', '2024-01-01')), ['low', 'high', 'none']);
      assert.deepEqual(await found('all', brackets(field, 'exists', 'false')), []);
      await refused('all', brackets(field, 'equals', 'yesterday'));
      await refused('all', brackets(field, 'like', '2'));
    }
  });
});

describe('Values (4.9)', () => {
  const words = [
    '100%',
    '1000',
    'a_b',
    'axb',
    "it's",
    '"quoted"',
    'back\\slash',
    '😀 smile',
    'Straße',
    'a,b',
    'null',
    '; DROP TABLE x;--',
  ];

  before(async () => {
    for (const name of words) await create('points', { name });
  });

  it('of like treat % and _ and quotes as text, and fold case as Unicode does', async () => {
    const like = (text: string) => found('points', brackets('name', 'like', text));
    assert.deepEqual(await like('0%'), ['100%']);
    assert.deepEqual(await like('_'), ['a_b']);
    assert.deepEqual(await like("'"), ["it's"]);
    assert.deepEqual(await like('"Q'), ['"quoted"']);
    assert.deepEqual(await like('\\'), ['back\\slash']);
    assert.deepEqual(await like('😀 SM'), ['😀 smile']);
    assert.deepEqual(await like('STRASSE'), ['Straße']);
    assert.deepEqual(await like("' OR 1=1 --"), []);
    assert.deepEqual(await like('; drop'), ['; DROP TABLE x;--']);
    assert.deepEqual(await like('*'), []);
  });

  it('are found as they are, whatever is in them', async () => {
    for (const word of words.filter((one) => one !== 'null')) {
      assert.deepEqual(await found('points', brackets('name', 'equals', word)), [word]);
      assert.deepEqual(await found('points', json({ name: { equals: word } })), [word]);
    }
    assert.deepEqual(await found('points', brackets('name', 'equals', 'null')), []);
    assert.deepEqual(await found('points', brackets('name', 'like', 'null')), ['null']);
  });

  it('of like are found as Unicode folds them, composed or not, with an index and without', async () => {
    const composed = 'caf\u00e9';
    const apart = 'CAFE\u0301';
    const kept = ['Straße', 'STRAẞE', '\u212aelvin', '\u212bngstrom', '5 k\u2126', composed, apart, 'ısı', 'isi'];
    for (const name of kept) await create('words', { name, plain: name, long: name });
    const asked: [text: string, finds: string[]][] = [
      ['strasse', ['Straße', 'STRAẞE']],
      ['STRAẞE', ['Straße', 'STRAẞE']],
      ['kelvin', ['\u212aelvin']],
      ['å', ['\u212bngstrom']],
      ['a\u030a', ['\u212bngstrom']],
      ['5 kω', ['5 k\u2126']],
      [composed, [composed, apart]],
      [apart, [composed, apart]],
      ['cafe', []],
      ['I', ['\u212aelvin', 'isi']],
      ['ı', ['ısı']],
    ];
    for (const field of ['name', 'plain', 'long']) {
      for (const [text, finds] of asked) {
        assert.deepEqual(await found('words', brackets(field, 'like', text)), finds, `${field} ${text}`);
      }
      const { docs } = (await query('words', `sort=${field}`)).body;
      const order = docs.map(({ name }: { name: string }) => name);
      // Texts that are the same but for case are in the order of their ids, and stand side by side.
      assert.deepEqual(order.slice(0, 3), ['5 k\u2126', composed, apart], field);
      assert.deepEqual(order.slice(3), ['isi', '\u212aelvin', 'Straße', 'STRAẞE', '\u212bngstrom', 'ısı'], field);
    }
    for (const field of ['name', 'plain']) {
      assert.deepEqual(await found('words', brackets(field, 'equals', composed)), [composed]);
      assert.deepEqual(await found('words', brackets(field, 'in', apart)), [apart]);
    }
    assert.equal((await call('POST', '/api/collections/words', { name: composed })).status, 409);
  });

  it('of in are split on commas, unless there are several', async () => {
    assert.deepEqual(await found('points', 'where[name][in]=a_b,axb,x'), ['a_b', 'axb']);
    assert.deepEqual(await found('points', 'where[name][in]=a,b'), []);
    assert.deepEqual(await found('points', 'where[name][in]=a,b&where[name][in]=axb'), ['axb', 'a,b']);
    assert.deepEqual(await found('points', json({ name: { in: ['a,b'] } })), ['a,b']);
    assert.deepEqual(await found('points', json({ name: { in: [] } })), []);
    assert.equal((await found('points', json({ name: { not_in: [] } }))).length, words.length);
    const many = Array(201).fill('x').join(',');
    assert.match((await refused('points', `where[name][in]=${many}`)).body.message, /at most 200 values, got 201/);
  });

  it('that do not fit the type of their field are refused, saying what would', async () => {
    const wrong: [string, unknown, RegExp][] = [
      ['number', 'abc', /must be a number, got "abc"/],
      ['number', '', /must be a number/],
      ['number', ' ', /must be a number/],
      ['number', '1,2', /must be a number/],
      ['number', 'Infinity', /must be a number/],
      ['number', 'NaN', /must be a number/],
      ['number', true, /must be a number/],
      ['number', {}, /must be a number, got an object/],
      ['number', [1], /must be given once/],
      ['boolean', '1', /must be true or false/],
      ['boolean', 1, /must be true or false/],
      ['boolean', 'TRUE', /must be true or false/],
      ['date', '2023-02-29', /must be a calendar date/],
      ['date', '2024-02-29T00:00:00Z', /must be a calendar date/],
      ['date', 20240229, /must be a text/],
      ['datetime', '2024-02-29T12:00:00', /must be a date, or a date and time with a zone/],
      ['datetime', '2023-02-29', /must be a date/],
      ['datetime', 'now', /must be a date/],
      ['time', '24:00', /must be a time/],
      ['time', '8:30', /must be a time/],
      ['select', 'gren', /must be one of "red", "green", "blue", got "gren"; did you mean "green"\?/],
      ['radio', 'x', /must be one of "red"/],
      ['text', 5, /must be a text, got 5/],
      ['text', false, /must be a text/],
      ['text', { a: 1 }, /must be a text, got an object/],
      ['text', 'a\0b', /must be a text/],
      ['text', '\ud800', /must be a text/],
      ['relationship', 'a\0', /must be a text/],
    ];
    for (const [field, value, message] of wrong) {
      for (const operator of ['equals', 'not_equals']) {
        const answer = await refused('all', json({ [field]: { [operator]: value } }));
        assert.deepEqual(fieldsOf(answer), [`where[${field}][${operator}]`]);
        assert.match(answer.body.message, message);
      }
      if (Array.isArray(value)) continue;
      assert.match((await refused('all', json({ [field]: { in: [value, null] } }))).body.message, message);
      if (typeof value === 'string' && value.isWellFormed()) {
        assert.match((await refused('all', brackets(field, 'equals', value))).body.message, message);
      }
    }
    const lost = /must be a number that JSON keeps, got 9007199254740993, which becomes 9007199254740992; /;
    for (const text of [brackets('number', 'less_than', '9007199254740993'), 'where[number][in]=1,9007199254740993']) {
      assert.match((await refused('all', text)).body.message, lost);
    }
    const answer = await refused(
      'all',
      `where=${encodeURIComponent('{"or":[{"number":{"equals":9007199254740993}}]}')}`,
    );
    assert.deepEqual(fieldsOf(answer), ['where[or][0][number][equals]']);
    assert.match(answer.body.message, lost);
    assert.deepEqual(await found('all', brackets('text', 'equals', '9007199254740993')), []);
    assert.match(
      (await refused('all', brackets('multiSelect', 'contains', 'pink'))).body.message,
      /must be one of "red"/,
    );
    assert.match((await refused('all', brackets('multiSelect', 'contains', 'null'))).body.message, /must not be null/);
    assert.match((await refused('all', brackets('number', 'greater_than', 'null'))).body.message, /must not be null/);
    for (const value of [5, null, {}, '\udc00', 'a\0']) await refused('all', json({ text: { like: value } }));
    await refused('all', 'where[text][like]=a&where[text][like]=b');
    assert.match(
      (await refused('all', 'where[text][equals]=a&where[text][equals]=b')).body.message,
      /must be given once/,
    );
  });

  it('of exists are true or false and nothing else', async () => {
    for (const field of ['text', 'number', 'json', 'multiSelect', 'array']) {
      for (const value of ['', '1', 'yes', 'TRUE', 'null']) {
        const answer = await refused('all', brackets(field, 'exists', value));
        assert.match(answer.body.message, /must be true or false, got /);
      }
      for (const value of [null, 1, 0, [], [true]]) await refused('all', json({ [field]: { exists: value } }));
    }
  });

  it('of a datetime may stand in any zone, and a date alone is its first moment', async () => {
    const [id] = [await create('all', { name: 'timed', datetime: '2030-06-01T00:00:00+02:00' })];
    const same = brackets('datetime', 'equals', '2030-05-31T22:00:00Z');
    assert.deepEqual(await found('all', same), ['timed']);
    assert.deepEqual(await found('all', brackets('datetime', 'equals', '2030-06-01T01:00:00+03:00')), ['timed']);
    assert.deepEqual(await found('all', brackets('datetime', 'greater_than', '2030-05-31')), ['timed']);
    assert.deepEqual(await found('all', brackets('datetime', 'greater_than', '2030-06-01')), []);
    assert.equal(readDatetime('2030-06-01T00:00:00+02:00'), '2030-05-31T22:00:00.000Z');
    await call('DELETE', `/api/collections/all/${id}`);
  });
});

describe('Paths', () => {
  before(async () => {
    const [m0 = '', m1 = '', m2 = ''] = marks;
    await create('points', { name: 'p0', mark: m0, marks: [] });
    await create('points', { name: 'p1', mark: m1, marks: [m0, m2] });
    await create('points', { name: 'p2', mark: m2, marks: [m1] });
    const gone = await create('marks', { name: 'gone', n: 9 });
    await create('points', { name: 'gone', mark: gone, marks: [gone, m0] });
    await call('DELETE', `/api/collections/marks/${gone}`);
  });

  const among = async (text: string) =>
    (await found('points', text)).filter((name) => /^(p\d|gone)$/.test(name)).join(' ');

  it('go across relationships: some related document matches, and for a negation none', async () => {
    assert.equal(await among(brackets('mark.name', 'equals', 'm1')), 'p1');
    assert.equal(await among(brackets('mark.n', 'greater_than', '0')), 'p1 p2');
    assert.equal(await among(brackets('marks.name', 'equals', 'm0')), 'p1 gone');
    assert.equal(await among(brackets('marks.name', 'not_equals', 'm0')), 'p0 p2');
    assert.equal(await among(brackets('marks.n', 'not_in', '1,2')), 'p0 gone');
    assert.equal(await among(brackets('mark.id', 'exists', 'true')), 'p0 p1 p2');
    assert.equal(
      await among(`${brackets('mark.id', 'exists', 'false')}&${brackets('mark', 'exists', 'true')}`),
      'gone',
    );
    assert.equal(await among(brackets('mark.next.name', 'equals', 'm1')), 'p2');
    assert.equal(await among(brackets('marks.next.next.name', 'equals', 'm0')), 'p1');
  });

  it('go into objects, arrays and blocks', async () => {
    assert.deepEqual(await found('all', brackets('object.word', 'like', 'a')), ['low']);
    assert.deepEqual(await found('all', brackets('object.n', 'equals', 'null')), ['high', 'none']);
    assert.deepEqual(await found('all', brackets('array.word', 'equals', 'b')), ['high']);
    assert.deepEqual(await found('all', brackets('array.word', 'equals', 'null')), ['high']);
    assert.deepEqual(await found('all', brackets('array.word', 'exists', 'false')), ['none']);
    assert.deepEqual(await found('all', brackets('blocks.blockType', 'equals', 'two')), ['high']);
    assert.deepEqual(await found('all', brackets('blocks.word', 'equals', 'A')), ['low']);
    assert.match(
      (await refused('all', brackets('blocks.blockType', 'equals', 'tow'))).body.message,
      /did you mean "two"/,
    );
    // Blocks that disagree about a type: the first one decides.
    await refused('all', brackets('blocks.size', 'equals', 'big'));
    assert.deepEqual(await found('all', brackets('blocks.size', 'equals', '1')), []);
  });

  it('go over at most 5 relationships', async () => {
    const path = (hops: number) => ['mark', ...Array(hops - 1).fill('next'), 'name'].join('.');
    assert.equal((await query('points', brackets(path(5), 'exists', 'true'))).status, 200);
    for (const hops of [6, 7, 500]) {
      const answer = await refused('points', brackets(path(hops), 'exists', 'true'));
      assert.match(answer.body.message, /must not go through more than 5 relationships/);
    }
    assert.equal((await query('points', `sort=${path(5)}`)).status, 200);
    assert.match((await refused('points', `sort=${path(6)}`)).body.message, /5 relationships/);
  });

  it('of a sort go across single relationships, and through no list', async () => {
    const sorted = async (sort: string) => {
      const text = `sort=${sort}&${brackets('name', 'in', 'p0,p1,p2,gone')}`;
      return (await query('points', text)).body.docs.map(({ name }: { name: string }) => name).join(' ');
    };
    assert.equal(await sorted('mark.name'), 'p0 p1 p2 gone');
    assert.equal(await sorted('-mark.n'), 'p2 p1 p0 gone');
    assert.equal(await sorted('mark.next.name,-name'), 'p1 p2 p0 gone');
    for (const [slug, sort] of [
      ['points', 'marks.name'],
      ['points', 'marks'],
      ['all', 'array.word'],
      ['all', 'blocks.word'],
      ['all', 'array'],
      ['all', 'json'],
    ] as const) {
      const answer = await refused(slug, `sort=${sort}`);
      assert.deepEqual(errorsOf(answer), { sort: `sort: "${sort}" has no single value to sort by` });
    }
  });

  it('that lead nowhere are refused with what is allowed there and the nearest name', async () => {
    const message = async (slug: string, path: string) => {
      const answer = await refused(slug, brackets(path, 'equals', 'x'));
      assert.deepEqual(fieldsOf(answer), [`where[${path}]`]);
      return answer.body.message;
    };
    assert.equal(
      await message('points', 'nmae'),
      'where[nmae]: "nmae" is not a field to filter or sort by; did you mean "name"?; allowed: "id", "createdAt", "updatedAt", "name", "mark", "marks"',
    );
    assert.match(
      await message('points', 'mark.nam'),
      /"nam" is not a field of "mark".*did you mean "name"\?; allowed: "id"/,
    );
    assert.match(
      await message('all', 'object.wrd'),
      /"wrd" is not a field of "object".*did you mean "word"\?; allowed: "word", "n"$/,
    );
    assert.match(await message('all', 'blocks.x'), /allowed: "blockType", "word", "size"$/);
    for (const path of [
      'name.x',
      'json.a',
      '',
      '.',
      'mark.',
      '.name',
      'mark..name',
      'name ',
      'Name',
      'doc',
      '$',
      '*',
    ]) {
      await message('points', path);
    }
    for (const path of [
      '__proto__',
      'constructor',
      'toString',
      'mark.__proto__',
      'hasOwnProperty.name',
      '__proto__.x',
    ]) {
      assert.match(await message('points', path), /is not a field/);
    }
  });
});

describe('The notations', () => {
  const total = async (text: string) => (await query('marks', text)).body.total;

  it('combine with AND on a level, and nest with or and and', async () => {
    assert.deepEqual(await found('marks', 'where[n][greater_than]=0&where[name][not_equals]=m2'), ['m1']);
    assert.deepEqual(await found('marks', 'where[n][greater_than]=0&where[n][less_than]=2'), ['m1']);
    assert.deepEqual(await found('marks', 'where[or][0][n][equals]=0&where[or][1][name][equals]=m2'), ['m0', 'm2']);
    assert.deepEqual(await found('marks', 'where[or][7][n][equals]=0&where[or][3][name][equals]=m2'), ['m0', 'm2']);
    const beside = 'where[or][0][n][equals]=0&where[or][1][name][equals]=m2&where[n][exists]=true&where[name][like]=2';
    assert.deepEqual(await found('marks', beside), ['m2']);
    const nested = {
      or: [
        { and: [{ n: { equals: 1 } }, { or: [{ name: { like: 'm' } }] }] },
        { n: { equals: 2 }, name: { equals: 'x' } },
      ],
    };
    assert.deepEqual(await found('marks', json(nested)), ['m1']);
    assert.deepEqual(await found('marks', json({ or: { 0: { n: { equals: 2 } } } })), ['m2']);
    assert.equal(await total(json({})), 3);
    assert.deepEqual(await found('marks', 'where%5Bn%5D%5Bequals%5D=1'), ['m1']);
  });

  it('are refused when they are of no right form', async () => {
    const wrong = [
      'where[=1',
      'where[a=1',
      'where[n]]=1',
      'where[n][equals=1',
      'where[n]equals]=1',
      'where[n][equals]x=1',
      'where[[n]]=1',
      'where[]=1',
      'where[][equals]=1',
      'where[n][]=1',
      'where[n]=1',
      'where=',
      'where',
      'where=1',
      'where="x"',
      'where=null',
      'where=[]',
      'where={',
      'where={}{}',
      'where=%00',
      'where=n',
      'where={}&where={}',
      'where={}&where[n][equals]=1',
      'where[n][equals]=1&where={}',
      'where[n]=1&where[n][equals]=1',
      'where[n][equals]=1&where[n]=1',
      'where[n][in]=1&where[n][in]=2&where[n][in][x]=1',
      'where[n][equals][x]=1',
      'where[or]=1',
      'where[or]=',
      'where[or][0]=1',
      'where[or][x][n][equals]=1',
      'where[or][][n][equals]=1',
      'where[or][n][equals]=1',
      'where[or][-1][n][equals]=1',
      'where[or][0][or]=1',
      'where[and]=x',
      'where[__proto__]=1',
      'where[__proto__][n][equals]=1',
      'where[n][__proto__]=1',
      'where[n][constructor]=1',
      'where[constructor][prototype][x]=1',
      'where[n][__proto__][equals]=1',
      'where[or][__proto__][n][equals]=1',
      'where[or][constructor]=1',
      'where[n][toString]=1',
      `where[${'x'.repeat(5000)}]=1`,
      `where${'[a]'.repeat(500)}=1`,
      `where=${'['.repeat(4000)}`,
      `where=${'[{"or":'.repeat(500)}`,
    ];
    for (const text of wrong) {
      const answer = await refused('marks', text);
      for (const field of fieldsOf(answer)) assert.match(field, /^where/, text);
    }
    for (const where of [
      null,
      [],
      'x',
      1,
      true,
      [{ n: { equals: 1 } }],
      { n: 1 },
      { n: null },
      { n: [] },
      { n: {} },
      { n: { equals: {} } },
      { or: [] },
      { or: {} },
      { or: null },
      { or: 'x' },
      { or: [1] },
      { or: [null] },
      { or: [[]] },
      { and: [] },
      { and: { x: {} } },
      { '': { equals: 1 } },
      { n: { '': 1 } },
      { '\ud800': { equals: 1 } },
      { n: { '\ud800': 1 } },
      { '\0': {} },
      { '😀': { equals: 1 } },
    ]) {
      await refused('marks', json(where));
    }
    const proto = encodeURIComponent('{"__proto__":{"equals":1}}');
    assert.match((await refused('marks', `where=${proto}`)).body.message, /"__proto__" is not a field/);
    assert.match(
      (await refused('marks', 'where={}&where[n][equals]=1')).body.message,
      /either as JSON or in brackets, not both/,
    );
    assert.match(
      (await refused('marks', 'where[n]=1&where[n][equals]=1')).body.message,
      /contradicts another parameter/,
    );
  });

  it('name an operator that does not exist, with the nearest and all that do', async () => {
    const answer = await refused('marks', 'where[n][equls]=1');
    assert.equal(
      answer.body.message,
      'where[n][equls]: is not an operator; did you mean "equals"?; allowed here: "equals", "not_equals", "in", "not_in", "exists", "greater_than", "less_than", "greater_than_equal", "less_than_equal"',
    );
    assert.match(
      (await refused('marks', 'where[n]=1')).body.message,
      /^where\[n\]: needs an operator, like where\[n\]\[equals\]=value; operators: "equals"/,
    );
  });

  it('tell everything that is wrong, not only the first', async () => {
    const answer = await refused('marks', 'where[n][equals]=x&where[nope][equals]=1&where[or][0][name][lik]=1');
    assert.deepEqual(fieldsOf(answer), ['where[n][equals]', 'where[nope]', 'where[or][0][name][lik]']);
    const beside = await refused('marks', 'limit=0&sort=nope&where[n][equals]=x&foo=1');
    assert.deepEqual(fieldsOf(beside), ['foo', 'limit', 'sort', 'where[n][equals]']);
    const many = Object.fromEntries(Array.from({ length: 150 }, (_, index) => [`f${index}`, { equals: 1 }]));
    assert.equal((await refused('marks', json(many))).body.errors.length, 50);
  });

  it('hold at most 20 levels and 200 conditions', async () => {
    const deep = (levels: number): object => (levels === 1 ? { n: { equals: 1 } } : { or: [deep(levels - 1)] });
    const inBrackets = (levels: number) => `where${'[or][0]'.repeat(levels - 1)}[n][equals]=1`;
    assert.deepEqual(await found('marks', json(deep(20))), ['m1']);
    assert.deepEqual(await found('marks', inBrackets(20)), ['m1']);
    for (const levels of [21, 22, 50, 500]) {
      for (const text of [json(deep(levels)), inBrackets(levels)]) {
        if (text.length > 14_000) continue;
        assert.deepEqual(errorsOf(await refused('marks', text)), { where: 'where must be at most 20 levels deep' });
      }
    }
    const wide = (count: number) => ({ and: Array.from({ length: count }, () => ({ n: { equals: 1 } })) });
    assert.deepEqual(await found('marks', json(wide(200))), ['m1']);
    assert.deepEqual(errorsOf(await refused('marks', json(wide(201)))), {
      where: 'where must have at most 200 conditions',
    });
  });

  it('follow at most 400 relationships, all conditions together', async () => {
    const conditions = (count: number, path: string) =>
      Array.from({ length: count }, () => ({ [path]: { not_equals: 1 } }));
    const far = conditions(80, 'next.next.next.next.next.n');
    // Conditions on a field of the document itself follow no relationship, and neither does one on a relationship
    // itself.
    const near = [...conditions(40, 'n'), ...Array.from({ length: 40 }, () => ({ next: { exists: 'false' } }))];
    assert.equal((await query('marks', json({ and: [...far, { or: [...conditions(1, 'n'), ...near] }] }))).status, 200);
    for (const [more, sum] of [
      [conditions(1, 'next.n'), 401],
      [conditions(100, 'next.next.n'), 600],
    ] as const) {
      assert.deepEqual(errorsOf(await refused('marks', json({ or: [...more, { and: far }] }))), {
        where: `where must follow at most 400 relationships in all its conditions together, got ${sum}`,
      });
    }
  });
});

describe('Totals', () => {
  it('are right again after every write, of related documents too', async () => {
    const total = async (slug: string, text: string) => (await query(slug, text)).body.total;
    const mark = await create('marks', { name: 'counted', n: 100 });
    const before = await total('points', 'where[mark.n][equals]=100');
    assert.equal(before, 0);
    const point = await create('points', { name: 'counted', mark });
    const all = await total('points', '');
    for (let round = 0; round < 3; round += 1) {
      assert.equal(await total('points', 'where[mark.n][equals]=100'), 1);
      assert.equal(await total('points', 'where[mark.n][equals]=101'), 0);
      await call('PATCH', `/api/collections/marks/${mark}`, { n: 101 });
      assert.equal(await total('points', 'where[mark.n][equals]=100'), 0);
      assert.equal(await total('points', 'where[mark.n][equals]=101'), 1);
      await call('PATCH', `/api/collections/marks/${mark}`, { n: 100 });
    }
    assert.equal(await total('points', ''), all);
    await call('DELETE', `/api/collections/points/${point}`);
    assert.equal(await total('points', ''), all - 1);
    assert.equal(await total('points', 'where[mark.n][equals]=100'), 0);
  });
});

const seed = Number(process.env.TEST_SEED ?? randomInt(2 ** 31));

describe(`Random query strings (TEST_SEED=${seed})`, () => {
  const words = [
    ...[
      'where',
      'where[',
      'where=',
      'sort=',
      'limit=',
      'page=',
      'depth=',
      '_x',
      '[',
      ']',
      '][',
      '[]',
      '%5B',
      '%5D',
      '=',
      '&',
      ',',
    ],
    ...[
      'or',
      'and',
      '[or][0]',
      '[and][1]',
      '0',
      '1',
      '-1',
      'name',
      'n',
      'number',
      'multiSelect',
      'array',
      'blocks',
      'object',
      'word',
    ],
    ...[
      'relationship',
      'relationships',
      'next',
      '.',
      'id',
      'createdAt',
      'json',
      'blockType',
      '__proto__',
      'constructor',
      'toString',
    ],
    ...operatorNames.map((name) => `[${name}]=`),
    ...[
      'null',
      'true',
      'red',
      '2024-02-29',
      '{',
      '}',
      '"',
      ':',
      '{"or":[',
      ']}',
      '{"n":{"equals":',
      '\\ud800',
      '\\u0000',
      'é',
      '😀',
    ],
    ...[
      '%',
      '%00',
      '%zz',
      '%ED%A0%80',
      '%F0%9F%98%80',
      '%27',
      '%22',
      '%25',
      '_',
      '+',
      '%20',
      ';',
      '--',
      '-',
      '~',
      '$',
      '*',
      '1e999',
      '1e400',
    ],
  ];
  const soup = fc.array(fc.constantFrom(...words), { minLength: 1, maxLength: 25 }).map((list) => list.join(''));
  const bracket = fc
    .tuple(
      fc.constantFrom(
        'name',
        'number',
        'array.word',
        'relationships.n',
        'object.n',
        'blocks.word',
        'createdAt',
        'multiSelect',
        'json',
      ),
      fc.constantFrom(...operatorNames),
      anyText({ maxLength: 12 }),
    )
    .map(([path, operator, value]) => brackets(path, operator, value.toWellFormed()));
  const tree = fc
    .tuple(fc.constantFrom('or', 'and', 'name', 'array', 'number', 'relationship.n'), fc.json({ maxDepth: 4 }))
    .map(([key, value]) => `where={"${key}":${encodeURIComponent(value)}}`);
  const bytes = fc.uint8Array({ minLength: 1, maxLength: 80 }).map((list) => {
    return [...list].map((byte) => `%${byte.toString(16).padStart(2, '0')}`).join('');
  });
  const texts = fc.oneof(
    soup,
    bracket,
    tree,
    bytes,
    fc.tuple(bracket, soup).map((two) => two.join('&')),
  );

  it('are answered with 200 or 400, and nothing of the insides', async () => {
    const seen: Record<number, number> = {};
    await fc.assert(
      fc.asyncProperty(texts, async (text) => {
        const { status, body } = await query('all', text.replaceAll('#', '%23'));
        assert.ok(status === 200 || status === 400, `${status} ${JSON.stringify(body)}`);
        seen[status] = (seen[status] ?? 0) + 1;
      }),
      // Few random texts have nothing wrong.
      { seed, numRuns: runsOf(1000), examples: [['where[name][equals]=x'], ['where=x']] },
    );
    assert.ok(seen[200] && seen[400], JSON.stringify(seen));
  });
});
