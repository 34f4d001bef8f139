import type { Verification } from '../../ports.ts';
import type { LogParts } from './keys.ts';
import { joinVerifier } from './verifier.ts';

/** Goes through the log again and again beside the service. */
export type Verifying = {
  /** The result so far. */
  verification: () => Verification;
  /** Resolves when it has no file open any more. */
  close: () => Promise<void>;
};

type Options = LogParts & {
  logId: string;
  /** The key that the head of the log is sealed with. */
  sealKey: string;
  /** How much of one core it may take: 0 for nothing, and at 100 it never rests. */
  percent: number;
  milliseconds?: { first: number; between: number };
};

const usual = { first: 10_000, between: 60_000 };
const never = { first: 0, between: 0 };

/**
 * Starts to go through the log. A finding is logged once, and again when it is another or was gone in between. That it was
 * found is told until the end: restoring the old bytes is a second alteration.
 */
export function openVerifying(options: Options): Verifying {
  const { file, logId, keys, sealKey, percent, log, now, milliseconds } = options;
  const { first, between } = milliseconds ?? (percent === 100 ? never : usual);
  const verifier = joinVerifier();
  let verification: Verification = { verified: null, altered: null };
  /** The last finding. */
  let finding: string | null = null;
  let isClosed = false;
  let timer: NodeJS.Timeout | undefined;
  if (percent > 0) schedule(first);

  function schedule(pause: number): void {
    if (!isClosed) timer = setTimeout(pass, pause).unref();
  }

  async function pass(): Promise<void> {
    try {
      const { signed } = keys.current(logId);
      const known = { keys: keys.known(logId), disowned: keys.disowned(logId), signed, sealKey };
      const looked = await verifier.look({ file, known, percent });
      if (looked) conclude(looked);
    } catch (err) {
      if (!isClosed) log.error({ err }, 'the log could not be gone through; it is tried again');
    }
    schedule(between);
  }

  function conclude({ to, trouble }: NonNullable<Awaited<ReturnType<typeof verifier.look>>>): void {
    const at = new Date(now()).toISOString();
    const isNew = trouble !== null && trouble.finding !== finding;
    finding = trouble?.finding ?? null;
    if (!trouble) verification = { ...verification, verified: { to, at } };
    else verification = { ...verification, altered: { ...trouble, at } };
    if (!isNew) return;
    const { finding: found, ...events } = trouble;
    log.fatal(events, `the log is not what was recorded: ${found}; run "annals verify"`);
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
