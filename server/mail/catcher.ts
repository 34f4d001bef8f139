import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import PostalMime, { type Address, type Email } from 'postal-mime';
import { SMTPServer, type SMTPServerDataStream } from 'smtp-server';
import { normalEmail } from '../../config/addresses.ts';
import { escapeHtml } from '../html.ts';

/** A mail server for development: it sends nothing on and shows what it took. */
export type Catcher = {
  /** Where it takes mail, on 127.0.0.1. */
  port: number;
  /** The page that shows a mail, found in what the server said when it took it. */
  urlIn: (response: string) => string;
  /** How many mails to these addresses it keeps. */
  count: (addresses: readonly string[]) => number;
  forget: (addresses: readonly string[]) => void;
  close: () => Promise<void>;
};

const keptMessages = 200;
const maxBytes = 1024 * 1024;
const loopback = '127.0.0.1';

/** Starts a catcher on two free ports of the loopback interface. It keeps the last 200 messages, in memory. */
export async function startCatcher(): Promise<Catcher> {
  const caught = new Map<string, Email>();

  async function keep(stream: SMTPServerDataStream): Promise<string> {
    const chunks: Buffer[] = [];
    // What is too large is refused at its end, and not kept until then.
    for await (const chunk of stream) if (stream.byteLength <= maxBytes) chunks.push(chunk);
    if (stream.sizeExceeded) return '';
    // Whoever knows the address of a page may read it: nobody can guess one.
    const id = randomBytes(16).toString('base64url');
    caught.set(id, await PostalMime.parse(Buffer.concat(chunks)));
    for (const oldest of caught.keys()) {
      if (caught.size <= keptMessages) break;
      caught.delete(oldest);
    }
    return `queued as ${id}`;
  }

  function to(recipients: readonly string[]): string[] {
    const sought = new Set(recipients.map(normalEmail));
    const isTo = ({ to = [] }: Email) => to.some(({ address = '' }) => sought.has(normalEmail(address)));
    return [...caught].flatMap(([id, email]) => (isTo(email) ? [id] : []));
  }

  const mail = new SMTPServer({
    disabledCommands: ['AUTH', 'STARTTLS'],
    size: maxBytes,
    rejectOversized: true,
    disableReverseLookup: true,
    maxClients: 8,
    closeTimeout: 100,
    logger: false,
    onData(stream, _session, callback) {
      keep(stream).then((reply) => callback(null, reply), callback);
    },
  });
  // A client that goes away in the middle is no reason to end.
  mail.on('error', () => {});
  const pages = createServer((request, response) => {
    const [status, html] = answerOf(caught, request);
    response.writeHead(status, headers).end(html);
  });
  mail.listen(0, loopback);
  pages.listen(0, loopback);
  await Promise.all([once(mail.server, 'listening'), once(pages, 'listening')]);
  const { port } = mail.server.address() as AddressInfo;
  const origin = `http://${loopback}:${(pages.address() as AddressInfo).port}`;

  return {
    port,
    urlIn: (response) => `${origin}/mail/${/queued as (\S+)$/.exec(response)?.[1] ?? ''}`,
    count: (recipients) => to(recipients).length,
    forget(recipients) {
      for (const id of to(recipients)) caught.delete(id);
    },
    async close() {
      pages.closeAllConnections();
      await Promise.all([
        new Promise<void>((resolve) => mail.close(() => resolve())),
        new Promise((resolve) => pages.close(resolve)),
      ]);
    },
  };
}

/** A page of another site can make its own name point here: only under our own names anything is shown. */
const ownHost = /^(127\.0\.0\.1|localhost|\[::1\])(:\d{1,5})?$/i;

/**
 * No scripts, no forms, no frames but the message's own, which inherits all of this. Pictures are shown as a mail program
 * would. Pages that links open are free of the sandbox: somebody wants to log in there.
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

function answerOf(
  caught: ReadonlyMap<string, Email>,
  { method, headers: { host = '' }, url = '' }: IncomingMessage,
): Answer {
  if (!ownHost.test(host)) return [403, 'This is shown under a loopback address only.'];
  if (method !== 'GET' && method !== 'HEAD') return [405, 'There is nothing here but to read.'];
  const email = caught.get(/^\/mail\/([\w-]+)$/.exec(url)?.[1] ?? '');
  if (email) return [200, pageOf(email)];
  return [404, `There is no such message. Only the last ${keptMessages} are kept, until the service ends.`];
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
  return `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><title>${subject}</title>
<style>
  body { font: 16px/1.5 sans-serif; max-width: 60em; margin: 1em auto; padding: 0 1em }
  th { text-align: left; vertical-align: top; padding-right: 1em }
  iframe { width: 100%; height: 32em; border: 1px solid #999; background: #fff }
  pre { white-space: pre-wrap; overflow-wrap: anywhere; border: 1px solid #999; padding: 1em }
</style></head>
<body>
<table>
${Object.entries(rows)
  .map(([name, value]) => `<tr><th scope="row">${name}</th><td>${value}</td></tr>`)
  .join('\n')}
</table>
${html}
${text}
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

/** A link inside of a frame would open inside of it; in the sandbox it may open only beside it. */
function frameOf(html: string): string {
  const doctype = /^\s*<!doctype[^>]*>/i.exec(html)?.[0] ?? '';
  const content = `${doctype}<base target="_blank">${html.slice(doctype.length)}`;
  return `<iframe title="The message" sandbox="allow-popups allow-popups-to-escape-sandbox" srcdoc="${escapeHtml(content)}"></iframe>`;
}

function withLinks(text: string): string {
  // Every other part is what the group has matched.
  const parts = text.split(/(https?:\/\/[^\s<>"]+)/);
  const link = (url: string) => `<a href="${url}" target="_blank">${url}</a>`;
  return parts.map((part, index) => (index % 2 === 1 ? link(escapeHtml(part)) : escapeHtml(part))).join('');
}
