import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { described } from '../helpers/contract.ts';
import type { Answer } from '../helpers/service.ts';
import { acceptance, type Operation, pathOf, rightCall, type Variation, vary } from './calls.ts';
import { type Call, formOf, fresh, freshEmail, password, type World } from './world.ts';

/** Brings an answer of an operation about: every one must have the status that is asked for. */
type Provoke = (world: World, operation: Operation) => Promise<unknown>;

/**
 * Has an operation answer with a status that the document names.
 *
 * @param status a key of its responses.
 */
export async function provoke(world: World, operation: Operation, status: string): Promise<void> {
  const how = special[`${operation.kind} ${status}`] ?? general[status];
  assert.ok(how, `it is unknown how ${operation.name} comes to answer ${status}`);
  await how(world, operation);
}

/** Makes variations of the right call, each of which must have this answer. */
async function sendAll(
  world: World,
  operation: Operation,
  status: number,
  all: readonly Variation[],
): Promise<Answer[]> {
  const found: Answer[] = [];
  for (const variation of all) {
    const call = vary(await rightCall(world, operation), variation);
    found.push(await send(world, operation, status, call));
  }
  return found;
}

async function send(world: World, { name }: Operation, status: number, call: Call): Promise<Answer> {
  const answer = await world.send(name, call);
  assert.equal(answer.status, status, `${name}: ${JSON.stringify(answer.body)}`);
  return answer;
}

/** The parameters of an operation by their names. */
function parametersOf({ contract }: World, { name }: Operation): Set<string> {
  const { parameters = [] } = described(contract.document, name);
  return new Set(parameters.map((one: { name: string }) => one.name));
}

const bodyOf = ({ contract }: World, { name }: Operation) => described(contract.document, name).requestBody?.content;
/** From a page of another site, in the browser of the admin. */
const foreign = ({ cookie }: World): Variation => ({
  key: null,
  headers: { authorization: undefined, cookie, origin: 'https://evil.example' },
});

/** Bodies that are JSON but not an object, at last none at all, and the messages about them. */
const noObjects = ['[]', 'null', '"x"', '5', ''].map((body) => ({ body }));
const noObject = [{ field: '', in: 'body', code: 'type', message: 'the body must be a JSON object' }];

/** The operations that need a token. */
const ofUsers =
  /^(logout|me|refreshToken|listSessions|endOwnSession|invite|listInvitations|readInvitation|withdrawInvitation|readPreferences|updatePreferences|\w+Drafts?(OfGlobal)?)$/;

const large = 'x'.repeat(70_000);
const now = () => `asOf=${new Date().toISOString()}`;

/** With everything that the operation takes. */
async function succeed(world: World, operation: Operation, status: number): Promise<void> {
  const parameters = parametersOf(world, operation);
  const all: Variation[] = [{}];
  if (parameters.has('depth')) all.push({ query: 'depth=3' });
  if (parameters.has('select')) all.push({ query: 'select=updatedAt' });
  if (parameters.has('asOf')) all.push({ query: now() });
  if (parameters.has('dryRun')) all.push({ query: 'dryRun=true' });
  // Half of a JSON text is not JSON.
  if (operation.name.startsWith('GET')) all.push({ headers: { range: 'bytes=0-3' } });
  if (parameters.has('page')) all.push({ query: 'limit=1&page=2' }, { query: 'limit=1' });
  if (parameters.has('sum') && parameters.has('where') && operation.slug === 'things') {
    all.push({ query: 'sum=number&avg=number&min=number' });
  }
  if (parameters.has('next'))
    all.push({ query: 'limit=1&next=' }, { query: 'limit=100&next=' }, { query: 'count=none' });
  await sendAll(world, operation, status, all);
}

/** How most operations come to an answer. */
const general: Record<string, Provoke> = {
  200: (world, operation) => succeed(world, operation, 200),
  201: (world, operation) => succeed(world, operation, 201),
  async 304(world, operation) {
    const [answer] = await sendAll(world, operation, 200, [{}]);
    await sendAll(world, operation, 304, [{ headers: { 'if-none-match': answer?.headers.get('etag') ?? '' } }]);
  },
  async 400(world, operation) {
    await sendAll(world, operation, 400, [{ query: 'x=1' }]);
    const types = bodyOf(world, operation) ?? {};
    if (types['application/json']) {
      await sendAll(world, operation, 400, [{ body: '{' }, { body: { x: 1 } }]);
      for (const { body } of await sendAll(world, operation, 400, noObjects)) assert.deepEqual(body.errors, noObject);
    }
    if (types['multipart/form-data']) await sendAll(world, operation, 400, [{ body: formOf('x', { x: 'x' }) }]);
  },
  401: (world, operation) => sendAll(world, operation, 401, [{ key: 'wrong' }]),
  /**
   * A rule of the audit, a write that another site has made a browser send, or an API key that was made without the
   * right, on all routes but those that need a user: they refuse every key.
   */
  async 403(world, operation) {
    const { key, headers } = { key: world.powerless, headers: { authorization: undefined } };
    if (!ofUsers.test(operation.kind)) await sendAll(world, operation, 403, [{ key, headers }]);
    if (!operation.name.startsWith('GET')) await sendAll(world, operation, 403, [foreign(world)]);
    // In a public history a user may see what they may read.
    else if (
      parametersOf(world, operation).has('asOf') &&
      operation.slug !== 'reasoned' &&
      operation.kind !== 'listAllTrash'
    )
      await sendAll(world, operation, 403, [{ ...world.member, query: now() }]);
  },
  404: (world, operation) => {
    const none = operation.name.replace(/^\S+ /, '').replace(/\{(id|sid|filename)\}/g, randomUUID());
    return sendAll(world, operation, 404, [{ path: none }]);
  },
  412: (world, operation) => sendAll(world, operation, 412, [{ headers: { 'if-match': '"99-x"' } }]),
  413: (world, operation) => {
    const types = bodyOf(world, operation) ?? {};
    const bodies = [
      ...(types['application/json'] ? [{ body: { text: large } }] : []),
      ...(types['multipart/form-data'] ? [{ body: formOf(large) }] : []),
    ];
    return sendAll(world, operation, 413, bodies);
  },
  415: (world, operation) => sendAll(world, operation, 415, [{ body: 'x', headers: { 'content-type': 'text/plain' } }]),
  /** The same request with the same key gets the same answer; another request with that key is refused. */
  async 422(world, operation) {
    const call = vary(await rightCall(world, operation), { headers: { 'idempotency-key': fresh() } });
    const { status } = await world.send(operation.name, call);
    const { headers } = await send(world, operation, status, call);
    assert.equal(headers.get('idempotent-replayed'), 'true');
    await send(world, operation, 422, vary(call, { headers: { 'x-change-reason': 'another' } }));
  },
  async 429(world, operation) {
    const headers = { 'x-forwarded-for': '192.0.2.1' };
    const path = pathOf('members', 'reset-password');
    // Each node has its own count.
    const nodes = Number(process.env.TEST_NODES ?? 1);
    for (let refused = 0, count = 0; refused < nodes && count < 41 * nodes; count += 1) {
      const { status } = await world.send(`POST ${path}`, { path, body: { token: 'x', password }, key: null, headers });
      refused = status === 429 ? refused + 1 : 0;
    }
    await sendAll(world, operation, 429, [{ key: null, headers: { ...headers, authorization: undefined } }]);
  },
  /** A hook of what is asked for, or of what is related to it. */
  default: (world, operation) => {
    const query = parametersOf(world, operation).has('depth') ? { query: 'depth=3' } : {};
    return sendAll(world, operation, 418, [{ ...query, headers: { 'x-refuse': '418' } }]);
  },
};

function absent(world: World, operation: Operation, more: object): Promise<unknown> {
  return sendAll(world, operation, 404, [{ body: { ids: [randomUUID()], ...more } }]);
}

const everything = [{ collections: '*', operations: ['read', 'delete'] }];

/** A hook refuses the rule about inviting. */
function mayNotInvite(world: World, operation: Operation): Promise<unknown> {
  const headers = { ...world.member.headers, 'x-refuse': '403' };
  return sendAll(world, operation, 403, [{ ...world.member, headers }]);
}

/** How those come to an answer that are otherwise. */
const special: Record<string, Provoke> = {
  /** A value that somebody else has. */
  'create 409': async (world, operation) => {
    const { body } = await rightCall(world, operation);
    await sendAll(world, operation, 201, [{ body }]);
    await sendAll(world, operation, 409, [{ body }]);
  },
  'createMany 201': async (world, operation) => {
    await sendAll(world, operation, 201, [{}, { body: { docs: [] } }]);
  },
  /** A dry run; documents that are there, as they are and otherwise, and one that is not. */
  'createMany 200': async (world, operation) => {
    await sendAll(world, operation, 200, [{ query: 'dryRun=true' }]);
    if (!['things', 'users', 'members'].includes(operation.slug)) return;
    const { docs } = (await rightCall(world, operation)).body as { docs: Record<string, unknown>[] };
    const key = operation.slug === 'things' ? 'code' : 'email';
    const [one = {}, two = {}] = docs;
    await sendAll(world, operation, 201, [{ body: { docs: [one] } }]);
    const same = { docs: [{ [key]: one[key] }], upsertBy: key };
    const changed = {
      [key]: one[key],
      [operation.slug === 'members' ? 'nick' : operation.slug === 'users' ? 'name' : 'text']: fresh(),
    };
    const headers = { 'idempotency-key': fresh() };
    await sendAll(world, operation, 200, [
      { body: same },
      { body: same, headers },
      { body: same, headers },
      { body: { docs: [changed, two], upsertBy: key } },
    ]);
  },
  'updateMany 200': async (world, operation) => {
    const { ids } = (await rightCall(world, operation)).body as { ids: string[] };
    const where = { id: { in: ids } };
    const data = (body: unknown) => (body as { data: object }).data;
    const changed = await rightCall(world, operation);
    const all = [
      {},
      { query: 'dryRun=true', body: { where, data: data(changed.body) } },
      { body: { where, data: {} } },
    ];
    await sendAll(world, operation, 200, all);
  },
  'updateMany 404': (world, operation) => absent(world, operation, { data: {} }),
  'deleteMany 200': async (world, operation) => {
    const where = { id: { equals: world.documents[operation.slug].id } };
    await sendAll(world, operation, 200, [{ query: 'dryRun=true', body: { where } }, {}]);
  },
  'deleteMany 404': (world, operation) => absent(world, operation, {}),
  /** With and without a reason, undone and not, gone, and by callers who may know more or less. */
  'readBatch 200': async (world, operation) => {
    const { path } = await rightCall(world, operation);
    await sendAll(world, operation, 200, [{ path }, { path, query: 'limit=1' }, { path, query: 'limit=1&page=2' }]);
    await sendAll(world, operation, 200, [{ path, ...world.member }]);
    const headers = { 'x-change-reason': 'a mistake' };
    const { body } = await world.send('POST /api/batches/{batch}/undo', { path: `${path}/undo`, body: {}, headers });
    await sendAll(world, operation, 200, [{ path }, { path: `/api/batches/${body.batch}` }]);
    const { secret } = await world.madeKey({ audit: ['headers'], scopes: everything });
    await sendAll(world, operation, 200, [{ path, key: secret }]);
  },
  'readBatch 404': (world, operation) => {
    return sendAll(world, operation, 404, [{ path: `/api/batches/${randomUUID()}` }]);
  },
  'undoBatch 200': (world, operation) => sendAll(world, operation, 200, [{}, { query: 'dryRun=true' }]),
  /** Without a body, it is as with an empty one. */
  'undoBatch 400': async (world, operation) => {
    await sendAll(world, operation, 400, [{ query: 'x=1' }, { body: '{' }, { body: { x: 1 } }]);
    const refused = await sendAll(world, operation, 400, noObjects.slice(0, -1));
    for (const { body } of refused) assert.deepEqual(body.errors, noObject);
    await sendAll(world, operation, 200, [{ body: undefined }]);
  },
  'undoBatch 404': (world, operation) => {
    return sendAll(world, operation, 404, [{ path: `/api/batches/${randomUUID()}/undo` }]);
  },
  /** The documents are gone since. */
  'undoBatch 409': async (world, operation) => {
    const call = await rightCall(world, operation);
    await send(world, operation, 200, call);
    await send(world, operation, 409, call);
  },
  'createMany 409': async (world, operation) => {
    const { body } = await rightCall(world, operation);
    await sendAll(world, operation, 201, [{ body }]);
    await sendAll(world, operation, 409, [{ body }]);
  },
  /** By everybody, by name, in part. */
  'readFile 200': async (world, operation) => {
    await sendAll(world, operation, 200, [{}, { key: null }, { query: now() }]);
  },
  'readFile 206': async (world, operation) => {
    const headers = { range: 'bytes=0-3' };
    await sendAll(world, operation, 206, [{ headers }, { headers, key: null }, { headers, query: now() }]);
  },
  'readFile 304': async (world, operation) => {
    const headers = { 'if-none-match': '*' };
    await sendAll(world, operation, 304, [{ headers }, { headers, key: null }, { headers, query: now() }]);
  },
  'readFile 416': (world, operation) => sendAll(world, operation, 416, [{ headers: { range: 'bytes=99999-' } }]),
  'createPreviewToken 404': (world, operation) => {
    return sendAll(world, operation, 404, [{ body: { collection: 'things', id: randomUUID(), data: {} } }]);
  },
  'readPreviewData 401': (world, operation) => {
    return sendAll(world, operation, 401, [{ key: 'wrong' }, { path: '/api/preview-data?token=wrong' }]);
  },
  'readSchemas 200': (world, operation) => {
    return sendAll(world, operation, 200, [{}, { query: now() }, { key: null, ...world.admin }]);
  },
  /** A key sees only what its scopes allow, so it is refused nothing; users who look back may be refused. */
  'readSchemas 403': (world, operation) => sendAll(world, operation, 403, [{ ...world.member, query: now() }]),
  /** Users may read only themselves, unless a rule says otherwise. */
  'readDraft 403': (world, operation) => sendAll(world, operation, 403, [world.member]),
  'readDraftOfGlobal 403': (world, operation) => {
    const headers = { ...world.admin.headers, 'x-refuse': '403' };
    return sendAll(world, operation, 403, [{ headers }]);
  },
  /** Any object is taken. */
  'updatePreferences 400': async (world, operation) => {
    const bodies = [{ query: 'x=1' }, { body: '{' }, ...noObjects];
    await sendAll(world, operation, 400, bodies);
  },
  /** Without a body, it is as with an empty one. */
  'rotateKey 400': async (world, operation) => {
    await sendAll(world, operation, 400, [{ query: 'x=1' }, { body: '{' }, { body: { x: 1 } }]);
    const refused = await sendAll(world, operation, 400, noObjects.slice(0, -1));
    for (const { body } of refused) assert.deepEqual(body.errors, noObject);
    await sendAll(world, operation, 200, [{ body: undefined }]);
  },
  'login 401': (world, operation) => {
    return sendAll(world, operation, 401, [{ body: { email: freshEmail(), password: 'wrong' } }]);
  },
  'invite 409': (world, operation) => {
    const { email } = world.documents[operation.slug];
    return sendAll(world, operation, 409, [{ body: { email } }]);
  },
  'acceptInvite 201': async (world, operation) => {
    const body = acceptance(operation.slug, await world.inviteToken(operation.slug));
    await sendAll(world, operation, 201, [{ body }]);
  },
  'acceptInvite 403': async (world, operation) => {
    const body = { ...acceptance(operation.slug, await world.inviteToken(operation.slug)), role: 'a' };
    await sendAll(world, operation, 403, [{ body }]);
  },
  'acceptInvite 409': async (world, operation) => {
    const email = freshEmail();
    const body = acceptance(operation.slug, await world.inviteToken(operation.slug, email));
    await world.create(operation.slug, { ...(world.bodyOf(operation.slug) as object), email });
    await sendAll(world, operation, 409, [{ body }]);
  },
  'acceptInvite default': async (world, operation) => {
    const body = acceptance(operation.slug, await world.inviteToken(operation.slug));
    await sendAll(world, operation, 418, [{ body, headers: { 'x-refuse': '418' } }]);
  },
  'search 403': (world, operation) => sendAll(world, operation, 403, [{ ...world.member, query: 'collections=users' }]),
  /** Also past the last page. */
  'listKeys 200': async (world, operation) => {
    await succeed(world, operation, 200);
    await sendAll(world, operation, 200, [{ query: 'page=99' }]);
  },
  'listInvitations 403': mayNotInvite,
  'readInvitation 403': mayNotInvite,
  'createFirstUser 403': (world, operation) => sendAll(world, operation, 403, [{}]),
  'resetPassword 200': async (world, operation) => {
    await sendAll(world, operation, 200, [{ body: { token: await world.resetToken(operation.slug), password } }]);
  },
  /** The global was never written. */
  'restoreGlobal 409': (world, operation) => {
    const path = `/api/globals/${operation.slug}/restore`;
    return send(world, operation, 409, { path, body: { version: 1 } });
  },
};
