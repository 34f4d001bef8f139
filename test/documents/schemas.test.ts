import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { anonymous, loggedIn } from '../helpers/accounts.ts';
import { useServiceHere } from '../helpers/embedded.ts';
import type { CallOptions } from '../helpers/service.ts';
import { eventually, logLines } from '../helpers/shared.ts';

const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'));

const collections = `
  {
    slug: 'posts',
    labels: { singular: 'Post', plural: 'Posts' },
    access: { read: () => true },
    hooks: { beforeChange: () => {} },
    fields: [
      { name: 'title', type: 'text', required: true, access: { read: () => false }, hooks: { afterRead: () => {} } },
      { name: 'status', type: 'select', options: ['draft', { label: 'Live', value: 'live' }], defaultValue: 'draft' },
      { name: 'made', type: 'number', defaultValue: () => 3, admin: { description: 'secret of no reader' } },
      { type: 'row', fields: [{ name: 'author', type: 'relationship', relationTo: 'authors' }] },
      { name: 'body', type: 'blocks', blocks: [{ slug: 'quote', fields: [{ name: 'text', type: 'text' }] }] },
    ],
  },
  { slug: 'authors', fields: [{ name: 'posts', type: 'join', collection: 'posts', on: 'author', limit: 5, sort: '-title' }] },
  { slug: 'files', upload: true, fields: [{ name: 'alt', type: 'text' }] },
  { slug: 'photos', upload: { maxFileSize: 1000, mimeTypes: ['Image/*'] }, fields: [] },`;
const globals = `{ slug: 'site', label: 'Site', fields: [] }, { slug: 'bare', fields: [] }`;

const admin = { readOnly: true };
const ofFiles = [
  { name: 'filename', type: 'text', required: true, index: true, admin },
  { name: 'mimeType', type: 'text', required: true, index: true, admin },
  { name: 'filesize', type: 'number', required: true, integer: true, admin },
  { name: 'width', type: 'number', integer: true, admin },
  { name: 'height', type: 'number', integer: true, admin },
  { name: 'sha256', type: 'text', required: true, index: true, admin },
  { name: 'url', type: 'text', required: true, admin },
];

/** The fields as they are shown: with whether they have a default. */
const shown = (fields: Record<string, unknown>[]) =>
  fields.map((field) => ({ ...field, hasDefault: field.defaultValue !== undefined }));
const plain = { auth: false, upload: false, history: null, requireReason: false, admin: {} };

const schemas = {
  collections: [
    {
      slug: 'posts',
      category: 'posts',
      labels: { singular: 'Post', plural: 'Posts' },
      fields: [
        { name: 'title', type: 'text', required: true, hasDefault: false },
        {
          name: 'status',
          type: 'select',
          options: [
            { label: 'draft', value: 'draft' },
            { label: 'Live', value: 'live' },
          ],
          defaultValue: 'draft',
          hasDefault: true,
        },
        { name: 'made', type: 'number', admin: { description: 'secret of no reader' }, hasDefault: true },
        { type: 'row', fields: shown([{ name: 'author', type: 'relationship', relationTo: 'authors' }]) },
        {
          name: 'body',
          type: 'blocks',
          blocks: [{ slug: 'quote', fields: shown([{ name: 'text', type: 'text' }]) }],
          hasDefault: false,
        },
      ],
      ...plain,
    },
    {
      slug: 'authors',
      category: 'authors',
      labels: null,
      fields: shown([{ name: 'posts', type: 'join', collection: 'posts', on: 'author', limit: 5, sort: '-title' }]),
      ...plain,
    },
    {
      slug: 'files',
      category: 'files',
      labels: null,
      fields: shown([...ofFiles, { name: 'alt', type: 'text' }]),
      ...plain,
      upload: { maxFileSize: 7_000_000 },
    },
    {
      slug: 'photos',
      category: 'photos',
      labels: null,
      fields: shown(ofFiles),
      ...plain,
      upload: { maxFileSize: 1000, mimeTypes: ['image/*'] },
    },
  ],
  globals: [
    { slug: 'site', label: 'Site', fields: [], admin: {} },
    { slug: 'bare', label: null, fields: [], admin: {} },
  ],
  admin: { title: 'Annals', logo: null },
  richText: null,
};
const aboutKey = {
  user: { audit: ['headers', 'payloads', 'export'], keys: true, erase: true },
  limits: { body: 1_048_576, bulkBody: 8_388_608 },
  version,
};

const path = '/api/schemas';
const description = '/api/openapi.json';

describe('GET /api/schemas (4.5)', () => {
  const service = useServiceHere(`export default { collections: [${collections}], globals: [${globals}] }`);

  it('answers what is configured, in one shape, without functions', async () => {
    const { status, body, headers } = await service.call('GET', path);
    assert.deepEqual([status, body], [200, { ...schemas, ...aboutKey }]);
    assert.match(headers.get('content-type') ?? '', /^application\/json/);
    for (const one of [...body.collections, ...body.globals]) assert.ok(!('access' in one) && !('hooks' in one));
  });

  it('is not sent to a reader who has it', async () => {
    const { headers } = await service.call('GET', path);
    const etag = headers.get('etag') ?? '';
    const again = await service.call('GET', path, undefined, { headers: { 'if-none-match': etag } });
    assert.equal(again.status, 304);
    assert.equal((await service.call('GET', path, undefined, { headers: { 'if-none-match': '"x"' } })).status, 200);
  });

  it('needs a credential', async () => {
    const { status, body } = await service.call('GET', path, undefined, anonymous);
    assert.deepEqual([status, body.error], [401, 'Unauthorized']);
    assert.equal((await service.call('GET', path, undefined, { key: 'wrong' })).status, 401);
  });

  it('takes no parameters', async () => {
    const { status, body } = await service.call('GET', `${path}?depth=1`);
    assert.deepEqual([status, body.errors[0].field], [400, 'depth']);
    assert.equal((await service.call('GET', `${path}?_=1`)).status, 200);
  });

  it('answers HEAD and no other method', async () => {
    assert.equal((await service.call('HEAD', path)).status, 200);
    assert.equal((await service.call('POST', path, {})).status, 405);
    assert.equal((await service.call('GET', `${path}/posts`)).status, 404);
  });

  it('goes with a description in OpenAPI, which needs a credential too (4.7)', async () => {
    assert.equal((await service.call('GET', description, undefined, anonymous)).status, 401);
    const { status, body, headers } = await service.call('GET', description);
    assert.deepEqual([status, body.openapi], [200, '3.0.3']);
    assert.match(headers.get('content-type') ?? '', /^application\/json/);
  });

  it('has it made without a word of the packages that make it', async () => {
    await service.call('GET', description);
    await eventually(() => logLines(service).some((line) => line.path === description && line.status === 200));
    assert.doesNotMatch(service.output().stderr, /warning/i);
    assert.ok(logLines(service).every(({ level }) => level === 30));
  });
});

describe('GET /api/schemas for a user (4.5)', () => {
  const service = useServiceHere(`
const yes = () => true;
const no = () => false;
const some = () => ({ title: { equals: 'x' } });
const throws = () => { throw new Error('no'); };
const looks = ({ doc }) => doc.title === 'x';
const sees = ({ data }) => data.title === 'x';
const isChief = ({ user }) => user?.role === 'chief';
const all = (rule) => ({ read: rule, create: rule, update: rule, delete: rule });
const fields = [{ name: 'title', type: 'text' }];
export default {
  bcryptCost: 4,
  publicSchema: true,
  collections: [
    { slug: 'users', auth: { useAPIKey: true }, fields: [{ name: 'role', type: 'text' }] },
    { slug: 'members', auth: { useAPIKey: true }, fields: [] },
    { slug: 'plain', fields, access: {} },
    { slug: 'open', fields, access: all(yes) },
    { slug: 'shut', fields, access: all(no) },
    { slug: 'later', fields, access: all(async () => true) },
    { slug: 'nothing', fields, access: all(() => undefined) },
    { slug: 'some', fields, access: all(some) },
    { slug: 'throwing', fields, access: all(throws) },
    { slug: 'looking', fields, access: all(looks) },
    { slug: 'seeing', fields, access: all(sees) },
    { slug: 'chiefs', fields, access: all((args) => isChief(args) && looks(args)) },
    { slug: 'asked', fields, access: all(({ req, user }) => req.path === '/api/schemas' && user.email === 'chief@example.org') },
  ],
  globals: [
    { slug: 'site', fields },
    { slug: 'front', fields, access: { read: looks, update: isChief } },
  ],
};`);
  const password = 'correct horse battery';

  /** The flags of all collections and globals, as a caller gets them. */
  async function flagsFor(options: CallOptions): Promise<Record<string, unknown>> {
    const { status, body } = await service.call('GET', path, undefined, options);
    assert.equal(status, 200, JSON.stringify(body));
    return Object.fromEntries([...body.collections, ...body.globals].map(({ slug, access }) => [slug, access]));
  }

  async function newUser(slug: string, values: { email: string; role?: string }): Promise<CallOptions> {
    await service.call('POST', `/api/collections/${slug}`, { ...values, password });
    return (await loggedIn(service, slug, values.email, password)).as;
  }

  /** The flags of a collection: the first letters of the operations that are allowed. */
  const rights = (access: unknown) =>
    Object.entries(access as Record<string, boolean>)
      .map(([right, flag]) => (flag ? right[0] : '-'))
      .join('');

  it('tells what this user may do, and as yes what they may do to some documents only', async () => {
    const flags = await flagsFor(await newUser('users', { email: 'ada@example.org' }));
    assert.deepEqual(flags.open, { read: true, create: true, update: true, delete: true });
    const expected = {
      plain: 'rcud',
      shut: '----',
      later: 'rcud',
      nothing: '----',
      // A document that is yet to be created meets no condition.
      some: 'r-ud',
      throwing: '----',
      // A create is never about a document, so this rule throws.
      looking: 'r-ud',
      // There is no body but for a create and an update, so else this rule throws.
      seeing: '-cu-',
      chiefs: '----',
      asked: '----',
    };
    for (const [slug, wanted] of Object.entries(expected)) assert.equal(rights(flags[slug]), wanted, slug);
    assert.deepEqual(flags.site, { read: true, update: true });
    assert.deepEqual(flags.front, { read: true, update: false });
  });

  it('tells of a field no right that its collection or global does not give', async () => {
    const { body } = await service.call('GET', path, undefined, await newUser('users', { email: 'field@example.org' }));
    const entries = [...body.collections, ...body.globals];
    const ofTitle = Object.fromEntries(entries.map(({ slug, fields }) => [slug, fields[0]?.access]));
    assert.deepEqual(ofTitle.open, { read: true, create: true, update: true });
    assert.deepEqual(ofTitle.shut, { read: false, create: false, update: false });
    assert.deepEqual(ofTitle.some, { read: true, create: false, update: true });
    assert.deepEqual(ofTitle.seeing, { read: false, create: true, update: true });
    assert.deepEqual(ofTitle.site, { read: true, create: true, update: true });
    assert.deepEqual(ofTitle.front, { read: true, create: false, update: false });
  });

  it('tells another user something else', async () => {
    const flags = await flagsFor(await newUser('users', { email: 'chief@example.org', role: 'chief' }));
    assert.equal(rights(flags.chiefs), 'r-ud');
    assert.equal(rights(flags.asked), 'rcud');
    assert.deepEqual(flags.front, { read: true, update: true });
  });

  it('tells who may do what if an auth collection has no rule', async () => {
    const admin = await flagsFor(await newUser('users', { email: 'admin@example.org' }));
    assert.deepEqual([rights(admin.users), rights(admin.members)], ['rcud', 'rcud']);
    const member = await flagsFor(await newUser('members', { email: 'member@example.org' }));
    assert.deepEqual([rights(member.users), rights(member.members)], ['----', 'r-u-']);
  });

  it('agrees with what this user then may do', async () => {
    const as = await newUser('users', { email: 'tries@example.org' });
    const flags = (await flagsFor(as)) as Record<string, { read: boolean; create: boolean }>;
    for (const slug of ['plain', 'open', 'shut', 'later', 'nothing', 'some', 'throwing', 'seeing', 'chiefs', 'asked']) {
      const list = await service.call('GET', `/api/collections/${slug}`, undefined, as);
      assert.equal(list.status, flags[slug]?.read ? 200 : 403, slug);
      const made = await service.call('POST', `/api/collections/${slug}`, { title: 'x' }, as);
      assert.equal(made.status, flags[slug]?.create ? 201 : 403, slug);
    }
  });

  it('tells the same with a key beside the token, or under the cookie', async () => {
    const as = await newUser('users', { email: 'both@example.org' });
    const token = as.headers?.authorization?.split(' ')[1];
    const wanted = await flagsFor(as);
    assert.deepEqual(await flagsFor({ headers: { ...as.headers } }), wanted);
    assert.deepEqual(await flagsFor({ key: null, headers: { cookie: `annals-users=${token}` } }), wanted);
  });

  it('has no flags for a key alone, nor without a credential', async () => {
    for (const options of [{}, anonymous]) {
      assert.deepEqual([...new Set(Object.values(await flagsFor(options)))], [undefined]);
    }
  });

  it('says in the log which rule threw', async () => {
    await flagsFor(await newUser('users', { email: 'log@example.org' }));
    const line = await eventually(() => logLines(service).find(({ msg }) => /read rule of throwing failed/.test(msg)));
    assert.equal(line.err.message, 'no');
  });
});

describe('GET /api/schemas with a bug in a rule (4.5)', () => {
  const service = useServiceHere(`const throws = () => { throw new Error('no team'); };
  export default {
    bcryptCost: 4,
    collections: [
      { slug: 'users', auth: { useAPIKey: true }, fields: [] },
      { slug: 'wrong', fields: [], access: { read: () => 'yes', create: () => true, update: async () => throws(), delete: () => ({ nme: { equals: 'x' } }) } },
      { slug: 'right', fields: [], access: { read: () => true } },
    ],
    globals: [{ slug: 'site', fields: [], access: { read: () => 3, update: throws } }],
  };`);

  it('is false of it and right of all others, and names the rule in the log, once', async () => {
    const password = 'correct horse battery';
    await service.call('POST', '/api/collections/users', { email: 'ada@example.org', password });
    const { as } = await loggedIn(service, 'users', 'ada@example.org', password);
    for (const _ of [1, 2, 3]) {
      const { status, body } = await service.call('GET', path, undefined, as);
      assert.equal(status, 200);
      const flags = [...body.collections, ...body.globals].map(({ slug, access }) => [slug, access]);
      assert.deepEqual(Object.fromEntries(flags.slice(1)), {
        wrong: { read: false, create: true, update: false, delete: false },
        right: { read: true, create: true, update: true, delete: true },
        site: { read: false, update: false },
      });
    }
    const said = service.lines().filter(({ level }) => level >= 50);
    assert.deepEqual(said.map(({ msg, err }) => `${msg} | ${err.message.split(':')[0]}`).sort(), [
      `the delete rule of wrong ${once} | the delete rule of wrong returned a where that is wrong`,
      `the read rule of site ${once} | the read rule of site returned number`,
      `the read rule of wrong ${once} | the read rule of wrong returned string`,
      `the update rule of site ${once} | no team`,
      `the update rule of wrong ${once} | no team`,
    ]);
  });

  it('is what it was elsewhere: 500 if a rule gives an invalid answer', async () => {
    const { as } = await loggedIn(service, 'users', 'ada@example.org', 'correct horse battery');
    assert.equal((await service.call('GET', '/api/collections/wrong', undefined, as)).status, 500);
    assert.equal((await service.call('GET', path)).status, 200);
  });
});

const once = 'failed: answers about several collections leave out what it decides. This is logged once';

describe('GET /api/schemas with publicSchema (4.5)', () => {
  const service = useServiceHere(`export default { publicSchema: true, globals: [${globals}] }`);

  it('is open to everybody', async () => {
    const { status, body } = await service.call('GET', path, undefined, anonymous);
    assert.deepEqual([status, body], [200, { ...schemas, collections: [] }]);
  });

  it('still refuses a wrong key', async () => {
    assert.equal((await service.call('GET', path, undefined, { key: 'wrong' })).status, 401);
  });

  it('opens the description in OpenAPI too, but not for a wrong key (4.7)', async () => {
    assert.equal((await service.call('GET', description, undefined, anonymous)).status, 200);
    assert.equal((await service.call('GET', description, undefined, { key: 'wrong' })).status, 401);
  });

  it('lets that take no parameters, and answer HEAD', async () => {
    assert.equal((await service.call('GET', `${description}?tags=only`)).status, 400);
    assert.equal((await service.call('GET', `${description}?_=1`)).status, 200);
    assert.equal((await service.call('HEAD', description)).status, 200);
    assert.equal((await service.call('POST', description, {})).status, 405);
  });
});

describe('GET /api/schemas with rules of fields and hints to the admin UI (4.5)', () => {
  const service = useServiceHere(`
const yes = () => true;
const no = () => false;
const looks = ({ doc }) => doc.title === 'x';
const sees = ({ data }) => data.title === 'x';
const throws = () => { throw new Error('no'); };
export default {
  bcryptCost: 4,
  admin: { title: 'Atlas', logo: '/logo.svg', user: 'editors' },
  richText: { features: ['bold', 'link'] },
  limits: { body: 5000, bulkBody: 6000 },
  audit: ({ user }) => (user ? ['headers'] : false),
  collections: [
    { slug: 'members', auth: true, fields: [] },
    { slug: 'editors', auth: { useAPIKey: true }, fields: [] },
    {
      slug: 'posts',
      history: 'public',
      requireReason: true,
      admin: {
        group: 'Content', description: 'All that we say', hidden: true, icon: 'news', pageSize: 50,
        defaultSort: '-createdAt,seo.title', defaultColumns: ['title', 'seo.title', 'updatedAt'], preview: 'https://site.example/p?token={token}',
      },
      fields: [
        { name: 'title', type: 'text', access: { read: no, create: yes, update: throws } },
        { name: 'slug', type: 'text', admin: { displayAs: 'slug', from: 'title', position: 'side', width: 'half', tab: 'SEO' } },
        { name: 'body', type: 'richText', richText: { features: [] }, access: { read: looks, update: sees }, admin: { rows: 9 } },
        { name: 'seo', type: 'object', access: { update: no }, fields: [{ name: 'title', type: 'text', defaultValue: () => 'x' }] },
        { name: 'links', type: 'array', fields: [{ name: 'url', type: 'url', access: { create: no } }], admin: { summary: 'url' } },
      ],
    },
  ],
  globals: [{ slug: 'site', fields: [], admin: { group: 'Settings', hidden: false } }],
};`);
  const secret = 'correct horse battery';
  let as: CallOptions;
  const postsFor = async (options?: CallOptions) => {
    const { body } = await service.call('GET', path, undefined, options);
    return { body, posts: body.collections.find(({ slug }: { slug: string }) => slug === 'posts') };
  };

  it('shows the hints, and what the caller may see of the history', async () => {
    await service.call('POST', '/api/collections/editors', { email: 'ada@example.org', password: secret });
    as = (await loggedIn(service, 'editors', 'ada@example.org', secret)).as;
    const { body, posts } = await postsFor(as);
    assert.deepEqual(
      [body.admin, body.richText],
      [{ title: 'Atlas', logo: '/logo.svg' }, { features: ['bold', 'link'] }],
    );
    assert.deepEqual(
      [body.user, body.limits, body.version],
      [{ audit: ['headers'], keys: false, erase: false }, { body: 5000, bulkBody: 6000 }, version],
    );
    assert.deepEqual([posts.history, posts.requireReason, posts.admin.pageSize], ['public', true, 50]);
    assert.deepEqual(posts.admin.defaultColumns, ['title', 'seo.title', 'updatedAt']);
    assert.deepEqual(body.globals[0].admin, { group: 'Settings' });
    assert.deepEqual((await postsFor()).body.user, { audit: [], keys: true, erase: true });
  });

  it('tells what the user may do with each field, and says yes if it holds for some documents', async () => {
    const { posts } = await postsFor(as);
    const letters = ({ access }: { access: Record<string, boolean> }) =>
      Object.entries(access)
        .map(([right, flag]) => (flag ? right[0] : '-'))
        .join('');
    const [title, slug, body, seo, links] = posts.fields;
    assert.deepEqual([title, slug, body, seo, links].map(letters), ['-c-', 'rcu', 'rcu', 'rc-', 'rcu']);
    assert.deepEqual([letters(seo.fields[0]), letters(links.fields[0])], ['rc-', 'r-u']);
    assert.deepEqual([title.hasDefault, seo.hasDefault, seo.fields[0].hasDefault], [false, true, true]);
    assert.equal((await postsFor()).posts.fields[0].access, undefined);
  });

  it('has another tag for another caller', async () => {
    const tags = [as, {}].map(async (one) => (await service.call('GET', path, undefined, one)).headers.get('etag'));
    const [one, other] = await Promise.all(tags);
    assert.notEqual(one, other);
  });

  it('goes with what the admin UI needs before a user logs in', async () => {
    const { status, body } = await service.call('GET', '/api/admin/boot', undefined, anonymous);
    const login = ['password'];
    assert.deepEqual(
      [status, body],
      [
        200,
        {
          title: 'Atlas',
          initialized: true,
          authCollections: [
            { slug: 'members', labels: null, isAdmin: false, login },
            { slug: 'editors', labels: null, isAdmin: true, login },
          ],
          publicSchema: false,
        },
      ],
    );
    const wrong = await service.call('GET', '/api/admin/boot?depth=1', undefined, anonymous);
    assert.deepEqual([wrong.status, wrong.body.errors[0].field], [400, 'depth']);
  });
});

describe('GET /api/admin/boot', () => {
  const fresh = useServiceHere(
    `export default { collections: [{ slug: 'users', auth: { useAPIKey: true }, fields: [] }, { slug: 'a', fields: [] }] }`,
  );
  const off = useServiceHere(
    `export default { admin: false, collections: [{ slug: 'users', auth: true, fields: [] }] }`,
  );

  it('tells whether there is a first user', async () => {
    const ask = async () => (await fresh.call('GET', '/api/admin/boot', undefined, anonymous)).body;
    assert.deepEqual([(await ask()).initialized, (await ask()).title], [false, 'Annals']);
    await fresh.call('POST', '/api/collections/users', { email: 'ada@example.org', password: 'correct horse battery' });
    assert.equal((await ask()).initialized, true);
  });

  it('is not there if the admin UI is turned off', async () => {
    assert.equal((await off.call('GET', '/api/admin/boot', undefined, anonymous)).status, 404);
    const { body } = await off.call('GET', path);
    assert.equal(body.admin, null);
  });
});
