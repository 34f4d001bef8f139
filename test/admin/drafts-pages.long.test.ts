import assert from 'node:assert/strict';
import { before, it } from 'node:test';
import { useServiceHere } from '../helpers/embedded.ts';
import { show, violations } from './accessibility.ts';
import { cutWords } from './cut-words.ts';
import { desk } from './desk.ts';
import { chief, describeAdmin, makeFirstUser, overhang } from './helpers.ts';

const looks = [
  [320, 'light'],
  [390, 'dark'],
  [1280, 'light'],
] as const;

describeAdmin('The pages about drafts', (open) => {
  const service = useServiceHere(desk);
  before(() => makeFirstUser(service, chief, { name: 'Ada' }));
  const post = async (data: object, query = ''): Promise<string> => {
    const { status, body } = await service.call('POST', `/api/collections/posts${query}`, data);
    assert.equal(status, 201, JSON.stringify(body));
    return body.id;
  };
  const patchDraft = (id: string, data: object) =>
    service.call('PATCH', `/api/collections/posts/${id}?draft=true`, data);
  const titleOf = async (id: string, query = '') =>
    (await service.call('GET', `/api/collections/posts/${id}${query}`)).body.title;

  it('restore into the draft: a version of the history, and a document of the trash', async () => {
    const id = await post({ title: 'First', price: 1 });
    await service.call('PATCH', `/api/collections/posts/${id}`, { title: 'Second' });
    const { page, go } = await open({ service, user: chief, path: `/c/posts/${id}/history?v=1`, refusals: [404] });
    await page.locator('main').getByRole('button', { name: 'Restore' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByText('The draft becomes what it was, and what is public stays.', { exact: false }).waitFor();
    await dialog.getByRole('button', { name: 'Restore' }).click();
    await page.getByText('Version 1 is restored').first().waitFor();
    assert.deepEqual([await titleOf(id), await titleOf(id, '?draft=true')], ['Second', 'First']);

    const gone = await post({ title: 'Deleted', price: 1 });
    await service.call('DELETE', `/api/collections/posts/${gone}`);
    await go('/trash');
    await page
      .getByRole('row', { name: /Deleted/ })
      .getByRole('button', { name: 'Restore' })
      .click();
    await dialog.getByText('It comes back as a draft').waitFor();
    await dialog.getByRole('button', { name: 'Restore' }).click();
    await page.getByText('Deleted is back').first().waitFor();
    assert.deepEqual([await titleOf(gone), await titleOf(gone, '?draft=true')], [undefined, 'Deleted']);
  });

  it('is for everybody: axe-core finds nothing, nothing is scrolled sideways, and German words are whole', async () => {
    const author = (await service.call('POST', '/api/collections/authors?draft=true', { name: 'Grace Hopper' })).body
      .id;
    const id = await post({ title: 'Everything', price: 9 });
    await patchDraft(id, { title: null, body: 'Words', author });
    await service.call('PATCH', `/api/collections/posts/${id}`, { title: 'Everything again' });
    const draft = await post({ title: 'A draft' }, '?draft=true');
    const options = { locale: 'de-DE', reducedMotion: 'reduce' } as const;
    const { page, go } = await open({ service, user: chief, options });
    const found: Record<string, string[]> = {};
    const look = async (name: string, opens?: () => Promise<void>) => {
      for (const [width, scheme] of looks) {
        await show(page, width, scheme);
        // So high that the bar at the bottom covers no input by halves.
        if (width < 1280) await page.setViewportSize({ width, height: 1600 });
        await opens?.();
        const wrong = [...(await violations(page)), ...(width < 1280 ? await cutWords(page) : [])];
        if ((await overhang(page)) > 0) wrong.push('scrolled sideways');
        if (wrong.length > 0) found[`${name}, ${width} ${scheme}`] = wrong;
      }
    };
    for (const path of ['/c/posts', `/c/posts/${draft}`, '/c/posts/new', '/g/imprint', `/c/posts/${id}`]) {
      await go(path);
      await look(path);
    }
    // By the keyboard alone: to the changes, and back to the button that opened them.
    await page.locator('[data-changes]').focus();
    await page.keyboard.press('Enter');
    await page.locator('[data-trial=problems]').waitFor();
    await look('changes');
    await page.keyboard.press('Escape');
    await page.waitForFunction(() => (document.activeElement as HTMLElement).dataset.changes === '3');
    await look('menu', async () => {
      await page.keyboard.press('Escape');
      await page.getByRole('menu').waitFor({ state: 'hidden' });
      await page.getByRole('button', { name: 'Mehr zum Veröffentlichen' }).press('Enter');
      await page.getByRole('menu').waitFor();
    });
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Enter');
    await page.getByRole('dialog', { name: /zurückziehen|verwerfen/ }).waitFor();
    await look('question');
    assert.deepEqual(found, {});
  });
});
