import type { Sqlite } from '../storage/sqlite.ts';

/** A signed checkpoint as the log keeps it. `isStored`, `isPosted`: copies of it have gone to the store of files, to the webhook. */
export type KeptCheckpoint = { size: number; note: string; signedAt: string; isStored: boolean; isPosted: boolean };

/**
 * What becomes of checkpoints: one has been signed, a copy of that of this size has arrived, or a witness has cosigned the one whose
 * text this is. `line` is a signature line, with its line end.
 */
export type CheckpointChange =
  | { kind: 'signed'; size: number; note: string; signedAt: string }
  | { kind: 'stored' | 'posted'; size: number }
  | { kind: 'cosigned'; size: number; text: string; line: string };

/** So many of the newest checkpoints are kept, whatever their number in an hour. */
export const keptCheckpoints = 1000;

type Row = { size: number; note: string; signedAt: string; stored: number; posted: number };

/** Reads the checkpoints of a log. */
export function readCheckpoints(db: Sqlite) {
  const columns = 'SELECT size, note, signed_at AS signedAt, stored, posted FROM checkpoints';
  const selectRecent = db.prepare(`${columns} ORDER BY size DESC LIMIT ?`);
  const selectStored = db.prepare('SELECT max(size) FROM checkpoints WHERE stored = 1').pluck();
  const selectAll = db.prepare(`${columns} ORDER BY size`);

  return {
    /** The newest ones, newest first. */
    recent: (count: number): KeptCheckpoint[] => (selectRecent.all(count) as Row[]).map(fromRow),
    /** The size of the newest one that is in the store of files; null when none is. */
    newestStored: (): number | null => selectStored.get() as number | null,
    /** All of them, oldest first. */
    all: function* (): Generator<KeptCheckpoint> {
      for (const row of selectAll.iterate()) yield fromRow(row as Row);
    },
  };
}

/**
 * Keeps checkpoints in a log, for the one thread that writes to it. Of those before the newest {@link keptCheckpoints}, the last
 * of each hour stays.
 */
export function keepCheckpoints(db: Sqlite): (change: CheckpointChange) => void {
  // Under a new key, the tree of the same size is signed once more.
  const insert = db.prepare(
    `INSERT INTO checkpoints (size, note, signed_at) VALUES (?, ?, ?)
     ON CONFLICT (size) DO UPDATE SET note = excluded.note, signed_at = excluded.signed_at, stored = 0, posted = 0
     WHERE note <> excluded.note`,
  );
  const mark = {
    stored: db.prepare('UPDATE checkpoints SET stored = 1 WHERE size = ?'),
    posted: db.prepare('UPDATE checkpoints SET posted = 1 WHERE size = ?'),
  };
  // Under a new key, another text may have come in its place.
  const cosign = db.prepare(
    `UPDATE checkpoints SET note = note || @line
     WHERE size = @size AND substr(note, 1, length(@text) + 1) = @text || char(10) AND instr(note, @line) = 0`,
  );
  const removeBetween = db.prepare(
    `DELETE FROM checkpoints WHERE size IN (
       SELECT size FROM (
         SELECT size, substr(signed_at, 1, 13) AS hour, lead(substr(signed_at, 1, 13)) OVER (ORDER BY size) AS next
         FROM checkpoints ORDER BY size DESC LIMIT ${keptCheckpoints} OFFSET ${keptCheckpoints}
       ) WHERE hour = next)`,
  );
  let sinceThinning = 0;

  const sign = db.transaction((change: Extract<CheckpointChange, { kind: 'signed' }>) => {
    insert.run(change.size, change.note, change.signedAt);
    sinceThinning += 1;
    if (sinceThinning % 100 === 0) removeBetween.run();
  });

  return (change) => {
    if (change.kind === 'signed') sign.immediate(change);
    else if (change.kind === 'cosigned') cosign.run(change);
    else mark[change.kind].run(change.size);
  };
}

function fromRow({ stored, posted, ...row }: Row): KeptCheckpoint {
  return { ...row, isStored: stored === 1, isPosted: posted === 1 };
}
