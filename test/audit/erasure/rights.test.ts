import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { anonymous, type LoggedIn, loggedIn } from '../../helpers/accounts.ts';
import { type HereService, useServiceHere } from '../../helpers/embedded.ts';
import { runHere } from '../../helpers/in-process.ts';
import { assertRecorded } from '../../helpers/recorded.ts';
import type { Answer, CallOptions } from '../../helpers/service.ts';
import { writeConfig } from '../../helpers/service.ts';
import { logLines, useFolder } from '../../helpers/shared.ts';

const source = `
const isAdmin = ({ user }) => user?.role === 'admin';
const own = ({ user }) => isAdmin({ user }) || (user ? { id: { equals: user.id } } : false);
const text = (name, more = {}) => ({ name, type: 'text', ...more });
export default {
  bcryptCost: 4,
  rateLimit: false,
  keys: ({ user }) => user !== null,
  collections: [
    {
      slug: 'staff',
      auth: { useAPIKey: true },
      access: { create: () => true, delete: isAdmin, read: own, update: own },
      fields: [text('role')],
    },
    { slug: 'members', auth: { useAPIKey: true }, fields: [] },
    { slug: 'posts', access: { read: () => true, delete: isAdmin }, fields: [text('title')] },
    // Each note is for its author: the rule looks at the document, or answers with a condition.
    { slug: 'notes', access: { read: ({ doc, user }) => user && doc?.title === user.role, delete: ({ doc, user }) => user && doc.title === user.role }, fields: [text('title')] },
    { slug: 'lists', access: { delete: ({ user }) => user && { title: { equals: user.role } } }, fields: [text('title')] },
    { slug: 'sealed', fields: [text('title'), text('hidden', { access: { read: () => false } })] },
  ],
  globals: [{ slug: 'site', fields: [text('motto')] }],
  __RULES__
};`;

const password = 'correct horse';
const path = '/api/audit/erasures';
const folder = useFolder();

/** A service with these rules, an administrator and an author. */
function useStaff(rules: string) {
  const service = useServiceHere(source.replace('__RULES__', rules));
  const users = {} as { root: LoggedIn; eve: LoggedIn };
  before(async () => {
    users.root = await added(service, 'root@example.org', 'admin');
    users.eve = await added(service, 'eve@example.org', 'author');
  });
  const made = (slug: string, title: string) => create(service, slug, { title });
  const erase = (collection: string, id: string, as: CallOptions = {}, query = '?dryRun=true'): Promise<Answer> =>
    service.call('POST', path + query, { collection, id, reason: 'test' }, as);
  const statusesOf = async (collection: string, id: string, callers: CallOptions[]) =>
    Promise.all(callers.map(async (as) => (await erase(collection, id, as)).status));
  return { service, users, made, erase, statusesOf };
}

async function create(service: HereService, slug: string, body: object): Promise<string> {
  const answer = await service.call('POST', `/api/collections/${slug}`, body);
  assert.equal(answer.status, 201, JSON.stringify(answer.body));
  return answer.body.id;
}

async function added(service: HereService, email: string, role: string, slug = 'staff'): Promise<LoggedIn> {
  await create(service, slug, { email, password, ...(slug === 'staff' && { role }) });
  return loggedIn(service, slug, email, password);
}

describe('Without an erase rule, erasing', () => {
  const { service, users, made, erase, statusesOf } = useStaff('audit: isAdmin,');

  it('is refused to an author who may not delete, of a document and of the only administrator', async () => {
    const id = await made('posts', 'a post');
    const { root, eve } = users;
    for (const [collection, one] of [
      ['posts', id],
      ['staff', root.id],
      ['staff', eve.id],
      ['posts', 'unknown'],
      ['psts', id],
      ['globals', 'site'],
    ] as const) {
      for (const query of ['', '?dryRun=true']) {
        const answer = await assertRecorded(service, () => erase(collection, one, eve.as, query), []);
        assert.deepEqual([answer.status, /^you may not erase/.test(answer.body.message)], [403, true], collection);
      }
    }
    assert.equal((await erase('posts', id, anonymous)).status, 401);
    assert.equal((await service.call('GET', '/api/collections/staff/me', undefined, root.as)).status, 200);
    assert.deepEqual(await statusesOf('posts', id, [root.as, {}]), [200, 200]);
    assert.equal((await erase('posts', 'unknown', root.as)).status, 404);
    assert.equal((await erase('globals', 'site', root.as)).status, 400);
  });

  it('is for those whom the rule delete admits and the audit rule shows payloads, also of what is deleted', async () => {
    const id = await made('posts', 'a post');
    const { eve, root } = users;
    // The rule of notes admits the author, to whom the audit rule grants nothing.
    const note = await made('notes', 'author');
    assert.deepEqual(await statusesOf('notes', note, [eve.as, root.as, {}]), [403, 403, 200]);
    await service.call('DELETE', `/api/collections/posts/${id}`);
    assert.deepEqual(await statusesOf('posts', id, [eve.as, root.as, {}]), [403, 200, 200]);
    const list = await made('lists', 'admin');
    await service.call('DELETE', `/api/collections/lists/${list}`);
    const other = await made('lists', 'author');
    await service.call('DELETE', `/api/collections/lists/${other}`);
    assert.deepEqual(
      [await statusesOf('lists', list, [root.as]), await statusesOf('lists', other, [root.as])],
      [[200], [403]],
    );
    const erased = await assertRecorded(service, () => erase('posts', id, root.as, ''), [
      `document.erased posts/${id}`,
    ]);
    assert.equal(erased.status, 201);
    // Nothing is left to be refused.
    assert.deepEqual(await statusesOf('posts', id, [eve.as, root.as, {}]), [403, 409, 409]);
    const { docs: events } = (await service.call('GET', `/api/audit/events?stream=posts/${id}`, undefined, root.as))
      .body;
    assert.equal(events.at(-1).context.rule, 'erase (default)');
  });

  it('is told by /api/schemas', async () => {
    const member = await added(service, 'member@example.org', '', 'members');
    const told = async (as: CallOptions) => (await service.call('GET', '/api/schemas', undefined, as)).body.user.erase;
    assert.deepEqual(await Promise.all([users.root.as, users.eve.as, member.as, {}].map(told)), [
      true,
      false,
      false,
      true,
    ]);
  });
});

describe('Without an erase and an audit rule, erasing', () => {
  const { service, users, made, statusesOf } = useStaff('');

  it('is for users of the admin collection whom today’s rules let delete a document and read all of it', async () => {
    const { eve, root } = users;
    const member = await added(service, 'member@example.org', '', 'members');
    const [own, others, post] = [
      await made('notes', 'author'),
      await made('notes', 'admin'),
      await made('posts', 'a post'),
    ];
    const callers = [eve.as, root.as, member.as];
    assert.deepEqual(await statusesOf('notes', own, callers), [200, 403, 403]);
    assert.deepEqual(await statusesOf('notes', others, callers), [403, 200, 403]);
    assert.deepEqual(await statusesOf('posts', post, callers), [403, 200, 403]);
    // A field that no user may read is not for them to erase either.
    assert.deepEqual(await statusesOf('sealed', await made('sealed', 'x'), callers), [403, 403, 403]);
    // No rule of today shows anything of a deleted document.
    await service.call('DELETE', `/api/collections/posts/${post}`);
    assert.deepEqual(await statusesOf('posts', post, callers), [403, 403, 403]);
    const told = async (as: CallOptions) => (await service.call('GET', '/api/schemas', undefined, as)).body.user.erase;
    assert.deepEqual(await Promise.all(callers.map(told)), [true, true, false]);
  });

  it('and payloads are nothing that a key is given by them, since it is asked about no rule', async () => {
    assert.equal((await keyOf(service, users.root.as, 'headers')).status, 201);
    for (const [part, rule] of [
      ['erase', 'an erase rule is needed'],
      ['payloads', 'an audit rule is needed'],
    ] as const) {
      const { status, body } = await keyOf(service, users.root.as, part);
      assert.deepEqual([status, body.errors?.[0].message.endsWith(rule)], [403, true], JSON.stringify(body));
    }
  });
});

const keyOf = (service: HereService, as: CallOptions, part: string) =>
  service.call('POST', '/api/keys', { name: 'x', audit: [part] }, as);

const ruled = `erase: {
  rule: ({ user, apiKey, collection, id, doc, req }) => {
    if (req.headers['x-answer']) return JSON.parse(req.headers['x-answer']);
    if (doc?.title === 'thrown') throw new Error('a rule that throws');
    return apiKey !== null ? doc?.title !== 'not for keys' : user.role === 'author' && (collection === 'staff' || doc?.title === 'mine') && id !== 'x';
  },
  description: 'Authors erase what is theirs',
},`;

describe('With an erase rule, erasing', () => {
  const { service, users, made, erase, statusesOf } = useStaff(ruled);

  it('is for those whom the rule admits, by the document as it is or was, and for no others', async () => {
    const { eve, root } = users;
    const [mine, other, closed, thrown] = [
      await made('posts', 'mine'),
      await made('posts', 'other'),
      await made('posts', 'not for keys'),
      await made('posts', 'thrown'),
    ];
    const callers = [eve.as, root.as, anonymous, {}];
    assert.deepEqual(await statusesOf('posts', mine, callers), [200, 403, 401, 200]);
    assert.deepEqual(await statusesOf('posts', other, callers), [403, 403, 401, 200]);
    assert.deepEqual(await statusesOf('posts', closed, callers), [403, 403, 401, 403]);
    assert.deepEqual(await statusesOf('posts', thrown, callers), [403, 403, 401, 403]);
    await service.call('DELETE', `/api/collections/posts/${mine}`);
    assert.deepEqual(await statusesOf('posts', mine, callers), [200, 403, 401, 200]);
    const erased = await erase('posts', mine, eve.as, '');
    assert.equal(erased.status, 201, JSON.stringify(erased.body));
    const { docs: events } = (await service.call('GET', `/api/audit/events?stream=posts/${mine}`)).body;
    assert.equal(events.at(-1).context.rule, 'erase');
    const schema = (await service.call('GET', '/api/audit/events?stream=system/schema')).body.docs[0].data;
    assert.equal(schema.rules.erase.description, 'Authors erase what is theirs');
  });

  it('refuses any answer but true, a where object too, with a line in the log', async () => {
    const id = await made('posts', 'mine');
    for (const [answer, status] of [
      ['true', 200],
      ['false', 403],
      ['null', 403],
      ['{"title":{"equals":"mine"}}', 403],
      ['"yes"', 403],
    ] as const) {
      const headers = { ...users.eve.as.headers, 'x-answer': answer };
      assert.equal((await erase('posts', id, { key: null, headers })).status, status, answer);
    }
    const failures = logLines(service).filter(({ msg }) => msg === 'the rule erase failed: it admits no caller');
    assert.ok(failures.some(({ err }) => err.message === 'the rule erase must return true or false'));
  });

  it('that looks at the document gives no key the right', async () => {
    const { status, body } = await keyOf(service, users.eve.as, 'erase');
    assert.deepEqual([status, body.errors?.[0].message.slice(0, 38)], [403, 'a key has no user, so the erase rule, ']);
  });
});

describe('An erase rule that looks at the user alone', () => {
  const { service, users } = useStaff("erase: ({ user }) => user?.role === 'admin',");

  it('lets a user whom it admits give a key the right', async () => {
    assert.equal((await keyOf(service, users.root.as, 'erase')).status, 201);
    assert.equal((await keyOf(service, users.eve.as, 'erase')).body.errors[0].message, 'you may not erase');
  });
});

describe('The last account that may manage others', () => {
  const { service, users, erase, statusesOf } = useStaff(ruled);

  it('is erased by no caller over HTTP, and by the operator', async () => {
    const { root, eve } = users;
    for (const as of [eve.as, {}]) {
      for (const query of ['', '?dryRun=true']) {
        const answer = await assertRecorded(service, () => erase('staff', root.id, as, query), []);
        assert.deepEqual([answer.status, /is the last account of staff/.test(answer.body.message)], [409, true]);
      }
    }
    // An author, who manages no others, is not one.
    const third = await added(service, 'third@example.org', 'author');
    assert.equal((await erase('staff', third.id, eve.as, '')).status, 201);
    // One of two administrators may be erased, but not both at the same time.
    const second = await added(service, 'second@example.org', 'admin');
    assert.deepEqual(await statusesOf('staff', root.id, [eve.as, {}]), [200, 200]);
    const both = await Promise.all([root.id, second.id].map((id) => erase('staff', id, {}, '')));
    assert.deepEqual(both.map(({ status }) => status).sort(), [201, 409]);
    const left = both[0]?.status === 409 ? root : second;
    // The last administrator is kept even when deleted; a former author may be erased.
    const gone = await added(service, 'gone@example.org', 'author');
    for (const { id } of [gone, left])
      assert.equal((await service.call('DELETE', `/api/collections/staff/${id}`)).status, 200);
    assert.deepEqual([(await erase('staff', left.id)).status, (await erase('staff', gone.id)).status], [409, 200]);
    const settings = ['--config', writeConfig(folder, source.replace('__RULES__', '')), '--data', service.data];
    const done = await runHere(['erase', `staff/${left.id}`, '--reason', 'test', ...settings]);
    assert.deepEqual([done.code, done.stderr], [0, '']);
  });
});
