import assert from 'node:assert/strict';
import { join } from 'node:path';
import { before, describe, it } from 'node:test';
import { readSecret } from '../../events/vault/vault.ts';
import { isFromHere } from '../../server/callers/authentication.ts';
import { anonymous, loggedIn, login } from '../helpers/accounts.ts';
import { startHere } from '../helpers/embedded.ts';
import { assertRecorded } from '../helpers/recorded.ts';
import { type Answer, type CallOptions, temporaryFolder } from '../helpers/service.ts';
import { errorsOf, eventually, fieldsOf, logLines, recordedEvents, useService } from '../helpers/shared.ts';

const config = {
  bcryptCost: 4,
  rateLimit: false,
  trustProxy: true,
  limits: { body: 10_000 },
  collections: [
    { slug: 'users', auth: { maxLoginAttempts: 2, useAPIKey: true }, fields: [{ name: 'name', type: 'text' }] },
    { slug: 'members', auth: true, fields: [] },
    { slug: 'posts', fields: [{ name: 'title', type: 'text' }] },
  ],
};
const password = 'correct horse battery';
const unlock = '/api/operator/unlock';
const revoke = '/api/operator/sessions/revoke';
const setPassword = '/api/operator/set-password';
const users = '/api/operator/users';
const service = useService(config);
let secret: string;

before(async () => {
  await service.call('GET', '/ready');
  secret = readSecret(join(service.data, 'vault.db'), 'operator') ?? assert.fail('there is no secret');
});

function as(credential: string, more: Record<string, string> = {}): CallOptions {
  return { key: null, headers: { authorization: `Annals-Operator ${credential}`, ...more } };
}

async function user(email: string, collection = 'users'): Promise<string> {
  const { status, body } = await service.call(
    'POST',
    `/api/collections/${collection}`,
    { email, password },
    as(secret),
  );
  assert.equal(status, 201, JSON.stringify(body));
  return body.id;
}

async function fail(email: string): Promise<Answer> {
  await login(service, 'users', email, 'wrong password');
  return login(service, 'users', email, 'wrong password');
}

describe("The operator's routes", () => {
  it('are not there for anybody else: with or without a body, in every form', async () => {
    await user('ada@example.org');
    const { token } = await loggedIn(service, 'users', 'ada@example.org', password);
    await fail('ada@example.org');
    const callers: Record<string, CallOptions> = {
      anonymous,
      'an API key': {},
      'a user': { key: null, headers: { authorization: `Bearer ${token}` } },
      'a user with a key': { headers: { authorization: `Bearer ${token}` } },
      'a user by cookie': { key: null, headers: { cookie: `annals-users=${token}`, 'sec-fetch-site': 'same-origin' } },
    };
    const bodies = [{ collection: 'users', email: 'ada@example.org' }, undefined, '{', 'x'.repeat(20_000)];
    for (const [who, options] of Object.entries(callers)) {
      for (const body of bodies) {
        const elsewhere = await service.call('POST', '/api/operator/nothing', body, options);
        for (const path of [unlock, revoke, setPassword, users]) {
          const answer = await service.call('POST', path, body, options);
          assert.equal(answer.status, 404, who);
          assert.deepEqual(answer.body, { ...elsewhere.body, message: `there is no POST ${path}` });
        }
      }
      const text = { ...options, headers: { ...options.headers, 'content-type': 'text/plain' } };
      for (const path of [unlock, revoke, setPassword, users])
        assert.equal((await service.call('POST', `${path}?x=1`, 'text', text)).status, 404);
    }
    assert.equal((await login(service, 'users', 'ada@example.org', password)).status, 429);
    assert.equal((await service.call('GET', '/api/collections/users/me', undefined, callers['a user'])).status, 200);
  });

  it('are no part of what the API says of itself', async () => {
    const { body } = await service.call('GET', '/api/openapi.json');
    assert.ok(!JSON.stringify(body).includes('/operator'));
  });

  it('know no methods but POST', async () => {
    for (const method of ['GET', 'PUT', 'PATCH', 'DELETE']) {
      assert.equal((await service.call(method, unlock, undefined, as(secret))).status, 404);
    }
  });

  it('name everything that is wrong with a body', async () => {
    const call = (path: string, body?: unknown) => service.call('POST', path, body, as(secret));
    for (const path of [unlock, revoke]) {
      assert.deepEqual(errorsOf(await call(path, { colection: 'users', email: 3 })), {
        collection: 'collection is required',
        email: 'email must be a text, got 3',
        colection: 'colection is not a field; did you mean "collection"?',
      });
      for (const collection of ['user', 'posts', 'constructor', '']) {
        const answer = await call(path, { collection, email: 'ada@example.org' });
        assert.deepEqual([answer.status, fieldsOf(answer)], [400, ['collection']]);
      }
      const misspelt = await call(path, { collection: 'user', email: 'ada@example.org' });
      assert.match(misspelt.body.message, /did you mean "users"\?$/);
      for (const body of [undefined, '[]', '{', 'null']) assert.equal((await call(path, body)).status, 400);
      assert.equal((await call(`${path}?x=1`, { collection: 'users', email: 'ada@example.org' })).status, 400);
    }
    assert.deepEqual(fieldsOf(await call(revoke, { collection: 'users', email: 'ada@example.org', sid: 3 })), ['sid']);
    assert.deepEqual(errorsOf(await call(setPassword, { colection: 'users', email: 3, password: 'short' })), {
      collection: 'collection is required',
      email: 'email must be a text, got 3',
      password: 'password must have at least 8 characters',
      colection: 'colection is not a field; did you mean "collection"?',
    });
    assert.deepEqual(fieldsOf(await call(users, { collection: 'user' })), ['collection']);
    assert.deepEqual(fieldsOf(await call(users, { collection: 'users', after: 3, limit: 1 })), ['after', 'limit']);
    assert.deepEqual(fieldsOf(await call(unlock, { collection: 'users', email: 'ada@example.org', sid: 'x' })), [
      'sid',
    ]);
  });
});

describe('The operator', () => {
  it('changes no key of a log that one service has to itself, and names what is wrong', async () => {
    const path = '/api/operator/signing-key';
    assert.equal((await service.call('POST', path, { way: 'rotate', reason: 'x' })).status, 404);
    const wrong = await service.call('POST', path, { way: 'turn', reason: ' ', more: 1 }, as(secret));
    assert.equal(wrong.status, 400);
    assert.deepEqual(fieldsOf(wrong), ['way', 'reason', 'more']);
    assert.match(String(errorsOf(wrong).way), /rotate.*replace/);
    const { status, body } = await service.call('POST', path, { way: 'rotate', reason: 'x' }, as(secret));
    assert.deepEqual([status, /its log to itself: .* while it is stopped/.test(body.message)], [409, true]);
    assert.deepEqual(recordedEvents(service.data, 'system/keys'), []);
  });

  it('is not somebody with another secret, on any route', async () => {
    const unknown = await service.call('POST', '/api/nothing', {}, as('wrong'));
    assert.equal(unknown.status, 401);
    for (const wrong of ['wrong', '', `${secret}x`, secret.slice(1), secret.toUpperCase()]) {
      for (const path of [unlock, revoke, '/api/collections/posts']) {
        const answer = await service.call('POST', path, { collection: 'users', email: 'ada@example.org' }, as(wrong));
        assert.deepEqual([answer.status, answer.body], [401, unknown.body], path);
      }
    }
    for (const authorization of [secret, `Bearer ${secret}`, `Annals-Operator${secret}`, `Basic ${secret}`]) {
      assert.equal((await service.call('POST', unlock, {}, { key: null, headers: { authorization } })).status, 401);
    }
    assert.equal((await service.call('POST', unlock, {}, { key: secret })).status, 401);
  });

  it('is the same on every start of a data directory, and another one in another', async (t) => {
    const data = temporaryFolder(t);
    const secretIn = (folder: string) => readSecret(join(folder, 'vault.db'), 'operator');
    await (await startHere(t, config, { data })).stop();
    const first = secretIn(data);
    const again = await startHere(t, config, { data });
    assert.equal(secretIn(data), first);
    assert.notEqual(first, secret);
    assert.equal((await again.call('POST', unlock, {}, as(secret))).status, 401);
    assert.equal((await again.call('POST', unlock, {}, as(first ?? ''))).status, 400);
  });

  it('is known on this machine only, and not through a proxy', async () => {
    const here = [
      { remoteAddress: '127.0.0.1', localAddress: '127.0.0.1' },
      { remoteAddress: '127.8.8.8', localAddress: '127.0.0.1' },
      { remoteAddress: '::ffff:127.0.0.1', localAddress: '::ffff:127.0.0.1' },
      { remoteAddress: '::1', localAddress: '::1' },
      { remoteAddress: '192.0.2.7', localAddress: '192.0.2.7' },
    ];
    const elsewhere = [
      { remoteAddress: '192.0.2.8', localAddress: '192.0.2.7' },
      { remoteAddress: '::ffff:192.0.2.8', localAddress: '::ffff:192.0.2.7' },
      { remoteAddress: '::127.0.0.1', localAddress: '::1' },
      { remoteAddress: '2001:db8::1', localAddress: '2001:db8::127' },
      { remoteAddress: '1127.0.0.1', localAddress: '127.0.0.1' },
      { remoteAddress: undefined, localAddress: undefined },
    ];
    for (const ends of here) assert.ok(isFromHere(ends), JSON.stringify(ends));
    for (const ends of elsewhere) assert.ok(!isFromHere(ends), JSON.stringify(ends));
    assert.equal((await service.call('POST', unlock, {}, as(secret))).status, 400);
    for (const header of ['x-forwarded-for', 'forwarded', 'via']) {
      const forwarded = as(secret, { [header]: '127.0.0.1' });
      assert.equal((await service.call('POST', unlock, {}, forwarded)).status, 401, header);
    }
  });

  it('is no user: what belongs to one is refused', async () => {
    assert.equal((await service.call('GET', '/api/collections/users/me', undefined, as(secret))).status, 401);
  });

  it('is asked for no rule, and stands in the events and the log as the system', async () => {
    await user('milo@example.org', 'members');
    const created = recordedEvents(service.data).filter(({ type, actor }) => {
      return type === 'document.created' && actor.type === 'system';
    });
    assert.ok(created.length > 0);
    const lines = () => logLines(service).filter(({ path }) => path === '/api/collections/members');
    assert.deepEqual((await eventually(() => lines()[0])).actor, { type: 'system' });
    assert.ok(!service.output().stderr.includes(secret) && !service.output().stdout.includes(secret));
  });
});

describe('POST /api/operator/unlock', () => {
  const call = (email: string, collection = 'users') => {
    return service.call('POST', unlock, { collection, email }, as(secret));
  };

  it('lets somebody log in whose account is locked', async () => {
    const id = await user('bob@example.org');
    await fail('bob@example.org');
    assert.equal((await login(service, 'users', 'bob@example.org', password)).status, 429);
    const { status, body } = await assertRecorded(service, () => call(' BOB@example.org'), [
      { type: 'account.unlocked', stream: `accounts/users/${id}`, actor: { type: 'system' } },
    ]);
    assert.deepEqual([status, body], [200, { id }]);
    assert.equal((await login(service, 'users', 'bob@example.org', password)).status, 200);
  });

  it('forgets failures that have not locked it yet', async () => {
    await user('cyd@example.org');
    for (let round = 1; round <= 3; round += 1) {
      assert.equal((await login(service, 'users', 'cyd@example.org', 'wrong password')).status, 401);
      assert.equal((await call('cyd@example.org')).status, 200);
    }
  });

  it('says when there is nothing to unlock, and records nothing', async () => {
    await user('dan@example.org');
    const { status, body } = await assertRecorded(service, () => call('dan@example.org'), []);
    assert.equal(status, 409);
    assert.equal(body.message, '"dan@example.org" is not locked, and no failed login is counted');
  });

  it('says when there is no such account, in this collection', async () => {
    await user('eve@example.org');
    const { status, body } = await call('eve@example.org', 'members');
    assert.deepEqual([status, body.message], [404, 'there is no account "eve@example.org" in members']);
    assert.equal((await call('')).status, 404);
  });
});

describe('POST /api/operator/sessions/revoke', () => {
  const call = (body: object) => service.call('POST', revoke, { collection: 'users', ...body }, as(secret));
  const me = (options: CallOptions) => service.call('GET', '/api/collections/users/me', undefined, options);

  it('ends all sessions of an account at once, and those of no other', async () => {
    const id = await user('fay@example.org');
    await user('gus@example.org');
    const [one, two, other] = [
      await loggedIn(service, 'users', 'fay@example.org', password),
      await loggedIn(service, 'users', 'fay@example.org', password),
      await loggedIn(service, 'users', 'gus@example.org', password),
    ];
    const { status, body } = await assertRecorded(service, () => call({ email: 'FAY@example.org' }), [
      { type: 'session.revoked', stream: `accounts/users/${id}`, data: {}, actor: { type: 'system' } },
    ]);
    assert.deepEqual([status, body], [200, { id, ended: 2 }]);
    assert.deepEqual(
      [(await me(one.as)).status, (await me(two.as)).status, (await me(other.as)).status],
      [401, 401, 200],
    );
    assert.equal((await login(service, 'users', 'fay@example.org', password)).status, 200);
  });

  it('ends one session if that is named', async () => {
    const id = await user('hal@example.org');
    const one = await loggedIn(service, 'users', 'hal@example.org', password);
    const two = await loggedIn(service, 'users', 'hal@example.org', password);
    const { docs: sessions } = (await service.call('GET', '/api/collections/users/sessions', undefined, one.as)).body;
    const { sid } = sessions.find(({ isCurrent }: { isCurrent: boolean }) => isCurrent);
    const end = () => call({ email: 'hal@example.org', sid });
    const { body } = await assertRecorded(service, end, [{ type: 'session.revoked', data: { sid } }]);
    assert.deepEqual(body, { id, ended: 1 });
    assert.deepEqual([(await me(one.as)).status, (await me(two.as)).status], [401, 200]);
    const again = await end();
    assert.deepEqual([again.status, again.body.message], [404, `"hal@example.org" has no session "${sid}"`]);
  });

  it('does not end the session of another account', async () => {
    await user('ida@example.org');
    await user('joe@example.org');
    const joe = await loggedIn(service, 'users', 'joe@example.org', password);
    const { docs: sessions } = (await service.call('GET', '/api/collections/users/sessions', undefined, joe.as)).body;
    assert.equal((await call({ email: 'ida@example.org', sid: sessions[0].sid })).status, 404);
    assert.equal((await me(joe.as)).status, 200);
  });

  it('records nothing if there is no account, and says when there is no such account', async () => {
    const id = await user('kim@example.org');
    const none = await assertRecorded(service, () => call({ email: 'kim@example.org' }), []);
    assert.deepEqual(none.body, { id, ended: 0 });
    assert.equal((await call({ email: 'unknown@example.org' })).status, 404);
  });
});
