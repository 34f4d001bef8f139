import assert from 'node:assert/strict';
import { before, it } from 'node:test';
import type { AccessArgs, AuditArgs } from '../../config/model.ts';
import { loggedIn } from '../helpers/accounts.ts';
import { useServiceHere } from '../helpers/embedded.ts';
import { holds, inTime } from '../helpers/wait-for.ts';
import { type Credentials, chief, describeAdmin, makeFirstUser, settled, type Tab } from './helpers.ts';
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
    await inTime(async () => {
      const links = await page.locator('aside nav a').allTextContents();
      assert.deepEqual(
        links.map((text) => text.trim()).filter((text) => !['The Daily', 'Home', 'Trash'].includes(text)),
        ['Authors'],
      );
    });
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
      const main = page.locator('main');
      const words = path.startsWith('/people')
        ? /may not see these accounts.*rule read/s
        : /no such page|may not|There is no/;
      await inTime(async () => assert.match(await main.innerText(), words, path));
      assert.doesNotMatch(await main.innerText(), /A secret of the paper|Under seal/);
    }
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
      await inTime(async () => assert.ok((await names()).includes(name), name));
    }
    const second = await open({ service, user: writer });
    await second.page.locator('aside nav a', { hasText: 'Articles' }).first().waitFor();
    const links = await second.page.locator('aside nav a').allTextContents();
    for (const name of ['Editors', 'API keys']) assert.ok(!links.map((text) => text.trim()).includes(name), name);
  });
});

const isChief = ({ user }: AccessArgs) => user?.role === 'chief';
const isUser = ({ user }: AccessArgs) => user !== null;

/** Without the fields that other collections would be needed for. */
function withoutJoins<Collection extends { fields: readonly { type: string }[] }>(collection: Collection): Collection {
  return { ...collection, fields: collection.fields.filter(({ type }) => type !== 'join') };
}

describeAdmin('The form and the history of a document that a user may see a part of', (open) => {
  const service = useServiceHere({
    ...newsroom,
    audit: ({ user, apiKey }: AuditArgs) =>
      apiKey !== null || user?.role === 'chief' || (user?.role === 'writer' && ['headers']),
    collections: [
      {
        slug: 'contracts',
        labels: { singular: 'Contract', plural: 'Contracts' },
        admin: { useAsTitle: 'title' },
        access: { read: isUser, create: isUser, update: isUser, delete: isUser },
        fields: [
          { name: 'title', type: 'text', required: true },
          { name: 'salary', type: 'number', access: { read: isChief, create: isChief, update: isChief } },
          { name: 'rank', type: 'text', access: { create: isChief, update: isChief } },
          { name: 'grades', type: 'array', access: { update: isChief }, fields: [{ name: 'grade', type: 'text' }] },
          {
            name: 'parts',
            type: 'blocks',
            blocks: [
              {
                slug: 'clause',
                fields: [
                  { name: 'words', type: 'text' },
                  { name: 'witness', type: 'relationship', relationTo: 'authors' },
                ],
              },
            ],
          },
        ],
      },
      ...(newsroom.collections ?? []).filter(({ slug }) => slug === 'authors' || slug === 'editors').map(withoutJoins),
    ],
    globals: [],
  });
  let writer: Credentials;
  let contract = '';
  const witnesses: string[] = [];
  before(async () => {
    await makeFirstUser(service);
    writer = await addEditor(service, 'writer');
    for (const name of ['Ada Lovelace', 'Grace Hopper']) {
      witnesses.push((await service.call('POST', '/api/collections/authors', { name })).body.id);
    }
    const part = (witness: string | undefined) => ({ blockType: 'clause', words: 'Witnessed', witness });
    const first = { title: 'Under seal', salary: 4711, rank: 'Captain', grades: [{ grade: 'One' }] };
    const { body, status } = await service.call('POST', '/api/collections/contracts', {
      ...first,
      parts: [part(witnesses[0])],
    });
    assert.equal(status, 201, JSON.stringify(body));
    contract = body.id;
    await service.call('PATCH', `/api/collections/contracts/${contract}`, {
      title: 'Open',
      parts: [part(witnesses[1])],
    });
  });

  /** All answers of the service to a tab, as one text. */
  const answersOf = ({ context }: Pick<Tab, 'context'>) => {
    const seen: Promise<string>[] = [];
    context.on('response', (response) => {
      if (response.url().includes('/api/')) seen.push(response.text().catch(() => ''));
    });
    return async () => (await Promise.all(seen)).join('\n');
  };

  it('omits fields that the user may not read, from answers too, and locks those that are read-only', async () => {
    const tab = await open({ service, user: writer });
    const answers = answersOf(tab);
    const { page, go } = tab;
    await go('/c/contracts?cols=title,rank,salary');
    await page.locator('tbody').getByText('Captain').waitFor();
    await go(`/c/contracts/${contract}`);
    assert.equal(await page.locator('[data-field=salary]').count(), 0);
    await holds(page.locator('[name=rank]'), 'Captain');
    assert.equal(await page.locator('[name=rank]').isEditable(), false);
    assert.equal(await page.locator('[name="grades.0.grade"]').isEditable(), false);
    assert.equal(await page.locator('[data-field=grades]').getByRole('button', { name: /^Add/ }).count(), 0);
    await page.locator('[name=title]').fill('Open to all');
    await page.keyboard.press('Control+s');
    await page.getByRole('alert').filter({ hasText: 'Saved' }).waitFor();
    // The schema names the field, and says that they may not read it.
    const seen = await answers();
    for (const words of ['4711', '"salary":']) assert.ok(!seen.includes(words), words);
    const { body } = await service.call('GET', `/api/collections/contracts/${contract}`);
    assert.deepEqual([body.title, body.salary, body.rank], ['Open to all', 4711, 'Captain']);
    // A new one has what may be set when it is made.
    await go('/c/contracts/new');
    assert.equal(await page.locator('[name=rank]').isEditable(), false);
    await page.getByRole('button', { name: 'Add to Grades' }).click();
    await inTime(async () => assert.equal(await page.locator('[name="grades.0.grade"]').isEditable(), true));
  });

  it('tells that, when and by whom something changed, and holds no content of before, in the answers either', async () => {
    const tab = await open({ service, user: writer });
    const answers = answersOf(tab);
    const { page, go } = tab;
    await go('');
    await go(`/c/contracts/${contract}`);
    await go(`/c/contracts/${contract}/history?v=1`);
    await page.getByText('Your account may see that something changed, but not what.').waitFor();
    await page.getByRole('navigation', { name: 'Versions' }).getByRole('button').nth(1).waitFor();
    assert.equal(await page.getByRole('button', { name: 'Restore' }).count(), 0);
    await go('/trash');
    const seen = await answers();
    assert.match(seen, /"type":"document\.(created|updated)"/);
    for (const words of ['Under seal', '4711', witnesses[0] ?? '']) assert.ok(!seen.includes(words), words);
  });

  it('names the documents inside of blocks in its history, to those who may see it', async () => {
    const { page } = await open({ service, user: chief, path: `/c/contracts/${contract}/history?v=2` });
    const line = page.locator('main').getByText('Words: Witnessed · Witness:');
    await line.first().waitFor();
    const main = page.locator('main');
    for (const name of [/Witness: Ada Lovelace/, /Witness: Grace Hopper/]) {
      await inTime(async () => assert.match(await main.innerText(), name));
    }
    const text = await main.innerText();
    assert.ok(!witnesses.some((id) => text.includes(id)), text);
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
    await page.waitForURL(`${url}/people/editors`);
    await page.getByRole('link', { name: chief.email }).click();
    await page.waitForURL(/\/people\/editors\/./);
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

  it('knows the user there, until they log out', async () => {
    await loggedIn(service, chief.collection, chief.email, chief.password);
    const { page } = await open({ service, path: '/me', user: chief });
    await page.getByRole('heading', { level: 1, name: 'My account' }).waitFor();
    const answered = page.waitForResponse(/\/logout$/);
    await page.locator('main').getByRole('button', { name: 'Log out' }).click();
    assert.equal((await (await answered).allHeaders())['clear-site-data'], '"cache"');
    await page.getByRole('heading', { name: 'Log in' }).waitFor();
    assert.match(page.url(), /\/cms\/admin\/login$/);
  });
});
