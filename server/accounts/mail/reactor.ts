import { setTimeout as wait } from 'node:timers/promises';
import { type Append, changeOf, type NewEvent } from '../../../events/facts/log.ts';
import type { Accounts, WaitingMail } from '../../../projections/tables/accounts.ts';
import { every } from '../../platform/ticks.ts';
import { deadlineOf, type MailParts, sendMail } from './sending.ts';

/** The queue that sends the mails that events ask for. */
export type Reactor = {
  /** Looks for new mails at once. */
  wake: () => void;
  /** Takes another configuration, and another transport, for the mails from now on. */
  follow: (next: Pick<MailParts, 'model' | 'mailer'>) => void;
  /** Starts no more mails, and waits a few seconds for those in progress. The mailer is closed after it. */
  close: () => Promise<void>;
};

export type ReactorInput = MailParts & {
  accounts: Pick<Accounts, 'waitingMails'>;
  append: Append;
  /** The lease of this node, if several have the same mails to send; absent if it is the only one. */
  lease?: MailLease | null;
  now?: () => number;
  /**
   * The backoff: how long to wait after the first failure, the second and so on; the last holds for all that follow.
   */
  retrySeconds?: readonly [number, ...number[]];
  sweepSeconds?: number;
  closeSeconds?: number;
};

/** The lease of the one node that sends mails. */
export type MailLease = {
  /** Whether this node holds the lease, as far as it knows. */
  isHeld: () => boolean;
  /** Whether this node holds the lease. If so, it also has all that the holder before has recorded. */
  look: () => Promise<boolean>;
};

const retryDelays = [5, 30, 2 * 60, 10 * 60, 30 * 60, 60 * 60] as const;

const atOnce = 4;

/** The progress of a waiting mail in this process. A restart begins anew: the log has the mails that were sent. */
type Progress = {
  /** `ready`: to be sent or retried. `done`: recorded, and soon out of the queue. */
  phase: 'ready' | 'running' | 'resting' | 'done';
  failures: number;
  /** The event to record. It is kept if the append fails, so that the mail is not sent twice. */
  ending: NewEvent | null;
  timer: NodeJS.Timeout | undefined;
};

type State = {
  input: ReactorInput;
  /** By {@link keyOf} of the mail. */
  known: Map<string, Progress>;
  running: Set<Promise<void>>;
  /** The mails found by the last look, the oldest at the end. */
  queue: WaitingMail[];
  isWoken: boolean;
  isClosing: boolean;
};

/**
 * Sends the mails that wait in the read tables and records the outcome, which removes them from there: so a restart
 * loses no mail, and a rebuild of the tables sends no mail twice.
 */
export function startReactor(input: ReactorInput): Reactor {
  const { sweepSeconds = 30 } = input;
  const state: State = { input, known: new Map(), running: new Set(), queue: [], isWoken: false, isClosing: false };
  const endSweeping = every(sweepSeconds * 1000, () => wake(state));
  wake(state);

  return {
    wake: () => wake(state),
    follow(next) {
      state.input = { ...state.input, ...next };
    },
    async close() {
      endSweeping();
      await close(state);
    },
  };
}

function wake(state: State): void {
  if (state.isWoken || state.isClosing) return;
  state.isWoken = true;
  setImmediate(() => {
    state.isWoken = false;
    if (!state.isClosing) look(state);
  });
}

function look(state: State): void {
  const { accounts, log, lease = null } = state.input;
  if (lease && !lease.isHeld()) return;
  try {
    state.queue = accounts.waitingMails().reverse();
  } catch (err) {
    log.error({ err }, 'the mails that wait could not be read');
    return;
  }
  const waiting = new Set(state.queue.map(keyOf));
  for (const [key, { phase, timer }] of state.known) {
    if (phase === 'running' || waiting.has(key)) continue;
    clearTimeout(timer);
    state.known.delete(key);
  }
  fill(state);
}

function fill(state: State): void {
  while (state.running.size < atOnce) {
    const mail = state.queue.pop();
    if (!mail) return;
    const key = keyOf(mail);
    const progress = state.known.get(key) ?? { phase: 'ready', failures: 0, ending: null, timer: undefined };
    if (progress.phase !== 'ready') continue;
    state.known.set(key, progress);
    begin(state, mail, progress);
  }
}

function begin(state: State, mail: WaitingMail, progress: Progress): void {
  progress.phase = 'running';
  const run = handle(state, mail, progress)
    .catch((error: Error) => rest(state, mail, { progress, error }))
    .finally(() => {
      state.running.delete(run);
      fill(state);
    });
  state.running.add(run);
}

async function handle(state: State, mail: WaitingMail, progress: Progress): Promise<void> {
  // A mail that was sent is recorded in any case, also if it could not be recorded before.
  if (progress.ending === null && !(await isOurs(state, mail))) {
    state.known.delete(keyOf(mail));
    return;
  }
  progress.ending ??= await sendMail(state.input, mail, timeOf(state));
  const outcome = await state.input.append({
    ...changeOf(mail.stream, [progress.ending]),
    actor: { type: 'system' },
    correlationId: mail.event,
    context: {},
  });
  if (!outcome.ok) throw new Error(`the log refused it: ${outcome.conflict}`);
  progress.phase = 'done';
}

/** Whether this node sends a mail. It is asked before each mail: another node may have taken over, and sent it. */
async function isOurs({ input: { lease, accounts } }: State, mail: WaitingMail): Promise<boolean> {
  if (!lease) return true;
  return (await lease.look()) && accounts.waitingMails().some((waiting) => keyOf(waiting) === keyOf(mail));
}

/** Names a mail: an event may ask for several, each to another account. */
function keyOf({ event, stream }: WaitingMail): string {
  return `${event} ${stream}`;
}

/** Lets a mail wait for its next try. */
function rest(state: State, mail: WaitingMail, { progress, error }: { progress: Progress; error: Error }): void {
  const { retrySeconds = retryDelays, log } = state.input;
  progress.phase = 'resting';
  progress.failures += 1;
  const seconds = retrySeconds[Math.min(progress.failures, retrySeconds.length) - 1] as number;
  // The mail expires at its deadline, even if the next retry would be later.
  const left = progress.ending ? Number.POSITIVE_INFINITY : deadlineOf(mail) - timeOf(state);
  const delay = Math.max(0, Math.min(seconds * 1000, left));
  const what = progress.ending ? 'what became of a mail could not be recorded' : 'mail could not be sent';
  const facts = { err: error, mail: mail.kind, event: mail.event, attempt: progress.failures };
  log.warn(facts, `${what}; it is retried`);
  if (state.isClosing) return;
  progress.timer = setTimeout(() => {
    progress.phase = 'ready';
    wake(state);
  }, delay).unref();
}

async function close(state: State): Promise<void> {
  const { closeSeconds = 5 } = state.input;
  state.isClosing = true;
  state.queue = [];
  for (const { timer } of state.known.values()) clearTimeout(timer);
  const isOver = new AbortController();
  const late = wait(closeSeconds * 1000, null, { signal: isOver.signal }).catch(() => {});
  await Promise.race([Promise.all(state.running), late]);
  isOver.abort();
}

function timeOf({ input: { now = Date.now } }: State): number {
  return now();
}
