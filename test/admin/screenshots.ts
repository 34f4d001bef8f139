import assert from 'node:assert/strict';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { type Browser, chromium } from 'playwright-core';
import { loggedIn } from '../helpers/accounts.ts';
import { chromiumArgs, executablePath } from '../helpers/chromium.ts';
import { startHere } from '../helpers/embedded.ts';
import { heights, show } from './accessibility.ts';
import { startAtlas } from './atlas.ts';
import { desk } from './desk.ts';
import { chief, countRequests, loggedInAs, makeFirstUser, settled } from './helpers.ts';
import { addressesOf, pages } from './pages.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));
const schemes = ['light', 'dark'] as const;

/** The pictures in docs/images: page, width, scheme. */
const documented = [
  ['country', 1280, 'light'],
  ['story', 1280, 'dark'],
  ['history', 1280, 'light'],
  ['country', 390, 'dark'],
] as const;

/**
 * `npm run screenshots -- [--out FOLDER] [--docs] [PAGE…]`: pictures of the pages of the application, with the atlas.
 */
async function main(): Promise<void> {
  const { values, positionals } = parseArgs({
    options: { out: { type: 'string', default: 'build/screenshots' }, docs: { type: 'boolean', default: false } },
    allowPositionals: true,
  });
  const unknown = positionals.filter((name) => !(name in pages));
  if (unknown.length > 0)
    throw new Error(`there is no page ${unknown.join(', ')}; pages: ${Object.keys(pages).join(', ')}`);
  assert.ok(executablePath, 'no Chromium was found; CHROME_PATH may name one');
  const folder = join(root, values.docs ? 'docs/images' : values.out);
  mkdirSync(folder, { recursive: true });
  const names = positionals.length > 0 ? positionals : Object.keys(pages);
  const all = names.flatMap((name) =>
    [390, 1280].flatMap((width) => schemes.map((scheme) => [name, width, scheme] as const)),
  );
  const undo: (() => unknown)[] = [];
  const service = await startAtlas({ after: (run: () => unknown) => undo.push(run) } as unknown as TestContext);
  const browser = await chromium.launch({ executablePath, args: chromiumArgs });
  try {
    const addressOf = await addressesOf(service);
    for (const [name, width, colorScheme] of values.docs ? documented : all) {
      const shown = pages[name];
      assert.ok(shown, name);
      const viewport = { width, height: heights[width] ?? 800 };
      const context = await browser.newContext({
        viewport,
        colorScheme,
        ...(!shown.isOutside && (await loggedInAs(service, chief))),
      });
      const page = await context.newPage();
      countRequests(page);
      await page.goto(`${service.url}/admin${addressOf(shown)}`);
      await settled(page);
      await shown.open?.(page);
      await settled(page);
      await show(page, width, colorScheme);
      const path = join(
        folder,
        values.docs ? `admin-${name}${width < 768 ? '-phone' : ''}.png` : `${name}-${width}-${colorScheme}.png`,
      );
      await page.screenshot({ path });
      console.log(path);
      await context.close();
    }
    if (values.docs) await pictureOfDrafts(browser, folder, undo);
  } finally {
    await browser.close();
    for (const run of undo.reverse()) await run();
  }
}

/** The changes of a draft, which the atlas does not have. */
async function pictureOfDrafts(browser: Browser, folder: string, undo: (() => unknown)[]): Promise<void> {
  const after = { after: (run: () => unknown) => undo.push(run) } as unknown as TestContext;
  const service = await startHere(after, desk);
  await makeFirstUser(service, chief, { name: 'Ada Lovelace' });
  const { as } = await loggedIn(service, chief.collection, chief.email, chief.password);
  const call = async (method: string, path: string, data: object): Promise<string> =>
    (await service.call(method, `/api/collections${path}`, data, as)).body.id;
  const author = await call('POST', '/authors?draft=true', { name: 'Grace Hopper' });
  const id = await call('POST', '/posts', { title: 'Winter sale', price: 9, body: 'Everything must go by Friday.' });
  const draft = { title: 'The winter sale begins', body: 'Everything must go by Sunday.', price: 8, author };
  await call('PATCH', `/posts/${id}?draft=true`, draft);
  const context = await browser.newContext({
    viewport: { width: 1280, height: 800 },
    ...(await loggedInAs(service, chief)),
  });
  const page = await context.newPage();
  countRequests(page);
  await page.goto(`${service.url}/admin/c/posts/${id}`);
  await settled(page);
  await page.locator('[data-changes]').click();
  await settled(page);
  await show(page, 1280, 'light');
  await page.screenshot({ path: join(folder, 'admin-drafts.png') });
  console.log(join(folder, 'admin-drafts.png'));
  await context.close();
}

await main();
