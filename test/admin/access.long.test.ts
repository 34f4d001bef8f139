import assert from 'node:assert/strict';
import { it } from 'node:test';
import { useServiceHere } from '../helpers/embedded.ts';
import { inTime } from '../helpers/wait-for.ts';
import { chief, describeAdmin, settled } from './helpers.ts';
import { addEditor, newsroom } from './newsroom.ts';

describeAdmin('The way into the application', (open) => {
  const service = useServiceHere(newsroom);

  // The first test: it makes the first user.
  it('begins with the printed link, which makes the first user and logs them in', async () => {
    const path = (service.setupUrl ?? '').split('/admin')[1] ?? '';
    const { page } = await open({ service, path });
    await page.getByRole('heading', { level: 1, name: 'Create the first account' }).waitFor();
    await page.getByLabel('E-mail address').fill(chief.email);
    await page.locator('input[name=password]').fill(chief.password);
    await page.getByRole('button', { name: 'Create the account' }).click();
    await page.getByRole('heading', { name: /^Welcome/ }).waitFor();
    await page.waitForURL(({ pathname }) => pathname === '/admin');
    await page.locator('aside').getByRole('link', { name: 'Home' }).click();
    await settled(page);
    assert.equal(new URL(page.url()).pathname, '/admin');
    await inTime(async () => assert.match(await page.title(), / · The Daily$/));
  });

  it('says that the link is used up, by leading to the login', async () => {
    const { page } = await open({ service, path: '/setup?token=x' });
    await page.getByRole('button', { name: 'Log in' }).waitFor();
  });

  it('refuses a wrong password in the words of the service, and keeps the address that was typed', async () => {
    const { page } = await open({ service, refusals: [401] });
    await page.getByLabel('E-mail address').fill(chief.email);
    await page.locator('input[name=password]').fill('wrong horse');
    await page.keyboard.press('Enter');
    await page.getByRole('alert').waitFor();
    await settled(page);
    assert.equal(await page.getByLabel('E-mail address').inputValue(), chief.email);
    await page.locator('input[name=password]').fill(chief.password);
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: /^Welcome/ }).waitFor();
  });

  it('says until when an account is locked', async () => {
    const { email } = await addEditor(service, 'reader', 'locked@example.org');
    const { page } = await open({ service, refusals: [401, 429] });
    for (let attempt = 0; attempt < 4; attempt += 1) {
      await page.getByLabel('E-mail address').fill(email);
      await page.locator('input[name=password]').fill(`wrong ${attempt}`);
      const answered = page.waitForResponse(/\/login$/);
      await page.keyboard.press('Enter');
      await answered;
      await settled(page);
    }
    await page
      .getByRole('alert')
      .filter({ hasText: /locked|too many/i })
      .waitFor();
  });

  it('leads to the page that was asked for', async () => {
    const { page } = await open({ service, path: '/people/editors' });
    await page.getByLabel('E-mail address').fill(chief.email);
    await page.locator('input[name=password]').fill(chief.password);
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { level: 1, name: 'Editors' }).waitFor();
    await page.waitForURL(({ pathname }) => pathname === '/admin/people/editors');
  });

  it('logs out in all tabs, and a login in one is one in all', async () => {
    const user = await addEditor(service, 'writer');
    const { page, context, url } = await open({ service, user });
    const other = await context.newPage();
    await other.goto(`${url}/me`);
    await settled(other);
    await page.getByRole('button', { name: /^Logged in as/ }).click();
    await page.getByRole('menuitem', { name: 'Log out' }).click();
    await page.getByRole('heading', { name: 'Log in' }).waitFor();
    await other.getByRole('heading', { name: 'Log in' }).waitFor();
    await other.getByLabel('E-mail address').fill(user.email);
    await other.locator('input[name=password]').fill(user.password);
    await other.keyboard.press('Enter');
    await other.getByRole('heading', { name: /^Welcome/ }).waitFor();
    await page.getByRole('heading', { name: /^Welcome/ }).waitFor();
  });

  it('asks for the password over the page once the session has ended at the service', async () => {
    const user = await addEditor(service, 'writer', 'ended@example.org');
    const { page } = await open({ service, user, path: '/me', refusals: [401] });
    await service.call('POST', '/api/collections/editors/logout', undefined, {
      key: null,
      headers: { authorization: `Bearer ${await page.evaluate(() => localStorage.getItem('annals:token'))}` },
    });
    await page.getByRole('link', { name: 'Home' }).first().click();
    await page.getByRole('dialog', { name: 'Log in again' }).waitFor();
  });
});
