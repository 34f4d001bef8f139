import type { Logger } from 'pino';
import type { Obstacle } from '../../../projections/tables/scrub.ts';

/** The obstacle of each unfinished erasure, by the position of the erasure. */
export type Obstacles = ReturnType<typeof createObstacles>;

/** Retries may go on for years, so each obstacle is logged once, when it comes up. */
export function createObstacles(logger: Logger) {
  const found = new Map<number, string>();
  let objectsMessage = '';
  return {
    of: (position: number): string | null => found.get(position) ?? null,
    /** @param why the obstacle in the words of the log, for the operator. */
    note(position: number, obstacle: string, why = obstacle): void {
      if (found.get(position) === obstacle) return;
      found.set(position, obstacle);
      logger.warn(`the erasure at position ${position} is not finished: ${why}; it is tried again`);
    },
    /** @param message why the bucket does not let go of objects. */
    noteObjects(message: string): void {
      if (objectsMessage !== message) logger.warn(`former segments of the log stay in the bucket: ${message}`);
      objectsMessage = message;
    },
    /** Forgets the obstacles of erasures that are finished. */
    retain(unfinished: ReadonlySet<number>): void {
      for (const position of found.keys()) if (!unfinished.has(position)) found.delete(position);
    },
  };
}

/** Each obstacle to cleaning the data files, as the operator reads it. */
export const reasons: Record<Obstacle, string> = {
  reader: 'a reader still uses an older snapshot',
  search: 'the search index is still being cleaned',
  room: 'there is no room to clean the data files',
  files: 'too many files are open to clean the data files (ulimit -n)',
  segments: 'segments of the log are still being written anew',
  objects: 'former segments of the log are still in the bucket',
  disk: 'the disk does not let files go that are not used any more',
  damage:
    'a data file or a segment of the log is missing or damaged (annals verify tells which), or has 128 GiB or more',
};
