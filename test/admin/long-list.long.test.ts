import assert from 'node:assert/strict';
import { before, it } from 'node:test';
import type { Page } from 'playwright-core';
import { useServiceHere } from '../helpers/embedded.ts';
import { inTime, number } from '../helpers/wait-for.ts';
import { chief, describeAdmin, makeFirstUser, settled } from './helpers.ts';

const size = 20_000;

describeAdmin('A list of many documents', (open) => {
  const service = useServiceHere({
    rateLimit: false,
    bcryptCost: 4,
    collections: [
      { slug: 'editors', auth: true, fields: [{ name: 'name', type: 'text' }] },
      { slug: 'authors', admin: { useAsTitle: 'name' }, fields: [{ name: 'name', type: 'text' }] },
      {
        slug: 'books',
        labels: { singular: 'Book', plural: 'Books' },
        admin: { useAsTitle: 'title', defaultColumns: ['title', 'status', 'pages', 'author'] },
        fields: [
          { name: 'title', type: 'text' },
          { name: 'status', type: 'select', options: ['draft', 'published'] },
          { name: 'pages', type: 'number' },
          { name: 'author', type: 'relationship', relationTo: 'authors' },
        ],
      },
    ],
  });
  before(async () => {
    await makeFirstUser(service);
    const authors: string[] = [];
    for (const name of ['Ada Lovelace', 'Grace Hopper']) {
      authors.push((await service.call('POST', '/api/collections/authors', { name })).body.id);
    }
    for (let made = 0; made < size; made += 1000) {
      const docs = Array.from({ length: 1000 }, (_, index) => ({
        title: `Book ${String(made + index).padStart(5, '0')}`,
        status: index % 2 === 0 ? 'published' : 'draft',
        pages: made + index,
        author: authors[index % 2],
      }));
      assert.equal((await service.call('POST', '/api/collections/books/bulk', { docs })).status, 201);
    }
  });

  const chips = (page: Page) => page.getByRole('list', { name: 'Filters' });
  const textsOf = async (page: Page) => {
    const texts = await chips(page).getByRole('listitem').locator('button[aria-haspopup]').allInnerTexts();
    return texts.slice(0, -1);
  };

  /** Makes or changes a condition in the panel that is open. */
  async function setCondition(page: Page, [field, operator, value]: [string, string, string]): Promise<void> {
    const panel = page.getByRole('dialog');
    await panel.getByLabel('Field').selectOption({ label: field });
    await panel.getByLabel('Condition').selectOption({ label: operator });
    const input = panel.getByLabel('Value');
    if ((await input.evaluate((element) => element.tagName)) === 'SELECT') await input.selectOption({ label: value });
    else await input.fill(value);
    await panel.getByRole('button', { name: 'Apply' }).first().click();
    await panel.waitFor({ state: 'hidden' });
  }

  /** The state of a list, as it shows it. */
  async function stateOf(page: Page) {
    await page.locator('tbody tr').first().waitFor();
    await settled(page);
    const heads = await page.getByRole('columnheader').allInnerTexts();
    return {
      heads: heads.map((text) => text.trim()).filter((text) => text !== ''),
      chips: await textsOf(page),
      rows: await page.getByRole('status').filter({ hasText: ' of ' }).innerText(),
      first: await page.locator('tbody tr').first().locator('th').innerText(),
    };
  }
  const shows = (page: Page, state: Partial<Awaited<ReturnType<typeof stateOf>>>) =>
    inTime(async () => {
      const shown = await stateOf(page);
      assert.deepEqual({ ...shown, ...state }, shown);
    });

  it('keeps order, filters, columns and page in its address: a reload and the way back bring them back', async () => {
    const { page } = await open({ service, user: chief, path: '/c/books' });
    await page.getByText('20,000 documents').waitFor();
    // A relationship by its name, not by its id.
    await inTime(async () => {
      const authors = await page.locator('tbody td:last-child').allInnerTexts();
      assert.deepEqual(new Set(authors), new Set(['Ada Lovelace', 'Grace Hopper']));
    });

    await chips(page).getByRole('button', { name: 'Filter', exact: true }).click();
    await setCondition(page, ['Pages', 'is at least', '100']);
    await page.getByText('19,900 documents').waitFor();
    await chips(page).getByRole('button', { name: 'Add a filter' }).click();
    await setCondition(page, ['Status', 'is', 'draft']);
    await page.getByText('9,950 documents').waitFor();
    await page.getByRole('columnheader', { name: 'Title' }).getByRole('button').click();
    await page.waitForURL(/sort=title/);
    await page.getByRole('button', { name: 'Columns' }).click();
    await page.getByRole('button', { name: 'Hide Status' }).click();
    await page.keyboard.press('Escape');
    for (const name of ['Page 2', 'Page 3']) await page.getByRole('button', { name, exact: true }).click();
    await page.waitForURL(/page=3/);
    const asSet = {
      heads: ['Title', 'Pages', 'Author'],
      chips: ['Pages is at least 100', 'Status is draft'],
      rows: '41–60 of 9,950',
      first: 'Book 00181',
    };
    await page.locator('tbody').getByText('Book 00181').waitFor();
    await shows(page, asSet);
    await page.reload();
    await shows(page, asSet);
    await page.getByRole('link', { name: 'Book 00183' }).click();
    await page.getByRole('heading', { level: 1, name: 'Book 00183' }).waitFor();
    await page.goBack();
    await shows(page, asSet);

    // Either of two conditions, one of them changed, then one taken away.
    await page.getByRole('button', { name: 'Pages is at least 100', exact: true }).click();
    await setCondition(page, ['Pages', 'is below', '10']);
    await page.getByText('5 documents').waitFor();
    await page.getByRole('button', { name: 'Status is draft', exact: true }).click();
    await page.getByLabel('Documents must match').selectOption({ label: 'any filter' });
    await page.getByText('10,005 documents').waitFor();
    await page.keyboard.press('Escape');
    await page.reload();
    await shows(page, { chips: ['Pages is below 10', 'Status is draft'] });
    await inTime(async () => assert.match(await chips(page).innerText(), /\bor\b/));
    await page.getByRole('button', { name: 'Remove the filter Status is draft' }).click();
    await page.getByText('10 documents').waitFor();
    await shows(page, { chips: ['Pages is below 10'] });
    await page.goBack();
    await page.getByText('10,005 documents').waitFor();
  });

  it('shows the answer to the last word that was typed, however late those before it come', async () => {
    const { page } = await open({ service, user: chief, path: '/c/books' });
    const { promise: lastShown, resolve: letLateCome } = Promise.withResolvers<void>();
    const { promise: lateCame, resolve: comeLate } = Promise.withResolvers<void>();
    await page.route('**/api/collections/books?*', async (route) => {
      const q = new URL(route.request().url()).searchParams.get('q') ?? '';
      if (q === 'book 0') await lastShown;
      await route.continue().catch(() => undefined);
      if (q === 'book 0') comeLate();
    });
    await page.getByRole('searchbox').pressSequentially('book 0');
    await page.waitForURL(/q=book\+0$/);
    await page.getByRole('searchbox').pressSequentially('0042');
    await page.locator('tbody').getByText('Book 00042').waitFor();
    await number(page.locator('tbody tr'), 1);
    letLateCome();
    await lateCame;
    await settled(page);
    assert.equal(await page.locator('tbody tr').count(), 1);
  });
});
