import assert from 'node:assert/strict';
import { randomBytes, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import Hapi from '@hapi/hapi';
import Database from 'better-sqlite3';
import fc from 'fast-check';
import { sealSecret } from '../../events/proof/seals.ts';
import { openVault, readSecret } from '../../events/vault/vault.ts';
import { routes } from '../../server/running/app/routes.ts';
import { sealAnew } from '../events/logs.ts';
import { bearer } from '../helpers/accounts.ts';
import { answersOf, type Contract, contractOf, described, type OpenApi, operationsOf } from '../helpers/contract.ts';
import { useSmallDisk } from '../helpers/disk.ts';
import { startHere, useServiceHere } from '../helpers/embedded.ts';
import { withApp } from '../helpers/openapi.ts';
import { request, type Sent } from '../helpers/requests.ts';
import { type Answer, apiKey, temporaryFolder } from '../helpers/service.ts';
import { dial, eventually, received, recordedEvents, useFolder, useService } from '../helpers/shared.ts';
import { type AuditWorld, audit, erasures, reason, right } from './audit-calls.ts';
import { assertAllRecorded, type NotedCall, noted } from './recorded.ts';
import { requestsFor } from './requests.ts';
import { takeRoom } from './trouble.ts';
import type { World } from './world.ts';

const posts = {
  slug: 'posts',
  fields: [
    { name: 'title', type: 'text' },
    { name: 'note', type: 'text' },
    { name: 'tags', type: 'multiSelect', options: ['a'] },
    { name: 'extra', type: 'json' },
  ],
};
const users = { slug: 'users', auth: true, fields: [] };

/**
 * The scopes of a caller are what its header says; without one, a caller with a credential may everything. It cannot be
 * loaded while there is a file `wrong` beside it.
 */
const config = `import { existsSync } from 'node:fs';
if (existsSync(new URL('./wrong', import.meta.url))) throw new Error('wrong');
export default {
  bcryptCost: 4,
  limits: { body: 2000 },
  collections: [
    ${JSON.stringify(posts)},
    { slug: 'files', upload: true, fields: [] },
    { slug: 'users', auth: true, fields: [{ name: 'name', type: 'text' }] },
    {
      slug: 'hooked',
      fields: [{ name: 'title', type: 'text' }],
      hooks: {
        beforeDelete: ({ req }) => {
          if (req.headers['x-refuse']) throw Object.assign(new Error('a hook says no'), { statusCode: 418 });
        },
      },
    },
  ],
  globals: [{ slug: 'site', access: { update: { rule: () => true, description: 'Anybody' } }, fields: [{ name: 'motto', type: 'text' }, { name: 'note', type: 'text' }] }],
  trustProxy: true,
  audit: ({ apiKey, user, req }) => req.headers['x-scopes']?.split(' ') ?? (apiKey !== null || user !== null),
};`;

/** Behind a balancer there is no file of the one process to fill or damage; see nodes.long.test.ts. */
const ofOneProcess = process.env.TEST_NODES === undefined ? {} : { skip: 'the service has several nodes' };
/** The folders of the nodes below the data directory; one process has that itself. */
const nodes = ofOneProcess.skip === undefined ? [''] : ['a', 'b'];
const disk = ofOneProcess.skip
  ? ({ folder: useFolder(), skip: ofOneProcess.skip } as const)
  : useSmallDisk(24 * 1024 * 1024);
const service = useService(
  config,
  { ANNALS_THREADS: '1', ANNALS_BASE_URL: 'https://example.org/cms' },
  ...(disk.skip && !ofOneProcess.skip ? [] : [join(disk.folder, 'data')]),
);
/** Requests for each operation; more of them find more. */
const runs = Number(process.env.TEST_RUNS ?? 8);

let contract: Contract;
let world: AuditWorld;
/** All calls of audit routes of the service, except the one that is held up. */
const calls: NotedCall[] = [];

/** Makes a call of an operation, to `path` below its address, and holds the answer against the document. */
async function call(operation: string, wanted: number, path: string, sent: Sent = {}): Promise<Answer> {
  const [method = ''] = operation.split(' ');
  const answer = await request(service.url, method, path, sent);
  assert.equal(answer.status, wanted, `${operation}: ${String(answer.body)} ${JSON.stringify(answer.body)}`);
  contract.check(operation, answer);
  calls.push(noted(operation, answer));
  return answer;
}

async function made(path: string, body: unknown, sent: Sent = {}): Promise<OpenApi> {
  const answer = await request(service.url, 'POST', `/api/collections/${path}`, { ...sent, body });
  assert.ok(answer.status < 300, JSON.stringify(answer.body));
  return answer.body;
}

const scoped = (scopes: string): Sent => ({ headers: { 'x-scopes': scopes } });

/** A correct call with some parts changed. */
async function vary(operation: string, wanted: number, query: string, sent: Sent = {}): Promise<Answer> {
  const [path, own = {}] = right[operation]?.(world) ?? assert.fail(`it is unknown how to call ${operation}`);
  const address = query === '' ? path : `${path}${path.includes('?') ? '&' : '?'}${query}`;
  return call(operation, wanted, address, { ...own, ...sent, headers: { ...own.headers, ...sent.headers } });
}

const operations = Object.keys(right);
/** An erasure of nodes is never finished at once. */
const erasedStatus = ofOneProcess.skip ? 202 : 201;
const withStatus = (status: number) =>
  answersOf(contract.document)
    .filter((answer) => answer.endsWith(` ${status}`))
    .map((answer) => answer.slice(0, -4));

describe('The answers of the audit routes', () => {
  /** Another service, which does not read through its log. */
  const idle = useServiceHere(
    {
      bcryptCost: 4,
      collections: [
        { slug: 'files', upload: true, fields: [] },
        { slug: 'users', auth: { useAPIKey: true }, fields: [] },
      ],
      globals: [{ slug: 'site', fields: [{ name: 'motto', type: 'text' }] }],
    },
    { verifyPercent: 0 },
  );
  let held: { answer: Promise<Answer>; free: () => void };

  before(async () => {
    const configFile = service.child.spawnargs[service.child.spawnargs.indexOf('--config') + 1] as string;
    const wrong = join(dirname(configFile), 'wrong');
    writeFileSync(wrong, '');
    // One of the nodes has this file.
    const answers = await Promise.all(nodes.map(() => request(service.url, 'GET', `${audit}/openapi.json`)));
    const failed = answers.find(({ status }) => status === 500) ?? assert.fail('it was answered');
    rmSync(wrong);
    contract = contractOf((await request(service.url, 'GET', `${audit}/openapi.json`)).body);
    contract.check(`GET ${audit}/openapi.json`, failed);
    await populate();
  });
  after(() => held?.free());

  async function populate(): Promise<void> {
    const setupToken = await eventually(() => /setup\?token=([\w-]+)/.exec(service.output().stdout)?.[1]);
    const first = { setupToken, email: 'ada@example.org', password: 'correct horse', name: 'Ada' };
    const { token, user } = await made('users/first-user', first, { key: null });
    const admin = bearer(token);
    const { id: post } = await made('posts', { title: 'One', note: 'x', extra: { a: 1, b: 2 } });
    const patch = (path: string, body: object, headers = {}) => request(service.url, 'PATCH', path, { body, headers });
    const because = { 'x-change-reason': 'a new title', 'user-agent': 'a test' };
    await patch(`/api/collections/posts/${post}`, { title: 'Two', extra: { a: 1, c: 3 } }, because);
    await patch('/api/globals/site', { motto: 'Hi' });
    await patch('/api/globals/site', { motto: 'Ho' }, because);
    const { id: gone } = await made('posts', { title: 'Gone' });
    await request(service.url, 'DELETE', `/api/collections/posts/${gone}`);
    const form = new FormData();
    form.set('file', new Blob(['some text']), 'a.txt');
    const { id: file } = await made('files', form);
    await made('users/invite', { email: 'eve@example.org' }, admin);
    const changed = { body: { password: 'correct horse battery' }, headers: { ...admin.headers, ...because } };
    await request(service.url, 'PATCH', `/api/collections/users/${user.id}`, { key: null, ...changed });
    await takeAll();
    const stream = recordedEvents(service.data).find(({ type }) => type === 'invite.created')?.stream ?? '';
    // The mail to it is on record too.
    await eventually(() => recordedEvents(service.data, stream).length === 2);
    const ada = user.id;
    const invitation = stream.split('/').at(-1) as string;
    const { batch } = await made('hooked/bulk', { docs: [{ title: 'a' }, { title: 'b' }] });
    await request(service.url, 'POST', `/api/batches/${batch}/undo`);
    world = { post, gone, file, erased: 0, ada, invitation, admin };
  }

  /** The options of a call of the first user under an idempotency key. */
  function keyed(key: string): Sent {
    return { ...world.admin, headers: { ...world.admin.headers, 'idempotency-key': key } };
  }

  /** Leaves no room on the disk, and nothing signed that would do; gives what makes room again. */
  function fill(): () => void {
    const ballast = join(disk.folder, 'ballast');
    const db = new Database(join(service.data, 'log.db'));
    // The service signs by itself every 10 seconds, in between as well.
    do {
      rmSync(ballast, { force: true });
      db.exec('DELETE FROM checkpoints');
      takeRoom(ballast);
    } while (db.prepare('SELECT count(*) FROM checkpoints').pluck().get() !== 0);
    db.close();
    return () => rmSync(ballast);
  }

  it('are described if there is no room on the disk', { skip: disk.skip }, async () => {
    const makeRoom = fill();
    try {
      const body = { collection: 'posts', id: world.post, reason };
      for (const operation of withStatus(503)) {
        if (operation.endsWith('/feed')) continue;
        if (operation === erasures) await call(operation, 503, `${audit}/erasures`, { body });
        else await vary(operation, 503, '');
      }
    } finally {
      makeRoom();
    }
  });

  it('are described for whatever is asked', async (t) => {
    const { id: post } = await made('posts', { title: 'to be played with' });
    const known = [post, 'posts', 'users', 'site', world.ada, '1', '2', '0/000.p/1'];
    const callers = { contract, documents: {}, admin: world.admin, member: scoped('headers'), caller: () => ({}) };
    for (const operation of operations) {
      const asked = requestsFor(callers as unknown as World, { name: operation, kind: '', slug: '' }, known);
      await t.test(operation, () =>
        fc.assert(
          fc.asyncProperty(asked, async ({ call: { path, ...sent } }) => {
            const [method = ''] = operation.split(' ');
            const answer = await request(service.url, method, path, sent);
            assert.notEqual(answer.status, 500, path);
            contract.check(operation, answer);
            calls.push(noted(operation, answer));
          }),
          { numRuns: runs, endOnFailure: true },
        ),
      );
    }
  });

  it('are described for what there is to see', async () => {
    assert.deepEqual(operations.sort(), operationsOf(contract.document).sort());
    assert.deepEqual(described(contract.document, `GET ${audit}/events`).security.at(-1), {});
    assert.deepEqual(contract.document.servers, [{ url: '/cms' }]);
    const { post, gone } = world;
    const { body: user } = await request(service.url, 'POST', '/api/collections/users', {
      body: { email: 'eve@example.com', password: 'correct horse' },
      ...world.admin,
    });
    await made('posts', { title: 'x' });
    const credentials = { email: 'eve@example.com', password: 'correct horse' };
    const eve = bearer((await made('users/login', credentials, { key: null })).token);
    await request(service.url, 'PATCH', '/api/globals/site', { body: { motto: 'by eve' }, ...eve });
    for (const [collection, id] of [
      ['posts', (await made('posts', { title: 'to be forgotten' })).id],
      ['users', user.id],
    ]) {
      const erase = (status: number, why: string) => {
        const sent = { body: { collection, id, reason: why }, ...keyed(`of-${id}`) };
        return call(erasures, status, `${audit}/erasures`, sent);
      };
      const { body, headers } = await erase(erasedStatus, reason);
      const again = await erase(erasedStatus, reason);
      assert.deepEqual([again.body, again.headers.get('idempotent-replayed')], [body, 'true']);
      await erase(422, 'another reason');
      world.erased = body.position;
      assert.equal(headers.get('location'), `/cms${audit}/erasures/${body.position}`);
    }
    await takeAll();
    const forgotten = recordedEvents(service.data).find(({ position }) => position === world.erased)?.stream ?? '';
    const [, erasedUser = ''] = forgotten.split('/');
    hold();
    await stampNewest();
    for (const operation of operations) await vary(operation, 200, '');

    const [documents, diff] = [`GET ${audit}/documents/{slug}/{id}`, `GET ${audit}/documents/{slug}/{id}/diff`];
    const version = `GET ${audit}/documents/{slug}/{id}/versions/{version}`;
    const subjects = [
      'documents/{slug}/{id}',
      'globals/{slug}',
      'accounts/{slug}/{id}',
      'accounts/{slug}/invites/{id}',
    ];
    for (const subject of subjects) {
      await vary(`GET ${audit}/${subject}`, 200, 'limit=1');
    }
    await call(documents, 200, `${audit}/documents/posts/${gone}`, scoped('headers'));
    await call(documents, 200, `${audit}/documents/users/${erasedUser}`, world.admin);
    await call(`GET ${audit}/accounts/{slug}/{id}`, 200, `${audit}/accounts/users/${erasedUser}`, world.admin);
    await vary(`GET ${audit}/globals/{slug}/diff`, 200, 'from=0&to=0');
    await call(version, 200, `${audit}/documents/posts/${gone}/versions/2`);
    await call(version, 200, `${audit}/documents/users/${erasedUser}/versions/1`, world.admin);
    const byEve = `${audit}/globals/site/versions/3/access`;
    for (const sent of [{}, world.admin]) {
      await call(`GET ${audit}/globals/{slug}/versions/{version}/access`, 200, byEve, sent);
    }
    await call(`${version}/access`, 200, `${audit}/documents/users/${erasedUser}/versions/1/access`, world.admin);
    await call(diff, 200, `${audit}/documents/posts/${gone}/diff?from=2&to=0`);
    await call(diff, 200, `${audit}/documents/users/${erasedUser}/diff`, world.admin);
    await call(diff, 200, `${audit}/documents/posts/${post}/diff?from=0&to=1`);
    await vary(`GET ${audit}/events`, 200, 'limit=2');
    await vary(`GET ${audit}/events`, 200, 'limit=1000', world.admin);
    await vary(`GET ${audit}/events`, 200, 'limit=1000&actors=names', world.admin);
    await vary(`GET ${audit}/feed`, 200, 'limit=1000', world.admin);
    await vary(`GET ${audit}/erasures`, 200, 'limit=1');
    await vary(`GET ${audit}/erasures`, 200, '', scoped('headers'));
    await call(`GET ${audit}/proofs/{position}`, 200, `${audit}/proofs/1`);
    for (const format of ['csv', 'cloudevents']) {
      const because = { 'x-change-reason': 'the audit of 2026' };
      await vary(`GET ${audit}/export`, 200, `format=${format}&from=2&to=4&since=1&since=2`, { headers: because });
    }
  });

  it('are described for keys that handed over, were replaced and disowned', async (t) => {
    const data = join(temporaryFolder(t), 'data');
    const first = await startHere(t, { collections: [posts] }, { data });
    await first.stop();
    const vault = openVault(join(data, 'vault.db'));
    const [signed] = vault.logKeys.signed();
    const log = String(signed?.log);
    const root = Buffer.from(signed?.root ?? []);
    const handedOver = { size: Number(signed?.size), root, time: '2026-11-23T09:00:00.000Z' };
    vault.logKeys.replace(log, { handedOver, reason });
    const disowned = [{ id: String(vault.logKeys.known(log)[0]?.id), signed: 3 }, { id: '0123abcd' }];
    vault.logKeys.replace(log, { disowned, reason });
    vault.close();
    const { url } = await startHere(t, { collections: [posts] }, { data });
    const operation = `GET ${audit}/signing-keys`;
    const answer = await request(url, 'GET', `${audit}/signing-keys`);
    assert.deepEqual([answer.status, answer.body.keys.length], [200, 4]);
    contract.check(operation, answer);
  });

  /** Somebody reads from before an erasure, which so is not finished in time. */
  function hold(): void {
    const db = new Database(join(service.data, 'log.db'), { readonly: true });
    db.exec('BEGIN');
    db.prepare('SELECT count(*) FROM events').get();
    const answer = request(service.url, 'POST', `${audit}/erasures`, {
      body: { collection: 'files', id: world.file, reason },
      headers: { 'idempotency-key': 'held' },
    });
    answer.catch(() => {});
    held = { answer, free: () => db.close() };
  }

  it('are described for server-sent events, of which there is a bounded number', async () => {
    const ask = (query: string, caller = `x-api-key: ${apiKey}`) =>
      dial(
        service.url,
        `GET ${audit}/feed${query} HTTP/1.1\r\nhost: x\r\naccept: text/event-stream\r\n${caller}\r\n\r\n`,
      );
    // Five of each address.
    const askFrom = (address: number) =>
      ask('?type=log.exported', `x-scopes: headers\r\nx-forwarded-for: 10.0.0.${Math.floor(address / 5)}`);
    const sockets = [ask('?next=0')];
    const text = received(sockets[0] as ReturnType<typeof ask>);
    await eventually(() => text().includes('\nid: 2\nevent: '));
    const [head = ''] = text().split('\r\n\r\n');
    const headers = head
      .split('\r\n')
      .slice(1)
      .map((line) => line.split(/: (.*)/s).slice(0, 2) as [string, string]);
    contract.check(`GET ${audit}/feed`, { status: 200, headers: new Headers(headers), body: Buffer.from(text()) });
    while (sockets.length < 5 * nodes.length) sockets.push(ask('?type=log.exported'));
    await Promise.all(sockets.slice(1).map((socket) => once(socket, 'data')));
    await vary(`GET ${audit}/feed`, 429, '', { headers: { accept: 'text/event-stream' } });
    const others = Array.from({ length: 95 * nodes.length }, (_, index) => askFrom(index));
    sockets.push(...others);
    await Promise.all(others.map((socket) => once(socket, 'data')));
    await vary(`GET ${audit}/feed`, 503, '', { headers: { accept: 'text/event-stream' } });
    for (const socket of sockets) socket.destroy();
  });

  it('are described for exports and evidence packs, of which a caller makes two at once', async () => {
    const { url } = idle;
    const noise = () => {
      const body = new FormData();
      body.append('file', new Blob([randomBytes(6_000_000)]), 'noise.bin');
      return { body };
    };
    const { body: file } = await request(url, 'POST', '/api/collections/files', noise());
    assert.equal((await request(url, 'PATCH', `/api/collections/files/${file.id}`, noise())).status, 200);
    await request(url, 'PATCH', '/api/globals/site', { body: { motto: 'Ho' } });
    const account = { email: 'ada@example.org', password: 'a long password' };
    const { body: user } = await request(url, 'POST', '/api/collections/users', { body: account });
    const path = `${audit}/bundles/files/${file.id}`;
    const ask = () => dial(url, `GET ${path} HTTP/1.1\r\nhost: x\r\nx-api-key: ${apiKey}\r\n\r\n`);
    const sockets = [ask(), ask()];
    await Promise.all(sockets.map((socket) => once(socket, 'readable')));
    const paths: Record<string, string> = {
      [`GET ${audit}/export`]: `${audit}/export`,
      [`GET ${audit}/bundles/{slug}/{id}`]: path,
      [`GET ${audit}/bundles/globals/{slug}`]: `${audit}/bundles/globals/site`,
      [`GET ${audit}/bundles/accounts/{slug}/{id}`]: `${audit}/bundles/accounts/users/${user.id}`,
    };
    for (const operation of withStatus(429).filter((name) => name !== `GET ${audit}/feed`)) {
      const answer = await request(url, 'GET', paths[operation] ?? assert.fail(operation));
      assert.equal(answer.status, 429, operation);
      contract.check(operation, answer);
    }
    for (const socket of sockets) socket.destroy();
  });

  it('are described for callers who may not', async () => {
    for (const operation of operations)
      await vary(operation, 401, '', { key: 'wrong', headers: { authorization: 'x' } });
    const { key: _, ...user } = world.admin;
    const { secret } = (await request(service.url, 'POST', '/api/keys', { body: { name: 'without a right' } })).body;
    for (const operation of withStatus(403)) {
      const [path, own = {}] = right[operation]?.(world) ?? [''];
      await call(operation, 403, path, { ...own, key: secret, headers: {} });
      // About this there is no rule.
      if (operation.endsWith('/openapi.json')) continue;
      const foreign = {
        key: null,
        headers: { cookie: `annals-users=${tokenOf(user)}`, origin: 'https://evil.example' },
      };
      await vary(operation, 403, '', operation === erasures ? foreign : scoped('none'));
    }
  });

  it('are described for a caller who has the description', async () => {
    const operation = `GET ${audit}/openapi.json`;
    const { headers } = await vary(operation, 200, '');
    await vary(operation, 304, '', { headers: { 'if-none-match': headers.get('etag') ?? '' } });
  });

  it('are described for what cannot be read, and for what is not there', async () => {
    for (const operation of operations) await vary(operation, 400, 'x=1');
    for (const operation of withStatus(404).filter((one) => one !== erasures)) {
      const [, template = ''] = operation.split(' ');
      const path = template.replaceAll(/\{(id|path|slug)\}/g, randomUUID()).replaceAll(/\{\w+\}/g, '9999999');
      await call(operation, 404, path, world.admin);
    }
    const body = { collection: 'posts', id: 'none', reason };
    const path = `${audit}/erasures`;
    await call(erasures, 404, path, { body });
    await call(erasures, 400, path, { body: '{' });
    await call(erasures, 400, path, { body: {} });
    await call(erasures, 400, path, { body: { ...body, reason: 'x'.repeat(501) } });
    for (const body of ['[]', 'null', '"x"', '5', '']) {
      const answer = await call(erasures, 400, path, { body });
      assert.deepEqual(
        answer.body.errors,
        [{ field: '', in: 'body', code: 'type', message: 'the body must be a JSON object' }],
        body,
      );
    }
    await call(erasures, 413, path, { body: 'x'.repeat(2001) });
    await call(erasures, 415, path, { body: 'x', headers: { 'content-type': 'text/plain' } });
    await takeAll();
    const { stream = '' } = recordedEvents(service.data).find(({ type }) => type === 'document.erased') ?? {};
    const [collection, id] = stream.split('/');
    await call(erasures, 409, path, { body: { collection, id, reason } });
  });

  it('are described for a body that does not come', async (t) => {
    await withApp({ collections: [users] }, async (app) => {
      const server = Hapi.server({ debug: false });
      await server.register({
        plugin: routes,
        options: { app },
      });
      t.mock.timers.enable({ apis: ['setTimeout'] });
      for (const operation of [erasures]) {
        const answer = server.inject({
          method: 'POST',
          url: operation.replace('POST ', '').replace('{batch}', 'x'),
          headers: { 'content-type': 'application/json' },
          payload: '{',
          simulate: { end: false, close: false },
          auth: { strategy: 'annals', credentials: { user: { actor: { type: 'apiKey', id: 'x' }, session: null } } },
        });
        let isAnswered = false;
        answer.then(() => {
          isAnswered = true;
        });
        while (!isAnswered) {
          await setImmediate();
          t.mock.timers.tick(1000);
        }
        const { statusCode, headers, result } = await answer;
        const pairs = Object.entries(headers).map(([name, value]) => [name, String(value)] as [string, string]);
        contract.check(operation, { status: statusCode, headers: new Headers(pairs), body: result });
        assert.equal(statusCode, 408, JSON.stringify(result));
      }
    });
  });

  it('are described for an erasure that is held up', async () => {
    const answer = await held.answer;
    assert.deepEqual([answer.status, answer.body.finished], [202, false]);
    contract.check(erasures, answer);
    const same = { body: { collection: 'files', id: world.file, reason }, headers: { 'idempotency-key': 'held' } };
    const again = await call(erasures, 202, `${audit}/erasures`, same);
    assert.deepEqual([again.body, again.headers.get('idempotent-replayed')], [answer.body, 'true']);
    const { body } = await vary(`GET ${audit}/erasures`, 200, 'limit=1');
    const [{ waitsFor, obstacle }] = body.docs;
    held.free();
    if (ofOneProcess.skip) {
      // With nodes an erasure waits for more than this reader: test/running/nodes/erasure.long.test.ts.
      if (waitsFor === 'data')
        assert.match(
          obstacle,
          /^the node .* (still cleans its files|is not there)|^a reader still uses an older snapshot$/,
        );
      else assert.equal(waitsFor, 'store');
      return;
    }
    assert.equal(waitsFor, 'data');
    assert.equal(obstacle, 'a reader still uses an older snapshot');
    // The next one wakes what waits to try again.
    const { id } = await made('posts', { title: 'x' });
    await call(erasures, 201, `${audit}/erasures`, { body: { collection: 'posts', id, reason } });
    assert.equal((await vary(`GET ${audit}/erasures`, 200, '')).body.docs[1].finished, true);
  });

  it('are described for what a service finds when it goes through its log', async (t) => {
    const look = ({ url }: { url: string }, isWanted: (body: OpenApi) => boolean) =>
      eventually(async () => {
        const answer = await request(url, 'GET', `${audit}/log`, {});
        contract.check(`GET ${audit}/log`, answer);
        return isWanted(answer.body);
      });
    await look(idle, ({ verified }) => verified === null);
    const looking = await startHere(t, config, { verifyPercent: 100 });
    await look(looking, ({ verified, size }) => verified?.to === size);
    const db = new Database(join(looking.data, 'log.db'));
    const triggers = db.prepare("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'").all() as OpenApi[];
    for (const { name } of triggers) db.exec(`DROP TRIGGER "${name}"`);
    await look(looking, ({ altered }) => altered?.from === null);
    db.exec("UPDATE payloads SET body = '{}' WHERE position = 1");
    for (const { sql } of triggers) db.exec(sql);
    db.close();
    await look(looking, ({ altered }) => altered?.from === 1);
  });

  it('are on record if they are an export or an erasure, and nowhere else', async () => {
    await takeAll();
    const rest = assertAllRecorded(service.data, contract.document, calls, {
      keyOf: (operation) => operation,
      succeeds: {
        [`GET ${audit}/export`]: ['log.exported'],
        [`GET ${audit}/bundles/{slug}/{id}`]: ['log.exported'],
        [`GET ${audit}/bundles/globals/{slug}`]: ['log.exported'],
        [`GET ${audit}/bundles/accounts/{slug}/{id}`]: ['log.exported'],
        [erasures]: ['document.erased', ''],
      },
      streamOf: (_operation, type) => (type === 'log.exported' ? 'system/audit/' : ''),
    });
    const others = rest.filter(({ type }) => /^(log\.|document\.erased$)/.test(type));
    assert.deepEqual(
      others.map(({ type, stream }) => `${type} ${stream}`),
      [`document.erased files/${world.file}`],
    );
  });

  it('are described if the log is not what it was', ofOneProcess, async () => {
    const db = new Database(join(service.data, 'log.db'));
    for (const name of db.prepare("SELECT name FROM sqlite_master WHERE type = 'trigger'").pluck().all())
      db.exec(`DROP TRIGGER "${name}"`);
    // Too many events after each, which need not exist for that.
    db.exec('UPDATE head SET size = size + 200000; DELETE FROM checkpoints');
    sealAnew(db, readSecret(join(service.data, 'vault.db'), sealSecret) ?? assert.fail('there is no key'));
    for (const operation of withStatus(422).filter((one) => one !== erasures))
      await vary(operation, 422, 'complete=true');
    const tables = db
      .prepare("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite%'")
      .pluck();
    for (const name of tables.all()) db.exec(`ALTER TABLE "${name}" RENAME TO "gone ${name}"`);
    db.close();
    for (const operation of withStatus(500).filter((one) => !one.endsWith('openapi.json'))) {
      const { body } = await vary(operation, 500, '');
      assert.deepEqual(Object.keys(body), ['statusCode', 'error', 'message', 'code']);
      assert.doesNotMatch(body.message, /SQL|table|gone/i);
    }
  });

  it('are all that the document names', ofOneProcess, () => {
    assert.ok(contract.codes.has('too_many_events'));
    const isOfDisk = (what: string) => disk.skip && / 503( |$)/.test(what);
    // Nothing here has drafts: test/audit/drafts.test.ts meets these.
    const isOfDrafts = (what: string) => /BlamedEvent|\/published( |\/|$)|(Version|Admission)\/.*withheld$/.test(what);
    for (const missing of [contract.unmet(), contract.unseen()]) {
      assert.deepEqual(
        missing.filter((what) => !isOfDisk(what) && !isOfDrafts(what)),
        [],
      );
    }
  });
});

function dataOf(node: string): string {
  return node === '' ? service.data : join(disk.folder, 'data', node);
}

/** Makes each node apply the events that others have appended: a read waits for them. */
async function takeAll(): Promise<void> {
  for (const _ of nodes) await request(service.url, 'GET', '/api/collections/posts?limit=1');
}

/** Stamps the newest checkpoint as an authority would. */
async function stampNewest(): Promise<void> {
  for (const _ of nodes) await call(`GET ${audit}/checkpoint`, 200, `${audit}/checkpoint`);
  for (const node of nodes) {
    const db = new Database(join(dataOf(node), 'log.db'));
    db.exec(
      "INSERT INTO timestamps SELECT max(size), 'tsa.example', x'00', '2026-01-01T00:00:00.000Z' FROM checkpoints",
    );
    db.close();
  }
}

function tokenOf({ headers = {} }: Sent): string {
  return (headers.authorization ?? '').replace('Bearer ', '');
}
