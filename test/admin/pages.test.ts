import assert from 'node:assert/strict';
import { before, it } from 'node:test';
import { useServiceHere } from '../helpers/embedded.ts';
import { violations } from './accessibility.ts';
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

  it('keep to the policy of the service, and axe-core finds nothing in them', async () => {
    const { page, go } = await open({ service, user: chief, options: { reducedMotion: 'reduce' } });
    for (const path of main) {
      await go(path);
      assert.deepEqual([path, await violations(page)], [path, []]);
    }
  });

  it('are not scrolled sideways on a phone', async () => {
    const { page, go } = await open({ service, user: chief, options: { viewport: { width: 320, height: 640 } } });
    for (const path of main) {
      await go(path);
      assert.deepEqual([path, await overhang(page)], [path, 0]);
    }
  });
});
