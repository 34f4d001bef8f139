import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { request } from 'node:http';
import { connect } from 'node:net';
import { networkInterfaces } from 'node:os';
import { describe, it, type TestContext } from 'node:test';
import { promisify } from 'node:util';
import { type Mailer, openMail, Undeliverable } from '../../../server/accounts/mail/transport.ts';
import { type LogLine, mailOf, openLog } from './post-office.ts';

const run = promisify(execFile);

/** Opens mail as a service in development does that has no settings for it. */
async function opened(t: TestContext): Promise<{ mailer: Mailer; lines: LogLine[]; lastUrl: () => string }> {
  const { log, lines } = openLog();
  const mailer = await openMail({ email: null, smtpUrl: undefined, from: undefined, isProduction: false, log });
  t.after(() => mailer.close());
  const lastUrl = () => /http:\S+$/.exec(lines.at(-1)?.msg ?? '')?.[0] ?? 'no address was logged';
  return { mailer, lines, lastUrl };
}

/** Fetches a page under a name of the caller's choice, as a browser does after a name server has lied to it. */
function statusFor(url: string, host: string, method = 'GET'): Promise<number | undefined> {
  const { hostname, port, pathname } = new URL(url);
  return new Promise((resolve, reject) => {
    const options = { hostname, port, path: pathname, method, headers: { host } };
    request(options, (response) => resolve(response.resume().statusCode))
      .on('error', reject)
      .end();
  });
}

async function pageOf(url: string): Promise<{ page: string; frame: string }> {
  const response = await fetch(url);
  assert.equal(response.status, 200);
  const page = await response.text();
  return { page, frame: unescaped(/srcdoc="([^"]*)"/.exec(page)?.[1] ?? '') };
}

const characters: Record<string, string> = { '&lt;': '<', '&gt;': '>', '&quot;': '"', '&#39;': "'", '&amp;': '&' };

function unescaped(text: string): string {
  return text.replace(/&(lt|gt|quot|#39|amp);/g, (entity) => characters[entity] as string);
}

describe('In development, a mail that is caught', () => {
  it('is logged with what it is, whom it is for and where it can be read', async (t) => {
    const { mailer, lines } = await opened(t);
    await mailer.send(mailOf({ kind: 'invitation' }));
    assert.equal(lines.length, 1);
    assert.match(
      lines[0]?.msg ?? '',
      /^mail caught: invitation to ada@example\.org: http:\/\/127\.0\.0\.1:\d+\/mail\/[\w-]{22}$/,
    );
  });

  it('is shown with its sender, recipient, subject, date and both of its forms', async (t) => {
    const { mailer, lastUrl } = await opened(t);
    const url = 'https://cms.example.org/join?a=1&token=abc';
    const html = `<!doctype html>\n<p>Grüße, <a href="https://cms.example.org/join?a=1&amp;token=abc">come in</a></p>\n`;
    await mailer.send(mailOf({ subject: 'Grüße & more', text: `Grüße, come in:\n${url}\n`, html }));
    const { page, frame } = await pageOf(lastUrl());
    const rows = [...page.matchAll(/<th scope="row">(\w+)<\/th><td>(.*)<\/td>/g)].map(([, name, value]) => [
      name,
      value,
    ]);
    const { Date: date, ...rest } = Object.fromEntries(rows);
    assert.deepEqual(rest, {
      From: 'Annals &lt;annals@localhost&gt;',
      To: 'ada@example.org',
      Subject: 'Grüße &amp; more',
    });
    assert.ok(Number.isFinite(Date.parse(date)), date);
    assert.equal(frame.trim(), html.replace('html>', 'html><base target="_blank">').trim());
    const escaped = 'https://cms.example.org/join?a=1&amp;token=abc';
    assert.ok(page.includes(`Grüße, come in:\n<a href="${escaped}" target="_blank">${escaped}</a>`), page);
  });

  it('is listed, the newest first, on a page whose address cannot be guessed', async (t) => {
    const { mailer, lastUrl } = await opened(t);
    const list = mailer.caught?.url ?? '';
    assert.match(list, /^http:\/\/127\.0\.0\.1:\d+\/mail\/all\/[\w-]{22}$/);
    assert.match(await (await fetch(list)).text(), /No mail yet/);
    await mailer.send(mailOf({ subject: 'the first' }));
    await mailer.send(mailOf({ subject: '<img src=x> & last' }));
    const page = await (await fetch(list)).text();
    const links = [...page.matchAll(/<td>ada@example\.org<\/td><td><a href="([^"]+)">([^<]*)<\/a>/g)];
    assert.deepEqual(
      links.map(([, , subject]) => subject),
      ['&lt;img src=x&gt; &amp; last', 'the first'],
    );
    assert.equal(new URL(links[0]?.[1] ?? '', list).href, lastUrl());
    assert.match((await fetch(list)).headers.get('content-security-policy') ?? '', /^default-src 'none'.* sandbox /);
    assert.equal(await statusFor(list, 'evil.example'), 403);
    for (const other of [`${list}x`, list.slice(0, -1), new URL('/mail/all/', list).href])
      assert.equal((await fetch(other)).status, 404);
  });

  it('runs nothing that it holds, and cannot leave its frame', async (t) => {
    const { mailer, lastUrl } = await opened(t);
    const hostile = `"></iframe></pre></title><script>alert('1')</script><img src=x onerror=alert(1)>`;
    await mailer.send(mailOf({ subject: hostile, text: `${hostile} https://a.example/"onclick="x`, html: hostile }));
    const { page, frame } = await pageOf(lastUrl());
    assert.ok(frame.includes(hostile));
    assert.doesNotMatch(page, /<script|<img|"onclick/);
    assert.equal(page.match(/<\/iframe>/g)?.length, 1);
    const { headers } = await fetch(lastUrl());
    const policy = headers.get('content-security-policy') ?? '';
    assert.match(policy, /default-src 'none'/);
    assert.match(policy, /frame-ancestors 'none'/);
    assert.match(policy, /sandbox allow-popups allow-popups-to-escape-sandbox$/);
    assert.doesNotMatch(policy, /script-src|allow-scripts|allow-same-origin/);
    assert.equal(headers.get('referrer-policy'), 'no-referrer');
    assert.equal(headers.get('x-content-type-options'), 'nosniff');
    assert.equal(headers.get('cache-control'), 'no-store');
  });

  it('is shown under loopback names only, whatever a name server says of others', async (t) => {
    const { mailer, lastUrl } = await opened(t);
    await mailer.send(mailOf());
    const { port } = new URL(lastUrl());
    for (const host of [`127.0.0.1:${port}`, `localhost:${port}`, 'LOCALHOST', `[::1]:${port}`]) {
      assert.equal(await statusFor(lastUrl(), host), 200, host);
    }
    const foreign = [
      'evil.example',
      `evil.example:${port}`,
      'localhost.evil.example',
      '127.0.0.1.evil.example',
      `127.0.0.1:${port}@evil.example`,
      'evil.example#localhost',
    ];
    for (const host of foreign) assert.equal(await statusFor(lastUrl(), host), 403, host);
  });

  it('is found under its own address only', async (t) => {
    const { mailer, lastUrl } = await opened(t);
    await mailer.send(mailOf());
    const { origin } = new URL(lastUrl());
    const paths = ['/', '/mail', '/mail/', '/mail/AAAAAAAAAAAAAAAAAAAAAA', '/mail/__proto__', '/mail/../mail', '/%'];
    for (const path of paths) assert.equal((await fetch(origin + path)).status, 404, path);
    assert.equal((await fetch(`${lastUrl()}/html`)).status, 404);
    assert.equal((await fetch(lastUrl(), { method: 'POST', body: 'x' })).status, 405);
    assert.equal((await fetch(lastUrl(), { method: 'HEAD' })).status, 200);
  });

  it('is one of the last 200: older ones are gone', async (t) => {
    const { mailer, lines } = await opened(t);
    const count = 205;
    for (let sent = 0; sent < count; sent += 5) {
      await Promise.all(Array.from({ length: 5 }, () => mailer.send(mailOf())));
    }
    const urls = lines.map(({ msg }) => /http:\S+$/.exec(msg)?.[0] ?? '');
    assert.equal(new Set(urls).size, count);
    const statuses = await Promise.all(urls.map(async (url) => (await fetch(url)).status));
    assert.deepEqual(statuses, [...Array(5).fill(404), ...Array(200).fill(200)]);
  });

  it('is refused when it is too large to be kept', async (t) => {
    const { mailer } = await opened(t);
    await assert.rejects(mailer.send(mailOf({ text: 'x'.repeat(2 * 1024 * 1024) })), Undeliverable);
    await mailer.send(mailOf());
  });

  it('is gone with the service', async (t) => {
    const { mailer, lastUrl } = await opened(t);
    await mailer.send(mailOf());
    await mailer.close();
    await assert.rejects(fetch(lastUrl()), TypeError);
  });

  const outside = Object.values(networkInterfaces())
    .flat()
    .find((address) => address?.family === 'IPv4' && !address.internal)?.address;
  it('cannot be reached from another machine', { skip: outside ? false : 'this machine has no network' }, async (t) => {
    const { mailer, lastUrl } = await opened(t);
    await mailer.send(mailOf());
    const socket = connect(Number(new URL(lastUrl()).port), outside);
    const code = await new Promise((resolve) => {
      socket
        .on('connect', () => resolve('connected'))
        .on('error', (error: NodeJS.ErrnoException) => resolve(error.code));
    });
    socket.destroy();
    assert.equal(code, 'ECONNREFUSED');
  });
});

describe('The catcher', () => {
  /** Sends one mail in a process of its own and gives the packages that this has loaded. */
  async function loaded(isProduction: boolean): Promise<string[]> {
    const script = `
      import { registerHooks } from 'node:module';
      const loaded = new Set();
      registerHooks({
        load(url, context, next) {
          const name = /(?:node_modules|server\\/accounts)\\/(nodemailer|smtp-server|postal-mime|mail\\/catcher)/.exec(url)?.[1];
          if (name) loaded.add(name);
          return next(url, context);
        },
      });
      const { openMail } = await import(${JSON.stringify(new URL('../../../server/accounts/mail/transport.ts', import.meta.url).href)});
      const log = { info() {}, warn() {} };
      const mailer = await openMail({ email: null, isProduction: ${isProduction}, log });
      await mailer.send(${JSON.stringify(mailOf())}).catch(() => {});
      await mailer.close();
      console.log(JSON.stringify([...loaded]));
    `;
    const { stdout } = await run(process.execPath, ['--input-type=module', '--eval', script]);
    return JSON.parse(stdout).sort();
  }

  it('is not even loaded in production', async () => {
    assert.deepEqual(await loaded(false), ['mail/catcher', 'nodemailer', 'postal-mime', 'smtp-server']);
    assert.deepEqual(await loaded(true), []);
  });
});
