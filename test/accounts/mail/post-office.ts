import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import type { TestContext } from 'node:test';
import type { Logger } from 'pino';
import PostalMime, { type Email } from 'postal-mime';
import { SMTPServer, type SMTPServerOptions } from 'smtp-server';
import type { Json } from '../../../config/schema.ts';
import type { OutgoingMail } from '../../../server/accounts/mail/transport.ts';
import { createLog } from '../../../server/platform/logging.ts';

/** A mail as a server got it: its envelope, its bytes and what a mail program reads in them. */
export type Received = { from: string; to: string[]; raw: string; email: Email };

export type PostOffice = { port: number; received: Received[]; close: () => Promise<void> };

/** Starts a mail server that takes everything, as far as the options do not say otherwise. */
export async function startPostOffice(t: TestContext, options: SMTPServerOptions = {}, port = 0): Promise<PostOffice> {
  const received: Received[] = [];
  const server = new SMTPServer({
    disabledCommands: ['STARTTLS'],
    authOptional: true,
    allowInsecureAuth: true,
    disableReverseLookup: true,
    closeTimeout: 10,
    logger: false,
    onData(stream, { envelope }, callback) {
      stream.toArray().then(async (chunks: Buffer[]) => {
        const raw = Buffer.concat(chunks);
        const from = envelope.mailFrom ? envelope.mailFrom.address : '';
        const to = envelope.rcptTo.map(({ address }) => address);
        received.push({ from, to, raw: raw.toString(), email: await PostalMime.parse(raw) });
        callback();
      }, callback);
    },
    ...options,
  });
  server.on('error', () => {});
  server.listen(port, '127.0.0.1');
  await once(server.server, 'listening');
  const close = () => new Promise<void>((resolve) => server.close(resolve));
  t.after(close);
  return { port: (server.server.address() as AddressInfo).port, received, close };
}

/** A reply that refuses, as smtp-server wants it. */
export function reply(responseCode: number, message: string): Error {
  return Object.assign(new Error(message), { responseCode });
}

export type LogLine = { level: number; msg: string; [name: string]: Json | undefined };

/** A log, and the lines written to it. */
export function openLog(): { log: Logger; lines: LogLine[] } {
  const lines: LogLine[] = [];
  const log = createLog('debug', { write: (line) => void lines.push(JSON.parse(line)) });
  return { log, lines };
}

/** A mail to be sent, with what a test says of it. */
export function mailOf(parts: Partial<OutgoingMail> = {}): OutgoingMail {
  return {
    kind: 'welcome',
    event: '0198c1de-0000-7000-8000-000000000001',
    messageId: parts.event ?? '0198c1de-0000-7000-8000-000000000001',
    to: 'ada@example.org',
    subject: 'Welcome',
    text: 'Hello\n',
    html: '<p>Hello</p>\n',
    ...parts,
  };
}
