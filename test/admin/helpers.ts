import assert from 'node:assert/strict';
import { globSync, statSync } from 'node:fs';
import { afterEach, describe } from 'node:test';
import type { Browser, BrowserContext, BrowserContextOptions, Page, Request } from 'playwright-core';
import { describeInBrowser } from '../helpers/browser.ts';
import { executablePath } from '../helpers/chromium.ts';
import { patience, startWait } from '../helpers/patience.ts';
import type { Service } from '../helpers/service.ts';

const root = new URL('../../', import.meta.url);

export type Credentials = { collection: string; email: string; password: string };

/** The first user of a test service. */
export const chief: Credentials = { collection: 'editors', email: 'ada@example.org', password: 'correct horse' };

type Opening = {
  service: Pick<Service, 'url' | 'call'>;
  /** Below `/admin`; with a query if it has one. */
  path?: string;
  /** The user who is logged in; without one the page is that before a login. */
  user?: Credentials;
  /** Statuses that the test provokes: the browser complains of each in its console. 0: no answer. */
  refusals?: number[];
  options?: BrowserContextOptions;
};

/** A tab with the application. */
export type Tab = { page: Page; context: BrowserContext; url: string; go: (path: string) => Promise<void> };

/** Opens the application; each tab of the test is closed after it. */
export type Open = (opening: Opening) => Promise<Tab>;

/**
 * A `describe` about the application in a browser. A test fails if one of its pages breaks the Content-Security-Policy,
 * asks another origin for something, or complains in the console. Without a browser it is skipped.
 */
export function describeAdmin(name: string, tests: (open: Open, browser: () => Browser) => void): void {
  if (executablePath === undefined) {
    describe(name, { skip: 'no Chromium was found; CHROME_PATH may name one' }, () => {});
    return;
  }
  describeInBrowser(name, (browser) => {
    const problems: string[] = [];
    const contexts: BrowserContext[] = [];
    afterEach(async () => {
      for (const context of contexts.splice(0)) await context.close();
      assert.deepEqual(problems.splice(0), []);
    });
    const open: Open = async ({ service, path = '', user, refusals = [], options = {} }) => {
      assertBuilt();
      const url = `${service.url}/admin`;
      const context = await browser().newContext({ ...options, ...(user && (await loggedInAs(service, user))) });
      context.setDefaultTimeout(patience);
      context.on('page', countRequests);
      contexts.push(context);
      await watch(context, new URL(url).origin, refusals, problems);
      const page = await context.newPage();
      const go = async (address: string) => {
        await page.goto(url + address);
        await settled(page);
      };
      await go(path);
      return { page, context, url, go };
    };
    tests(open, browser);
  });
}

let isBuilt = false;

/** Fails if the built application is older than its sources. */
function assertBuilt(): void {
  if (isBuilt) return;
  const built = statSync(new URL('admin/dist/index.html', root), { throwIfNoEntry: false });
  const command = 'npm run build --workspace admin';
  assert.ok(built, `the admin application is not built: ${command}`);
  const newest = Math.max(
    ...globSync('admin/src/**/*.{ts,tsx,css}', { cwd: root }).map((file) => statSync(new URL(file, root)).mtimeMs),
  );
  assert.ok(built.mtimeMs >= newest, `admin/dist is older than admin/src: ${command}`);
  isBuilt = true;
}

const logins = new Map<string, Promise<{ token: string; user: { id: string }; cookie: string }>>();

/** Logs in once for all tabs: it costs a hash. */
function login(service: Opening['service'], { collection, email, password }: Credentials) {
  const key = `${service.url} ${collection} ${email}`;
  const made = logins.get(key) ?? logIn();
  logins.set(key, made);
  return made;

  async function logIn() {
    const path = `/api/collections/${collection}/login`;
    const { status, body, headers } = await service.call('POST', path, { email, password }, { key: null });
    assert.equal(status, 200, JSON.stringify(body));
    return { token: body.token, user: body.user, cookie: headers.get('set-cookie') ?? '' };
  }
}

/** A browser in which a user is logged in: the token stands where the application keeps it. */
export async function loggedInAs(service: Opening['service'], user: Credentials): Promise<BrowserContextOptions> {
  const { token, cookie } = await login(service, user);
  const { origin, pathname } = new URL(service.url);
  const mount = pathname === '/' ? [] : [pathname];
  const localStorage = [
    { name: ['annals', ...mount, 'token'].join(':'), value: token },
    { name: ['annals', ...mount, 'collection'].join(':'), value: user.collection },
  ];
  // Pictures come by the cookie: <img> sends no token.
  const [name = '', value = ''] = cookie.split(';')[0]?.split('=') ?? [];
  const place = { domain: new URL(service.url).hostname, path: '/', expires: -1 };
  const cookies = [{ name, value, ...place, httpOnly: true, secure: false, sameSite: 'Lax' as const }];
  return { storageState: { cookies, origins: [{ origin, localStorage }] } };
}

/** Writes down what no page may do. */
async function watch(context: BrowserContext, origin: string, refusals: number[], problems: string[]): Promise<void> {
  await context.addInitScript(() => {
    document.addEventListener('securitypolicyviolation', ({ violatedDirective, blockedURI, sourceFile }) => {
      console.error(`policy: ${violatedDirective} ${blockedURI} ${sourceFile}`);
    });
  });
  context.on('console', (message) => {
    const status = /the server responded with a status of (\d+)/.exec(message.text())?.[1] ?? noAnswer(message.text());
    if (message.type() === 'error' && !refusals.includes(Number(status))) {
      problems.push(`${message.text()} ${message.location().url}`);
    }
  });
  context.on('weberror', (error) => problems.push(String(error.error().stack)));
  context.on('request', (request) => {
    const url = new URL(request.url());
    if (!['data:', 'blob:'].includes(url.protocol) && url.origin !== origin) problems.push(`request of ${url.href}`);
  });
}

/** 0 for a request that no service answered. */
function noAnswer(text: string): number | undefined {
  return /net::ERR_(CONNECTION|EMPTY_RESPONSE|SOCKET_NOT_CONNECTED)/.test(text) ? 0 : undefined;
}

/** The requests of a page: how many in all, and those that are not answered yet. */
type Asked = { times: number; open: Set<Request> };

const askedBy = new WeakMap<Page, Asked>();

/** Counts what a page asks for, from before its first address on. */
export function countRequests(page: Page): void {
  const asked: Asked = { times: 0, open: new Set() };
  askedBy.set(page, asked);
  page.on('request', (request) => {
    // The page before is gone, with its requests.
    if (request.isNavigationRequest() && request.frame() === page.mainFrame()) asked.open.clear();
    asked.times += 1;
    asked.open.add(request);
  });
  page.on('requestfinished', (request) => asked.open.delete(request));
  page.on('requestfailed', (request) => asked.open.delete(request));
}

/**
 * Waits until the page shows a heading, no request of it is open, and it has nothing left to do. The `networkidle` of
 * Playwright comes once in the life of a document, so it says nothing about an address within the application.
 */
export async function settled(page: Page): Promise<void> {
  const asked = askedBy.get(page);
  assert.ok(asked, 'the requests of this page are not counted');
  await page.locator('h1').first().waitFor();
  // A page that was closed meanwhile has come to rest.
  for (const wait = startWait(); !page.isClosed(); ) {
    const { times } = asked;
    // A page that is left in the middle of this takes its promises with it.
    const isIdle = await page.evaluate(idle).catch(() => false);
    if (isIdle && asked.open.size === 0 && asked.times === times) return;
    const open: string[] = [...asked.open].map((request) => request.url());
    if (wait.isOver()) assert.fail(`the page does not come to rest; open: ${open.join(', ')}; ${wait.report()}`);
  }
}

/** In the page: twice nothing to do, a tenth of a second apart. */
async function idle(): Promise<boolean> {
  const rest = () => new Promise((resolve) => requestIdleCallback(resolve, { timeout: 2000 }));
  await rest();
  await new Promise((resolve) => setTimeout(resolve, 100));
  await rest();
  return true;
}

/**
 * How far the page can be scrolled sideways, in pixels: the first 0 within two seconds, for a new width is laid out
 * over some frames.
 */
export function overhang(page: Page): Promise<number> {
  return page.evaluate(async () => {
    const measure = () => {
      const { scrollWidth, clientWidth } = document.documentElement;
      const content = document.querySelector('main');
      return Math.max(scrollWidth - clientWidth, content ? content.scrollWidth - content.clientWidth : 0);
    };
    const end = performance.now() + 2000;
    let pixels = measure();
    while (pixels > 0 && performance.now() < end) {
      await new Promise((resolve) => requestAnimationFrame(resolve));
      pixels = measure();
    }
    return pixels;
  });
}

/** Makes the first user by the setup link. */
export async function makeFirstUser(
  service: Pick<Service, 'call'> & { setupUrl: string | null },
  user: Credentials = chief,
  more: object = {},
): Promise<void> {
  const setupToken = new URL(service.setupUrl ?? '').searchParams.get('token');
  const { collection, email, password } = user;
  const body = { setupToken, email, password, ...more };
  const path = `/api/collections/${collection}/first-user`;
  const { status, body: answer } = await service.call('POST', path, body, { key: null });
  assert.ok(status === 200 || status === 201, JSON.stringify(answer));
}
