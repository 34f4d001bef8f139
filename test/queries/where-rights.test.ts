import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { useServiceHere } from '../helpers/embedded.ts';
import type { CallOptions } from '../helpers/service.ts';
import { eventually, logLines } from '../helpers/shared.ts';
import { asking } from './asking.ts';

const service = useServiceHere(`
const yes = () => true;
const no = () => false;
const hidden = { name: 'hidden', type: 'text', access: { read: no } };
const shown = { name: 'shown', type: 'text' };
const owned = ({ req }) => ({ owner: { equals: req.headers['x-owner'] ?? 'unknown' } });
const ofOwner = { read: owned, update: owned, delete: owned, create: owned };
const notes = [{ name: 'name', type: 'text' }, { name: 'owner', type: 'text' }, { name: 'n', type: 'number' }];
export default { collections: [
  { slug: 'closed', fields: [{ name: 'shown', type: 'text' }], access: { read: no } },
  { slug: 'guarded', access: { read: yes }, fields: [
    shown, hidden,
    { name: 'perDoc', type: 'text', access: { read: ({ doc }) => doc?.shown === 'a' } },
    { name: 'broken', type: 'text', access: { read: () => { throw new Error('no'); } } },
    { name: 'part', type: 'object', fields: [shown, hidden] },
    { name: 'vault', type: 'object', fields: [shown], access: { read: no } },
    { name: 'items', type: 'array', fields: [shown, hidden] },
    { name: 'blocks', type: 'blocks', blocks: [
      { slug: 'one', fields: [hidden, { ...shown, access: { read: no } }] },
      { slug: 'two', fields: [shown] },
    ] },
  ] },
  { slug: 'looks', access: { read: ({ doc }) => doc.shown === 'a' }, fields: [shown] },
  { slug: 'thrown', access: { read: () => { throw new Error('no'); } }, fields: [shown] },
  { slug: 'paths', access: { read: yes }, fields: [
    shown,
    { name: 'guarded', type: 'relationship', relationTo: 'guarded' },
    { name: 'closed', type: 'relationship', relationTo: 'closed' },
    { name: 'closedMany', type: 'relationship', relationTo: 'closed', hasMany: true },
    { name: 'looks', type: 'relationship', relationTo: 'looks' },
    { name: 'thrown', type: 'relationship', relationTo: 'thrown' },
  ] },
  { slug: 'owned', fields: notes, access: ofOwner },
  { slug: 'ownedLater', fields: notes, access: { read: async (args) => { await new Promise((go) => setTimeout(go, 3)); return owned(args); } } },
  { slug: 'refs', access: { read: yes }, fields: [
    { name: 'name', type: 'text' },
    { name: 'note', type: 'relationship', relationTo: 'owned' },
    { name: 'notes', type: 'relationship', relationTo: 'owned', hasMany: true },
  ] },
  { slug: 'teams', fields: notes, access: { read: () => ({ owner: { in: Array(200).fill('ann') } }) } },
  { slug: 'members', access: { read: yes }, fields: [{ name: 'name', type: 'text' }, { name: 't', type: 'relationship', relationTo: 'teams' }] },
  { slug: 'wrongField', fields: notes, access: { read: () => ({ nope: { equals: 1 } }) } },
  { slug: 'wrongOperator', fields: notes, access: { read: async () => ({ n: { like: 'x' } }) } },
  { slug: 'wrongValue', fields: notes, access: { read: () => ({ n: { equals: 'many' } }) } },
  { slug: 'wrongForm', fields: notes, access: { read: () => [] } },
  { slug: 'undefinedValue', fields: notes, access: { read: () => ({ owner: { equals: undefined } }) } },
] };`);

const { brackets, call, create, found, json, query, refused } = asking(service);

describe('Fields that the caller may not read', () => {
  const anonymous: CallOptions = { key: null };

  before(async () => {
    const values = {
      shown: 'a',
      hidden: 's3cret',
      perDoc: 's3cret',
      part: { shown: 'a', hidden: 's3cret' },
      vault: { shown: 's3cret' },
    };
    const items = [{ shown: 'a', hidden: 's3cret' }];
    const blocks = [
      { blockType: 'one', hidden: 's3cret', shown: 's3cret' },
      { blockType: 'two', shown: 'open' },
    ];
    const guarded = await create('guarded', { ...values, items, blocks });
    const closed = await create('closed', { shown: 's3cret' });
    const looks = await create('looks', { shown: 'a' });
    await create('paths', { shown: 'path', guarded, closed, closedMany: [closed], looks });
  });

  it('is refused as if it did not exist, in filters and sorts, nested and across relationships', async () => {
    const pairs: [string, string, string][] = [
      ['guarded', 'hidden', 'hiddem'],
      ['guarded', 'perDoc', 'perDac'],
      ['guarded', 'broken', 'brokem'],
      ['guarded', 'vault', 'vaalt'],
      ['guarded', 'vault.shown', 'vaalt.shown'],
      ['guarded', 'part.hidden', 'part.hiddem'],
      ['guarded', 'items.hidden', 'items.hiddem'],
      ['guarded', 'blocks.hidden', 'blocks.hiddem'],
      ['paths', 'guarded.hidden', 'guarded.hiddem'],
      ['paths', 'guarded.part.hidden', 'guarded.part.hiddem'],
      ['paths', 'guarded.items.hidden', 'guarded.items.hiddem'],
      ['paths', 'closed.shown', 'closed.shewn'],
      ['paths', 'closed.createdAt', 'closed.createdAx'],
      ['paths', 'closedMany.shown', 'closedMany.shewn'],
      ['paths', 'looks.shown', 'looks.shewn'],
      ['paths', 'thrown.shown', 'thrown.shewn'],
    ];
    for (const [slug, secret, absent] of pairs) {
      const last = (path: string) =>
        path.split('.').find((name, index) => name !== absent.split('.')[index] || name !== secret.split('.')[index]) ??
        '';
      for (const text of [
        'where[PATH][equals]=s3cret',
        'where[PATH][nope]=x',
        'where[or][0][PATH][like]=s',
        'where[PATH]=1',
        'sort=PATH',
        'sort=-PATH',
      ]) {
        const [one, other] = await Promise.all(
          [secret, absent].map((path) => refused(slug, text.replace('PATH', path), anonymous)),
        );
        const said = JSON.stringify(one?.body).replaceAll(last(secret), last(absent));
        assert.equal(said, JSON.stringify(other?.body), `${slug} ${secret} ${text}`);
        assert.match(said, /is not a field/);
      }
      // For the key they are fields as all others are.
      assert.equal((await query(slug, `where[${secret}][exists]=true`)).status, 200, secret);
    }
    const { message } = (await refused('guarded', 'where[x][equals]=1', anonymous)).body;
    assert.match(message, /allowed: "id", "createdAt", "updatedAt", "shown", "part", "items", "blocks"$/);
  });

  it('is not found through a field of the same name in another block', async () => {
    assert.deepEqual(await found('guarded', brackets('blocks.shown', 'equals', 'open'), anonymous), ['a']);
    assert.deepEqual(await found('guarded', brackets('blocks.shown', 'equals', 's3cret'), anonymous), []);
    assert.deepEqual(await found('guarded', brackets('blocks.shown', 'equals', 's3cret')), ['a']);
  });

  it('is no more than the ids of related documents', async () => {
    assert.deepEqual(await found('paths', brackets('closed', 'exists', 'true'), anonymous), ['path']);
    assert.deepEqual(await found('paths', brackets('guarded.shown', 'equals', 'a'), anonymous), ['path']);
  });
});

describe('Access rules that return a where', () => {
  const as = (owner: string): CallOptions => ({ key: null, headers: { 'x-owner': owner } });
  const notes: Record<string, string> = {};

  before(async () => {
    for (const slug of ['owned', 'ownedLater']) {
      for (let n = 0; n < 9; n += 1) {
        const id = await create(slug, { name: `${slug}${n}`, owner: n % 3 === 0 ? 'ann' : "bob' OR 1=1 --", n });
        if (slug === 'owned') notes[`n${n}`] = id;
      }
    }
    const { n0 = '', n1 = '', n3 = '' } = notes;
    await create('refs', { name: 'to ann', note: n0, notes: [n0, n3] });
    await create('refs', { name: 'to bob', note: n1, notes: [n1] });
    await create('refs', { name: 'to both', note: n3, notes: [n1, n3] });
  });

  it('show only the documents that meet it, with right totals and pages', async () => {
    for (const slug of ['owned', 'ownedLater']) {
      assert.deepEqual(
        await found(slug, '', as('ann')),
        [0, 3, 6].map((n) => `${slug}${n}`),
      );
      assert.equal((await found(slug, '', as("bob' OR 1=1 --"))).length, 6);
      assert.deepEqual(await found(slug, '', as('somebody else')), []);
      assert.equal((await found(slug, '')).length, 9);
      const { body } = await query(slug, 'limit=2&page=2&sort=n', as('ann'));
      assert.deepEqual(
        [body.docs.map(({ n }: { n: number }) => n), body.total, body.totalPages, body.hasNextPage],
        [[6], 3, 2, false],
      );
    }
  });

  it('are ANDed with the query, which cannot widen them', async () => {
    assert.deepEqual(await found('owned', 'where[n][greater_than]=2', as('ann')), ['owned3', 'owned6']);
    assert.deepEqual(await found('owned', 'where[owner][not_equals]=ann', as('ann')), []);
    assert.deepEqual(await found('owned', 'where[or][0][n][equals]=1&where[or][1][n][equals]=3', as('ann')), [
      'owned3',
    ]);
    assert.equal((await found('owned', json({}), as('ann'))).length, 3);
  });

  it('hold for single documents, and for what is done to them', async () => {
    const { n0, n1 } = notes;
    const status = async (method: string, id: string | undefined, caller: CallOptions, body?: unknown) =>
      (await call(method, `/api/collections/owned/${id}`, body, caller)).status;
    assert.equal(await status('GET', n0, as('ann')), 200);
    assert.equal(await status('GET', n1, as('ann')), 401);
    assert.equal(await status('GET', 'missing', as('ann')), 401);
    assert.equal(await status('PATCH', n0, as('ann'), { n: 0 }), 200);
    assert.equal(await status('PATCH', n1, as('ann'), { n: 50 }), 401);
    assert.equal(await status('DELETE', n1, as('ann')), 401);
    assert.equal(await status('GET', n1, {}), 200);
    const mine = await create('owned', { name: 'mine', owner: 'cid' });
    assert.equal(await status('DELETE', mine, as('ann')), 401);
    assert.equal(await status('DELETE', mine, as('cid')), 200);
    // A condition is about documents that are there.
    assert.equal((await call('POST', '/api/collections/owned', { owner: 'ann' }, as('ann'))).status, 401);
  });

  it('hold across a relationship: what may not be seen cannot be found by', async () => {
    assert.deepEqual(await found('refs', 'where[note.n][exists]=true', as('ann')), ['to ann', 'to both']);
    assert.deepEqual(await found('refs', 'where[note.n][equals]=1', as('ann')), []);
    assert.deepEqual(await found('refs', 'where[notes.n][equals]=1', as('ann')), []);
    assert.deepEqual(await found('refs', 'where[notes.n][equals]=3', as('ann')), ['to ann', 'to both']);
    assert.deepEqual(await found('refs', 'where[notes.n][not_equals]=1', as('ann')), ['to ann', 'to bob', 'to both']);
    assert.deepEqual(await found('refs', 'where[notes.n][equals]=1'), ['to bob', 'to both']);
    const names = async (caller: CallOptions) =>
      (await query('refs', 'sort=-note.n', caller)).body.docs.map(({ name }: { name: string }) => name);
    assert.deepEqual(await names(as('ann')), ['to both', 'to ann', 'to bob']);
    assert.deepEqual(await names({}), ['to both', 'to bob', 'to ann']);
  });

  it('make a query that becomes too large for SQLite by them a 400', async () => {
    const many = (count: number) => json({ and: Array.from({ length: count }, () => ({ 't.n': { equals: 1 } })) });
    await create('members', { name: 'x', t: await create('teams', { owner: 'ann', n: 1 }) });
    assert.deepEqual(await found('members', many(100), as('ann')), ['x']);
    assert.match((await refused('members', many(200), as('ann'))).body.message, /^where asks for too much at once/);
    assert.deepEqual(await found('members', many(200)), ['x']);
  });

  it('answer a bare 500 when it is wrong, and leave why in the log', async () => {
    const wrong = {
      wrongField: /the read rule of wrongField returned a where that is wrong: where\[nope\]: "nope" is not a field/,
      wrongOperator: /the read rule of wrongOperator returned a where that is wrong: .*allowed here/,
      wrongValue: /the read rule of wrongValue returned a where that is wrong: .*must be a number, got "many"/,
      wrongForm: /the read rule of wrongForm returned a where that is wrong: .*must be an object of fields/,
      undefinedValue: /the read rule of undefinedValue returned a where that is wrong: .*must be a text, got undefined/,
    };
    for (const [slug, reason] of Object.entries(wrong)) {
      const id = await create(slug, { name: 'x' });
      for (const path of [`/api/collections/${slug}`, `/api/collections/${slug}/${id}`]) {
        const { status, body, headers } = await call('GET', path, undefined, as('ann'));
        const bare = {
          statusCode: 500,
          error: 'Internal Server Error',
          code: 'internal',
          message: 'An internal server error occurred',
        };
        assert.deepEqual([status, body], [500, bare], path);
        const requestId = headers.get('x-request-id');
        const line = await eventually(() =>
          logLines(service).find((one) => one.requestId === requestId && one.level === 50),
        );
        assert.match(line.err.message, reason);
      }
    }
  });
});
