import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core';
import { chromiumArgs, executablePath } from '../test/helpers/chromium.ts';
import { apiKey, type Server, startAnnals } from './processes.ts';
import { type Cell, median, round, table } from './report.ts';
import type { Plan } from './rounds.ts';

const sizes = [250, 100_000];
const editor = { email: 'ada@example.org', password: 'correct horse' };
const batch = 1000;
/** The number of articles that contain each rare word. */
const hits = 20;

/** The pages of the admin application in Chromium, and the work that a key makes in a large form. */
export async function admin(folder: string, { rounds }: Plan): Promise<void> {
  if (executablePath === undefined) throw new Error('no Chromium was found; CHROME_PATH may name one');
  const browser = await chromium.launch({ executablePath, args: chromiumArgs });
  try {
    const columns: Times[] = [];
    for (const size of sizes) columns.push(await pageTimes(browser, join(folder, String(size)), { size, rounds }));
    const names = Object.keys(columns[0] ?? {});
    const rows = names.map((name): Cell[] => [name, ...columns.map((times) => round(times[name] ?? Number.NaN))]);
    table('The admin application, in ms, medians', ['', ...sizes.map((size) => `${size} documents`)], rows);
    table(
      'Each key in a form of 100 fields and 50 blocks, in ms',
      ['', 'median', 'slowest of 20'],
      await keys(browser, folder),
    );
  } finally {
    await browser.close();
  }
}

async function withService<Result>(folder: string, run: (service: Server) => Promise<Result>): Promise<Result> {
  mkdirSync(folder, { recursive: true });
  const service = await startAnnals(join(folder, 'data'), folder, { config: 'admin', logLevel: 'warn' });
  try {
    await send(service, 'POST', '/api/collections/editors', editor);
    return await run(service);
  } finally {
    await service.stop();
  }
}

async function send(service: Server, method: string, path: string, body: unknown): Promise<{ id: string }> {
  const headers = { 'x-api-key': apiKey, 'content-type': 'application/json' };
  const answer = await fetch(service.url + path, { method, headers, body: JSON.stringify(body) });
  if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${await answer.text()}`);
  return (await answer.json()) as { id: string };
}

type Sizes = { size: number; rounds: number };
type Times = Record<string, number>;

/** The rare word of an article: letters that no other word has in this order. */
function wordOf(index: number, size: number): string {
  return `w${((index % Math.ceil(size / hits)) * 7919 + 1_000_003).toString(36)}q`;
}

function pageTimes(browser: Browser, folder: string, { size, rounds }: Sizes): Promise<Times> {
  return withService(folder, async (service) => {
    const authors = await Promise.all(
      ['Ada Lovelace', 'Grace Hopper'].map((name) => send(service, 'POST', '/api/collections/authors', { name })),
    );
    for (let made = 0; made < size; made += batch) {
      const docs = Array.from({ length: Math.min(batch, size - made) }, (_, index) => ({
        title: `Article ${made + index} with some common words and ${wordOf(made + index, size)}`,
        teaser: 'A few words about it, as each article has them.',
        status: index % 3 === 0 ? 'published' : 'draft',
        views: index,
        author: authors[index % authors.length]?.id,
      }));
      await send(service, 'POST', '/api/collections/articles/bulk', { docs });
    }
    const taken: Times[] = [];
    // The first round warms the service and the browser.
    for (let turn = 0; turn <= rounds; turn += 1) taken.push(await oneRound(browser, service, wordOf(turn, size)));
    const names = Object.keys(taken[0] ?? {});
    return Object.fromEntries(
      names.map((name) => [name, median(taken.slice(1).map((times) => times[name] ?? Number.NaN))]),
    );
  });
}

async function oneRound(browser: Browser, service: Server, word: string): Promise<Times> {
  const cold = await browser.newContext();
  const login = await timeOfLogin(await cold.newPage(), service);
  const page = await logIn(cold, service);
  const times: Times = { 'log-in page, nothing in the cache': login };
  const row = 'tbody tr:nth-child(20)';
  times['list → rows'] = await timeTo(page, { event: 'click', selector: row }, () =>
    page.locator('aside').getByRole('link', { name: 'Articles' }).click(),
  );
  const search = page.getByRole('searchbox');
  for (const [name, text] of [
    [`${hits} match`, word],
    ['all match', 'common words'],
  ] as const) {
    const address = new URLSearchParams({ q: text }).toString();
    const awaited = { event: 'input', selector: 'tbody tr', address };
    times[`search → rows, ${name}`] = await timeTo(page, awaited, () => search.fill(text));
  }
  times['sort → rows'] = await timeTo(page, { event: 'click', selector: row, address: 'sort=title' }, () =>
    page.getByRole('columnheader', { name: 'Title' }).getByRole('button').click(),
  );
  times['row → document'] = await timeTo(page, { event: 'click', selector: 'input[name=title]:not([value=""])' }, () =>
    page.locator('tbody [data-row-link]').first().click(),
  );
  await cold.close();
  return times;
}

async function timeOfLogin(page: Page, service: Server): Promise<number> {
  await page.goto(`${service.url}/admin/login`, { waitUntil: 'commit' });
  await page.waitForFunction(() => document.querySelector('input[name=email]') !== null, null, { polling: 'raf' });
  return page.evaluate(() => performance.now());
}

async function logIn(context: BrowserContext, service: Server): Promise<Page> {
  const page = await context.newPage();
  await page.goto(`${service.url}/admin/login`);
  await page.fill('input[name=email]', editor.email);
  await page.fill('input[name=password]', editor.password);
  await page.click('button[type=submit]');
  await page.locator('main h1').waitFor();
  await page.waitForLoadState('networkidle');
  return page;
}

type Awaited = {
  /** The event that begins the time. */
  event: string;
  /** The element to wait for, in a table that is not loading. */
  selector: string;
  /** A part of the query in the address. */
  address?: string;
};

/** The time from an event in a page to the frame that shows an element, in milliseconds. */
async function timeTo(page: Page, awaited: Awaited, act: () => Promise<void>): Promise<number> {
  await page.evaluate(({ event, selector, address = '' }) => {
    const timed = new Promise<number>((resolve) => {
      let from = 0;
      addEventListener(
        event,
        () => {
          from = performance.now();
        },
        { capture: true, once: true },
      );
      const isShown = () =>
        location.search.includes(address) &&
        document.querySelector(selector) !== null &&
        document.querySelector('table[aria-busy=true]') === null;
      const look = () => {
        if (from > 0 && isShown()) requestAnimationFrame(() => resolve(performance.now() - from));
        else requestAnimationFrame(look);
      };
      look();
    });
    Object.assign(window, { timed });
  }, awaited);
  await act();
  const time = await page.evaluate(() => (window as unknown as { timed: Promise<number> }).timed);
  await page.waitForLoadState('networkidle');
  return time;
}

/** The work of a key in a large form: from the key to the end of its event, with style and layout. */
function keys(browser: Browser, folder: string): Promise<Cell[][]> {
  return withService(join(folder, 'keys'), async (service) => {
    const parts = Array.from({ length: 50 }, (_, index) => ({
      blockType: 'quote',
      words: `Words ${index}`,
      source: 'x',
    }));
    const { id } = await send(service, 'POST', '/api/collections/forms', {
      field0: 'A title',
      field1: 'A text',
      parts,
    });
    const page = await logIn(await browser.newContext(), service);
    await page.goto(`${service.url}/admin/c/forms/${id}`);
    await page.locator('[name=field0]').waitFor();
    await page.waitForLoadState('networkidle');
    await page.getByRole('button', { name: 'Unfold all' }).click();
    const places = { 'in a text': 'field0', 'in a long text': 'field1', 'in the last block': 'parts.49.words' };
    const rows: Cell[][] = [];
    for (const [name, field] of Object.entries(places)) {
      const times = await keyTimes(page, `[name="${field}"]`);
      rows.push([name, round(median(times)), round(Math.max(...times))]);
    }
    return rows;
  });
}

async function keyTimes(page: Page, selector: string): Promise<number[]> {
  await page.locator(selector).first().click();
  await page.evaluate(() => {
    const times: number[] = [];
    let from = 0;
    addEventListener(
      'keydown',
      () => {
        from = performance.now();
      },
      { capture: true },
    );
    addEventListener('input', () => {
      void document.body.offsetHeight;
      times.push(performance.now() - from);
    });
    Object.assign(window, { times });
  });
  for (const letter of 'the quick brown fox jumps') await page.keyboard.press(letter, { delay: 20 });
  const times = await page.evaluate(() => (window as unknown as { times: number[] }).times);
  return times.slice(-20);
}
