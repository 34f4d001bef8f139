import { setTimeout as wait } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { Phase } from '../platform/state.ts';

type DrainTarget = { setState: (phase: Phase) => void };

/**
 * Answers requests for some seconds more, while `/ready` says that the service stops: a balancer then sends new
 * requests elsewhere before the listener closes. SIGINT ends it early.
 */
export async function drain({ setState }: DrainTarget, seconds: number, log: Logger): Promise<void> {
  setState('draining');
  log.info(`/ready answers 503 from now on; requests are answered for ${seconds} s more`);
  const interrupted = new AbortController();
  const interrupt = () => interrupted.abort();
  process.once('SIGINT', interrupt);
  await wait(seconds * 1000, undefined, { signal: interrupted.signal }).catch(() => {});
  process.off('SIGINT', interrupt);
}
