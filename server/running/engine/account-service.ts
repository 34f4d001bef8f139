import type { Logger } from 'pino';
import type { Model } from '../../../config/model.ts';
import { type MailLease, type Reactor, startReactor } from '../../accounts/mail/reactor.ts';
import { type CaughtMails, type Mailer, openMail } from '../../accounts/mail/transport.ts';
import { accountPath, worksInAdmin } from '../../accounts/pages/links.ts';
import { createPasswordService, type MainPasswordService } from '../../accounts/password-service.ts';
import { hasUsers, setupTokenId } from '../../accounts/setup.ts';
import type { Settings } from '../../settings/settings.ts';
import type { OpenApp } from '../app/open-app.ts';
import type { Directory } from '../directory.ts';

/** Links for the operator, once it is known where clients reach the service. */
export type AccountLinks = {
  /**
   * The secret address of the page that makes the first user; null when there is one, or no collection of users may log
   * in.
   */
  setupUrl: string | null;
  /**
   * The address of the list of caught mails; null if mails are sent. They are caught in development without settings of
   * mail.
   */
  mailUrl: string | null;
};

/** The main thread's part of accounts: their secrets and their mail. */
export type AccountService = {
  passwords: MainPasswordService;
  /** Cleans up the vault and makes mail ready. @param app the service as the main thread has it. */
  open: (app: OpenApp, logId: string) => Promise<void>;
  /** The mails that were caught; null if mails are sent. */
  caught: () => CaughtMails | null;
  /** Begins to send mail, with links that begin with this address. */
  announce: (baseUrl: string) => AccountLinks;
  /**
   * Prepares another configuration.
   *
   * @throws UsageError for mail settings that do not work.
   */
  prepare: (next: Model) => Promise<PreparedAccounts>;
  /** Stops mail, and closes the app that was opened. */
  closeMail: () => Promise<void>;
};

/** Another configuration; `begin` takes it over. */
type PreparedAccounts = { begin: () => void; drop: () => Promise<void> };

type Options = {
  directory: Directory;
  model: Model;
  settings: Settings;
  /** The clock that is believed, in milliseconds since the epoch. */
  now: () => number;
  log: Logger;
  /**
   * Opens the lease under which one node sends mail. @param onGained called when this node gets the lease; null if
   * there are no other nodes.
   */
  openMailLease: ((onGained: () => void) => MailLease & { close: () => Promise<void> }) | null;
};

/** How often a node looks for mails that requests on other nodes have caused. */
const sweepSecondsOfNode = 0.5;

/** Opens the secrets of accounts; mail waits for `open` and `announce`. */
export function createAccountService(options: Options): AccountService {
  const { directory, model: first, settings, now, log, openMailLease } = options;
  let model = first;
  const passwords = createPasswordService({
    vault: directory.vaultPort,
    secret: directory.common.secret,
    ...passwordOptions(model),
    now,
    isOneOfMany: settings.site !== null,
    onMail: () => reactor?.wake(),
    onSwapped: () => log.error('a login was refused: the hash in vault.db is not that of the password which was set'),
  });
  let app: OpenApp | null = null;
  let mailer: Mailer | null = null;
  let reactor: Reactor | null = null;
  let lease: ReturnType<NonNullable<typeof openMailLease>> | null = null;

  async function open(opened: OpenApp, logId: string): Promise<void> {
    app = opened;
    // This must come before a password can be kept that no event names yet.
    if (await directory.isOf(logId)) await sweep(passwords, opened);
    else log.warn('vault.db was made for another log: the passwords of that one are left alone in it');
    mailer = await openMailer(model);
  }

  function openMailer({ email }: Model): Promise<Mailer> {
    const { smtpUrl, mailFrom: from, isProduction } = settings;
    return openMail({ email, smtpUrl, from, isProduction, log });
  }

  function announce(baseUrl: string): AccountLinks {
    if (!app) return { setupUrl: null, mailUrl: null };
    const { site, accounts, releases, events, userOf, appendAnyway: append } = app;
    const titleOf = (id: string) => releases.find(id)?.title ?? null;
    const { token } = passwords;
    if (mailer) {
      lease = openMailLease?.(() => reactor?.wake()) ?? null;
      const sweepSeconds = lease ? { sweepSeconds: sweepSecondsOfNode } : {};
      const eventAt = (position: number) => events.range(position - 1, position)[0] ?? null;
      const given = { model, baseUrl, site, accounts, userOf, titleOf, token, eventAt, append, mailer, log, now };
      reactor = startReactor({ ...given, lease, ...sweepSeconds });
    }
    return { setupUrl: setupUrlOf(app, baseUrl, token), mailUrl: mailer?.caught?.url ?? null };
  }

  async function closeMail(): Promise<void> {
    await reactor?.close();
    await lease?.close();
    await mailer?.close();
    await app?.close();
  }

  async function prepare(next: Model): Promise<PreparedAccounts> {
    // The same mailer goes on if it can: the mailer of development has caught mails.
    const opened = mailer && !isSameMail(model, next) ? await openMailer(next) : null;
    return {
      begin() {
        const former = mailer;
        model = next;
        mailer = opened ?? mailer;
        passwords.follow(passwordOptions(next));
        if (mailer) reactor?.follow({ model, mailer });
        if (opened)
          former?.close().catch((err) => log.warn({ err }, 'the former transport of mail could not be closed'));
      },
      drop: async () => opened?.close(),
    };
  }

  return { passwords, open, caught: () => mailer?.caught ?? null, announce, prepare, closeMail };
}

function passwordOptions({ bcryptCost, rateLimit, collections }: Model) {
  const rules = new Map(
    [...collections.values()].flatMap(({ category, auth }) => (auth ? [[category, auth] as const] : [])),
  );
  return { rules, bcryptCost, rateLimit };
}

/** Whether mail is sent in the same way. Functions are not compared. */
function isSameMail(before: Model, after: Model): boolean {
  const [was, is] = [before, after].map(({ email }) => JSON.stringify([email?.from, email?.transport]));
  return was === is;
}

async function sweep(service: MainPasswordService, { accounts, log }: OpenApp): Promise<void> {
  const { missing, swapped } = await service.sweep(accounts.credentials());
  if (swapped > 0) {
    log.error(
      `passwords whose hash in vault.db is not the one that was set: ${swapped}; no login succeeds with them, and annals verify ` +
        'names the first account',
    );
  }
  if (missing === 0) return;
  log.warn(
    `passwords that vault.db lacks: ${missing}; these accounts need new ones to log in. Is it the vault.db of this log?`,
  );
}

function setupUrlOf(app: OpenApp, baseUrl: string, token: MainPasswordService['token']): string | null {
  const slug = String(app.model.adminCollection);
  const target = app.collections.get(slug);
  if (!target || hasUsers(target)) return null;
  const text = token('setup', target.category, setupTokenId(app, target.category));
  const path = accountPath('setup', slug, worksInAdmin(app.model, slug));
  return `${baseUrl}${path}?token=${text}${app.site === null ? '' : `&site=${app.site}`}`;
}
