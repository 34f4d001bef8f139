import type { App } from '../app.ts';

const pollMilliseconds = 100;

/**
 * Tells when the log has grown. Looks at the log while a stream waits: one look for all of a thread. The writer is another thread, and the read file
 * comes a moment after the log, so both are looked at.
 */
export function openNews({ events, auditIndex }: Pick<App, 'events' | 'auditIndex'>) {
  const waiting = new Set<() => void>();
  let timer: NodeJS.Timeout | null = null;
  let seen = '';

  function look(): void {
    const now = `${events.head().size} ${auditIndex.reached()}`;
    if (now === seen) return;
    seen = now;
    for (const wake of waiting) wake();
  }

  return {
    /** Resolves when there is something new, when `signal` is aborted, or when the time is over. */
    wait(signal: AbortSignal, milliseconds: number): Promise<void> {
      const { promise, resolve } = Promise.withResolvers<void>();
      const alarm = setTimeout(resolve, milliseconds);
      waiting.add(resolve);
      const wake = () => resolve();
      signal.addEventListener('abort', wake, { once: true });
      // The first look tells of events between the caller's look at the log and now.
      timer ??= setInterval(look, pollMilliseconds);
      return promise.finally(() => {
        clearTimeout(alarm);
        waiting.delete(resolve);
        signal.removeEventListener('abort', wake);
        if (waiting.size > 0 || timer === null) return;
        clearInterval(timer);
        timer = null;
        seen = '';
      });
    },
  };
}
