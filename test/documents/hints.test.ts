import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { useServiceHere } from '../helpers/embedded.ts';
import type { CallOptions } from '../helpers/service.ts';
import { errorsOf } from '../helpers/shared.ts';

// One thread, because the configuration counts in a variable.
const service = useServiceHere(
  `
const never = () => false;
const hidden = (name, more) => ({ name, type: 'text', access: { read: never, ...more } });
const text = (name) => ({ name, type: 'text' });
const levels = Array.from({ length: 300 }, (_, at) => 'level' + at);
const fields = [
  text('title'),
  hidden('salary'),
  hidden('grade', { create: never, update: never }),
  { name: 'perDocument', type: 'text', access: { read: ({ doc }) => doc.title === 'open' } },
  { name: 'perCaller', type: 'text', access: { read: ({ req }) => req.headers['x-role'] === 'editor' } },
  { name: 'broken', type: 'text', access: { read: () => { throw new Error('no'); } } },
  { name: 'laterNever', type: 'text', access: { read: async () => false } },
  { name: 'address', type: 'object', fields: [text('street'), hidden('number')] },
  { name: 'vault', type: 'object', access: { read: never }, fields: [text('content')] },
  { name: 'items', type: 'array', fields: [text('label'), hidden('price'), { name: 'inner', type: 'object', fields: [hidden('depth'), text('width')] }] },
  { name: 'layout', type: 'blocks', blocks: [{ slug: 'hero', fields: [text('heading'), hidden('budget')] }] },
];
const yes = () => true;
export default {
  collections: [
    { slug: 'staff', fields, access: { read: yes, create: yes, update: yes } },
    { slug: 'asked', fields: [
      text('title'),
      { name: 'counted', type: 'text', access: { read: () => { throw Object.assign(new Error('asked'), { asked: globalThis.asked = (globalThis.asked ?? 0) + 1 }); } } },
      { name: 'level', type: 'select', options: levels },
      { name: 'levels', type: 'multiSelect', options: levels },
      { name: 'times', type: 'number', hooks: { afterRead: () => globalThis.asked ?? 0 } },
    ], access: { create: yes, read: yes } },
  ],
  globals: [{ slug: 'site', fields, access: { read: yes, update: yes } }],
};`,
);

const staff = '/api/collections/staff';
const anonymous: CallOptions = { key: null };
const editor: CallOptions = { key: null, headers: { 'x-role': 'editor' } };

/** A wrong name for every field that is not for every reader, and what a caller who may read it is told. */
const wrong = {
  salry: 1,
  grad: 1,
  perDocumen: 1,
  perCallr: 1,
  brokn: 1,
  laterNevr: 1,
  address: { numbr: 1 },
  valt: 1,
  vault: { contnt: 1 },
  items: [{ pric: 1 }, { inner: { dept: 1 } }],
  layout: [{ blockType: 'hero', budgt: 1 }],
};
const meant: Record<string, string> = {
  salry: 'salary',
  grad: 'grade',
  perDocumen: 'perDocument',
  perCallr: 'perCaller',
  brokn: 'broken',
  laterNevr: 'laterNever',
  valt: 'vault',
  'address.numbr': 'number',
  'vault.contnt': 'content',
  'items.0.pric': 'price',
  'items.1.inner.dept': 'depth',
  'layout.0.budgt': 'budget',
};
const isNoField = (field: string) => `${field} is not a field`;

describe('The nearest name of a field that is not there', () => {
  const everyWrite = async (body: object, options?: CallOptions) => {
    const { id } = (await service.call('POST', staff, {})).body;
    return [
      await service.call('POST', staff, body, options),
      await service.call('PATCH', `${staff}/${id}`, body, options),
      await service.call('PATCH', '/api/globals/site', body, options),
    ];
  };

  it('is told for every field to an API key', async () => {
    const expected = Object.entries(meant).map(([field, name]) => [
      field,
      `${isNoField(field)}; did you mean "${name}"?`,
    ]);
    for (const answer of await everyWrite(wrong)) {
      assert.equal(answer.status, 400);
      assert.deepEqual(errorsOf(answer), Object.fromEntries(expected));
    }
  });

  it('is never that of a field which the caller may not read, nested or not, whatever its rule does', async () => {
    const expected = Object.keys(meant).map((field) => [field, isNoField(field)]);
    for (const answer of await everyWrite(wrong, anonymous)) {
      assert.equal(answer.status, 400);
      assert.deepEqual(errorsOf(answer), Object.fromEntries(expected));
    }
  });

  it('is told to a caller whose rule says yes, and so is that of a field for everybody', async () => {
    const body = { perCallr: 1, salry: 1, titel: 1, address: { stret: 1 }, items: [{ inner: { widht: 1 } }] };
    const expected = {
      perCallr: 'perCallr is not a field; did you mean "perCaller"?',
      salry: 'salry is not a field',
      titel: 'titel is not a field; did you mean "title"?',
      'address.stret': 'address.stret is not a field; did you mean "street"?',
      'items.0.inner.widht': 'items.0.inner.widht is not a field; did you mean "width"?',
    };
    for (const answer of await everyWrite(body, editor)) assert.deepEqual(errorsOf(answer), expected);
    const [answer] = await everyWrite(body, anonymous);
    assert.deepEqual(answer && errorsOf(answer), { ...expected, perCallr: 'perCallr is not a field' });
  });

  it('is not in the message either, when only one field is wrong', async () => {
    const answer = await service.call('POST', staff, { salry: 1 }, anonymous);
    assert.equal(answer.body.message, 'salry is not a field');
  });

  it('asks no rule while there is nothing to tell', async () => {
    const made = await service.call('POST', '/api/collections/asked', { title: 'x' });
    const times = async () => (await service.call('GET', `/api/collections/asked/${made.body.id}`)).body.times;
    assert.equal(await times(), 0);
    assert.equal((await service.call('POST', '/api/collections/asked', { title: 3 }, anonymous)).status, 400);
    assert.equal(await times(), 0);
    assert.equal((await service.call('POST', '/api/collections/asked', { titel: 3 }, anonymous)).status, 400);
    assert.equal(await times(), 1);
  });
});

describe('Of many wrong names', () => {
  const members = (count: number) => Object.fromEntries(repeated(count, (at) => `wrong${at}`).map((name) => [name, 1]));
  const repeated = (count: number, part: (at: number) => string) => Array.from({ length: count }, (_, at) => part(at));
  const countOf = async (method: string, path: string, body?: object) => {
    const answer = await service.call(method, path, body);
    assert.deepEqual([answer.status, answer.body.error], [400, 'Validation Error']);
    return answer.body.errors.length;
  };

  it('in one object 100 are told, and one alone if all would cost more than to take them', async () => {
    for (const inside of [
      (wrong: object) => wrong,
      (wrong: object) => ({ address: wrong }),
      (wrong: object) => ({ items: [{ inner: wrong }] }),
      (wrong: object) => ({ layout: [{ blockType: 'hero', ...wrong }] }),
    ]) {
      assert.equal(await countOf('POST', staff, inside(members(500))), 100);
      assert.equal(await countOf('POST', staff, inside(members(19_900))), 1);
    }
  });

  it('in a list of choices 100 are told, however many choices there are', async () => {
    const levels = repeated(19_000, (at) => `levl${at}`);
    assert.equal(await countOf('POST', '/api/collections/asked', { levels }), 100);
  });

  it('in a query 50 are told, be they parameters, fields, operators or alternatives', async () => {
    for (const query of [
      repeated(300, (at) => `limt${at}=1`).join('&'),
      repeated(300, (at) => `where[titel${at}][equals]=1`).join('&'),
      repeated(150, (at) => `where[title][equls${at}]=1`).join('&'),
      `where={"or":[${repeated(300, (at) => `{"titel${at}":{"equals":1}}`)}]}`,
    ])
      assert.equal(await countOf('GET', `${staff}?${query}`), 50, query);
  });

  it('in a list of a query the first is told', async () => {
    const levels = repeated(190, (at) => `levl${at}`);
    assert.equal(await countOf('GET', `/api/collections/asked?where[level][in]=${levels}`), 1);
  });
});

describe('The nearest name in a query', () => {
  it('is never that of a field which the caller may not read', async () => {
    const paths = ['salry', 'perDocumen', 'perCallr', 'brokn', 'valt', 'address.numbr', 'items.pric', 'layout.budgt'];
    for (const path of paths) {
      for (const query of [`where[${path}][equals]=1`, `sort=${path}`, `where={"or":[{"${path}":{"equals":1}}]}`]) {
        const { status, body } = await service.call('GET', `${staff}?${query}`, undefined, anonymous);
        assert.equal(status, 400);
        assert.match(body.message, /is not a field/);
        assert.doesNotMatch(
          body.message,
          /did you mean|"(salary|grade|perDocument|perCaller|broken|laterNever|vault|number|price|budget)"/,
        );
        const known = await service.call('GET', `${staff}?${query}`);
        assert.match(known.body.message, /did you mean/, query);
      }
    }
    const { body } = await service.call('GET', `${staff}?sort=perCallr`, undefined, editor);
    assert.match(body.message, /did you mean "perCaller"/);
  });
});
