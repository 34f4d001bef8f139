import assert from 'node:assert/strict';
import { after, before, describe } from 'node:test';
import { type Browser, chromium } from 'playwright-core';
import { chromiumArgs, executablePath } from './chromium.ts';

let launched: Promise<Browser> | undefined;

/**
 * A `describe` in Chromium. The browser is there once its tests run. All tests of a process share one browser, because
 * to start it costs more than most of their tests.
 */
export function describeInBrowser(name: string, tests: (browser: () => Browser) => void): void {
  describe(name, () => {
    let browser: Browser;
    before(async () => {
      assert.ok(executablePath, 'no Chromium was found; CHROME_PATH may name one');
      launched ??= chromium.launch({ executablePath, args: chromiumArgs });
      browser = await launched;
    });
    after(async () => {
      for (const context of browser?.contexts() ?? []) await context.close();
    });
    tests(() => browser);
  });
}

// At the top level of the file: runs after all tests.
after(async () => (await launched)?.close());
