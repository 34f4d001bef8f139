import { isDeepStrictEqual } from 'node:util';
import type { Sqlite } from '../../storage/sqlite.ts';
import type { Header } from '../facts/envelope.ts';
import { type EventRow, parseHeader } from '../log/event-checks.ts';
import { readLog } from '../log/log-reader.ts';
import { appendLeaf, leafHash, rootOf, type Tree } from '../proof/merkle.ts';
import type { Head } from '../proof/seals.ts';
import { compareHeads, everywhere, type Finding, type SeenHead, type Trouble } from '../proof/seen-heads.ts';
import { skipOffloaded } from '../segments/offloaded.ts';
import { isInBucket } from '../segments/segments.ts';
import { formatOf, isLog } from '../store/log-file.ts';
import { expectedSchema, schemaOf } from '../store/log-tables.ts';
import { withoutMark } from '../store/moved.ts';
import { firstGap } from './missing.ts';
import { missing, rowChecker, selectRows } from './verify-rows.ts';
import { checkSegments } from './verify-segments.ts';
import { tileChecker } from './verify-tiles.ts';

/** The number of events that are read at a time; fewer beside a service, for each may be a megabyte. */
const chunk = { alone: 500, live: 20 };

/**
 * Checks a whole log by itself: the structure of the file, positions, versions, times, every header, which must be
 * canonical and agree with its row, every commitment, every tile and the head.
 *
 * Call it inside a read transaction if a server may be writing.
 *
 * @param look is shown the header of each event that is sound.
 * @returns null if the log is sound.
 */
export function verifyLog(
  db: Sqlite,
  progress: (done: number, total: number) => void,
  look: (header: Header) => void = () => {},
): Finding | null {
  if (!isLog(db)) return 'log.db is empty';
  const head = readLog(db).head();
  const { size } = head;
  const events = () => {
    const steps = checkEvents(db, head, { look });
    for (let step = steps.next(); ; step = steps.next()) {
      if (step.done) return step.value?.finding ?? null;
      if (step.value % 500 === 0 || step.value === size) progress(step.value, size);
    }
  };
  return (
    checkStructure(db) ??
    findingIn(checkSegments(db)) ??
    checkErasures(db) ??
    events() ??
    checkVersions(db) ??
    checkCounts(db) ??
    checkTriggers(db)
  );
}

/** The part of {@link verifyLog} beside the single events, which are then checked in ranges. */
export function verifyBesideEvents(db: Sqlite): Finding | null {
  if (!isLog(db)) return 'log.db is empty';
  return (
    checkStructure(db) ??
    findingIn(checkSegments(db)) ??
    checkErasures(db) ??
    checkVersions(db) ??
    checkCounts(db) ??
    checkTriggers(db)
  );
}

/**
 * Checks a log in steps, beside a service that keeps writing, for as long as it takes. Each step is a separate read,
 * and gives the position that was reached. SQLite's own check would block too long: instead, each event is looked up in
 * the index of streams.
 *
 * @param head the head of the log as it was read before: later events are not checked.
 * @param look is shown the header of each event that is sound.
 * @param seen heads that the log once had, smallest first: they narrow down which event was altered first.
 */
export function* verifyInSteps(
  db: Sqlite,
  head: Head,
  { seen, look }: { seen: readonly SeenHead[]; look: (header: Header) => void },
): Generator<number, Trouble | null> {
  // First, for a gap is found at once; the events are checked in the order of their positions.
  const gap = firstGap(db);
  if (gap) return { finding: missing(gap), from: gap.position, to: gap.position };
  yield 0;
  const finding = checkErasures(db) ?? checkCounts(db) ?? checkTriggers(db);
  if (finding !== null) return { finding, from: null, to: null };
  const broken = yield* checkSegments(db);
  if (broken) return broken;
  return yield* checkEvents(db, head, { look, seen });
}

function findingIn(steps: Generator<number, Trouble | null>): Finding | null {
  for (let step = steps.next(); ; step = steps.next()) if (step.done) return step.value?.finding ?? null;
}

/** SQLite's own check, which also proves that the indexes agree with the tables. */
function checkStructure(db: Sqlite): Finding | null {
  const answer = db.pragma('integrity_check(1)', { simple: true });
  return answer === 'ok' ? null : `log.db is damaged: ${String(answer)}`;
}

/** Every row about an erasure must belong to an event that is an erasure; the reverse is checked with the events. */
function checkErasures(db: Sqlite): Finding | null {
  const rows = db
    .prepare<[], { position: number; header: string | null }>(
      'SELECT position, header FROM erasures LEFT JOIN headers USING (position) ORDER BY position',
    )
    .all();
  const wrong = rows.find(({ header }) => !header || parseHeader(header)?.type !== 'document.erased');
  return wrong ? `event ${wrong.position} is among the erasures, and erased nothing` : null;
}

/** @param seen given if the log is being written; then events behind the head are not checked. */
function* checkEvents(
  db: Sqlite,
  { size, root, log: logId, recordedAt }: Head,
  { look, seen }: { look: (header: Header) => void; seen?: readonly SeenHead[] },
): Generator<number, Trouble | null> {
  const isLive = seen !== undefined;
  const atOnce = isLive ? chunk.live : chunk.alone;
  const select = selectRows(db);
  const isPlaced = isLive ? placeChecker(db) : () => true;
  const tree: Tree = { size: 0, nodes: [] };
  const tiles = tileChecker(db, isLive);
  const checker = rowChecker(db, logId);
  const heads = compareHeads(tree, seen ?? []);
  const upTo = isLive ? size : Number.MAX_SAFE_INTEGER;
  // One transaction for many look-ups, for beginning one takes longer than a look-up.
  const read = db.transaction(() =>
    select.all(tree.size, upTo, atOnce).map((row) => ({ row, isInPlace: isPlaced(row) })),
  );
  for (;;) {
    checker.begin();
    const { result: rows, isWhole } = skipOffloaded(read);
    const isLeftOut = ({ position }: EventRow) => !isWhole && isInBucket(db, position);
    for (const { row, isInPlace } of rows) {
      const position = tree.size + 1;
      const found = checker.check(row, position, isLeftOut);
      if (typeof found === 'string') return { finding: found, from: position, to: position };
      if (!isInPlace) return { finding: misplaced(row), from: position, to: position };
      const odd = checker.form(found);
      if (odd !== null) return { finding: odd, from: position, to: position };
      checker.pass(found);
      look(found);
      appendLeaf(tree, leafHash(row.header), tiles.add);
      heads.compare();
      yield tree.size;
    }
    if (rows.length < atOnce) break;
  }
  const trouble = (finding: Finding, { from, to } = everywhere) => ({ finding, ...heads.narrow(from, to) });
  if (tree.size !== size) return trouble(`the log ends at position ${tree.size}, its head says ${size}`);
  if (!rootOf(tree).equals(root)) return trouble(...tiles.blame(size));
  const last = checker.recordedAt();
  if (last !== recordedAt) return trouble(`the last event was recorded at ${last}, the head says ${recordedAt}`);
  const wrong = tiles.finish();
  if (wrong !== null) return trouble(wrong);
  return heads.contradiction();
}

/** Checks whether the index of streams has an event as the next version of its stream. */
function placeChecker(db: Sqlite): (row: EventRow) => boolean {
  const select = db
    .prepare<[stream: string, version: number], number>(
      'SELECT position FROM events INDEXED BY events_stream WHERE stream = ? AND version = ?',
    )
    .pluck();
  return ({ position, stream, version }) => {
    if (select.get(stream, version) !== position) return false;
    return version === 1 || (select.get(stream, version - 1) ?? position) < position;
  };
}

/**
 * Each stream must have the versions 1, 2, 3 … in this order; they are read from the index, which SQLite has just
 * checked.
 */
function checkVersions(db: Sqlite): Finding | null {
  const row = db
    .prepare<[], Omit<EventRow, 'id' | 'header'>>(
      `SELECT position, stream, version, place FROM (
         SELECT position, stream, version, row_number() OVER streams AS place, lag(position, 1, 0) OVER streams AS before
         FROM events WINDOW streams AS (PARTITION BY stream ORDER BY version)
       ) WHERE version <> place OR before > position ORDER BY position LIMIT 1`,
    )
    .get();
  return row ? misplaced(row) : null;
}

function misplaced({ position, version, stream }: Omit<EventRow, 'id' | 'header'>): Finding {
  return `event ${position} is version ${version} of ${stream}, which is not the next one there`;
}

/** Finds payloads without an event. Each event was checked with its payload, or without an erased one. */
function checkCounts(db: Sqlite): Finding | null {
  const extra = db.prepare('SELECT position FROM payloads WHERE position < 1 OR position > (SELECT size FROM head)');
  const position = extra.pluck().get();
  return position === undefined ? null : `there is a payload of event ${position}, which there is not`;
}

/** The tables and the guards must be those that the log was made with. */
function checkTriggers(db: Sqlite): Finding | null {
  const isSame = isDeepStrictEqual(withoutMark(db, schemaOf(db)), expectedSchema(formatOf(db)));
  return isSame ? null : 'the tables or triggers of log.db are not those of an Annals log';
}
