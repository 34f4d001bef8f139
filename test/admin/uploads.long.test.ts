import assert from 'node:assert/strict';
import { truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, it } from 'node:test';
import type { Page } from 'playwright-core';
import { useServiceHere } from '../helpers/embedded.ts';
import { temporaryFolder } from '../helpers/service.ts';
import { inTime, number } from '../helpers/wait-for.ts';
import { violations } from './accessibility.ts';
import { chief, describeAdmin, makeFirstUser, overhang } from './helpers.ts';
import { newsroom } from './newsroom.ts';

const pixel = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
);
const png = (name: string) => ({ name, mimeType: 'image/png', buffer: pixel });

const collections = newsroom.collections ?? [];
const pictures = collections.find(({ slug }) => slug === 'pictures');
/** A collection of files whose writes need a reason. */
const evidence = {
  ...pictures,
  slug: 'evidence',
  labels: { singular: 'Evidence', plural: 'Evidence' },
  requireReason: true,
};

describeAdmin('Files', (open) => {
  const service = useServiceHere({ ...newsroom, collections: [...collections, evidence] } as typeof newsroom);
  before(() => makeFirstUser(service));

  const stored = async (slug = 'pictures'): Promise<{ id: string; filename: string; alt: string }[]> =>
    (await service.call('GET', `/api/collections/${slug}?sort=createdAt&limit=100`)).body.docs;
  const names = async () => (await stored()).map(({ filename }) => filename);
  const uploads = (page: Page) => page.getByRole('region', { name: 'Uploads' });
  const itemOf = (page: Page, name: string) => uploads(page).getByRole('listitem').filter({ hasText: name });
  const cardOf = (page: Page, name: string) => page.locator('main li > button').filter({ hasText: name });
  const choose = (page: Page, files: Parameters<ReturnType<Page['locator']>['setInputFiles']>[0]) =>
    page.locator('main input[type=file]').first().setInputFiles(files);
  const alt = (page: Page, name: string) => itemOf(page, name).getByRole('textbox', { name: 'Alt', exact: true });
  const upload = (page: Page, name: string) =>
    itemOf(page, name).getByRole('button', { name: 'Upload', exact: true }).click();

  it('that are too large or of a wrong type are refused by name; the others ask for alt', async () => {
    const { page } = await open({ service, user: chief, path: '/media' });
    const transfer = await page.evaluateHandle((base64) => {
      const bytes = Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));
      const dropped = new DataTransfer();
      for (const file of [
        new File([bytes], 'one.png', { type: 'image/png' }),
        new File([new Uint8Array(200_000)], 'large.png', { type: 'image/png' }),
        new File(['just words'], 'words.txt', { type: 'text/plain' }),
        new File([bytes], 'misnamed.txt', { type: 'text/plain' }),
      ])
        dropped.items.add(file);
      return dropped;
    }, pixel.toString('base64'));
    for (const type of ['dragenter', 'dragover', 'drop']) {
      await page.locator('main h1').dispatchEvent(type, { dataTransfer: transfer });
    }
    await itemOf(page, 'large.png')
      .getByText(/at most 100 kB/)
      .waitFor();
    await itemOf(page, 'words.txt')
      .getByText(/of type text\/plain; allowed are: Images/)
      .waitFor();
    for (const name of ['large.png', 'words.txt']) {
      assert.equal(await itemOf(page, name).getByRole('textbox').count(), 0, name);
      await number(itemOf(page, name).getByRole('button'), 1);
    }
    // Without the text that it needs, a file is not sent.
    const sent: string[] = [];
    page.on('request', (request) => request.method() === 'POST' && sent.push(request.url()));
    await upload(page, 'one.png');
    await itemOf(page, 'one.png').getByText('Alt is required').waitFor();
    await page.waitForFunction(() => document.activeElement?.getAttribute('aria-invalid') === 'true');
    assert.deepEqual(sent, []);
    assert.deepEqual(await violations(page), []);
    for (const name of ['one.png', 'misnamed.txt']) {
      await alt(page, name).fill(`A picture, ${name}`);
      await upload(page, name);
      await itemOf(page, name).locator('svg').first().waitFor();
    }
    await cardOf(page, 'misnamed.txt').waitFor();
    await inTime(async () => assert.deepEqual((await names()).sort(), ['misnamed.txt', 'one.png']));
    await itemOf(page, 'words.txt').getByRole('button', { name: 'Dismiss words.txt' }).click();
    await number(itemOf(page, 'words.txt'), 0);
  });

  it('that are on their way show how far they are, and are cancelled; one is replaced by another', async () => {
    const { page } = await open({ service, user: chief, path: '/media' });
    let go = () => {};
    const gate = new Promise<void>((resolve) => {
      go = resolve;
    });
    await page.route('**/api/collections/pictures', async (route) => {
      if (route.request().method() === 'POST') await gate;
      await route.continue().catch(() => undefined);
    });
    await choose(page, [png('slow.png'), png('unwanted.png')]);
    for (const name of ['slow.png', 'unwanted.png']) {
      await alt(page, name).fill(name);
      await upload(page, name);
      await itemOf(page, name)
        .getByRole('progressbar', { name: `Upload of ${name}` })
        .waitFor({ state: 'attached' });
    }
    await itemOf(page, 'unwanted.png').getByRole('button', { name: 'Cancel unwanted.png' }).click();
    await number(itemOf(page, 'unwanted.png'), 0);
    go();
    await cardOf(page, 'slow.png').waitFor();
    await cardOf(page, 'slow.png').click();
    const drawer = page.getByRole('dialog', { name: 'slow.png' });
    const input = drawer.locator('input[type=file]');
    await input.setInputFiles({ name: 'words.txt', mimeType: 'text/plain', buffer: Buffer.from('just words') });
    await drawer.getByText(/allowed are: Images/).waitFor();
    await input.setInputFiles(png('quick.png'));
    await page.getByRole('dialog', { name: 'quick.png' }).waitFor();
    const file = (await stored()).find(({ filename }) => filename === 'quick.png');
    assert.equal(file?.alt, 'slow.png');
    assert.ok(!(await names()).some((name) => ['slow.png', 'unwanted.png', 'words.txt'].includes(name)));
  });

  it('of a gigabyte are refused at once by their size; the service reports a limit that became lower', async (t) => {
    const huge = join(temporaryFolder(t), 'huge.png');
    writeFileSync(huge, '');
    truncateSync(huge, 1_000_000_000);
    const { page } = await open({ service, user: chief, path: '/media', refusals: [413] });
    await choose(page, huge);
    await itemOf(page, 'huge.png')
      .getByText(/is 1 GB; at most 100 kB/)
      .waitFor();
    await page.getByRole('searchbox').fill('still here');
    await page.waitForURL(/q=still/);
    await page.route('**/api/schemas', async (route) => {
      const response = await route.fetch();
      const text = (await response.text()).replaceAll('"maxFileSize":100000', '"maxFileSize":10000000');
      await route.fulfill({ response, body: text });
    });
    await page.reload();
    await choose(page, { ...png('large.png'), buffer: Buffer.concat([pixel, Buffer.alloc(200_000)]) });
    await alt(page, 'large.png').fill('Too large');
    await upload(page, 'large.png');
    await itemOf(page, 'large.png')
      .getByRole('alert')
      .filter({ hasText: /at most 100000 bytes/ })
      .waitFor();
    assert.ok(!(await names()).some((name) => ['huge.png', 'large.png'].includes(name)));
  });

  it('are sent with the reason if one is needed, and not without', async () => {
    const { page } = await open({ service, user: chief, path: '/media?collection=evidence' });
    await choose(page, png('proof.png'));
    await alt(page, 'proof.png').fill('A footprint');
    await upload(page, 'proof.png');
    await itemOf(page, 'proof.png').getByText('Give a reason in one line').waitFor();
    assert.deepEqual(await stored('evidence'), []);
    await itemOf(page, 'proof.png').getByRole('textbox', { name: 'Reason' }).fill('Found by the river');
    await page.keyboard.press('Enter');
    await cardOf(page, 'proof.png').waitFor();
    const [file] = await stored('evidence');
    const { body } = await service.call('GET', `/api/audit/documents/evidence/${file?.id}`);
    assert.deepEqual(
      body.docs.map(({ reason }: { reason: string }) => reason),
      ['Found by the river'],
    );
  });

  it('with a name as long as it may be make no taller rows, and push nothing aside', async () => {
    const name = `${'W'.repeat(236)}.png`;
    const { page } = await open({
      service,
      user: chief,
      path: '/media',
      options: { viewport: { width: 390, height: 844 } },
    });
    await choose(page, [png('short.png'), png(name)]);
    await inTime(async () => {
      const [short = 0, long = 0] = await Promise.all(
        ['short.png', 'WWW'].map(async (one) => (await itemOf(page, one).boundingBox())?.height ?? 0),
      );
      assert.ok(short > 0 && long > 0 && long - short < 40, `${long} ${short}`);
    });
    assert.equal(await overhang(page), 0);
    await alt(page, 'WWW').fill('Long');
    await upload(page, 'WWW');
    await cardOf(page, 'WWW').click();
    const drawer = page.getByRole('dialog');
    await drawer.getByRole('button', { name: 'Replace file' }).waitFor();
    await inTime(async () => {
      const title = await drawer.locator('h2').boundingBox();
      assert.ok((title?.height ?? 999) < 80, String(title?.height));
    });
  });
});
