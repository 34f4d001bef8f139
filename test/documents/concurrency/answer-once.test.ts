import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, describe, it } from 'node:test';
import Database from 'better-sqlite3';
import { bearer, type LoggedIn, loggedIn, login } from '../../helpers/accounts.ts';
import { useServiceHere } from '../../helpers/embedded.ts';
import { assertRecorded, type Expected } from '../../helpers/recorded.ts';
import type { Answer, CallOptions } from '../../helpers/service.ts';
import { errorsOf, eventually } from '../../helpers/shared.ts';

/** Nothing listens there: deliveries wait. */
const hook = {
  name: 'front',
  url: 'http://127.0.0.1:9/',
  secret: `whsec_${Buffer.alloc(32, 7).toString('base64')}`,
  allowPrivate: true,
};
const service = useServiceHere(`export default {
  bcryptCost: 4,
  keys: ({ req }) => req.headers['x-may'] !== 'no',
  erase: () => true,
  collections: [
    { slug: 'people', auth: { useAPIKey: true, maxLoginAttempts: 1 }, fields: [{ name: 'rank', type: 'text' }] },
    { slug: 'posts',
      access: { read: ({ user }) => user?.rank === 'high', update: ({ req }) => req.headers['x-may'] !== 'no' },
      fields: [{ name: 'title', type: 'text' }] },
  ],
  webhooks: [${JSON.stringify(hook)}],
}`);
const password = 'correct horse';
const keys = '/api/keys';
const people = '/api/collections/people';
let ada: LoggedIn;
let bob: LoggedIn;

/** A call under an idempotency key. */
const named = (key: string, as: CallOptions = {}, headers: Record<string, string> = {}): CallOptions => ({
  ...as,
  headers: { ...as.headers, ...headers, 'idempotency-key': `a-long-key-of-${key}` },
});
const isReplayed = ({ headers }: Answer) => headers.get('idempotent-replayed') === 'true';
/** All bytes of the vault as they are on the disk now. */
const vaultBytes = () => {
  const names = readdirSync(service.data).filter((name) => name.startsWith('vault.db'));
  return Buffer.concat(names.map((name) => readFileSync(join(service.data, name))));
};

/** Changes what the vault keeps, beside the service. */
function changeVault(sql: string, ...values: unknown[]): unknown[] {
  const db = new Database(join(service.data, 'vault.db'));
  try {
    const statement = db.prepare(sql);
    return statement.reader ? statement.all(...values) : [statement.run(...values)];
  } finally {
    db.close();
  }
}

async function newUser(name: string): Promise<LoggedIn> {
  const email = `${name}@example.org`;
  const { status } = await service.call('POST', people, { email, password });
  assert.equal(status, 201);
  return loggedIn(service, 'people', email, password);
}

before(async () => {
  // Waits for the service.
  await service.call('GET', keys);
  const setupToken = new URL(service.setupUrl ?? '').searchParams.get('token');
  const first = { setupToken, email: 'ada@example.org', password };
  const { body } = await service.call('POST', `${people}/first-user`, first, { key: null });
  ada = { token: body.token, id: body.user.id, as: bearer(body.token) };
  bob = await newUser('bob');
});

describe('An idempotency key of a POST that writes no document', () => {
  it('makes one API key, and shows its secret again to its maker alone', async () => {
    const make = (options: CallOptions) => service.call('POST', keys, { name: 'ci' }, options);
    const first = await assertRecorded(service, () => make(named('ci')), ['apikey.created']);
    const again = await assertRecorded(service, () => make(named('ci')), []);
    assert.deepEqual([first.status, again.status, isReplayed(first), isReplayed(again)], [201, 201, false, true]);
    assert.match(first.body.secret, /^annals_/);
    assert.deepEqual(again.body, first.body);
    for (const name of ['location', 'cache-control', 'content-type'])
      assert.equal(again.headers.get(name), first.headers.get(name), name);
    const byAda = await make(named('ci', ada.as));
    assert.deepEqual([byAda.status, isReplayed(byAda)], [201, false]);
    assert.notEqual(byAda.body.secret, first.body.secret);
    assert.equal((await make(named('ci', { key: 'wrong' }))).status, 401);
  });

  it('stands for one request: another one is a 422, and does nothing', async () => {
    const make = (body: object, headers = {}) => service.call('POST', keys, body, named('other', {}, headers));
    assert.equal((await make({ name: 'a', scopes: [] })).status, 201);
    assert.equal(isReplayed(await make({ scopes: [], name: 'a' })), true);
    for (const send of [
      () => make({ name: 'b' }),
      () => make({ name: 'a', scopes: [] }, { 'x-change-reason': 'so' }),
    ]) {
      const answer = await assertRecorded(service, send, []);
      assert.deepEqual([answer.status, answer.body.code], [422, 'idempotency_key_reused']);
    }
  });

  it('is executed once of many at once, and all get its answer', async () => {
    const make = () => service.call('POST', keys, { name: 'many' }, named('many'));
    const answers = await assertRecorded(service, () => Promise.all(Array.from({ length: 8 }, make)), [
      'apikey.created',
    ]);
    assert.equal(new Set(answers.map(({ status, body }) => `${status} ${body.secret}`)).size, 1);
    assert.equal(answers.filter((one) => !isReplayed(one)).length, 1);
  });

  it('leaves no secret in the vault, and no key', async () => {
    const { body } = await service.call('POST', keys, { name: 'kept' }, named('kept'));
    const rotated = await service.call('POST', `${keys}/${body.id}/rotate`, {}, named('rotated'));
    const bytes = vaultBytes();
    for (const text of [body.secret, rotated.body.secret, 'a-long-key-of-kept', '"kept"'])
      assert.ok(!bytes.includes(text), text);
    const rows = changeVault('SELECT key, fingerprint, answer FROM replays') as Record<string, string>[];
    assert.ok(rows.length >= 2);
    for (const { key, fingerprint, answer } of rows)
      assert.match(`${key} ${fingerprint} ${answer}`, /^[\w-]{43} [\w-]{43} [\w-]{60,}$/);
  });

  it('means nothing any more after its hour', async () => {
    const make = () => service.call('POST', keys, { name: 'old' }, named('old'));
    const { body } = await make();
    changeVault('UPDATE replays SET expires_at = ?', Date.now() + 60_000);
    assert.equal((await make()).body.secret, body.secret);
    changeVault('UPDATE replays SET expires_at = ?', Date.now() - 1);
    const later = await assertRecorded(service, make, ['apikey.created']);
    assert.deepEqual([later.status, isReplayed(later)], [201, false]);
    assert.notEqual(later.body.secret, body.secret);
    assert.equal(isReplayed(await make()), true);
  });

  it('stays reserved after a request that was cut off', async () => {
    const make = () => service.call('POST', keys, { name: 'cut' }, named('cut'));
    await make();
    changeVault('UPDATE replays SET answer = NULL, expires_at = expires_at - 60000');
    const answer = await assertRecorded(service, make, []);
    assert.deepEqual([answer.status, answer.body.code], [409, 'idempotency_key_in_use']);
  });

  it('is given back by a refused request', async () => {
    const rotate = (body: object) => service.call('POST', `${keys}/${'0'.repeat(16)}/rotate`, body, named('refused'));
    assert.equal((await rotate({})).status, 404);
    assert.equal((await rotate({ overlapSeconds: 1 })).status, 404);
    const invite = (email: string) => service.call('POST', `${people}/invite`, { email }, named('taken', ada.as));
    assert.equal((await invite('bob@example.org')).status, 409);
    assert.equal((await invite('eve@example.org')).status, 200);
  });

  it('shows nothing to a caller who may not do it any more', async () => {
    const scopes = [{ collections: ['posts'], operations: ['read'] }];
    const make = (headers = {}) => service.call('POST', keys, { name: 'a', scopes }, named('may', ada.as, headers));
    const rank = (rank: string) => service.call('PATCH', `${people}/${ada.id}`, { rank });
    await rank('high');
    const statuses = [(await make()).status, (await make({ 'x-may': 'no' })).status];
    // From now on the key would have a right that its maker has not.
    await rank('low');
    assert.deepEqual([...statuses, (await make()).status], [201, 403, 403]);
    const { body } = await service.call('POST', '/api/collections/posts', { title: 'a' });
    const preview = (may: string) => {
      const draft = { collection: 'posts', id: body.id, data: { title: 'b' } };
      return service.call('POST', '/api/preview-token', draft, named('may', ada.as, { 'x-may': may }));
    };
    assert.deepEqual([(await preview('all')).status, (await preview('no')).status], [200, 403]);
  });

  it('is 400 if it is malformed, too short to encrypt a secret, or of a caller without a credential', async () => {
    const sent = (path: string, key: string, options: CallOptions = {}) =>
      service.call('POST', path, { name: 'a' }, { ...options, headers: { 'idempotency-key': key } });
    for (const key of ['', 'a b', 'a'.repeat(256), 'fifteen-letters']) {
      const answer = await sent(keys, key);
      assert.deepEqual([answer.status, Object.keys(errorsOf(answer))], [400, ['idempotency-key']], key);
    }
    const short = await sent(keys, 'fifteen-letters');
    assert.deepEqual([short.body.errors[0].code, short.body.errors[0].limit], ['min_length', 16]);
    for (const route of ['login', 'logout', 'refresh-token', 'forgot-password', 'reset-password', 'accept-invite']) {
      const answer = await sent(`${people}/${route}`, 'a-long-key-of-people', ada.as);
      assert.deepEqual([answer.status, answer.body.errors[0].code], [400, 'misplaced'], route);
    }
  });
});

describe('An idempotency key', () => {
  /** A request of each kind, the events that it records, and its status. */
  const kinds: Record<string, () => Promise<[path: string, body: object | undefined, Expected[], number]>> = {
    async rotate() {
      const { body } = await service.call('POST', keys, { name: 'a' });
      return [`${keys}/${body.id}/rotate`, { overlapSeconds: 0 }, ['apikey.rotated'], 200];
    },
    invite: async () => [`${people}/invite`, { email: 'new@example.org' }, ['invite.created'], 200],
    async unlock() {
      await login(service, 'people', 'bob@example.org', 'wrong password');
      await eventually(async () => (await service.call('GET', `${people}/${bob.id}/account`)).body.locked);
      return [`${people}/${bob.id}/unlock`, undefined, ['account.unlocked'], 200];
    },
    async erase() {
      const { body } = await service.call('POST', '/api/collections/posts', { title: 'gone' });
      const asked = { collection: 'posts', id: body.id, reason: 'asked for' };
      return ['/api/audit/erasures', asked, ['document.erased'], 201];
    },
    async preview() {
      const { body } = await service.call('POST', '/api/collections/posts', { title: 'shown' });
      return ['/api/preview-token', { collection: 'posts', id: body.id, data: { title: 'x' } }, [], 200];
    },
    retryAll: async () => ['/api/webhooks/front/retry', undefined, [], 200],
    async retry() {
      await service.call('POST', '/api/collections/posts', { title: 'told' });
      const deliveries = '/api/webhooks/front/deliveries';
      const [{ id }] = await eventually(async () => {
        const { docs } = (await service.call('GET', deliveries)).body;
        return docs.length > 0 && docs;
      });
      return [`${deliveries}/${id}/retry`, undefined, [], 200];
    },
  };

  for (const [kind, prepare] of Object.entries(kinds)) {
    it(`has one ${kind} done`, async () => {
      const [path, body, events, status] = await prepare();
      const send = () => service.call('POST', path, body, named(`one-${kind}`, ada.as));
      const first = await assertRecorded(
        service,
        async () => {
          const answer = await send();
          assert.equal(answer.status, status, JSON.stringify(answer.body));
          return answer;
        },
        events,
      );
      const again = await assertRecorded(service, send, []);
      assert.deepEqual([again.status, again.body, isReplayed(again)], [status, first.body, true]);
      assert.equal(again.headers.get('location'), first.headers.get('location'));
    });
  }

  it('of a preview lasts as long as its token', async () => {
    const { body } = await service.call('POST', '/api/collections/posts', { title: 'shown' });
    const draft = { collection: 'posts', id: body.id, data: {} };
    await service.call('POST', '/api/preview-token', draft, named('token'));
    const [{ last }] = changeVault('SELECT min(expires_at) AS last FROM replays WHERE expires_at > ?', Date.now()) as [
      { last: number },
    ];
    assert.ok(last <= Date.now() + 15 * 60_000);
  });

  it('does not go with a password, nor with a dry run', async () => {
    const account = { collection: 'people', id: bob.id, data: { password: 'another one' } };
    const preview = await service.call('POST', '/api/preview-token', account, named('password'));
    const erasure = { collection: 'people', id: bob.id, reason: 'so' };
    const dryRun = await service.call('POST', '/api/audit/erasures?dryRun=true', erasure, named('dry', ada.as));
    for (const answer of [preview, dryRun])
      assert.deepEqual([answer.status, answer.body.errors?.[0].code], [400, 'contradiction'], JSON.stringify(answer));
  });

  it('is forgotten with its caller, and with the document that its answer shows', async () => {
    const [eve, subject] = [await newUser('eve'), await newUser('subject')];
    const rows = () =>
      changeVault(
        'SELECT caller, about FROM replays WHERE caller = ? OR about = ?',
        `user:people/${eve.id}`,
        `people/${subject.id}`,
      );
    await service.call('POST', '/api/webhooks/front/retry', undefined, named('eve', eve.as));
    await service.call('POST', `${people}/${subject.id}/unlock`, undefined, named('subject', ada.as));
    assert.equal(rows().length, 2);
    for (const { id } of [eve, subject]) {
      const { status } = await service.call('POST', '/api/audit/erasures', { collection: 'people', id, reason: 'so' });
      assert.ok(status === 201 || status === 202);
    }
    await eventually(() => rows().length === 0);
  });
});
