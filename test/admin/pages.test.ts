import assert from 'node:assert/strict';
import { before, it } from 'node:test';
import { useServiceHere } from '../helpers/embedded.ts';
import { show, violations } from './accessibility.ts';
import { chief, describeAdmin, makeFirstUser, overhang } from './helpers.ts';
import { newsroom } from './newsroom.ts';

/** The pages that most people see most. Each page, width and scheme is looked at in `pages.long.test.ts`. */
const main = ['', '/c/articles', '/c/articles/new', '/me'];

describeAdmin('The main pages of the application', (open) => {
  const service = useServiceHere(newsroom);
  before(async () => {
    await makeFirstUser(service);
    await service.call('POST', '/api/collections/articles', { title: 'The engine', tags: ['home'] });
  });

  for (const path of main) {
    it(`keep to the policy of the service, are for everybody, and are not scrolled sideways on a phone: /admin${path}`, async () => {
      const { page } = await open({ service, path, user: chief, options: { reducedMotion: 'reduce' } });
      await show(page, 1280, 'light');
      const wrong = await violations(page);
      await show(page, 320, 'light');
      assert.deepEqual([wrong, await overhang(page)], [[], 0]);
    });
  }
});
