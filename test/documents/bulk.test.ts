import assert from 'node:assert/strict';
import { join } from 'node:path';
import { before, describe, it } from 'node:test';
import Database from 'better-sqlite3';
import type { Config } from '../../config/define.ts';
import type { AccessArgs, Hook } from '../../config/model.ts';
import type { JsonObject } from '../../config/schema.ts';
import type { Header } from '../../events/facts/envelope.ts';
import { useServiceHere } from '../helpers/embedded.ts';
import { assertRecorded } from '../helpers/recorded.ts';
import type { Answer, CallOptions } from '../helpers/service.ts';
import { errorsOf } from '../helpers/shared.ts';

/** The hooks that ran, in their order, as they tell it. */
const ran: string[] = [];
const who = (name: string): CallOptions => ({ key: null, headers: { 'x-who': name } });
const is = ({ req }: AccessArgs, ...names: string[]) => names.includes(String(req?.headers['x-who']));
const blind = (args: AccessArgs) => (is(args, 'blind') ? false : { title: { not_equals: 'hidden' } });
const isOpen = ({ doc }: AccessArgs) => doc?.title !== 'locked';
const note = (what: string, result?: object) => {
  ran.push(what);
  return result as JsonObject;
};
const change: Hook = ({ data, operation }) => {
  if (data.title === 'teapot') throw Object.assign(new Error('no tea'), { statusCode: 418 });
  return note(`before ${operation} ${data.title}`, { ...data, title: `${data.title}!` });
};

const service = useServiceHere({
  bcryptCost: 4,
  rateLimit: false,
  limits: { body: 20_000, bulkBody: 60_000 },
  collections: [
    {
      slug: 'posts',
      fields: [
        { name: 'title', type: 'text', required: true },
        { name: 'code', type: 'text', unique: true },
        { name: 'meta', type: 'object', fields: [{ name: 'slug', type: 'text', unique: true }] },
        { name: 'time', type: 'time', unique: true },
        { name: 'next', type: 'relationship', relationTo: 'posts' },
        { name: 'n', type: 'number', defaultValue: 7 },
      ],
    },
    {
      slug: 'ruled',
      access: {
        read: blind,
        create: (args) => is(args, 'editor') && args.data?.title !== 'no',
        update: (args) => is(args, 'editor', 'blind') && isOpen(args),
        delete: (args) => is(args, 'editor') && isOpen(args),
      },
      fields: [
        { name: 'title', type: 'text' },
        { name: 'code', type: 'text', unique: true },
        { name: 'own', type: 'text', unique: true, access: { read: () => false } },
        {
          name: 'rank',
          type: 'number',
          access: { create: ({ data }) => data?.title === 'ranked', update: () => false },
        },
      ],
    },
    {
      slug: 'hooked',
      fields: [
        { name: 'title', type: 'text' },
        { name: 'code', type: 'text', unique: true },
      ],
      hooks: {
        beforeChange: change,
        afterChange: ({ data }) => note(`after ${data.title}`),
        beforeDelete: ({ doc }) => note(`before delete ${doc?.title}`),
        afterDelete: ({ data }) => note(`after delete ${data.title}`),
      },
    },
    { slug: 'reasoned', requireReason: true, fields: [{ name: 'title', type: 'text' }] },
    { slug: 'media', upload: true, fields: [] },
    { slug: 'users', auth: { useAPIKey: true }, fields: [{ name: 'name', type: 'text' }] },
  ],
} satisfies Config);

const dryRun = '?dryRun=true';
const bulk = (slug: string, body: object, options?: CallOptions, query = '') =>
  service.call('POST', `/api/collections/${slug}/bulk${query}`, body, options);
const list = async (slug: string) =>
  (await service.call('GET', `/api/collections/${slug}?limit=100&sort=createdAt`)).body;
const titles = async (slug: string) => (await list(slug)).docs.map(({ title }: { title: string }) => title);

/** A user whom the rules take for an editor. */
let editor: CallOptions = {};
before(async () => {
  const credentials = { email: 'ada@example.org', password: 'correct horse battery' };
  assert.equal((await service.call('POST', '/api/collections/users', credentials)).status, 201);
  const { body } = await service.call('POST', '/api/collections/users/login', credentials);
  editor = { key: null, headers: { authorization: `Bearer ${body.token}`, 'x-who': 'editor' } };
});

/** The headers and contexts of the events of a bulk call. */
function eventsOf(batch: string): (Header & { context: { reason?: string; rule?: string } })[] {
  const db = new Database(join(service.data, 'log.db'), { readonly: true });
  const rows = db
    .prepare<[string], [string, string]>(
      'SELECT header, body FROM headers JOIN payloads USING (position) WHERE instr(header, ?) > 0 ORDER BY position',
    )
    .raw()
    .all(`"batch":"${batch}"`);
  db.close();
  return rows.map(([header, body]) => ({ ...JSON.parse(header), context: JSON.parse(body).context }));
}

let count = 0;
/** A text that no other test has. */
function fresh(): string {
  count += 1;
  return `c${count}`;
}

const tell = ({ status, body }: Answer) => [status, body.errors ?? body.message];

describe('GET /api/audit/events?batch=', () => {
  it('lists the events of a bulk call, in pages, and with other filters', async () => {
    const { body } = await bulk('posts', { docs: ['a', 'b', 'c'].map((title) => ({ title })) });
    await bulk('posts', { docs: [{ title: 'd' }] });
    const ids = body.results.map(({ id }: { id: string }) => id);
    const listed = async (query = '') => {
      const answer = await service.call('GET', `/api/audit/events?batch=${body.batch}${query}`);
      assert.equal(answer.status, 200);
      const streams = answer.body.docs.map(({ header }: { header: Header }) => header.stream.replace('posts/', ''));
      return { streams, next: answer.body.next };
    };
    assert.deepEqual(await listed(), { streams: ids, next: null });
    const { streams, next } = await listed('&limit=2');
    assert.deepEqual(streams, ids.slice(0, 2));
    assert.deepEqual(await listed(`&next=${next}`), { streams: ids.slice(2), next: null });
    assert.deepEqual(await listed(`&stream=posts/${ids[1]}`), { streams: [ids[1]], next: null });
    assert.deepEqual(await listed('&type=document.deleted'), { streams: [], next: null });
    const { body: none } = await service.call('GET', `/api/audit/events?batch=${ids[0]}`);
    assert.deepEqual([none.docs, none.next], [[], null]);
    const { status } = await service.call('GET', '/api/audit/events?batch=1');
    assert.equal(status, 400);
  });
});

describe('POST …/bulk', () => {
  it('creates all documents in their order, in one append, with one batch in each event', async () => {
    const docs = ['a', 'b', 'c'].map((title) => ({ title, code: fresh() }));
    const { status, body } = await assertRecorded(
      service,
      () => bulk('posts', { docs }, { headers: { 'x-change-reason': 'a load' } }),
      ['document.created', 'document.created', 'document.created'],
    );
    assert.equal(status, 201);
    assert.deepEqual(Object.keys(body), ['results', 'batch']);
    assert.deepEqual(
      body.results.map(({ index, version }: { index: number; version: number }) => [index, version]),
      [
        [0, 1],
        [1, 1],
        [2, 1],
      ],
    );
    const read = await Promise.all(
      body.results.map(({ id }: { id: string }) => service.call('GET', `/api/collections/posts/${id}`)),
    );
    assert.deepEqual(
      read.map((answer) => [answer.body.title, answer.body.n]),
      [
        ['a', 7],
        ['b', 7],
        ['c', 7],
      ],
    );
    const events = eventsOf(body.batch);
    assert.deepEqual(
      events.map(({ stream }) => stream),
      body.results.map(({ id }: { id: string }) => `posts/${id}`),
    );
    assert.deepEqual(new Set(events.map(({ recordedAt, correlationId }) => recordedAt + correlationId)).size, 1);
    assert.deepEqual(
      new Set(events.map(({ context }) => `${context.reason} ${context.rule}`)),
      new Set(['a load apiKey']),
    );
  });

  it('tells with dryRun what would be, runs no hook and records nothing', async () => {
    const [code, other] = [fresh(), fresh()];
    const [a] = (await bulk('posts', { docs: [{ title: 'a', code }] })).body.results;
    ran.length = 0;
    const docs = [{ title: 'a' }, { title: 'b' }];
    const dry = await assertRecorded(service, () => bulk('hooked', { docs }, {}, dryRun), []);
    assert.deepEqual([dry.status, dry.body.batch, ran], [200, null, []]);
    const outcomes = ({ body }: Answer) =>
      body.results.map(({ version, outcome }: { version: number; outcome: string }) => [version, outcome]);
    assert.deepEqual(outcomes(dry), [
      [1, 'created'],
      [1, 'created'],
    ]);
    const upsert = {
      docs: [
        { code, title: 'b' },
        { code: other, title: 'c' },
      ],
      upsertBy: 'code',
    };
    const upserted = await assertRecorded(service, () => bulk('posts', upsert, {}, dryRun), []);
    assert.equal(upserted.body.results[0].id, a.id);
    assert.deepEqual(outcomes(upserted), [
      [2, 'updated'],
      [1, 'created'],
    ]);
    assert.equal((await bulk('posts', { docs: [{ title: 'c', code }] }, {}, dryRun)).status, 409);
    assert.equal((await bulk('posts', { docs: [{ title: 5 }] }, {}, dryRun)).status, 400);
    for (const body of [{ docs }, upsert]) {
      const keyed = await bulk('posts', body, { headers: { 'idempotency-key': fresh() } }, dryRun);
      assert.match(errorsOf(keyed)['idempotency-key'] ?? '', /does not go with dryRun/);
    }
    const misplaced = await assertRecorded(service, () => bulk('posts', { docs, dryRun: true }), []);
    assert.deepEqual(errorsOf(misplaced), {
      dryRun: 'dryRun belongs in the query, not in the body: ?dryRun=true',
    });
  });

  it('answers 400 naming the fields of each wrong document, and records nothing', async () => {
    const docs = [{ title: 'right' }, { title: 1 }, 'x', { titel: 'x' }, { title: 'x', next: 'nothing' }];
    const answer = await assertRecorded(service, () => bulk('posts', { docs }), []);
    assert.deepEqual(
      [answer.status, errorsOf(answer)],
      [
        400,
        {
          'docs.1.title': 'docs.1.title must be a text, got 1',
          'docs.2': 'docs.2 must be a JSON object',
          'docs.3.title': 'docs.3.title is required',
          'docs.3.titel': 'docs.3.titel is not a field; did you mean "title"?',
          'docs.4.next': 'docs.4.next must be the id of a document of posts, got "nothing"',
        },
      ],
    );
  });

  it('answers 400 for a body that is otherwise, and 413 for one that is too large', async () => {
    const many = Array.from({ length: 1001 }, () => ({}));
    const cases: [body: object, field: string, message: RegExp][] = [
      [{}, 'docs', /^docs is required$/],
      [{ docs: { title: 'x' } }, 'docs', /^docs must be a list, got/],
      [{ documents: [] }, 'documents', /is not a field; .*allowed: "docs", "upsertBy"$/],
      [{ docs: [], upsertby: 'code' }, 'upsertby', /did you mean "upsertBy"/],
      [{ docs: [], upsertBy: 3 }, 'upsertBy', /must be the name of a unique field, got 3/],
      [{ docs: many }, 'docs', /^docs must hold at most 1000, got 1001$/],
    ];
    for (const [body, field, message] of cases) {
      const answer = await bulk('posts', body);
      assert.equal(answer.status, 400);
      assert.match(errorsOf(answer)[field] ?? JSON.stringify(answer.body), message);
    }
    assert.deepEqual(tell(await bulk('posts', { docs: [{ title: 'x'.repeat(60_000) }] })), [
      413,
      'the body must be at most 60000 bytes',
    ]);
    // Larger than the body of a single write.
    assert.equal((await bulk('posts', { docs: [{ title: 'x'.repeat(30_000) }] })).status, 201);
  });

  it('answers 409 naming the unique values that are taken, also by others of the call', async () => {
    const [one, two, three] = [fresh(), fresh(), fresh()];
    assert.equal((await bulk('posts', { docs: [{ title: 'x', code: one, meta: { slug: two } }] })).status, 201);
    const taken = [{ title: 'x' }, { title: 'x', code: one }, { title: 'x', code: three, meta: { slug: two } }];
    assert.deepEqual(await errorsAt(409, { docs: taken }), {
      'docs.1.code': 'docs.1.code is taken by another document',
      'docs.2.meta.slug': 'docs.2.meta.slug is taken by another document',
    });
    const twice = [
      { title: 'x', time: '10:00' },
      { title: 'x', code: three },
      { title: 'x', code: three, time: '10:00:00' },
    ];
    assert.deepEqual(await errorsAt(409, { docs: twice }), {
      'docs.2.code': 'docs.2.code is taken by docs.1 in this call',
      'docs.2.time': 'docs.2.time is taken by docs.0 in this call',
    });
    assert.deepEqual(await errorsAt(409, { docs: [...taken, { title: 'x', code: three }] }), {
      'docs.1.code': 'docs.1.code is taken by another document',
      'docs.2.meta.slug': 'docs.2.meta.slug is taken by another document',
      'docs.3.code': 'docs.3.code is taken by docs.2 in this call',
    });
  });

  async function errorsAt(status: number, body: object): Promise<unknown> {
    const answer = await assertRecorded(service, () => bulk('posts', body), []);
    assert.equal(answer.status, status);
    return errorsOf(answer);
  }

  it('asks the rules about each document, and refuses all if one is refused, naming the first 20', async () => {
    const docs = Array.from({ length: 30 }, (_, index) => ({ title: index < 5 ? 'yes' : 'no' }));
    const answer = await assertRecorded(service, () => bulk('ruled', { docs }, who('editor')), []);
    // A rule could let a caller without a credential in: it needs one to be told more.
    assert.equal(answer.status, 401);
    const refused = await assertRecorded(service, () => bulk('ruled', { docs }, editor), []);
    assert.equal(refused.status, 403);
    assert.match(
      refused.body.message,
      /^you may not create 25 of 30 documents: docs\.5, docs\.6, .*docs\.24, and 5 more$/,
    );
    assert.equal(refused.body.errors.length, 20);
    assert.deepEqual(refused.body.errors[0], {
      field: 'docs.5',
      in: 'body',
      code: 'forbidden_document',
      message: 'you may not create docs.5',
    });

    const ranked = [
      { title: 'ranked', rank: 1 },
      { title: 'x', rank: 1 },
    ];
    assert.deepEqual(tell(await bulk('ruled', { docs: ranked }, editor)), [
      403,
      [{ field: 'docs.1.rank', in: 'body', code: 'forbidden_field', message: 'docs.1: you may not create rank' }],
    ]);
    const { status, body } = await bulk('ruled', { docs: ranked.slice(0, 1) }, editor);
    assert.equal(status, 201);
    assert.equal(eventsOf(body.batch)[0]?.context.rule, 'ruled.create');
    assert.equal(
      (await bulk('ruled', { docs: [] }, { ...editor, headers: { ...editor.headers, 'x-who': 'x' } })).status,
      403,
    );
  });

  it('runs the hooks of each document in their order, and none if one document is wrong', async () => {
    ran.length = 0;
    assert.equal((await bulk('hooked', { docs: [{ title: 'a' }, { title: 3 }] })).status, 400);
    assert.deepEqual(ran, []);
    const docs = [{ title: 'a' }, { title: 'b' }];
    assert.equal((await bulk('hooked', { docs })).status, 201);
    assert.deepEqual(ran, ['before create a', 'before create b', 'after a!', 'after b!']);
    assert.deepEqual(await titles('hooked'), ['a!', 'b!']);
    const refused = await assertRecorded(service, () => bulk('hooked', { docs: [...docs, { title: 'teapot' }] }), []);
    assert.deepEqual([refused.status, refused.body.message], [418, 'docs.2: no tea']);
  });

  it('needs one reason if the collection does, and keeps it with each document', async () => {
    const docs = [{ title: 'a' }, { title: 'b' }];
    const answer = await bulk('reasoned', { docs });
    assert.equal(answer.status, 400);
    assert.match(errorsOf(answer)['x-change-reason'] ?? '', /is required/);
    const { body } = await bulk('reasoned', { docs }, { headers: { 'x-change-reason': 'why' } });
    assert.deepEqual(
      eventsOf(body.batch).map(({ context }) => context.reason),
      ['why', 'why'],
    );
  });

  it('answers 400 for If-Match, for collections of files, and for passwords', async () => {
    const docs = [{ title: 'x' }];
    const matched = await bulk('posts', { docs }, { headers: { 'if-match': '*' } });
    assert.match(errorsOf(matched)['if-match'] ?? '', /^if-match has no place here/);
    const keyed = await service.call('DELETE', '/api/keys/x', undefined, { headers: { 'idempotency-key': 'x' } });
    assert.equal(
      errorsOf(keyed)['idempotency-key'],
      'idempotency-key has no place here: it goes with PATCH and DELETE of documents, PATCH of globals, and each POST with a ' +
        'credential but logout and refresh-token',
    );
    for (const path of ['bulk', 'bulk/update', 'bulk/delete']) {
      const { status, body } = await service.call('POST', `/api/collections/media/${path}`, { docs: [] });
      assert.deepEqual([status, body.message], [400, 'media holds files, which are written one by one']);
    }
    const users = [{ email: 'x@example.org' }, { email: 'y@example.org', password: 'correct horse battery' }];
    const withPassword = await bulk('users', { docs: users });
    assert.deepEqual(
      [withPassword.status, errorsOf(withPassword)],
      [400, { 'docs.1.password': 'docs.1.password may not be set for many at once' }],
    );
    assert.equal((await bulk('users', { docs: users.slice(0, 1) })).status, 201);
  });

  it('records nothing for no documents', async () => {
    const { status, body } = await assertRecorded(service, () => bulk('posts', { docs: [] }), []);
    assert.deepEqual([status, body], [201, { results: [], batch: null }]);
  });

  it('is done once for each Idempotency-Key, and answered the same again', async () => {
    const options = { headers: { 'idempotency-key': fresh() } };
    const docs = [
      { title: 'a', code: fresh() },
      { title: 'b', code: fresh() },
    ];
    const [first, second] = await Promise.all([bulk('posts', { docs }, options), bulk('posts', { docs }, options)]);
    assert.deepEqual([first.status, second.status], [201, 201]);
    assert.deepEqual(second.body, first.body);
    assert.equal(eventsOf(first.body.batch).length, 2);
    const third = await assertRecorded(service, () => bulk('posts', { docs }, options), []);
    assert.deepEqual([third.body, third.headers.get('idempotent-replayed')], [first.body, 'true']);
    assert.equal((await bulk('posts', { docs: docs.slice(1) }, options)).status, 422);
  });

  it('is forgotten under its Idempotency-Key when one of its documents is erased', async () => {
    const options = { headers: { 'idempotency-key': fresh() } };
    const docs = [{ title: 'a' }, { title: 'b' }];
    const { body } = await bulk('posts', { docs }, options);
    const [, { id }] = body.results;
    await service.call('POST', '/api/audit/erasures', { collection: 'posts', id, reason: 'asked for' });
    const again = await bulk('posts', { docs }, options);
    assert.deepEqual([again.status, again.headers.get('idempotent-replayed')], [201, null]);
    assert.notEqual(again.body.batch, body.batch);
  });

  describe('with upsertBy', () => {
    it('creates, changes and leaves documents by a unique field', async () => {
      const [one, two, three] = [fresh(), fresh(), fresh()];
      const { body: made } = await bulk('posts', {
        docs: [
          { title: 'a', code: one },
          { title: 'b', code: two },
        ],
      });
      const options = { headers: { 'idempotency-key': fresh() } };
      const docs = [
        { title: 'c', code: three },
        { code: two, title: 'b' },
        { code: one, n: 8 },
      ];
      const upsert = () => bulk('posts', { docs, upsertBy: 'code' }, options);
      const { status, body } = await assertRecorded(service, upsert, ['document.created', 'document.updated']);
      assert.equal(status, 200);
      const [{ id: a }, { id: b }] = made.results;
      const [{ id: c }] = body.results;
      assert.deepEqual(body.results, [
        { index: 0, id: c, version: 1, outcome: 'created' },
        { index: 1, id: b, version: 1, outcome: 'unchanged' },
        { index: 2, id: a, version: 2, outcome: 'updated' },
      ]);
      assert.deepEqual(
        eventsOf(body.batch).map(({ type }) => type),
        ['document.created', 'document.updated'],
      );
      await service.call('PATCH', `/api/collections/posts/${b}`, { title: 'later', code: fresh() });
      await service.call('DELETE', `/api/collections/posts/${a}`);
      const again = await assertRecorded(service, upsert, []);
      assert.deepEqual([again.status, again.body], [200, body]);
    });

    it('answers a batch of null if nothing changes, and the same again', async () => {
      const docs = [{ title: 'a', code: fresh() }];
      const { body: made } = await bulk('posts', { docs });
      const options = { headers: { 'idempotency-key': fresh() } };
      for (let times = 0; times < 2; times += 1) {
        const { body } = await assertRecorded(service, () => bulk('posts', { docs, upsertBy: 'code' }, options), []);
        const [{ id }] = made.results;
        assert.deepEqual(body, { results: [{ index: 0, id, version: 1, outcome: 'unchanged' }], batch: null });
      }
    });

    it('finds values in the form that the log has them in', async () => {
      const { body: made } = await bulk('posts', { docs: [{ title: 'a', time: '11:30:00' }] });
      const { body } = await bulk('posts', { docs: [{ title: 'b', time: '11:30' }], upsertBy: 'time' });
      assert.deepEqual([body.results[0].id, body.results[0].outcome], [made.results[0].id, 'updated']);
      const slug = fresh();
      const { body: nested } = await bulk('posts', { docs: [{ title: 'a', meta: { slug } }], upsertBy: 'meta.slug' });
      const { body: found } = await bulk('posts', { docs: [{ title: 'b', meta: { slug } }], upsertBy: 'meta.slug' });
      assert.deepEqual([found.results[0].id, found.results[0].outcome], [nested.results[0].id, 'updated']);
      const users = [{ email: 'Grace@Example.org', name: 'Grace' }];
      const { body: user } = await bulk('users', { docs: users, upsertBy: 'email' });
      const { body: same } = await bulk('users', {
        docs: [{ email: ' grace@example.org', name: 'G' }],
        upsertBy: 'email',
      });
      assert.deepEqual([same.results[0].id, same.results[0].outcome], [user.results[0].id, 'updated']);
    });

    it('answers 400 for a field that is not unique or readable, and for missing or repeated values', async () => {
      const code = fresh();
      const of = async (slug: string, body: object, options?: CallOptions) => {
        const answer = await assertRecorded(service, () => bulk(slug, body, options), []);
        assert.equal(answer.status, 400, JSON.stringify(answer.body));
        return errorsOf(answer);
      };
      assert.deepEqual(await of('posts', { docs: [], upsertBy: 'title' }), {
        upsertBy: 'upsertBy must be one of "code", "meta.slug", "time", which are unique, got "title"',
      });
      assert.deepEqual(await of('ruled', { docs: [], upsertBy: 'own' }, editor), {
        upsertBy: 'upsertBy must be one of "code", which are unique, got "own"',
      });
      assert.deepEqual(await of('reasoned', { docs: [], upsertBy: 'title' }), {
        upsertBy: 'upsertBy must be a unique field, and there are none that you may read, got "title"',
      });
      const docs = [{ code }, { title: 'x' }, { code }, 'x', { code: 5 }, { code: null }];
      assert.deepEqual(await of('posts', { docs, upsertBy: 'code' }), {
        'docs.1.code': 'docs.1.code is required: documents are found by it',
        'docs.2.code': 'docs.2.code has the value of docs.0.code',
        'docs.3': 'docs.3 must be a JSON object',
        'docs.4.code': 'docs.4.code must be a text, got 5',
        'docs.5.code': 'docs.5.code is required: documents are found by it',
      });
    });

    it('answers 403 if a match may not be read, or not updated', async () => {
      const [hidden, locked] = [fresh(), fresh()];
      await bulk('ruled', {
        docs: [
          { title: 'hidden', code: hidden },
          { title: 'locked', code: locked },
        ],
      });
      const blind = { ...editor, headers: { ...editor.headers, 'x-who': 'blind' } };
      for (const [code, as, verb] of [
        [hidden, editor, 'update'],
        [locked, editor, 'update'],
        // A caller who may not create either gets the answer about a new value.
        [locked, blind, 'create'],
        [fresh(), blind, 'create'],
      ] as const) {
        const answer = await assertRecorded(
          service,
          () => bulk('ruled', { docs: [{ title: 'x', code }], upsertBy: 'code' }, as),
          [],
        );
        assert.deepEqual(tell(answer), [
          403,
          [{ field: 'docs.0', in: 'body', code: 'forbidden_document', message: `you may not ${verb} docs.0` }],
        ]);
      }
    });

    it('lets many calls for the same values change each document after the other', async () => {
      const codes = Array.from({ length: 20 }, fresh);
      const calls = Array.from({ length: 8 }, (_, n) =>
        bulk('posts', { docs: codes.map((code) => ({ title: 'x', code, n })), upsertBy: 'code' }),
      );
      const answers = await Promise.all(calls);
      assert.deepEqual(new Set(answers.map(({ status }) => status)), new Set([200]));
      const outcomes = answers.flatMap(({ body }) => body.results.map(({ outcome }: { outcome: string }) => outcome));
      assert.equal(outcomes.filter((outcome) => outcome === 'created').length, codes.length);
    });
  });
});

describe('POST …/bulk/update and …/bulk/delete', () => {
  const changed = (slug: string, body: object, options?: CallOptions, query = '') =>
    service.call('POST', `/api/collections/${slug}/bulk/update${query}`, body, options);
  const deleted = (slug: string, body: object, options?: CallOptions, query = '') =>
    service.call('POST', `/api/collections/${slug}/bulk/delete${query}`, body, options);
  const make = async (slug: string, docs: object[]): Promise<string[]> => {
    const { status, body } = await bulk(slug, { docs });
    assert.equal(status, 201, JSON.stringify(body));
    return body.results.map(({ id }: { id: string }) => id);
  };

  it('change and delete the documents with these ids', async () => {
    const code = fresh();
    const ids = await make('posts', [{ title: 'a', code }, { title: 'b' }, { title: 'c' }]);
    const options = { headers: { 'idempotency-key': fresh(), 'x-change-reason': 'tidy' } };
    const update = () => changed('posts', { ids, data: { title: 'b' } }, options);
    const { status, body } = await assertRecorded(service, update, ['document.updated', 'document.updated']);
    const [a, b, c] = ids;
    assert.deepEqual(
      [status, body],
      [
        200,
        {
          matched: 3,
          changed: 2,
          results: [
            { index: 0, id: a, version: 2, outcome: 'updated' },
            { index: 1, id: b, version: 1, outcome: 'unchanged' },
            { index: 2, id: c, version: 2, outcome: 'updated' },
          ],
          batch: body.batch,
        },
      ],
    );
    assert.deepEqual(
      eventsOf(body.batch).map(({ stream, context }) => [stream, context.reason, context.rule]),
      [
        [`posts/${a}`, 'tidy', 'apiKey'],
        [`posts/${c}`, 'tidy', 'apiKey'],
      ],
    );
    const removal = { headers: { 'idempotency-key': fresh() } };
    const remove = () => deleted('posts', { ids }, removal);
    const gone = await assertRecorded(service, remove, ['document.deleted', 'document.deleted', 'document.deleted']);
    assert.deepEqual(
      gone.body.results.map(({ version, outcome }: { version: number; outcome: string }) => [version, outcome]),
      [
        [3, 'deleted'],
        [2, 'deleted'],
        [3, 'deleted'],
      ],
    );
    // The value is free again.
    await make('posts', [{ title: 'x', code }]);
    for (const [again, first] of [
      [update, body],
      [remove, gone.body],
    ] as const) {
      const answer = await assertRecorded(service, again, []);
      assert.deepEqual([answer.body, answer.headers.get('idempotent-replayed')], [first, 'true']);
    }
  });

  it('change and delete the documents that meet a condition, today and when they are sent again', async () => {
    const n = 1000 + count;
    const [a, b] = await make('posts', [
      { title: 'a', n },
      { title: 'b', n },
    ]);
    await make('posts', [{ title: 'c', n: n + 1 }]);
    const where = { n: { equals: n } };
    const options = { headers: { 'idempotency-key': fresh() } };
    const update = () => changed('posts', { where, data: { title: 'b' } }, options);
    const { body } = await assertRecorded(service, update, [`document.updated posts/${a}`]);
    assert.deepEqual([body.matched, body.changed], [2, 1]);
    const gone = await assertRecorded(
      service,
      () => deleted('posts', { where }),
      (answer) => answer.body.results.map(({ id }: { id: string }) => `document.deleted posts/${id}`),
    );
    assert.deepEqual(new Set(gone.body.results.map(({ id }: { id: string }) => id)), new Set([a, b]));
    assert.deepEqual((await assertRecorded(service, update, [])).body, body);
    const { body: none } = await assertRecorded(service, () => deleted('posts', { where }), []);
    assert.deepEqual(none, { matched: 0, changed: 0, results: [], batch: null });
  });

  it('tell with dryRun what would be, run no hook and record nothing', async () => {
    const ids = await make('hooked', [{ title: 'a' }, { title: 'b' }]);
    ran.length = 0;
    const dry = await assertRecorded(service, () => changed('hooked', { ids, data: { title: 'b!' } }, {}, dryRun), []);
    const [a, b] = ids;
    assert.deepEqual(dry.body, {
      matched: 2,
      changed: 1,
      results: [
        { index: 0, id: a, version: 2, outcome: 'updated' },
        { index: 1, id: b, version: 1, outcome: 'unchanged' },
      ],
      batch: null,
    });
    const gone = await assertRecorded(service, () => deleted('hooked', { ids }, {}, dryRun), []);
    assert.deepEqual([gone.body.matched, gone.body.changed, gone.body.batch], [2, 2, null]);
    assert.deepEqual(ran, []);
    const twice = await changed('hooked', { ids, data: { code: fresh() } }, {}, dryRun);
    assert.equal(twice.status, 409);
    const keyed = await deleted('hooked', { ids }, { headers: { 'idempotency-key': fresh() } }, dryRun);
    assert.match(errorsOf(keyed)['idempotency-key'] ?? '', /does not go with dryRun/);
    assert.equal((await deleted('hooked', { ids })).status, 200);
    assert.deepEqual(ran, ['before delete a!', 'before delete b!', 'after delete a!', 'after delete b!']);
  });

  it('match only what the caller may read, and refuse all if one may not be changed', async () => {
    const rank = fresh();
    const [open, hidden, locked] = await make('ruled', [
      { title: `${rank} open` },
      { title: 'hidden' },
      { title: 'locked' },
    ]);
    const where = { id: { in: [open, hidden] } };
    const found = await changed('ruled', { where, data: { title: 'x' } }, editor, dryRun);
    assert.deepEqual(
      found.body.results.map(({ id }: { id: string }) => id),
      [open],
    );
    const all = { id: { in: [open, locked] } };
    for (const call of [
      () => changed('ruled', { where: all, data: { title: 'x' } }, editor),
      () => deleted('ruled', { where: all }, editor),
    ]) {
      const answer = await assertRecorded(service, call, []);
      assert.equal(answer.status, 403);
      assert.match(answer.body.message, new RegExp(`^you may not (update|delete) 1 of 2 documents: ${locked}$`));
      assert.deepEqual(
        answer.body.errors.map(({ field }: { field: string }) => field),
        ['where'],
      );
    }
    const byId = await deleted('ruled', { ids: [open, locked] }, editor);
    assert.deepEqual(tell(byId), [
      403,
      [{ field: 'ids.1', in: 'body', code: 'forbidden_document', message: 'you may not delete ids.1' }],
    ]);
    const field = await changed('ruled', { ids: [open], data: { rank: 1 } }, editor);
    assert.deepEqual(tell(field), [
      403,
      [{ field: 'data.rank', in: 'body', code: 'forbidden_field', message: 'data: you may not update rank' }],
    ]);
    const unread = await changed('ruled', { where: { own: { exists: true } }, data: {} }, editor);
    assert.match(JSON.stringify(errorsOf(unread)), /own.* is not a field to filter/);
    const blind = { ...editor, headers: { ...editor.headers, 'x-who': 'blind' } };
    assert.equal((await changed('ruled', { where: all, data: {} }, blind)).status, 403);
    const stranger = { ...editor, headers: { ...editor.headers, 'x-who': 'x' } };
    assert.equal((await deleted('ruled', { ids: [] }, stranger)).status, 403);
    assert.equal((await deleted('ruled', { ids: ['x'] }, { key: null })).status, 401);
  });

  it('answer 404 naming ids of no document, 400 for a body that is otherwise, 409 for unique values', async () => {
    const [a, b] = await make('posts', [{ title: 'a' }, { title: 'b' }]);
    const missing = await assertRecorded(service, () => deleted('posts', { ids: ['x', a, 'y'] }), []);
    assert.deepEqual(
      [missing.status, errorsOf(missing)],
      [404, { 'ids.0': 'ids.0 is the id of no document of posts', 'ids.2': 'ids.2 is the id of no document of posts' }],
    );
    const cases: [body: object, field: string, message: RegExp][] = [
      [{}, 'where', /^where or ids, exactly one of them, must say which documents$/],
      [{ ids: [], where: { id: { equals: 'x' } } }, 'where', /exactly one of them/],
      [{ where: {} }, 'where', /^where must hold a condition; /],
      [{ where: 'x' }, 'where', /^where must be a JSON object, got "x"$/],
      [{ ids: a }, 'ids', /^ids must be a list/],
      [{ ids: [a, 5, b, a] }, 'ids.1', /^ids.1 must be an id, got 5$/],
      [{ ids: [a, 5, b, a] }, 'ids.3', /^ids.3 is the same as ids.0$/],
      [{ ids: [a], dryRun: true }, 'dryRun', /^dryRun belongs in the query, not in the body: \?dryRun=true$/],
      [{ ids: [a], data: {} }, 'data', /^data is not a field/],
      [{ where: { titel: { equals: 'x' } } }, 'where[titel]', /did you mean "title"/],
    ];
    for (const [body, field, message] of cases) {
      const answer = await deleted('posts', body);
      assert.equal(answer.status, 400, JSON.stringify(body));
      assert.match(errorsOf(answer)[field] ?? JSON.stringify(answer.body), message);
    }
    assert.match(errorsOf(await changed('posts', { ids: [a] })).data ?? '', /^data is required$/);
    const wrong = await changed('posts', { ids: [a, b], data: { title: null, next: 'x' } });
    assert.deepEqual(errorsOf(wrong), { 'data.title': 'data.title is required, got null' });
    const ofNone = await changed('posts', { ids: [], data: { title: 5 } });
    assert.deepEqual(errorsOf(ofNone), { 'data.title': 'data.title must be a text, got 5' });
    const same = await assertRecorded(service, () => changed('posts', { ids: [a, b], data: { code: fresh() } }), []);
    assert.deepEqual(tell(same), [
      409,
      [{ field: 'data.code', in: 'body', code: 'unique', message: 'data.code is taken by ids.0 in this call' }],
    ]);
    const user = await service.call('POST', '/api/collections/users/bulk/update', { ids: [], data: { password: 'x' } });
    assert.equal(errorsOf(user)['data.password'], 'data.password may not be set for many at once');
  });

  it('refuse more than 1,000 matches, and take 1,000', async () => {
    const n = 5000 + count;
    await make(
      'posts',
      Array.from({ length: 1000 }, () => ({ title: 'x', n })),
    );
    const where = { n: { equals: n } };
    const all = await changed('posts', { where, data: { title: 'y' } });
    assert.deepEqual([all.status, all.body.changed], [200, 1000]);
    await make('posts', [{ title: 'x', n }]);
    const answer = await assertRecorded(service, () => deleted('posts', { where }), []);
    assert.deepEqual([answer.status, errorsOf(answer)], [400, { where: 'where must match at most 1000 documents' }]);
  });

  it('delete accounts with their sessions and passwords', async () => {
    const credentials = { email: 'gone@example.org', password: 'correct horse battery' };
    const { body: user } = await service.call('POST', '/api/collections/users', credentials);
    const login = await service.call('POST', '/api/collections/users/login', credentials);
    const as = { key: null, headers: { authorization: `Bearer ${login.body.token}` } };
    assert.equal((await service.call('GET', '/api/collections/users/me', undefined, as)).status, 200);
    assert.equal((await deleted('users', { ids: [user.id] })).status, 200);
    assert.equal((await service.call('GET', '/api/collections/users/me', undefined, as)).status, 401);
    assert.equal((await service.call('POST', '/api/collections/users/login', credentials)).status, 401);
  });

  it('are decided anew if others change a document meanwhile, so that no change is lost', async () => {
    const ids = await make('posts', [{ title: 'a' }, { title: 'b' }, { title: 'c' }]);
    const writes = Array.from({ length: 10 }, (_, index) => [
      changed('posts', { ids, data: { n: index } }),
      ...ids.map((id) => service.call('PATCH', `/api/collections/posts/${id}`, { title: `t${index}` })),
    ]).flat();
    const answers = await Promise.all(writes);
    assert.deepEqual(new Set(answers.map(({ status }) => status)), new Set([200]));
    for (const id of ids) {
      const { body } = await service.call('GET', `/api/audit/documents/posts/${id}?limit=100`);
      assert.equal(body.docs.length, 21);
    }
  });
});
