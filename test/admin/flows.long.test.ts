import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { Page } from 'playwright-core';
import { startService } from '../helpers/service.ts';
import { useStarted } from '../helpers/shared.ts';
import { inTime } from '../helpers/wait-for.ts';
import { chief, describeAdmin, settled } from './helpers.ts';

const atlas = JSON.stringify(new URL('../../examples/atlas/annals.config.ts', import.meta.url).href);
const config = `
  import atlas from ${atlas};
  export { seed } from ${atlas};
  export default { ...atlas, bcryptCost: 4, rateLimit: false };
`;

/** Clicks and keys that do something, and fields that were typed into: what a flow costs its user. */
class Steps {
  readonly clicked: string[] = [];
  readonly typed: string[] = [];
  readonly page: Page;

  constructor(page: Page) {
    this.page = page;
  }

  async click(role: 'button' | 'link' | 'menuitem', name: string | RegExp): Promise<void> {
    this.clicked.push(String(name));
    await this.page.getByRole(role, { name }).first().click();
  }

  async press(key: string): Promise<void> {
    this.clicked.push(key);
    await this.page.keyboard.press(key);
  }

  async type(selector: string, text: string): Promise<void> {
    this.typed.push(selector);
    await this.page.locator(selector).first().fill(text);
  }

  /** Fails if the flow has cost more. */
  cost(most: { clicks: number; fields: number }): void {
    assert.ok(this.clicked.length <= most.clicks, `clicks: ${this.clicked.join(', ')}`);
    assert.ok(this.typed.length <= most.fields, `fields: ${this.typed.join(', ')}`);
  }
}

describeAdmin('A flow', (open) => {
  const service = useStarted((t) => startService(t, config));
  const story = 'An island without people';

  // The first test: it makes the first user.
  it('of the first minute leads from the printed link to a change and its history, without a restart', async () => {
    const link = /(\/setup\?token=\S+)/.exec(service.output().stdout)?.[1] ?? '';
    const { page } = await open({ service, path: link });
    const steps = new Steps(page);
    await steps.type('input[name=email]', chief.email);
    await steps.type('input[name=password]', chief.password);
    await steps.click('button', 'Create the account');
    await page.getByRole('heading', { name: /^Welcome/ }).waitFor();
    steps.cost({ clicks: 1, fields: 3 });
    // There is something to see at once.
    await page.getByText('250 documents').first().waitFor();
    await page.getByRole('heading', { name: 'First steps' }).waitFor();
    await steps.click('link', 'Change something');
    await page.locator('[data-row-link]').first().waitFor();
    steps.clicked.push('the first row');
    await page.locator('[data-row-link]').first().click();
    await page.locator('[name=title], [name=name]').first().waitFor();
    const field = page.locator('[name=title], [name=name]').first();
    await settled(page);
    await steps.type('[name=title], [name=name]', `${await field.inputValue()}, seen anew`);
    await steps.press('Control+s');
    await page.getByRole('alert').filter({ hasText: 'Saved' }).waitFor();
    await page.locator('h1').click();
    await steps.press('h');
    await page.getByRole('heading', { level: 1, name: /^History of/ }).waitFor();
    await page.locator('main ins', { hasText: 'seen anew' }).waitFor();
    steps.cost({ clicks: 5, fields: 3 });
  });

  it('of undoing a bad change leads from the home page to what was before, with a reason', async () => {
    const path = `/api/collections/stories?where[title][equals]=${encodeURIComponent(story)}`;
    const { id, lead } = (await service.call('GET', path)).body.docs[0];
    const bad = { title: 'An isle', status: 'draft' };
    assert.equal((await service.call('PATCH', `/api/collections/stories/${id}`, bad)).status, 200);
    const { page } = await open({ service, user: chief });
    const steps = new Steps(page);
    await steps.click('link', 'An isle');
    await settled(page);
    if (!page.url().includes('/history')) {
      await page.locator('h1').click();
      await steps.press('h');
    }
    await page.locator('main ins, main del').first().waitFor();
    await steps.press('[');
    await page.getByRole('heading', { level: 2, name: /Version/ }).waitFor();
    await steps.click('button', 'Restore');
    const dialog = page.getByRole('dialog');
    // The fields that change back are told before.
    await dialog.locator('dt', { hasText: 'Title' }).waitFor();
    await steps.type('[role=dialog] textarea, [role=dialog] input', 'It is an island');
    steps.clicked.push('Restore');
    await dialog.getByRole('button', { name: 'Restore' }).click();
    await page.getByText('It is an island').first().waitFor();
    steps.cost({ clicks: 5, fields: 1 });
    const { body } = await service.call('GET', `/api/collections/stories/${id}`);
    assert.deepEqual([body.title, body.lead], [story, lead]);
    const history = await service.call('GET', `/api/audit/documents/stories/${id}`);
    const last = history.body.docs.at(-1);
    assert.deepEqual([last.type, last.reason], ['document.restored', 'It is an island']);
  });

  it('of an auditor leads from a search to the page as it was, and to who set a field', async () => {
    const path = `/api/collections/stories?where[title][equals]=${encodeURIComponent(story)}`;
    const { id } = (await service.call('GET', path)).body.docs[0];
    const { body } = await service.call('GET', `/api/audit/documents/stories/${id}`);
    const { position } = body.docs[0];
    const { page } = await open({ service, user: chief });
    const steps = new Steps(page);
    await steps.press('Control+k');
    steps.typed.push('palette');
    await page
      .getByRole('dialog')
      .getByRole('combobox')
      .or(page.getByRole('dialog').getByRole('searchbox'))
      .first()
      .fill('island without');
    await page
      .getByRole('option', { name: new RegExp(story) })
      .first()
      .waitFor();
    await steps.press('Enter');
    await page.getByRole('heading', { level: 1, name: story }).waitFor();
    await steps.click('button', 'As of');
    steps.typed.push('position');
    await page.getByLabel('Or a position of the log').fill(String(position));
    await steps.click('button', 'Show');
    await page.getByText(`You see the content as of position ${position} of the log`).waitFor();
    await page.locator('[name=title]').waitFor();
    await settled(page);
    assert.equal(await page.locator('main').getByRole('button', { name: 'Save' }).count(), 0);
    await page.locator('[data-field=title]').hover();
    const note = page.locator('[data-field=title] a[title^=Version]').first();
    await note.waitFor();
    assert.match((await note.getAttribute('title')) ?? '', /^Version 1, .*\nBecause: First draft$/s);
    await inTime(async () => {
      assert.equal(await note.evaluate((element) => getComputedStyle(element).opacity), '1');
    });
    steps.cost({ clicks: 4, fields: 2 });
  });
});
