import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, it, type TestContext } from 'node:test';
import type { Page } from 'playwright-core';
import { type Launched, launch, useFolder } from '../helpers/shared.ts';
import { chief, describeAdmin, settled } from './helpers.ts';

const pixel = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
);
const config = {
  rateLimit: false,
  bcryptCost: 4,
  collections: [
    { slug: 'editors', auth: true, fields: [{ name: 'name', type: 'text' }] },
    { slug: 'posts', labels: { singular: 'Post', plural: 'Posts' }, fields: [{ name: 'title', type: 'text' }] },
    { slug: 'pictures', labels: { singular: 'Picture', plural: 'Pictures' }, upload: true, fields: [] },
  ],
};

describeAdmin('The application of each of several sites', (open) => {
  const folder = useFolder();
  let service: Launched;
  let url = '';
  const undo: (() => void)[] = [];
  before(async () => {
    const sites = ['acme', 'beta'].map((id) => ({ id, config: 'config.json', apiKeys: [`key of ${id}`] }));
    writeFileSync(join(folder, 'config.json'), JSON.stringify(config));
    writeFileSync(join(folder, 'sites.json'), JSON.stringify(sites));
    const environment = { ANNALS_SITES: join(folder, 'sites.json'), ANNALS_DATA: join(folder, 'data') };
    const ended = { after: (run: () => void) => undo.push(run) } as unknown as TestContext;
    service = launch(ended, ['serve', '--port', '0'], environment);
    url = await service.listening;
  });
  after(() => {
    for (const run of undo) run();
  });
  const call = () => assert.fail('the pages call alone');
  const openSite = (path: string) => open({ service: { url, call }, path });

  /** Makes the first user of a site by the link that is printed for it. */
  async function enter(site: string): Promise<Page> {
    const [, path = ''] = new RegExp(`/admin(/setup\\S+site=${site})`).exec(service.output().stdout) ?? [];
    const { page } = await openSite(path);
    await page.getByLabel('E-mail address').fill(chief.email);
    await page.locator('input[name=password]').fill(`${chief.password} of ${site}`);
    await page.getByRole('button', { name: 'Create the account' }).click();
    await page.getByRole('heading', { name: /^Welcome/ }).waitFor();
    return page;
  }

  it('has users, content and pictures of its own, and keeps its site in every address', async () => {
    const page = await enter('acme');
    const asked: string[] = [];
    page.on('request', (request) => asked.push(request.url()));
    await page.locator('aside').getByRole('link', { name: 'Posts' }).click();
    await page.getByRole('button', { name: 'New Post' }).first().click();
    await page.locator('[name=title]').fill('A secret of acme');
    await page.getByRole('button', { name: 'Create', exact: true }).click();
    await page.getByRole('heading', { level: 1, name: 'A secret of acme' }).waitFor();
    await page.reload();
    await page.getByRole('heading', { level: 1, name: 'A secret of acme' }).waitFor();
    await page.locator('aside').getByRole('link', { name: 'Media' }).click();
    await page
      .locator('main input[type=file]')
      .first()
      .setInputFiles({ name: 'dot.png', mimeType: 'image/png', buffer: pixel });
    await page.waitForFunction(() => [...document.querySelectorAll('main img')].some((img) => img.clientWidth > 0));
    await settled(page);
    await page.reload();
    await page.waitForFunction(() =>
      [...document.querySelectorAll<HTMLImageElement>('main img')].some((img) => img.naturalWidth === 1),
    );
    assert.match(page.url(), /[?&]site=acme/);
    assert.ok(asked.length > 10);

    // The other site, in the same browser.
    const other = await page.context().newPage();
    await other.goto(`${url}/admin/c/posts?site=beta`);
    await other.getByRole('heading', { name: 'There is no account yet' }).waitFor();
    const text = await other.locator('body').innerText();
    assert.doesNotMatch(text, /secret|Posts/);
    await other.close();
    const beta = await enter('beta');
    await beta.locator('aside').getByRole('link', { name: 'Posts' }).click();
    await beta.getByText('There are no Posts yet').waitFor();
    await page.reload();
    await page.getByText('dot.png').first().waitFor();
    await page.getByRole('button', { name: /^Logged in as/ }).click();
    await page.getByRole('menuitem', { name: 'Log out' }).click();
    await page.getByRole('heading', { name: 'Log in' }).waitFor();
    assert.match(page.url(), /\/admin\/login\?site=acme$/);
  });
});
