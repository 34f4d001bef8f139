import { setTimeout as wait } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { MailKind, Model, User } from '../../../config/model.ts';
import type { Category } from '../../../config/schema.ts';
import { type Append, changeOf, type NewEvent } from '../../../events/facts/log.ts';
import type { Accounts, WaitingMail } from '../../../projections/tables/accounts.ts';
import { every } from '../../platform/ticks.ts';
import type { TokenKind } from '../../ports.ts';
import { worksInAdmin } from '../pages/links.ts';
import { linkOf, tokenKindOf, writeMessage } from './messages.ts';
import { type Mailer, Undeliverable } from './transport.ts';

/** The queue that sends the mails that events ask for. */
export type Reactor = {
  /** Looks for new mails at once. */
  wake: () => void;
  /** Takes another configuration, and another transport, for the mails from now on. */
  follow: (next: Pick<ReactorInput, 'model' | 'mailer'>) => void;
  /** Starts no more mails, and waits a few seconds for those in progress. The mailer is closed after it. */
  close: () => Promise<void>;
};

export type ReactorInput = {
  model: Model;
  /** Where links lead that have no page of the author's; without a slash at the end. */
  baseUrl: string;
  /** Which of several sites it is, for links to say; null where there is but one. */
  site?: string | null;
  accounts: Pick<Accounts, 'waitingMails'>;
  /** The raw document of a user; null if it was deleted. */
  userOf: (slug: string, id: string) => User | null | Promise<User | null>;
  /** Makes the text of a one-time token from its id. */
  token: (kind: TokenKind, category: Category, id: string) => string | Promise<string>;
  append: Append;
  /** The turn of this node, where several have the same mails to send; absent where it is the only one. */
  turn?: MailTurn | null;
  mailer: Mailer;
  log: Logger;
  now?: () => number;
  /**
   * The backoff: how long to wait after the first failure, the second and so on; the last holds for all that follow.
   */
  retrySeconds?: readonly [number, ...number[]];
  sweepSeconds?: number;
  closeSeconds?: number;
};

/** The turn of a node to send mails. */
export type MailTurn = {
  /** Whether it is this one's, as far as is known here. */
  isHeld: () => boolean;
  /** The same, asked where it is kept; then this node also has all that was recorded by the one before. */
  look: () => Promise<boolean>;
};

const retryDelays = [5, 30, 2 * 60, 10 * 60, 30 * 60, 60 * 60] as const;

/** A mail without a link that expires is news for this long. */
const newsMilliseconds = 3 * 24 * 60 * 60 * 1000;

const atOnce = 4;

/**
 * The progress of a waiting mail in this process. After a restart it starts over: the log tells which mails were sent.
 */
type Progress = {
  /** `ready`: to be sent or retried. `done`: recorded, and soon out of the queue. */
  phase: 'ready' | 'running' | 'resting' | 'done';
  failures: number;
  /** The event to record. It is kept if the append fails, so that the mail is not sent twice. */
  ending: NewEvent | null;
  timer: NodeJS.Timeout | undefined;
};

/**
 * Sends the mails that wait in the read tables and records the outcome, which removes them from there: so a restart
 * loses no mail, and a rebuild of the tables sends no mail twice.
 */
export function startReactor(given: ReactorInput): Reactor {
  let input = given;
  const { accounts, append, log, turn = null, now = Date.now } = input;
  const { retrySeconds = retryDelays, sweepSeconds = 30, closeSeconds = 5 } = input;
  const known = new Map<string, Progress>();
  const running = new Set<Promise<void>>();
  /** The mails found by the last look, the oldest at the end. */
  let queue: WaitingMail[] = [];
  let isWoken = false;
  let isClosing = false;

  function wake(): void {
    if (isWoken || isClosing) return;
    isWoken = true;
    setImmediate(() => {
      isWoken = false;
      if (!isClosing) look();
    });
  }

  function look(): void {
    if (turn && !turn.isHeld()) return;
    try {
      queue = accounts.waitingMails().reverse();
    } catch (err) {
      log.error({ err }, 'the mails that wait could not be read');
      return;
    }
    const waiting = new Set(queue.map(({ event }) => event));
    for (const [event, { phase, timer }] of known) {
      if (phase === 'running' || waiting.has(event)) continue;
      clearTimeout(timer);
      known.delete(event);
    }
    fill();
  }

  function fill(): void {
    while (running.size < atOnce) {
      const mail = queue.pop();
      if (!mail) return;
      const progress = known.get(mail.event) ?? { phase: 'ready', failures: 0, ending: null, timer: undefined };
      if (progress.phase !== 'ready') continue;
      known.set(mail.event, progress);
      begin(mail, progress);
    }
  }

  function begin(mail: WaitingMail, progress: Progress): void {
    progress.phase = 'running';
    const run = handle(mail, progress)
      .catch((error: Error) => rest(mail, progress, error))
      .finally(() => {
        running.delete(run);
        fill();
      });
    running.add(run);
  }

  async function handle(mail: WaitingMail, progress: Progress): Promise<void> {
    // One that was sent and could not be recorded is recorded in any case.
    if (progress.ending === null && !(await isOurs(mail))) {
      known.delete(mail.event);
      return;
    }
    progress.ending ??= await endingOf(mail);
    const outcome = await append({
      ...changeOf(mail.stream, [progress.ending]),
      actor: { type: 'system' },
      correlationId: mail.event,
      context: {},
    });
    if (!outcome.ok) throw new Error(`the log refused it: ${outcome.conflict}`);
    progress.phase = 'done';
  }

  /** Looked at before each mail: another node may have taken over, and sent it. */
  async function isOurs({ event }: WaitingMail): Promise<boolean> {
    if (!turn) return true;
    return (await turn.look()) && accounts.waitingMails().some((waiting) => waiting.event === event);
  }

  async function endingOf(mail: WaitingMail): Promise<NewEvent> {
    const about = { mail: mail.kind, event: mail.event };
    try {
      if (now() >= deadlineOf(mail)) throw new Undeliverable('gave up');
      await send(input, mail);
      return { type: 'email.sent', data: about };
    } catch (error) {
      if (!(error instanceof Undeliverable)) throw error;
      const reason = error.message;
      log.error({ ...about, err: error.cause }, `mail not sent: ${reason}`);
      return { type: 'email.failed', data: { ...about, reason } };
    }
  }

  function rest(mail: WaitingMail, progress: Progress, err: Error): void {
    progress.phase = 'resting';
    progress.failures += 1;
    const seconds = retrySeconds[Math.min(progress.failures, retrySeconds.length) - 1] as number;
    // The mail expires at its deadline, even if the next retry would be later.
    const left = progress.ending ? Number.POSITIVE_INFINITY : deadlineOf(mail) - now();
    const delay = Math.max(0, Math.min(seconds * 1000, left));
    const what = progress.ending ? 'what became of a mail could not be recorded' : 'mail could not be sent';
    log.warn({ err, mail: mail.kind, event: mail.event, attempt: progress.failures }, `${what}; it is retried`);
    if (isClosing) return;
    progress.timer = setTimeout(() => {
      progress.phase = 'ready';
      wake();
    }, delay).unref();
  }

  const endSweeping = every(sweepSeconds * 1000, wake);
  wake();

  return {
    wake,
    follow(next) {
      input = { ...input, ...next };
    },
    async close() {
      isClosing = true;
      queue = [];
      endSweeping();
      for (const { timer } of known.values()) clearTimeout(timer);
      const isOver = new AbortController();
      const late = wait(closeSeconds * 1000, null, { signal: isOver.signal }).catch(() => {});
      await Promise.race([Promise.all(running), late]);
      isOver.abort();
    },
  };
}

function deadlineOf({ expiresAt, since }: WaitingMail): number {
  return expiresAt ?? since + newsMilliseconds;
}

async function send(input: ReactorInput, mail: WaitingMail): Promise<void> {
  const { model, baseUrl, site = null, userOf, token, mailer, log } = input;
  const { kind, category, expiresAt, event } = mail;
  const collection = [...model.collections.values()].find((one) => one.category === category);
  const user = !collection || mail.id === null ? null : await userOf(collection.slug, mail.id);
  const email = kind === 'invitation' ? mail.email : user?.email;
  if (!collection || typeof email !== 'string') throw new Undeliverable('the account is gone');

  const { slug } = collection;
  const pages = { slug, urls: collection.urls, baseUrl, site, isInAdmin: worksInAdmin(model, slug) };
  const url = linkOf(kind, pages, await tokenOf(kind, mail, token));
  const args = { collection: slug, email, user, url, expiresAt: expiresAt === null ? null : new Date(expiresAt) };
  const message = await writeMessage({ kind, args, baseUrl, template: model.email?.templates[kind], log });
  await mailer.send({ ...message, kind, event, to: email });
}

async function tokenOf(kind: MailKind, { category, token: id }: WaitingMail, make: ReactorInput['token']) {
  const tokenKind = tokenKindOf(kind);
  if (tokenKind === null) return null;
  if (id === null) throw new Error(`a mail "${kind}" without the id of its token`);
  return make(tokenKind, category, id);
}
