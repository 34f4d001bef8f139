import assert from 'node:assert/strict';
import { before, it } from 'node:test';
import { loggedIn } from '../helpers/accounts.ts';
import { useServiceHere } from '../helpers/embedded.ts';
import { number } from '../helpers/wait-for.ts';
import { chief, describeAdmin, makeFirstUser } from './helpers.ts';
import { newsroom } from './newsroom.ts';

describeAdmin('The API keys in the application', (open) => {
  const service = useServiceHere(newsroom);
  before(async () => {
    await makeFirstUser(service);
    const { as } = await loggedIn(service, chief.collection, chief.email, chief.password);
    for (let index = 1; index <= 21; index += 1) {
      const { status } = await service.call('POST', '/api/keys', { name: `Key ${index}.` }, as);
      assert.equal(status, 201);
    }
  });

  it('are shown page by page; when the last key of a page is revoked, the page before is shown', async () => {
    const { page } = await open({ service, path: '/keys', user: chief });
    const names = page.locator('main li strong');
    await number(names, 20);
    await page.getByRole('button', { name: 'Next' }).click();
    await number(names, 1);
    await page.getByRole('button', { name: /: Key 21\.$/ }).click();
    await page.getByRole('menuitem', { name: 'Revoke' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Revoke' }).click();
    await number(names, 20);
    await number(page.getByRole('button', { name: 'Next' }), 0);
  });
});
