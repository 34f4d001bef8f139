import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { before, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import Database from 'better-sqlite3';
import { anonymous, badPasswords, bearer, type LoggedIn, login } from '../helpers/accounts.ts';
import type { Answer, CallOptions } from '../helpers/service.ts';
import { fieldsOf, logLines, recordedEvents, sendRaw } from '../helpers/shared.ts';
import { useAttacked } from './attacked.ts';

const attacked = await useAttacked();
const {
  accept,
  articles,
  forgot,
  get,
  invite,
  inviteToken,
  mailbox,
  me,
  members,
  newUser,
  password,
  post,
  reset,
  resetToken,
  service,
  users,
  withClock,
} = attacked;
let admin: LoggedIn;
before(async () => {
  admin = await attacked.admin;
});

describe('A password', () => {
  it('that no user may choose is refused wherever one is set, without being shown', async () => {
    const { id, as } = await newUser('dan');
    const invited = await inviteToken('daisy@example.org');
    const resetting = await resetToken('dan@example.org');
    const ways: Record<string, (password: unknown) => Promise<Answer>> = {
      create: (bad) => post(users, { email: 'dave@example.org', password: bad }, admin.as),
      change: (bad) => service.call('PATCH', `${users}/${id}`, { password: bad }, as),
      reset: (bad) => reset({ token: resetting, password: bad } as object),
      accept: (bad) => accept({ token: invited, password: bad } as object),
    };
    for (const [way, send] of Object.entries(ways)) {
      for (const [what, bad] of Object.entries(badPasswords)) {
        const answer = await send(bad);
        assert.equal(answer.status, 400, `${way}: ${what}`);
        assert.deepEqual(fieldsOf(answer), ['password'], `${way}: ${what}`);
        const { message } = answer.body.errors[0];
        assert.match(message, /^password must (have at (least|most) |not hold NUL|be a text)/, `${way}: ${what}`);
        assert.ok(!message.includes('horse') && message.length < 120, `${way}: ${what}`);
      }
    }
    assert.equal((await get(`${users}?where[email][equals]=dave@example.org`, admin.as)).body.total, 0);
    assert.equal((await login(service, 'users', 'dan@example.org', password)).status, 200, 'it is as it was');
    for (const good of ['🎉'.repeat(8), 'x'.repeat(72), 'é'.repeat(36), ' '.repeat(8), '%00%00%00', '__proto__']) {
      assert.equal((await ways.change?.(good))?.status, 200, good);
      assert.equal((await login(service, 'users', 'dan@example.org', good)).status, 200, good);
    }
  });

  it('is compared to its last byte', async () => {
    const longest = 'a'.repeat(72);
    await newUser('dora', 'users', { password: longest });
    // With a right one after each, so that none of this meets the lock.
    for (const wrong of [
      `${longest}a`,
      `${longest}\0`,
      'a'.repeat(71),
      `${'a'.repeat(71)}b`,
      longest.toUpperCase(),
      ` ${longest}`,
      `${longest}\ud800`,
      'a'.repeat(1_000_000),
    ]) {
      assert.equal((await login(service, 'users', 'dora@example.org', wrong)).status, 401, wrong.slice(0, 80));
      assert.equal((await login(service, 'users', 'dora@example.org', longest)).status, 200);
    }
    assert.equal((await login(service, 'users', 'dora@example.org', '')).status, 401);
  });

  it('is no field to filter or sort by, or to be read, for anybody', async () => {
    const { id, as } = await newUser('dirk');
    for (const name of ['password', 'hash', 'credential', 'salt', 'Password', 'users.password', 'token', 'sid']) {
      for (const caller of [admin.as, as, {}]) {
        for (const query of [
          `where[${name}][equals]=x`,
          `where[${name}][exists]=true`,
          `where[${name}][like]=$2b`,
          `where[or][0][${name}][not_equals]=null`,
          `where=${JSON.stringify({ [name]: { like: '$2b' } })}`,
          `sort=${name}`,
          `sort=-${name}`,
        ]) {
          assert.equal((await get(`${users}?${query}`, caller)).status, 400, query);
        }
      }
    }
    for (const query of [
      'where[author.password][like]=$2b',
      'sort=editor.password',
      'where[editor.credential][exists]=true',
    ])
      assert.equal((await get(`${articles}?${query}`, admin.as)).status, 400, query);
    for (const path of [`${users}/${id}`, `${users}/me`, users, '/api/schemas', `${users}/sessions`]) {
      const { body } = await get(path, as);
      assert.doesNotMatch(JSON.stringify(body), /\$2[aby]\$|"credential"|"hash"/, path);
    }
    assert.ok(!('password' in (await get(`${users}/${id}`, admin.as)).body));
  });
});

describe('Changes of one account at the same moment', () => {
  /** The credentials that the vault has and that accounts name. */
  function credentials(): { kept: unknown[]; named: unknown[] } {
    const read = readdirSync(service.data).find((name) => /^read-[0-9a-f]+\.db$/.test(name)) as string;
    const select = (file: string, query: string) => {
      const db = new Database(join(service.data, file), { readonly: true });
      const found = db.prepare(query).pluck().all();
      db.close();
      return found;
    };
    const named = 'SELECT credential FROM accounts WHERE credential IS NOT NULL ORDER BY credential';
    return {
      kept: select('vault.db', 'SELECT credential FROM passwords ORDER BY credential'),
      named: select(read, named),
    };
  }

  it('leave one password, and no hash of another', async () => {
    const { id } = await newUser('ella');
    const choice = (number: number) => `the choice of ${number}`;
    const numbers = Array.from({ length: 12 }, (_, number) => number);
    const answers = await Promise.all(
      numbers.map((number) =>
        service.call('PATCH', `${users}/${id}`, {
          password: choice(number),
          ...(number % 2 ? { name: choice(number) } : {}),
        }),
      ),
    );
    for (const { status } of answers) assert.equal(status, 200);
    const { kept, named } = credentials();
    assert.deepEqual(kept, named);
    assert.equal((await service.call('PATCH', `${users}/${id}`, { password: 'the last one' })).status, 200);
    assert.equal((await login(service, 'users', 'ella@example.org', 'the last one')).status, 200);
  });

  it('and its end leave nothing of it', async () => {
    for (let round = 0; round < 12; round += 1) {
      const { id } = (await post(users, { email: 'ellen@example.org', password }, admin.as)).body;
      const path = `${users}/${id}`;
      const changes = Array.from({ length: 6 }, () => service.call('PATCH', path, { password: 'too late perhaps' }));
      await sleep(round % 5);
      assert.equal((await service.call('DELETE', path)).status, 200);
      for (const { status } of await Promise.all(changes)) assert.ok([200, 404].includes(status), String(status));
    }
    const { kept, named } = credentials();
    assert.deepEqual(kept, named);
    const [own, others] = [await get(users, admin.as), await get(members, admin.as)];
    assert.equal(named.length, own.body.total + others.body.total, 'who is gone has no password');
  });

  it('by a reset and by who is thrown out by it, leave the password of the reset', async () => {
    const bystander = `${users}/${(await newUser('erik')).id}`;
    for (let round = 0; round < 3; round += 1) {
      const name = `elsa${'x'.repeat(round)}`;
      const { id, as } = await newUser(name);
      const token = await resetToken(`${name}@example.org`);
      const change = (path: string, password: string, by = {}) => service.call('PATCH', path, { password }, by);
      // These changes keep the hashing queue busy, so that the thief is let in before the reset is done and comes after
      // it.
      const others = Array.from({ length: 16 }, () => change(bystander, 'somebody else'));
      const resetting = reset({ token, password: 'the new one' });
      await sleep(4);
      const rivals = Array.from({ length: 8 }, () => change(`${users}/${id}`, 'of the thief', as));
      const { status } = await resetting;
      const answers = await Promise.all(rivals);
      await Promise.all(others);
      // When one of theirs was first the token is void: that can be told, and another be asked for.
      const expected = status === 200 ? 'the new one' : 'of the thief';
      assert.ok(status === 200 || status === 400);
      if (status === 400) assert.ok(answers.some((answer) => answer.status === 200));
      assert.equal((await login(service, 'users', `${name}@example.org`, expected)).status, 200, String(status));
      assert.equal((await me(as)).status, status === 200 ? 401 : 200);
    }
    const { kept, named } = credentials();
    assert.deepEqual(kept, named);
  });
});

describe('A body of an account route', () => {
  const right: Record<string, Record<string, unknown>> = {
    login: { email: 'admin@example.org', password },
    'forgot-password': { email: 'admin@example.org' },
    'reset-password': { token: 'x', password },
    'accept-invite': { token: 'x', password },
    'first-user': { setupToken: 'x', email: 'x@example.org', password },
    invite: { email: 'x@example.org' },
  };
  const notTexts: unknown[] = [
    null,
    0,
    -1,
    1e308,
    true,
    [],
    {},
    ['a'],
    [['a']],
    { equals: 'a' },
    { $ne: null },
    { toString: 'a' },
  ];
  const callerOf = (route: string) => (route === 'invite' ? admin.as : anonymous);

  it('with anything but a text for a member is a 400 that names it', async () => {
    for (const [route, body] of Object.entries(right)) {
      for (const name of Object.keys(body)) {
        const bodies = notTexts.map((value) => ({ ...body, [name]: value }));
        const { [name]: _, ...missing } = body;
        const answers = await Promise.all(
          [...bodies, missing].map((sent) => post(`${users}/${route}`, sent, callerOf(route))),
        );
        for (const [index, answer] of answers.entries()) {
          const about = `${route} ${name} ${JSON.stringify(notTexts[index])}`;
          assert.equal(answer.status, 400, `${about}: ${JSON.stringify(answer.body)}`);
          assert.deepEqual([answer.body.error, fieldsOf(answer)], ['Validation Error', [name]], about);
        }
      }
    }
  });

  it('that is no object of these members, or no JSON, is refused', async () => {
    const bodies = [
      'null',
      '3',
      '"x"',
      '[]',
      '[{}]',
      '{}',
      '{',
      '',
      'email=admin@example.org&password=x',
      '{"__proto__":{"email":"admin@example.org"}}',
      `{"email":"admin@example.org","password":"${password}","__proto__":{}}`,
      `{"constructor":{"prototype":{"email":"admin@example.org"}}}`,
      `${'['.repeat(100_000)}`,
      `{"email":${'{"a":'.repeat(5000)}1${'}'.repeat(5000)}}`,
      `{${Array.from({ length: 5000 }, (_, index) => `"k${index}":0`).join(',')}}`,
    ];
    for (const route of Object.keys(right)) {
      const answers = await Promise.all(bodies.map((body) => post(`${users}/${route}`, body, callerOf(route))));
      for (const [index, { status }] of answers.entries())
        assert.equal(status, 400, `${route} ${bodies[index]?.slice(0, 50)}`);
      const headers = { 'content-type': 'text/plain' };
      assert.equal((await post(`${users}/${route}`, right[route], { key: null, headers })).status, 415, route);
    }
    const bytes = Buffer.from(`{"email":"admin@example.org","password":"\xff\xfe"}`, 'latin1');
    const head = `POST ${users}/login HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: ${bytes.length}\r\n\r\n`;
    assert.equal((await sendRaw(service.url, Buffer.concat([Buffer.from(head), bytes]))).status, 400);
    const query = new URLSearchParams({ email: 'admin@example.org', password });
    assert.equal((await post(`${users}/login?${query}`, undefined)).status, 400);
    assert.equal((await post(`${users}/login?${query}`, right.login)).status, 400);
    // The last of two members of one name counts, as it does everywhere in JSON: there is no second reading of it.
    const twice = `{"email":"admin@example.org","password":"wrong one","password":"${password}"}`;
    assert.equal((await post(`${users}/login`, twice)).status, 200);
  });

  it('of 20 MB is refused, and one that comes slowly keeps no other waiting', async () => {
    const large = Buffer.alloc(20_000_000, 'x');
    for (const route of [...Object.keys(right), 'logout', 'refresh-token']) {
      const response = await fetch(`${service.url}${users}/${route}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...(route === 'invite' ? admin.as.headers : {}) },
        body: large,
      });
      await response.text();
      assert.equal(response.status, ['logout', 'refresh-token'].includes(route) ? 401 : 413, route);
    }
    const { hostname, port } = new URL(service.url);
    const slow = Array.from({ length: 40 }, (_, index) => {
      const route = Object.keys(right)[index % 5];
      const socket = connect(Number(port), hostname).on('error', () => {});
      socket.write(
        `POST ${users}/${route} HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 90\r\n\r\n{"email`,
      );
      return socket;
    });
    assert.equal((await login(service, 'users', 'admin@example.org', password)).status, 200);
    for (const socket of slow) socket.write('":');
    assert.equal((await login(service, 'users', 'admin@example.org', password)).status, 200);
    for (const socket of slow) socket.destroy();
    assert.equal((await login(service, 'users', 'admin@example.org', password)).status, 200);
  });

  it('does nothing by another method, or under another form of its path', async () => {
    const { as } = await newUser('emma');
    const before = recordedEvents(service.data).length;
    const count = mailbox.received.length;
    for (const [route, body] of Object.entries({ ...right, logout: {} })) {
      for (const method of ['PUT', 'PATCH', 'DELETE', 'OPTIONS', 'GET', 'HEAD', 'PROPFIND']) {
        const sent = ['GET', 'HEAD'].includes(method) ? undefined : body;
        const { status } = await service.call(method, `${users}/${route}`, sent, as);
        assert.ok([204, 403, 404, 405].includes(status), `${method} ${route} ${status}`);
      }
      for (const path of [
        `${users}/${route}/`,
        `${users}//${route}`,
        `${users}/${route.toUpperCase()}`,
        `/api/Collections/users/${route}`,
        `/api/collections/Users/${route}`,
        `/api/collections/articles/${route}`,
        `/api/collections/__proto__/${route}`,
        `/api/globals/site/${route}`,
        `/API/collections/users/${route}`,
        `${users}/${route}%00`,
        `${users}/${route};x=y`,
        `${users}/${route}.json`,
        `${users}/x%2F..%2F${route}`,
      ]) {
        const { status } = await post(path, body, as);
        // A path of a document has other methods.
        assert.ok([404, 405].includes(status), path);
      }
    }
    for (const method of ['HEAD', 'OPTIONS', 'DELETE']) {
      for (const route of ['me', 'init', 'sessions', 'refresh-token'])
        assert.ok(
          [200, 204, 403, 404, 405].includes((await service.call(method, `${users}/${route}`, undefined, as)).status),
        );
    }
    assert.equal((await me(as)).status, 200);
    assert.equal(recordedEvents(service.data).length, before);
    assert.equal(mailbox.received.length, count);
  });
});

describe('An e-mail', () => {
  it('is one account in whatever case, and with spaces around it', async () => {
    const { id } = await newUser('fay');
    const forms = ['FAY@EXAMPLE.ORG', ' fay@example.org ', '\tFay@Example.Org\r\n', '\u00a0fay@example.org\ufeff'];
    for (const email of forms) {
      assert.equal((await login(service, 'users', email, password)).body.user?.id, id, JSON.stringify(email));
      assert.equal((await invite(email)).status, 409, JSON.stringify(email));
      assert.equal((await post(users, { email, password }, admin.as)).status, 409, JSON.stringify(email));
    }
    const other = await newUser('flo');
    for (const email of forms)
      assert.equal((await service.call('PATCH', `${users}/${other.id}`, { email }, other.as)).status, 409);
  });

  it('that could be misread in a mail is refused, and nothing is sent to it', async () => {
    const { id, as } = await newUser('finn');
    const bad = [
      '',
      ' ',
      'ada',
      '@example.org',
      'ada@',
      'ada@@example.org',
      'ada@example.org@evil.example',
      '"ada"@example.org',
      '"ada@evil.example"@example.org',
      'ada lovelace@example.org',
      'ada\n@example.org',
      'ada@example.org\r\nBcc: evil@evil.example',
      'ada@example.org\nSubject: x\n\nbody',
      'ada@example.org\r\n.\r\nMAIL FROM:<evil@evil.example>',
      'ada@example.org%0d%0aBcc: evil@evil.example',
      'ada@example.org, evil@evil.example',
      'ada@example.org,evil@evil.example',
      'ada@example.org;evil@evil.example',
      'Ada <evil@evil.example>',
      '<evil@evil.example>',
      'ada@example.org(evil@evil.example)',
      'group:evil@evil.example;',
      'ada@[127.0.0.1]',
      'ada\0@example.org',
      'ada@example.org\0',
      'ada\u2028@example.org',
      'ada\u202egro.elpmaxe@evil.example',
      'ada\u200b@example.org',
      'ada\ud800@example.org',
      'ada@exa\u00admple.org',
      '<script>alert(1)</script>@example.org',
      `${'a'.repeat(10_000)}@example.org`,
      `ada@${'example.'.repeat(1250)}org`,
      '__proto__',
    ];
    for (const email of bad) {
      const about = JSON.stringify(email).slice(0, 80);
      for (const answer of await Promise.all([
        invite(email),
        post(users, { email, password }, admin.as),
        service.call('PATCH', `${users}/${id}`, { email }, as),
      ])) {
        assert.equal(answer.status, 400, about);
        assert.deepEqual(fieldsOf(answer), ['email'], about);
        assert.ok(JSON.stringify(answer.body).length < 1000, about);
      }
      // Here it is only looked for.
      assert.equal((await login(service, 'users', email, password)).status, email.length > 1000 ? 400 : 401, about);
      assert.equal((await forgot(email)).status, email.length > 1000 ? 400 : 200, about);
    }
    // Were one on its way, this one would come after it.
    await resetToken('finn@example.org');
    for (const { to, mail } of mailbox.received) {
      assert.ok(!JSON.stringify([to, mail]).includes('evil'), JSON.stringify(to));
      assert.equal(to.length, 1);
      assert.match(to[0] as string, /^[a-z]+@example\.org$/);
    }
  });

  it('that only looks like that of an account is not that account, and gets no mail of it', async () => {
    const kelvin = '\u212a';
    const { id } = await newUser('kate');
    // Lower-casing makes a k of the sign for kelvin: the same account then, whose mail goes to its own address.
    assert.equal((await login(service, 'users', `${kelvin}ate@example.org`, password)).body.user.id, id);
    assert.equal((await invite(`${kelvin}ate@example.org`)).status, 409);
    await forgot(`${kelvin}ATE@EXAMPLE.ORG`);
    assert.equal((await mailbox.next('kate@example.org')).to?.[0]?.address, 'kate@example.org');
    const count = mailbox.received.length;
    for (const email of [
      'k\u0430te@example.org',
      'k\uff41te@example.org',
      'ka\u0308te@example.org',
      'kate@example.org.',
      'kate@ex\u0430mple.org',
      'kate@example\u3002org',
      'kate\uff20example.org',
      'kate+x@example.org',
      'k.ate@example.org',
      'kate%00@example.org',
      'kate@example.org/',
      'k%',
      '%@example.org',
      'k_te@example.org',
      'kate@example.org\\',
    ]) {
      assert.equal((await login(service, 'users', email, password)).status, 401, email);
      assert.equal((await forgot(email)).status, 200, email);
    }
    await resetToken('admin@example.org');
    assert.equal(mailbox.received.length, count + 1);
  });

  it('may be a word of JavaScript', async () => {
    for (const word of ['__proto__', 'constructor', 'toString', 'hasOwnProperty', '__defineGetter__']) {
      assert.equal((await login(service, 'users', word, password)).status, 401, word);
      assert.equal((await forgot(word)).status, 200, word);
      const { id } = await newUser(word);
      assert.equal((await service.call('DELETE', `${users}/${id}`, undefined, admin.as)).status, 200);
      assert.equal((await login(service, 'users', `${word}@example.org`, password)).status, 401, word);
    }
  });
});

describe('A lock', () => {
  it('is no longer and no shorter for a clock that is put back, and no way around it', async () => {
    await newUser('gus');
    const attempt = (given: string) => login(service, 'users', 'gus@example.org', given);
    for (let count = 0; count < 3; count += 1) assert.equal((await attempt('wrong password')).status, 401);
    const variants = ['GUS@example.org', ' gus@example.org', 'gus@EXAMPLE.org '];
    for (const email of variants) assert.equal((await login(service, 'users', email, password)).status, 429, email);
    assert.equal((await withClock(590, () => attempt(password))).status, 429);
    const day = 24 * 3600;
    await withClock(-day, async () => {
      const { status, headers } = await attempt(password);
      assert.equal(status, 429);
      const seconds = Number(headers.get('retry-after'));
      assert.ok(seconds >= 1 && seconds <= 600, String(seconds));
    });
    assert.equal((await withClock(-day + 590, () => attempt(password))).status, 429);
    assert.equal((await withClock(-day + 620, () => attempt(password))).status, 200);
    // Failures of before count on, whichever way the clock goes.
    for (const seconds of [-3600, 0, 3600])
      assert.equal((await withClock(seconds, () => attempt('wrong password'))).status, 401);
    assert.equal((await attempt(password)).status, 429);
  });

  it('holds for one collection and one e-mail, and no session, invitation or new password ends it', async () => {
    const { id, as } = await newUser('greta');
    await newUser('greta', 'members');
    for (let count = 0; count < 3; count += 1) await login(service, 'users', 'greta@example.org', 'wrong password');
    assert.equal((await login(service, 'members', 'greta@example.org', password)).status, 200);
    assert.equal((await me(as)).status, 200, 'who is logged in stays so');
    await post(`${users}/refresh-token`, undefined, as);
    await forgot('greta@example.org');
    await service.call('PATCH', `${users}/${id}`, { password: 'another password' }, as);
    assert.equal((await login(service, 'users', 'greta@example.org', 'another password')).status, 429);
  });
});

describe('The existence of an account', () => {
  it('is not told by login, a forgotten password, an invitation or a refused write', async () => {
    await newUser('ida');
    const editor = await newUser('ivo');
    const silent = await post(users, { email: 'silent@example.org' }, admin.as);
    assert.equal(silent.status, 201, 'an account without a password');
    const [known, unknown] = ['ida@example.org', 'unknown@example.org'];
    const same = async (what: string, send: (email: string) => Promise<Answer>, ...others: string[]) => {
      const shown = async (email: string) => {
        const { status, headers, body } = await send(email);
        // These headers differ with every request.
        const varying = ['date', 'x-request-id', 'content-length'];
        const told = [...headers].filter(([name]) => !varying.includes(name));
        return { status, told, body: JSON.stringify(body).replaceAll(email, 'EMAIL') };
      };
      const first = await shown(known);
      for (const email of [unknown, ...others]) assert.deepEqual(await shown(email), first, `${what}: ${email}`);
      return first.status;
    };
    assert.equal(
      await same('login', (email) => login(service, 'users', email, 'wrong password'), 'silent@example.org'),
      401,
    );
    assert.equal(await same('forgot', (email) => forgot(email), 'silent@example.org', 'no address at all'), 200);
    assert.equal(await same('invite', (email) => invite(email, editor.as)), 403);
    assert.equal(await same('invite by a key', (email) => invite(email, {})), 401);
    assert.equal(await same('anonymous invite', (email) => invite(email, anonymous)), 401);
    assert.equal(await same('create', (email) => post(users, { email, password }, editor.as)), 403);
    assert.equal(await same('anonymous create', (email) => post(users, { email, password })), 401);
    assert.equal(await same('create by a key', (email) => post(members, { email, password }, {})), 403);
    const path = `${users}/${admin.id}`;
    assert.equal(await same('update', (email) => service.call('PATCH', path, { email }, editor.as)), 403);
    assert.equal(await same('accept', (email) => accept({ token: email, password })), 400);
    assert.equal(await same('reset', (email) => reset({ token: email, password })), 400);
    const first = (email: string) => post(`${users}/first-user`, { setupToken: 'x', email, password });
    assert.equal(await same('first user', first), 403);
    for (let count = 0; count < 3; count += 1)
      for (const email of [known, unknown, 'silent@example.org'])
        await login(service, 'users', email, 'wrong password');
    const locked = (email: string) => login(service, 'users', email, password);
    const shown = await Promise.all([known, unknown, 'silent@example.org'].map(locked));
    assert.deepEqual(
      shown.map(({ status }) => status),
      [429, 429, 429],
    );
    for (const { body, headers } of shown) {
      assert.match(body.message, /^too many failed logins; try again in \d+ seconds?$/);
      assert.ok(Number(headers.get('retry-after')) > 590);
    }
  });

  it('does not show through filters, sorts or relations to callers who may not see it', async () => {
    const [zoe, ada, mia] = [
      await newUser('zoe.secret', 'members'),
      await newUser('ada.secret', 'members'),
      await newUser('mia.secret', 'members'),
    ];
    const editor = await newUser('edda');
    const team = (await post('/api/collections/teams', { name: 'T' }, admin.as)).body.id;
    for (const { id } of [zoe, ada, mia]) await service.call('PATCH', `${members}/${id}`, { team }, admin.as);
    const made: string[] = [];
    for (const { id } of [zoe, ada, mia]) {
      const values = { title: 'related', author: id, readers: [zoe.id, ada.id], editor: admin.id };
      made.push((await post(articles, values, admin.as)).body.id);
    }
    const only = 'where[title][equals]=related';
    const titles = async (query: string, caller: CallOptions) => {
      const { status, body } = await get(`${articles}?${only}&${query}`, caller);
      return status === 200 ? body.docs.map(({ id }: { id: string }) => made.indexOf(id)) : status;
    };
    // An anonymous caller, a key without useAPIKey, and a user of the other collection see no member at all.
    for (const caller of [anonymous, {}, editor.as]) {
      const isEditor = caller === editor.as;
      for (const query of [
        'where[author.email][like]=secret',
        'where[author.email][equals]=zoe.secret@example.org',
        'where[author.email][exists]=true',
        'where[author.nick][exists]=true',
        'where[author.team.name][equals]=T',
        'where[readers.email][like]=a',
        'where[author.team.members.email][like]=a',
        'where[or][0][author.email][like]=zoe&where[or][1][title][equals]=x',
        'sort=author.email',
        'sort=-author.nick,title',
        `where=${JSON.stringify({ or: [{ 'author.email': { like: 'zoe' } }] })}`,
      ]) {
        // Users of the first collection see every member.
        if (isEditor) assert.notEqual(await titles(query, caller), 403, query);
        else assert.equal(await titles(query, caller), 400, query);
      }
      const { body } = await get(`${articles}?${only}&depth=3`, caller);
      for (const { author, readers, editor: its } of body.docs) {
        assert.equal(typeof author, isEditor ? 'object' : 'string');
        assert.equal(typeof readers[0], isEditor ? 'object' : 'string');
        // A key sees all users; an editor sees only themselves.
        assert.equal(typeof its, caller !== anonymous && !isEditor ? 'object' : 'string');
      }
      const teams = await get('/api/collections/teams?depth=5', caller);
      if (!isEditor) assert.doesNotMatch(JSON.stringify(teams.body), /@example\.org/);
    }
    // A member sees themselves; for filters and the order, other members do not exist.
    assert.deepEqual(await titles('where[author.email][like]=secret', ada.as), [1]);
    assert.deepEqual(await titles('where[author.email][like]=zoe', ada.as), []);
    assert.deepEqual(await titles('where[readers.email][like]=zoe', ada.as), []);
    assert.deepEqual(await titles('where[readers.email][like]=ada', ada.as), [2, 1, 0]);
    assert.deepEqual(await titles('sort=author.email', ada.as), [1, 0, 2]);
    assert.deepEqual(await titles('sort=-author.email', ada.as), [1, 2, 0]);
    assert.deepEqual(await titles('where[author.email][not_equals]=zoe.secret@example.org', ada.as), [2, 1, 0]);
    assert.deepEqual(await titles('where[author.email][exists]=false', ada.as), [2, 0]);
    for (const query of ['where[email][like]=secret', 'where[email][not_equals]=x', 'sort=email', 'sort=-email', ''])
      assert.deepEqual(
        (await get(`${members}?${query}`, ada.as)).body.docs.map(({ id }: { id: string }) => id),
        [ada.id],
        query,
      );
    assert.equal((await get(`${members}?where[email][like]=zoe`, ada.as)).body.total, 0);
    for (const caller of [anonymous, {}]) {
      const expected = caller === anonymous ? 401 : 403;
      for (const query of ['', '?where[email][like]=zoe', '?sort=email', '?where[nope][equals]=1'])
        assert.equal((await get(members + query, caller)).status, expected, query);
      assert.equal((await get(`${members}/${zoe.id}`, caller)).status, expected);
    }
    // A field that no reader sees can be filtered by with the key alone.
    assert.equal((await get(`${users}?where[salary][exists]=true`, admin.as)).status, 400);
    assert.equal((await get(`${users}?sort=salary`, admin.as)).status, 400);
    assert.equal((await get(`${users}?where[salary][exists]=true`, {})).status, 200);
  });

  it('is not for a key to change if keys are not for accounts', async () => {
    const { id } = await newUser('ina', 'members');
    const before = recordedEvents(service.data).length;
    for (const [method, path, body] of [
      ['PATCH', `/${id}`, { password: 'set by the key' }],
      ['PATCH', `/${id}`, { email: 'taken@example.org' }],
      ['DELETE', `/${id}`, undefined],
      ['POST', '', { email: 'made@example.org', password }],
    ] as const)
      assert.equal((await service.call(method, members + path, body)).status, 403, method);
    assert.equal(recordedEvents(service.data).length, before);
    assert.equal((await login(service, 'members', 'ina@example.org', password)).status, 200);
  });
});

describe('The description of a client', () => {
  it('does not get into the links of mails, nor into what is recorded as its address', async () => {
    const { id } = await newUser('jack');
    const body = JSON.stringify({ email: 'jack@example.org' });
    const answer = await sendRaw(
      service.url,
      `POST ${users}/forgot-password HTTP/1.1\r\nhost: evil.example\r\nx-forwarded-host: evil.example\r\n` +
        `forwarded: host=evil.example;for=203.0.113.1\r\nx-original-host: evil.example\r\nx-forwarded-proto: https\r\n` +
        `origin: https://evil.example\r\nreferer: https://evil.example/\r\ncontent-type: application/json\r\n` +
        `content-length: ${body.length}\r\n\r\n${body}`,
    );
    assert.equal(answer.status, 200);
    const { text = '', html = '' } = await mailbox.next('jack@example.org');
    assert.ok(text.includes(`${service.url}/admin/reset?token=`), text);
    assert.ok(!`${text}${html}`.includes('evil'));
    const absolute = `POST http://evil.example${users}/forgot-password HTTP/1.1\r\nhost: evil.example\r\n`;
    await sendRaw(
      service.url,
      `${absolute}content-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
    );
    assert.ok(!JSON.stringify(await mailbox.next('jack@example.org')).includes('evil'));

    const headers = { 'x-forwarded-for': '203.0.113.9', 'user-agent': `evil\u00ff${'x'.repeat(5000)}` };
    const entry = await service.call(
      'POST',
      `${users}/login`,
      { email: 'jack@example.org', password },
      { key: null, headers },
    );
    const { docs: sessions } = (await get(`${users}/sessions?limit=100`, bearer(entry.body.token))).body;
    const own = sessions.find(({ isCurrent }: { isCurrent: boolean }) => isCurrent);
    assert.equal(own.ip, '127.0.0.1');
    assert.ok(own.userAgent.length <= 500);
    assert.equal(entry.body.user.id, id);
  });
});

describe('The service', () => {
  it('has met none of this with an error of its own', async () => {
    const lines = logLines(service);
    assert.ok(lines.some(({ path, status }) => path === `${users}/login` && status === 401));
    assert.deepEqual(
      // A mail that the clock has overtaken is given up.
      lines.filter(({ level, status, mail }) => status >= 500 || (level >= 50 && mail === undefined)),
      [],
    );
  });
});
