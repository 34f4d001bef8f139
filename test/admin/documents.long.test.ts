import assert from 'node:assert/strict';
import { before, it } from 'node:test';
import type { Page, Request } from 'playwright-core';
import { useServiceHere } from '../helpers/embedded.ts';
import { holds, inTime } from '../helpers/wait-for.ts';
import { chief, describeAdmin, makeFirstUser, settled } from './helpers.ts';
import { addEditor, newsroom } from './newsroom.ts';

const pixel = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
);

describeAdmin('The form of a document', (open) => {
  const service = useServiceHere(newsroom);
  before(async () => {
    await makeFirstUser(service);
    for (const name of ['Ada Lovelace', 'Grace Hopper'])
      await service.call('POST', '/api/collections/authors', { name });
  });

  const article = async (data: object): Promise<string> => {
    const { status, body } = await service.call('POST', '/api/collections/articles', data);
    assert.equal(status, 201, JSON.stringify(body));
    return body.id;
  };
  const stored = async (id: string) => (await service.call('GET', `/api/collections/articles/${id}`)).body;
  const versions = async (id: string) => (await service.call('GET', `/api/audit/documents/articles/${id}`)).body.docs;
  const field = (page: Page, path: string) => page.locator(`[name="${path}"]`);
  const idOf = (page: Page) => new URL(page.url()).pathname.split('/').at(-1) ?? '';
  const save = (page: Page, name: 'Create' | 'Save' = 'Save') =>
    page.locator('main').getByRole('button', { name, exact: true }).click();

  it('takes a value of each of the 21 field types, and the API gives the same back', async () => {
    const { page } = await open({ service, user: chief, path: '/c/articles/new' });
    await field(page, 'title').fill('The analytical engine');
    await holds(field(page, 'slug'), 'the-analytical-engine');
    await field(page, 'teaser').fill('It weaves\npatterns.');
    await page.getByRole('textbox', { name: 'Body' }).click();
    await page.keyboard.type('Just as the loom.');
    await field(page, 'contact').fill('ada@example.org');
    await field(page, 'source').fill('https://example.org/notes');
    await field(page, 'words').fill('1843');
    await page.getByRole('switch', { name: 'Featured' }).check({ force: true });
    await field(page, 'date').fill('2026-03-03');
    await field(page, 'embargo').fill('2026-03-03T10:30');
    await field(page, 'deadline').fill('17:45');
    await field(page, 'status').selectOption('published');
    await page.getByRole('checkbox', { name: 'world' }).check();
    await page.getByRole('radio', { name: 'short' }).check();
    await page
      .locator('[data-field=picture] input[type=file]')
      .setInputFiles({ name: 'loom.png', mimeType: 'image/png', buffer: pixel });
    await page.getByRole('textbox', { name: 'Alt', exact: true }).fill('A loom');
    await page.locator('[data-field=picture]').getByRole('button', { name: 'Upload', exact: true }).click();
    await page.locator('[data-field=picture]').getByText('loom.png').waitFor();
    await page.getByRole('combobox', { name: 'Authors' }).fill('lov');
    await page.getByRole('option', { name: 'Ada Lovelace' }).click();
    await page.getByRole('button', { name: 'Add to Links' }).click();
    await field(page, 'links.0.label').fill('Notes');
    await field(page, 'links.0.url').fill('https://example.org');
    await field(page, 'seo.description').fill('About an engine');
    await field(page, 'section').fill('Science');
    await field(page, 'page').fill('7');
    await page.getByRole('button', { name: 'Add a block' }).click();
    await page.getByRole('menuitem', { name: 'Quote' }).click();
    await field(page, 'parts.0.words').fill('It can do whatever we know how to order it to perform.');
    await field(page, 'raw').fill('{"a": [1, 2]}');
    await save(page, 'Create');
    await page.waitForURL(/\/articles\/[\da-f-]{36}$/);

    const { authors, picture, parts, links, id, createdAt, updatedAt, ...rest } = await stored(idOf(page));
    assert.deepEqual(rest, {
      title: 'The analytical engine',
      slug: 'the-analytical-engine',
      teaser: 'It weaves\npatterns.',
      body: { type: 'doc', content: [{ type: 'paragraph', content: [{ type: 'text', text: 'Just as the loom.' }] }] },
      contact: 'ada@example.org',
      source: 'https://example.org/notes',
      words: 1843,
      featured: true,
      date: '2026-03-03',
      embargo: rest.embargo,
      deadline: rest.deadline,
      status: 'published',
      tags: ['world'],
      length: 'short',
      seo: { description: 'About an engine' },
      section: 'Science',
      page: 7,
      raw: { a: [1, 2] },
    });
    assert.equal(new Date(rest.embargo).toISOString(), new Date('2026-03-03T10:30').toISOString());
    assert.match(rest.deadline, /^17:45/);
    assert.equal(authors.length, 1);
    assert.equal((await service.call('GET', `/api/collections/pictures/${picture}`)).body.alt, 'A loom');
    assert.deepEqual([parts.length, parts[0].blockType, links[0].label], [1, 'quote', 'Notes']);

    // And shown again as it is, so that nothing is left to save.
    await page.reload();
    await settled(page);
    await holds(field(page, 'links.0.url'), 'https://example.org');
    await field(page, 'teaser').fill('Another one');
    await save(page);
    await page.getByText('Saved', { exact: true }).first().waitFor();
    const after = await stored(id);
    assert.deepEqual(
      { ...after, updatedAt: null },
      { ...after, ...rest, id, createdAt, authors, picture, parts, links, teaser: 'Another one', updatedAt: null },
    );
    assert.notEqual(after.updatedAt, updatedAt);
    assert.deepEqual((await versions(id))[1].changed, ['teaser']);
  });

  it('puts what the service refuses at its field, and the focus into the first', async () => {
    const id = await article({ title: 'Fine', slug: 'fine' });
    await article({ title: 'Other', slug: 'taken' });
    const { page } = await open({ service, user: chief, path: `/c/articles/${id}`, refusals: [400, 409] });
    await field(page, 'title').fill('no');
    await field(page, 'seo.description').fill('x'.repeat(161));
    await field(page, 'words').fill('-1');
    await save(page);
    for (const path of ['title', 'seo.description', 'words']) {
      const input = field(page, path);
      await page.waitForFunction(
        (name) => document.querySelector(`[name="${name}"]`)?.getAttribute('aria-invalid') === 'true',
        path,
      );
      await inTime(async () => {
        const described = (await input.getAttribute('aria-describedby'))?.split(' ') ?? [];
        const texts = await Promise.all(
          described.map((one) => page.locator(`[id="${one}"]`).evaluateAll(([found]) => found?.textContent ?? '')),
        );
        assert.ok(texts.join('').length > 3, path);
      });
    }
    await page.waitForFunction(() => (document.activeElement as HTMLInputElement).name === 'title');
    await field(page, 'title').fill('Fine again');
    await field(page, 'seo.description').fill('');
    await field(page, 'words').fill('1');
    await field(page, 'slug').fill('taken');
    await save(page);
    await page.waitForFunction(() => document.querySelector('[name="slug"]')?.getAttribute('aria-invalid') === 'true');
    assert.equal((await stored(id)).title, 'Fine');
  });

  it('brings back what was typed after the tab was closed, and after the way back', async () => {
    const id = await article({ title: 'To be continued' });
    const { page, context, url } = await open({ service, user: chief, path: `/c/articles/${id}` });
    await field(page, 'teaser').fill('Typed, and not saved');
    await page.getByText('Unsaved changes kept').first().waitFor();
    await page.close({ runBeforeUnload: false });
    const again = await context.newPage();
    await again.goto(`${url}/c/articles/${id}`);
    await settled(again);
    await holds(field(again, 'teaser'), 'Typed, and not saved');
    assert.equal((await stored(id)).teaser, null);
    await again.getByRole('button', { name: 'Discard' }).click();
    await again.waitForFunction(() => (document.querySelector('[name="teaser"]') as HTMLTextAreaElement).value === '');
  });

  it('keeps what is typed when the session ends: the user logs in over the form and saves', async () => {
    const user = await addEditor(service, 'writer', 'midway@example.org');
    const id = await article({ title: 'In the middle' });
    const { page } = await open({ service, user, path: `/c/articles/${id}`, refusals: [401] });
    const token = await page.evaluate(() => localStorage.getItem('annals:token'));
    const headers = { authorization: `Bearer ${token}` };
    await service.call('POST', '/api/collections/editors/logout', undefined, { key: null, headers });
    await field(page, 'teaser').fill('Typed before the end');
    // Not by the button: on a slow machine the draft may have asked for the login before, over which nothing can be
    // clicked.
    await page.keyboard.press('Control+s');
    const dialog = page.getByRole('dialog', { name: 'Log in again' });
    await page.waitForFunction(() => (document.activeElement as HTMLInputElement).name === 'password');
    await page.keyboard.type(user.password);
    await page.keyboard.press('Enter');
    await dialog.waitFor({ state: 'hidden' });
    await holds(field(page, 'teaser'), 'Typed before the end');
    // Typed text is still kept.
    const isDraft = (request: Request) =>
      request.method() === 'PUT' && request.postData()?.includes('after-it') === true;
    const draft = page.waitForRequest(isDraft);
    await field(page, 'source').fill('https://example.org/after-it');
    await draft;
    await save(page);
    await page.getByText('Saved', { exact: true }).first().waitFor();
    assert.equal((await stored(id)).teaser, 'Typed before the end');
  });

  it('sends one save at a time, and an answer that comes late leaves what is typed since', async () => {
    const id = await article({ title: 'Slowly' });
    const { page } = await open({ service, user: chief, path: `/c/articles/${id}` });
    let running = 0;
    let most = 0;
    await page.route(`**/api/collections/articles/${id}*`, async (route) => {
      if (route.request().method() !== 'PATCH') return route.continue();
      running += 1;
      most = Math.max(most, running);
      await new Promise((resolve) => setTimeout(resolve, 400));
      const response = await route.fetch();
      running -= 1;
      return route.fulfill({ response });
    });
    await field(page, 'teaser').fill('one');
    await page.keyboard.press('Control+s');
    await field(page, 'teaser').fill('one, two');
    await page.keyboard.press('Control+s');
    await field(page, 'teaser').fill('one, two, three');
    await page.keyboard.press('Control+s');
    await inTime(async () => assert.equal((await stored(id)).teaser, 'one, two, three'));
    await settled(page);
    assert.equal(await field(page, 'teaser').inputValue(), 'one, two, three');
    assert.equal(most, 1);
    assert.equal((await stored(id)).teaser, 'one, two, three');
    // At most one save waits: it sends the state of the form when its turn comes.
    assert.ok([3, 4].includes((await versions(id)).length), String((await versions(id)).length));
  });

  it('writes by the keyboard alone: a title, a save with its shortcut, and on to the history', async () => {
    const { page } = await open({ service, user: chief, path: '/c/articles' });
    await page.keyboard.press('n');
    await page.getByRole('heading', { level: 1, name: 'New: Article' }).waitFor();
    await field(page, 'title').focus();
    await page.keyboard.type('By keys');
    await page.keyboard.press('Control+s');
    await page.waitForURL(/\/articles\/[\da-f-]{36}$/);
    assert.equal((await stored(idOf(page))).title, 'By keys');
    await page.getByRole('heading', { level: 1, name: 'By keys' }).waitFor();
    // The focus stays in the field; if it was on Create, it is on Save.
    await page.waitForFunction(() => (document.activeElement as HTMLInputElement).name === 'title');
    await page.keyboard.type(' alone');
    await holds(field(page, 'title'), 'By keys alone');
    await page.keyboard.press('Control+s');
    await page.getByText(/Version 2$/).waitFor();
    await settled(page);
    await page.evaluate(() => (document.activeElement as HTMLElement | null)?.blur());
    await page.keyboard.press('h');
    await page.waitForURL(/\/history/);
    await settled(page);
    await page.keyboard.press('g');
    await page.keyboard.press('h');
    await page.getByRole('heading', { name: /^Welcome/ }).waitFor();
    await page.keyboard.press('Control+k');
    await page.getByRole('combobox').fill('by keys alone');
    await page
      .getByRole('option', { name: /By keys alone/ })
      .first()
      .waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('combobox').waitFor({ state: 'hidden' });
    await page.keyboard.press('?');
    await page.getByRole('dialog', { name: 'Keyboard shortcuts' }).waitFor();
  });
});
