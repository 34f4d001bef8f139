import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { stripTypeScriptTypes } from 'node:module';
import type { AddressInfo } from 'node:net';
import { after, it } from 'node:test';
import { describeInBrowser } from '../helpers/browser.ts';
import { useServiceHere } from '../helpers/embedded.ts';
import { apiKey } from '../helpers/service.ts';
import { files } from '../helpers/tutorial.ts';

/** Serves the page of docs/tutorial.md as Vite does: without types, the package found under an address. */
const pages = createServer(({ url = '' }, response) => {
  if (url === '/') {
    response.writeHead(200, { 'content-type': 'text/html' }).end(files.get('site/index.html'));
    return;
  }
  const isOurs = /^\/client\/[\w-]+\.ts$/.test(url);
  const source = isOurs
    ? readFileSync(new URL(`../..${url}`, import.meta.url), 'utf8')
    : (files.get(`site${url}`) ?? '');
  const code = stripTypeScriptTypes(source)
    .replace("'annals/client'", "'/client/index.ts'")
    .replace('http://127.0.0.1:4000', service.url);
  response.writeHead(source === '' ? 404 : 200, { 'content-type': 'text/javascript' }).end(code);
}).listen(0, '127.0.0.1');
await once(pages, 'listening');
after(() => {
  pages.close();
  pages.closeAllConnections();
});
const origin = `http://127.0.0.1:${(pages.address() as AddressInfo).port}`;
const configuration = (files.get('annals.config.ts') ?? '')
  .replace("'annals'", JSON.stringify(new URL('../../config/index.ts', import.meta.url).href))
  .replace('http://localhost:5173', origin);
const service = useServiceHere(configuration);

describeInBrowser('The page of the tutorial', (browser) => {
  it('shows posts and pictures, says what is refused, and publishes what its writer sends', async () => {
    const ada = { email: 'ada@example.org', password: 'correct horse battery', name: 'Ada' };
    await service.call(
      'POST',
      '/api/collections/writers/first-user',
      { ...ada, setupToken: setupToken() },
      { key: null },
    );
    const form = new FormData();
    form.set('alt', 'A teal field');
    const teal = '<svg xmlns="http://www.w3.org/2000/svg" width="320" height="180"><rect width="9" height="9"/></svg>';
    form.set('file', new Blob([teal]), 'teal.svg');
    const options = { method: 'POST', headers: { 'x-api-key': apiKey }, body: form };
    const { id } = (await (await fetch(`${service.url}/api/collections/pictures`, options)).json()) as { id: string };
    await service.call('POST', '/api/collections/posts', { title: '<b>First</b>', text: 'In the log.', picture: id });

    const page = await browser().newPage();
    const failures: Error[] = [];
    page.on('pageerror', (error) => failures.push(error));
    await page.goto(origin);
    const shown = () => page.locator('article').evaluateAll((all) => all.map((one) => one.textContent));
    await page.waitForFunction(() => (document.querySelector('img')?.naturalWidth ?? 0) > 0);
    assert.deepEqual(await shown(), ['<b>First</b>In the log.']);
    assert.equal(await page.locator('img').getAttribute('alt'), 'A teal field');

    async function logIn(password: string): Promise<void> {
      await page.fill('[name=email]', ada.email);
      await page.fill('[name=password]', password);
      await page.click('#login button');
    }
    await logIn('not the password');
    await page.locator('#message:not(:empty)').waitFor();
    assert.equal(await page.locator('#message').textContent(), 'the e-mail or the password is wrong');
    await logIn(ada.password);
    await page.locator('#write').waitFor();
    await page.fill('[name=title]', 'Second');
    await page.fill('[name=text]', 'By Ada.');
    await page.setInputFiles('[name=picture]', {
      name: 'teal.svg',
      mimeType: 'image/svg+xml',
      buffer: Buffer.from(teal),
    });
    await page.click('#write button');
    await page.locator('article').nth(1).waitFor();
    assert.deepEqual(await shown(), ['SecondBy Ada.', '<b>First</b>In the log.']);
    assert.deepEqual(failures, []);
    const { body } = await service.call('GET', '/api/audit/events?limit=1&type=document.created');
    assert.equal(body.docs.at(-1)?.header.actor.type, 'user', JSON.stringify(body));
  });
});

/** From the address that a start prints. */
function setupToken(): string {
  return new URL(String(service.setupUrl)).searchParams.get('token') ?? '';
}
