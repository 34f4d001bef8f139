import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { privateFile } from '../../storage/private.ts';

/** Jobs that run once in the life of a service. */
export type OneTimeJobs = {
  /** Runs a job unless it has run before. A job that failed or was cut short runs again with the next call. */
  once: (job: 'seed', run: () => Promise<void>) => Promise<void>;
};

/** The files that say when a job was done. */
const markers = { seed: 'seeded' } as const;

/** The jobs of a service that has a data directory to itself: a file there says that a job has run. */
export function oneTimeJobsIn(directory: string): OneTimeJobs {
  return {
    async once(job, run) {
      const marker = join(directory, markers[job]);
      if (existsSync(marker)) return;
      await run();
      writeFileSync(marker, `${new Date().toISOString()}\n`, { mode: privateFile });
    },
  };
}
