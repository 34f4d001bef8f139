import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, it } from 'node:test';
import { useServiceHere } from '../helpers/embedded.ts';
import { useFolder } from '../helpers/shared.ts';
import { show, violations } from './accessibility.ts';
import { chief, describeAdmin, makeFirstUser, overhang } from './helpers.ts';
import { newsroom } from './newsroom.ts';

/** The pages that most people see most. Each page, width and scheme is looked at in `pages.long.test.ts`. */
const main = ['', '/c/articles', '/c/articles/new', '/me'];

describeAdmin('The main pages of the application', (open) => {
  const data = useFolder();
  const listed = { collection: 'articles', field: 'words', reads: 320, slowest: 24, lastAt: new Date().toISOString() };
  writeFileSync(join(data, 'missing-indexes.json'), JSON.stringify([listed]));
  const service = useServiceHere(newsroom, { data });
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

  it('name the indexes that are missing, for those who manage API keys', async () => {
    const { page } = await open({ service, path: '', user: chief });
    const panel = page.getByRole('region', { name: 'Missing indexes' });
    const text = (await panel.getByRole('listitem').innerText()).replaceAll(/\s+/g, ' ');
    assert.match(
      text,
      /^Articles: Words articles\.words, index: true 320 slow reads, up to 24 ms · (now|\d+ minutes? ago)$/,
    );
  });
});
