import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, it } from 'node:test';
import { emptyRoot } from '../../../events/proof/merkle.ts';
import { parseCheckpoint, parseNote } from '../../../events/proof/notes.ts';
import { bearer, loggedIn, login } from '../../helpers/accounts.ts';
import { useMailbox } from '../../helpers/mail.ts';
import { describeWithPostgres, useDatabase } from '../../helpers/postgres.ts';
import { request } from '../../helpers/requests.ts';
import { runCommand, type Service } from '../../helpers/service.ts';
import { eventually, useStarted } from '../../helpers/shared.ts';
import { startNode } from './node.ts';

const password = 'correct horse battery';
const mailbox = await useMailbox();
/** The ids of the messages to the webhook. */
const delivered: string[] = [];
const receiver = createServer((call, response) => {
  delivered.push(String(call.headers['webhook-id']));
  call.resume();
  response.writeHead(204).end();
}).listen(0, '127.0.0.1');
await once(receiver, 'listening');
after(() => receiver.close());

const config = `export default {
  bcryptCost: 4,
  rateLimit: false,
  collections: [
    { slug: 'users', auth: { useAPIKey: true, maxLoginAttempts: 4, lockTime: 600 }, fields: [] },
    { slug: 'posts', fields: [{ name: 'title', type: 'text' }] },
  ],
  webhooks: [{ name: 'front', url: process.env.RECEIVER, secret: 'whsec_${'A'.repeat(43)}=', collections: ['posts'], allowPrivate: true }],
};
export async function seed({ baseUrl, apiKey }) {
  const response = await fetch(baseUrl + '/api/collections/posts', {
    method: 'POST',
    headers: { 'x-api-key': apiKey, 'content-type': 'application/json' },
    body: JSON.stringify({ title: 'the first' }),
  });
  if (!response.ok) throw new Error(await response.text());
}`;

describeWithPostgres('Accounts of two nodes', () => {
  const make = useDatabase();
  const environment = {
    ANNALS_SMTP_URL: mailbox.url,
    ANNALS_MAIL_FROM: 'annals@example.org',
    RECEIVER: `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/`,
  };
  const two = useStarted(async (t) => {
    const { address } = await make();
    const [a, b] = await Promise.all([
      startNode(t, address, { config, environment }),
      startNode(t, address, { config, environment: { ...environment, ANNALS_READS: 'eventual' }, threads: 1 }),
    ]);
    return { a, b, call: a.call };
  });
  let count = 0;

  async function newUser(): Promise<{ email: string; id: string }> {
    count += 1;
    const email = `user-${count}@example.org`;
    const { status, body } = await two.call('POST', '/api/collections/users', { email, password });
    assert.equal(status, 201, JSON.stringify(body));
    return { email, id: body.id };
  }

  const me = ({ call }: Pick<Service, 'call'>, token: string) =>
    call('GET', '/api/collections/users/me', undefined, bearer(token));

  it('log in on one and call the other, until the session has ended on either', async () => {
    const { email } = await newUser();
    for (const [here, there] of [
      [two.a, two.b],
      [two.b, two.a],
    ] as const) {
      const { token, as } = await loggedIn(here, 'users', email, password);
      assert.equal((await me(there, token)).status, 200);
      assert.equal((await here.call('POST', '/api/collections/users/logout', undefined, as)).status, 200);
      assert.equal((await me(there, token)).status, 401);
    }
  });

  it('are refused by both from the answer on that ends them', async () => {
    for (let round = 0; round < 8; round += 1) {
      const { email } = await newUser();
      const { token, as, id } = await loggedIn(two.a, 'users', email, password);
      const sessions = await two.a.call('POST', '/api/collections/users/logout', undefined, as);
      assert.equal(sessions.status, 200);
      assert.equal((await me(two.b, token)).status, 401, `round ${round}`);
      const deleted = await two.a.call('DELETE', `/api/collections/users/${id}`);
      assert.equal(deleted.status, 200);
    }
  });

  it('are locked after failures on both together', async () => {
    const { email } = await newUser();
    const nodes = [two.a, two.b];
    const tried = await Promise.all(
      Array.from({ length: 10 }, (_, at) => login(nodes[at % 2] as Service, 'users', email, 'a wrong password')),
    );
    assert.deepEqual(tried.map(({ status }) => status).sort(), [401, 401, 401, 401, 429, 429, 429, 429, 429, 429]);
    for (const node of nodes) assert.equal((await login(node, 'users', email, password)).status, 429);
  });

  it('get a new password on the one, by a link that the other asked for, sent once', async () => {
    const { email } = await newUser();
    const asked = await two.b.call('POST', '/api/collections/users/forgot-password', { email }, { key: null });
    assert.equal(asked.status, 200, JSON.stringify(asked.body));
    const token = await mailbox.token(email);
    const reset = { token, password: 'another horse battery' };
    const done = await two.a.call('POST', '/api/collections/users/reset-password', reset, { key: null });
    assert.equal(done.status, 200, JSON.stringify(done.body));
    assert.equal((await login(two.b, 'users', email, password)).status, 401);
    assert.equal((await login(two.b, 'users', email, 'another horse battery')).status, 200);
    const again = await two.b.call('POST', '/api/collections/users/reset-password', reset, { key: null });
    assert.equal(again.status, 400);
  });

  it('get each mail once, whichever node it was asked of', async () => {
    const emails = Array.from({ length: 10 }, (_, at) => `invited-${at}@example.org`);
    const { email } = await newUser();
    const { as } = await loggedIn(two.a, 'users', email, password);
    await Promise.all(
      emails.map(async (invited, at) => {
        const node = at % 2 === 0 ? two.a : two.b;
        const { status } = await node.call('POST', '/api/collections/users/invite', { email: invited }, as);
        assert.ok(status < 300, String(status));
      }),
    );
    const sentTo = (to: string) => mailbox.received.filter((one) => one.to.includes(to));
    await eventually(() => emails.every((to) => sentTo(to).length > 0));
    // All that was sent is recorded before another is sent to the same address, so a second one would have come by
    // then.
    const asked = await two.b.call('POST', '/api/collections/users/forgot-password', { email }, { key: null });
    assert.equal(asked.status, 200);
    await mailbox.token(email);
    assert.deepEqual(
      emails.map((to) => sentTo(to).length),
      emails.map(() => 1),
    );
  });

  it('have preferences and drafts on both', async () => {
    const { email } = await newUser();
    const { as } = await loggedIn(two.a, 'users', email, password);
    const nodes = [two.a, two.b];
    await Promise.all(
      Array.from({ length: 10 }, (_, at) => nodes[at % 2]?.call('PATCH', '/api/preferences', { [`key${at}`]: at }, as)),
    );
    for (const node of nodes) {
      const { body } = await node.call('GET', '/api/preferences', undefined, as);
      assert.equal(Object.keys(body).length, 10);
    }
    const made = await two.call('POST', '/api/collections/posts', { title: 'a post' });
    const path = `/api/drafts/posts/${made.body.id}`;
    const kept = await two.a.call('PUT', path, { version: 1, data: { title: 'typed' } }, as);
    assert.ok(kept.status < 300, JSON.stringify(kept.body));
    assert.deepEqual((await two.b.call('GET', path, undefined, as)).body.data, { title: 'typed' });
    assert.ok((await two.b.call('DELETE', path, undefined, as)).status < 300);
    assert.equal((await two.a.call('GET', path, undefined, as)).status, 404);
  });

  it('take an API key that the other has made, and refuse it once the other has revoked it', async () => {
    const scopes = [{ collections: ['posts'], operations: ['read'] }];
    const made = await two.a.call('POST', '/api/keys', { name: 'a key', scopes });
    assert.equal(made.status, 201, JSON.stringify(made.body));
    const { id, secret } = made.body;
    const read = (node: Service) => node.call('GET', '/api/collections/posts', undefined, { key: secret });
    for (const node of [two.b, two.a]) assert.equal((await read(node)).status, 200);
    const rotated = await two.b.call('POST', `/api/keys/${id}/rotate`, {});
    assert.ok(rotated.status < 300, JSON.stringify(rotated.body));
    assert.equal(
      (await two.a.call('GET', '/api/collections/posts', undefined, { key: rotated.body.secret })).status,
      200,
    );
    const revoked = await two.b.call('DELETE', `/api/keys/${id}`);
    assert.ok(revoked.status < 300, JSON.stringify(revoked.body));
    for (const node of [two.a, two.b]) {
      const used = await node.call('GET', '/api/collections/posts', undefined, { key: rotated.body.secret });
      assert.equal(used.status, 401);
    }
  });

  it('make one API key under an idempotency key, and both show its secret again', async () => {
    const headers = { 'idempotency-key': 'a-key-of-both-nodes' };
    const on = (service: Pick<Service, 'call'>) => service.call('POST', '/api/keys', { name: 'once' }, { headers });
    const answers = await Promise.all([on(two.a), on(two.b), on(two.a), on(two.b)]);
    answers.push(await on(two.a), await on(two.b));
    assert.deepEqual([...new Set(answers.map(({ status }) => status))], [201]);
    assert.equal(new Set(answers.map(({ body }) => body.secret)).size, 1);
    assert.equal(answers.filter((one) => one.headers.get('idempotent-replayed') === null).length, 1);
    const { docs } = (await two.a.call('GET', '/api/keys')).body;
    assert.equal(docs.filter(({ name }: { name: string }) => name === 'once').length, 1);
  });

  it('have each change told to a webhook once, whichever node it was made on', async () => {
    const before = delivered.length;
    const nodes = [two.a, two.b];
    for (let round = 0; round < 6; round += 1) {
      const { status } = await (nodes[round % 2] as Service).call('POST', '/api/collections/posts', { title: 'told' });
      assert.equal(status, 201);
    }
    await eventually(() => delivered.length >= before + 6);
    for (const node of nodes) {
      const path = '/api/webhooks/front/deliveries';
      for (;;) {
        const { status, body } = await node.call('GET', path);
        assert.equal(status, 200, JSON.stringify(body));
        if (body.docs.length === 0) break;
      }
    }
    assert.equal(new Set(delivered).size, delivered.length);
  });

  it('had the first documents loaded once', async () => {
    const { body } = await two.a.call('GET', '/api/collections/posts?where[title][equals]=the%20first');
    assert.equal(body.total, 1);
  });

  it('sign checkpoints with one key, none of which contradicts another', async () => {
    const heads: { size: number; root: string }[] = [];
    for (let round = 0; round < 4; round += 1) {
      await two.call('POST', '/api/collections/posts', { title: `signed ${round}` });
      for (const node of [two.b, two.a]) {
        const { status, body } = await request(node.url, 'GET', '/api/audit/checkpoint');
        assert.equal(status, 200);
        const { size = 0, root = emptyRoot } = parseCheckpoint(parseNote(String(body))?.text ?? '') ?? {};
        heads.push({ size, root: root.toString('base64') });
      }
    }
    const [ofA, ofB] = await Promise.all([two.a, two.b].map((node) => node.call('GET', '/api/audit/signing-keys')));
    assert.equal(ofA?.body.keys.length, 1, JSON.stringify(ofA?.body));
    assert.deepEqual(ofA?.body.keys[0].verifierKey, ofB?.body.keys[0].verifierKey);
    for (const { size, root } of heads) assert.ok(heads.every((other) => other.size !== size || other.root === root));
    assert.ok(new Set(heads.map(({ size }) => size)).size >= 4);
    // Commands beside a node know the key too.
    const verified = await runCommand(['verify', '--data', two.a.data]);
    assert.equal(verified.code, 0, verified.stdout + verified.stderr);
  });
});
