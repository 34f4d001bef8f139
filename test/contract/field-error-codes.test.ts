import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { fieldErrorCodes } from '../../config/field-error-codes.ts';
import { useServiceHere } from '../helpers/embedded.ts';
import { entriesMetElsewhere } from '../helpers/error-codes.ts';

const root = join(import.meta.dirname, '../..');

const service = useServiceHere(`export default {
  collections: [
    {
      slug: 'posts',
      fields: [
        { name: 'title', type: 'text', required: true, minLength: 3, maxLength: 5, pattern: '^[a-z]+$' },
        { name: 'rank', type: 'number', min: 1, max: 9, integer: true },
        { name: 'status', type: 'select', options: ['draft', 'published'] },
        { name: 'tags', type: 'multiSelect', options: ['a', 'b', 'c', 'd'], minLength: 2, maxLength: 3 },
        { name: 'mail', type: 'email' },
        { name: 'code', type: 'text', unique: true },
        { name: 'parent', type: 'relationship', relationTo: 'posts' },
        { name: 'fixed', type: 'text', access: { create: () => false } },
      ],
    },
    { slug: 'images', fields: [], upload: { mimeTypes: ['image/*'] } },
  ],
}`);
const posts = '/api/collections/posts';

const entriesOf = async (
  path: string,
  options: { method?: string; body?: unknown; headers?: Record<string, string> },
) => {
  const { method = 'GET', body, headers = {} } = options;
  const answer = await service.call(method, path, body, { headers });
  // The messages are those of other tests.
  return answer.body.errors.map(({ message: _, ...entry }: { message: string }) => entry);
};
const ofBody = async (body: unknown) => entriesOf(posts, { method: 'POST', body });

describe('The entries of errors (7)', () => {
  it('carry what is wrong with a value of the body, and what a message in another language needs', async () => {
    const cases: [values: object, entry: object][] = [
      [{ title: undefined }, { field: 'title', code: 'required' }],
      [{ title: null }, { field: 'title', code: 'required' }],
      [{ title: 5 }, { field: 'title', code: 'type' }],
      [{ title: 'ab' }, { field: 'title', code: 'min_length', limit: 3 }],
      [{ title: 'abcdef' }, { field: 'title', code: 'max_length', limit: 5 }],
      [{ title: 'ABC' }, { field: 'title', code: 'pattern' }],
      [{ title: 'ab\0c' }, { field: 'title', code: 'unsafe_characters' }],
      [{ rank: 0 }, { field: 'rank', code: 'min', limit: 1 }],
      [{ rank: 10 }, { field: 'rank', code: 'max', limit: 9 }],
      [{ status: 'drft' }, { field: 'status', code: 'not_allowed', allowed: ['draft', 'published'] }],
      [{ tags: ['a'] }, { field: 'tags', code: 'min_items', limit: 2 }],
      [{ tags: ['a', 'b', 'c', 'd'] }, { field: 'tags', code: 'max_items', limit: 3 }],
      [{ tags: ['a', 'a'] }, { field: 'tags.1', code: 'duplicate' }],
      [{ mail: 'no address' }, { field: 'mail', code: 'format' }],
      [{ titel: 'abc' }, { field: 'titel', code: 'unknown_field' }],
      [{ parent: 'nope' }, { field: 'parent', code: 'reference_not_found' }],
    ];
    for (const [values, entry] of cases)
      assert.deepEqual(await ofBody({ title: 'abc', ...values }), [{ in: 'body', ...entry }], JSON.stringify(values));
    const lost = await ofBody('{"title":"abc","rank":12345678901234567890}');
    assert.deepEqual(lost, [{ field: 'rank', in: 'body', code: 'unsafe_number' }]);
    assert.deepEqual(await ofBody([]), [{ field: '', in: 'body', code: 'type' }]);
    await service.call('POST', posts, { title: 'abc', code: 'x' });
    assert.deepEqual(await ofBody({ title: 'abc', code: 'x' }), [{ field: 'code', in: 'body', code: 'unique' }]);
  });

  it('carry what is wrong with a query, a header and a path', async () => {
    const query = async (text: string) => entriesOf(`${posts}?${text}`, {});
    const at = { in: 'query' };
    for (const [text, entry] of [
      ['pge=1', { field: 'pge', code: 'unknown_parameter' }],
      ['limit=0', { field: 'limit', code: 'min', limit: 1 }],
      ['limit=x', { field: 'limit', code: 'type' }],
      ['count=all', { field: 'count', code: 'not_allowed', allowed: ['exact', 'none'] }],
      ['sort=titel', { field: 'sort', code: 'unknown_field' }],
      ['where[titel][equals]=x', { field: 'where[titel]', code: 'unknown_field' }],
      ['where[rank][equals]=x', { field: 'where[rank][equals]', code: 'type' }],
      ['asOf=2999-01-01', { field: 'asOf', code: 'out_of_range' }],
    ] as const)
      assert.deepEqual(await query(text), [{ ...at, ...entry }], text);
    const isOfNone = { field: 'where[rank][like]', code: 'unknown_operator' };
    assert.partialDeepStrictEqual(await query('where[rank][like]=1'), [{ ...at, ...isOfNone }]);
    const deep = JSON.stringify(Array.from({ length: 30 }).reduce((inner) => ({ and: [inner] }), {}));
    assert.deepEqual(await query(`where=${deep}`), [{ ...at, field: 'where', code: 'too_deep' }]);
    const hops = Array.from({ length: 140 }, () => ({ 'parent.parent.parent.title': { equals: 'abc' } }));
    const where = encodeURIComponent(JSON.stringify({ or: hops }));
    assert.deepEqual(await query(`where=${where}`), [{ ...at, field: 'where', code: 'too_expensive' }]);
    const headers = { 'if-match': 'x' };
    const { body } = await service.call('POST', posts, { title: 'abc' });
    assert.deepEqual(await entriesOf(`${posts}/${body.id}`, { method: 'PATCH', body: {}, headers }), [
      { field: 'if-match', in: 'header', code: 'format' },
    ]);
    assert.deepEqual(await entriesOf('/api/audit/proofs/x', {}), [{ field: 'position', in: 'path', code: 'type' }]);
    assert.deepEqual(
      await entriesOf(`${posts}/bulk/delete`, { method: 'POST', body: { where: { titel: { equals: 1 } } } }),
      [{ field: 'where[titel]', in: 'body', code: 'unknown_field' }],
    );
  });

  it('carry what is wrong with a file, and with a body as a whole', async () => {
    for (const [content, code] of [
      ['only text', 'file_type'],
      ['', 'file_invalid'],
    ] as const) {
      const form = new FormData();
      form.set('file', new Blob([content]), 'a.png');
      const headers = { 'x-api-key': 'test-key-0123456789' };
      const sent = await fetch(`${service.url}/api/collections/images`, { method: 'POST', headers, body: form });
      const { errors } = (await sent.json()) as { errors: object[] };
      assert.partialDeepStrictEqual(errors, [{ field: 'file', in: 'body', code }]);
    }
    const bulk = await entriesOf('/api/collections/images/bulk', { method: 'POST', body: { docs: [] } });
    assert.deepEqual(bulk, [{ field: '', in: 'body', code: 'invalid' }]);
  });

  it('have codes that are on the page, each with its meaning', () => {
    const page = readFileSync(join(root, 'docs/errors.md'), 'utf8');
    const rows = Object.entries(fieldErrorCodes).map(([code, text]) => `| \`${code}\` | ${text.replace(/\.$/, '')} |`);
    const table = `| \`code\` of an entry | Meaning |\n|---|---|\n${rows.join('\n')}\n\n`;
    assert.ok(page.includes(table), `docs/errors.md must have this table:\n${table}`);
  });

  it('are each met by the test that is named for it, if not by the test of the contract', () => {
    for (const [code, file] of Object.entries(entriesMetElsewhere)) {
      assert.ok(Object.hasOwn(fieldErrorCodes, code), code);
      assert.ok(readFileSync(join(root, file), 'utf8').includes(`'${code}'`), `${file} does not expect ${code}`);
    }
  });
});
