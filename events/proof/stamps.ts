import type { Sqlite } from '../../storage/sqlite.ts';
import { cosignedNote } from './checkpoints.ts';
import { parseNote } from './notes.ts';

/** A token of a time-stamp authority (RFC 3161), in base64. */
export type KeptToken = { authority: string; token: string };

/**
 * A checkpoint that outsiders have vouched for: its note with the lines of witnesses, and the time-stamp tokens over
 * it.
 */
export type StampedCheckpoint = { size: number; note: string; tokens: KeptToken[] };

/** The most checkpoints that are looked at to find one by each voucher. */
const looked = 100;

type NoteRow = { size: number; note: string };
/** A token as it is kept, with the size of its checkpoint. */
export type TokenRow = { size: number; authority: string; token: Buffer };

/** Reads the checkpoints of a log that outsiders have vouched for. */
export function readStamps(db: Sqlite) {
  const kinds = [`note LIKE '${cosignedNote}'`, 'size IN (SELECT size FROM timestamps)'].map((kind) => ({
    from: db.prepare<[position: number, size: number], NoteRow>(
      `SELECT size, note FROM checkpoints WHERE size BETWEEN ? AND ? AND ${kind} ORDER BY size LIMIT ${looked}`,
    ),
    newest: db.prepare<[size: number], NoteRow>(
      `SELECT size, note FROM checkpoints WHERE size <= ? AND ${kind} ORDER BY size DESC LIMIT ${looked}`,
    ),
  }));
  const selectTokens = db.prepare<[size: number], Omit<TokenRow, 'size'>>(
    'SELECT authority, token FROM timestamps WHERE size = ? ORDER BY authority',
  );
  const selectAll = db.prepare<[], TokenRow>('SELECT size, authority, token FROM timestamps ORDER BY size, authority');
  const newestReceived = db
    .prepare<[authority: string], string>(
      'SELECT received_at FROM timestamps WHERE authority = ? ORDER BY size DESC LIMIT 1',
    )
    .pluck();
  const hasToken = db.prepare('SELECT count(*) FROM timestamps WHERE size = ? AND authority = ?').pluck();

  function withTokens({ size, note }: NoteRow): StampedCheckpoint {
    const tokens = selectTokens.all(size);
    return {
      size,
      note,
      tokens: tokens.map(({ authority, token }) => ({ authority, token: token.toString('base64') })),
    };
  }

  const around = db.transaction((position: number, size: number): StampedCheckpoint[] => {
    const found = new Map<number, StampedCheckpoint>();
    for (const { from, newest } of kinds) {
      for (const rows of [from.all(position, size), newest.all(size)])
        for (const row of firsts(rows.map(withTokens))) found.set(row.size, row);
    }
    return [...found.values()].sort((a, b) => a.size - b.size);
  });

  return {
    /**
     * For each voucher, the first checkpoint that holds the event at a position, and the newest one of at most `size`
     * events; by size.
     */
    around: (position: number, size: number): StampedCheckpoint[] => around(position, size),
    /** When the newest token of an authority was received (ISO 8601); null before the first. */
    newestReceived: (authority: string): string | null => newestReceived.get(authority) ?? null,
    hasToken: (size: number, authority: string): boolean => hasToken.get(size, authority) === 1,
    /** All kept tokens, by the size of their checkpoints. */
    tokens: () => selectAll.iterate(),
  };
}

/** The checkpoints with a voucher that no earlier one has. */
function firsts(rows: readonly StampedCheckpoint[]): StampedCheckpoint[] {
  const known = new Set<string>();
  return rows.filter((row) => {
    const fresh = namesIn(row).filter((name) => !known.has(name));
    for (const name of fresh) known.add(name);
    return fresh.length > 0;
  });
}

function namesIn({ note, tokens }: StampedCheckpoint): string[] {
  const [, ...others] = parseNote(note)?.signatures ?? [];
  return [...others.map(({ name, id }) => `${name}+${id}`), ...tokens.map(({ authority }) => authority)];
}
