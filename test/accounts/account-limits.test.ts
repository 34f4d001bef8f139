import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { anonymous, badPasswords, bearer } from '../helpers/accounts.ts';
import { assertRecorded } from '../helpers/recorded.ts';
import { type Answer, apiKey, type CallOptions } from '../helpers/service.ts';
import { eventually, fieldsOf, recordedEvents, useService } from '../helpers/shared.ts';

const limits = { address: 6, email: 8 };
const limited = useService(
  `export default {
    bcryptCost: 4,
    trustProxy: true,
    rateLimit: ${JSON.stringify(limits)},
    collections: [
      { slug: 'users', auth: { maxLoginAttempts: 100 }, fields: [{ name: 'name', type: 'text' }] },
      { slug: 'members', auth: { useAPIKey: true }, fields: [] },
      { slug: 'guests', auth: true, fields: [], access: { create: () => true } },
    ],
  };`,
  { ANNALS_THREADS: '2' },
);

const password = 'correct horse battery';
const users = '/api/collections/users';
const members = '/api/collections/members';

/** Calls from an address, as the trusted proxy tells it. */
const from = (address: string): CallOptions => ({ key: null, headers: { 'x-forwarded-for': address } });
const call = (path: string, body: object, as: CallOptions) => limited.call('POST', path, body, as);

describe('The first user', () => {
  const setUp = (setupToken: unknown, address: string, path = users, email = `${address}@example.org`) =>
    call(`${path}/first-user`, { setupToken, email, password, name: address }, from(address));
  const init = async (slug: string) =>
    (await limited.call('GET', `/api/collections/${slug}/init`, undefined, anonymous)).body;
  const tokenIn = ({ stdout }: { stdout: string }) => /setup\?token=(\S+)/.exec(stdout)?.[1] as string;

  it('is made with the printed token only, once, of the admin collection only', async () => {
    const token = tokenIn(limited.output());
    assert.deepEqual([await init('users'), await init('members')], [{ initialized: false }, { initialized: false }]);
    const wrong = [`${token}A`, token.slice(1), token.toUpperCase(), '0', 'users', apiKey, 'x'.repeat(500)];
    for (const [index, one] of wrong.entries()) assert.equal((await setUp(one, `192.0.2.${index}`)).status, 403, one);
    assert.equal((await setUp(token, '192.0.2.20', members)).status, 403);
    const mine = { token, password };
    assert.equal((await call(`${users}/accept-invite`, mine, from('192.0.2.21'))).status, 400);
    assert.equal((await call(`${users}/reset-password`, mine, from('192.0.2.21'))).status, 400);
    // A refused attempt does not use it up.
    const short = { setupToken: token, email: 'a@example.org', password: 'short' };
    assert.equal((await call(`${users}/first-user`, short, from('192.0.2.22'))).status, 400);
    assert.equal((await setUp(token, '192.0.2.23', users, 'no address')).status, 400);
    for (const [index, [what, bad]] of Object.entries(badPasswords).entries()) {
      const body = { setupToken: token, email: `a${index}@example.org`, password: bad };
      const answer = await call(`${users}/first-user`, body, from(`192.0.2.${100 + index}`));
      assert.deepEqual([answer.status, fieldsOf(answer)], [400, ['password']], what);
    }
    assert.deepEqual(await init('users'), { initialized: false });

    const race = () => Promise.all(Array.from({ length: 12 }, (_, index) => setUp(token, `192.0.2.${30 + index}`)));
    const types = ['document.created', 'setup.completed', 'password.changed', 'session.started'];
    const answers = await assertRecorded(limited, race, types);
    assert.deepEqual(answers.map(({ status }) => status).sort(), [201, ...Array(11).fill(403)]);
    const first = answers.find(({ status }) => status === 201) as Answer;
    const as = bearer(first.body.token);
    assert.deepEqual(await init('users'), { initialized: true });
    assert.equal((await limited.call('GET', users, undefined, as)).body.total, 1);
    assert.equal((await setUp(token, '192.0.2.50')).status, 403, 'twice');

    const path = `${users}/${first.body.user.id}`;
    assert.equal((await limited.call('DELETE', path, undefined, as)).status, 200);
    assert.deepEqual(await init('users'), { initialized: false });
    assert.equal((await setUp(token, '192.0.2.51')).status, 403, 'after it was emptied');
    assert.equal((await limited.call('GET', `${users}/me`, undefined, as)).status, 401);
  });
});

describe('The limit of calls', () => {
  const routes: Record<string, (email: string) => object> = {
    login: (email) => ({ email, password }),
    'forgot-password': (email) => ({ email }),
    'first-user': (email) => ({ setupToken: 'x', email, password }),
    'accept-invite': () => ({ token: 'x', password }),
    'reset-password': () => ({ token: 'x', password }),
  };

  /** Never more than the limit; and as good as all of it, for now and then two callers are counted as one. */
  function assertLimited(answers: readonly Answer[], limit: number, about: string): void {
    const passed = answers.filter(({ status }) => status !== 429).length;
    assert.ok(passed <= limit && passed >= limit - 2, `${about}: ${passed} of ${answers.length} came through`);
  }

  /** Sends `count` calls at once, on connections of their own and so to all threads. */
  const atOnce = (count: number, send: (number: number) => Promise<Answer>) =>
    Promise.all(Array.from({ length: count }, (_, number) => send(number)));

  it('holds for one address, over all threads, routes and collections', async () => {
    const free: Answer[] = [];
    for (const [index, [route, body]] of Object.entries(routes).entries()) {
      const address = `198.51.100.${index}`;
      const answers = await atOnce(16, (number) =>
        call(`${users}/${route}`, body(`${route}${number}@example.org`), from(address)),
      );
      assertLimited(answers, limits.address, route);
      for (const { headers, body: told } of answers.filter(({ status }) => status === 429)) {
        const seconds = Number(headers.get('retry-after'));
        assert.ok(seconds >= 1 && seconds <= 60, `${route}: ${seconds}`);
        assert.deepEqual([told.statusCode, told.error], [429, 'Too Many Requests']);
      }
      for (const [other, its] of Object.entries(routes)) {
        const path = `${other === 'login' ? members : users}/${other}`;
        assert.equal((await call(path, its(`${other}@example.net`), from(address))).status, 429, `${route}, ${other}`);
      }
      free.push(await call(`${users}/${route}`, body(`${route}@example.com`), from(`198.51.101.${index}`)));
    }
    assertLimited(free, free.length, 'other addresses');
  });

  it('holds for one e-mail, from wherever and however it is written', async () => {
    for (const [index, route] of ['login', 'forgot-password', 'first-user'].entries()) {
      const [email, upper] = [`${route}@example.org`, `${route.toUpperCase()}@Example.org`];
      const forms = [email, ` ${upper}`, `${email}\r\n`, upper];
      const send = (number: number) => {
        const body = routes[route]?.(forms[number % forms.length] as string) as object;
        return call(`${users}/${route}`, body, from(`203.0.113.${index * 20 + number}`));
      };
      assertLimited(await atOnce(12, send), limits.email, route);
      assert.equal((await send(13)).status, 429, route);
    }
  });

  it('holds for those who sign up by themselves, and not for who has a credential', async () => {
    const body = (number: number) => ({ email: `guest${number}@example.org`, password });
    const signUp = (number: number) => call('/api/collections/guests', body(number), from('203.0.113.100'));
    assertLimited(await atOnce(12, signUp), limits.address, 'sign-ups');
    const made = await atOnce(12, (number) => limited.call('POST', members, body(number)));
    assert.deepEqual([...new Set(made.map(({ status }) => status))], [201]);
  });

  it('holds for the mails that anybody can have sent to somebody', async () => {
    const { body } = await limited.call('POST', members, { email: 'ada@example.org', password });
    const ask = (number: number) =>
      call(`${members}/forgot-password`, { email: 'ada@example.org' }, from(`203.0.113.${110 + number}`));
    const answers = await atOnce(7, ask);
    assert.deepEqual([...new Set(answers.map(({ status }) => status))], [200]);
    const asked = () => recordedEvents(limited.data, `accounts/members/${body.id}`).map(({ type }) => type);
    const isReset = (type: string) => type === 'password.reset.requested';
    await eventually(() => asked().filter(isReset).length === 5);
    // The calls come before this write, and so would their events.
    await limited.call('PATCH', `${members}/${body.id}`, { password: 'another good one' });
    assert.equal(asked().filter(isReset).length, 5);
  });

  it('believes the proxy, and not what its client made up', async () => {
    const attempt = (forwarded: string, number: number) =>
      call(`${users}/login`, { email: `${number} ${forwarded}`, password }, from(forwarded));
    assertLimited(await atOnce(12, (n) => attempt(`10.0.0.${n}, 203.0.113.200`, n)), limits.address, 'the last one');
    // The addresses that one IPv6 client can choose from, and one address in both its forms.
    assertLimited(await atOnce(12, (n) => attempt(`2001:db8:1:2::${n}`, n)), limits.address, 'IPv6');
    const mapped = ['203.0.113.201', '::ffff:203.0.113.201', '::FFFF:cb00:71c9'];
    assertLimited(await atOnce(12, (n) => attempt(mapped[n % 3] as string, n)), limits.address, 'IPv4 in IPv6');
    // An invalid address does not count: then it is the proxy's own.
    const garbage = ['x', '', 'unknown', '203.0.113.9:80', '1.2.3.4, x', '[::1]', '999.1.1.1', '1.2.3.4,', '203.0.113'];
    assertLimited(await atOnce(garbage.length, (n) => attempt(garbage[n] as string, n)), limits.address, 'garbage');
  });
});
