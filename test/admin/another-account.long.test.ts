import assert from 'node:assert/strict';
import { before, it } from 'node:test';
import type { Page } from 'playwright-core';
import { useServiceHere } from '../helpers/embedded.ts';
import { holds, inTime } from '../helpers/wait-for.ts';
import { type Credentials, chief, describeAdmin, makeFirstUser, settled } from './helpers.ts';
import { addEditor, newsroom } from './newsroom.ts';

/** Texts that only the chief may see. */
const secrets = ['A secret of the paper', 'Under seal', 'Key of the chief', 'Typed and not saved'];

describeAdmin('Two users of one browser', (open) => {
  const service = useServiceHere(newsroom);
  let reader: Credentials;
  let article = '';
  let chiefId = '';
  before(async () => {
    await makeFirstUser(service, chief, { name: 'Ada' });
    reader = await addEditor(service, 'reader');
    const { body } = await service.call('POST', '/api/collections/articles', { title: secrets[0], teaser: secrets[1] });
    article = body.id;
    const where = encodeURIComponent(JSON.stringify({ email: { equals: chief.email } }));
    chiefId = (await service.call('GET', `/api/collections/editors?where=${where}`)).body.docs[0].id;
    const options = { key: null, headers: { authorization: `Bearer ${await tokenOf(chief)}` } };
    const made = await service.call('POST', '/api/keys', { name: secrets[2], scopes: [] }, options);
    assert.equal(made.status, 201, JSON.stringify(made.body));
  });

  async function tokenOf({ collection, email, password }: Credentials): Promise<string> {
    const path = `/api/collections/${collection}/login`;
    return (await service.call('POST', path, { email, password }, { key: null })).body.token;
  }

  const pages = () => [
    { path: `/c/articles/${article}`, shows: secrets[0] },
    { path: `/c/articles/${article}/history`, shows: secrets[1] },
    { path: '/c/articles?q=secret', shows: secrets[0] },
    { path: '/people/editors', shows: reader.email },
    { path: '/keys', shows: secrets[2] },
  ];
  /** Goes to an address as a link does, without loading the application anew. */
  const walk = (page: Page, path: string) => page.evaluate((to) => history.pushState(null, '', `/admin${to}`), path);
  /** Everything on the page: texts, and the values of its inputs. */
  const standing = (page: Page) =>
    page.evaluate(() => {
      const inputs = [...document.querySelectorAll('input, textarea')].map((one) => (one as HTMLInputElement).value);
      return [document.title, document.body.innerText, ...inputs].join('\n');
    });
  const shows = (page: Page, text: string | undefined) =>
    inTime(async () => assert.ok((await standing(page)).includes(text ?? ''), text));
  const logIn = async (page: Page, { email, password }: Credentials) => {
    await page.getByLabel('E-mail address').fill(email);
    await page.locator('input[name=password]').fill(password);
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: /^Welcome/ }).waitFor();
  };
  const logOut = async (page: Page) => {
    await page.getByRole('button', { name: /^Logged in as/ }).click();
    await page.getByRole('menuitem', { name: 'Log out' }).click();
    await page.getByRole('heading', { name: 'Log in' }).waitFor();
  };
  /** Notes each of the secrets that stands on the page from now on, for a moment even. */
  const watch = (page: Page) =>
    page.evaluate((all) => {
      const seen = new Set<string>();
      const look = () => {
        const inputs = [...document.querySelectorAll('input, textarea')].map((one) => (one as HTMLInputElement).value);
        const text = [document.title, document.body.textContent, ...inputs].join('\n');
        for (const one of all) if (text.includes(one)) seen.add(one);
      };
      look();
      new MutationObserver(look).observe(document, { subtree: true, childList: true, characterData: true });
      Object.assign(window, { seen });
    }, secrets);
  const seen = (page: Page) => page.evaluate(() => [...(window as unknown as { seen: Set<string> }).seen]);
  /** The names in the storage of the browser, and its drafts, that are of the chief. */
  const keptOfChief = (page: Page) =>
    page.evaluate(async (id) => {
      const names = [...Object.keys(localStorage), ...Object.keys(sessionStorage)].filter((name) => name.includes(id));
      const drafts = await new Promise<{ account: string }[]>((resolve, reject) => {
        const opening = indexedDB.open('annals:drafts-of-forms');
        opening.onerror = () => reject(opening.error);
        opening.onsuccess = () => {
          const request = opening.result.transaction('drafts').objectStore('drafts').getAll();
          request.onsuccess = () => resolve(request.result);
        };
      });
      return [...names, ...drafts.map(({ account }) => account).filter((account) => account.includes(id))];
    }, chiefId);

  it('the second sees nothing of what the first had open, by any way back to it', async () => {
    const { page } = await open({ service, refusals: [401, 403, 404] });
    await logIn(page, chief);
    for (const one of pages()) {
      await walk(page, one.path);
      await shows(page, one.shows);
      await settled(page);
    }
    await walk(page, `/c/articles/${article}`);
    await page.locator('[name=section]').fill(secrets[3] ?? '');
    await page.locator('[data-kept=service]').waitFor();
    assert.ok((await keptOfChief(page)).length >= 3);
    await logOut(page);
    assert.equal(new URL(page.url()).pathname, '/admin/login');
    await watch(page);
    assert.deepEqual(await keptOfChief(page), []);
    await logIn(page, reader);
    assert.match(page.url(), /\/admin\/?$/);
    for (const { path } of pages().toReversed()) {
      await page.goBack();
      await inTime(async () => assert.ok(page.url().endsWith(path), page.url()));
      await settled(page);
      await inTime(async () =>
        assert.match(await page.locator('main').innerText(), /no such page|may not|There is no/, path),
      );
    }
    assert.deepEqual(await seen(page), []);
    assert.equal(await page.locator('aside').getByRole('link', { name: 'API keys' }).count(), 0);
  });

  it('a logout in another tab leaves nothing in this one, and a login there is one here', async () => {
    const {
      page: first,
      context,
      url,
    } = await open({ service, user: chief, path: `/c/articles/${article}`, refusals: [401, 403, 404] });
    const second = await context.newPage();
    await second.goto(url);
    await settled(second);
    await shows(first, secrets[1]);
    await logOut(second);
    await first.getByRole('heading', { name: 'Log in' }).waitFor();
    await watch(first);
    assert.equal(new URL(first.url()).pathname, '/admin/login');
    await logIn(second, reader);
    await first.getByRole('heading', { name: /^Welcome/ }).waitFor();
    await walk(first, `/c/articles/${article}`);
    await inTime(async () => assert.match(await first.locator('main').innerText(), /no such page|may not|There is no/));
    assert.deepEqual(await seen(first), []);
  });

  it('a login of another tab as somebody else takes the page of the one before away', async () => {
    const writer = await addEditor(service, 'writer');
    const token = await tokenOf(reader);
    const { page, context, url } = await open({
      service,
      user: writer,
      path: `/c/articles/${article}`,
      refusals: [401, 403, 404],
    });
    await shows(page, secrets[1]);
    const other = await context.newPage();
    await other.goto(`${url}/forgot`);
    await other.evaluate((text) => localStorage.setItem('annals:token', text), token);
    await inTime(async () => assert.doesNotMatch(await standing(page), /secret of the paper|Under seal/));
    await watch(page);
    await inTime(async () => assert.match(await page.locator('main').innerText(), /no such page|may not|There is no/));
    await page.getByRole('button', { name: `Logged in as ${reader.email}` }).waitFor();
    assert.deepEqual(await seen(page), []);
  });

  it('what one may not read any more goes from the page when it is read again', async () => {
    const user = await addEditor(service, 'writer', 'demoted@example.org');
    const { page } = await open({ service, user, path: `/c/articles/${article}/history`, refusals: [403, 404] });
    await shows(page, secrets[1]);
    const where = encodeURIComponent(JSON.stringify({ email: { equals: user.email } }));
    const { id } = (await service.call('GET', `/api/collections/editors?where=${where}`)).body.docs[0];
    await service.call('PATCH', `/api/collections/editors/${id}`, { role: 'reader' });
    await inTime(async () => {
      await page.evaluate(() => dispatchEvent(new Event('visibilitychange')));
      assert.doesNotMatch(await standing(page), /secret of the paper|Under seal/);
    });
  });

  it('another account that logs in over an expired page sees none of its draft, which the first account keeps', async () => {
    const user = await addEditor(service, 'writer', 'run-out@example.org');
    const { page } = await open({
      service,
      user,
      path: `/c/articles/${article}`,
      refusals: [401, 403, 404],
    });
    await page.locator('[name=section]').fill('Typed and kept');
    await page.locator('[data-kept=service]').waitFor();
    const token = await page.evaluate(() => localStorage.getItem('annals:token'));
    await service.call('POST', `/api/collections/${user.collection}/logout`, undefined, {
      key: null,
      headers: { authorization: `Bearer ${token}` },
    });
    await page.locator('[name=section]').fill('Typed and kept here');
    const dialog = page.getByRole('dialog', { name: 'Log in again' });
    await dialog.waitFor();
    await holds(page.locator('[name=section]'), 'Typed and kept here');
    await dialog.getByLabel('E-mail address').fill(reader.email);
    await dialog.locator('input[name=password]').fill(reader.password);
    await page.keyboard.press('Enter');
    await dialog.waitFor({ state: 'hidden' });
    await watch(page);
    await inTime(async () => assert.match(await page.locator('main').innerText(), /no such page|may not|There is no/));
    assert.deepEqual(await seen(page), []);
    await logOut(page);
    await logIn(page, user);
    await walk(page, `/c/articles/${article}`);
    await holds(page.locator('[name=section]'), 'Typed and kept here');
  });
});
