import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, writeFileSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { makeCertificate } from '../helpers/certificate.ts';
import { callerOf, temporaryFolder } from '../helpers/service.ts';
import { launch, useFolder, useStarted } from '../helpers/shared.ts';

const names = ['acme', 'beta', 'gamma', 'delta'] as const;
const keys = new Map(names.map((name, index) => [name as string, Buffer.alloc(32, index + 1)]));
const secretOf = (site: string) => `whsec_${keys.get(site)?.toString('base64')}`;

type Certificate = NonNullable<ReturnType<typeof makeCertificate>>;

type Came = { headers: IncomingMessage['headers']; text: string; path: string };

/** A receiver with TLS; the path says for which site a message is meant. */
async function receive(t: TestContext, certificate: Certificate) {
  const came: Came[] = [];
  const server = createServer(certificate, async (request, response) => {
    came.push({ headers: request.headers, text: (await request.toArray()).join(''), path: request.url ?? '' });
    response.writeHead(204).end();
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    server.close();
    server.closeAllConnections();
  });
  return { came, url: `https://127.0.0.1:${(server.address() as AddressInfo).port}` };
}

/**
 * A service of several sites, which trusts the one certificate. All have the same name of a webhook, but for gamma,
 * which has none; that of delta has the other certificate.
 */
async function serve(t: TestContext, trusted: Certificate, other: Certificate) {
  const folder = temporaryFolder(t);
  const [receiver, stranger] = [await receive(t, trusted), await receive(t, other)];
  const collections = [{ slug: 'posts', fields: [{ name: 'title', type: 'text' }] }];
  const sites = names.map((id) => {
    const url = `${id === 'delta' ? stranger.url : receiver.url}/${id}`;
    const hook = { name: 'front', url, secret: secretOf(id), allowPrivate: true };
    writeFileSync(join(folder, `${id}.json`), JSON.stringify({ collections, webhooks: id === 'gamma' ? [] : [hook] }));
    return { id, config: `${id}.json`, apiKeys: [`key of ${id}`] };
  });
  writeFileSync(join(folder, 'sites.json'), JSON.stringify(sites));
  const data = join(folder, 'data');
  const environment = { ANNALS_SITES: join(folder, 'sites.json'), ANNALS_DATA: data, ANNALS_THREADS: '1' };
  const all = { ...environment, NODE_EXTRA_CA_CERTS: trusted.file };
  const url = await launch(t, ['serve', '--port', '0'], all).listening;
  return { call: callerOf(url), data, receiver, stranger };
}

/** Waits until a check passes. */
async function until(check: () => boolean | Promise<boolean>): Promise<void> {
  for (let tries = 0; !(await check()); tries += 1) {
    assert.ok(tries < 1000, 'it never came');
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

const [trusted, other] = [makeCertificate(useFolder()), makeCertificate(useFolder())];

describe('the webhooks of several sites, over TLS', { skip: !trusted && 'there is no openssl' }, () => {
  const service = useStarted((t) => serve(t, trusted as Certificate, other as Certificate));

  async function call(site: string, method: string, path: string, body?: object) {
    const caller = { key: `key of ${site}`, headers: { 'x-site-id': site } };
    const answer = await service.call(method, `/api/${path}`, body, caller);
    assert.ok(answer.status < 300, `${method} ${path}: ${answer.status}`);
    return answer.body;
  }

  const write = async (site: string): Promise<string> => (await call(site, 'POST', 'collections/posts', {})).id;

  it('are each of their own site: url, secret, deliveries and place in the log', async () => {
    const { data, receiver } = service;
    const { came } = receiver;
    const ids = new Map<string, string[]>();
    for (const site of ['acme', 'beta', 'gamma', 'acme']) {
      ids.set(site, [...(ids.get(site) ?? []), await write(site)]);
    }
    await until(() => came.length === 3);
    for (const site of ['acme', 'beta']) {
      const own = came.filter(({ path }) => path === `/${site}`);
      assert.deepEqual(new Set(own.map(({ text }) => JSON.parse(text).data.id)), new Set(ids.get(site)), site);
      for (const { headers, text } of own) {
        const signed = `${headers['webhook-id']}.${headers['webhook-timestamp']}.${text}`;
        const signature = createHmac('sha256', keys.get(site) ?? '')
          .update(signed)
          .digest('base64');
        assert.equal(headers['webhook-signature'], `v1,${signature}`, site);
      }
      await until(async () => (await call(site, 'GET', 'webhooks')).docs[0].waiting === 0);
    }
    assert.deepEqual((await call('gamma', 'GET', 'webhooks')).docs, []);
    assert.deepEqual(
      names.map((site) => existsSync(join(data, site, 'webhooks.db'))),
      [true, true, false, true],
    );
  });

  it('are not delivered to a certificate that is not trusted, which the delivery says', async () => {
    const id = await write('delta');
    const list = async (site: string) => (await call(site, 'GET', 'webhooks/front/deliveries')).docs;
    await until(async () => (await list('delta'))[0]?.attempts === 1);
    const [{ data, error, state }] = await list('delta');
    assert.deepEqual(
      [data.id, state, error],
      [
        id,
        'waiting',
        'it has a certificate that is not trusted: NODE_EXTRA_CA_CERTS may name a file with its authority',
      ],
    );
    assert.deepEqual(service.stranger.came, []);
    assert.ok((await list('beta')).every((one: { data: { id: string } }) => one.data.id !== id));
  });
});
