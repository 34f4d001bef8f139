import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { before, describe, it } from 'node:test';
import { anonymous, bearer, type LoggedIn, loggedIn, login } from '../helpers/accounts.ts';
import { startHere } from '../helpers/embedded.ts';
import { useMailbox } from '../helpers/mail.ts';
import { assertRecorded, followLog } from '../helpers/recorded.ts';
import type { Answer, CallOptions } from '../helpers/service.ts';
import { eventually, useService } from '../helpers/shared.ts';

const mailbox = await useMailbox();
const service = useService(
  `const isAdmin = ({ user }) => user?.role === 'admin';
export default {
  bcryptCost: 4,
  rateLimit: false,
  collections: [
    {
      slug: 'users',
      auth: { useAPIKey: true, depth: 1, maxLoginAttempts: 3 },
      fields: [
        { name: 'name', type: 'text' },
        { name: 'role', type: 'select', options: ['admin', 'editor'], defaultValue: 'editor', access: { create: isAdmin, update: isAdmin } },
        { name: 'team', type: 'relationship', relationTo: 'teams' },
        { name: 'salary', type: 'number', access: { read: () => false } },
      ],
    },
    { slug: 'members', auth: true, fields: [] },
    {
      slug: 'guarded',
      auth: true,
      fields: [],
      access: { create: ({ user, data }) => user.collection === 'users' || data.email.endsWith('@example.org') },
    },
    {
      slug: 'watched',
      auth: { useAPIKey: true },
      fields: [{ name: 'name', type: 'text' }],
      access: { update: ({ user, data }) => user?.collection === 'watched' && data.password === undefined },
    },
    { slug: 'teams', fields: [{ name: 'name', type: 'text' }, { name: 'people', type: 'join', collection: 'users', on: 'team' }] },
    {
      slug: 'notes',
      fields: [{ name: 'text', type: 'text' }, { name: 'owner', type: 'relationship', relationTo: 'users' }],
      access: {
        read: ({ user }) => (user?.team?.name === 'Lawyers' ? true : user ? { owner: { equals: user.id } } : false),
        create: ({ user }) => user?.collection === 'users',
        update: ({ user, doc }) => Boolean(user) && doc?.owner === user.id,
        delete: isAdmin,
      },
      hooks: { beforeChange: ({ user, data }) => ({ ...data, text: data.text + ' by ' + (user?.email ?? 'unknown') }) },
    },
  ],
};`,
  { ANNALS_SMTP_URL: mailbox.url, ANNALS_MAIL_FROM: 'Annals <annals@example.org>', ANNALS_THREADS: '2' },
);

const password = 'correct horse battery';
let team: string;

before(async () => {
  team = (await service.call('POST', '/api/collections/teams', { name: 'Lawyers' })).body.id;
});

/** Makes a user under the API key. */
async function user(name: string, values: object = {}): Promise<string> {
  const body = { email: `${name}@example.org`, password, name, ...values };
  const { status, body: made } = await assertRecorded(
    service,
    () => service.call('POST', '/api/collections/users', body),
    (answer) => [`document.created users/${answer.body.id}`, `password.changed accounts/users/${answer.body.id}`],
  );
  assert.equal(status, 201, JSON.stringify(made));
  return made.id;
}

async function newUser(name: string, values: object = {}): Promise<LoggedIn> {
  await user(name, values);
  return loggedIn(service, 'users', `${name}@example.org`, password);
}

type Listed = { sid: string; isCurrent: boolean };

function isCurrent(session: Listed): boolean {
  return session.isCurrent;
}

describe('A user who logs in (2.6, 4.4)', () => {
  it('gets a token and themselves, without a password', async () => {
    const id = await user('ada', { salary: 3 });
    const { status, body } = await assertRecorded(
      service,
      () => login(service, 'users', ' ADA@example.org ', password),
      [`login.succeeded accounts/users/${id}`, `session.started accounts/users/${id}`],
    );
    assert.equal(status, 200);
    assert.deepEqual(Object.keys(body), ['token', 'user']);
    assert.deepEqual(Object.keys(body.user), ['id', 'createdAt', 'updatedAt', 'email', 'name', 'role', 'team']);
    assert.equal(body.user.id, id);
    const claims = JSON.parse(Buffer.from(body.token.split('.')[1], 'base64url').toString());
    assert.deepEqual(Object.keys(claims).sort(), ['collection', 'exp', 'iat', 'sid', 'sub']);
    assert.deepEqual([claims.sub, claims.collection, claims.exp - claims.iat], [id, 'users', 7200]);
  });

  it('is refused in the same words whether the e-mail or the password is wrong', async () => {
    const id = await user('bob');
    const refused = (types: string[], ...words: [slug: string, email: string, password: string]) =>
      assertRecorded(service, () => login(service, ...words), types);
    const failed = `login.failed accounts/users/${id}`;
    const wrong = await refused([failed], 'users', 'bob@example.org', 'wrong password');
    const unknown = await refused([], 'users', 'unknown@example.org', 'wrong password');
    const elsewhere = await refused([], 'members', 'bob@example.org', password);
    assert.equal(wrong.status, 401);
    assert.deepEqual(unknown.body, wrong.body);
    assert.deepEqual(elsewhere.body, wrong.body);
  });

  it('reads themselves, with relations to the depth of the configuration', async () => {
    const { as, id } = await newUser('carl', { team });
    const { status, body } = await service.call('GET', '/api/collections/users/me', undefined, as);
    assert.equal(status, 200);
    assert.deepEqual([body.id, body.team.name], [id, 'Lawyers']);
    assert.ok(!('password' in body) && !('salary' in body));
  });

  it('gets a new token for the same session', async () => {
    const { as, id } = await newUser('dora');
    const { status, body } = await assertRecorded(
      service,
      () => service.call('POST', '/api/collections/users/refresh-token', undefined, as),
      [`session.refreshed accounts/users/${id}`],
    );
    assert.equal(status, 200);
    assert.deepEqual(Object.keys(body), ['token']);
    assert.equal((await service.call('GET', '/api/collections/users/me', undefined, bearer(body.token))).body.id, id);
  });

  it('is logged out at once, and no other user is', async () => {
    const first = await newUser('emil');
    const second = await loggedIn(service, 'users', 'emil@example.org', password);
    const { status, headers } = await assertRecorded(
      service,
      () => service.call('POST', '/api/collections/users/logout', undefined, first.as),
      [`session.revoked accounts/users/${first.id}`],
    );
    assert.equal(status, 200);
    assert.equal(headers.get('content-length') ?? '0', '0');
    assert.equal(headers.get('clear-site-data'), '"cache"');
    assert.equal((await service.call('GET', '/api/collections/users/me', undefined, first.as)).status, 401);
    assert.equal((await service.call('GET', '/api/collections/users/me', undefined, second.as)).status, 200);
  });

  it('sees where they are logged in, and ends a session of theirs', async () => {
    const here = await newUser('fred');
    const there = await loggedIn(service, 'users', 'fred@example.org', password);
    const other = await newUser('gina');
    const { docs: sessions } = (await service.call('GET', '/api/collections/users/sessions', undefined, here.as)).body;
    assert.equal(sessions.length, 2);
    const [mine, its] = [sessions.find(isCurrent), sessions.find((one: Listed) => !isCurrent(one))];
    assert.equal(mine.ip, '127.0.0.1');
    const path = `/api/collections/users/sessions/${its.sid}`;
    assert.equal((await service.call('DELETE', path, undefined, other.as)).status, 404);
    const end = () => service.call('DELETE', path, undefined, here.as);
    const ended = await assertRecorded(service, end, [
      { type: 'session.revoked', stream: `accounts/users/${here.id}`, data: { sid: its.sid } },
    ]);
    assert.equal(ended.status, 200);
    assert.equal(ended.headers.get('clear-site-data'), null);
    assert.equal((await service.call('GET', '/api/collections/users/me', undefined, there.as)).status, 401);
    assert.equal((await end()).status, 404);
    for (const [one, path] of [
      [here, '/api/collections/users/sessions'],
      [other, `/api/collections/users/${other.id}/sessions`],
    ] as const) {
      const { docs: sessions } = (await service.call('GET', '/api/collections/users/sessions', undefined, one.as)).body;
      const own = await service.call('DELETE', `${path}/${sessions.find(isCurrent).sid}`, undefined, one.as);
      assert.deepEqual([own.status, own.headers.get('clear-site-data')], [200, '"cache"']);
    }
  });

  it('is needed if an API key by itself is not enough', async () => {
    for (const [method, path] of [
      ['GET', 'me'],
      ['POST', 'logout'],
      ['POST', 'refresh-token'],
      ['GET', 'sessions'],
    ] as const) {
      assert.equal((await service.call(method, `/api/collections/users/${path}`)).status, 401, path);
      assert.equal((await service.call(method, `/api/collections/users/${path}`, undefined, anonymous)).status, 401);
    }
    assert.equal((await service.call('POST', '/api/collections/users/invite', { email: 'x@y.org' })).status, 401);
  });
});

describe('The work a user has begun', () => {
  it('is not carried out when they are logged out before it has arrived', async () => {
    const { token, id, as } = await newUser('hans');
    const body = JSON.stringify({ email: 'thief@example.org' });
    const held = request(`${service.url}/api/collections/users/${id}`, {
      method: 'PATCH',
      headers: {
        authorization: `Bearer ${token}`,
        'content-type': 'application/json',
        'content-length': String(body.length),
      },
    });
    const answered = once(held, 'response');
    held.write(body.slice(0, 9));
    // In most runs it has been looked at by now, and its rest is waited for.
    await service.call('GET', '/api/collections/users/me', undefined, as);
    await service.call('POST', '/api/collections/users/logout', undefined, as);
    held.end(body.slice(9));
    const [response] = (await answered) as [IncomingMessage];
    response.resume();
    assert.equal(response.statusCode, 401);
    assert.equal((await service.call('GET', `/api/collections/users/${id}`)).body.email, 'hans@example.org');
  });
});

describe('Rules and hooks (5)', () => {
  it('are given the user, with relations followed', async () => {
    const lawyer = await newUser('hugo', { team });
    const other = await newUser('ines');
    const made = await service.call('POST', '/api/collections/notes', { text: 'one', owner: other.id }, other.as);
    assert.equal(made.status, 201);
    assert.equal(made.body.text, 'one by ines@example.org');
    await service.call('POST', '/api/collections/notes', { text: 'two', owner: lawyer.id }, lawyer.as);
    const list = (who: LoggedIn) => service.call('GET', '/api/collections/notes', undefined, who.as);
    assert.equal((await list(other)).body.total, 1);
    assert.ok((await list(lawyer)).body.total >= 2);
    const path = `/api/collections/notes/${made.body.id}`;
    assert.equal((await service.call('PATCH', path, { text: 'x' }, lawyer.as)).status, 403);
    assert.equal((await service.call('PATCH', path, { text: 'x' }, other.as)).status, 200);
    assert.equal((await service.call('DELETE', path, undefined, other.as)).status, 403);
  });

  it('hold for the user if a key and a token come together', async () => {
    const { token } = await newUser('jane');
    const both = { headers: { authorization: `Bearer ${token}` } };
    assert.equal((await service.call('GET', '/api/collections/users', undefined, both)).body.total > 1, true);
    const note = (await service.call('POST', '/api/collections/notes', { text: 'of the key' })).body;
    assert.equal((await service.call('DELETE', `/api/collections/notes/${note.id}`, undefined, both)).status, 403);
    assert.equal((await service.call('DELETE', `/api/collections/notes/${note.id}`)).status, 200);
  });

  it('hold for what a join names', async () => {
    const { id, as: admin } = await newUser('lena', { team });
    const email = 'outside@example.org';
    await service.call('POST', '/api/collections/members', { email, password }, admin);
    const { as: outside } = await loggedIn(service, 'members', email, password);
    const people = async (as: typeof admin) =>
      (await service.call('GET', `/api/collections/teams/${team}`, undefined, as)).body.people;
    assert.ok((await people(admin)).includes(id));
    assert.deepEqual(await people(outside), []);
    await service.call('DELETE', `/api/collections/users/${id}`, undefined, admin);
  });

  it('that are missing on accounts let members see themselves, and users of the first collection everybody', async () => {
    const admin = await newUser('kate');
    const make = (name: string) =>
      service.call('POST', '/api/collections/members', { email: `${name}@example.org`, password }, admin.as);
    const [one, two] = [(await make('one')).body, (await make('two')).body];
    const member = await loggedIn(service, 'members', 'one@example.org', password);
    const call = (method: string, path: string, body?: unknown) =>
      service.call(method, `/api/collections/members${path}`, body, member.as);
    assert.deepEqual(
      (await call('GET', '')).body.docs.map(({ id }: { id: string }) => id),
      [one.id],
    );
    assert.equal((await call('GET', `/${two.id}`)).status, 403);
    assert.equal((await call('PATCH', `/${two.id}`, { email: 'stolen@example.org' })).status, 403);
    assert.equal((await call('PATCH', `/${one.id}`, { email: 'ONE2@example.org' })).body.email, 'one2@example.org');
    assert.equal((await call('DELETE', `/${one.id}`)).status, 403);
    assert.equal((await call('POST', '', { email: 'three@example.org', password })).status, 403);
    assert.equal((await service.call('GET', '/api/collections/users', undefined, member.as)).status, 403);
    const all = (await service.call('GET', '/api/collections/members', undefined, admin.as)).body.docs;
    for (const { id } of [one, two]) assert.ok(all.some((member: { id: string }) => member.id === id));
    // Without useAPIKey, a key is no key here.
    assert.equal((await service.call('GET', '/api/collections/members')).status, 403);
    assert.equal((await service.call('GET', `/api/collections/members/${one.id}`)).status, 403);
    assert.equal((await service.call('DELETE', `/api/collections/members/${two.id}`, undefined, admin.as)).status, 200);
  });
});

describe('A password (2.2, 4.4)', () => {
  it('is changed by its user, who stays logged in here and nowhere else', async () => {
    const here = await newUser('leo');
    const there = await loggedIn(service, 'users', 'leo@example.org', password);
    const path = `/api/collections/users/${here.id}`;
    const { status, body } = await assertRecorded(
      service,
      () => service.call('PATCH', path, { password: 'another good one' }, here.as),
      [`password.changed accounts/users/${here.id}`],
    );
    assert.equal(status, 200, JSON.stringify(body));
    assert.ok(!('password' in body));
    assert.equal((await service.call('GET', '/api/collections/users/me', undefined, here.as)).status, 200);
    assert.equal((await service.call('GET', '/api/collections/users/me', undefined, there.as)).status, 401);
    assert.equal((await login(service, 'users', 'leo@example.org', password)).status, 401);
    assert.equal((await login(service, 'users', 'leo@example.org', 'another good one')).status, 200);
  });

  it('that somebody else changes ends all sessions', async () => {
    const { as, id } = await newUser('mona');
    assert.equal(
      (await service.call('PATCH', `/api/collections/users/${id}`, { password: 'set by the key' })).status,
      200,
    );
    assert.equal((await service.call('GET', '/api/collections/users/me', undefined, as)).status, 401);
  });

  it('is not kept when the rest of the write is refused', async () => {
    const { id } = await newUser('nils');
    const path = `/api/collections/users/${id}`;
    const { status, body } = await assertRecorded(
      service,
      () => service.call('PATCH', path, { password: 'short', role: 'king' }),
      [],
    );
    assert.equal(status, 400);
    assert.deepEqual(body.errors.map(({ field }: { field: string }) => field).sort(), ['password', 'role']);
    assert.equal(
      (await service.call('PATCH', path, { password: 'good enough', email: 'mona@example.org' })).status,
      409,
    );
    assert.equal((await login(service, 'users', 'nils@example.org', password)).status, 200);
  });

  it('may be refused by a rule, which sees that there is one and not which', async () => {
    const made = await service.call('POST', '/api/collections/watched', { email: 'w@example.org', password });
    const { as } = await loggedIn(service, 'watched', 'w@example.org', password);
    const change = (body: object) => service.call('PATCH', `/api/collections/watched/${made.body.id}`, body, as);
    assert.equal((await change({ name: 'W', password: 'another good one' })).status, 403);
    assert.equal((await change({ name: 'W' })).status, 200);
  });

  it('is not reset by a mail to an address that the account has no longer', async () => {
    const { id } = await newUser('petra');
    await service.call('POST', '/api/collections/users/forgot-password', { email: 'petra@example.org' }, anonymous);
    const token = await mailbox.token('petra@example.org');
    await service.call('PATCH', `/api/collections/users/${id}`, { email: 'petra2@example.org' });
    const body = { token, password: 'taken over now' };
    assert.equal((await service.call('POST', '/api/collections/users/reset-password', body, anonymous)).status, 400);
    assert.equal((await login(service, 'users', 'petra2@example.org', password)).status, 200);
  });

  it('is gone with its user, and so are their sessions', async () => {
    const { as, id } = await newUser('olga');
    const remove = () => service.call('DELETE', `/api/collections/users/${id}`);
    assert.equal((await assertRecorded(service, remove, [`document.deleted users/${id}`])).status, 200);
    assert.equal((await service.call('GET', '/api/collections/users/me', undefined, as)).status, 401);
    assert.equal((await login(service, 'users', 'olga@example.org', password)).status, 401);
  });

  it('that was forgotten is reset by a mail, once', async () => {
    const { as, id } = await newUser('paul');
    const forgot = (email: string) =>
      service.call('POST', '/api/collections/users/forgot-password', { email }, anonymous);
    const known = await assertRecorded(service, () => forgot('PAUL@example.org'), [
      `password.reset.requested accounts/users/${id}`,
      'email.sent',
    ]);
    const unknown = await assertRecorded(service, () => forgot('unknown@example.org'), []);
    assert.deepEqual([known.status, known.body], [unknown.status, unknown.body]);
    assert.equal(known.body.success, true);
    const old = await mailbox.token('paul@example.org');
    await forgot('paul@example.org');
    const token = await mailbox.token('paul@example.org');
    const reset = (body: object) => service.call('POST', '/api/collections/users/reset-password', body, anonymous);
    assert.equal((await reset({ token: old, password: 'the older token' })).status, 400);
    assert.equal((await reset({ token, password: 'short' })).status, 400);
    const race = () => Promise.all([1, 2, 3].map((n) => reset({ token, password: `chosen in race ${n}` })));
    const answers = await assertRecorded(service, race, [`password.changed accounts/users/${id}`, 'email.sent']);
    assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 400, 400]);
    assert.equal((await service.call('GET', '/api/collections/users/me', undefined, as)).status, 401);
    assert.equal((await login(service, 'users', 'paul@example.org', password)).status, 401);
    const winner = answers.findIndex(({ status }) => status === 200) + 1;
    assert.equal((await login(service, 'users', 'paul@example.org', `chosen in race ${winner}`)).status, 200);
    assert.match((await mailbox.next('paul@example.org')).subject ?? '', /password/i);
  });
});

describe('An invitation (2.6, 4.4)', () => {
  const invite = (who: LoggedIn, email: unknown, slug = 'users') =>
    service.call('POST', `/api/collections/${slug}/invite`, { email }, who.as);
  const accept = (body: object, slug = 'users') =>
    service.call('POST', `/api/collections/${slug}/accept-invite`, body, anonymous);

  it('makes an account, once, that is logged in and welcomed', async () => {
    const admin = await newUser('rosa');
    const { status, body } = await assertRecorded(service, () => invite(admin, ' New@Example.org'), [
      'invite.created',
      'email.sent',
    ]);
    assert.equal(status, 200);
    assert.deepEqual(Object.keys(body).sort(), ['message', 'success']);
    const token = await mailbox.token('new@example.org');
    assert.equal((await accept({ token, password: 'short' })).status, 400);
    assert.equal((await accept({ token, password, role: 'admin' })).status, 403);
    assert.equal((await accept({ token, password, nmae: 'x' })).status, 400);
    assert.equal((await accept({ token, password }, 'members')).status, 400);
    const made = await assertRecorded(
      service,
      () => accept({ token, password, name: 'New' }),
      (answer) => [
        `document.created users/${answer.body.user.id}`,
        'invite.accepted',
        `password.changed accounts/users/${answer.body.user.id}`,
        `session.started accounts/users/${answer.body.user.id}`,
        'email.sent',
      ],
    );
    assert.equal(made.status, 201, JSON.stringify(made.body));
    assert.deepEqual(
      [made.body.user.email, made.body.user.name, made.body.user.role],
      ['new@example.org', 'New', 'editor'],
    );
    const me = await service.call('GET', '/api/collections/users/me', undefined, bearer(made.body.token));
    assert.equal(me.body.id, made.body.user.id);
    assert.match((await mailbox.next('new@example.org')).subject ?? '', /welcome/i);
    assert.equal((await accept({ token, password })).status, 400);
    assert.equal((await invite(admin, 'new@example.org')).status, 409);
  });

  it('is replaced by a second one to the same address', async () => {
    const admin = await newUser('sven');
    await invite(admin, 'twice@example.org');
    const first = await mailbox.token('twice@example.org');
    await invite(admin, 'twice@example.org');
    const second = await mailbox.token('twice@example.org');
    assert.equal((await accept({ token: first, password })).status, 400);
    const answers = await Promise.all([1, 2, 3].map(() => accept({ token: second, password })));
    assert.deepEqual(answers.map(({ status }) => status).sort(), [201, 400, 400]);
  });

  it('ends with the account that sent it', async () => {
    const admin = await newUser('rolf');
    await invite(admin, 'orphan@example.org');
    const token = await mailbox.token('orphan@example.org');
    await service.call('DELETE', `/api/collections/users/${admin.id}`);
    assert.equal((await accept({ token, password })).status, 400);
  });

  it('is listed and withdrawn by those who might have sent it, once', async () => {
    const admin = await newUser('uwe');
    const path = '/api/collections/users/invitations';
    const list = async () => (await service.call('GET', path, undefined, admin.as)).body.docs;
    const withdraw = (id: string, as = admin.as) => service.call('DELETE', `${path}/${id}`, undefined, as);
    const before = await list();
    await assertRecorded(service, () => invite(admin, 'late@example.org'), ['invite.created', 'email.sent']);
    const token = await mailbox.token('late@example.org');
    const [invitation, ...rest] = (await list()).filter(({ email }: { email: string }) => email === 'late@example.org');
    assert.deepEqual(rest, []);
    const { id, createdAt, expiresAt, ...shown } = invitation;
    assert.deepEqual(shown, { email: 'late@example.org', invitedBy: { type: 'user', id: `users/${admin.id}` } });
    assert.equal(Date.parse(expiresAt) - Date.parse(createdAt) <= 7 * 86_400_000, true);
    assert.equal((await withdraw(id, {})).status, 401, 'a key alone');
    assert.equal((await withdraw(id, anonymous)).status, 401);
    const elsewhere = `/api/collections/members/invitations/${id}`;
    assert.equal((await service.call('DELETE', elsewhere, undefined, admin.as)).status, 404, 'of another collection');
    const answers = await assertRecorded(service, () => Promise.all([1, 2, 3].map(() => withdraw(id))), [
      `invite.withdrawn accounts/users/invites/${id}`,
    ]);
    assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 404, 404]);
    assert.deepEqual(answers.find(({ status }) => status === 200)?.body, invitation);
    assert.deepEqual(await list(), before);
    assert.equal((await accept({ token, password })).status, 400);
    assert.equal((await withdraw('../users')).status, 404);
  });

  it('is shown only to users whom the rule lets send it', async () => {
    const admin = await newUser('viktor');
    const path = '/api/collections/guarded/invitations';
    const list = (as: CallOptions) => service.call('GET', path, undefined, as);
    await service.call('POST', '/api/collections/members', { email: 'g@example.org', password }, admin.as);
    const member = await loggedIn(service, 'members', 'g@example.org', password);
    assert.equal((await invite(admin, 'in@example.org', 'guarded')).status, 200);
    assert.equal((await invite(admin, 'out@example.com', 'guarded')).status, 200);
    assert.equal((await invite(member, 'in@example.com', 'guarded')).status, 403);
    const emails = ({ body }: Answer) => body.docs.map(({ email }: { email: string }) => email);
    const all = await list(admin.as);
    assert.deepEqual(emails(all), ['in@example.org', 'out@example.com']);
    assert.deepEqual(emails(await list(member.as)), ['in@example.org']);
    const [own, foreign] = all.body.docs;
    const withdraw = (id: string) => service.call('DELETE', `${path}/${id}`, undefined, member.as);
    assert.equal((await withdraw(foreign.id)).status, 404);
    assert.equal((await withdraw(own.id)).status, 200);
    assert.equal((await service.call('GET', '/api/collections/members/invitations', undefined, member.as)).status, 403);
    await service.call('DELETE', `/api/collections/users/${admin.id}`);
    const other = await newUser('wim');
    assert.deepEqual(emails(await list(other.as)), [], 'invitations end with the account that sent them');
  });

  it('needs the right to create', async () => {
    const admin = await newUser('tina');
    await service.call('POST', '/api/collections/members', { email: 'm@example.org', password }, admin.as);
    const member = await loggedIn(service, 'members', 'm@example.org', password);
    assert.equal((await invite(member, 'friend@example.org', 'members')).status, 403);
    assert.equal((await invite(member, 'no address', 'members')).status, 403);
    assert.equal((await invite(admin, 'friend@example.org', 'members')).status, 200);
  });
});

describe('The state of an account', () => {
  const call = (method: string, path: string, { as }: { as: CallOptions }) =>
    service.call(method, `/api/collections/users/${path}`, undefined, as);

  it('is shown to callers who may update it, and to no other', async () => {
    const own = await newUser('xavier');
    const other = await newUser('yara');
    await login(service, 'users', 'xavier@example.org', 'wrong password');
    const { status, body } = await call('GET', `${own.id}/account`, own);
    assert.equal(status, 200, JSON.stringify(body));
    const { sessions, ...state } = body;
    const unlocked = { locked: false, lockedUntil: null, failures: 1, hasPassword: true };
    assert.deepEqual(state, { ...unlocked, lastLoginAt: sessions[0].startedAt });
    const listed = await call('GET', 'sessions', own);
    assert.deepEqual(sessions, listed.body.docs);
    const byOther = (await call('GET', `${own.id}/account`, other)).body;
    assert.deepEqual(byOther.sessions.map(isCurrent), [false]);
    await service.call('POST', '/api/collections/members', { email: 'state@example.org', password }, own.as);
    const member = await loggedIn(service, 'members', 'state@example.org', password);
    const last = sessions[0].sid;
    for (const [method, path] of [
      ['GET', `${own.id}/account`],
      ['POST', `${own.id}/unlock`],
      ['DELETE', `${own.id}/sessions/${last}`],
    ] as const) {
      assert.equal((await call(method, path, member)).status, 403, path);
      assert.equal((await call(method, path, { as: anonymous })).status, 401, path);
      // Whether there is such an account is not told either.
      const none = path.replace(own.id, 'none');
      assert.equal((await call(method, none, { as: anonymous })).status, 401, none);
      assert.equal((await call(method, none, own)).status, 404, none);
      assert.equal((await call(method, `${path}?x=1`, own)).status, 400, path);
    }
    const membersOwn = `/api/collections/members/${member.id}`;
    assert.equal(
      (await service.call('GET', `${membersOwn}/account`)).status,
      403,
      'a key, which accounts are closed to',
    );
    assert.equal((await service.call('GET', `${membersOwn}/account`, undefined, member.as)).status, 200);
    const without = (await service.call('POST', '/api/collections/users', { email: 'bare@example.org' })).body.id;
    const bare = { locked: false, lockedUntil: null, failures: 0, lastLoginAt: null, hasPassword: false, sessions: [] };
    assert.deepEqual((await call('GET', `${without}/account`, own)).body, bare);
  });

  it('has a lock that others may end, and its user may not', async () => {
    const own = await newUser('zeno');
    const other = await newUser('abel');
    const attempts = Array.from({ length: 3 }, () => login(service, 'users', 'zeno@example.org', 'wrong password'));
    await Promise.all(attempts);
    const { body } = await call('GET', `${own.id}/account`, other);
    assert.deepEqual([body.locked, body.failures, body.sessions.length], [true, 3, 1]);
    assert.ok(Date.parse(body.lockedUntil) > Date.now());
    const refused = await assertRecorded(service, () => call('POST', `${own.id}/unlock`, own), []);
    assert.equal(refused.status, 403);
    assert.equal((await login(service, 'users', 'zeno@example.org', password)).status, 429);
    const unlock = () => call('POST', `${own.id}/unlock`, other);
    const unlocked = { type: 'account.unlocked', stream: `accounts/users/${own.id}` } as const;
    const actor = { type: 'user', id: `users/${other.id}` } as const;
    const done = await assertRecorded(service, unlock, [{ ...unlocked, actor }]);
    assert.deepEqual([done.status, done.body.locked, done.body.failures], [200, false, 0]);
    assert.equal((await login(service, 'users', 'zeno@example.org', password)).status, 200);
    assert.equal((await assertRecorded(service, unlock, [])).status, 200, 'nothing was left to end');
  });

  it('has sessions that end for every thread at once', async () => {
    const own = await newUser('bert');
    const again = await loggedIn(service, 'users', 'bert@example.org', password);
    const other = await newUser('cleo');
    const [first, second] = (await call('GET', `${own.id}/account`, other)).body.sessions;
    const foreign = await call('DELETE', `${other.id}/sessions/${first.sid}`, other);
    assert.equal(foreign.status, 404, 'a session of another account');
    const ended = await assertRecorded(service, () => call('DELETE', `${own.id}/sessions/${first.sid}`, other), [
      { type: 'session.revoked', data: { sid: first.sid } },
    ]);
    assert.deepEqual([ended.status, ended.body], [200, first]);
    const statuses = await Promise.all(Array.from({ length: 12 }, async () => (await call('GET', 'me', own)).status));
    assert.deepEqual(new Set(statuses), new Set([401]));
    assert.equal((await call('GET', 'me', again)).status, 200);
    assert.equal((await call('DELETE', `${own.id}/sessions/${first.sid}`, other)).status, 404);
    const left = (await call('GET', `${own.id}/account`, again)).body.sessions;
    assert.deepEqual(left, [{ ...second, isCurrent: true }]);
  });
});

describe('A lock (3)', () => {
  it('comes after too many failures, counted exactly, and tells nothing', async () => {
    await user('ugo');
    const attempts = (email: string) =>
      Promise.all(Array.from({ length: 12 }, () => login(service, 'users', email, 'wrong password')));
    for (const email of ['ugo@example.org', 'ghost@example.org']) {
      const log = followLog(service.data);
      log.next();
      const answers = await attempts(email);
      const types = () => log.next().map(({ type }) => type);
      // The events of simultaneous attempts are recorded in any order.
      const found: string[] = [];
      if (email.startsWith('ugo')) await eventually(() => found.push(...types()) >= 4);
      assert.deepEqual(
        [...found.sort(), ...types()],
        found.length > 0 ? ['account.locked', ...Array(3).fill('login.failed')] : [],
      );
      log.close();
      assert.deepEqual(answers.map(({ status }) => status).sort(), [401, 401, 401, ...Array(9).fill(429)]);
      const locked = await login(service, 'users', email, password);
      assert.equal(locked.status, 429);
      assert.ok(Number(locked.headers.get('retry-after')) > 590);
    }
  });

  it('ends with a reset of the password', async () => {
    const id = await user('vera');
    for (let count = 0; count < 3; count += 1) await login(service, 'users', 'vera@example.org', 'wrong password');
    assert.equal((await login(service, 'users', 'vera@example.org', password)).status, 429);
    await service.call('POST', '/api/collections/users/forgot-password', { email: 'vera@example.org' }, anonymous);
    const token = await mailbox.token('vera@example.org');
    const body = { token, password: 'a better password' };
    const reset = () => service.call('POST', '/api/collections/users/reset-password', body, anonymous);
    const types = [`password.changed accounts/users/${id}`, `account.unlocked accounts/users/${id}`];
    assert.equal((await assertRecorded(service, reset, types)).status, 200);
    assert.equal((await login(service, 'users', 'vera@example.org', 'a better password')).status, 200);
  });

  it('is not reached by failures with a success between', async () => {
    await user('willi');
    for (const attempt of ['wrong one', 'wrong two', password, 'wrong three', 'wrong four', password]) {
      const { status } = await login(service, 'users', 'willi@example.org', attempt);
      assert.equal(status, attempt === password ? 200 : 401);
    }
  });
});

describe('A cookie (5)', () => {
  it('is not set for another site', async () => {
    await user('xaver');
    const body = { email: 'xaver@example.org', password };
    const from = (site: string) =>
      service.call('POST', '/api/collections/users/login', body, { key: null, headers: { 'sec-fetch-site': site } });
    for (const site of ['cross-site', 'same-site']) assert.equal((await from(site)).headers.get('set-cookie'), null);
    for (const site of ['same-origin', 'none'])
      assert.match((await from(site)).headers.get('set-cookie') ?? '', /^annals-users=/);
  });

  const cookieOf = (headers: Headers) => headers.get('set-cookie') ?? '';

  it('stands for the token in a browser', async () => {
    await user('xena');
    const { headers, body } = await login(service, 'users', 'xena@example.org', password);
    assert.match(
      cookieOf(headers),
      /^annals-users=[^;]+; Max-Age=7200; Expires=[^;]+; HttpOnly; SameSite=Lax; Path=\/$/,
    );
    const cookie = cookieOf(headers).split(';')[0] as string;
    const call = (method: string, path: string, extra: Record<string, string> = {}, sent?: unknown) =>
      service.call(method, path, sent, { key: null, headers: { cookie, ...extra } });
    assert.equal((await call('GET', '/api/collections/users/me')).body.id, body.user.id);
    assert.equal((await call('GET', '/api/collections/notes')).status, 200);
    const path = `/api/collections/users/${body.user.id}`;
    const own = new URL(service.url).origin;
    assert.equal((await call('PATCH', path, {}, { name: 'X' })).status, 403);
    assert.equal((await call('PATCH', path, { origin: 'https://evil.example' }, { name: 'X' })).status, 403);
    assert.equal((await call('PATCH', path, { origin: 'null' }, { name: 'X' })).status, 403);
    assert.equal(
      (await call('PATCH', path, { 'sec-fetch-site': 'same-site', origin: own }, { name: 'X' })).status,
      403,
    );
    assert.equal((await call('PATCH', path, { origin: own }, { name: 'X' })).status, 200);
    assert.equal((await call('PATCH', path, { 'sec-fetch-site': 'same-origin' }, { name: 'Y' })).status, 200);
    const out = await call('POST', '/api/collections/users/logout', { origin: own });
    assert.equal(out.status, 200);
    assert.match(cookieOf(out.headers), /^annals-users=; Max-Age=0;/);
    const gone = await call('GET', '/api/collections/users/me');
    assert.equal(gone.status, 401);
    assert.match(cookieOf(gone.headers), /^annals-users=; Max-Age=0;/);
  });

  it('gives no right to write to a page of the same host in another scheme than ANNALS_BASE_URL has', async (t) => {
    const auth = { useAPIKey: true };
    const here = await startHere(t, { bcryptCost: 4, collections: [{ slug: 'users', auth, fields: [] }] });
    await here.call('POST', '/api/collections/users', { email: 'xenia@example.org', password });
    const { headers } = await login(here, 'users', 'xenia@example.org', password);
    const cookie = cookieOf(headers).split(';')[0] as string;
    const from = (origin: string) =>
      here.call('POST', '/api/collections/users/refresh-token', undefined, { key: null, headers: { cookie, origin } });
    const { origin } = new URL(here.url);
    assert.equal((await from(origin)).status, 200);
    assert.equal((await from(origin.replace('http:', 'https:'))).status, 403);
  });
});
