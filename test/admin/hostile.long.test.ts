import assert from 'node:assert/strict';
import { before, it } from 'node:test';
import type { Page } from 'playwright-core';
import { useServiceHere } from '../helpers/embedded.ts';
import { chief, describeAdmin, makeFirstUser, overhang, settled } from './helpers.ts';
import { newsroom } from './newsroom.ts';

const markup =
  '"><img src=x onerror="window.attacked=1"><script>window.attacked=2</script><svg onload="window.attacked=3">';
const rtl = '\u202eevil\u202c שלום مرحبا';
const long = 'W'.repeat(10_000);
const drawn =
  '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9" onload="window.attacked=4"><script>window.attacked=5</script></svg>';
const linked = (href: string) => ({
  type: 'doc',
  content: [
    { type: 'paragraph', content: [{ type: 'text', text: markup, marks: [{ type: 'link', attrs: { href } }] }] },
  ],
});

describeAdmin('Content that means harm', (open) => {
  const service = useServiceHere(newsroom);
  const ids: Record<string, string> = {};
  const create = async (slug: string, data: object): Promise<string> => {
    const headers = { 'x-change-reason': `UTF-8''${encodeURIComponent(markup)}`, 'user-agent': markup };
    const { status, body } = await service.call('POST', `/api/collections/${slug}`, data, { headers });
    assert.equal(status, 201, JSON.stringify(body));
    return body.id;
  };
  before(async () => {
    await makeFirstUser(service, chief, { name: markup });
    const form = new FormData();
    form.set('alt', markup);
    form.set('file', new Blob([drawn], { type: 'image/svg+xml' }), '"><img onerror=alert(1)>.svg');
    const answer = await fetch(`${service.url}/api/collections/pictures`, {
      method: 'POST',
      headers: { 'x-api-key': 'test-key-0123456789' },
      body: form,
    });
    assert.equal(answer.status, 201);
    const picture = ((await answer.json()) as { id: string }).id;
    const author = await create('authors', { name: markup });
    const raw = { html: markup };
    const rest = {
      authors: [author],
      picture,
      raw,
      parts: [{ blockType: 'quote', words: markup }],
      links: [{ label: markup, url: 'https://example.org/"><b>' }],
    };
    ids.markup = await create('articles', {
      title: markup.slice(0, 80),
      teaser: markup,
      body: linked('javascript:window.attacked=6'),
      section: markup,
      ...rest,
    });
    await service.call('PATCH', `/api/collections/articles/${ids.markup}`, {
      teaser: `${markup} again`,
      body: linked('data:text/html,x'),
    });
    ids.rtl = await create('articles', { title: rtl, teaser: rtl, section: rtl });
    ids.long = await create('articles', { title: 'W'.repeat(80), section: long, raw: long });
    ids.author = await create('authors', { name: long });
    const gone = await create('articles', { title: markup.slice(0, 80) });
    await service.call('DELETE', `/api/collections/articles/${gone}`);
    await service.call('POST', '/api/keys', { name: markup.slice(0, 80), scopes: [] });
  });

  const attacked = (page: Page) =>
    page.evaluate(() => (globalThis as unknown as { attacked?: number }).attacked ?? null);

  it('stays text on every page, and no link of it leads anywhere but to the web', async () => {
    // A picture that is not one is refused by the browser.
    const { page, go } = await open({ service, user: chief });
    const paths = [
      '',
      '/c/articles',
      '/c/authors',
      `/c/articles/${ids.markup}`,
      `/c/articles/${ids.markup}/history?v=2`,
    ];
    for (const path of [
      ...paths,
      `/c/articles/${ids.rtl}`,
      `/c/articles/${ids.rtl}/history`,
      '/media',
      '/trash',
      '/keys',
      '/me',
      '/people/editors',
    ]) {
      await go(path);
      await page.waitForTimeout(300);
      assert.deepEqual([path, await attacked(page)], [path, null]);
      const addresses = await page
        .locator('a[href]')
        .evaluateAll((links) => links.map((link) => (link as HTMLAnchorElement).protocol));
      assert.deepEqual(
        [path, addresses.filter((protocol) => !['http:', 'https:', 'mailto:'].includes(protocol))],
        [path, []],
      );
    }
    await page.keyboard.press('Control+k');
    await page.getByRole('combobox').fill('window');
    await page.getByRole('option').first().waitFor();
    await settled(page);
    assert.equal(await attacked(page), null);
  });

  it('does not push the layout aside, however long, and whatever way it is written', async () => {
    const { page, go } = await open({ service, user: chief, options: { viewport: { width: 390, height: 844 } } });
    for (const path of [
      '',
      '/c/articles',
      '/c/authors',
      `/c/articles/${ids.long}`,
      `/c/articles/${ids.long}/history`,
      `/c/articles/${ids.markup}`,
      `/c/authors/${ids.author}`,
      '/trash',
      '/keys',
      '/me',
    ]) {
      await go(path);
      assert.deepEqual([path, await overhang(page)], [path, 0]);
    }
    await settled(page);
  });

  it('of an address stays text too', async () => {
    const { page, go } = await open({ service, user: chief, refusals: [400, 404] });
    const hostile = encodeURIComponent(markup);
    for (const path of [
      `/c/articles?q=${hostile}`,
      `/c/articles?where=${hostile}`,
      `/c/${hostile}`,
      `/c/articles/${hostile}`,
      `/setup?token=${hostile}`,
      `/me?asOf=${hostile}`,
    ]) {
      await go(path);
      await page.waitForTimeout(200);
      assert.deepEqual([path, await attacked(page)], [path, null]);
    }
  });
});
