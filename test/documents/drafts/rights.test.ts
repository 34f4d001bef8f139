import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { anonymous, loggedIn } from '../../helpers/accounts.ts';
import { useServiceHere } from '../../helpers/embedded.ts';
import type { CallOptions } from '../../helpers/service.ts';

const posts = '/api/collections/posts';
const secret = 'correct horse battery';

const service = useServiceHere(`
const isEditor = ({ user }) => user?.role === 'editor' || user?.role === 'chief';
const fields = [{ name: 'title', type: 'text', required: true }, { name: 'owner', type: 'text' }];
export default {
  collections: [
    {
      slug: 'staff', auth: true, access: { create: () => true, read: () => true },
      fields: [{ name: 'role', type: 'text' }],
    },
    {
      slug: 'posts', drafts: true, fields,
      access: {
        read: () => true, create: isEditor, update: isEditor, delete: isEditor,
        publish: ({ user, editors }) => isEditor({ user }) && !editors.includes(\`staff/\${user.id}\`),
      },
    },
    {
      slug: 'chiefs', drafts: true, fields,
      access: { read: () => true, create: isEditor, update: isEditor, delete: isEditor, publish: ({ user }) => user?.role === 'chief' },
    },
    {
      slug: 'blind', drafts: true, fields,
      access: { read: () => true, create: isEditor, update: isEditor, readDrafts: ({ user }) => user?.role === 'chief' },
    },
    {
      slug: 'owned', drafts: true, fields,
      access: {
        read: () => true, create: isEditor, delete: isEditor, update: isEditor, publish: isEditor,
        readDrafts: ({ user }) => user ? { owner: { equals: user.id } } : false,
      },
    },
    {
      slug: 'told', drafts: true, fields,
      access: {
        update: () => true, create: () => true,
        publish: ({ doc, published, editors, data, locale }) => {
          if (doc?.title !== 'Tell') return true;
          throw Object.assign(new Error('told'), { told: console.error(JSON.stringify({ doc, published, editors, data, locale })) });
        },
      },
    },
  ],
  globals: [{ slug: 'site', drafts: true, fields, access: { update: isEditor, publish: ({ user }) => user?.role === 'chief' } }],
};`);

const people: Record<'ada' | 'ben' | 'chief' | 'guest', CallOptions> = { ada: {}, ben: {}, chief: {}, guest: {} };
const ids: Record<string, string> = {};

before(async () => {
  for (const name of ['ada', 'ben', 'chief', 'guest'] as const) {
    const role = name === 'chief' || name === 'guest' ? name : 'editor';
    const email = `${name}@example.org`;
    const { status } = await service.call('POST', '/api/collections/staff', { email, password: secret, role });
    assert.equal(status, 201);
    const { as, id } = await loggedIn(service, 'staff', email, secret);
    people[name] = as;
    ids[name] = id;
  }
});

async function statusOf(method: string, path: string, body: unknown, options: CallOptions): Promise<number> {
  return (await service.call(method, path, body, options)).status;
}

describe('a rule for four eyes', () => {
  it('refuses the author, and admits another', async () => {
    const made = await service.call('POST', `${posts}?draft=true`, { title: 'A' }, people.ada);
    const at = `${posts}/${made.body.id}`;
    assert.equal(await statusOf('POST', `${at}/publish`, undefined, people.ada), 403);
    assert.equal(await statusOf('POST', `${at}/publish`, { data: { title: 'B' } }, people.ben), 403);
    assert.equal(await statusOf('POST', `${at}/publish`, { data: { title: 'A' } }, people.ben), 200);
  });

  it('refuses all who changed what would become public, and no others', async () => {
    const { body } = await service.call('POST', posts, { title: 'A' });
    const at = `${posts}/${body.id}`;
    await service.call('PATCH', `${at}?draft=true`, { title: 'B' }, people.ada);
    await service.call('PATCH', `${at}?draft=true`, { owner: 'x' }, people.ben);
    assert.equal(await statusOf('POST', `${at}/publish`, undefined, people.ben), 403);
    // Of version 2, only the title becomes public.
    assert.equal(await statusOf('POST', `${at}/publish`, { version: 2 }, people.ada), 403);
    assert.equal(await statusOf('POST', `${at}/publish`, { version: 2 }, people.ben), 200);
    assert.equal(await statusOf('POST', `${at}/publish`, undefined, people.ben), 403);
    assert.equal(await statusOf('POST', `${at}/publish`, undefined, people.ada), 200);
  });

  it('refuses a plain write by one person alone, and says how to save a draft', async () => {
    const made = await service.call('POST', posts, { title: 'A' }, people.ada);
    assert.equal(made.status, 403);
    assert.equal(made.body.message, 'you may not publish posts: send draft=true to save a draft');
    const { body } = await service.call('POST', posts, { title: 'A' });
    const at = `${posts}/${body.id}`;
    const refused = await service.call('PATCH', at, { title: 'B' }, people.ada);
    assert.deepEqual([refused.status, refused.body.message], [403, made.body.message]);
    assert.equal(await statusOf('PATCH', at, { title: 'A' }, people.ada), 200);
    assert.equal(await statusOf('PATCH', `${at}?draft=true`, { title: 'B' }, people.ada), 200);
  });
});

describe('the rule publish', () => {
  it('is needed for every change of what is public, and for none of drafts', async () => {
    const chiefs = '/api/collections/chiefs';
    assert.equal(await statusOf('POST', chiefs, { title: 'A' }, people.ada), 403);
    assert.equal(await statusOf('POST', chiefs, { title: 'A' }, anonymous), 401);
    const { body } = await service.call('POST', chiefs, { title: 'A' }, people.chief);
    const at = `${chiefs}/${body.id}`;
    const refused: [string, string, unknown][] = [
      ['PATCH', at, { title: 'B' }],
      ['DELETE', at, undefined],
      ['DELETE', `${at}?draft=true`, undefined],
      ['POST', `${at}/publish`, {}],
      ['POST', `${at}/publish?dryRun=true`, {}],
      ['POST', `${at}/publish`, { data: { title: 'B' } }],
      ['POST', `${at}/unpublish`, {}],
      ['POST', `${at}/restore`, { version: 1 }],
    ];
    for (const [method, path, sent] of refused) {
      assert.equal(await statusOf(method, path, sent, people.ada), 403, `${method} ${path}`);
      assert.equal(await statusOf(method, path, sent, anonymous), 401, `${method} ${path}`);
    }
    assert.equal(await statusOf('PATCH', `${at}?draft=true`, { title: 'B' }, people.ada), 200);
    assert.equal(await statusOf('POST', `${at}/discard`, {}, people.ada), 200);
    const draft = await service.call('POST', `${chiefs}?draft=true`, { title: 'C' }, people.ada);
    assert.equal(await statusOf('DELETE', `${chiefs}/${draft.body.id}?draft=true`, undefined, people.ada), 200);
    assert.equal(await statusOf('PATCH', at, { title: 'B' }, people.chief), 200);
    assert.equal(await statusOf('DELETE', at, undefined, people.chief), 200);
    const site = '/api/globals/site';
    assert.equal(await statusOf('PATCH', site, { title: 'B' }, people.ada), 403);
    assert.equal(await statusOf('PATCH', `${site}?draft=true`, { title: 'B' }, people.ada), 200);
    assert.equal(await statusOf('POST', `${site}/publish`, undefined, people.ada), 403);
    assert.equal(await statusOf('POST', `${site}/publish`, undefined, people.chief), 200);
  });

  it('gets the draft as it will be published, the public document, and the editors', async () => {
    const told = '/api/collections/told';
    const lines: string[] = [];
    const { error } = console;
    console.error = (line: string) => lines.push(line);
    try {
      const { body } = await service.call('POST', told, { title: 'A' });
      const at = `${told}/${body.id}`;
      await service.call('PATCH', `${at}?draft=true`, { owner: 'x' }, people.ada);
      const { status } = await service.call('POST', `${at}/publish`, { data: { title: 'Tell' } }, people.ben);
      assert.equal(status, 403);
      const { doc, published, editors, data, locale } = JSON.parse(lines[0] ?? '');
      assert.deepEqual([doc.title, doc.owner, doc.id], ['Tell', 'x', body.id]);
      assert.deepEqual(published, body);
      assert.deepEqual(editors, [`staff/${ids.ada}`, `staff/${ids.ben}`]);
      assert.deepEqual([data, locale], [{ title: 'Tell' }, null]);
    } finally {
      console.error = error;
    }
  });
});

describe('the rule readDrafts', () => {
  it('refuses a write whose answer would show a draft, before anything is recorded', async () => {
    const blind = '/api/collections/blind';
    for (const who of [people.ada, people.guest])
      assert.equal(await statusOf('POST', `${blind}?draft=true`, { title: 'A' }, who), 403);
    assert.equal(await statusOf('POST', `${blind}?draft=true`, { title: 'A' }, anonymous), 401);
    const { body } = await service.call('POST', blind, { title: 'A' });
    const at = `${blind}/${body.id}`;
    await service.call('PATCH', `${at}?draft=true`, { title: 'Secret' });
    for (const [method, path, sent] of [
      ['PATCH', `${at}?draft=true`, { owner: 'x' }],
      ['DELETE', `${at}?draft=true`, undefined],
      ['POST', `${at}/discard`, undefined],
      ['POST', `${at}/publish?dryRun=true`, undefined],
    ] as const) {
      const { status, body } = await service.call(method, path, sent, people.ada);
      assert.equal(status, 403, path);
      assert.doesNotMatch(JSON.stringify(body), /Secret/);
    }
    const taken = await service.call('POST', `${at}/unpublish`, undefined, people.ada);
    assert.equal(taken.status, 200);
    assert.doesNotMatch(JSON.stringify(taken.body), /Secret/);
  });

  it('tells nothing of a draft in a 412', async () => {
    const blind = '/api/collections/blind';
    const { body } = await service.call('POST', blind, { title: 'A' });
    const at = `${blind}/${body.id}`;
    await service.call('PATCH', `${at}?draft=true`, { title: 'Secret' });
    const stale = { ...people.ada, headers: { ...people.ada.headers, 'if-match': '"1-x"' } };
    const refused = await service.call('POST', `${at}/publish`, undefined, stale);
    assert.equal(refused.status, 412);
    assert.doesNotMatch(JSON.stringify(refused.body), /Secret/);
  });

  it('may be a condition, which drafts have to meet', async () => {
    const owned = '/api/collections/owned';
    const mine = await service.call('POST', `${owned}?draft=true`, { title: 'A', owner: ids.ada }, people.ada);
    assert.deepEqual([mine.status, mine.body.title], [201, 'A']);
    assert.equal(await statusOf('PATCH', `${owned}/${mine.body.id}?draft=true`, { title: 'B' }, people.ada), 200);
    assert.equal(await statusOf('PATCH', `${owned}/${mine.body.id}?draft=true`, { title: 'B' }, people.ben), 403);
    const { body } = await service.call('POST', owned, { title: 'A', owner: ids.ada });
    await service.call('PATCH', `${owned}/${body.id}?draft=true`, { owner: ids.ben });
    assert.equal(await statusOf('PATCH', `${owned}/${body.id}?draft=true`, { title: 'B' }, people.ada), 403);
    assert.equal(await statusOf('PATCH', `${owned}/${body.id}?draft=true`, { title: 'B' }, people.ben), 200);
  });
});
