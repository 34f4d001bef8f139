import assert from 'node:assert/strict';
import { before, it } from 'node:test';
import type { Page } from 'playwright-core';
import { useServiceHere } from '../helpers/embedded.ts';
import { holds, inTime, number } from '../helpers/wait-for.ts';
import { chief, describeAdmin, makeFirstUser, settled } from './helpers.ts';
import { newsroom } from './newsroom.ts';

/** To make ten times as many takes half a minute. */
const targets = 20_000;
const perCall = 1000;

describeAdmin('The picker of related documents', (open) => {
  const service = useServiceHere(newsroom);
  const articles = '/api/collections/articles';
  const authors = '/api/collections/authors';
  before(async () => {
    await makeFirstUser(service);
    for (let first = 0; first < targets; first += perCall) {
      const docs = Array.from({ length: perCall }, (_, index) => ({ name: `Writer ${first + index}` }));
      assert.equal((await service.call('POST', `${authors}/bulk`, { docs })).status, 201);
    }
  });

  const create = async (path: string, data: object): Promise<string> => {
    const { status, body } = await service.call('POST', path, data);
    assert.equal(status, 201, JSON.stringify(body));
    return body.id;
  };
  const box = (page: Page) => page.getByRole('combobox', { name: 'Authors' });
  const chosen = (page: Page) => page.locator('[data-field=authors] ol > li');
  const titlesIn = async (page: Page) =>
    (await chosen(page).allInnerTexts()).map((text) => text.split('\n')[0]?.trim() ?? '');
  const drafts = async (page: Page) => {
    const token = await page.evaluate(() => localStorage.getItem('annals:token'));
    const headers = { authorization: `Bearer ${token}` };
    return (await service.call('GET', '/api/drafts', undefined, { key: null, headers })).body.docs;
  };

  it(`asks for 20 of ${targets} at most, creates one in a drawer, and orders and removes the chosen`, async () => {
    const { page, context } = await open({ service, user: chief, path: '/c/articles/new' });
    const asked: { rows: number; length: number }[] = [];
    context.on('response', async (response) => {
      if (!response.url().includes(`${authors}?`)) return;
      const text = await response.text().catch(() => '{}');
      asked.push({ rows: JSON.parse(text).docs?.length ?? 0, length: text.length });
    });
    await page.locator('[name=title]').fill('Related');
    await box(page).click();
    await page.getByRole('option').nth(19).waitFor();
    await page.getByText(/There are more/).waitFor();
    for (const name of ['Writer 17', `Writer ${targets - 1}`]) {
      await box(page).fill(name.toLowerCase());
      await page.getByRole('option', { name, exact: true }).click();
    }
    await inTime(async () => assert.ok(asked.length >= 3));
    assert.ok(
      asked.every(({ rows }) => rows <= 20),
      JSON.stringify(asked),
    );
    assert.ok(Math.max(...asked.map(({ length }) => length)) < 8_000, JSON.stringify(asked));

    // Prefilled words alone are no draft: a drawer that is closed leaves nothing.
    const drawer = page.getByRole('dialog', { name: 'New: Author' });
    const openDrawer = async () => {
      await box(page).fill('Somebody Else');
      await page.getByRole('option', { name: /Create/ }).click();
      await drawer.waitFor();
      await holds(drawer.locator('[name=name]'), 'Somebody Else');
    };
    await openDrawer();
    await page.waitForTimeout(1000);
    await page.keyboard.press('Escape');
    await drawer.waitFor({ state: 'detached' });
    await number(page.getByText('Unsaved changes kept'), 1);
    await inTime(async () => {
      const kept = await drafts(page);
      assert.deepEqual(
        kept.map(({ collection }: { collection: string }) => collection),
        ['articles'],
      );
    });
    await openDrawer();
    await drawer.locator('[name=name]').fill('Somebody New');
    await drawer.getByRole('button', { name: 'Create' }).click();
    await drawer.waitFor({ state: 'detached' });
    await chosen(page).filter({ hasText: 'Somebody New' }).waitFor();
    await holds(page.locator('[name=title]'), 'Related');

    await page.getByRole('button', { name: 'Move Somebody New up' }).click();
    await page.getByRole('button', { name: 'Remove Writer 17', exact: true }).click();
    await inTime(async () => assert.deepEqual(await titlesIn(page), ['Somebody New', `Writer ${targets - 1}`]));
    await page.keyboard.press('Control+s');
    await page.waitForURL(/\/articles\/[\da-f-]{36}$/);
    const { body } = await service.call('GET', `${articles}/${page.url().split('/').at(-1)}?depth=1`);
    assert.deepEqual(
      body.authors.map(({ name }: { name: string }) => name),
      ['Somebody New', `Writer ${targets - 1}`],
    );
  });

  it('shows a deleted one as such, keeps it with a save, and removes it', async () => {
    const gone = await create(authors, { name: 'Gone' });
    const there = await create(authors, { name: `${'There '.repeat(2000)}` });
    const id = await create(articles, { title: 'Pointing', authors: [gone, there] });
    await service.call('DELETE', `${authors}/${gone}`);
    const { page } = await open({ service, user: chief, path: `/c/articles/${id}` });
    const row = chosen(page).filter({ hasText: gone });
    await row.getByText('Deleted or not visible to you').waitFor();
    await chosen(page).filter({ hasText: 'There There' }).waitFor();
    assert.equal(await row.getByRole('link').count(), 0);
    const heights = (await Promise.all([0, 1].map((at) => chosen(page).nth(at).boundingBox()))).map(
      (one) => one?.height ?? 999,
    );
    assert.ok(Math.max(...heights) < 80, String(heights));
    const authorsOf = async () => (await service.call('GET', `${articles}/${id}`)).body.authors;
    await page.locator('[name=teaser]').fill('Changed');
    await page.keyboard.press('Control+s');
    await page.getByText(/Version 2$/).waitFor();
    const before = await authorsOf();
    await row.getByRole('button', { name: `Remove ${gone}` }).click();
    await page.keyboard.press('Control+s');
    await page.getByText(/Version 3$/).waitFor();
    assert.deepEqual([before.length, await authorsOf()], [2, [there]]);
    await settled(page);
  });
});
