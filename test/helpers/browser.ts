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

let launched: Promise<Browser> | undefined;

/**
 * A `describe` in Chromium, skipped where there is none. The browser is there once its tests run. It is one for all that are
 * in a process, for to start it costs more than most of their tests.
 */
export function describeInBrowser(name: string, tests: (browser: () => Browser) => void): void {
  if (executablePath === undefined) {
    // Not the whole describe: the runner does not count one that is skipped.
    it(name, { skip: 'no Chromium was found; CHROME_PATH may name one' });
    return;
  }
  describe(name, () => {
    let browser: Browser;
    before(async () => {
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
