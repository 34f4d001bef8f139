import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { anonymous, bearer } from '../helpers/accounts.ts';
import { useMailbox } from '../helpers/mail.ts';
import { answersOf, useDescribedCalls } from '../helpers/openapi.ts';
import type { CallOptions } from '../helpers/service.ts';
import { eventually, useService } from '../helpers/shared.ts';

const mailbox = await useMailbox();
const service = useService(
  `const refuse = (statusCode) => { throw Object.assign(new Error('no'), { statusCode }); };
export default {
  bcryptCost: 4,
  trustProxy: true,
  rateLimit: { address: 150, email: 100 },
  collections: [
    {
      slug: 'users',
      auth: { useAPIKey: true, depth: 1, maxLoginAttempts: 2 },
      fields: [
        { name: 'name', type: 'text' },
        { name: 'code', type: 'text', unique: true },
        { name: 'role', type: 'select', options: ['a', 'b'], access: { create: () => false, update: () => false } },
        { name: 'badge', type: 'relationship', relationTo: 'badges' },
      ],
      hooks: { beforeChange: ({ data }) => { if (data.name === 'teapot') refuse(418); } },
    },
    { slug: 'members', auth: { cookies: false }, fields: [] },
    {
      slug: 'badges',
      fields: [{ name: 'text', type: 'text' }],
      hooks: { afterRead: ({ data, user }) => { if (data.text === 'secret' && user) refuse(451); } },
    },
  ],
  globals: [{ slug: 'site', fields: [] }],
};`,
  { ANNALS_SMTP_URL: mailbox.url, ANNALS_MAIL_FROM: 'annals@example.org' },
);

const users = '/api/collections/users';
const members = '/api/collections/members';
const password = 'correct horse battery';
const email = 'ada@example.org';
const tooLarge = { text: 'x'.repeat(1_100_000) };

/** What is described and cannot be brought about here: slow bodies, faults, a full disk, and races that are lost. */
const exempt = / (408|500|503)$|(first-user|reset-password) 409$/;

describe('The answers of the account routes', () => {
  const { described, document, met } = useDescribedCalls(service);
  /** The first user, with a token of theirs. */
  let ada: CallOptions & { token: string; id: string };
  let setupToken: string;

  before(async () => {
    setupToken = await eventually(() => /setup\?token=([\w-]+)/.exec(service.output().stdout)?.[1]);
  });

  /** From an address of its own, whose calls count apart. */
  const from = (ip: string): CallOptions => ({ key: null, headers: { 'x-forwarded-for': ip } });
  const login = (slug: string, body: object, wanted = 200) =>
    described(`POST /api/collections/${slug}/login`, wanted, { body, ...anonymous });

  /** Sends what no route that takes a body takes. */
  async function refused(operation: string, caller: CallOptions = anonymous): Promise<void> {
    await described(operation, 400, { body: '{', ...caller });
    await described(operation, 400, { body: {}, ...caller });
    await described(operation, 413, { body: tooLarge, ...caller });
    const headers = { ...caller.headers, 'content-type': 'text/plain' };
    await described(operation, 415, { body: 'x', ...caller, headers });
  }

  /** Sends what no route without a body takes, and only with a token. */
  async function refusedAsUser(operation: string, path = operation.split(' ')[1] as string): Promise<void> {
    await described(operation, 401, { path });
    await described(operation, 401, { path, ...anonymous });
    await described(operation, 401, { path, ...bearer('wrong') });
    await described(operation, 400, { path: `${path}?x=1`, ...ada });
    if (operation.startsWith('GET')) return;
    const { headers } = await login('users', { email, password });
    const cookie = (headers.get('set-cookie') ?? '').split(';')[0] as string;
    await described(operation, 403, { path, key: null, headers: { cookie, origin: 'https://evil.example' } });
  }

  it('are described for the first user', async () => {
    const operation = `POST ${users}/first-user`;
    assert.equal((await described(`GET ${users}/init`, 200, anonymous)).body.initialized, false);
    await described(`GET ${users}/init`, 400, { path: `${users}/init?x=1`, ...anonymous });
    await refused(operation);
    const body = { setupToken, email, password };
    await described(operation, 403, { body: { ...body, setupToken: 'wrong' }, ...anonymous });
    await described(`POST ${members}/first-user`, 403, { body, ...anonymous });
    await described(operation, 418, { body: { ...body, name: 'teapot' }, ...anonymous });
    const made = await described(operation, 201, { body: { ...body, name: 'Ada', code: 'a' }, ...anonymous });
    ada = { ...bearer(made.body.token), token: made.body.token, id: made.body.user.id };
    await described(operation, 403, { body, ...anonymous });
    assert.equal((await described(`GET ${users}/init`, 200, anonymous)).body.initialized, true);
  });

  it('are described for logins and sessions', async () => {
    await refused(`POST ${users}/login`);
    await login('users', { email, password: 'wrong' }, 401);
    const { body, headers } = await login('users', { email, password });
    assert.match(headers.get('set-cookie') ?? '', /^annals-users=/);
    assert.equal((await described(`GET ${users}/me`, 200, ada)).body.id, ada.id);
    await refusedAsUser(`GET ${users}/me`);
    await described(`POST ${users}/refresh-token`, 200, bearer(body.token));
    await refusedAsUser(`POST ${users}/refresh-token`);
    const { sessions } = (await described(`GET ${users}/sessions`, 200, ada)).body;
    await refusedAsUser(`GET ${users}/sessions`);
    const { sid } = sessions.find(({ isCurrent }: { isCurrent: boolean }) => !isCurrent);
    const path = `${users}/sessions/${sid}`;
    await refusedAsUser(`DELETE ${users}/sessions/{sid}`, path);
    await described(`DELETE ${users}/sessions/{sid}`, 200, { path, ...ada });
    await described(`DELETE ${users}/sessions/{sid}`, 404, { path, ...ada });
    const last = await login('users', { email, password });
    await refusedAsUser(`POST ${users}/logout`);
    await described(`POST ${users}/logout`, 200, bearer(last.body.token));
    await described(`GET ${users}/me`, 401, bearer(last.body.token));
  });

  it('are described for invitations', async () => {
    const [invite, accept] = [`POST ${users}/invite`, `POST ${users}/accept-invite`];
    await refused(invite, ada);
    await described(invite, 401, { body: { email: 'x@example.org' } });
    await described(invite, 409, { body: { email }, ...ada });
    await described(invite, 200, { body: { email: 'bob@example.org' }, ...ada });
    const token = await mailbox.token('bob@example.org');
    await refused(accept);
    await described(accept, 400, { body: { token: 'wrong', password }, ...anonymous });
    await described(accept, 400, { body: { token, password, name: 3 }, ...anonymous });
    await described(accept, 403, { body: { token, password, role: 'a' }, ...anonymous });
    await described(accept, 409, { body: { token, password, code: 'a' }, ...anonymous });
    await described(accept, 418, { body: { token, password, name: 'teapot' }, ...anonymous });
    await described(accept, 201, { body: { token, password, name: 'Bob' }, ...anonymous });

    await described(`POST ${members}/invite`, 200, { body: { email: 'mia@example.org' }, ...ada });
    const body = { token: await mailbox.token('mia@example.org'), password };
    const mia = (await described(`POST ${members}/accept-invite`, 201, { body, ...anonymous })).body;
    await described(invite, 403, { body: { email: 'x@example.org' }, ...bearer(mia.token) });
    await described(`GET ${members}/me`, 200, bearer(mia.token));
    await described(`GET ${users}/me`, 401, bearer(mia.token));
  });

  it('are described for passwords that are forgotten', async () => {
    const [forgot, reset] = [`POST ${users}/forgot-password`, `POST ${users}/reset-password`];
    await refused(forgot);
    await described(forgot, 200, { body: { email: 'nobody@example.org' }, ...anonymous });
    await described(forgot, 200, { body: { email: 'bob@example.org' }, ...anonymous });
    // The first was the welcome, which has no token.
    await mailbox.next('bob@example.org');
    const token = await mailbox.token('bob@example.org');
    await refused(reset);
    await described(reset, 200, { body: { token, password: 'another horse' }, ...anonymous });
    await described(reset, 400, { body: { token, password }, ...anonymous });
  });

  it('are described for documents that are accounts', async () => {
    const made = await described(`POST ${users}`, 201, { body: { email: ' Eve@example.org', password, code: 'e' } });
    assert.equal(made.body.email, 'eve@example.org');
    await described(`POST ${users}`, 409, { body: { email: 'eve@example.org' } });
    await described(`POST ${users}`, 400, { body: { email: 'fay@example.org', password: 'short' } });
    await described(`POST ${members}`, 403, { body: { email: 'fay@example.org' } });
    await described(`GET ${members}`, 403);
    await described(`GET ${users}`, 200, ada);
    const { token } = (await login('users', { email: 'eve@example.org', password })).body;
    const own = { path: `${users}/${made.body.id}`, ...bearer(token) };
    await described(`PATCH ${users}/{id}`, 200, { body: { password: 'another horse' }, ...own });
    await described(`PATCH ${users}/{id}`, 403, { body: { role: 'a' }, ...own });
    await described(`GET ${users}/{id}`, 200, own);
    // A key beside a token takes nothing of the user's rights, and adds none.
    const both = { path: own.path, headers: bearer(token).headers as Record<string, string> };
    await described(`PATCH ${users}/{id}`, 403, { body: { role: 'a' }, ...both });
    await described(`PATCH ${users}/{id}`, 200, { body: { role: 'a' }, path: own.path });
    await described(`DELETE ${users}/{id}`, 200, { path: own.path });
  });

  it('are described for writes under a cookie, wherever they come from', async () => {
    const { headers } = await login('users', { email, password });
    const cookie = (headers.get('set-cookie') ?? '').split(';')[0] as string;
    const foreign = { key: null, headers: { cookie } };
    const own = { key: null, headers: { cookie, 'sec-fetch-site': 'same-origin' } };
    await described('POST /api/collections/badges', 403, { body: { text: 'x' }, ...foreign });
    const { id } = (await described('POST /api/collections/badges', 201, { body: { text: 'x' }, ...own })).body;
    const path = `/api/collections/badges/${id}`;
    await described('DELETE /api/collections/badges/{id}', 403, { path, ...foreign });
    await described('DELETE /api/collections/badges/{id}', 200, { path, ...own });
    await described('PATCH /api/globals/site', 403, { body: {}, ...foreign });
    await described('PATCH /api/globals/site', 200, { body: {}, ...own });
    await described(`POST ${users}/invite`, 403, { body: { email: 'x@example.org' }, ...foreign });
  });

  it('are described where a hook refuses what stands in the user', async () => {
    const { id } = (await described('POST /api/collections/badges', 201, { body: { text: 'secret' } })).body;
    await described(`PATCH ${users}/{id}`, 200, { path: `${users}/${ada.id}`, body: { badge: id } });
    await described(`GET ${users}/me`, 451, ada);
    await described(`PATCH ${users}/{id}`, 200, { path: `${users}/${ada.id}`, body: { badge: null } });
  });

  it('are described for the schemas that a user reads', async () => {
    const { body } = await described('GET /api/schemas', 200, ada);
    assert.deepEqual(Object.keys(body.collections[0].access), ['read', 'create', 'update', 'delete']);
    await described('GET /api/schemas', 200);
    await described('GET /api/schemas', 401, bearer('wrong'));
  });

  it('are described for whoever comes too often', async () => {
    await login('users', { email: 'locked@example.org', password: 'wrong' }, 401);
    await login('users', { email: 'locked@example.org', password: 'wrong' }, 401);
    const { headers } = await login('users', { email: 'locked@example.org', password: 'wrong' }, 429);
    assert.ok(Number(headers.get('retry-after')) > 500);
    const often = from('192.0.2.1');
    const body = { token: 'x', password };
    for (let count = 0; count < 150; count += 1) {
      await service.call('POST', `${members}/reset-password`, body, often);
    }
    for (const slug of ['users', 'members']) {
      const path = `POST /api/collections/${slug}`;
      await described(`${path}/login`, 429, { body: { email: 'x@example.org', password }, ...often });
      await described(`${path}/forgot-password`, 429, { body: { email: 'x@example.org' }, ...often });
      await described(`${path}/reset-password`, 429, { body, ...often });
      await described(`${path}/accept-invite`, 429, { body, ...often });
      await described(`${path}/first-user`, 429, { body: { setupToken, email, password }, ...often });
    }
  });

  it('are all that the document names, but for what cannot be brought about here', () => {
    const ofAccounts = answersOf(document()).filter((one) => /\/collections\/users\/(?!\{id\})/.test(one));
    assert.ok(ofAccounts.length > 12);
    assert.deepEqual(
      ofAccounts.filter((one) => !met.has(one) && !exempt.test(one)),
      [],
    );
  });
});
