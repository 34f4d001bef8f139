import type { Logger } from 'pino';
import type { LogKeys } from '../../events/log-keys.ts';
import type { Verification } from '../ports.ts';
import { joinVerifier } from '../threads/verifier.ts';

/** Goes through the log again and again beside the service. */
export type Verifying = {
  /** What it has come to. */
  verification: () => Verification;
  /** Resolves when it has no file open any more. */
  close: () => Promise<void>;
};

type Options = {
  /** The path of the log, and its id. */
  file: string;
  logId: string;
  keys: LogKeys;
  /** How much of one core it may take: 0 for nothing, and at 100 it never rests. */
  percent: number;
  log: Logger;
  milliseconds?: { first: number; between: number };
};

const usual = { first: 10_000, between: 60_000 };
const never = { first: 0, between: 0 };

/** Starts to go through the log. What is wrong is logged once, and again when it is something else. */
export function openVerifying({ file, logId, keys, percent, log, milliseconds }: Options): Verifying {
  const { first, between } = milliseconds ?? (percent === 100 ? never : usual);
  const verifier = joinVerifier();
  let verification: Verification = { verified: null, altered: null };
  let isClosed = false;
  let timer: NodeJS.Timeout | undefined;
  if (percent > 0) schedule(first);

  function schedule(pause: number): void {
    if (!isClosed) timer = setTimeout(pass, pause).unref();
  }

  async function pass(): Promise<void> {
    try {
      const { signed } = keys.current(logId);
      const known = { keys: keys.known(logId), disowned: keys.disowned(logId), signed };
      const looked = await verifier.look({ file, known, percent });
      if (looked) conclude(looked);
    } catch (err) {
      if (!isClosed) log.error({ err }, 'the log could not be gone through; it is tried again');
    }
    schedule(between);
  }

  function conclude({ to, trouble }: NonNullable<Awaited<ReturnType<typeof verifier.look>>>): void {
    const at = new Date().toISOString();
    if (!trouble) {
      verification = { verified: { to, at }, altered: null };
      return;
    }
    const isNew = verification.altered?.finding !== trouble.finding;
    verification = { ...verification, altered: { ...trouble, at } };
    if (!isNew) return;
    const { finding, ...events } = trouble;
    log.fatal(events, `the log is not what was recorded: ${finding}; run "annals verify"`);
  }

  return {
    verification: () => verification,
    close() {
      isClosed = true;
      clearTimeout(timer);
      return verifier.leave();
    },
  };
}
