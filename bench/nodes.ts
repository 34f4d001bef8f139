import { join } from 'node:path';
import { moves } from './moves.ts';
import { type Postgres, startPostgres } from './postgres.ts';
import type { Plan } from './rounds.ts';
import { sharedReads } from './shared-reads.ts';
import { sharedWrites } from './shared-writes.ts';

const parts = {
  writes: (folder: string, plan: Plan, postgres: Postgres) => sharedWrites(folder, plan, postgres),
  reads: (folder: string, plan: Plan, postgres: Postgres) => sharedReads(folder, plan, postgres),
  moves: (folder: string, _plan: Plan, postgres: Postgres, events: number) => moves(folder, postgres, events),
};

/** The names of the parts of {@link nodes}. */
export const partsOfNodes = Object.keys(parts);

/**
 * Measures nodes with the log in PostgreSQL, which is started here unless the environment names one: writes compared
 * with those to a log in a file, reads, a new node, and the move of a log there and back.
 *
 * @param names of the parts to measure.
 */
export async function nodes(folder: string, plan: Plan, isLarge: boolean, names: readonly string[]): Promise<void> {
  const postgres = startPostgres();
  if (typeof postgres === 'string') {
    process.stdout.write(`\nnodes are not measured: ${postgres}\n`);
    return;
  }
  try {
    for (const [name, run] of Object.entries(parts)) {
      if (names.includes(name)) await run(join(folder, name), plan, postgres, isLarge ? 1_000_000 : 100_000);
    }
  } finally {
    postgres.stop();
  }
}
