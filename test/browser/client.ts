import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { stripTypeScriptTypes } from 'node:module';
import type { AddressInfo } from 'node:net';
import { after, before, it } from 'node:test';
import type { Page } from 'playwright-core';
import type * as Library from '../../client/index.ts';
import { describeInBrowser } from '../helpers/browser.ts';
import { useServiceHere } from '../helpers/embedded.ts';

/** Pages of a front end, with the client as it is, less its types. */
const pages = createServer(({ url = '' }, response) => {
  response.setHeader('access-control-allow-origin', '*');
  if (!/^\/client\/[\w-]+\.ts$/.test(url)) {
    response.writeHead(200, { 'content-type': 'text/html' }).end('<!doctype html><title>Front end</title>');
    return;
  }
  const source = readFileSync(new URL(`../..${url}`, import.meta.url), 'utf8');
  response.writeHead(200, { 'content-type': 'text/javascript' }).end(stripTypeScriptTypes(source));
}).listen(0, '127.0.0.1');
await once(pages, 'listening');
after(() => {
  pages.close();
  pages.closeAllConnections();
});
const { port } = pages.address() as AddressInfo;
const origin = `http://127.0.0.1:${port}`;
/** The same pages, from an origin that the service does not expect. */
const elsewhere = `http://localhost:${port}`;

const credentials = { email: 'ada@example.org', password: 'notes on the engine' };
const configuration = `export default {
  bcryptCost: 4,
  cors: ['${origin}'],
  collections: [
    { slug: 'users', auth: { maxLoginAttempts: 2 }, access: { create: () => true }, fields: [] },
    { slug: 'notes', access: { read: () => true }, fields: [{ name: 'text', type: 'text' }] },
    { slug: 'files', upload: { maxFileSize: 1_500_000 }, fields: [{ name: 'alt', type: 'text' }] },
  ],
}`;

/** The globals of a script in the page. */
type Place = { library: typeof Library; client: Library.Client; told: Library.ApiError[] };

describeInBrowser('The client in a browser, on a page of another origin', (browser) => {
  const service = useServiceHere(configuration);
  let page: Page;
  before(async () => {
    await service.call('POST', '/api/collections/users', credentials, { key: null });
    page = await browser().newPage();
    await page.goto(origin);
    await prepare(service.url);
  });

  /** Loads the client into the page, and makes one of it that is called `client` there. */
  async function prepare(baseUrl: string): Promise<void> {
    await page.evaluate(
      async ([from, baseUrl]) => {
        const library: typeof Library = await import(`${from}/client/index.ts`);
        const told: Library.ApiError[] = [];
        const client = library.createClient({ baseUrl, onUnauthorized: (error) => told.push(error) });
        Object.assign(globalThis, { place: { library, client, told } });
      },
      [origin, baseUrl] as const,
    );
  }

  const logIn = () =>
    page.evaluate(async (given) => {
      const { client } = (globalThis as unknown as { place: Place }).place;
      return (await client.collection('users').login(given)).user.email;
    }, credentials);

  it('logs in, writes and reads, and sees the headers that it needs', async () => {
    assert.equal(await logIn(), credentials.email);
    const seen = await page.evaluate(async () => {
      const { client } = (globalThis as unknown as { place: Place }).place;
      // Takes away what a page over HTTP from another machine lacks.
      Object.defineProperty(crypto, 'randomUUID', { value: undefined, configurable: true });
      const notes = client.collection('notes');
      const made = await notes.create({ text: 'von überall' }, { reason: 'weil es größer ist' });
      const read = await notes.findOne(made.id);
      const changed = await notes.update(made.id, { text: 'x' }, { ifMatch: client.etagOf(read ?? {}) });
      const stale = await notes.update(made.id, {}, { ifMatch: client.etagOf(read ?? {}) }).catch((error) => error);
      const found: string[] = [];
      for await (const { id } of notes.findAll({ where: { text: { equals: 'x' } } })) found.push(id);
      const { email } = await client.collection('users').me();
      return [read?.text, changed.text, stale.status, stale.requestId?.length, found.length, email];
    });
    assert.deepEqual(seen, ['von überall', 'x', 412, 36, 1, credentials.email]);
  });

  it('sends a file and tells how far it is', async () => {
    await logIn();
    const seen = await page.evaluate(async () => {
      const { client } = (globalThis as unknown as { place: Place }).place;
      const files = client.collection('files');
      const told: Library.Progress[] = [];
      const bytes = new Uint8Array(1_000_000).fill(65);
      const onProgress = (progress: Library.Progress) => told.push(progress);
      const made = await files.upload(new File([bytes], 'große "A".txt'), { alt: 'A' }, { onProgress });
      const last = told.at(-1);
      const authorization = `Bearer ${client.token}`;
      const read = await fetch(client.mediaUrl(made), { headers: { authorization } });
      const size = (await read.arrayBuffer()).byteLength;
      const replaced = await files.replaceFile(made.id, new Blob(['x']).stream(), {}, { filename: 'x.txt' });
      const controller = new AbortController();
      const stop = { signal: controller.signal, onProgress: () => controller.abort(new Error('enough')) };
      const aborted = await files.upload(new Blob([bytes]), {}, stop).catch((error) => error);
      const refused = await files.upload(new Blob([bytes, bytes]), {}, { onProgress }).catch((error) => error);
      return {
        sent: [told.length > 0, last?.sent === last?.total, (last?.sent ?? 0) > 1_000_000],
        made: [made.filename, made.alt, size, replaced.filename, replaced.filesize],
        aborted: [aborted.status, aborted.error, aborted.cause?.message],
        refused: refused.status,
      };
    });
    assert.deepEqual(seen, {
      sent: [true, true, true],
      made: ['große _A_.txt', 'A', 1_000_000, 'x.txt', 1],
      aborted: [0, 'Aborted', 'enough'],
      refused: 413,
    });
  });

  it('forgets a login that is over, and sees how long to wait for another', async () => {
    await logIn();
    const seen = await page.evaluate(async () => {
      const { library, client, told } = (globalThis as unknown as { place: Place }).place;
      const { token } = client;
      const baseUrl = client.mediaUrl('/');
      await library.createClient({ baseUrl, token }).collection('users').logout();
      const both = await Promise.allSettled([client.collection('files').find(), client.collection('users').me()]);
      const wrong = { email: 'eve@example.org', password: 'not the password' };
      const failures: Library.ApiError[] = [];
      for (let tries = 0; tries < 3; tries += 1) {
        await client
          .collection('users')
          .login(wrong)
          .catch((error) => failures.push(error));
      }
      return {
        states: both.map(({ status }) => status),
        left: [client.token, told.map(({ status }) => status)],
        failures: failures.map(({ status, retryAfter }) => [status, (retryAfter ?? 0) > 60]),
      };
    });
    assert.deepEqual(seen, {
      states: ['rejected', 'rejected'],
      left: [null, [401]],
      failures: [
        [401, false],
        [401, false],
        [429, true],
      ],
    });
  });

  it('is told nothing if the service does not list its origin', async () => {
    await page.goto(elsewhere);
    await prepare(service.url);
    const seen = await page.evaluate(async () => {
      const { library, client } = (globalThis as unknown as { place: Place }).place;
      const error = await client
        .collection('notes')
        .find({ retries: 0 })
        .catch((reason) => reason);
      return [error instanceof library.ApiError, error.status, error.error];
    });
    assert.deepEqual(seen, [true, 0, 'Network Error']);
  });

  it('needs no list on a page of the service itself, which it finds by a path alone', async () => {
    await page.goto(`${service.url}/health`);
    await prepare('/');
    assert.equal(await logIn(), credentials.email);
    const seen = await page.evaluate(async () => {
      const { client } = (globalThis as unknown as { place: Place }).place;
      const made = await client.collection('notes').create({ text: 'near' });
      return [made.text, client.mediaUrl('/api/media/files/1/x') === `${location.origin}/api/media/files/1/x`];
    });
    assert.deepEqual(seen, ['near', true]);
  });
});
