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

  it('keep to the policy of the service, are for everybody, and are not scrolled sideways on a phone', async () => {
    const { page, go } = await open({ service, user: chief, options: { reducedMotion: 'reduce' } });
    for (const path of main) {
      await show(page, 1280, 'light');
      await go(path);
      const wrong = await violations(page);
      await show(page, 320, 'light');
      assert.deepEqual([path, wrong, await overhang(page)], [path, [], 0]);
    }
  });
});
