import assert from 'node:assert/strict';
import { before, it } from 'node:test';
import { useServiceHere } from '../helpers/embedded.ts';
import { inTime, number } from '../helpers/wait-for.ts';
import { chief, describeAdmin, makeFirstUser, settled } from './helpers.ts';
import { newsroom } from './newsroom.ts';

describeAdmin('A list', (open) => {
  const service = useServiceHere(newsroom);
  before(async () => {
    await makeFirstUser(service);
    const authors = await service.call('POST', '/api/collections/authors', { name: 'Ada Lovelace' });
    const docs = Array.from({ length: 45 }, (_, index) => ({
      title: `Article ${String(index).padStart(2, '0')}`,
      status: index % 3 === 0 ? 'published' : 'draft',
      authors: [authors.body.id],
    }));
    const { status } = await service.call('POST', '/api/collections/articles/bulk', { docs });
    assert.equal(status, 201);
  });

  it('sorts, searches and turns pages in its address: a reload and the way back bring it back', async () => {
    const { page } = await open({ service, user: chief, path: '/c/articles' });
    const first = () => page.locator('tbody tr').first().innerText();
    await page.getByRole('columnheader', { name: 'Title' }).getByRole('button').click();
    await page.waitForURL(/sort=title/);
    await page.locator('tbody').getByText('Article 00').waitFor();
    await page.getByRole('button', { name: 'Next page' }).click();
    await page.waitForURL(/page=2/);
    await page.locator('tbody').getByText('Article 20').waitFor();
    await page.reload();
    await page.locator('tbody').getByText('Article 20').waitFor();
    await inTime(async () => assert.match(await first(), /Article 20/));
    await page.locator('tbody').getByRole('link', { name: 'Article 21' }).click();
    await page.getByRole('heading', { level: 1, name: 'Article 21' }).waitFor();
    await page.goBack();
    await page.locator('tbody').getByText('Article 20').waitFor();
    await page.getByRole('searchbox').fill('article 07');
    await page.waitForURL(/q=article/);
    await page.locator('tbody').getByText('Article 07').waitFor();
    await number(page.locator('tbody tr'), 1);
    await page.getByRole('searchbox').fill('no such words');
    await page.getByText('No Articles match').waitFor();
  });

  it('reads one page of rows at a time, and no more than it shows', async () => {
    const { page, context } = await open({ service, user: chief });
    const sizes: number[] = [];
    context.on('response', async (response) => {
      if (!response.url().includes('/api/collections/articles?')) return;
      const text = await response.text();
      if (JSON.parse(text).docs.length > 1) sizes.push(text.length);
    });
    await page.locator('aside').getByRole('link', { name: 'Articles' }).click();
    await page.locator('tbody tr').nth(19).waitFor();
    await settled(page);
    assert.equal(await page.locator('tbody tr').count(), 20);
    await inTime(async () => assert.ok(sizes.length > 0));
    assert.ok(Math.max(...sizes) <= 30_000, String(sizes));
  });

  it('deletes what is chosen after telling how many, and brings it back', async () => {
    const { page } = await open({ service, user: chief, path: '/c/articles?sort=title' });
    await page.locator('tbody').getByText('Article 00').waitFor();
    for (const title of ['Article 00', 'Article 01'])
      await page.getByRole('checkbox', { name: `Select ${title}` }).check();
    await page.getByRole('button', { name: /^Delete/ }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByText('2 documents go to the trash.').waitFor();
    await dialog.getByRole('button', { name: /^Delete/ }).click();
    await page.getByText('2 documents deleted').waitFor();
    assert.equal((await service.call('GET', '/api/collections/articles?limit=1')).body.total, 43);
    await page.getByRole('button', { name: 'Undo' }).click();
    await page.getByText('2 documents are as before').waitFor();
    assert.equal((await service.call('GET', '/api/collections/articles?limit=1')).body.total, 45);
  });

  it('goes by keys from row to row, and into one', async () => {
    const { page } = await open({ service, user: chief, path: '/c/articles?sort=title' });
    await page.locator('tbody').getByText('Article 00').waitFor();
    for (const key of ['j', 'j', 'k', 'j']) await page.keyboard.press(key);
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { level: 1, name: /^Article 0[12]$/ }).waitFor();
  });
});
