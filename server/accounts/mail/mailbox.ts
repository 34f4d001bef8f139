import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Address, Email } from 'postal-mime';
import { normalEmail } from '../../../config/addresses.ts';
import { escapeHtml } from '../../platform/html.ts';

// An import would load fetch too, at every start in development.
const { createServer } = process.getBuiltinModule('node:http');

/** Mails kept in memory, and the pages that show them. */
export type Mailbox = {
  /** The address of the page that lists the mails. */
  url: string;
  /** Keeps a mail; gives its id. */
  keep: (email: Email) => string;
  /** The address of the page of a mail. */
  urlOf: (id: string) => string;
  /** How many mails to these addresses it keeps. */
  count: (addresses: readonly string[]) => number;
  forget: (addresses: readonly string[]) => void;
  close: () => Promise<void>;
};

/** The one interface that mail in development uses. */
export const loopback = '127.0.0.1';
const keptMessages = 200;

/** Opens an empty mailbox for the last 200 mails. Its pages are on a free port of the loopback interface. */
export async function openMailbox(): Promise<Mailbox> {
  const caught = new Map<string, Email>();
  const listPath = `/mail/all/${newId()}`;

  function to(recipients: readonly string[]): string[] {
    const sought = new Set(recipients.map(normalEmail));
    const isTo = ({ to = [] }: Email) => to.some(({ address = '' }) => sought.has(normalEmail(address)));
    return [...caught].flatMap(([id, email]) => (isTo(email) ? [id] : []));
  }

  const pages = createServer((request, response) => {
    const [status, html] = answerOf(caught, listPath, request);
    response.writeHead(status, headers).end(html);
  });
  pages.listen(0, loopback);
  await once(pages, 'listening');
  const origin = `http://${loopback}:${(pages.address() as AddressInfo).port}`;

  return {
    url: origin + listPath,
    keep(email) {
      const id = newId();
      caught.set(id, email);
      for (const oldest of caught.keys()) {
        if (caught.size <= keptMessages) break;
        caught.delete(oldest);
      }
      return id;
    },
    urlOf: (id) => `${origin}/mail/${id}`,
    count: (recipients) => to(recipients).length,
    forget(recipients) {
      for (const id of to(recipients)) caught.delete(id);
    },
    async close() {
      pages.closeAllConnections();
      await new Promise((resolve) => pages.close(resolve));
    },
  };
}

/** The address of a page is its only protection, so it cannot be guessed. */
function newId(): string {
  return randomBytes(16).toString('base64url');
}

/** The names under which pages are shown: another site can make a name of its own point to this address. */
const ownHost = /^(127\.0\.0\.1|localhost|\[::1\])(:\d{1,5})?$/i;

/**
 * Allows no scripts, no forms, and no frame but the one of the message, which inherits this policy. Pictures are shown,
 * as in a mail program. Pages that links open are outside of the sandbox, so that users can log in there.
 */
const policy = [
  "default-src 'none'",
  "style-src 'unsafe-inline'",
  'img-src http: https: data:',
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  'sandbox allow-popups allow-popups-to-escape-sandbox',
].join('; ');

const headers = {
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy': policy,
  'cache-control': 'no-store',
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
};

type Answer = [status: number, html: string];
type Caught = ReadonlyMap<string, Email>;

function answerOf(caught: Caught, listPath: string, request: IncomingMessage): Answer {
  const { method, headers, url = '' } = request;
  if (!ownHost.test(headers.host ?? '')) return [403, 'This is shown under a loopback address only.'];
  if (method !== 'GET' && method !== 'HEAD') return [405, 'Only GET and HEAD are allowed here.'];
  if (url === listPath) return [200, listOf(caught)];
  const email = caught.get(/^\/mail\/([\w-]+)$/.exec(url)?.[1] ?? '');
  if (email) return [200, pageOf(email)];
  return [404, `There is no such message. Only the last ${keptMessages} are kept, until the service ends.`];
}

/** The list of mails, newest first. */
function listOf(caught: Caught): string {
  const rows = [...caught].reverse().map(([id, email]) => {
    const link = `<a href="/mail/${id}">${escapeHtml(email.subject || '(no subject)')}</a>`;
    return `<tr><td>${dateOf(email)}</td><td>${addresses(...(email.to ?? []))}</td><td>${link}</td></tr>`;
  });
  const list = rows.length === 0 ? '<p>No mail yet.</p>' : `<table>\n${rows.join('\n')}\n</table>`;
  return htmlOf('Mail', `<h1>Mail that was sent, and went nowhere</h1>\n${list}`);
}

function pageOf(email: Email): string {
  const subject = escapeHtml(email.subject ?? '');
  const rows = {
    From: addresses(email.from),
    To: addresses(...(email.to ?? [])),
    Subject: subject,
    Date: dateOf(email),
  };
  const html = email.html === undefined ? '' : frameOf(email.html);
  const text = email.text === undefined ? '' : `<h2>Plain text</h2>\n<pre>${withLinks(email.text)}</pre>`;
  const table = Object.entries(rows)
    .map(([name, value]) => `<tr><th scope="row">${name}</th><td>${value}</td></tr>`)
    .join('\n');
  return htmlOf(subject, `<table>\n${table}\n</table>\n${html}\n${text}`);
}

/** A page. Its title and its body are HTML already. */
function htmlOf(title: string, body: string): string {
  return `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><title>${title}</title>
<style>
  body { font: 16px/1.5 sans-serif; max-width: 60em; margin: 1em auto; padding: 0 1em }
  th, td { text-align: left; vertical-align: top; padding-right: 1em }
  iframe { width: 100%; height: 32em; border: 1px solid #999; background: #fff }
  pre { white-space: pre-wrap; overflow-wrap: anywhere; border: 1px solid #999; padding: 1em }
</style></head>
<body>
${body}
</body>
</html>
`;
}

function addresses(...list: (Address | undefined)[]): string {
  const shown = list.map((one) => (one?.name ? `${one.name} <${one.address ?? ''}>` : (one?.address ?? '')));
  return escapeHtml(shown.join(', '));
}

function dateOf({ headers }: Email): string {
  return escapeHtml(headers.find(({ key }) => key === 'date')?.value ?? '');
}

/** Links in the frame open in a new page, as its sandbox allows nothing else. */
function frameOf(html: string): string {
  const doctype = /^\s*<!doctype[^>]*>/i.exec(html)?.[0] ?? '';
  const content = `${doctype}<base target="_blank">${html.slice(doctype.length)}`;
  return `<iframe title="The message" sandbox="allow-popups allow-popups-to-escape-sandbox" srcdoc="${escapeHtml(content)}"></iframe>`;
}

function withLinks(text: string): string {
  // Every other part is a match of the group.
  const parts = text.split(/(https?:\/\/[^\s<>"]+)/);
  const link = (url: string) => `<a href="${url}" target="_blank">${url}</a>`;
  return parts.map((part, index) => (index % 2 === 1 ? link(escapeHtml(part)) : escapeHtml(part))).join('');
}
