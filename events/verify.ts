import { isDeepStrictEqual } from 'node:util';
import type { JsonObject } from '../config/schema.ts';
import type { Sqlite } from '../storage/sqlite.ts';
import { clockStream } from './catalogue.ts';
import { commitmentOf, encodeHeader, type Header, type Payload } from './envelope.ts';
import { erasedStreams, staysErased } from './erasures.ts';
import { expectedSchema, isLog, schemaOf } from './log-file.ts';
import { type LogReader, readLog } from './log-reader.ts';
import { appendLeaf, leafHash, rootOf, type Tree, tileWidth } from './merkle.ts';

/** What was found to be wrong first, in words that name the event. */
export type Finding = string;

type Row = {
  position: number;
  id: string;
  stream: string;
  version: number;
  header: string;
  enc: number | null;
  body: string | number | null;
  isErasure: number;
};

const chunk = 500;

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
  const log = readLog(db);
  return (
    checkStructure(db) ??
    checkErasures(db) ??
    checkEvents(db, log, progress, look) ??
    checkVersions(db) ??
    checkCounts(db, log) ??
    checkTriggers(db)
  );
}

/** SQLite's own check, which also proves that the indexes say what the tables say. */
function checkStructure(db: Sqlite): Finding | null {
  const answer = db.pragma('integrity_check(1)', { simple: true });
  return answer === 'ok' ? null : `log.db is damaged: ${String(answer)}`;
}

/** Every row about an erasure must be of an event that is one; the reverse is looked for with the events. */
function checkErasures(db: Sqlite): Finding | null {
  const rows = db
    .prepare('SELECT position, header FROM erasures LEFT JOIN events USING (position) ORDER BY position')
    .all() as { position: number; header: string | null }[];
  const wrong = rows.find(({ header }) => !header || parseHeader(header)?.type !== 'document.erased');
  return wrong ? `event ${wrong.position} is among the erasures, and erased nothing` : null;
}

/**
 * Tells which payloads the events of a log have erased: a missing one is sound exactly when it was declared. What is read here
 * of those events is held against their commitments when their turn comes.
 */
function erasedPayloads(db: Sqlite): (header: Header) => boolean {
  const bodies = db.prepare('SELECT body FROM erasures JOIN payloads USING (position)').pluck();
  const versionsOf = new Map<string, number>();
  for (const body of bodies.all() as string[]) {
    for (const { stream, versions } of erasedStreams(dataIn(body))) {
      versionsOf.set(stream, Math.max(versionsOf.get(stream) ?? 0, versions));
    }
  }
  return ({ stream, version, type }) => version <= (versionsOf.get(stream) ?? 0) && !staysErased(type);
}

function dataIn(body: string): JsonObject | null {
  try {
    return (JSON.parse(body) as Payload | null)?.data ?? null;
  } catch {
    return null;
  }
}

function checkEvents(
  db: Sqlite,
  log: LogReader,
  progress: (done: number, total: number) => void,
  look: (header: Header) => void,
): Finding | null {
  const { size, root, log: logId, recordedAt } = log.head();
  const select = db.prepare(
    `SELECT position, id, stream, version, header, enc, body,
       EXISTS (SELECT 1 FROM erasures WHERE position = events.position) AS isErasure
     FROM events LEFT JOIN payloads USING (position) WHERE position > ? ORDER BY position LIMIT ${chunk}`,
  );
  const tree: Tree = { size: 0, nodes: [] };
  const tiles = tileChecker(db);
  const isErased = erasedPayloads(db);
  let last = '';
  for (;;) {
    const rows = select.all(tree.size) as Row[];
    for (const row of rows) {
      const finding = checkEvent(db, row, { position: tree.size + 1, logId, last, isErased });
      if (typeof finding === 'string') return finding;
      last = finding.recordedAt;
      look(finding);
      appendLeaf(tree, leafHash(row.header), tiles.add);
    }
    progress(tree.size, size);
    if (rows.length < chunk) break;
  }
  if (tree.size !== size) return `the log ends at position ${tree.size}, its head says ${size}`;
  if (!rootOf(tree).equals(root)) return tiles.blame(size);
  if (last !== recordedAt) return `the last event was recorded at ${last}, the head says ${recordedAt}`;
  return tiles.finish();
}

type Expected = { position: number; logId: string; last: string; isErased: (header: Header) => boolean };

function checkEvent(db: Sqlite, row: Row, { position, logId, last, isErased }: Expected): Finding | Header {
  const at = `event ${position}`;
  if (row.position !== position) return `${at} is missing: the next one is at position ${row.position}`;
  // Headers are ASCII, so bytes that are no valid UTF-8 cannot be read as the text that was there before.
  const header = parseHeader(row.header);
  if (!header || encodeHeader(header) !== row.header) {
    return `${at}: its header is not one of canonical JSON`;
  }
  if (header.log !== logId) return `${at} belongs to another log`;
  for (const name of ['position', 'id', 'stream', 'version'] as const) {
    if (header[name] !== row[name]) return `${at}: its row says ${name} ${row[name]}, its header ${header[name]}`;
  }
  if (header.recordedAt < last && header.stream !== clockStream)
    return `${at} was recorded before event ${position - 1}`;
  const mustBeGone = isErased(header);
  if (row.body === null) return mustBeGone ? header : `${at}: its payload is missing`;
  if (mustBeGone) return `${at} (${header.stream}): its payload was erased, and is there`;
  if (header.type === 'document.erased' && !row.isErasure)
    return `${at} erased something, and is not among the erasures`;
  if (row.enc !== 0) return `${at}: its payload has an unknown encoding ${row.enc}`;
  // Damage to what SQLite has before a row makes a number of a text.
  if (typeof row.body === 'number' || commitmentOf(bytesOf(db, row.body, position)) !== header.payload)
    return `${at} (${header.stream}): its payload is not the one committed to`;
  return header;
}

/** Bytes that are no valid UTF-8 are read as U+FFFD: where that stands in the text, only the bytes tell what it was. */
function bytesOf(db: Sqlite, body: string, position: number): string | Buffer {
  if (!body.includes('\uFFFD')) return body;
  return db.prepare('SELECT CAST(body AS BLOB) FROM payloads WHERE position = ?').pluck().get(position) as Buffer;
}

function parseHeader(text: string): Header | null {
  try {
    const header = JSON.parse(text) as Header | null;
    return header?.actor ? header : null;
  } catch {
    return null;
  }
}

/** Fills tiles as the log did, and holds each against the stored one. */
function tileChecker(db: Sqlite) {
  const select = db.prepare('SELECT hashes FROM tiles WHERE level = ? AND idx = ?').pluck();
  const open: Buffer[][] = [];
  const counts: number[] = [];
  let wrong: Finding | null = null;
  /** The first event that is not the one whose hash its tile holds. */
  let altered: number | null = null;
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
    const stored = select.get(level, index) as Buffer | undefined;
    const hashes = open[level] ?? [];
    if (!stored?.equals(Buffer.concat(hashes))) {
      wrong ??= `tile ${level}/${index} does not follow from the events`;
      const at = hashes.findIndex((hash, place) => !stored?.subarray(place * 32, (place + 1) * 32).equals(hash));
      if (level === 0 && stored) altered ??= index * tileWidth + at + 1;
    }
    open[level] = [];
  }

  function finish(): Finding | null {
    // Level 0 is stored only when full; above it a tile grows with the tiles below.
    open.forEach((tile, level) => {
      if (level > 0 && tile.length > 0) close(level);
    });
    const stored = db.prepare('SELECT count(*) FROM tiles').pluck().get();
    return wrong ?? (stored === expected ? null : `there are ${stored} tiles, the events make ${expected}`);
  }

  /** Says which event was altered when the tree does not give the root: at its right edge no single hash is stored. */
  function blame(size: number): Finding {
    const full = (counts[0] ?? 0) * tileWidth;
    const which = altered ? `event ${altered}` : `one of the events ${full + 1} to ${size}`;
    return `${which} was altered: the tree over all ${size} events does not give the root of the head`;
  }

  return { add, finish, blame };
}

/** Each stream has the versions 1, 2, 3 … in this order; read from the index, which SQLite has just checked. */
function checkVersions(db: Sqlite): Finding | null {
  const row = db
    .prepare(
      `SELECT position, stream, version, place FROM (
         SELECT position, stream, version, row_number() OVER streams AS place, lag(position, 1, 0) OVER streams AS before
         FROM events WINDOW streams AS (PARTITION BY stream ORDER BY version)
       ) WHERE version <> place OR before > position ORDER BY position LIMIT 1`,
    )
    .get() as { position: number; stream: string; version: number; place: number } | undefined;
  if (!row) return null;
  return `event ${row.position} is version ${row.version} of ${row.stream}, which is not the next one there`;
}

/** Each event was seen with its payload, or without one that was erased: what is left is a payload of no event. */
function checkCounts(db: Sqlite, log: LogReader): Finding | null {
  const extra = db.prepare('SELECT position FROM payloads WHERE position < 1 OR position > ? LIMIT 1').pluck();
  const position = extra.get(log.head().size);
  return position === undefined ? null : `there is a payload of event ${position}, which there is not`;
}

/** The guards against honest mistakes must be the ones the log was made with. */
function checkTriggers(db: Sqlite): Finding | null {
  const isSame = isDeepStrictEqual(schemaOf(db), expectedSchema());
  return isSame ? null : 'the tables or triggers of log.db are not those of an Annals log';
}
