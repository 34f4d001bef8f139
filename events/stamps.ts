import type { Sqlite } from '../storage/sqlite.ts';
import { parseNote } from './notes.ts';

/** A checkpoint that somebody outside has vouched for: its note, with the lines of witnesses. */
export type StampedCheckpoint = { size: number; note: string };

/** So many are looked at to find one by each of those who vouch. */
const looked = 100;

/** Reads which checkpoints of a log others have vouched for. */
export function readStamps(db: Sqlite) {
  // More than one line among the signatures: the first is that of the log.
  const cosigned = `SELECT size, note FROM checkpoints WHERE note LIKE '%' || char(10) || '— %' || char(10) || '— %'`;
  const selectFrom = db.prepare(`${cosigned} AND size BETWEEN ? AND ? ORDER BY size LIMIT ${looked}`);
  const selectNewest = db.prepare(`${cosigned} AND size <= ? ORDER BY size DESC LIMIT ${looked}`);

  return {
    /**
     * Of each who vouches the first checkpoint that holds the event at a position, and the newest one, up to `size` events; by size.
     */
    around: (position: number, size: number): StampedCheckpoint[] => {
      const found = new Map<number, StampedCheckpoint>();
      const take = (rows: StampedCheckpoint[]) => {
        for (const row of firsts(rows)) found.set(row.size, row);
      };
      take(selectFrom.all(position, size) as StampedCheckpoint[]);
      take(selectNewest.all(size) as StampedCheckpoint[]);
      return [...found.values()].sort((a, b) => a.size - b.size);
    },
  };
}

/** Those in which somebody vouches who did not in one before. */
function firsts(rows: readonly StampedCheckpoint[]): StampedCheckpoint[] {
  const known = new Set<string>();
  return rows.filter(({ note }) => {
    const fresh = voucherNames(note).filter((name) => !known.has(name));
    for (const name of fresh) known.add(name);
    return fresh.length > 0;
  });
}

function voucherNames(note: string): string[] {
  const [, ...others] = parseNote(note)?.signatures ?? [];
  return others.map(({ name, id }) => `${name}+${id}`);
}
