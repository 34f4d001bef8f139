import assert from 'node:assert/strict';
import { before, it } from 'node:test';
import { useServiceHere } from '../helpers/embedded.ts';
import { inTime } from '../helpers/in-time.ts';
import { chief, describeAdmin, makeFirstUser, settled } from './helpers.ts';
import { newsroom } from './newsroom.ts';

const rich = (...words: string[]) => ({
  type: 'doc',
  content: words.map((text) => ({ type: 'paragraph', content: [{ type: 'text', text }] })),
});

describeAdmin('The history of a document', (open) => {
  const service = useServiceHere(newsroom);
  let id = '';
  let [ada, grace] = ['', ''];
  let firstPosition = 0;

  const write = async (method: string, path: string, data: object, reason?: string) => {
    const headers = reason === undefined ? {} : { 'x-change-reason': `UTF-8''${encodeURIComponent(reason)}` };
    const { status, body } = await service.call(method, `/api/collections/${path}`, data, { headers });
    assert.ok(status < 300, JSON.stringify(body));
    return body.id as string;
  };

  before(async () => {
    await makeFirstUser(service);
    ada = await write('POST', 'authors', { name: 'Ada Lovelace' });
    grace = await write('POST', 'authors', { name: 'Grace Hopper' });
    const first = { title: 'The engine', body: rich('It weaves patterns.'), tags: ['home'], authors: [ada] };
    id = await write('POST', 'articles', first, 'First draft');
    const { body } = await service.call('GET', `/api/audit/documents/articles/${id}`);
    firstPosition = body.document.position;
    const second = {
      title: 'The analytical engine',
      body: rich('It weaves algebraic patterns.'),
      tags: ['home', 'world'],
    };
    await write('PATCH', `articles/${id}`, { ...second, authors: [grace] }, 'geprüft ✓');
  });

  it('tells who, when, why and what: words, lists, rich text, and relationships by name', async () => {
    const { page } = await open({ service, user: chief, path: `/c/articles/${id}/history` });
    await inTime(async () => {
      const text = await page.locator('main').innerText();
      for (const words of ['geprüft ✓', 'First draft', 'Ada Lovelace', 'Grace Hopper', 'algebraic', 'world']) {
        assert.ok(text.includes(words), `${words}: ${text}`);
      }
    });
    const text = await page.locator('main').innerText();
    assert.ok(!text.includes(ada) && !text.includes(grace), text);
  });

  it('keeps the version that is looked at in the address', async () => {
    const { page } = await open({ service, user: chief, path: `/c/articles/${id}/history` });
    await page.getByRole('navigation', { name: 'Versions' }).getByRole('button').last().click();
    await page.waitForURL(/v=1/);
    await page.reload();
    await page.getByRole('heading', { level: 2, name: /Version 1/ }).waitFor();
    await page.goBack();
    await page.waitForURL((url) => !url.search.includes('v=1'));
  });

  it('restores a version after telling what changes, with a reason, as one version more; the focus comes back', async () => {
    const { page } = await open({ service, user: chief, path: `/c/articles/${id}/history?v=1` });
    await page.getByRole('button', { name: 'Restore' }).click();
    const dialog = page.getByRole('dialog', { name: 'Restore version 1' });
    await dialog.getByText('algebraic').waitFor();
    // Out by the keyboard, and in again.
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'hidden' });
    await page.waitForFunction(() => document.activeElement?.textContent === 'Restore');
    await page.keyboard.press('Enter');
    await dialog.getByRole('textbox').fill('It was right before');
    await dialog.getByRole('button', { name: 'Restore' }).click();
    await page.getByText('It was right before').first().waitFor();
    const { body } = await service.call('GET', `/api/collections/articles/${id}`);
    assert.equal(body.title, 'The engine');
    const history = await service.call('GET', `/api/audit/documents/articles/${id}`);
    assert.deepEqual([history.body.document.version, history.body.versions[2].reason], [3, 'It was right before']);
  });

  it('brings back a deleted document, and says in time that a unique value is taken', async () => {
    const gone = await write('POST', 'articles', { title: 'Gone', slug: 'gone' });
    await service.call('DELETE', `/api/collections/articles/${gone}`);
    const other = await write('POST', 'articles', { title: 'In its place', slug: 'gone' });
    const { page } = await open({
      service,
      user: chief,
      path: `/c/articles/${gone}/history?v=1`,
      refusals: [404, 409],
    });
    await page.getByText('This document is deleted.').waitFor();
    await page.getByRole('button', { name: 'Restore' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByText(/unique values/).waitFor();
    await dialog.getByRole('button', { name: 'Restore' }).click();
    await dialog
      .getByText(/"gone"|already|taken|unique/i)
      .last()
      .waitFor();
    await service.call('DELETE', `/api/collections/articles/${other}`);
    await dialog.getByRole('button', { name: 'Restore' }).click();
    await dialog.waitFor({ state: 'hidden' });
    assert.equal((await service.call('GET', `/api/collections/articles/${gone}`)).body.title, 'Gone');
  });

  it('shows a moment in the past on every page, with its position, and then nothing can be written', async () => {
    const { page, go } = await open({ service, user: chief, path: `/c/articles/${id}/history` });
    await page.getByRole('button', { name: 'As of' }).click();
    await page.getByLabel('Or a position of the log').fill(String(firstPosition));
    await page.getByRole('button', { name: 'Show', exact: true }).click();
    await page.getByText(`You see the content as of position ${firstPosition} of the log`).waitFor();
    for (const path of [
      '',
      '/c/articles',
      `/c/articles/${id}`,
      `/c/articles/${id}/history?v=1`,
      '/people/editors',
      '/keys',
    ]) {
      await go(`${path}${path.includes('?') ? '&' : '?'}asOf=${firstPosition}`);
      const buttons = await page.locator('main').getByRole('button').allTextContents();
      const writing = buttons.filter((text) =>
        /^(save|new( \w+)?|delete|restore|invite|create|publish|revoke)$/i.test(text.trim()),
      );
      assert.deepEqual([path, writing], [path, []]);
    }
    await go(`/c/articles/${id}?asOf=${firstPosition}`);
    await page.getByRole('heading', { name: 'The engine' }).waitFor();
    await page.getByRole('button', { name: 'Back to now' }).click();
    await page.getByText('You see the content').waitFor({ state: 'hidden' });
    await settled(page);
  });

  it('tells the position of a time as the service counts it', async () => {
    const asOf = new Date().toISOString();
    const answer = await service.call('GET', `/api/collections/articles?asOf=${asOf}`);
    const { page } = await open({ service, user: chief, path: `/c/articles?asOf=${asOf}` });
    await page.getByText(`(position ${answer.headers.get('annals-position')})`).waitFor();
  });
});
