import assert from 'node:assert/strict';
import { join } from 'node:path';
import { before, it } from 'node:test';
import type { Page } from 'playwright-core';
import { useServiceHere } from '../helpers/embedded.ts';
import { type Service, startService, temporaryFolder } from '../helpers/service.ts';
import { holds, inTime } from '../helpers/wait-for.ts';
import { chief, describeAdmin, makeFirstUser, settled } from './helpers.ts';
import { newsroom } from './newsroom.ts';

/** A newsroom in a process of its own. A save takes its time before or after it is recorded, if its text says so. */
const config = `
  import { newsroom } from ${JSON.stringify(new URL('./newsroom.ts', import.meta.url).href)};
  const wait = (text) => ({ data }) =>
    process.env.SLOW && data.teaser === text ? new Promise((resolve) => setTimeout(resolve, 20000, data)) : data;
  const [articles, ...others] = newsroom.collections;
  const hooks = { beforeChange: wait('slow before'), afterChange: wait('slow after') };
  export default { ...newsroom, collections: [{ ...articles, hooks }, ...others] };
`;

describeAdmin('Text that is typed', (open) => {
  const here = useServiceHere(newsroom);
  before(() => makeFirstUser(here));
  const field = (page: Page, name: string) => page.locator(`[name="${name}"]`);
  const textIn = (page: Page, name: string) => field(page, name).inputValue();
  const save = (page: Page) => page.keyboard.press('Control+s');
  const kept = (page: Page, state: string) => page.locator(`[data-kept=${state}]`).waitFor({ state: 'attached' });
  const saved = (page: Page) => page.getByText('Saved', { exact: true }).first().waitFor();
  const create = async (service: Pick<Service, 'call'>, title: string): Promise<string> => {
    const { status, body } = await service.call('POST', '/api/collections/articles', { title });
    assert.equal(status, 201, JSON.stringify(body));
    return body.id;
  };
  const teasers = async (service: Pick<Service, 'call'>, id: string) => {
    const { body } = await service.call('GET', `/api/audit/documents/articles/${id}`);
    const { teaser } = (await service.call('GET', `/api/collections/articles/${id}`)).body;
    return { versions: body.docs.length, teaser };
  };

  it('is saved once if the service is killed during the save, before or after it was recorded', async (t) => {
    const data = join(temporaryFolder(t), 'data');
    const service = await startService(t, config, { data, environment: { SLOW: '1' } });
    await service.call('POST', '/api/collections/editors', { ...chief, collection: undefined, role: 'chief' });
    const ids = [await create(service, 'Before'), await create(service, 'After')];
    const {
      page: first,
      context,
      url,
    } = await open({
      service,
      user: chief,
      path: `/c/articles/${ids[0]}`,
      refusals: [0],
    });
    const second = await context.newPage();
    await second.goto(`${url}/c/articles/${ids[1]}`);
    await settled(second);
    const tabs = [
      { page: first, id: ids[0] ?? '', text: 'slow before', versions: 1 },
      { page: second, id: ids[1] ?? '', text: 'slow after', versions: 2 },
    ];
    for (const { page, text } of tabs) {
      await field(page, 'teaser').fill(text);
      await kept(page, 'service');
      await page.bringToFront();
      await save(page);
    }
    await inTime(async () => assert.equal((await teasers(service, ids[1] ?? '')).versions, 2));
    for (const { id, versions } of tabs) assert.equal((await teasers(service, id)).versions, versions);
    await service.kill();
    for (const { page, text } of tabs) {
      await page.getByRole('alert').filter({ hasText: 'cannot be reached' }).waitFor();
      await holds(field(page, 'teaser'), text);
    }
    // Typed while there is no service.
    await field(first, 'section').fill('typed meanwhile');
    await kept(first, 'here');
    const again = await startService(t, config, { data, port: Number(new URL(service.url).port) });
    for (const { page, id, text } of tabs) {
      await page.bringToFront();
      await save(page);
      await saved(page);
      assert.deepEqual(await teasers(again, id), { versions: 2, teaser: text });
    }
    assert.equal((await again.call('GET', `/api/collections/articles/${ids[0]}`)).body.section, 'typed meanwhile');
  });

  it('stays if it is too much to be saved, over a reload too, until it is less', async () => {
    const id = await create(here, 'Much');
    const { page } = await open({ service: here, user: chief, path: `/c/articles/${id}`, refusals: [413] });
    const much = 'x'.repeat(1_100_000);
    const hasLength = () => inTime(async () => assert.equal((await textIn(page, 'section')).length, much.length));
    await field(page, 'section').fill(much);
    await save(page);
    await page.getByRole('alert').filter({ hasText: 'too large to be saved: 1.1 MB' }).waitFor();
    await kept(page, 'here');
    await hasLength();
    await page.reload();
    await page.locator('[data-draft=restored]').waitFor();
    await hasLength();
    await field(page, 'section').fill('less');
    await save(page);
    await saved(page);
    assert.equal((await here.call('GET', `/api/collections/articles/${id}`)).body.section, 'less');
  });

  it('is there again after the way back and forward, at once, before a pause has kept it', async () => {
    await create(here, 'After');
    const { page } = await open({ service: here, user: chief, path: '/c/articles' });
    await page.getByRole('link', { name: 'After' }).click();
    await settled(page);
    await field(page, 'section').fill('typed before the way back');
    await page.goBack();
    await page.getByRole('heading', { level: 1, name: 'Articles' }).waitFor();
    await page.goForward();
    await page.locator('[data-draft=restored]').waitFor();
    await holds(field(page, 'section'), 'typed before the way back');
  });
});
