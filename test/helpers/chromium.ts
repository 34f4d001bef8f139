import { existsSync } from 'node:fs';

const places = [
  '/usr/bin/chromium-headless-shell',
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
  '/usr/bin/google-chrome-stable',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
  'C:\\Program Files\\Google\\Chrome\\Application\\chrome.exe',
];
/** The Chromium to use; none if `CHROME_PATH` is the empty text. A wrong path fails the tests and skips none. */
const named = process.env.CHROME_PATH;

/** The path of Chromium for tests, pictures and benchmarks; undefined without one. */
export const executablePath = named === undefined ? places.find((place) => existsSync(place)) : named || undefined;

/** Arguments with which Chromium requests nothing but what a page asks for. */
export const chromiumArgs = [
  '--no-sandbox',
  '--disable-dev-shm-usage',
  '--disable-gpu',
  '--disable-background-networking',
  '--disable-component-update',
  '--no-first-run',
  '--disable-sync',
];
