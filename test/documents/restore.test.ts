import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { startHere, useServiceHere } from '../helpers/embedded.ts';
import { assertRecorded } from '../helpers/recorded.ts';
import { type Answer, apiKey } from '../helpers/service.ts';
import { errorsOf, recordedEvents } from '../helpers/shared.ts';

const config = `export default {
  bcryptCost: 4,
  rateLimit: false,
  audit: ({ user, apiKey, req }) => apiKey !== null || req.headers['x-auditor'] === 'yes',
  collections: [
    {
      slug: 'posts',
      fields: [
        { name: 'title', type: 'text', maxLength: 10 },
        { name: 'code', type: 'text', unique: true },
        { name: 'n', type: 'number' },
        { name: 'other', type: 'relationship', relationTo: 'posts' },
        { name: 'others', type: 'relationship', relationTo: 'posts', hasMany: true },
        { name: 'stamp', type: 'text' },
      ],
      hooks: { beforeChange: ({ data, operation }) => ({ ...data, stamp: operation + ' ' + Object.keys(data).sort() }) },
    },
    {
      slug: 'open',
      history: 'public',
      access: { read: ({ doc }) => doc?.title !== 'secret', update: () => true, create: () => true, delete: () => true },
      fields: [
        { name: 'title', type: 'text' },
        { name: 'code', type: 'text', unique: true },
        { name: 'fixed', type: 'text', access: { update: () => false } },
        { name: 'hidden', type: 'text', unique: true, access: { read: () => false } },
        { name: 'kind', type: 'select', options: ['a', 'Numbat'], access: { read: () => false } },
        { name: 'sealed', type: 'text', access: { read: () => false, update: () => false } },
      ],
    },
    { slug: 'wheres', history: 'public', access: { read: () => ({ title: { equals: 'shown' } }), update: () => true }, fields: [{ name: 'title', type: 'text' }] },
    { slug: 'files', upload: true, fields: [{ name: 'alt', type: 'text' }] },
    { slug: 'people', auth: { useAPIKey: true }, fields: [] },
  ],
  globals: [{ slug: 'site', fields: [{ name: 'name', type: 'text' }, { name: 'theme', type: 'text', defaultValue: 'light' }] }],
}`;
const service = useServiceHere(config);

const at = (slug: string, id: string) => `/api/collections/${slug}/${id}`;
const restore = (slug: string, id: string, body: object, headers: Record<string, string> = {}, query = '') =>
  service.call('POST', `${at(slug, id)}/restore${query}`, body, { headers });
const dryRun = (slug: string, id: string, body: object) => restore(slug, id, body, {}, '?dryRun=true');

async function history(slug: string, ...versions: object[]): Promise<string> {
  const [first, ...others] = versions;
  const { body, status } = await service.call('POST', `/api/collections/${slug}`, first);
  assert.equal(status, 201, JSON.stringify(body));
  for (const version of others) assert.equal((await service.call('PATCH', at(slug, body.id), version)).status, 200);
  return body.id;
}

const anonymous = (method: string, path: string, body?: object, headers = {}) =>
  service.call(method, path, body, { key: null, headers });

describe('Restoring a document', () => {
  it('appends an event that names its source, and makes the fields what they were', async () => {
    const id = await history('posts', { title: 'a', n: 1 }, { title: 'b' }, { n: 2, title: 'c' });
    const before = (await service.call('GET', at('posts', id))).body;
    const [first] = recordedEvents(service.data, `posts/${id}`);
    const { status, body, headers } = await assertRecorded(
      service,
      () => restore('posts', id, { version: 1 }, { 'x-change-reason': 'better' }),
      (answer) => [
        {
          type: 'document.restored',
          stream: `posts/${id}`,
          data: { source: { version: 1, position: first?.position }, document: answer.body },
        },
      ],
    );
    assert.equal(status, 200);
    assert.deepEqual(body, { ...before, title: 'a', n: 1, stamp: 'update n,stamp,title', updatedAt: body.updatedAt });
    assert.ok(body.updatedAt > before.updatedAt);
    assert.match(headers.get('etag') ?? '', /^"4-/);
    assert.deepEqual((await service.call('GET', at('posts', id))).body, body);
  });

  it('takes a position of the log too, and records nothing if nothing differs', async () => {
    const id = await history('open', { title: 'a' }, { title: 'b' });
    const [, second] = recordedEvents(service.data, `open/${id}`);
    const same = () => restore('open', id, { position: Number(second?.position) });
    const { status, headers } = await assertRecorded(service, same, []);
    assert.equal(status, 200);
    assert.match(headers.get('etag') ?? '', /^"2-/);
    const first = await restore('open', id, { position: Number(second?.position) - 1 });
    assert.deepEqual([first.status, first.body.title], [200, 'a']);
  });

  it('brings a deleted one back under its id, with what it was created', async () => {
    const id = await history('posts', { title: 'a', code: 'back' }, { title: 'b' });
    const { body: was } = await service.call('DELETE', at('posts', id));
    const dry = await assertRecorded(service, () => dryRun('posts', id, { version: 2 }), []);
    assert.deepEqual(
      dry.body.diff.find(({ field }: { field: string }) => field === 'title'),
      {
        field: 'title',
        before: null,
        after: 'b',
      },
    );
    const { status, body } = await restore('posts', id, { version: 2 });
    assert.deepEqual([status, body.id, body.title, body.createdAt], [200, id, 'b', was.createdAt]);
    assert.ok(body.updatedAt > was.updatedAt);
    assert.match(body.stamp, /^create/);
    assert.equal((await service.call('POST', '/api/collections/posts', { code: 'back' })).status, 409);
    assert.equal((await service.call('PATCH', at('posts', id), { title: 'c' })).status, 200);
    assert.deepEqual(
      recordedEvents(service.data, `posts/${id}`).map(({ type, version }) => `${version} ${type}`),
      ['1 document.created', '2 document.updated', '3 document.deleted', '4 document.restored', '5 document.updated'],
    );
    assert.equal((await restore('posts', id, { version: 3 })).status, 400);
  });

  it('is 409 naming who has its unique value by now', async () => {
    const id = await history('posts', { code: 'mine' }, { code: 'other' });
    const rival = await history('posts', { code: 'mine' });
    const refused = await restore('posts', id, { version: 1 });
    assert.equal(refused.status, 409);
    assert.deepEqual(errorsOf(refused), { code: `code is taken by the document ${rival}` });
    assert.deepEqual(refused.body.conflicts, [{ field: 'code', id: rival }]);
    assert.deepEqual((await dryRun('posts', id, { version: 1 })).body.conflicts, [{ field: 'code', id: rival }]);
    // A document that the caller may not read is only reported to exist.
    const hidden = await history('open', { code: 'x' }, { code: 'y' });
    await history('open', { code: 'x', title: 'secret' });
    const blind = await anonymous('POST', `${at('open', hidden)}/restore`, { version: 1 });
    assert.deepEqual([blind.status, blind.body.conflicts], [409, [{ field: 'code' }]]);
  });

  it('tells nothing of fields that the caller may not read', async () => {
    const id = await history('open', { hidden: 'Quoll' }, { hidden: 'Bilby' });
    await history('open', { hidden: 'Quoll' });
    const path = `${at('open', id)}/restore`;
    const refused = await anonymous('POST', path, { version: 1 });
    assert.deepEqual([refused.status, refused.body.conflicts], [409, [{ field: 'hidden' }]]);
    const { body } = await anonymous('POST', `${path}?dryRun=true`, { version: 1 });
    assert.deepEqual([body.diff, body.conflicts], [[], [{ field: 'hidden' }]]);
    assert.doesNotMatch(JSON.stringify([refused.body, body]), /Quoll|Bilby/);
  });

  it('tells with dryRun what would be different, and does nothing', async () => {
    const gone = await history('posts', {});
    const id = await history(
      'posts',
      { title: 'a', other: gone, others: [gone] },
      { title: 'b', other: null, others: [] },
    );
    await service.call('DELETE', at('posts', gone));
    const { status, body } = await assertRecorded(service, () => dryRun('posts', id, { version: 1 }), []);
    const [first] = recordedEvents(service.data, `posts/${id}`);
    assert.equal(status, 200);
    const fields = body.diff.filter(({ field }: { field: string }) => field !== 'stamp');
    assert.deepEqual(
      { ...body, diff: fields },
      {
        source: { version: 1, position: first?.position },
        diff: [
          { field: 'title', before: 'b', after: 'a' },
          { field: 'other', before: null, after: gone },
          { field: 'others', before: [], after: [gone] },
        ],
        dangling: [
          { field: 'other', id: gone },
          { field: 'others.0', id: gone },
        ],
        conflicts: [],
      },
    );
    const restored = await restore('posts', id, { version: 1 });
    assert.deepEqual([restored.status, restored.body.other, restored.body.others], [200, gone, [gone]]);
    assert.equal((await restore('posts', id, { version: 1 }, { 'idempotency-key': 'k' }, '?dryRun=true')).status, 400);
  });

  it('needs the right to change it, and the right to see what it was', async () => {
    const id = await history('open', { title: 'a' }, { title: 'b' });
    const path = `${at('open', id)}/restore`;
    assert.equal((await anonymous('POST', path, { version: 1 })).status, 200);
    const secret = await history('open', { title: 'secret' }, { title: 'b' });
    assert.equal((await anonymous('POST', `${at('open', secret)}/restore`, { version: 1 })).status, 403);
    const fixed = await history('open', { fixed: 'a' }, { fixed: 'b' });
    const refused = await anonymous('POST', `${at('open', fixed)}/restore`, { version: 1 });
    assert.deepEqual([refused.status, Object.keys(errorsOf(refused))], [403, ['fixed']]);
    const sealed = await history('open', { fixed: 'a', sealed: 'a' }, { sealed: 'b' }, { fixed: 'b' });
    for (const [version, message, fields] of [
      [2, 'you may not update fixed', ['fixed']],
      [1, 'you may not update fixed, a field that you may not read', ['fixed', '']],
    ] as const) {
      const answer = await anonymous('POST', `${at('open', sealed)}/restore`, { version });
      assert.deepEqual([answer.status, answer.body.message, Object.keys(errorsOf(answer))], [403, message, fields]);
    }
    // A condition is also applied to the former version.
    const where = await history('wheres', { title: 'hidden' }, { title: 'shown' });
    assert.equal((await anonymous('POST', `${at('wheres', where)}/restore?dryRun=true`, { version: 1 })).status, 403);
    assert.equal((await anonymous('POST', `${at('wheres', where)}/restore?dryRun=true`, { version: 2 })).status, 200);
    // Only auditors may know that a document existed.
    await service.call('DELETE', at('open', id));
    const [known, unknown] = [id, '01a1fc16-69a0-7000-82bd-639efa5b80fa'];
    const answers = await Promise.all(
      [known, unknown].map((one) => anonymous('POST', `${at('open', one)}/restore`, { version: 1 })),
    );
    const [one, other] = answers as [Answer, Answer];
    assert.deepEqual([one.status, one.body.error], [other.status, other.body.error]);
    assert.equal((await anonymous('POST', path, { version: 1 }, { 'x-auditor': 'yes' })).status, 200);
  });

  it('is 400 for an invalid version, and for values that no longer fit', async () => {
    const id = await history('posts', { title: 'a' });
    const wrong: [object, string, string][] = [
      [{}, 'version', 'version or position, exactly one of them, must say what to restore'],
      [{ version: 1, position: 1 }, 'version', 'version or position, exactly one of them, must say what to restore'],
      [{ versoin: 1 }, 'versoin', 'versoin is not a field; did you mean "version"?'],
      [{ version: '1' }, 'version', 'version must be a whole number from 1, got "1"'],
      [{ version: 0 }, 'version', 'version must be a whole number from 1, got 0'],
      [{ version: 9 }, 'version', 'version must be at most 1, the newest version, got 9'],
      [{ position: 1 }, 'position', 'position must be one at which there was something: at 1 there was nothing yet'],
    ];
    for (const [body, field, message] of wrong) {
      const answer = await restore('posts', id, body);
      assert.deepEqual([answer.status, errorsOf(answer)], [400, { [field]: message }], JSON.stringify(body));
    }
    assert.equal((await restore('posts', id, { position: 1e9 })).status, 400);
    assert.equal((await restore('posts', id, { version: 1 }, {}, '?dryRun=maybe')).status, 400);
    assert.match(errorsOf(await restore('posts', id, { version: 1, dryRun: true })).dryRun ?? '', /: \?dryRun=true$/);
    assert.equal((await service.call('POST', `${at('posts', id)}/restore`, '[]')).status, 400);
    assert.equal((await restore('posts', 'none', { version: 1 })).status, 404);
  });

  it('minds If-Match and Idempotency-Key', async () => {
    const id = await history('open', { title: 'a' }, { title: 'b' });
    const stale = await restore('open', id, { version: 1 }, { 'if-match': '"1-x"' });
    assert.deepEqual([stale.status, stale.body.version], [412, 2]);
    const key = { 'if-match': '"2-x"', 'idempotency-key': 'restore' };
    const send = () => restore('open', id, { version: 1 }, key);
    const first = await assertRecorded(service, send, [`document.restored open/${id}`]);
    await service.call('PATCH', at('open', id), { title: 'c' });
    const again = await assertRecorded(service, send, []);
    assert.deepEqual([again.status, again.body, again.headers.get('idempotent-replayed')], [200, first.body, 'true']);
    assert.equal((await restore('open', id, { version: 2 }, key)).status, 422);
  });

  it('works for globals', async () => {
    const path = '/api/globals/site';
    assert.equal((await service.call('POST', `${path}/restore`, { version: 1 })).status, 409);
    const { body: first } = await service.call('PATCH', path, { name: 'a' });
    await service.call('PATCH', path, { name: 'b', theme: 'dark' });
    const dry = await service.call('POST', `${path}/restore?dryRun=true`, { version: 1 });
    assert.deepEqual(
      dry.body.diff.map(({ field }: { field: string }) => field),
      ['name', 'theme'],
    );
    const { status, body } = await assertRecorded(
      service,
      () => service.call('POST', `${path}/restore`, { version: 1 }),
      ['global.restored globals/site'],
    );
    assert.deepEqual([status, body], [200, { ...first, updatedAt: body.updatedAt }]);
    assert.deepEqual((await service.call('GET', path)).body, body);
  });

  it('gives a file back its bytes', async () => {
    const send = async (method: string, path: string, text: string) => {
      const form = new FormData();
      form.set('file', new Blob([text]), `${text}.txt`);
      const response = await fetch(service.url + path, { method, body: form, headers: { 'x-api-key': apiKey } });
      return (await response.json()) as { id: string; url: string };
    };
    const first = await send('POST', '/api/collections/files', 'one');
    await send('PATCH', at('files', first.id), 'two');
    const { status, body } = await assertRecorded(service, () => restore('files', first.id, { version: 1 }), [
      `document.restored files/${first.id}`,
    ]);
    assert.deepEqual([status, body], [200, { ...first, updatedAt: body.updatedAt }]);
    const file = await fetch(service.url + body.url, { headers: { 'x-api-key': apiKey } });
    assert.equal(await file.text(), 'one');
    await service.call('DELETE', at('files', first.id));
    assert.equal((await restore('files', first.id, { version: 2 })).body.filename, 'two.txt');
  });

  it('gives an account back without its password', async () => {
    const login = { email: 'ada@example.com', password: 'correct horse' };
    const { body } = await service.call('POST', '/api/collections/people', login);
    const logIn = () => anonymous('POST', '/api/collections/people/login', login);
    assert.equal((await logIn()).status, 200);
    await service.call('DELETE', at('people', body.id));
    const back = () => restore('people', body.id, { version: 1 });
    assert.equal((await assertRecorded(service, back, [`document.restored people/${body.id}`])).status, 200);
    assert.equal((await logIn()).status, 401);
    assert.equal((await service.call('PATCH', at('people', body.id), { password: login.password })).status, 200);
    assert.equal((await logIn()).status, 200);
  });

  it('gives back what a model that keeps every state has, whatever happened in between', async () => {
    const step = fc.oneof(
      fc.record({ title: fc.constantFrom('a', 'b', null), n: fc.integer({ min: 0, max: 3 }) }),
      fc.constant('delete' as const),
      fc.nat({ max: 12 }),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 3, maxLength: 12 }), async (steps) => {
        const id = await history('open', { title: 'start' });
        type State = { title: string | null } | null;
        const states: State[] = [{ title: 'start' }];
        for (const one of steps) {
          const now = states.at(-1) as State;
          if (one === 'delete') {
            assert.equal((await service.call('DELETE', at('open', id))).status, now ? 200 : 404);
            if (now) states.push(null);
          } else if (typeof one === 'number') {
            const wanted = states[one];
            const { status, body } = await restore('open', id, { version: one + 1 });
            assert.equal(status, wanted ? 200 : 400);
            if (!wanted) continue;
            assert.equal(body.title, wanted.title);
            if (wanted.title !== now?.title || !now) states.push(wanted);
          } else {
            const { status } = await service.call('PATCH', at('open', id), { title: one.title });
            assert.equal(status, now ? 200 : 404);
            if (now && now.title !== one.title) states.push({ title: one.title });
          }
        }
        assert.equal(recordedEvents(service.data, `open/${id}`).length, states.length);
        const { body } = await service.call('GET', at('open', id));
        assert.equal(body.title, states.at(-1) === null ? undefined : states.at(-1)?.title);
      }),
      { numRuns: 15 },
    );
  });

  it('does not show an old value that no longer fits if the caller may not read the field', async (t) => {
    const first = await startHere(t, config);
    const { id } = (await first.call('POST', '/api/collections/open', { kind: 'Numbat' })).body;
    await first.call('PATCH', at('open', id), { kind: 'a' });
    await first.stop();
    const next = await startHere(t, config.replace(", 'Numbat'", ''), { data: first.data });
    const refused = await next.call('POST', `${at('open', id)}/restore`, { version: 1 }, { key: null });
    assert.deepEqual([refused.status, errorsOf(refused)], [400, { kind: 'kind was something that it may not be now' }]);
    const told = await next.call('POST', `${at('open', id)}/restore`, { version: 1 });
    assert.match(errorsOf(told).kind ?? '', /got "Numbat"/);
  });
});
