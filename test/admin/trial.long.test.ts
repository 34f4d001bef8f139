import assert from 'node:assert/strict';
import { before, it } from 'node:test';
import type { Page } from 'playwright-core';
import { loggedIn } from '../helpers/accounts.ts';
import { useServiceHere } from '../helpers/embedded.ts';
import { holds, inTime, number } from '../helpers/wait-for.ts';
import { violations } from './accessibility.ts';
import { chief, describeAdmin, makeFirstUser, overhang } from './helpers.ts';

const word = 'Donaudampfschifffahrtsgesellschaftskapitän';

const service = useServiceHere({
  collections: [
    { slug: 'editors', auth: true, fields: [{ name: 'name', type: 'text' }] },
    {
      slug: 'posts',
      labels: { singular: 'Post', plural: 'Posts' },
      requireReason: true,
      admin: { preview: 'http://127.0.0.1:1/?{token}', searchFields: ['title', 'lead'] },
      fields: [
        { name: 'title', type: 'text', required: true },
        { name: 'lead', type: 'textarea' },
        { name: 'text', type: 'richText' },
        { name: 'authors', type: 'relationship', relationTo: 'authors', hasMany: true },
        { name: 'editor', type: 'relationship', relationTo: 'authors' },
        { name: 'seo', type: 'object', fields: [{ name: 'about', type: 'text' }], admin: { tab: 'Search engines' } },
        { name: 'links', type: 'array', fields: [{ name: 'to', type: 'text' }], admin: { tab: 'Links of it' } },
      ],
    },
    { slug: 'authors', labels: { singular: 'Author', plural: 'Authors' }, fields: [{ name: 'name', type: 'text' }] },
    { slug: 'empties', labels: { singular: word, plural: `${word}e` }, fields: [{ name: 'name', type: 'text' }] },
  ],
  rateLimit: false,
  bcryptCost: 4,
});

const text = (words: string) => ({ type: 'text', text: words });

describeAdmin('the application, tried', (open) => {
  let post = '';
  before(async () => {
    await makeFirstUser(service, chief, { name: 'Ada' });
    const { as } = await loggedIn(service, chief.collection, chief.email, chief.password);
    const options = { ...as, headers: { ...as.headers, 'x-change-reason': 'test' } };
    const write = async (method: string, path: string, body: object) => {
      const answer = await service.call(method, `/api/collections/${path}`, body, options);
      assert.ok(answer.status < 300, JSON.stringify(answer.body));
      return answer.body.id;
    };
    const author = await write('POST', 'authors', { name: 'Grace Hopper' });
    post = await write('POST', 'posts', {
      title: 'One',
      lead: 'The bridge of Königsberg',
      text: { type: 'doc', content: [{ type: 'paragraph', content: [text('One, '), text('two.')] }] },
      authors: [author],
      editor: author,
      seo: { about: 'x' },
      links: [{ to: 'y' }],
    });
    await write('PATCH', `posts/${post}`, { title: 'Two' });
  });

  const openPost = () => open({ service, user: chief, path: `/c/posts/${post}` });
  const hasFocus = (page: Page, name: string) =>
    page.waitForFunction((label) => document.activeElement?.getAttribute('aria-label') === label, name);

  it('plans a restore if a reason is demanded', async () => {
    const { page, go } = await openPost();
    await go(`/c/posts/${post}/history?v=1`);
    await page.getByRole('button', { name: 'Restore' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.locator('dt', { hasText: 'Title' }).waitFor();
  });

  it('edits rich text whose neighbouring texts have the same marks', async () => {
    const { page } = await openPost();
    const box = page.locator('[data-field=text] [contenteditable=true]');
    await inTime(async () => assert.equal(await box.innerText(), 'One, two.'));
  });

  it('opens and closes the preview beside the same form', async () => {
    const { page } = await openPost();
    // There is no site: no token for it comes.
    await page.route('**/*preview-token*', () => undefined);
    await page.getByRole('tab', { name: 'Links of it' }).click();
    await page.locator('[name=title]').evaluate((input) => input.setAttribute('data-same', ''));
    for (const isOpen of [true, false]) {
      await page.locator('[data-preview]').click();
      await page.locator(`[data-preview][aria-pressed=${isOpen}]`).waitFor();
      await number(page.locator('[name=title][data-same]'), 1);
      await page.locator('[role=tab][aria-selected=true]', { hasText: 'Links of it' }).waitFor();
    }
  });

  it('shows no ids while titles are read', async () => {
    const { page, go } = await openPost();
    let answer = () => {};
    const asked = new Promise<void>((resolve) => {
      answer = resolve;
    });
    await page.route('**/api/collections/authors*', async (route) => {
      await asked;
      await route.continue();
    });
    void go(`/c/posts/${post}`).catch(() => undefined);
    await page.locator('[data-field=authors] [data-awaited]').waitFor();
    assert.doesNotMatch(await page.locator('[data-field=authors]').innerText(), /[\da-f]{8}-/);
    assert.equal(await page.locator('[data-field=editor] input').inputValue(), '');
    answer();
    await page.locator('[data-field=authors]', { hasText: 'Grace Hopper' }).waitFor();
    await holds(page.locator('[data-field=editor] input'), 'Grace Hopper');
  });

  it('says who set a list and an object', async () => {
    const { page } = await openPost();
    for (const field of ['title', 'seo', 'links']) {
      await page.locator(`[data-field=${field}] a[title^=Version]`).first().waitFor({ state: 'attached' });
    }
  });

  it('opens a menu by its button, and gives the focus back after the dialog of an item', async () => {
    const { page } = await openPost();
    const name = (await page.locator('main header button[aria-haspopup=menu]').getAttribute('aria-label')) ?? '';
    await page.getByRole('button', { name, exact: true }).click();
    await page.getByRole('menuitem').first().waitFor();
    assert.deepEqual(await violations(page), []);
    await page.getByRole('menuitem', { name: 'Delete…' }).click();
    await page.getByRole('dialog').waitFor();
    await page.keyboard.press('Escape');
    await hasFocus(page, name);
  });

  it('names the button of a toast, and keeps it above Save on a phone', async () => {
    const { page } = await open({
      service,
      user: chief,
      path: `/c/posts/${post}`,
      options: { viewport: { width: 390, height: 844 }, reducedMotion: 'reduce' },
    });
    await page.fill('[name=lead]', `again ${Date.now()}`);
    await page.getByRole('textbox', { name: 'Reason' }).fill('test');
    await page.keyboard.press('Control+s');
    const toast = page.getByRole('alert').filter({ hasText: 'Saved' });
    await toast.waitFor();
    await toast.getByRole('button', { name: 'Close' }).waitFor();
    await inTime(async () => {
      const [above, below] = [await toast.boundingBox(), await page.locator('[data-save]').boundingBox()];
      assert.ok(above !== null && below !== null && above.y + above.height <= below.y, JSON.stringify([above, below]));
    });
  });

  it('tells what is chosen, added and open if the system gives the colours', async () => {
    const options = { forcedColors: 'active', reducedMotion: 'reduce' } as const;
    const { page, go } = await open({ service, user: chief, path: `/c/posts/${post}`, options });
    type Property = 'outlineStyle' | 'textDecorationLine' | 'borderTopStyle';
    const hasStyle = (selector: string, name: Property, style: string) =>
      inTime(async () => {
        const element = page.locator(selector).first();
        assert.equal(await element.evaluate((shown, property) => getComputedStyle(shown)[property], name), style);
      });
    await page.locator('[role=tab][aria-selected=false]').first().waitFor();
    await hasStyle('[role=tab][aria-selected=true]', 'outlineStyle', 'solid');
    await hasStyle('[role=tab][aria-selected=false]', 'outlineStyle', 'none');
    await go(`/c/posts/${post}/history?v=2`);
    await page.locator('main ins').first().waitFor();
    await hasStyle('main [aria-current=true]', 'outlineStyle', 'solid');
    await hasStyle('main ins', 'textDecorationLine', 'underline');
    await hasStyle('main del', 'textDecorationLine', 'line-through');
    await page.keyboard.press('Control+k');
    await page.getByRole('dialog').waitFor();
    await hasStyle('[role=dialog]', 'borderTopStyle', 'solid');
  });

  it('shows long words and German in 320 pixels', async () => {
    const { page } = await open({
      service,
      user: chief,
      path: '/c/empties',
      options: { viewport: { width: 320, height: 640 }, locale: 'de-DE' },
    });
    assert.equal(await overhang(page), 0);
    // No part of the head overlaps another, and none is cut.
    const cut = await page
      .locator('header')
      .first()
      .evaluate((head) => {
        const boxes = [...head.querySelectorAll('button')].map((button) => button.getBoundingClientRect());
        return boxes.some((box, at) => at > 0 && box.left < (boxes[at - 1]?.right ?? 0) - 0.5);
      });
    assert.equal(cut, false);
    const search = page.locator('header').first().locator('button', { hasText: 'Suchen' });
    assert.equal(await search.evaluate((button) => button.scrollWidth <= button.clientWidth), true);
  });
});
