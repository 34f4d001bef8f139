import assert from 'node:assert/strict';
import { bearer } from '../../helpers/accounts.ts';
import type { HereService } from '../../helpers/embedded.ts';
import { request, type Sent } from '../../helpers/requests.ts';
import type { Answer } from '../../helpers/service.ts';
import { type CallerName, canary } from './canaries.ts';

/**
 * All that there is: ids of documents by their collections, and the values of other parameters of paths and queries.
 */
export type Ids = {
  documents: Record<string, readonly string[]>;
  /** The address of each file, below its collection. */
  files: readonly string[];
  invitation: string;
  key: string;
  session: string;
  batch: string;
  delivery: string;
  /** The position at which all was there. */
  position: number;
  erasure: number;
  release: string;
  viewToken: string;
};

/** A service in which each canary is in its place, and its callers. */
export type World = {
  url: string;
  ids: Ids;
  callers: Record<CallerName, Sent>;
  /** Secrets that no answer holds but the one that gave them. */
  secrets: readonly string[];
};

const password = `${canary('password')} horse battery`;
const collection = (slug: string, rest = '') => `/api/collections/${slug}${rest}`;

export async function createWorld(service: Pick<HereService, 'url' | 'setupUrl'>): Promise<World> {
  const { url } = service;
  async function made(method: string, path: string, sent: Sent = {}): Promise<Answer['body']> {
    const { status, body } = await request(url, method, path, sent);
    assert.ok(status < 300, `${method} ${path}: ${status} ${JSON.stringify(body)}`);
    return body;
  }
  const create = (slug: string, body: object, sent: Sent = {}) => made('POST', collection(slug), { ...sent, body });
  async function logIn(slug: string, email: string): Promise<string> {
    const { token } = await made('POST', collection(slug, '/login'), { key: null, body: { email, password } });
    return token;
  }

  const [, setupToken = ''] = /setup\?token=([\w-]+)/.exec(service.setupUrl ?? '') ?? [];
  const first = { setupToken, email: 'ada@example.org', password, title: canary('adminName') };
  const { token, user } = await made('POST', collection('admins', '/first-user'), { key: null, body: first });
  const admin = bearer(token);
  const tokens: string[] = [token];
  async function userOf(slug: string, name: string, more: object, sent: Sent): Promise<Sent> {
    const email = `${name}@example.org`;
    await create(slug, { email, password, ...more }, sent);
    const own = await logIn(slug, email);
    tokens.push(own);
    return bearer(own);
  }
  const secrets: string[] = [];
  async function keyOf(scopes: object[], audit: string[] = [], name = 'a key'): Promise<Sent> {
    const { secret } = await made('POST', '/api/keys', { body: { name, scopes, audit } });
    secrets.push(secret);
    return { key: secret };
  }
  const of = (collections: string[], ...operations: string[]) => [{ collections, operations }];

  const callers: World['callers'] = {
    anonymous: { key: null },
    member: await userOf('members', 'mia', {}, { key: null }),
    editor: await userOf('editors', 'eva', { role: 'texts' }, admin),
    keyManager: await userOf('editors', 'kim', { role: 'keys' }, admin),
    auditor: await userOf('auditors', 'aki', {}, admin),
    admin,
    keyOfNothing: await keyOf([]),
    keyOfPosts: await keyOf(of(['posts'], 'read')),
    keyOfUpdates: await keyOf(of(['posts'], 'update')),
    keyOfFiles: await keyOf(of(['files'], 'read')),
    keyOfGlobals: await keyOf([{ globals: '*', operations: ['read'] }]),
    keyOfHeaders: await keyOf([], ['headers']),
    keyOfHistory: await keyOf(of(['posts'], 'read'), ['headers', 'payloads', 'export'], canary('keyName')),
    environment: {},
  };

  const other = { email: `${canary('email')}@example.org`, password, nick: canary('nick'), note: canary('memberNote') };
  const member = await create('members', other, { key: null });
  await made('POST', collection('editors', '/invite'), {
    ...admin,
    body: { email: `${canary('invited')}@example.org` },
  });
  const { docs: invitations } = await made('GET', collection('editors', '/invitations'), admin);

  async function upload(name: string, text: string, more: Record<string, string>): Promise<Answer['body']> {
    const form = new FormData();
    for (const [field, value] of Object.entries(more)) form.append(field, value);
    form.append('file', new Blob([text]), name);
    return made('POST', collection('files'), { body: form });
  }
  const openFile = await upload('open.txt', 'open', { isOpen: 'true', title: 'open' });
  const file = await upload(`${canary('fileName')}.txt`, canary('fileBytes'), { title: canary('fileTitle') });
  const person = await create('people', { title: canary('person'), pay: canary('pay') });
  const openPerson = await create('people', { title: 'open', isOpen: true, pay: canary('pay') });
  const vault = await create('vaults', { title: canary('vault') });

  const hidden = {
    notes: canary('notes'),
    secret: canary('secret'),
    looked: canary('looked'),
    masked: canary('masked'),
    inside: { title: 'open', hint: canary('hint') },
    rows: [{ title: 'open', hidden: canary('rows') }],
    parts: [{ blockType: 'part', word: canary('parts') }],
    data: { word: canary('data') },
    author: person.id,
    vault: [vault.id],
    file: file.id,
    n: 1,
  };
  const open = await create('posts', { title: canary('earlier'), status: 'draft', ...hidden });
  const change = { title: 'open', status: 'open', author: openPerson.id };
  const because = { 'x-change-reason': canary('reason') };
  await made('PATCH', collection('posts', `/${open.id}`), { body: change, headers: because });
  const draft = await create('posts', { title: canary('draft'), ...hidden, secret: null });
  const trashed = await create('posts', { title: canary('trashed'), status: 'open' });
  await made('DELETE', collection('posts', `/${trashed.id}`));
  const { position } = await made('GET', '/api/audit/log', callers.auditor).then(({ size }) => ({ position: size }));
  const erased = await create('posts', { title: canary('erased'), status: 'open' });
  const reason = 'asked for on paper';
  const erasure = await made('POST', '/api/audit/erasures', { body: { collection: 'posts', id: erased.id, reason } });

  const article = await create('articles', { title: 'open' });
  await made('PATCH', collection('articles', `/${article.id}?draft=true`), { body: { title: 'not public' } });
  const unpublished = await made('POST', collection('articles', '?draft=true'), { body: { title: 'not public' } });

  await made('PATCH', '/api/globals/site', { body: { title: 'open', hidden: canary('siteHidden') } });
  await made('PATCH', '/api/globals/closed', { body: { title: canary('closed') } });
  await made('PUT', `/api/drafts/posts/${open.id}`, {
    ...admin,
    body: { data: { title: canary('ownDraft') }, version: 2 },
  });
  await made('PUT', '/api/drafts/globals/site', {
    ...admin,
    body: { data: { title: canary('ownDraft') }, version: null },
  });
  await made('PATCH', '/api/preferences', { ...admin, body: { seen: canary('preference') } });
  const kept = { collection: 'posts', id: open.id, data: { title: canary('preview') } };
  const { token: previewToken } = await made('POST', '/api/preview-token', { ...admin, body: kept });
  const items = [{ collection: 'articles', id: article.id, action: 'publish' }];
  const { id: release } = await made('POST', '/api/releases', { ...admin, body: { title: 'planned', items } });
  const view = { view: { release }, expiresIn: 3600 };
  const { token: viewToken } = await made('POST', '/api/preview-token', { ...admin, body: view });
  const { docs: viewTokens } = await made('GET', '/api/preview-tokens', admin);
  const docs = [
    { title: 'open', status: 'open' },
    { title: 'open too', status: 'open' },
  ];
  const { batch } = await made('POST', collection('posts', '/bulk'), { body: { docs } });
  const { docs: keys } = await made('GET', '/api/keys?limit=100');
  const { docs: sessions } = await made('GET', collection('admins', '/sessions'), admin);

  return {
    url,
    callers,
    secrets: [...tokens, ...secrets, previewToken, viewToken],
    ids: {
      documents: {
        posts: [open.id, draft.id, trashed.id, erased.id],
        people: [openPerson.id, person.id],
        vaults: [vault.id],
        articles: [article.id, unpublished.id],
        files: [openFile.id, file.id],
        members: [member.id],
        admins: [user.id],
        editors: [],
        auditors: [],
      },
      files: [openFile.url, file.url],
      invitation: invitations[0].id,
      key: keys[0].id,
      session: sessions[0].sid,
      batch,
      delivery: open.id,
      position,
      erasure: erasure.position,
      release,
      viewToken: viewTokens[0].id,
    },
  };
}
