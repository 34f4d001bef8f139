import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { it, type TestContext } from 'node:test';
import type { Page } from 'playwright-core';
import { openMail } from '../../server/accounts/mail/transport.ts';
import { mailOf, openLog } from '../accounts/mail/post-office.ts';
import { describeInBrowser } from '../helpers/browser.ts';

describeInBrowser('A caught mail in a browser', (browser) => {
  /** Sends a mail to the catcher and opens its page. */
  async function open(t: TestContext, parts: { text?: string; html?: string }): Promise<Page> {
    const { log, lines } = openLog();
    const mailer = await openMail({ email: null, smtpUrl: undefined, from: undefined, isProduction: false, log });
    t.after(() => mailer.close());
    await mailer.send(mailOf(parts));
    const page = await browser().newPage();
    t.after(() => page.close());
    await page.goto(/http:\S+$/.exec(lines[0]?.msg ?? '')?.[0] ?? '');
    return page;
  }

  /** A site whose pages only work outside a sandbox, and the requests that it got. */
  async function startSite(t: TestContext): Promise<{ site: string; asked: string[] }> {
    const asked: string[] = [];
    const server = createServer((request, response) => {
      asked.push(request.url ?? '');
      response.setHeader('content-type', 'text/html');
      response.end(`<title>start</title><script>document.title = 'runs ' + ${JSON.stringify(request.url)}</script>`);
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    t.after(() => {
      server.closeAllConnections();
      server.close();
    });
    return { site: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, asked };
  }

  it('looks as its HTML says, and its links open pages that work', async (t) => {
    const { site } = await startSite(t);
    const url = `${site}/join?a=1&token=abc`;
    const page = await open(t, {
      text: `Come in:\n${url}\n`,
      html: `<!doctype html><style>p { color: rgb(1, 2, 3) }</style><p>Welcome</p><a href="${url.replace('&', '&amp;')}">Come in</a>`,
    });
    const frame = page.frameLocator('iframe');
    const color = await frame.getByText('Welcome').evaluate((element) => getComputedStyle(element).color);
    assert.equal(color, 'rgb(1, 2, 3)');
    for (const link of [frame.getByText('Come in'), page.locator('pre a')]) {
      const [opened] = await Promise.all([page.waitForEvent('popup'), link.click()]);
      await opened.waitForFunction(() => document.title.startsWith('runs'));
      assert.equal(await opened.title(), 'runs /join?a=1&token=abc');
      assert.equal(await opened.evaluate(() => document.referrer), '');
      await opened.close();
    }
  });

  it('runs no script, sends no form and leads nowhere by itself', async (t) => {
    const { site, asked } = await startSite(t);
    const page = await open(t, {
      html: `<p>here</p><script>top.document.title = 'x'; document.body.append('ran')</script>
        <img src="x" onerror="document.body.append('ran')"><iframe src="${site}/frame"></iframe>
        <meta http-equiv="refresh" content="0;url=${site}/moved"><form action="${site}/form"><button>Send</button></form>`,
    });
    const frame = page.frameLocator('iframe').first();
    await frame.getByText('Send').click();
    await page.waitForTimeout(300);
    assert.equal(await frame.getByText('here').count(), 1);
    assert.equal(await frame.getByText('ran', { exact: true }).count(), 0);
    assert.deepEqual(asked, []);
  });
});
