import assert from 'node:assert/strict';
import { before, it } from 'node:test';
import type { Browser, Page } from 'playwright-core';
import { bearer } from '../helpers/accounts.ts';
import { describeInBrowser } from '../helpers/browser.ts';
import { executablePath } from '../helpers/chromium.ts';
import { useServiceHere } from '../helpers/embedded.ts';
import { holds, inTime, number } from '../helpers/wait-for.ts';

const credentials = { email: 'ada@example.org', password: 'correct horse' };

const config = {
  collections: [
    { slug: 'editors', auth: true, fields: [{ name: 'name', type: 'text' }] },
    {
      slug: 'posts',
      labels: { singular: 'Post', plural: 'Posts' },
      fields: [
        { name: 'title', type: 'text', required: true },
        { name: 'slug', type: 'text', unique: true, admin: { displayAs: 'slug', from: 'title' } },
        { name: 'lead', type: 'textarea' },
        { name: 'author', type: 'relationship', relationTo: 'authors', admin: { position: 'side' } },
        {
          name: 'sections',
          type: 'blocks',
          admin: { tab: 'Sections' },
          blocks: [
            { slug: 'text', fields: [{ name: 'title', type: 'text', required: true }] },
            {
              slug: 'quote',
              fields: [
                { name: 'who', type: 'text' },
                { name: 'by', type: 'relationship', relationTo: 'authors' },
              ],
            },
          ],
        },
        { name: 'data', type: 'json', admin: { tab: 'More' } },
        { name: 'status', type: 'select', options: ['draft', 'published'], admin: { position: 'side' } },
        { name: 'day', type: 'date', admin: { condition: { status: { equals: 'published' } }, position: 'side' } },
      ],
    },
    { slug: 'authors', labels: { singular: 'Author', plural: 'Authors' }, fields: [{ name: 'name', type: 'text' }] },
    { slug: 'notes', requireReason: true, fields: [{ name: 'text', type: 'text' }] },
  ],
  globals: [{ slug: 'site', fields: [{ name: 'motto', type: 'text' }] }],
  rateLimit: false,
  bcryptCost: 4,
};

if (executablePath) tests();
else it('test/admin/form.long.test.ts', { skip: 'no Chromium was found; CHROME_PATH may name one' });

function tests(): void {
  const service = useServiceHere(config);
  let token = '';
  /** Makes the editor, once. */
  async function enter(): Promise<void> {
    const setupToken = new URL(service.setupUrl ?? '').searchParams.get('token');
    const made = await service.call('POST', '/api/collections/editors/first-user', {
      setupToken,
      name: 'Ada',
      ...credentials,
    });
    assert.equal(made.status, 201, JSON.stringify(made.body));
    token = made.body.token;
  }
  const as = () => bearer(token);
  const pathOf = (id: string) => `/api/collections/posts/${id}`;
  const read = async (id: string) => (await service.call('GET', pathOf(id), undefined, as())).body;
  const write = async (id: string, data: object) => service.call('PATCH', pathOf(id), data, as());
  async function create(data: object): Promise<string> {
    const { status, body } = await service.call('POST', '/api/collections/posts', data, as());
    assert.equal(status, 201, JSON.stringify(body));
    return body.id;
  }

  /** A page of an editor who is logged in. Each thing that a policy stops is an error. */
  async function open(browser: Browser, path: string): Promise<Page & { problems: string[] }> {
    const context = await browser.newContext({ viewport: { width: 1280, height: 900 } });
    await context.addInitScript(() => {
      document.addEventListener('securitypolicyviolation', ({ violatedDirective }) =>
        console.error(`policy: ${violatedDirective}`),
      );
    });
    const page = await context.newPage();
    const problems: string[] = [];
    page.on('pageerror', (error) => problems.push(error.message));
    page.on('console', (message) => {
      // The browser itself tells of each answer that is an error.
      if (message.type() === 'error' && !message.text().startsWith('Failed to load resource'))
        problems.push(message.text());
    });
    await page.goto(`${service.url}/admin/login`);
    await page.fill('input[name=email]', credentials.email);
    await page.fill('input[name=password]', credentials.password);
    await page.click('button[type=submit]');
    await page.waitForSelector('main#content');
    await visit(page, path);
    return Object.assign(page, { problems });
  }

  async function visit(page: Page, path: string): Promise<void> {
    await page.goto(`${service.url}/admin${path}`);
    await page.waitForSelector('[data-form]');
  }

  /** Saves by the keys, and waits for the answer. */
  async function save(page: Page, status: number): Promise<void> {
    const answered = page.waitForResponse((response) => ['PATCH', 'POST'].includes(response.request().method()));
    await page.keyboard.press('Control+s');
    assert.equal((await answered).status(), status);
  }

  const kept = (page: Page, state: string) => page.waitForSelector(`[data-kept="${state}"]`, { state: 'attached' });

  describeInBrowser('the form of a document', (browser) => {
    before(enter);

    it('makes a document: the slug follows the title, a block is added, a condition shows a field', async () => {
      const page = await open(browser(), '/c/posts/new');
      await page.fill('[name=title]', 'Über uns!');
      await holds(page.locator('[name=slug]'), 'ueber-uns');
      assert.equal(await page.locator('[name=day]').count(), 0);
      await page.selectOption('[name=status]', 'published');
      await page.fill('[name=day]', '2026-03-01');
      await page.getByRole('button', { name: 'Add a block' }).click();
      await page.getByRole('menuitem', { name: 'Quote' }).click();
      await page.fill('[name="sections.0.who"]', 'Grace');
      await save(page, 201);
      await page.waitForURL(/\/c\/posts\/[\da-f-]{36}$/);
      const made = await read(new URL(page.url()).pathname.split('/').at(-1) ?? '');
      const { title, slug, status, day, sections, data } = made;
      assert.deepEqual([title, slug, status, day, data], ['Über uns!', 'ueber-uns', 'published', '2026-03-01', null]);
      assert.deepEqual(sections, [{ blockType: 'quote', who: 'Grace', by: null }]);
      await page.waitForFunction(() => document.querySelector('h1')?.textContent === 'Über uns!');
      await inTime(async () => {
        const drafts = await service.call('GET', '/api/drafts', undefined, as());
        assert.deepEqual(drafts.body.docs, []);
      });
      assert.deepEqual(page.problems, []);
    });

    it('sends only what was changed, for the version that was read', async () => {
      const id = await create({ title: 'One', lead: 'kept' });
      const page = await open(browser(), `/c/posts/${id}`);
      await page.fill('[name=title]', 'Two');
      const sent = page.waitForRequest((request) => request.method() === 'PATCH');
      await page.keyboard.press('Control+s');
      const request = await sent;
      assert.deepEqual(request.postDataJSON(), { title: 'Two' });
      assert.match(request.headers()['if-match'] ?? '', /^"1-/);
      assert.ok(request.headers()['idempotency-key']);
      await page.waitForFunction(() => document.querySelector('h1')?.textContent === 'Two');
      assert.deepEqual(page.problems, []);
    });

    it('shows what is wrong at its field, opens what hides it, and puts the focus there', async () => {
      const id = await create({ title: 'One', sections: [{ blockType: 'text', title: 'a' }], lead: 'x' });
      const page = await open(browser(), `/c/posts/${id}`);
      await page.fill('[name="sections.0.title"]', '');
      await page.getByRole('button', { name: 'Text', expanded: true }).click();
      await page.getByRole('tab', { name: 'More' }).click();
      await save(page, 400);
      await page.waitForFunction(() => (document.activeElement as HTMLInputElement)?.name === 'sections.0.title');
      const field = page.locator('[data-field="sections.0.title"]');
      await field
        .getByText(/Title is required/)
        .first()
        .waitFor();
      assert.equal(await page.getAttribute('[name="sections.0.title"]', 'aria-invalid'), 'true');
      await page.fill('[name="sections.0.title"]', 'b');
      await number(page.locator('[data-invalid]'), 0);
      await save(page, 200);
      assert.equal((await read(id)).sections[0].title, 'b');
      assert.deepEqual(page.problems, []);
    });

    it('does not send text that is not JSON, says so at the field, and keeps it over a reload', async () => {
      const id = await create({ title: 'One' });
      const page = await open(browser(), `/c/posts/${id}`);
      await page.getByRole('tab', { name: 'More' }).click();
      await page.fill('[name=data]', '{"a":');
      await kept(page, 'service');
      await page.reload();
      await page.waitForSelector('[data-draft="restored"]');
      await page.keyboard.press('Control+s');
      await page.waitForFunction(() => (document.activeElement as HTMLTextAreaElement)?.name === 'data');
      await holds(page.locator('[name=data]'), '{"a":');
      await page.fill('[name=data]', '{"a":1}');
      await save(page, 200);
      assert.deepEqual((await read(id)).data, { a: 1 });
    });

    it('keeps what is typed: over a reload, a page that is left, and a service that is gone', async () => {
      const id = await create({ title: 'One' });
      const page = await open(browser(), `/c/posts/${id}`);
      await page.fill('[name=lead]', 'typed');
      await kept(page, 'service');
      await page.reload();
      await page.waitForSelector('[data-draft="restored"]');
      await holds(page.locator('[name=lead]'), 'typed');
      await page.route('**/api/**', (route) => route.abort());
      await page.fill('[name=lead]', 'typed on');
      await kept(page, 'here');
      await page.unroute('**/api/**');
      await visit(page, '/g/site').catch(() => undefined);
      await visit(page, `/c/posts/${id}`);
      await holds(page.locator('[name=lead]'), 'typed on');
      await page.getByRole('button', { name: 'Discard' }).click();
      await kept(page, 'none');
      await holds(page.locator('[name=lead]'), '');
      assert.equal((await read(id)).lead, null);
      assert.deepEqual(page.problems, []);
    });

    it('lets no late answer change a field that is typed in, and saves one after the other', async () => {
      const id = await create({ title: 'One' });
      const page = await open(browser(), `/c/posts/${id}`);
      const sent: unknown[] = [];
      await page.route(`**${pathOf(id)}`, async (route) => {
        if (route.request().method() === 'PATCH') {
          sent.push(route.request().postDataJSON());
          await new Promise((resolve) => setTimeout(resolve, 400));
        }
        await route.continue();
      });
      await page.fill('[name=lead]', 'one');
      await page.keyboard.press('Control+s');
      await page.locator('[name=lead]').pressSequentially(' two');
      await page.keyboard.press('Control+s');
      await page.keyboard.press('Control+s');
      await inTime(async () => assert.equal((await read(id)).lead, 'one two'));
      await page.waitForFunction(() => document.querySelector('[data-save]')?.hasAttribute('data-saving') === false);
      await kept(page, 'none');
      assert.deepEqual(sent, [{ lead: 'one' }, { lead: 'one two' }]);
      assert.equal(await page.inputValue('[name=lead]'), 'one two');
      assert.equal((await read(id)).lead, 'one two');
      assert.deepEqual(page.problems, []);
    });

    it('has somebody who saves over another version choose for each field', async () => {
      const id = await create({ title: 'read', lead: 'read' });
      const author = await service.call('POST', '/api/collections/authors', { name: 'Mary Shelley' }, as());
      const page = await open(browser(), `/c/posts/${id}`);
      await page.fill('[name=title]', 'mine');
      await page.fill('[name=lead]', 'mine');
      const sections = [{ blockType: 'quote', who: 'Victor', by: author.body.id }];
      await write(id, { title: 'theirs', lead: 'theirs', status: 'published', sections });
      await save(page, 412);
      const dialog = page.getByRole('dialog');
      await dialog.getByText(/You saved another version/).waitFor();
      await inTime(async () => {
        const shown = await page
          .locator('[data-conflict]')
          .evaluateAll((rows) => rows.map((row) => row.getAttribute('data-conflict')));
        assert.deepEqual(shown, ['title', 'lead', 'sections', 'status']);
      });
      await dialog
        .getByText(/By: Mary Shelley$/)
        .first()
        .waitFor();
      await dialog.getByRole('radio', { name: 'Lead: Keep as it is now' }).check();
      const saved = page.waitForResponse((response) => response.request().method() === 'PATCH');
      await dialog.getByRole('button', { name: 'Save this choice' }).click();
      assert.equal((await saved).status(), 200);
      const { title, lead, status } = await read(id);
      assert.deepEqual([title, lead, status], ['mine', 'theirs', 'published']);
      await holds(page.locator('[name=lead]'), 'theirs');
      await holds(page.locator('[name=status]'), 'published');
      assert.deepEqual(page.problems, []);
    });

    it('makes a related document in a drawer, and loses nothing of the form below', async () => {
      const page = await open(browser(), '/c/posts/new');
      await page.fill('[name=title]', 'With an author');
      await page.locator('[data-field=author] input').first().fill('Grace');
      await page.getByRole('option', { name: /Create/ }).click();
      const drawer = page.getByRole('dialog', { name: 'New: Author' });
      await drawer.locator('[name=name]').fill('Grace Hopper');
      await save(page, 201);
      await drawer.waitFor({ state: 'detached' });
      await holds(page.locator('[name=title]'), 'With an author');
      await holds(page.locator('[data-field=author] input').first(), 'Grace Hopper');
      await save(page, 201);
      await page.waitForURL(/\/c\/posts\/[\da-f-]{36}$/);
      const { author } = await read(new URL(page.url()).pathname.split('/').at(-1) ?? '');
      const made = await service.call('GET', `/api/collections/authors/${author}`, undefined, as());
      assert.equal(made.body.name, 'Grace Hopper');
      assert.deepEqual(page.problems, []);
    });

    it('asks for a reason if one is needed', async () => {
      const page = await open(browser(), '/c/notes/new');
      await page.fill('[name=text]', 'x');
      await page.keyboard.press('Control+s');
      await page.waitForFunction(() => document.activeElement?.getAttribute('aria-label') === 'Reason');
      await page.keyboard.type('because');
      await save(page, 201);
      await page.waitForURL(/\/c\/notes\/[\da-f-]{36}$/);
      assert.deepEqual(page.problems, []);
    });

    it('moves items by buttons, and keeps the focus with them', async () => {
      const sections = ['a', 'b', 'c'].map((title) => ({ blockType: 'text', title }));
      const id = await create({ title: 'One', sections });
      const page = await open(browser(), `/c/posts/${id}`);
      await page.getByRole('button', { name: 'Move 1 Text down' }).click();
      await page.waitForFunction(() => document.activeElement?.getAttribute('aria-label') === 'Move 2 Text down');
      await page.keyboard.press('Enter');
      await page.getByRole('button', { name: 'More about 1 Text' }).click();
      await page.getByRole('menuitem', { name: 'Remove' }).click();
      await page.fill('[name="sections.1.title"]', 'A');
      await save(page, 200);
      assert.deepEqual(
        (await read(id)).sections.map(({ title }: { title: string }) => title),
        ['c', 'A'],
      );
      assert.deepEqual(page.problems, []);
    });
  });
}
