import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import PostalMime from 'postal-mime';
import { SMTPServer, type SMTPServerDataStream } from 'smtp-server';
import { loopback, type Mailbox } from './mailbox.ts';

/** A mail server for development: it puts mails into a mailbox and sends none on. */
export type Catcher = {
  /** The port on 127.0.0.1 that takes mail. */
  port: number;
  /** Finds the id that a mail has in the mailbox, in the answer of the catcher to the mail. */
  idIn: (response: string) => string;
  close: () => Promise<void>;
};

const maxBytes = 1024 * 1024;

/** Starts a catcher on a free port of the loopback interface. */
export async function startCatcher(mailbox: Mailbox): Promise<Catcher> {
  async function keep(stream: SMTPServerDataStream): Promise<string> {
    const chunks: Buffer[] = [];
    // A mail above the limit is refused at its end, and not held in memory until then.
    for await (const chunk of stream) if (stream.byteLength <= maxBytes) chunks.push(chunk);
    if (stream.sizeExceeded) return '';
    return `queued as ${mailbox.keep(await PostalMime.parse(Buffer.concat(chunks)))}`;
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
  // Without a listener, a client that goes away in the middle would end the process.
  mail.on('error', () => {});
  mail.listen(0, loopback);
  await once(mail.server, 'listening');
  const { port } = mail.server.address() as AddressInfo;
  return {
    port,
    idIn: (response) => /queued as (\S+)$/.exec(response)?.[1] ?? '',
    close: () => new Promise<void>((resolve) => mail.close(() => resolve())),
  };
}
