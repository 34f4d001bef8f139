import assert from 'node:assert/strict';
import { before, it } from 'node:test';
import type { Page } from 'playwright-core';
import { useServiceHere } from '../helpers/embedded.ts';
import { holds, inTime, number } from '../helpers/wait-for.ts';
import { addPerson, desk } from './desk.ts';
import { type Credentials, chief, describeAdmin, makeFirstUser, settled } from './helpers.ts';

describeAdmin('Drafts in the application', (open) => {
  const service = useServiceHere(desk);
  let writer: Credentials;
  let shop: Credentials;
  before(async () => {
    await makeFirstUser(service, chief, { name: 'Ada' });
    writer = await addPerson(service, 'writer');
    shop = await addPerson(service, 'shop');
  });

  const post = async (data: object, query = ''): Promise<string> => {
    const { status, body } = await service.call('POST', `/api/collections/posts${query}`, data);
    assert.equal(status, 201, JSON.stringify(body));
    return body.id;
  };
  const patchDraft = async (id: string, data: object) => {
    const { status, body } = await service.call('PATCH', `/api/collections/posts/${id}?draft=true`, data);
    assert.equal(status, 200, JSON.stringify(body));
  };
  const publicOf = (id: string) => service.call('GET', `/api/collections/posts/${id}`);
  const draftOf = async (id: string) => (await service.call('GET', `/api/collections/posts/${id}?draft=true`)).body;
  const typesOf = async (id: string): Promise<string[]> =>
    (await service.call('GET', `/api/audit/documents/posts/${id}`)).body.docs.map(({ type }: { type: string }) => type);
  const field = (page: Page, name: string) => page.locator(`[name="${name}"]`);
  const button = (page: Page, name: string | RegExp) =>
    page.locator('main').getByRole('button', typeof name === 'string' ? { name, exact: true } : { name });
  const isIn = (page: Page, status: string) => page.locator(`h1 ~ div [data-status=${status}]`).waitFor();
  const told = (page: Page, text: string) => page.getByRole('alert').getByText(text, { exact: true }).first().waitFor();
  const menu = async (page: Page, name: string) => {
    await button(page, 'More about publishing').click();
    await page.getByRole('menuitem', { name }).click();
  };

  it('publishes what was typed with one click, in one append, and the draft and what is public are equal', async () => {
    const id = await post({ title: 'Sale', price: 9 });
    const { page } = await open({ service, user: chief, path: `/c/posts/${id}` });
    await isIn(page, 'published');
    await field(page, 'title').fill('Winter sale');
    await page.evaluate(() => {
      Object.assign(globalThis, { clicks: 0 });
      addEventListener(
        'click',
        () => Object.assign(globalThis, { clicks: Reflect.get(globalThis, 'clicks') + 1 }),
        true,
      );
    });
    await button(page, 'Publish').click();
    await told(page, 'Published');
    assert.equal(await page.evaluate(() => Reflect.get(globalThis, 'clicks')), 1);
    assert.equal((await publicOf(id)).body.title, 'Winter sale');
    assert.equal((await draftOf(id)).__status, 'published');
    assert.deepEqual(await typesOf(id), ['document.created', 'document.draft.updated', 'document.published']);
    await isIn(page, 'published');
    await field(page, 'title').fill('Summer sale');
    await page.keyboard.press('Control+Shift+S');
    await inTime(async () => assert.equal((await publicOf(id)).body.title, 'Summer sale'));
    await button(page, 'Publish').click();
    await told(page, 'Everything here is public already');
    assert.equal((await typesOf(id)).length, 5);
  });

  it('saves a draft that readers do not see, shows what differs and who changed it, and publishes that', async () => {
    const id = await post({ title: 'Tea', price: 3, body: 'Green' });
    const { page } = await open({ service, user: chief, path: `/c/posts/${id}` });
    await field(page, 'body').fill('Black');
    await field(page, 'price').fill('4');
    await page.keyboard.press('Control+s');
    await told(page, 'Draft saved');
    await isIn(page, 'changed');
    assert.deepEqual([(await publicOf(id)).body.body, (await draftOf(id)).body], ['Green', 'Black']);
    await button(page, '2 changes not published').click();
    const dialog = page.getByRole('dialog', { name: 'Changes that are not published' });
    await number(dialog.locator('tbody tr'), 2);
    const row = dialog.locator('[data-change=body]');
    await inTime(async () => assert.match(await row.innerText(), /Body\s+Green\s+Black\s+You, /));
    await dialog.getByRole('button', { name: 'Publish these' }).click();
    await told(page, 'Published');
    await dialog.waitFor({ state: 'hidden' });
    await isIn(page, 'published');
    assert.deepEqual([(await publicOf(id)).body.body, (await publicOf(id)).body.price], ['Black', 4]);
    await button(page, 'Save draft').click();
    await told(page, 'Nothing has changed');
  });

  it('tells beforehand what a publication lacks, which links are not public, and what it would replace', async () => {
    const author = (await service.call('POST', '/api/collections/authors?draft=true', { name: 'Grace' })).body.id;
    const id = await post({ title: 'Notes', price: 9 });
    await patchDraft(id, { title: null, price: 8, author });
    await service.call('PATCH', `/api/collections/posts/${id}`, { price: 10 });
    const { page } = await open({ service, user: chief, path: `/c/posts/${id}`, refusals: [400] });
    await button(page, '3 changes not published').click();
    const dialog = page.getByRole('dialog', { name: 'Changes that are not published' });
    const note = (kind: string) => dialog.locator(`[data-trial=${kind}]`);
    await inTime(async () => assert.match(await note('problems').innerText(), /Title: /));
    assert.match(await note('not-published').innerText(), /Author: Grace/);
    assert.match(await note('overwritten').innerText(), /Price became “10”.*it was “9”/);
    await page.keyboard.press('Escape');
    // A value that readers would lack is named at its field, and the focus is in it.
    await button(page, 'Publish').click();
    await page.waitForFunction(() => (document.activeElement as HTMLInputElement).name === 'title');
    await field(page, 'title').fill('Notes on engines');
    await button(page, 'Publish').click();
    await told(page, 'Published');
    assert.deepEqual([(await publicOf(id)).body.title, (await publicOf(id)).body.price], ['Notes on engines', 8]);
  });

  it('discards and unpublishes after a question, and what is typed and not saved stays', async () => {
    const id = await post({ title: 'Soap', price: 2, body: 'Old' });
    await patchDraft(id, { title: 'Sope' });
    const { page } = await open({ service, user: chief, path: `/c/posts/${id}` });
    await isIn(page, 'changed');
    await field(page, 'body').fill('Typed');
    await menu(page, 'Discard changes…');
    await page.getByRole('dialog').getByRole('button', { name: 'Discard changes' }).click();
    await told(page, 'Changes discarded');
    await isIn(page, 'published');
    await holds(field(page, 'title'), 'Soap');
    await holds(field(page, 'body'), 'Typed');
    await menu(page, 'Unpublish…');
    await page.getByRole('dialog', { name: 'Unpublish “Soap”?' }).getByRole('button', { name: 'Unpublish' }).click();
    await told(page, 'Unpublished');
    await isIn(page, 'draft');
    assert.equal((await publicOf(id)).status, 404);
    await holds(field(page, 'body'), 'Typed');
    await button(page, 'Publish').click();
    await told(page, 'Published');
    assert.deepEqual([(await publicOf(id)).body.title, (await publicOf(id)).body.body], ['Soap', 'Typed']);
  });

  it('creates a draft that lacks what readers need, and keeps the unsaved changes of one', async () => {
    const { page, context, url } = await open({ service, user: chief, path: '/c/posts/new', refusals: [400] });
    await field(page, 'title').fill('Half a post');
    await button(page, 'Publish').click();
    await page.waitForFunction(() => (document.activeElement as HTMLInputElement).name === 'price');
    await button(page, 'Create draft').click();
    await page.waitForURL(/\/posts\/[\da-f-]{36}$/);
    await isIn(page, 'draft');
    const id = new URL(page.url()).pathname.split('/').at(-1) ?? '';
    assert.equal((await publicOf(id)).status, 404);
    await field(page, 'body').fill('Typed, and not saved');
    await page.locator('[data-kept=service]').waitFor();
    await page.close({ runBeforeUnload: false });
    const again = await context.newPage();
    await again.goto(`${url}/c/posts/${id}`);
    await settled(again);
    await holds(field(again, 'body'), 'Typed, and not saved');
    await field(again, 'price').fill('1');
    await again.locator('main').getByRole('button', { name: 'Publish', exact: true }).click();
    await inTime(async () => assert.equal((await publicOf(id)).body.body, 'Typed, and not saved'));
  });

  it('asks what to keep if somebody else has saved a draft, and publishes that choice', async () => {
    const id = await post({ title: 'Contested', price: 5 });
    const { page } = await open({ service, user: chief, path: `/c/posts/${id}`, refusals: [412] });
    await field(page, 'title').fill('Mine');
    await patchDraft(id, { title: 'Theirs', price: 6 });
    await button(page, 'Publish').click();
    const dialog = page.getByRole('dialog', { name: /Somebody else|elsewhere/ });
    await dialog.waitFor();
    assert.equal((await publicOf(id)).body.title, 'Contested');
    await number(dialog.locator('[data-conflict]'), 2);
    await dialog.getByRole('button', { name: 'Publish this choice' }).click();
    await told(page, 'Published');
    assert.deepEqual([(await publicOf(id)).body.title, (await publicOf(id)).body.price], ['Mine', 6]);
  });

  it('keeps what is typed when the session ends during a publication', async () => {
    const id = await post({ title: 'Expired', price: 5 });
    const user = await addPerson(service, 'chief', 'midway@example.org');
    const { page } = await open({ service, user, path: `/c/posts/${id}`, refusals: [401] });
    const token = await page.evaluate(() => localStorage.getItem('annals:token'));
    const headers = { authorization: `Bearer ${token}` };
    await service.call('POST', '/api/collections/editors/logout', undefined, { key: null, headers });
    await field(page, 'body').fill('Typed before the end');
    await page.keyboard.press('Control+Shift+S');
    const dialog = page.getByRole('dialog', { name: 'Log in again' });
    await page.waitForFunction(() => (document.activeElement as HTMLInputElement).name === 'password');
    await page.keyboard.type(user.password);
    await page.keyboard.press('Enter');
    await dialog.waitFor({ state: 'hidden' });
    await holds(field(page, 'body'), 'Typed before the end');
    await button(page, 'Publish').click();
    await told(page, 'Published');
    assert.equal((await publicOf(id)).body.body, 'Typed before the end');
  });

  it('offers no way to publish to a writer, and shows no draft to the shop in any answer', async () => {
    const id = await post({ title: 'Secretive', price: 5 });
    await patchDraft(id, { title: 'Hidden words' });
    const { page } = await open({ service, user: writer, path: `/c/posts/${id}` });
    await isIn(page, 'changed');
    await number(button(page, /Publish/), 0);
    await button(page, '1 change not published').click();
    const dialog = page.getByRole('dialog', { name: 'Changes that are not published' });
    await dialog.getByText('Hidden words').waitFor();
    await number(dialog.getByRole('button', { name: 'Publish these' }), 0);
    await page.keyboard.press('Escape');
    await field(page, 'body').fill('By the writer');
    await button(page, 'Save draft').click();
    await told(page, 'Draft saved');
    assert.equal((await publicOf(id)).body.body, null);

    const tab = await open({ service, user: shop });
    const answers: string[] = [];
    tab.page.on('response', async (response) => {
      if (response.url().includes('/api/')) answers.push(await response.text().catch(() => ''));
    });
    for (const path of ['', '/c/posts', `/c/posts/${id}`]) await tab.go(path);
    await number(tab.page.locator('[data-status]'), 0);
    await number(button(tab.page, /Publish|draft/), 0);
    await field(tab.page, 'price').fill('4');
    await button(tab.page, 'Save').click();
    await told(tab.page, 'Saved');
    assert.equal((await publicOf(id)).body.price, 4);
    assert.equal((await draftOf(id)).title, 'Hidden words');
    assert.ok(answers.length > 5);
    assert.doesNotMatch(answers.join('\n'), /Hidden words|By the writer|__status/);
  });

  it('lists drafts with their status, and filters by it', async () => {
    const { body: all } = await service.call('GET', '/api/collections/posts?draft=true&limit=100');
    const { page } = await open({ service, user: chief, path: '/c/posts?limit=100' });
    await number(page.locator('tbody tr'), all.total);
    assert.deepEqual((await page.locator('thead th').allInnerTexts()).slice(1, 3), ['Title', 'Status']);
    const rows = page.locator('tbody tr');
    await post({ title: 'Only a draft' }, '?draft=true');
    for (const [name, status] of [
      ['Drafts', 'draft'],
      ['Changed', 'changed'],
      ['Published', 'published'],
    ] as const) {
      const query = `where[__status][equals]=${status}&draft=true&limit=100`;
      const { total } = (await service.call('GET', `/api/collections/posts?${query}`)).body;
      await page.getByRole('group', { name: 'Filter by status' }).getByRole('button', { name, exact: true }).click();
      await number(rows.locator(`[data-status=${status}]`), total);
      await number(rows, total);
    }
    await page.getByRole('group', { name: 'Filter by status' }).getByRole('button', { name: 'Drafts' }).click();
    await page.getByRole('link', { name: 'Only a draft' }).click();
    await isIn(page, 'draft');
  });

  it('publishes a global, which is always public', async () => {
    const { page } = await open({ service, user: chief, path: '/g/imprint' });
    const text = async (query = '') => (await service.call('GET', `/api/globals/imprint${query}`)).body.text;
    await field(page, 'text').fill('A draft');
    await button(page, 'Save draft').click();
    await told(page, 'Draft saved');
    await isIn(page, 'changed');
    assert.deepEqual([await text(), await text('?draft=true')], [null, 'A draft']);
    await button(page, 'More about publishing').click();
    await number(page.getByRole('menuitem'), 1);
    await page.keyboard.press('Escape');
    await field(page, 'text').fill('The imprint');
    await button(page, 'Publish').click();
    await told(page, 'Published');
    assert.equal(await text(), 'The imprint');
  });
});
