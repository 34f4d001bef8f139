import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { after, before, describe } from 'node:test';
import { type Browser, chromium } from 'playwright-core';

const places = [
  '/usr/bin/chromium-headless-shell',
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
  '/usr/bin/google-chrome-stable',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
  'C:\\Program Files\\Google\\Chrome\\Application\\chrome.exe',
];
/** The one to test with; none where `CHROME_PATH` is the empty text. A path that is wrong fails, it does not skip. */
const named = process.env.CHROME_PATH;

/** The Chromium to test with, undefined without one. */
export const executablePath = named === undefined ? places.find((place) => existsSync(place)) : named || undefined;

/** Nothing but what a page asks for. */
const args = [
  '--no-sandbox',
  '--disable-dev-shm-usage',
  '--disable-gpu',
  '--disable-background-networking',
  '--disable-component-update',
  '--no-first-run',
  '--disable-sync',
];

let launched: Promise<Browser> | undefined;

/**
 * A `describe` in Chromium. The browser is there once its tests run. It is one for all that are in a process, for to start it
 * costs more than most of their tests.
 */
export function describeInBrowser(name: string, tests: (browser: () => Browser) => void): void {
  describe(name, () => {
    let browser: Browser;
    before(async () => {
      assert.ok(executablePath, 'no Chromium was found; CHROME_PATH may name one');
      launched ??= chromium.launch({ executablePath, args });
      browser = await launched;
    });
    after(async () => {
      for (const context of browser?.contexts() ?? []) await context.close();
    });
    tests(() => browser);
  });
}

// At the top of the file: after all of them.
after(async () => (await launched)?.close());
