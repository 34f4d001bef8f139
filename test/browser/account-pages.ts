import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, afterEach, describe, it } from 'node:test';
import type { BrowserContextOptions, Page, Request } from 'playwright-core';
import { loggedIn, login as logIn } from '../helpers/accounts.ts';
import { describeInBrowser } from '../helpers/browser.ts';
import { type HereService, useServiceHere } from '../helpers/embedded.ts';
import { useMailbox } from '../helpers/mail.ts';
import { inTime, number } from '../helpers/wait-for.ts';

type Action = 'accept-invite' | 'reset-password';

/** A service as people reach it: under an address that need not be its own. */
type Site = { service: HereService; url: string };

const login = 'https://app.example.org/login?a="><script>alert(1)</script>&b=\'$&';
const config = {
  collections: [
    { slug: 'members', auth: true, urls: { login }, fields: [{ name: 'name', type: 'text', required: true }] },
    { slug: '__admins', auth: true, fields: [] },
    { slug: 'notes', fields: [{ name: 'text', type: 'text' }] },
  ],
  rateLimit: false,
  bcryptCost: 4,
};
const root = { email: 'root@example.org', password: 'correct horse' };

const mailbox = await useMailbox();
const mail = { smtpUrl: mailbox.url, mailFrom: 'cms@example.org' };
const service = useServiceHere(config, mail);
const plain: Site = {
  service,
  get url() {
    return service.url;
  },
};
const behindProxy = await useProxied('/cms');

/** A service behind a proxy that has it under a path of its own. */
async function useProxied(basePath: string): Promise<Site> {
  const proxy = createServer((incoming, outgoing) => {
    const { method, headers, url = '' } = incoming;
    if (!url.startsWith(`${basePath}/`)) return outgoing.writeHead(404).end();
    const onward = request(proxied.url + url.slice(basePath.length), { method, headers }, (answer) => {
      outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(outgoing);
    });
    return incoming.pipe(onward);
  });
  proxy.listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  after(() => {
    proxy.closeAllConnections();
    proxy.close();
  });
  const url = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}${basePath}`;
  const proxied = useServiceHere(config, { ...mail, baseUrl: url });
  return { service: proxied, url };
}

const setupToken = ({ service }: Site) => new URL(service.setupUrl ?? '').searchParams.get('token') ?? '';

let users = 0;
/** An address that has got no mail yet. */
function newEmail(): string {
  users += 1;
  return `user-${users}@example.org`;
}

/**
 * A token as its recipient has it, once root has an account: of an invitation by root, or of a reset for a user who is
 * made for it.
 */
async function tokenFor({ service }: Site, action: Action, slug: string, email: string): Promise<string> {
  const path = `/api/collections/${slug}`;
  const { as } = await loggedIn(service, '__admins', root.email, root.password);
  if (action === 'accept-invite') {
    assert.equal((await service.call('POST', `${path}/invite`, { email }, as)).status, 200);
    return mailbox.token(email);
  }
  const user = { email, password: 'an old password', ...(slug === 'members' ? { name: 'Ada' } : {}) };
  assert.equal((await service.call('POST', path, user, as)).status, 201);
  assert.equal((await service.call('POST', `${path}/forgot-password`, { email })).status, 200);
  return mailbox.token(email);
}

async function logsIn({ service }: Site, slug: string, email: string, password: string): Promise<boolean> {
  return (await logIn(service, slug, email, password)).status === 200;
}

describeInBrowser('The account pages in a browser', (browser) => {
  type Opened = { page: Page; complaints: string[]; requests: Request[] };

  const pages: Page[] = [];
  // A page that stays open goes on being drawn.
  afterEach(async () => {
    for (const page of pages.splice(0)) await page.close();
  });

  async function open(url: string, options: BrowserContextOptions = {}): Promise<Opened> {
    const page = await browser().newPage(options);
    pages.push(page);
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
  const follow = (site: Site, slug: string, action: Action | 'setup', token: string) =>
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

  /** Waits until this stands beside the input that has the focus: visible, and read by a screen reader. */
  const hasProblemAtFocus = (page: Page, expected: string | RegExp) =>
    inTime(async () => {
      const invalid = page.locator('input:focus[aria-invalid=true]');
      const [problem = ''] = ((await invalid.getAttribute('aria-describedby')) ?? '').split(' ');
      const text = await page.locator(`#${problem}`).innerText();
      if (typeof expected === 'string') assert.equal(text, expected);
      else assert.match(text, expected);
    });

  const posts = (requests: readonly Request[]) => requests.filter((request) => request.method() === 'POST');

  // This suite comes before the others, which need the account.
  describe('at the first start', () => {
    it('make the first account, and say of a second one that there is one already', async () => {
      const token = setupToken(plain);
      const first = await follow(plain, '__admins', 'setup', token);
      const second = await follow(plain, '__admins', 'setup', token);
      for (const { page } of [first, second]) {
        await page.getByLabel('E-mail').fill(root.email);
        await choose(page, root.password);
        await page.waitForSelector('form', { state: 'detached' });
      }
      await heading(first.page, 'The first account is ready');
      assert.equal(await logsIn(plain, '__admins', root.email, root.password), true);
      await heading(second.page, 'This link does not work any more');
      assert.match(await second.page.getByRole('status').innerText(), /an account already/);
    });

    it('can be filled in by keyboard alone, from the first field on', async () => {
      const { page } = await follow(behindProxy, '__admins', 'setup', setupToken(behindProxy));
      for (const text of [root.email, root.password, root.password]) {
        await page.keyboard.type(text);
        await page.keyboard.press('Tab');
      }
      await page.keyboard.press('Enter');
      await heading(page, 'The first account is ready');
      await number(page.locator('h1:focus'), 1);
      assert.equal(await logsIn(behindProxy, '__admins', root.email, root.password), true);
    });
  });

  describe('for who has a token', () => {
    it('complete an invitation, asking for what the collection wants to know besides', async () => {
      const email = newEmail();
      const token = await tokenFor(plain, 'accept-invite', 'members', email);
      const { page, complaints, requests } = await follow(plain, 'members', 'accept-invite', token);
      await choose(page, 'correct horse');
      await page.getByLabel('name', { exact: true }).waitFor();
      await hasProblemAtFocus(page, 'name is required');
      await page.keyboard.type('Ada');
      await number(page.locator('[aria-invalid=true]'), 0);
      await page.keyboard.press('Enter');
      await heading(page, 'Your account is ready');
      assert.equal(await page.getByRole('link', { name: 'Log in' }).getAttribute('href'), login);
      assert.equal(await logsIn(plain, 'members', email, 'correct horse'), true);
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
      const email = newEmail();
      const token = await tokenFor(plain, 'reset-password', '__admins', email);
      const first = await follow(plain, '__admins', 'reset-password', token);
      const second = await follow(plain, '__admins', 'reset-password', token);
      await choose(first.page, 'a new password');
      await heading(first.page, 'Your password is changed');
      assert.equal(await first.page.getByRole('link').count(), 0);
      await choose(second.page, 'another password');
      await heading(second.page, 'This link does not work any more');
      assert.match(await second.page.getByRole('status').innerText(), /used already/);
      assert.equal(await logsIn(plain, '__admins', email, 'a new password'), true);
    });
  });

  for (const [where, site] of Object.entries({ '/': plain, 'a path of a proxy': behindProxy })) {
    describe(`reached under ${where}`, () => {
      it('reveal the token to no other site, and keep it nowhere', async () => {
        const token = await tokenFor(site, 'reset-password', 'members', newEmail());
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

  describe('for users who make mistakes', () => {
    const site = plain;

    it('say what is missing, too short or not the same, and send nothing', async () => {
      const { page, requests } = await follow(site, 'members', 'reset-password', 'any');
      const press = () => page.getByRole('button').click();
      await press();
      await number(page.locator('[aria-invalid=true]'), 2);
      await hasProblemAtFocus(page, 'Please fill this in.');
      await password(page).fill('1234567');
      await again(page).fill('1234567');
      await press();
      await hasProblemAtFocus(page, 'Please use 8 characters or more.');
      await password(page).fill('12345678');
      await press();
      await hasProblemAtFocus(page, 'The two passwords are not the same.');
      assert.equal(posts(requests).length, 0);
    });

    it('say beside the field what the service refuses, and go on when it is put right', async () => {
      const token = await tokenFor(site, 'reset-password', 'members', newEmail());
      const { page } = await follow(site, 'members', 'reset-password', token);
      await choose(page, 'ü'.repeat(37));
      await page.getByText('password must have at most 72 bytes').waitFor();
      await hasProblemAtFocus(page, /^password must have at most 72 bytes/);
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
      await Promise.all([page.waitForRequest('**/api/**'), page.getByRole('button').click()]);
      await page.getByText('hidden is required').waitFor();
      const expected = Object.fromEntries(names.map((name) => [name, `my ${name}`]));
      assert.deepEqual(posts(requests)[1]?.postDataJSON(), { token: 'any', password: 'correct horse', ...expected });
      assert.equal(await page.locator('input').count(), 2 + names.length);
    });
  });

  describe('on a phone', () => {
    const site = plain;

    for (const colorScheme of ['light', 'dark'] as const) {
      it(`need no sideways scrolling, and can be read: ${colorScheme}`, async () => {
        const { page } = await open(`${site.url}/account/__admins/setup?token=x`, {
          colorScheme,
          viewport: { width: 320, height: 640 },
        });
        await page.getByRole('button').click();
        await inTime(async () => assert.equal(await page.evaluate('document.documentElement.scrollWidth'), 320));
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
  });
});

/** The contrast of a text with its background (WCAG 2, 1.4.3). This function runs in the browser. */
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
