import type { Sqlite } from '../../storage/sqlite.ts';

/**
 * A signed checkpoint as the log keeps it. `isStored`, `isPosted`: whether a copy has gone to the store of files, and
 * to the webhook.
 */
export type KeptCheckpoint = { size: number; note: string; signedAt: string; isStored: boolean; isPosted: boolean };

/**
 * A change of the kept checkpoints: one was signed, a copy of one arrived, a witness cosigned one, or a time-stamp
 * authority stamped the one that the log signed as `signed`. `line` is a signature line with its line end, `token` a
 * time-stamp token (RFC 3161).
 */
export type CheckpointChange =
  | { kind: 'signed'; size: number; note: string; signedAt: string }
  | { kind: 'stored' | 'posted'; size: number }
  | { kind: 'cosigned'; size: number; text: string; line: string }
  | { kind: 'timestamped'; size: number; signed: string; authority: string; token: Uint8Array; receivedAt: string };

/** The newest checkpoints that are kept, however many there are in an hour. */
export const keptCheckpoints = 1000;

/**
 * The SQL pattern of a note with a cosignature: it has more than one signature line, of which the first is the log's.
 */
export const cosignedNote = '%\n\n— %\n— %';

type SignerRow = { begin: string; first: number; last: number };
type CheckpointRow = { size: number; note: string; signedAt: string; stored: number; posted: number };

/** The checkpoints of a log that a key has signed: the smallest kept one, and the largest. */
type SignedRange = { id: string; first: SignedSize; last: SignedSize };

/** The number of events in a checkpoint, and when it was signed. */
type SignedSize = { size: number; signedAt: string };

export type CheckpointReader = ReturnType<typeof readCheckpoints>;

/** Reads the checkpoints of a log. */
export function readCheckpoints(db: Sqlite) {
  const columns = 'SELECT size, note, signed_at AS signedAt, stored, posted FROM checkpoints';
  const selectRecent = db.prepare<[count: number], CheckpointRow>(`${columns} ORDER BY size DESC LIMIT ?`);
  const selectStored = db.prepare<[], number | null>('SELECT max(size) FROM checkpoints WHERE stored = 1').pluck();
  const selectAll = db.prepare<[], CheckpointRow>(`${columns} ORDER BY size`);
  // The id of a key is the first 4 bytes of its signature in base64, and so most of 6 characters.
  const selectSigners = db.prepare<[{ line: string }], SignerRow>(
    `SELECT substr(note, instr(note, @line) + length(@line), 6) AS begin, min(size) AS first, max(size) AS last
     FROM checkpoints WHERE instr(note, @line) > 0 GROUP BY begin`,
  );
  const selectSigned = db.prepare<[size: number], SignedSize>(
    'SELECT size, signed_at AS signedAt FROM checkpoints WHERE size = ?',
  );
  const signed = (size: number): SignedSize => {
    const found = selectSigned.get(size);
    if (!found) throw new Error(`there is no checkpoint of ${size}`);
    return found;
  };

  return {
    /** The newest checkpoints, newest first. */
    recent: (count: number): KeptCheckpoint[] => selectRecent.all(count).map(fromRow),
    /** The size of the newest checkpoint in the store of files; null before the first. */
    newestStored: (): number | null => selectStored.get() ?? null,
    /**
     * The keys that have signed checkpoints of a log, the latest last. They are found in SQL, for reading ten thousand
     * notes takes a fifth of a second.
     */
    signers: (origin: string): SignedRange[] => {
      const rows = selectSigners.all({ line: `\n\n\u2014 ${origin} ` });
      const ranges = Map.groupBy(rows, ({ begin }) => Buffer.from(begin, 'base64').toString('hex', 0, 4));
      return [...ranges]
        .map(([id, own]) => ({
          id,
          first: signed(Math.min(...own.map(({ first }) => first))),
          last: signed(Math.max(...own.map(({ last }) => last))),
        }))
        .sort((one, other) => one.last.size - other.last.size);
    },
    /** All checkpoints, oldest first. */
    all: function* (): Generator<KeptCheckpoint> {
      for (const row of selectAll.iterate()) yield fromRow(row);
    },
  };
}

/**
 * Keeps checkpoints in a log, for the one thread that writes the log. Before the newest {@link keptCheckpoints}, one
 * checkpoint of each hour stays: the last for which an outsider has vouched, else the last.
 */
export function keepCheckpoints(db: Sqlite): (change: CheckpointChange) => void {
  // A new key signs the tree of the same size once more.
  const insert = db.prepare(
    `INSERT INTO checkpoints (size, note, signed_at) VALUES (?, ?, ?)
     ON CONFLICT (size) DO UPDATE SET note = excluded.note, signed_at = excluded.signed_at, stored = 0, posted = 0
     WHERE note <> excluded.note`,
  );
  const mark = {
    stored: db.prepare('UPDATE checkpoints SET stored = 1 WHERE size = ?'),
    posted: db.prepare('UPDATE checkpoints SET posted = 1 WHERE size = ?'),
  };
  // A new key may have replaced the text by another.
  const cosign = db.prepare(
    `UPDATE checkpoints SET note = note || @line
     WHERE size = @size AND substr(note, 1, length(@text) + 1) = @text || char(10) AND instr(note, @line) = 0`,
  );
  const timestamp = db.prepare(
    `INSERT INTO timestamps (size, authority, token, received_at) SELECT @size, @authority, @token, @receivedAt
     WHERE EXISTS (SELECT 1 FROM checkpoints WHERE size = @size AND substr(note, 1, length(@signed)) = @signed)
     ON CONFLICT (size, authority) DO NOTHING`,
  );
  const forget = db.prepare(
    'DELETE FROM timestamps WHERE size = ? AND NOT EXISTS (SELECT 1 FROM checkpoints WHERE size = ? AND note = ?)',
  );
  const removeBetween = db.prepare(
    `DELETE FROM checkpoints WHERE size IN (
       SELECT size FROM (
         SELECT size, substr(signed_at, 1, 13) AS hour, row_number() OVER (
           PARTITION BY substr(signed_at, 1, 13)
           ORDER BY size IN (SELECT size FROM timestamps) DESC, note LIKE '${cosignedNote}' DESC, size DESC
         ) AS place
         FROM checkpoints ORDER BY size DESC LIMIT ${keptCheckpoints} OFFSET ${keptCheckpoints}
       ) WHERE place > 1)`,
  );
  const removeAlone = db.prepare('DELETE FROM timestamps WHERE size NOT IN (SELECT size FROM checkpoints)');
  let sinceThinning = 0;

  const sign = db.transaction((change: Extract<CheckpointChange, { kind: 'signed' }>) => {
    forget.run(change.size, change.size, change.note);
    insert.run(change.size, change.note, change.signedAt);
    sinceThinning += 1;
    if (sinceThinning % 100 !== 0) return;
    removeBetween.run();
    removeAlone.run();
  });

  return (change) => {
    if (change.kind === 'signed') sign.immediate(change);
    else if (change.kind === 'cosigned') cosign.run(change);
    else if (change.kind === 'timestamped') timestamp.run({ ...change, token: Buffer.from(change.token) });
    else mark[change.kind].run(change.size);
  };
}

function fromRow({ stored, posted, ...row }: CheckpointRow): KeptCheckpoint {
  return { ...row, isStored: stored === 1, isPosted: posted === 1 };
}
