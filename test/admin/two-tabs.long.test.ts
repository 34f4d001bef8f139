import assert from 'node:assert/strict';
import { before, it } from 'node:test';
import type { Page } from 'playwright-core';
import { useServiceHere } from '../helpers/embedded.ts';
import { holds, inTime, number } from '../helpers/wait-for.ts';
import { violations } from './accessibility.ts';
import { chief, describeAdmin, makeFirstUser, settled } from './helpers.ts';
import { addEditor, newsroom } from './newsroom.ts';

describeAdmin('A document that is open twice', (open) => {
  const service = useServiceHere(newsroom);
  before(() => makeFirstUser(service, chief, { name: 'Ada' }));

  const article = async (data: object): Promise<string> => {
    const { status, body } = await service.call('POST', '/api/collections/articles', data);
    assert.equal(status, 201, JSON.stringify(body));
    return body.id;
  };
  const stored = async (id: string) => (await service.call('GET', `/api/collections/articles/${id}`)).body;
  const field = (page: Page, name: string) => page.locator(`[name="${name}"]`);
  const textIn = (page: Page, name: string) => field(page, name).inputValue();
  const save = (page: Page) => page.locator('main').getByRole('button', { name: 'Save', exact: true }).click();
  const draftWith = (page: Page, text: string) =>
    page.waitForResponse(
      (answer) => answer.request().method() === 'PUT' && answer.request().postData()?.includes(text) === true,
    );
  const kept = (page: Page) => page.locator('[data-kept=service], [data-kept=here]').waitFor();
  const band = (page: Page, which: string) => page.locator(`[data-draft=${which}]`);
  const elsewhere = (page: Page, is: boolean) => page.locator(`[data-elsewhere=${is}]`).waitFor({ state: 'attached' });

  it('keeps the text of each tab, tells each of the other, and offers both drafts after both are closed', async () => {
    const id = await article({ title: 'Two tabs' });
    const {
      page: first,
      context,
      url,
    } = await open({ service, user: chief, path: `/c/articles/${id}`, refusals: [412] });
    const openTab = async () => {
      const page = await context.newPage();
      await page.goto(`${url}/c/articles/${id}`);
      await settled(page);
      return page;
    };
    await field(first, 'teaser').fill('typed in the first');
    await kept(first);
    const second = await openTab();
    // The draft of a tab that is open is not taken from it.
    assert.equal(await textIn(second, 'teaser'), '');
    await second.getByText('also open in another tab').waitFor();
    await field(second, 'section').fill('typed in the second');
    await kept(second);
    await elsewhere(first, true);
    const draft = draftWith(first, 'typed on in the first');
    await field(first, 'teaser').fill('typed on in the first');
    await draft;
    await second.close({ runBeforeUnload: false });
    await elsewhere(first, false);
    await first.close({ runBeforeUnload: false });

    const third = await openTab();
    await band(third, 'restored').waitFor();
    await holds(field(third, 'teaser'), 'typed on in the first');
    await holds(field(third, 'section'), '');
    const fourth = await openTab();
    await number(band(fourth, 'restored').getByText('Unsaved changes'), 1);
    await holds(field(fourth, 'section'), 'typed in the second');
    await holds(field(fourth, 'teaser'), '');
    await fourth.close({ runBeforeUnload: false });
    assert.deepEqual(await violations(third), []);
    await band(third, 'other').getByRole('button').click();
    await third.waitForFunction(
      () => (document.querySelector('[name=section]') as HTMLInputElement | null)?.value === 'typed in the second',
    );
    assert.equal(await textIn(third, 'teaser'), '');
    await save(third);
    await third.getByText('Saved', { exact: true }).first().waitFor();
    assert.equal((await stored(id)).section, 'typed in the second');
    // The other one is still there. It touches nothing that was saved since, so it is saved without a question.
    await band(third, 'other').getByRole('button').click();
    await third.waitForFunction(
      () => (document.querySelector('[name=teaser]') as HTMLInputElement | null)?.value === 'typed on in the first',
    );
    await save(third);
    await third.getByText(/Version 3$/).waitFor();
    const { teaser, section } = await stored(id);
    assert.deepEqual([teaser, section], ['typed on in the first', 'typed in the second']);
    await third.reload();
    await settled(third);
    await number(third.locator('[data-draft]'), 0);
    const token = await third.evaluate(() => localStorage.getItem('annals:token'));
    const headers = { authorization: `Bearer ${token}` };
    await inTime(async () => {
      const { body } = await service.call('GET', '/api/drafts', undefined, { key: null, headers });
      assert.deepEqual(body.docs, []);
    });
  });

  it('asks the second of two tabs that changed the same field, and discards only its own changes', async () => {
    const id = await article({ title: 'The same field' });
    const {
      page: first,
      context,
      url,
    } = await open({ service, user: chief, path: `/c/articles/${id}`, refusals: [412] });
    const second = await context.newPage();
    await second.goto(`${url}/c/articles/${id}`);
    await settled(second);
    await field(first, 'teaser').fill('first');
    await field(second, 'teaser').fill('second');
    await Promise.all([kept(first), kept(second)]);
    await save(first);
    await first.getByText(/Version 2$/).waitFor();
    assert.equal(await textIn(second, 'teaser'), 'second');
    await second.reload();
    await band(second, 'restored').waitFor();
    await holds(field(second, 'teaser'), 'second');
    await save(second);
    const dialog = second.getByRole('dialog', { name: 'You have saved this elsewhere' });
    await dialog.getByText(/You saved another version/).waitFor();
    const row = dialog.locator('[data-conflict=teaser]');
    await row.getByText('first').waitFor();
    await row.getByText('second').waitFor();
    await dialog.getByRole('button', { name: 'Back to the form' }).click();
    assert.equal((await stored(id)).teaser, 'first');
    const draft = draftWith(first, 'typed on');
    await field(first, 'section').fill('typed on');
    await draft;
    await second.getByRole('button', { name: 'Discard' }).click();
    await second.waitForFunction(() => (document.querySelector('[name=teaser]') as HTMLInputElement).value === 'first');
    await first.reload();
    await band(first, 'restored').waitFor();
    await holds(field(first, 'section'), 'typed on');
  });

  it('is merged for two people as they choose; the log has both writes with their reasons', async () => {
    const id = await article({ title: 'Contested', teaser: 'as read', section: 'as read' });
    const path = `/c/articles/${id}`;
    const writer = await addEditor(service, 'writer');
    const where = encodeURIComponent(JSON.stringify({ email: { equals: writer.email } }));
    const found = await service.call('GET', `/api/collections/editors?where=${where}`);
    await service.call('PATCH', `/api/collections/editors/${found.body.docs[0].id}`, { name: 'Grace' });
    const { page: theirs } = await open({ service, user: writer, path });
    const { page: mine } = await open({ service, user: chief, path, refusals: [412] });
    for (const [page, text] of [
      [theirs, 'theirs'],
      [mine, 'mine'],
    ] as const) {
      await field(page, 'teaser').fill(text);
      await field(page, 'section').fill(text);
      await page.getByRole('textbox', { name: /Reason/ }).fill(`because of ${text}, wirklich`);
    }
    await save(theirs);
    await theirs.getByText(/Version 2$/).waitFor();
    await save(mine);
    const dialog = mine.getByRole('dialog', { name: 'Somebody else has changed this' });
    await dialog.waitFor();
    for (const text of ['As you read it', 'As it is now', 'Yours']) await dialog.getByText(text).first().waitFor();
    await dialog.getByText(/Grace saved another version/).waitFor();
    await dialog.getByRole('radio', { name: 'Teaser: Keep as it is now' }).check();
    await dialog.getByRole('radio', { name: 'Section: Keep yours' }).check();
    await dialog.getByRole('button', { name: 'Save this choice' }).click();
    await mine.getByText(/Version 3$/).waitFor();
    const { teaser, section } = await stored(id);
    assert.deepEqual([teaser, section], ['theirs', 'mine']);
    const { body } = await service.call('GET', `/api/audit/documents/articles/${id}?actors=names`);
    assert.deepEqual(
      body.docs
        .slice(1)
        .map((one: { reason: string; changed: string[]; actor: { label: string } }) => [
          one.reason,
          one.changed,
          one.actor.label,
        ]),
      [
        ['because of theirs, wirklich', ['teaser', 'section'], 'Grace'],
        ['because of mine, wirklich', ['section'], 'Ada'],
      ],
    );
  });
});
