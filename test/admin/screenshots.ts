import assert from 'node:assert/strict';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { chromium } from 'playwright-core';
import { chromiumArgs, executablePath } from '../helpers/chromium.ts';
import { heights, show } from './accessibility.ts';
import { startAtlas } from './atlas.ts';
import { chief, countRequests, loggedInAs, settled } from './helpers.ts';
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
  } finally {
    await browser.close();
    for (const run of undo.reverse()) await run();
  }
}

await main();
