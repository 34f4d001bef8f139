import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { after } from 'node:test';
import PostalMime, { type Email } from 'postal-mime';
import { SMTPServer } from 'smtp-server';
import { patience } from './patience.ts';

/** A mail as its recipient has it. */
export type Received = { to: string[]; mail: Email };

/** A real SMTP server that keeps the mails it gets. */
export type Mailbox = {
  url: string;
  received: readonly Received[];
  /** Resolves with the next mail to an address that was not returned yet; rejects if none comes in time. */
  next: (to: string) => Promise<Email>;
  /** The one-time token in the next mail to an address. */
  token: (to: string) => Promise<string>;
};

/** Starts a mailbox for all tests of a file; call this at the top, since services are given its address. */
export async function useMailbox(): Promise<Mailbox> {
  const received: Received[] = [];
  const given = new Set<Received>();
  const waiting = new Set<() => void>();
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ['STARTTLS', 'AUTH'],
    // The default is half a minute, for connections of services, which end only after the mailbox.
    closeTimeout: 10,
    onData(stream, session, done) {
      const chunks: Buffer[] = [];
      stream.on('data', (chunk: Buffer) => chunks.push(chunk));
      stream.on('end', async () => {
        const mail = await PostalMime.parse(Buffer.concat(chunks));
        received.push({ to: session.envelope.rcptTo.map(({ address }) => address), mail });
        done();
        for (const wake of waiting) wake();
      });
    },
  });
  // A killed service breaks its connection off.
  server.on('error', () => {});
  server.listen(0, '127.0.0.1');
  await once(server.server, 'listening');
  after(() => new Promise<void>((resolve) => server.close(() => resolve())));

  async function next(to: string): Promise<Email> {
    const end = Date.now() + patience;
    for (;;) {
      const found = received.find((one) => !given.has(one) && one.to.includes(to));
      if (found) {
        given.add(found);
        return found.mail;
      }
      const left = end - Date.now();
      if (left <= 0) throw new Error(`no mail to ${to} came`);
      await new Promise<void>((resolve) => {
        const timer = setTimeout(wake, left);
        function wake(): void {
          clearTimeout(timer);
          waiting.delete(wake);
          resolve();
        }
        waiting.add(wake);
      });
    }
  }

  async function token(to: string): Promise<string> {
    const { text = '' } = await next(to);
    const found = /[?&]token=([\w-]+)/.exec(text)?.[1];
    if (!found) throw new Error(`there is no token in ${JSON.stringify(text)}`);
    return found;
  }

  const { port } = server.server.address() as AddressInfo;
  return { url: `smtp://127.0.0.1:${port}`, received, next, token };
}
