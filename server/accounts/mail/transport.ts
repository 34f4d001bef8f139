import { once as next } from 'node:events';
import { domainToASCII } from 'node:url';
import type { NodemailerError, TransportConfig, Transporter } from 'nodemailer';
import type { Logger } from 'pino';
import { isOneAddress, readSender, type Sender } from '../../../config/addresses.ts';
import { senderRule } from '../../../config/check-email.ts';
import type { EmailOptions, MailKind } from '../../../config/model.ts';
import { messageOf } from '../../../storage/errors.ts';
import { once } from '../../platform/once.ts';
import { UsageError } from '../../settings/settings.ts';
import { loopback, type Mailbox, openMailbox } from './mailbox.ts';
import type { MailMessage } from './messages.ts';

/**
 * A message to one address. `event` is the id of the event that asked for it; `messageId` differs between the mails of
 * one event.
 */
export type OutgoingMail = MailMessage & { kind: MailKind; event: string; messageId: string; to: string };

/** The transport of mails. */
export type Mailer = {
  /**
   * Resolves when a mail server has taken the mail. @throws Undeliverable if a retry is useless; any other error may
   * pass.
   */
  send: (mail: OutgoingMail) => Promise<void>;
  /** The mails that were caught; absent if mails are sent. */
  caught?: CaughtMails;
  /** Ends the connections, also of mails in progress. */
  close: () => Promise<void>;
};

/** The mails that this process has caught: the address of their list, and those to some addresses. */
export type CaughtMails = Pick<Mailbox, 'url' | 'count' | 'forget'>;

/**
 * Thrown for a mail that cannot be sent. Its message is recorded, so it holds neither an address nor text of a server.
 */
export class Undeliverable extends Error {
  override name = 'Undeliverable';
}

/** The mail settings. `smtpUrl` and `from` are those of the environment and win over the configuration's. */
export type MailSettings = {
  email: Pick<EmailOptions, 'from' | 'transport'> | null;
  smtpUrl: string | undefined;
  from: string | undefined;
  isProduction: boolean;
  log: Logger;
  /** The time limit for a mail as a whole: a server that answers a character at a time is never idle. */
  sendSeconds?: number;
};

/**
 * Opens the configured transport; without one, a catcher that shows the mails, or in production none.
 *
 * @throws UsageError for a transport without a sender, in production also for the reverse, or if one is not valid.
 */
export async function openMail(settings: MailSettings): Promise<Mailer> {
  const { email, smtpUrl, from, isProduction, log, sendSeconds = 120 } = settings;
  const transport = smtpUrl ?? email?.transport;
  const sender = from ?? email?.from;
  if (transport !== undefined && sender === undefined) {
    throw new UsageError(
      'mail has a transport and no sender; set ANNALS_MAIL_FROM, or email.from in the configuration',
    );
  }
  // A configuration may name the sender and leave the transport to the machine.
  if (transport === undefined && sender !== undefined && isProduction) {
    throw new UsageError(
      'mail has a sender and no transport; set ANNALS_SMTP_URL, or email.transport in the configuration',
    );
  }
  if (transport !== undefined && sender !== undefined) {
    const transportName = smtpUrl === undefined ? 'email.transport' : 'ANNALS_SMTP_URL';
    const senderName = from === undefined ? 'email.from' : 'ANNALS_MAIL_FROM';
    const way = { sender: senderIn(sender, senderName), sendSeconds };
    return openTransport({ ...way, transporter: await connect(transport, transportName) }, log);
  }
  if (!isProduction) return openCatcher({ sender: senderIn(sender ?? catcherSender, 'email.from'), sendSeconds }, log);
  log.warn('mail is not configured: invitations and password resets are not sent');
  return nowhere;
}

function senderIn(text: string, source: string): Sender {
  const sender = readSender(text);
  // Not shown: an SMTP URL with its password is easily put in its place.
  if (!sender) throw new UsageError(`${source} must ${senderRule.must}`);
  return sender;
}

/** Few connections, because servers refuse many; and shorter timeouts than the defaults of nodemailer. */
const defaults = {
  pool: true,
  maxConnections: 2,
  connectionTimeout: 15_000,
  greetingTimeout: 15_000,
  socketTimeout: 30_000,
} as const;

/** Makes a transport, which connects when it is used. @throws UsageError for options that nodemailer does not take. */
export async function connect(transport: string | object, source: string): Promise<Transporter> {
  const { createTransport } = await import('nodemailer');
  try {
    const transporter = createTransport(
      typeof transport === 'string' ? { ...defaults, url: transport } : withDefaults(transport),
    );
    // The error reaches the sender of the mail; without a listener it would end the process.
    return transporter.on('error', () => {});
  } catch (error) {
    throw new UsageError(`${source} is not a transport that nodemailer can use: ${messageOf(error)}`);
  }
}

/** Adds the defaults to options of SMTP, which alone has connections to pool. Other options stay as they are. */
function withDefaults(options: object): TransportConfig {
  const others = ['send', 'sendmail', 'streamTransport', 'jsonTransport', 'SES'];
  return others.some((name) => name in options) ? options : { ...defaults, ...options };
}

type Way = { transporter: Transporter; sender: Sender; sendSeconds: number };

function openTransport(way: Way, log: Logger): Mailer {
  return {
    async send(mail) {
      await deliver(way, mail);
      log.info({ mail: mail.kind, event: mail.event }, 'mail sent');
    },
    async close() {
      way.transporter.close({ force: true });
    },
  };
}

/** Hands a mail to the server; gives its answer. */
async function deliver({ transporter, sender, sendSeconds }: Way, mail: OutgoingMail): Promise<string> {
  if (!isOneAddress(mail.to)) throw new Undeliverable('the address is not one that mail can be sent to');
  const domain = domainToASCII(sender.address.slice(sender.address.indexOf('@') + 1)) || 'localhost';
  const signal = AbortSignal.timeout(sendSeconds * 1000);
  try {
    const sent = transporter.sendMail({
      from: sender,
      to: { name: '', address: mail.to },
      subject: mail.subject,
      text: mail.text,
      html: mail.html,
      // The same if the mail is sent again after a crash: so the receiver can drop the second one.
      messageId: `<${mail.messageId}@${domain}>`,
      headers: { 'Auto-Submitted': 'auto-generated' },
      disableFileAccess: true,
      disableUrlAccess: true,
      signal,
    });
    // A transport that the author wrote may not know signals, and may give no answer.
    const info = await Promise.race([sent, late(signal)]);
    // With LMTP, a refusal is part of the answer.
    if (info?.rejectedErrors?.[0]) throw info.rejectedErrors[0];
    return info?.response ?? '';
  } catch (error) {
    if (isRefusal(error as NodemailerError)) throw new Undeliverable('the mail server refused it', { cause: error });
    throw error;
  }
}

async function late(signal: AbortSignal): Promise<never> {
  await next(signal, 'abort');
  throw signal.reason;
}

/** Replies that ask for a login (RFC 4954, section 6): the operator can mend that. */
const loginReplies: readonly (number | undefined)[] = [530, 534, 535, 538];

/** Whether the server refuses this mail for good, and not this client, or all mails for a while. */
function isRefusal({ code, permanent, responseCode }: NodemailerError): boolean {
  const isOfMail = code === 'EENVELOPE' || code === 'EMESSAGE';
  return isOfMail && permanent === true && !loginReplies.includes(responseCode);
}

const catcherSender = 'Annals <annals@localhost>';

async function openCatcher(settings: Omit<Way, 'transporter'>, log: Logger): Promise<Mailer> {
  const mailbox = await openMailbox();
  let closeCatcher = async () => {};
  // The mail server is loaded with the first mail.
  const start = once(async () => {
    const { startCatcher } = await import('./catcher.ts');
    const catcher = await startCatcher(mailbox);
    const options = { host: loopback, port: catcher.port, ignoreTLS: true };
    const transporter = await connect(options, 'the mail catcher');
    closeCatcher = async () => {
      transporter.close({ force: true });
      await catcher.close();
    };
    return { catcher, way: { transporter, ...settings } };
  });
  return {
    async send(mail) {
      const { catcher, way } = await start();
      const url = mailbox.urlOf(catcher.idIn(await deliver(way, mail)));
      log.info({ mail: mail.kind, event: mail.event }, `mail caught: ${mail.kind} to ${mail.to}: ${url}`);
    },
    caught: mailbox,
    async close() {
      await Promise.all([closeCatcher(), mailbox.close()]);
    },
  };
}

const nowhere: Mailer = {
  async send() {
    throw new Undeliverable('mail is not configured');
  },
  async close() {},
};
