import assert from 'node:assert/strict';
import { described } from '../helpers/contract.ts';
import type { Answer } from '../helpers/service.ts';
import { anybody, type Call, fresh, freshEmail, password, type World } from './world.ts';

/** An operation of the document: what it does, to which collection or global. */
export type Operation = { name: string; kind: string; slug: string };

/** @param name as `GET /path`. */
export function operationOf({ contract }: World, name: string): Operation {
  const { operationId } = described(contract.document, name);
  const [, kind = '', slug = ''] = /^([^_]+)_?(.*)$/.exec(operationId) ?? [];
  return { name, kind, slug };
}

type Maker = (world: World, slug: string) => Call | Promise<Call>;

/** A correct call of each kind of operation, but for the tokens of mails, for which `x` stands. */
const right: Record<string, Maker> = {
  list: ({ caller }, slug) => ({ path: `/api/collections/${slug}`, ...caller(slug) }),
  count: ({ caller }, slug) => ({ path: `/api/collections/${slug}/count`, ...caller(slug) }),
  read: ({ caller, documents }, slug) => ({ path: pathOf(slug, documents[slug].id), ...caller(slug) }),
  aggregate: ({ caller }, slug) => ({
    path: pathOf(slug, 'aggregate?groupBy=createdAt.year,id&max=updatedAt'),
    ...caller(slug),
  }),
  distinct: ({ caller }, slug) => ({ path: pathOf(slug, 'distinct?field=createdAt.day'), ...caller(slug) }),
  listReferences: ({ caller, documents }, slug) => ({
    path: pathOf(slug, `${documents[slug].id}/references`),
    ...caller(slug),
  }),
  listTrash: async (world, slug) => {
    const deleted = await right.delete?.(world, slug);
    assert.ok(deleted);
    await world.send(`DELETE ${pathOf(slug, '{id}')}`, deleted);
    return { path: pathOf(slug, 'trash'), ...world.caller(slug) };
  },
  listAllTrash: () => ({ path: '/api/trash' }),
  create: ({ caller, bodyOf }, slug) => ({ path: `/api/collections/${slug}`, body: bodyOf(slug), ...caller(slug) }),
  createMany: ({ caller, bodyOf }, slug) => ({
    path: pathOf(slug, 'bulk'),
    body: { docs: [bodyOf(slug), bodyOf(slug)].map(withoutPassword) },
    ...caller(slug),
  }),
  updateMany: async ({ caller, create, documents }, slug) => ({
    path: pathOf(slug, 'bulk/update'),
    body: { ids: [documents[slug].id, (await create(slug)).id], data: changeOf(slug) },
    ...caller(slug),
  }),
  deleteMany: async ({ caller, create }, slug) => ({
    path: pathOf(slug, 'bulk/delete'),
    body: { ids: [(await create(slug)).id, (await create(slug)).id] },
    ...caller(slug),
  }),
  readBatch: async ({ bodyOf, send }) => {
    const path = pathOf('hooked', 'bulk');
    const body = { docs: [bodyOf('hooked'), bodyOf('hooked')] };
    const { batch } = (await send(`POST ${path}`, { path, body })).body;
    return { path: `/api/batches/${batch}` };
  },
  undoBatch: async ({ bodyOf, send }) => {
    const path = pathOf('hooked', 'bulk');
    const body = { docs: [bodyOf('hooked'), bodyOf('hooked')] };
    const { batch } = (await send(`POST ${path}`, { path, body })).body;
    return { path: `/api/batches/${batch}/undo`, body: {} };
  },
  update: ({ caller, documents }, slug) => ({
    path: pathOf(slug, documents[slug].id),
    body: changeOf(slug),
    ...caller(slug),
  }),
  delete: async ({ caller, create }, slug) => ({ path: pathOf(slug, (await create(slug)).id), ...caller(slug) }),
  restore: async (world, slug) => {
    const path = pathOf(slug, world.documents[slug].id);
    await world.send(`PATCH ${pathOf(slug, '{id}')}`, { path, body: changeOf(slug), ...world.caller(slug) });
    return { path: `${path}/restore`, body: { version: 1 }, ...world.caller(slug) };
  },
  readFile: ({ documents }, slug) => ({ path: documents[slug].url }),
  readGlobal: (_, slug) => ({ path: `/api/globals/${slug}` }),
  updateGlobal: (world, slug) => ({ path: `/api/globals/${slug}`, body: globalOf(world, slug) }),
  restoreGlobal: async (world, slug) => {
    const path = `/api/globals/${slug}`;
    await world.send(`PATCH ${path}`, { path, body: globalOf(world, slug) });
    return { path: `${path}/restore`, body: { version: 1 } };
  },
  login: ({ emails }, slug) => ({
    path: pathOf(slug, 'login'),
    body: { email: emails[slug], password },
    ...anybody(),
  }),
  logout: async ({ session }, slug) => ({ path: pathOf(slug, 'logout'), ...(await session(slug)) }),
  me: async ({ session }, slug) => ({ path: pathOf(slug, 'me'), ...(await session(slug)) }),
  refreshToken: async ({ session }, slug) => ({ path: pathOf(slug, 'refresh-token'), ...(await session(slug)) }),
  listSessions: async ({ session }, slug) => ({ path: pathOf(slug, 'sessions'), ...(await session(slug)) }),
  endOwnSession: async (world, slug) => {
    const list = await right.listSessions?.(world, slug);
    assert.ok(list);
    const newest = await lastPage(world, list);
    const { sid } = newest.find(({ isCurrent }) => isCurrent) ?? assert.fail('the session of the call is not listed');
    return { ...list, path: pathOf(slug, `sessions/${sid}`) };
  },
  readAccount: async ({ caller, send, session }, slug) => {
    const own = await session(slug);
    const { body } = await send(`GET ${pathOf(slug, 'me')}`, { path: pathOf(slug, 'me'), ...own });
    return { path: pathOf(slug, `${body.id}/account`), ...caller(slug) };
  },
  unlock: async ({ caller, create, send, bodyOf }, slug) => {
    const { id, email } = await create(slug, { ...(bodyOf(slug) as object), email: freshEmail() });
    for (let count = 0; count < 5; count += 1) {
      const body = { email, password: 'wrong' };
      await send(`POST ${pathOf(slug, 'login')}`, { path: pathOf(slug, 'login'), body, ...anybody() });
    }
    await send(`GET ${pathOf(slug, '{id}/account')}`, { path: pathOf(slug, `${id}/account`), ...caller(slug) });
    return { path: pathOf(slug, `${id}/unlock`), ...caller(slug) };
  },
  // The session of the request itself, so that the browser is told to clear its data.
  endSession: async (world, slug) => {
    const own = await right.endOwnSession?.(world, slug);
    assert.ok(own);
    const { body } = await world.send(`GET ${pathOf(slug, 'me')}`, { ...own, path: pathOf(slug, 'me') });
    return { ...own, path: own.path.replace('/sessions/', `/${body.id}/sessions/`) };
  },
  invite: ({ admin }, slug) => ({ path: pathOf(slug, 'invite'), body: { email: freshEmail() }, ...admin }),
  listInvitations: ({ admin }, slug) => ({ path: pathOf(slug, 'invitations'), ...admin }),
  readInvitation: invited,
  withdrawInvitation: invited,
  acceptInvite: (_, slug) => ({ path: pathOf(slug, 'accept-invite'), body: acceptance(slug, 'x'), ...anybody() }),
  readInit: (_, slug) => ({ path: pathOf(slug, 'init'), key: null }),
  createFirstUser: ({ first }, slug) => ({ ...first(), path: pathOf(slug, 'first-user') }),
  forgotPassword: (_, slug) => ({
    path: pathOf(slug, 'forgot-password'),
    body: { email: freshEmail() },
    ...anybody(),
  }),
  resetPassword: (_, slug) => ({ path: pathOf(slug, 'reset-password'), body: { token: 'x', password }, ...anybody() }),
  createPreviewToken: ({ documents }) => ({
    path: '/api/preview-token',
    body: { collection: 'things', id: documents.things.id, data: { text: ['a draft'] } },
  }),
  readPreviewData: async (world) => {
    const keep = await rightCall(world, operationOf(world, 'POST /api/preview-token'));
    const { body } = await world.send('POST /api/preview-token', keep);
    return { path: `/api/preview-data?token=${body.token}` };
  },
  listDrafts: async (world) => {
    for (const kind of ['keepDraft', 'keepDraftOfGlobal']) await kept(world, kind);
    return { path: '/api/drafts', ...world.admin };
  },
  readDraft: (world) => kept(world, 'keepDraft'),
  keepDraft: ({ admin, documents }) => ({
    path: `/api/drafts/users/${documents.users.id}`,
    body: { data: { name: ['a draft'] }, version: 1 },
    ...admin,
  }),
  dropDraft: (world) => kept(world, 'keepDraft'),
  readDraftOfGlobal: (world) => kept(world, 'keepDraftOfGlobal'),
  keepDraftOfGlobal: ({ admin }) => ({
    path: '/api/drafts/globals/site',
    body: { data: { title: 'a draft' }, version: null },
    ...admin,
  }),
  dropDraftOfGlobal: (world) => kept(world, 'keepDraftOfGlobal'),
  readPreferences: ({ admin }) => ({ path: '/api/preferences', ...admin }),
  updatePreferences: ({ admin }) => ({ path: '/api/preferences', body: { theme: 'dark', seen: null }, ...admin }),
  readBoot: () => ({ path: '/api/admin/boot', key: null }),
  listKeys: () => ({ path: '/api/keys' }),
  createKey: () => ({ path: '/api/keys', body: keyBody }),
  readKey: async ({ madeKey }) => ({ path: `/api/keys/${(await madeKey()).id}` }),
  revokeKey: async ({ madeKey }) => ({ path: `/api/keys/${(await madeKey()).id}` }),
  rotateKey: async ({ madeKey, send }) => {
    const { id, secret } = await madeKey();
    await send('GET /api/schemas', { path: '/api/schemas', key: secret });
    return { path: `/api/keys/${id}/rotate`, body: { overlapSeconds: 60 } };
  },
  listWebhooks: () => ({ path: '/api/webhooks' }),
  readWebhook: () => ({ path: '/api/webhooks/front' }),
  readDelivery: async ({ delivery }) => ({ path: `/api/webhooks/front/deliveries/${await delivery()}` }),
  listDeliveries: () => ({ path: '/api/webhooks/front/deliveries' }),
  retryDeliveries: () => ({ path: '/api/webhooks/front/retry' }),
  retryDelivery: async ({ delivery }) => ({ path: `/api/webhooks/front/deliveries/${await delivery()}/retry` }),
  search: () => ({ path: '/api/search?q=a' }),
  readCounts: () => ({ path: '/api/counts' }),
  readSchemas: () => ({ path: '/api/schemas' }),
  readOpenApi: () => ({ path: '/api/openapi.json' }),
  readHealth: () => ({ path: '/health', key: null }),
  readReady: () => ({ path: '/ready', key: null }),
};

/** The call of an invitation that was just sent. */
async function invited(world: World, slug: string): Promise<Call> {
  const { admin, send } = world;
  const email = freshEmail();
  await send(`POST ${pathOf(slug, 'invite')}`, { path: pathOf(slug, 'invite'), body: { email }, ...admin });
  const newest = await lastPage(world, { path: pathOf(slug, 'invitations'), ...admin });
  const { id } = newest.find((one) => one.email === email) ?? assert.fail(`${email} is not listed`);
  return { path: pathOf(slug, `invitations/${id}`), ...admin };
}

/** The newest entries of a list that begins with the oldest. */
async function lastPage({ send }: World, list: Call): Promise<Answer['body'][]> {
  const pageAt = async (page: number) => {
    const { body } = await send(`GET ${list.path}`, { ...list, path: `${list.path}?limit=100&page=${page}` });
    return body;
  };
  const first = await pageAt(1);
  return first.totalPages <= 1 ? first.docs : (await pageAt(first.totalPages)).docs;
}

/** The call of a draft that was just kept. */
async function kept(world: World, kind: string): Promise<Call> {
  const call = await right[kind]?.(world, '');
  assert.ok(call);
  const template = kind === 'keepDraft' ? '/api/drafts/{slug}/{id}' : '/api/drafts/globals/{slug}';
  await world.send(`PUT ${template}`, call);
  const { body: _, ...rest } = call;
  return rest;
}

/** An API key that may do a little of everything. */
const keyBody = {
  name: 'a key',
  scopes: [
    { collections: ['things'], globals: '*', operations: ['read', 'update'] },
    { collections: '*', globals: ['site'], operations: ['read'] },
  ],
  audit: ['headers', 'payloads'],
  expiresAt: '2999-01-01T00:00:00Z',
};

const globalOf = ({ documents }: World, slug: string) =>
  slug === 'site'
    ? { title: fresh(), links: [{ a: 'x', b: null }, { a: 'y' }], home: documents.things.id }
    : { text: fresh(), near: documents.near.id };

/** A body as calls about many documents take it. */
const withoutPassword = (body: unknown) => ({ ...(body as object), password: undefined });

/** The fields that change a document. */
const changeOf = (slug: string) => ({ [firstText[slug] ?? 'text']: fresh() });
const firstText: Record<string, string> = { files: 'alt', users: 'name', members: 'nick' };
/** The body that makes a user with a token. */
export const acceptance = (slug: string, token: string) => ({
  token,
  password,
  ...(slug === 'members' ? { nick: 'x' } : {}),
});
/** A path below a collection. */
export const pathOf = (slug: string, rest: string) => `/api/collections/${slug}/${rest}`;

/** A correct call of an operation; each time another one, if it can be made only once. */
export async function rightCall(world: World, { name, kind, slug }: Operation): Promise<Call> {
  const make = right[kind] ?? assert.fail(`it is unknown how to call ${name}: its kind is ${kind}`);
  return make(world, slug);
}

/** The differences of a call; a header that is undefined is left out. */
export type Variation = Omit<Partial<Call>, 'headers'> & {
  query?: string;
  headers?: Record<string, string | undefined> | undefined;
};

/** A call that is otherwise. */
export function vary(call: Call, { query, headers, ...rest }: Variation): Call {
  const path = rest.path ?? call.path;
  const separator = path.includes('?') ? '&' : '?';
  const given = Object.entries({ ...call.headers, ...headers }).filter(([, value]) => value !== undefined);
  return {
    ...call,
    ...rest,
    path: query === undefined ? path : `${path}${separator}${query}`,
    headers: Object.fromEntries(given) as Record<string, string>,
  };
}
