import { existsSync } from 'node:fs';
import { after, before, describe, it } from 'node:test';
import { type Browser, chromium } from 'playwright-core';

const places = [
  process.env.CHROME_PATH ?? '',
  '/usr/bin/chromium-headless-shell',
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
  '/usr/bin/google-chrome-stable',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
  'C:\\Program Files\\Google\\Chrome\\Application\\chrome.exe',
];
const executablePath = places.find((place) => place !== '' && existsSync(place));

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

/** A `describe` in Chromium, skipped where there is none. The browser is there once its tests run. */
export function describeInBrowser(name: string, tests: (browser: () => Browser) => void): void {
  if (executablePath === undefined) {
    // Not the whole describe: the runner does not count one that is skipped.
    it(name, { skip: 'no Chromium was found; CHROME_PATH may name one' });
    return;
  }
  describe(name, () => {
    let browser: Browser;
    before(async () => {
      browser = await chromium.launch({ executablePath, args });
    });
    after(() => browser?.close());
    tests(() => browser);
  });
}
