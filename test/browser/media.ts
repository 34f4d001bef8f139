import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { before, beforeEach, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import type { Page } from 'playwright-core';
import { describeInBrowser } from '../helpers/browser.ts';
import { useServiceHere } from '../helpers/embedded.ts';
import { apiKey } from '../helpers/service.ts';

const script = `
  document.documentElement.setAttribute('data-ran', 'yes');
  fetch('/api/collections/files').catch(() => {});
`;

describeInBrowser('A file in a browser', (browser) => {
  const service = useServiceHere(
    `export default { collections: [{ slug: 'files', upload: true, access: { read: () => true }, fields: [] }] }`,
  );
  let page: Page;
  const requests: string[] = [];
  const complaints: string[] = [];
  before(async () => {
    page = await browser().newPage();
    page.on('request', (request) => requests.push(request.url()));
    page.on('console', (message) => complaints.push(message.text()));
  });
  beforeEach(() => {
    requests.length = 0;
    complaints.length = 0;
  });

  /** Uploads a file and gives its URL. */
  async function upload(filename: string, content: string): Promise<string> {
    const form = new FormData();
    form.append('file', new Blob([content]), filename);
    const response = await fetch(`${service.url}/api/collections/files`, {
      method: 'POST',
      headers: { 'x-api-key': apiKey },
      body: form,
    });
    assert.equal(response.status, 201);
    return service.url + ((await response.json()) as { url: string }).url;
  }

  it('is shown by pages of other sites as an image, and when it is opened', async () => {
    const flag = readFileSync(fileURLToPath(import.meta.resolve('world-countries/data/usa.svg')), 'utf8');
    const url = await upload('usa.svg', flag);
    await page.setContent(`<img src="${url}">`);
    const sizes = await page.locator('img').evaluate(async (image: HTMLImageElement) => {
      await image.decode();
      return [image.naturalWidth, image.naturalHeight];
    });
    assert.deepEqual(sizes, [1235, 650]);

    await page.goto(url);
    assert.equal(await page.evaluate(() => document.documentElement.tagName), 'svg');
    assert.deepEqual(complaints, []);
  });

  for (const [filename, content] of [
    ['script.svg', `<svg xmlns="http://www.w3.org/2000/svg" onload="${script}"><script>${script}</script></svg>`],
    ['page.html', `<!doctype html><p>here</p><script>${script}</script><img src="x:" onerror="${script}">`],
    ['page.xhtml', `<html xmlns="http://www.w3.org/1999/xhtml"><body><script>${script}</script></body></html>`],
    ['page.png', `<!doctype html><script>${script}</script>`],
  ] as const) {
    it(`runs nothing that is in it: ${filename}`, async () => {
      const url = await upload(filename, content);
      await page.goto(url);
      assert.equal(await page.evaluate(() => document.documentElement.getAttribute('data-ran')), null);
      assert.deepEqual(
        requests.filter((one) => one !== url && !one.startsWith('x:')),
        [],
      );
    });
  }
});
