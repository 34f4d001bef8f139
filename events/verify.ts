import { isDeepStrictEqual } from 'node:util';
import type { JsonObject } from '../config/schema.ts';
import type { Sqlite } from '../storage/sqlite.ts';
import { leavingOut } from './away.ts';
import { clockStream } from './catalogue.ts';
import { encodeHeader, type Header, type Payload } from './envelope.ts';
import { type IsErased, knowErased } from './erasures.ts';
import { differingRow, type EventRow, type PayloadRow, parseHeader, wrongPayload } from './event-checks.ts';
import { isUuid7 } from './ids.ts';
import { formatOf, isLog } from './log-file.ts';
import { readLog } from './log-reader.ts';
import { expectedSchema, schemaOf } from './log-tables.ts';
import { appendLeaf, leafHash, rootOf, type Tree, tileWidth } from './merkle.ts';
import type { Head } from './seals.ts';
import { compareHeads, everywhere, type Finding, type SeenHead, type Trouble } from './seen-heads.ts';
import { isInBucket, payloadColumns, withSegments } from './segments.ts';
import { checkSegments } from './verify-segments.ts';

type Row = EventRow & PayloadRow & { isErasure: number };

/** So many events are read at a time; fewer beside a service, for each may be a megabyte. */
const chunk = { alone: 500, live: 20 };

/**
 * Checks a whole log by itself: the file's own structure, positions, versions, times, that every header is canonical and
 * agrees with its row, every commitment, every tile and the head.
 *
 * Call it inside a read transaction where a server may be writing.
 *
 * @param look is shown the header of each event that is sound.
 * @returns null when the log is sound.
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

/**
 * The same in steps, beside a service that goes on writing and for as long as it takes. Each step is a read of its own; it gives the
 * position that was reached. SQLite's own check takes too long at a time: instead, each event is looked for where the index of
 * streams has it.
 *
 * @param head that of the log as it was read before: what is behind it is left alone.
 * @param seen heads that the log once had, smallest first: they tell between which of them it was altered first.
 */
export function* verifyInSteps(db: Sqlite, head: Head, seen: readonly SeenHead[]): Generator<number, Trouble | null> {
  const finding = checkErasures(db) ?? checkCounts(db) ?? checkTriggers(db);
  if (finding !== null) return { finding, from: null, to: null };
  const broken = yield* checkSegments(db);
  if (broken) return broken;
  return yield* checkEvents(db, head, { look: () => {}, seen });
}

function findingIn(steps: Generator<number, Trouble | null>): Finding | null {
  for (let step = steps.next(); ; step = steps.next()) if (step.done) return step.value?.finding ?? null;
}

/** SQLite's own check, which also proves that the indexes say what the tables say. */
function checkStructure(db: Sqlite): Finding | null {
  const answer = db.pragma('integrity_check(1)', { simple: true });
  return answer === 'ok' ? null : `log.db is damaged: ${String(answer)}`;
}

/** Every row about an erasure must be of an event that is one; the reverse is looked for with the events. */
function checkErasures(db: Sqlite): Finding | null {
  const rows = db
    .prepare<[], { position: number; header: string | null }>(
      'SELECT position, header FROM erasures LEFT JOIN events USING (position) ORDER BY position',
    )
    .all();
  const wrong = rows.find(({ header }) => !header || parseHeader(header)?.type !== 'document.erased');
  return wrong ? `event ${wrong.position} is among the erasures, and erased nothing` : null;
}

/** Knows the erased payloads. The events that say so are held against their commitments when their turn comes. */
function erasedPayloads(db: Sqlite): () => IsErased {
  const newest = db.prepare<[], number>('SELECT coalesce(max(position), 0) FROM erasures').pluck();
  const bodies = withSegments(db).prepare<[], { body: string | null }>(
    `SELECT ${payloadColumns} FROM erasures JOIN events USING (position) LEFT JOIN payloads USING (position)`,
  );
  return knowErased({
    newest: () => newest.get() ?? 0,
    events: () => bodies.all().map(({ body }) => ({ data: dataIn(String(body)) })),
  });
}

function dataIn(body: string): JsonObject | null {
  try {
    const payload: Payload | null = JSON.parse(body);
    return payload?.data ?? null;
  } catch {
    return null;
  }
}

/** @param seen given where the log is being written: then what is behind the head is left alone. */
function* checkEvents(
  db: Sqlite,
  { size, root, log: logId, recordedAt }: Head,
  { look, seen }: { look: (header: Header) => void; seen?: readonly SeenHead[] },
): Generator<number, Trouble | null> {
  const isLive = seen !== undefined;
  const atOnce = isLive ? chunk.live : chunk.alone;
  const select = db.prepare<[after: number, upTo: number, limit: number], Row>(
    `SELECT position, id, stream, version, header, ${payloadColumns},
       EXISTS (SELECT 1 FROM erasures WHERE position = events.position) AS isErasure
     FROM events LEFT JOIN payloads USING (position) WHERE position > ? AND position <= ? ORDER BY position LIMIT ?`,
  );
  const isPlaced = isLive ? placeChecker(db) : () => true;
  const tree: Tree = { size: 0, nodes: [] };
  const tiles = tileChecker(db, isLive);
  const erased = erasedPayloads(db);
  const heads = compareHeads(tree, seen ?? []);
  const newestHeader = formatOf(db) < 3 ? 1 : 2;
  let last = '';
  let version: number = 1;
  for (;;) {
    const isErased = erased();
    const { result: rows, isWhole } = leavingOut(() =>
      select.all(tree.size, isLive ? size : Number.MAX_SAFE_INTEGER, atOnce),
    );
    const isLeftOut = ({ position }: Row) => !isWhole && isInBucket(db, position);
    for (const row of rows) {
      const position = tree.size + 1;
      const found = checkEvent(db, row, {
        position,
        logId,
        last,
        isErased,
        isLeftOut,
        isErasedNow: (event) => erased()(event),
      });
      if (typeof found === 'string') return { finding: found, from: position, to: position };
      if (!isPlaced(row)) return { finding: misplaced(row), from: position, to: position };
      const odd = wrongForm(found, version, newestHeader);
      if (odd !== null) return { finding: odd, from: position, to: position };
      last = found.recordedAt;
      version = found.v;
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
  if (last !== recordedAt) return trouble(`the last event was recorded at ${last}, the head says ${recordedAt}`);
  const wrong = tiles.finish();
  if (wrong !== null) return trouble(wrong);
  return heads.contradiction();
}

/** Headers have the versions that the format of the log has, and never an earlier one again. */
function wrongForm({ position, v, batch }: Header, before: number, newest: number): Finding | null {
  const at = `event ${position}`;
  if (!(v >= 1 && v <= newest)) return `${at}: its header has version ${String(v)}, which this log has not`;
  if (v < before) return `${at}: its header has version ${v}, the one before it version ${before}`;
  return batch === undefined || isUuid7(batch) ? null : `${at}: its batch is no UUID v7`;
}

/** Finds out whether the index of streams has an event, as the next version of its stream. */
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

type Expected = {
  position: number;
  logId: string;
  last: string;
  isErased: IsErased;
  /** Whether a payload is in the bucket, and was not fetched. */
  isLeftOut: (row: Row) => boolean;
  /** Whether a payload is erased by now, and was not when the event was read. */
  isErasedNow: IsErased;
};

function checkEvent(
  db: Sqlite,
  row: Row,
  { position, logId, last, isErased, isLeftOut, isErasedNow }: Expected,
): Finding | Header {
  const at = `event ${position}`;
  if (row.position !== position) return `${at} is missing: the next one is at position ${row.position}`;
  // Headers are ASCII, so bytes that are no valid UTF-8 cannot be read as the text that was there before.
  const header = parseHeader(row.header);
  if (!header || encodeHeader(header) !== row.header) {
    return `${at}: its header is not one of canonical JSON`;
  }
  if (header.log !== logId) return `${at} belongs to another log`;
  const differing = differingRow(row, header);
  if (differing !== null) return `${at}: ${differing}`;
  if (header.recordedAt < last && header.stream !== clockStream)
    return `${at} was recorded before event ${position - 1}`;
  if (row.body === null)
    return [isErased, isLeftOut, isErasedNow].some((is) => is(row)) ? header : `${at}: its payload is missing`;
  if (isErased(row)) return `${at} (${header.stream}): its payload was erased, and is there`;
  if (header.type === 'document.erased' && !row.isErasure)
    return `${at} erased something, and is not among the erasures`;
  const wrong = wrongPayload(db, row);
  if (wrong === null) return header;
  return row.enc === 0 ? `${at} (${header.stream}): ${wrong}` : `${at}: ${wrong}`;
}

/** Each stream has the versions 1, 2, 3 … in this order; read from the index, which SQLite has just checked. */
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

/** Each event was seen with its payload, or without one that was erased: what is left is a payload of no event. */
function checkCounts(db: Sqlite): Finding | null {
  const extra = db.prepare('SELECT position FROM payloads WHERE position < 1 OR position > (SELECT size FROM head)');
  const position = extra.pluck().get();
  return position === undefined ? null : `there is a payload of event ${position}, which there is not`;
}

/** The guards against honest mistakes must be the ones the log was made with. */
function checkTriggers(db: Sqlite): Finding | null {
  const isSame = isDeepStrictEqual(schemaOf(db), expectedSchema(formatOf(db)));
  return isSame ? null : 'the tables or triggers of log.db are not those of an Annals log';
}

/** Fills tiles as the log did, and holds each against the stored one. @param isLive whether the last of a level may have grown. */
function tileChecker(db: Sqlite, isLive: boolean) {
  const select = db
    .prepare<[level: number, index: number], Buffer>('SELECT hashes FROM tiles WHERE level = ? AND idx = ?')
    .pluck();
  const open: Buffer[][] = [];
  const counts: number[] = [];
  let wrong: Finding | null = null;
  /** The first events that are not those whose hash their tile holds. */
  let altered: { from: number; to: number } | null = null;
  let expected = 0;

  function add(height: number, node: Buffer): void {
    if (height % 8 !== 0) return;
    const level = height / 8;
    const tile = open[level] ?? [];
    open[level] = tile;
    tile.push(node);
    if (tile.length === tileWidth) close(level);
  }

  function close(level: number): void {
    const index = counts[level] ?? 0;
    counts[level] = index + 1;
    expected += 1;
    const stored = select.get(level, index);
    const hashes = open[level] ?? [];
    const isGrown = isLive && hashes.length < tileWidth;
    if (!(isGrown ? stored?.subarray(0, hashes.length * 32) : stored)?.equals(Buffer.concat(hashes))) {
      wrong ??= `tile ${level}/${index} does not follow from the events`;
      const at = hashes.findIndex((hash, place) => !stored?.subarray(place * 32, (place + 1) * 32).equals(hash));
      const each = tileWidth ** level;
      const from = (index * tileWidth + at) * each + 1;
      if (stored && at >= 0) altered ??= { from, to: from + each - 1 };
    }
    open[level] = [];
  }

  function finish(): Finding | null {
    // Level 0 is stored only when full; above it a tile grows with the tiles below.
    open.forEach((tile, level) => {
      if (level > 0 && tile.length > 0) close(level);
    });
    const stored = db.prepare<[], number>('SELECT count(*) FROM tiles').pluck().get() ?? 0;
    const isRight = isLive ? stored >= expected : stored === expected;
    return wrong ?? (isRight ? null : `there are ${stored} tiles, the events make ${expected}`);
  }

  /** Says which event was altered when the tree does not give the root: at its right edge no single hash is stored. */
  function blame(size: number): [Finding, { from: number; to: number }] {
    const { from, to } = altered ?? { from: (counts[0] ?? 0) * tileWidth + 1, to: size };
    const which = from === to ? `event ${from}` : `one of the events ${from} to ${to}`;
    const finding = `${which} was altered: the tree over ${size === 1 ? 'the one event' : `all ${size} events`} does not give the root of the head`;
    return [finding, { from, to }];
  }

  return { add, finish, blame };
}
