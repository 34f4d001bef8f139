import assert from 'node:assert/strict';
import { before, it } from 'node:test';
import { useServiceHere } from '../helpers/embedded.ts';
import { inTime } from '../helpers/wait-for.ts';
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
    assert.deepEqual([history.body.document.version, history.body.docs[2].reason], [3, 'It was right before']);
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

  it('shows on pages before a document existed when it was created, and links there and to now', async () => {
    const before = firstPosition - 1;
    const { page, go } = await open({
      service,
      user: chief,
      path: `/c/articles/${id}?asOf=${before}`,
      refusals: [404],
    });
    const main = page.locator('main');
    for (const part of ['', '/history', '/references']) {
      await go(`/c/articles/${id}${part}?asOf=${before}`);
      await main.getByText('This document did not exist yet').waitFor();
      await main.getByText(new RegExp(`It was created on .*, at position ${firstPosition} of the log`)).waitFor();
      assert.doesNotMatch(await main.innerText(), /deleted|no longer|no such/);
    }
    await main.getByRole('link', { name: 'See it as it was created' }).click();
    await page.waitForURL((url) => url.search === `?asOf=${firstPosition}`);
    await go(`/c/articles/${id}?asOf=${before}`);
    await main.getByRole('button', { name: 'Back to now' }).click();
    await page.getByRole('heading', { level: 1, name: 'The engine' }).waitFor();
    await go(`/c/articles/${id}?asOf=2001-01-01`);
    await page.getByText('(before the first event of the log)').waitFor({ state: 'hidden' });
    await go('?asOf=2001-01-01');
    await page.getByText('(before the first event of the log)').waitFor();
    await page.getByText('Nothing has been changed yet.').waitFor();
  });

  it('shows home, trash and history as of then, also if a document was deleted and has come back', async () => {
    const article = await write('POST', 'articles', { title: 'Here today' });
    const sizeNow = async () => (await service.call('GET', '/api/audit/events?limit=1')).body.size as number;
    await service.call('DELETE', `/api/collections/articles/${article}`);
    const deleted = await sizeNow();
    await write('POST', `articles/${article}/restore`, { version: 1 });
    await write('PATCH', `articles/${article}`, { title: 'Back again' });
    const { page, go } = await open({ service, user: chief, path: '', refusals: [404] });
    const main = page.locator('main');
    await main.getByText('Back again').first().waitFor();
    await go(`?asOf=${deleted - 1}`);
    await main.getByRole('link', { name: 'Here today' }).waitFor();
    assert.doesNotMatch(await main.innerText(), /Back again|(deleted|changed|restored) Here today/);
    await go('/trash');
    assert.equal(await main.getByText('Here today').count(), 0);
    await go(`/trash?asOf=${deleted}`);
    await main.getByRole('rowheader', { name: /Here today/ }).waitFor();
    assert.equal(await main.getByRole('button', { name: /Restore/ }).count(), 0);
    await go(`/c/articles/${article}?asOf=${deleted}`);
    await main.getByText('This document was deleted at that time').waitFor();
    await main.getByRole('link', { name: 'See it as it was before that' }).click();
    await page.getByRole('heading', { level: 1, name: 'Here today' }).waitFor();
    const versions = main.getByRole('navigation', { name: 'Versions' }).getByRole('button');
    for (const [asOf, count] of [
      [deleted - 1, 1],
      [deleted, 2],
      [deleted + 1, 3],
    ]) {
      await go(`/c/articles/${article}/history?v=4&asOf=${asOf}`);
      await page.getByRole('heading', { level: 2, name: `Version ${count}` }).waitFor();
      assert.equal(await versions.count(), count);
    }
  });

  it('offers moments of this log: before the last change, and no time before its first event', async () => {
    const { page } = await open({ service, user: chief });
    await write('PATCH', `articles/${id}`, { teaser: 'Newest' });
    const { body } = await service.call('GET', '/api/audit/events?limit=1');
    await page.getByRole('button', { name: 'As of' }).click();
    const dialog = page.getByRole('dialog');
    const first = body.docs[0].header.recordedAt;
    await dialog.getByRole('button', { name: 'Before the last change' }).waitFor();
    const offered = await dialog.getByRole('button').allTextContents();
    assert.deepEqual(
      offered.filter((name) => /ago|year/.test(name)),
      [],
    );
    const moment = dialog.getByLabel('Day and time');
    const typed = await moment.evaluate((input: HTMLInputElement) => new Date(input.value).toISOString());
    assert.ok(typed >= first, `${typed} ${first}`);
    assert.equal(await dialog.getByLabel('Or a position').getAttribute('placeholder'), `1 to ${body.size}`);
    await dialog.getByRole('button', { name: 'Before the last change' }).click();
    await page.waitForURL((url) => url.searchParams.get('asOf') === String(body.size - 1));
    await page.getByText(`You see the content as of position ${body.size - 1} of the log`).waitFor();
  });

  it('tells the position of a time as the service counts it', async () => {
    const asOf = new Date().toISOString();
    const answer = await service.call('GET', `/api/collections/articles?asOf=${asOf}`);
    const { page } = await open({ service, user: chief, path: `/c/articles?asOf=${asOf}` });
    await page.getByText(`(position ${answer.headers.get('annals-position')})`).waitFor();
  });
});
