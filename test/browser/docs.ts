import assert from 'node:assert/strict';
import { afterEach, before, describe, it } from 'node:test';
import type { Locator, Page } from 'playwright-core';
import { describeInBrowser } from '../helpers/browser.ts';
import { useServiceHere } from '../helpers/embedded.ts';
import { apiKey, type Service } from '../helpers/service.ts';
import { inTime, number } from '../helpers/wait-for.ts';

const configuration = (publicSchema: boolean) => `export default {
  publicSchema: ${publicSchema},
  collections: [
    { slug: 'notes', access: { read: () => true }, fields: [{ name: 'text', type: 'text' }] },
    { slug: 'closed-notes', fields: [{ name: 'text', type: 'text', required: true }] },
  ],
}`;

describeInBrowser('The documentation page in a browser', (browser) => {
  /**
   * A page of the documentation with all that the browser complained about and asked for since it was last forgotten.
   */
  type Opened = { page: Page; complaints: string[]; requests: string[]; forget: () => void };

  async function open(service: Pick<Service, 'url'>): Promise<Opened> {
    const page = await browser().newPage();
    page.setDefaultTimeout(20_000);
    const complaints: string[] = [];
    const requests: string[] = [];
    page.on('console', (message) => {
      if (message.type() === 'error' || message.type() === 'warning') complaints.push(message.text());
    });
    page.on('pageerror', (error) => complaints.push(String(error)));
    page.on('request', (request) => requests.push(request.url()));
    await page.goto(`${service.url}/api/docs`);
    const forget = () => {
      complaints.length = 0;
      requests.length = 0;
    };
    return { page, complaints, requests, forget };
  }

  /** Opens Swagger UI, and its tags, as all are closed at first. */
  async function openTags(page: Page): Promise<void> {
    const button = page.getByRole('button', { name: 'Try requests out' });
    await page.locator('.opblock-tag').or(button).first().waitFor();
    if (await button.isVisible()) await button.click();
    await page.locator('.opblock-tag').first().waitFor();
    const closed = page.locator('.opblock-tag[data-is-open="false"]');
    while ((await closed.count()) > 0) await closed.first().click();
  }

  /** Tries an operation out, which is opened for that the first time, and gives the status that the page shows. */
  async function tryOut(operation: Locator, fill?: (operation: Locator) => Promise<void>): Promise<string> {
    const clear = operation.getByRole('button', { name: 'Clear' });
    if (await clear.isVisible()) {
      // The answer to the request before is removed, so that it is not taken for the next one.
      await clear.click();
      await clear.waitFor({ state: 'detached' });
    } else {
      await operation.locator('.opblock-summary-control').click();
      await operation.getByRole('button', { name: 'Try it out' }).click();
    }
    await fill?.(operation);
    await operation.getByRole('button', { name: 'Execute' }).click();
    const status = operation.locator('.live-responses-table tbody .response-col_status');
    return (await status.textContent())?.trim() ?? '';
  }

  /** Waits until the answer that is shown to an operation has these words: its colours come after it. */
  const answers = (operation: Locator, words: RegExp) =>
    inTime(async () => {
      const shown = operation.locator('.live-responses-table .highlight-code').first();
      assert.match((await shown.textContent()) ?? '', words);
    });

  const operation = (page: Page, tag: string, id: string) => page.locator(`#operations-${tag}-${id}`);

  function assertAtHome(service: Pick<Service, 'url'>, requests: string[]): void {
    const elsewhere = requests.filter((url) => new URL(url).origin !== service.url && !url.startsWith('data:'));
    assert.deepEqual(elsewhere, []);
  }

  describe('with a public description', () => {
    const service = useServiceHere(configuration(true));
    let opened: Opened;
    before(async () => {
      await service.call('POST', '/api/collections/notes', { text: 'found & shown' });
      await service.call('POST', '/api/collections/notes', { text: 'not asked for' });
      // To load the page costs more than anything that is done with it.
      opened = await open(service);
      await opened.page.locator('#overview details').first().waitFor();
    });
    afterEach(() => opened.forget());

    it('begins with what the API is, a call that answers, and the credentials, without Swagger UI', async () => {
      const { page, complaints, requests } = opened;
      const [before = '', after = ''] = (await page.locator('#overview').innerText()).split('First call');
      assert.match(before, /^Annals.*Reads, filters, searches and writes the documents/s);
      const [, called = ''] = /curl '([^']+)'\s/.exec(after) ?? [];
      assert.equal(called, `${service.url}/api/collections/notes?limit=2`);
      assert.equal((await (await fetch(called)).json()).total, 2);
      assert.match(after, /Credentials\s+x-api-key: …\s+An API key: trusted code/);
      assert.deepEqual(
        requests.filter((url) => url.includes('swagger')),
        [],
      );
      assert.deepEqual(complaints, []);
    });

    it('lists every operation, as a link that opens it in Swagger UI', async () => {
      const { page, complaints } = opened;
      const { body } = await service.call('GET', '/api/openapi.json');
      const ids = Object.values<Record<string, { operationId: string }>>(body.paths).flatMap((path) =>
        Object.values(path).map(({ operationId }) => operationId),
      );
      const links = page.locator('#overview details a');
      const places = await links.evaluateAll((all) => all.map((one) => one.getAttribute('href')?.split('/').at(-1)));
      assert.deepEqual(places.sort(), ids.sort());
      await page.locator('#overview summary').filter({ hasText: 'closed-notes' }).click();
      await page.getByRole('link', { name: 'DELETE /api/collections/closed-notes/{id}' }).click();
      const shown = page.locator('.opblock.is-open');
      await number(shown, 1);
      assert.equal(await shown.getAttribute('id'), 'operations-closed-notes-delete_closed-notes');
      assert.equal(await page.locator('#overview').innerText(), '');
      assert.equal(await page.evaluate('document.activeElement.id'), 'api');
      assert.match(await page.locator('#api').innerText(), /^Annals.*Reads, filters.*First call\s+curl/s);
      assert.deepEqual(complaints, []);
      await shown.locator('.opblock-summary-control').click();
      await number(shown, 0);
    });

    it('shows every operation without a complaint, and calls no other host', async () => {
      const { page, complaints, requests } = opened;
      await openTags(page);
      await operation(page, 'notes', 'list_notes').waitFor();
      const { body } = await service.call('GET', '/api/openapi.json');
      const operations = Object.values<object>(body.paths).flatMap((path) => Object.keys(path));
      await number(page.locator('.opblock'), operations.length);
      await page.locator('#key').waitFor({ state: 'hidden' });
      assert.deepEqual(complaints, []);
      assertAtHome(service, requests);
    });

    it('tries an operation out as it stands', async () => {
      const { page, complaints, requests } = opened;
      assert.equal(await tryOut(operation(page, 'notes', 'list_notes')), '200');
      assert.deepEqual(complaints, []);
      assertAtHome(service, requests);
    });

    it('sends a nested filter as the service reads it', async () => {
      const { page } = opened;
      const list = operation(page, 'notes', 'list_notes');
      const where = { or: [{ text: { equals: 'found & shown' } }, { text: { in: ['a', 'b'] } }], id: { exists: true } };
      const status = await tryOut(list, (form) => form.locator('textarea').fill(JSON.stringify(where)));
      assert.equal(status, '200');
      for (const words of [/found & shown/, /"total": 1,/]) await answers(list, words);
    });

    for (const [where, parameter, status] of [
      // Left out, the service would list everything.
      [{ text: { in: [] } }, 'where[text][in]=', '200'],
      [{ text: {} }, 'where[text]=', '400'],
      // For a known field, the page itself demands a condition.
      [{ 'text.x': '[x' }, 'where[text.x]=[x', '400'],
      [{ text: { equals: '[x' } }, 'where[text][equals]=[x', '200'],
    ] as const) {
      it(`sends ${JSON.stringify(where)} as it stands`, async () => {
        const { page, complaints, requests } = opened;
        const list = operation(page, 'notes', 'list_notes');
        const fill = (form: Locator) => form.locator('textarea').fill(JSON.stringify(where));
        assert.equal(await tryOut(list, fill), status);
        const sent = requests.map(decodeURIComponent).filter((url) => url.includes('where'));
        assert.deepEqual([sent.length, sent[0]?.split('&').at(-1)], [1, parameter]);
        if (status !== '200') return;
        await answers(list, /"total": 0,/);
        assert.deepEqual(complaints, []);
      });
    }

    it('sends the key that was given to "Authorize"', async () => {
      const { page } = opened;
      const create = operation(page, 'closed-notes', 'create_closed-notes');
      await create.waitFor();
      await page.getByRole('button', { name: 'Authorize' }).click();
      await page.locator('.modal-ux input').fill(apiKey);
      await page.locator('.modal-ux').getByRole('button', { name: 'Apply credentials' }).click();
      await page.locator('.modal-ux').getByRole('button', { name: 'Close' }).click();
      const status = await tryOut(create, (form) => form.locator('textarea').fill('{"text":"x"}'));
      assert.equal(status, '201');
    });
  });

  describe('with a closed description', () => {
    const service = useServiceHere(configuration(false));

    it('asks for a key, refuses a wrong one, and tries operations of both descriptions out with the right one', async () => {
      const { page, complaints, requests } = await open(service);
      await page.locator('#key').waitFor();
      assert.equal(await page.locator('.opblock, #overview details').count(), 0);
      const give = async (key: string) => {
        await page.locator('#key-text').fill(key);
        await page.getByRole('button', { name: 'Show it' }).click();
      };
      await give('wrong');
      await page.getByText('This key is not valid.').waitFor();
      await give(apiKey);
      await openTags(page);
      assert.equal(await tryOut(operation(page, 'closed-notes', 'list_closed-notes')), '200');
      await page.locator('#key').waitFor({ state: 'hidden' });
      assert.equal(await page.locator('#key-text').inputValue(), '');
      assertAtHome(service, requests);
      // The browser itself writes a line for each answer of 401.
      assert.deepEqual(
        complaints.filter((text) => !text.includes('status of 401')),
        [],
      );
      assert.equal(await page.evaluate('localStorage.length + sessionStorage.length'), 0);

      // By the keyboard alone.
      const audit = page.getByRole('button', { name: 'Audit API' });
      await page.getByRole('button', { name: 'API', exact: true }).focus();
      await page.keyboard.press('Tab');
      await page.keyboard.press('Enter');
      await page.locator('#operations-tag-histories').waitFor();
      await page.getByText(`curl '${service.url}/api/audit/events?limit=2' -H 'x-api-key: YOUR-KEY'`).waitFor();
      await openTags(page);
      await operation(page, 'histories', 'audit_documentHistory').waitFor();
      await inTime(async () => assert.equal(await audit.getAttribute('aria-pressed'), 'true'));
      const { body } = await service.call('GET', '/api/audit/openapi.json');
      const operations = Object.values<object>(body.paths).flatMap((path) => Object.keys(path));
      await number(page.locator('.opblock'), operations.length);
      // The key that was typed once is sent here too.
      assert.equal(await tryOut(operation(page, 'proofs', 'audit_log')), '200');
      const tile = (form: Locator) => form.getByPlaceholder('path').fill('0/000.p/1');
      assert.equal(await tryOut(operation(page, 'proofs', 'audit_tile'), tile), '200');
      await page.getByRole('button', { name: 'API', exact: true }).click();
      assert.equal(await tryOut(operation(page, 'closed-notes', 'list_closed-notes')), '200');
    });
  });
});
