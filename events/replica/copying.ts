import type { Sqlite } from '../../storage/sqlite.ts';
import { batchStream, schemaStream } from '../facts/catalogue.ts';
import { headerOf } from '../facts/envelope.ts';
import { erasedStreams, staysErased } from '../facts/erasures.ts';
import { eventOf, readLog } from '../log/log-reader.ts';
import type { Missed, Shipped, ShippedAttempt, ShippedClaim, ShippedErasure } from '../log/shipped.ts';
import { appendLeaf, leafHash, rootOf, type Tree, treeAt } from '../proof/merkle.ts';

/** A part of a log, with the erasures that its events are about; its claims and attempts come by themselves. */
export type CopiedPage = Pick<Shipped, 'from' | 'head' | 'erasures'> & Pick<Missed, 'events'>;

/** So many events are in a page at most, and about so many bytes. */
const mostEvents = 1000;
const mostBytes = 2 * 1024 * 1024;

const newest = '(SELECT position FROM events WHERE events.stream = claims.stream ORDER BY version DESC LIMIT 1)';

export type Copying = ReturnType<typeof openCopying>;

/**
 * Reads a log in the rows that another store keeps. Each call is a read of its own, unless the caller has begun a
 * transaction.
 */
export function openCopying(db: Sqlite) {
  const log = readLog(db);
  const selectClaims = db.prepare<[], Held>(`SELECT scope, value, stream, ${newest} AS position FROM claims`);
  const selectClaimsOf = db.prepare<[streams: string], Held>(
    `SELECT scope, value, stream, ${newest} AS position FROM claims WHERE stream IN (SELECT value FROM json_each(?))`,
  );
  const selectAttempts = db.prepare<[since: number], ShippedAttempt>(
    `SELECT key, fingerprint, stream, position, version, recorded_at AS recordedAt FROM commands WHERE position >= ?`,
  );
  const selectAttempt = db.prepare<[key: string], ShippedAttempt>(
    `SELECT key, fingerprint, stream, position, version, recorded_at AS recordedAt FROM commands WHERE key = ?`,
  );
  const selectStreams = db
    .prepare<[after: number, upTo: number], string>(
      'SELECT DISTINCT stream FROM events WHERE position > ? AND position <= ?',
    )
    .pluck();
  const selectErasures = db.prepare<[], { position: number; files: string }>(
    'SELECT position, files FROM erasures ORDER BY position',
  );

  /**
   * The events after a position, as many as go into one page. @param tree has those before, and gets these.
   *
   * @throws AlteredEventError where the log is damaged.
   */
  function page(tree: Tree, upTo: number): CopiedPage {
    const from = tree.size;
    const texts = log.textsWithin(from, Math.min(upTo, from + mostEvents), mostBytes);
    const recorded = texts.map(eventOf);
    const events = texts.map(({ header, body }, at) => {
      const { position, id, stream, version } = (recorded[at] as (typeof recorded)[number]).header;
      appendLeaf(tree, leafHash(header), () => {});
      return { position, id, stream, version, header, body };
    });
    const last = recorded.at(-1)?.header;
    if (!last) throw new Error(`the log has no events after ${from}`);
    const head = { log: last.log, size: tree.size, root: rootOf(tree), recordedAt: last.recordedAt };
    const erasures = recorded.filter(({ header }) => header.type === 'document.erased').map(erasureOf);
    return { from, head, events, erasures };
  }

  function erasureOf({ header: { position }, data }: ReturnType<typeof eventOf>): ShippedErasure {
    const erased = erasedStreams(data);
    const gone = erased.flatMap(({ stream, versions }) =>
      log
        .positionsOf(stream, 0, versions)
        .flatMap((at) => log.headers(at - 1, at).map(headerOf))
        .filter(({ type }) => !staysErased(type)),
    );
    const streams = erased.map(({ stream }) => stream);
    const batches = gone.flatMap(({ batch }) => (batch === undefined ? [] : [batchStream(batch)]));
    return {
      position,
      payloads: gone.map((header) => header.position),
      streams,
      attemptsOf: [...new Set([...streams, ...batches])],
      files: log.erasures.at(position)?.files ?? [],
    };
  }

  /**
   * The streams that events after a position are about, or that these have erased; and whether one of them is a changed
   * schema.
   */
  function touched(after: number, upTo: number): { streams: string[]; hasNewSchema: boolean } {
    const streams = new Set(selectStreams.all(after, upTo));
    for (const { position } of log.erasures.before(upTo + 1, Number.MAX_SAFE_INTEGER)) {
      if (position <= after) break;
      const [event] = log.range(position - 1, position);
      for (const { stream } of erasedStreams(event?.data ?? null)) streams.add(stream);
    }
    return { streams: [...streams], hasNewSchema: streams.has(schemaStream) };
  }

  return {
    head: log.head,
    touched,
    page,
    /** The stored texts of so many events after a position. */
    texts: log.texts,
    /** The tree of the first events. */
    treeAt: (size: number): Tree => treeAt(size, log.storedHashes),
    rootAt: log.rootAt,
    /** All claims, or those of some streams, each at the newest event of its stream. */
    claims: function* (streams?: readonly string[]): Generator<ShippedClaim> {
      const rows = streams ? selectClaimsOf.iterate(JSON.stringify(streams)) : selectClaims.iterate();
      for (const row of rows) yield { ...row, isTaken: true };
    },
    holderOf: log.holderOf,
    /** An attempt by its key. */
    attempt: (key: string): ShippedAttempt | null => selectAttempt.get(key) ?? null,
    /** The attempts that were kept when the log had so many events, and later. */
    attempts: (since: number): IterableIterator<ShippedAttempt> => selectAttempts.iterate(since),
    /** The files of each erasure that are still to be looked at. */
    erasures: () => selectErasures.all(),
    /** How many claims there are, and attempts that were kept after a moment. */
    counts: (since: number): { claims: number; attempts: number } => ({
      claims: countOf('claims'),
      attempts: countOf(`commands WHERE recorded_at > ${Number(since)}`),
    }),
  };

  function countOf(rows: string): number {
    return db.prepare<[], number>(`SELECT count(*) FROM ${rows}`).pluck().get() ?? 0;
  }
}

type Held = Omit<ShippedClaim, 'isTaken'>;
