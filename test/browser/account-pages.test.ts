import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import Hapi, { type Lifecycle } from '@hapi/hapi';
import type { BrowserContextOptions, Page, Request } from 'playwright-core';
import type { App } from '../../server/app.ts';
import { accountPages } from '../../server/resources/account-pages.ts';
import { describeInBrowser } from '../helpers/browser.ts';

type Action = 'accept-invite' | 'reset-password' | 'setup';

/**
 * What the tests use of a service with three collections: `members`, auth, with a required text `name` and this page to
 * log in; `__admins`, auth, without; `notes`, no auth.
 */
type Site = {
  /** Where clients reach it, base path included. */
  url: string;
  /** A token that is good for once, as a mail or the setup link holds it. */
  issue: (action: Action, slug: string, email?: string) => string | Promise<string>;
  logsIn: (slug: string, email: string, password: string) => boolean | Promise<boolean>;
  close: () => Promise<void>;
};

const login = 'https://app.example.org/login?a="><script>alert(1)</script>&b=\'$&';

/** The real pages beside an API that answers as the contract says (section 4.4) and keeps everything in memory. */
async function startSite(basePath: string): Promise<Site> {
  const server = Hapi.server({ host: '127.0.0.1', port: 0, debug: false });
  const tokens = new Map<string, string>();
  const passwords = new Map<string, string>();

  const answer: Lifecycle.Method = ({ params: { slug, action }, payload }, h) => {
    const body = payload as Record<string, string>;
    const refuse = (statusCode: number, field: string, message: string) =>
      h.response({ statusCode, error: 'Error', message, errors: [{ field, message }] }).code(statusCode);
    const isSetup = action === 'first-user';
    const token = String(body[isSetup ? 'setupToken' : 'token']);
    const email = tokens.get(`${action} ${slug} ${token}`);
    if (isSetup && (email === undefined || passwords.size > 0))
      return h.response({ statusCode: 403, error: 'Forbidden', message: 'there is a user already' }).code(403);
    if (email === undefined) return refuse(400, 'token', 'token is not valid');
    if (Buffer.byteLength(body.password ?? '') > 72) return refuse(400, 'password', 'password must be shorter');
    if (action === 'accept-invite' && slug === 'members' && !body.name) return refuse(400, 'name', 'name is required');
    tokens.delete(`${action} ${slug} ${token}`);
    passwords.set(`${slug} ${isSetup ? body.email : email}`, String(body.password));
    return h.response({}).code(action === 'reset-password' ? 200 : 201);
  };

  const collection = (slug: string, auth: object | null, urls: object) =>
    [slug, { model: { slug, auth, urls } }] as const;
  const collections = new Map([
    collection('members', {}, { login }),
    collection('__admins', {}, {}),
    collection('notes', null, {}),
  ]) as unknown as App['collections'];
  await server.register(
    {
      name: 'site',
      register(part) {
        accountPages(part, { collections });
        part.route({ method: 'POST', path: '/api/collections/{slug}/{action}', handler: answer });
      },
    },
    basePath === '' ? {} : { routes: { prefix: basePath } },
  );
  await server.start();
  return {
    url: server.info.uri + basePath,
    issue(action, slug, email = '') {
      const token = `${randomUUID()}.+/=&`;
      tokens.set(`${action === 'setup' ? 'first-user' : action} ${slug} ${token}`, email);
      return token;
    },
    logsIn: (slug, email, password) => passwords.get(`${slug} ${email}`) === password,
    close: () => server.stop(),
  };
}

function useSite(basePath = ''): Site {
  let site: Site;
  before(async () => {
    site = await startSite(basePath);
  });
  after(() => site?.close());
  return {
    get url() {
      return site.url;
    },
    issue: (...args) => site.issue(...args),
    logsIn: (...args) => site.logsIn(...args),
    close: () => site.close(),
  };
}

describe('The account pages', () => {
  const site = useSite();

  it('are there for every auth collection, and for no other', async () => {
    for (const slug of ['members', '__admins', 'notes', 'unknown']) {
      const status = slug === 'members' || slug === '__admins' ? 200 : 404;
      for (const action of ['accept-invite', 'reset-password', 'setup']) {
        const response = await fetch(`${site.url}/account/${slug}/${action}?token=x`);
        assert.deepEqual([slug, action, response.status], [slug, action, status]);
        if (status === 404) assert.equal((await response.json()).error, 'Not Found');
      }
    }
  });

  it('are not kept, not framed, and tell nobody where they are', async () => {
    const { headers } = await fetch(`${site.url}/account/members/accept-invite?token=x`);
    assert.equal(headers.get('content-type'), 'text/html; charset=utf-8');
    assert.equal(headers.get('cache-control'), 'no-store');
    assert.equal(headers.get('referrer-policy'), 'no-referrer');
    assert.equal(headers.get('x-frame-options'), 'DENY');
    assert.match(headers.get('content-security-policy') ?? '', /default-src 'self'.*frame-ancestors 'none'/);
  });

  it('run nothing but their own script, and load nothing from elsewhere', async () => {
    const response = await fetch(`${site.url}/account/__admins/setup`);
    assert.doesNotMatch(response.headers.get('content-security-policy') ?? '', /unsafe|https?:|\*/);
    assert.doesNotMatch(await response.text(), /<script(?![^>]*\ssrc=)|<style|\sstyle=|\son\w+=|https?:\/\//);
  });

  it('let a browser keep the files: 304 for one that it has', async () => {
    for (const [file, type] of Object.entries({ 'account.js': 'text/javascript', 'account.css': 'text/css' })) {
      const first = await fetch(`${site.url}/account/${file}`);
      assert.deepEqual([first.status, first.headers.get('content-type')], [200, `${type}; charset=utf-8`]);
      await first.arrayBuffer();
      const headers = { 'if-none-match': first.headers.get('etag') ?? '' };
      assert.equal((await fetch(`${site.url}/account/${file}`, { headers })).status, 304);
    }
  });
});

describeInBrowser('The account pages in a browser', (browser) => {
  type Opened = { page: Page; complaints: string[]; requests: Request[] };

  async function open(url: string, options: BrowserContextOptions = {}): Promise<Opened> {
    const page = await browser().newPage(options);
    page.setDefaultTimeout(20_000);
    const complaints: string[] = [];
    const requests: Request[] = [];
    page.on('console', (message) => {
      if (message.type() === 'error' || message.type() === 'warning') complaints.push(message.text());
    });
    page.on('pageerror', (error) => complaints.push(String(error)));
    page.on('request', (request) => requests.push(request));
    await page.goto(url);
    return { page, complaints, requests };
  }

  /** Opens a page as its link does. */
  const follow = (site: Site, slug: string, action: Action, token: string) =>
    open(`${site.url}/account/${slug}/${action}?token=${encodeURIComponent(token)}`);

  /** Opens an invitation whose answers are the test's. */
  async function openWith(site: Site, answer: { status?: number; body: string } | 'none'): Promise<Opened> {
    const opened = await follow(site, 'members', 'accept-invite', 'any');
    await opened.page.route('**/api/**', (route) => (answer === 'none' ? route.abort() : route.fulfill(answer)));
    return opened;
  }

  const password = (page: Page) => page.getByLabel('Password', { exact: true });
  const again = (page: Page) => page.getByLabel('The same password again');

  async function choose(page: Page, text: string): Promise<void> {
    await password(page).fill(text);
    await again(page).fill(text);
    await page.getByRole('button').click();
  }

  const heading = (page: Page, name: string) => page.getByRole('heading', { name, exact: true }).waitFor();

  /** What stands beside the input that has the focus: seen, and told by a screen reader. */
  async function problemAtFocus(page: Page): Promise<string> {
    const input = page.locator('input:focus');
    assert.equal(await input.getAttribute('aria-invalid'), 'true');
    const [problem = ''] = ((await input.getAttribute('aria-describedby')) ?? '').split(' ');
    return page.locator(`#${problem}`).innerText();
  }

  const posts = (requests: readonly Request[]) => requests.filter((request) => request.method() === 'POST');

  for (const basePath of ['', '/cms']) {
    describe(`reached under ${basePath || '/'}`, () => {
      const site = useSite(basePath);

      it('complete an invitation, asking for what the collection wants to know besides', async () => {
        const token = await site.issue('accept-invite', 'members', 'ada@example.org');
        const { page, complaints, requests } = await follow(site, 'members', 'accept-invite', token);
        await choose(page, 'correct horse');
        await page.getByLabel('name', { exact: true }).waitFor();
        assert.equal(await problemAtFocus(page), 'name is required');
        await page.keyboard.type('Ada');
        assert.equal(await page.locator('[aria-invalid=true]').count(), 0);
        await page.keyboard.press('Enter');
        await heading(page, 'Your account is ready');
        assert.equal(await page.getByRole('link', { name: 'Log in' }).getAttribute('href'), login);
        assert.equal(await site.logsIn('members', 'ada@example.org', 'correct horse'), true);
        // The browser itself writes a line for each answer of 400.
        assert.deepEqual(
          complaints.filter((text) => !text.includes('status of 400')),
          [],
        );
        assert.deepEqual(
          posts(requests).map((request) => request.postDataJSON()),
          [
            { token, password: 'correct horse' },
            { token, password: 'correct horse', name: 'Ada' },
          ],
        );
      });

      it('choose a new password, once', async () => {
        const token = await site.issue('reset-password', '__admins', 'root@example.org');
        const first = await follow(site, '__admins', 'reset-password', token);
        const second = await follow(site, '__admins', 'reset-password', token);
        await choose(first.page, 'a new password');
        await heading(first.page, 'Your password is changed');
        assert.equal(await first.page.getByRole('link').count(), 0);
        await choose(second.page, 'another password');
        await heading(second.page, 'This link does not work any more');
        assert.match(await second.page.getByRole('status').innerText(), /used already/);
        assert.equal(await site.logsIn('__admins', 'root@example.org', 'a new password'), true);
      });

      it('tell nobody the token, and keep it nowhere', async () => {
        const token = await site.issue('reset-password', 'members', 'eve@example.org');
        const { page, requests } = await follow(site, 'members', 'reset-password', token);
        await choose(page, 'a new password');
        await heading(page, 'Your password is changed');
        assert.equal(page.url(), `${site.url}/account/members/reset-password`);
        assert.equal(await page.evaluate('localStorage.length + sessionStorage.length + history.length'), 2);
        const { origin } = new URL(site.url);
        for (const request of requests.slice(1)) {
          if (request.url().startsWith('data:')) continue;
          const headers = await request.allHeaders();
          assert.deepEqual([new URL(request.url()).origin, new URL(request.url()).search], [origin, '']);
          assert.equal(headers.referer, undefined);
          // A write under a cookie is taken from a page of the same origin only.
          if (request.method() === 'POST') assert.equal(headers.origin, origin);
        }
      });
    });
  }

  describe('at the first start', () => {
    const site = useSite();

    it('make the first account, and say of a second one that there is one already', async () => {
      const [one, two] = [await site.issue('setup', '__admins'), await site.issue('setup', '__admins')];
      const first = await follow(site, '__admins', 'setup', one);
      const second = await follow(site, '__admins', 'setup', two);
      for (const { page } of [first, second]) {
        await page.getByLabel('E-mail').fill('root@example.org');
        await choose(page, 'correct horse');
        await page.waitForSelector('form', { state: 'detached' });
      }
      await heading(first.page, 'The first account is ready');
      assert.equal(await site.logsIn('__admins', 'root@example.org', 'correct horse'), true);
      await heading(second.page, 'This link does not work any more');
      assert.match(await second.page.getByRole('status').innerText(), /an account already/);
    });
  });

  describe('for whoever makes mistakes', () => {
    const site = useSite();

    it('say what is missing, too short or not the same, and send nothing', async () => {
      const { page, requests } = await follow(site, 'members', 'reset-password', 'any');
      const press = () => page.getByRole('button').click();
      await press();
      assert.equal(await page.locator('[aria-invalid=true]').count(), 2);
      assert.equal(await problemAtFocus(page), 'Please fill this in.');
      await password(page).fill('1234567');
      await again(page).fill('1234567');
      await press();
      assert.equal(await problemAtFocus(page), 'Please use 8 characters or more.');
      await password(page).fill('12345678');
      await press();
      assert.equal(await problemAtFocus(page), 'The two passwords are not the same.');
      assert.equal(posts(requests).length, 0);
    });

    it('say beside the field what the service refuses, and go on when it is put right', async () => {
      const token = await site.issue('reset-password', 'members', 'ada@example.org');
      const { page } = await follow(site, 'members', 'reset-password', token);
      await choose(page, 'ü'.repeat(37));
      await page.getByText('password must be shorter').waitFor();
      assert.equal(await problemAtFocus(page), 'password must be shorter');
      await choose(page, 'ü'.repeat(36));
      await heading(page, 'Your password is changed');
    });

    it('say that the token is missing', async () => {
      const { page } = await open(`${site.url}/account/members/reset-password`);
      await heading(page, 'This link is not complete');
      assert.match(await page.getByRole('status').innerText(), /token is missing/);
      assert.equal(await page.locator('form').count(), 0);
    });

    for (const [name, answer, text] of [
      ['a refusal', { status: 429, body: '{"message":"too many attempts"}' }, 'too many attempts'],
      ['a proxy that has no JSON', { status: 502, body: '<h1>Bad gateway</h1>' }, 'The service answered 502.'],
      ['a service that is gone', 'none', 'The service answered nothing.'],
      [
        'what no line of text can hold',
        { status: 400, body: '{"errors":[{"field":"links.0.url","message":"links.0.url is required"}]}' },
        'links.0.url is required',
      ],
      [
        'markup in a message, as it stands',
        { status: 400, body: JSON.stringify({ message: '<img src=x onerror=alert(1)>' }) },
        '<img src=x onerror=alert(1)>',
      ],
    ] as const) {
      it(`tell of ${name}, and let them try again`, async () => {
        const { page, requests } = await openWith(site, answer);
        await choose(page, 'correct horse');
        await page.getByRole('alert').getByText(text).waitFor();
        await Promise.all([page.waitForRequest('**/api/**'), page.keyboard.press('Enter')]);
        assert.equal(posts(requests).length, 2);
      });
    }

    it('ask for fields whatever their names, and what they ask for is in the way of nothing', async () => {
      const names = ['hidden', 'length', 'submit', 'constructor', '"><b>'];
      const errors = names.map((field) => ({ field, message: `${field} is required` }));
      const { page, requests } = await openWith(site, { status: 400, body: JSON.stringify({ errors }) });
      await choose(page, 'correct horse');
      for (const name of names) await page.getByLabel(name, { exact: true }).fill(`my ${name}`);
      await page.getByRole('button').click();
      await page.getByText('hidden is required').waitFor();
      const expected = Object.fromEntries(names.map((name) => [name, `my ${name}`]));
      assert.deepEqual(posts(requests)[1]?.postDataJSON(), { token: 'any', password: 'correct horse', ...expected });
      assert.equal(await page.locator('input').count(), 2 + names.length);
    });
  });

  describe('on a phone, or without a mouse', () => {
    const site = useSite();

    for (const colorScheme of ['light', 'dark'] as const) {
      it(`need no sideways scrolling, and can be read: ${colorScheme}`, async () => {
        const { page } = await open(`${site.url}/account/__admins/setup?token=x`, {
          colorScheme,
          viewport: { width: 320, height: 640 },
        });
        await page.getByRole('button').click();
        assert.equal(await page.evaluate('document.documentElement.scrollWidth'), 320);
        // A phone zooms into inputs of a smaller text.
        const sizes = await page
          .locator('input')
          .evaluateAll((all) => all.map((one) => getComputedStyle(one).fontSize));
        assert.deepEqual(sizes, ['16px', '16px', '16px']);
        for (const selector of [
          '#host',
          'h1',
          '#text',
          'label',
          '.hint:not(:empty)',
          '.problem:not(:empty)',
          'button',
        ]) {
          const ratio = await page.locator(selector).first().evaluate(contrast);
          assert.ok(ratio >= 4.5, `${selector} has a contrast of ${ratio}`);
        }
      });
    }

    it('can be filled in by keyboard alone, from the first field on', async () => {
      const token = await site.issue('setup', '__admins');
      const { page } = await follow(site, '__admins', 'setup', token);
      for (const text of ['root@example.org', 'correct horse', 'correct horse']) {
        await page.keyboard.type(text);
        await page.keyboard.press('Tab');
      }
      await page.keyboard.press('Enter');
      await heading(page, 'The first account is ready');
      assert.equal(await page.locator('h1:focus').count(), 1);
    });
  });
});

/** The contrast of a text with what is behind it (WCAG 2, 1.4.3). It runs in the browser. */
function contrast(element: Element): number {
  const partsOf = (color: string) => (color.match(/[\d.]+/g) ?? []).map(Number);
  const luminanceOf = (color: string) => {
    const [red = 0, green = 0, blue = 0] = partsOf(color).map((part) => {
      return part <= 10.31 ? part / 255 / 12.92 : ((part / 255 + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  };
  let behind = element;
  while (partsOf(getComputedStyle(behind).backgroundColor)[3] === 0) behind = behind.parentElement as Element;
  const text = luminanceOf(getComputedStyle(element).color);
  const ground = luminanceOf(getComputedStyle(behind).backgroundColor);
  return (Math.max(text, ground) + 0.05) / (Math.min(text, ground) + 0.05);
}
