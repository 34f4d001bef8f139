import assert from 'node:assert/strict';
import { before, it } from 'node:test';
import { loggedIn } from '../helpers/accounts.ts';
import { useServiceHere } from '../helpers/embedded.ts';
import { type Credentials, chief, describeAdmin, makeFirstUser, settled } from './helpers.ts';
import { addEditor, newsroom } from './newsroom.ts';

describeAdmin('The view of a user of the application', (open) => {
  const service = useServiceHere(newsroom);
  let reader: Credentials;
  let writer: Credentials;
  let article = '';
  before(async () => {
    await makeFirstUser(service);
    reader = await addEditor(service, 'reader');
    writer = await addEditor(service, 'writer');
    await service.call('POST', '/api/collections/authors', { name: 'Ada Lovelace' });
    const { body } = await service.call('POST', '/api/collections/articles', { title: 'A secret of the paper' });
    article = body.id;
    await service.call('PATCH', `/api/collections/articles/${article}`, { teaser: 'Under seal' });
  });

  it('is, for a role that reads one collection, that one alone', async () => {
    const { page } = await open({ service, user: reader });
    const links = await page.locator('aside nav a').allTextContents();
    assert.deepEqual(
      links.map((text) => text.trim()).filter((text) => !['The Daily', 'Home', 'Trash'].includes(text)),
      ['Authors'],
    );
    assert.equal(await page.getByRole('button', { name: 'As of' }).count(), 0);
    assert.doesNotMatch(await page.locator('body').innerText(), /secret|Articles|Imprint/);
  });

  it('is a page that says so, at the address of something that the user may not see', async () => {
    const { page, go } = await open({ service, user: reader, refusals: [401, 403, 404] });
    const paths = ['/c/articles', '/c/articles/new', `/c/articles/${article}`, `/c/articles/${article}/history`];
    for (const path of [
      ...paths,
      '/g/imprint',
      '/people/editors',
      '/people/editors/0198c1a0-0000-7000-8000-000000000000',
      '/keys',
      '/c/nothing',
      '/nowhere',
    ]) {
      await go(path).catch((error) => assert.fail(`${path}: ${error}`));
      const text = await page.locator('main').innerText();
      assert.match(
        text,
        path.startsWith('/people') ? /may not see these accounts.*rule read/s : /no such page|may not|There is no/,
        `${path}: ${text}`,
      );
      assert.doesNotMatch(text, /A secret of the paper|Under seal/);
    }
  });

  it('holds no content of the history without the right to it, in the answers either', async () => {
    const only = await addEditor(service, 'writer', 'headers@example.org');
    const seen: string[] = [];
    const { page, context, go } = await open({ service, user: reader, refusals: [401, 403, 404] });
    context.on('response', async (response) => {
      if (response.url().includes('/api/')) seen.push(await response.text().catch(() => ''));
    });
    await go('');
    await go(`/c/articles/${article}/history`);
    await settled(page);
    assert.ok(seen.length > 0 && only.email !== '');
    assert.doesNotMatch(seen.join(), /A secret of the paper|Under seal/);
  });

  it('has no way to write what the user may only read', async () => {
    const { page, go } = await open({ service, user: reader });
    await go('/c/authors');
    assert.equal(await page.locator('main').getByRole('link', { name: /^New/ }).count(), 0);
    assert.equal(await page.locator('main').getByRole('button', { name: /^New/ }).count(), 0);
  });

  it('follows what becomes of an account: a chief sees people and keys, a writer neither', async () => {
    const { page } = await open({ service, user: chief });
    const names = async () => (await page.locator('aside nav a').allTextContents()).map((text) => text.trim());
    for (const name of ['Articles', 'Authors', 'Pictures', 'Imprint', 'Editors', 'API keys', 'Media']) {
      assert.ok((await names()).includes(name), name);
    }
    const second = await open({ service, user: writer });
    const links = await second.page.locator('aside nav a').allTextContents();
    for (const name of ['Editors', 'API keys']) assert.ok(!links.map((text) => text.trim()).includes(name), name);
  });
});

describeAdmin('The application below /cms', (open) => {
  const service = useServiceHere(newsroom, { path: '/cms' });
  before(() => makeFirstUser(service));

  it('finds its files, its data and its own addresses there', async () => {
    const { page, context, url } = await open({ service, user: chief });
    const paths: string[] = [];
    context.on('request', (request) => paths.push(new URL(request.url()).pathname));
    await page.locator('aside').getByRole('link', { name: 'Editors' }).click();
    await page.getByRole('heading', { level: 1, name: 'Editors' }).waitFor();
    assert.equal(page.url(), `${url}/people/editors`);
    await page.getByRole('link', { name: chief.email }).click();
    await settled(page);
    await page.reload();
    await settled(page);
    assert.match(page.url(), /\/cms\/admin\/people\/editors\/[\da-f-]{36}$/);
    await page.goBack();
    await page.getByRole('heading', { level: 1, name: 'Editors' }).waitFor();
    assert.ok(paths.length > 5);
    assert.deepEqual(
      paths.filter((path) => !/^\/cms\/(admin|api)(\/|$)/.test(path)),
      [],
    );
  });

  it('keeps its login apart from that of a neighbour at the same origin', async () => {
    const { page } = await open({ service, user: chief });
    const names = await page.evaluate(() => Object.keys(localStorage));
    assert.ok(names.length > 0);
    assert.deepEqual(
      names.filter((name) => name.startsWith('annals:') && !name.startsWith('annals:/cms:')),
      [],
    );
  });

  it('knows the user there', async () => {
    await loggedIn(service, chief.collection, chief.email, chief.password);
    const { page } = await open({ service, path: '/me', user: chief });
    await page.getByRole('heading', { level: 1, name: 'My account' }).waitFor();
  });
});
