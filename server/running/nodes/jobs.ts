import { setTimeout as pause } from 'node:timers/promises';
import type { LeaseRows } from '../../../events/postgres/vault/leases.ts';
import type { OneTimeJobs } from '../one-time-jobs.ts';
import { openLease } from './leases.ts';

const pauseMilliseconds = 500;

/** Jobs of a service with several nodes: one does it, and the others wait until it is done. */
export function jobsOfNodes(rows: LeaseRows, holder: string, milliseconds?: number): OneTimeJobs {
  return {
    async once(job, run) {
      const gained = { wake: () => {} };
      const lease = openLease({
        rows,
        name: `job:${job}`,
        holder,
        onGained: () => gained.wake(),
        ...(milliseconds !== undefined && { milliseconds }),
      });
      try {
        while (!(await rows.isDone(job))) {
          if (await lease.look()) {
            // Another node may have done it since.
            if (await rows.isDone(job)) return;
            await run();
            await rows.noteDone(job);
            return;
          }
          await Promise.race([pause(pauseMilliseconds), new Promise<void>((resolve) => (gained.wake = resolve))]);
        }
      } finally {
        await lease.close();
      }
    },
  };
}
