import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { privateFile } from '../../storage/private.ts';

/** Jobs that are done once in the life of a service. */
export type Jobs = {
  /**
   * Does a job unless it was done before. One that fails, or is cut short, is done again when it is asked for again.
   */
  once: (job: 'seed', run: () => Promise<void>) => Promise<void>;
};

/** The files that say when a job was done. */
const markers = { seed: 'seeded' } as const;

/** Jobs of a service that has a data directory to itself: a file there says that one was done. */
export function jobsIn(directory: string): Jobs {
  return {
    async once(job, run) {
      const marker = join(directory, markers[job]);
      if (existsSync(marker)) return;
      await run();
      writeFileSync(marker, `${new Date().toISOString()}\n`, { mode: privateFile });
    },
  };
}
