import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { lookAtTimes } from '../events/clock-notes.ts';
import { BrokenLogError, isLog, openLogToRead } from '../events/log-file.ts';
import { type LogReader, readLog } from '../events/log-reader.ts';
import { type AccountPassword, checkPasswords, type PasswordCheck } from '../events/passwords.ts';
import type { Finding } from '../events/seen-heads.ts';
import { verifyLog } from '../events/verify.ts';
import { messageOf } from '../storage/errors.ts';
import { isDamage, openDatabase, type Sqlite } from '../storage/sqlite.ts';
import { accountTables } from './account-fold.ts';
import { apiKeyTable } from './api-keys.ts';
import { auditTables } from './audit.ts';
import { projectionOf } from './epochs.ts';
import { logFile, readFileOf, removeDatabase } from './files.ts';
import { claimsIn } from './fit.ts';
import { openProjector } from './projector.ts';
import { buildReadFile, catchUp, type Progress } from './rebuild.ts';
import { checkAgainstReadFiles, checkpointsIn } from './seen.ts';
import { createIndexes, createTables, projectionHash, quote, type Tables } from './tables.ts';
import { compareSearchFile, openSearchSnapshot, SearchDamage, type SearchSnapshot } from './verify-search.ts';

/** The result of a check: `finding` names the first thing wrong, null when all is sound. */
export type Verdict = { finding: Finding | null; events: number; notes: string[] };

/** Told how far it has come; `keys` are the verifier keys of the log, whose checkpoints tell between which of them it was altered. */
type Steps = { log: Progress; replay: Progress; keys?: readonly string[] };

/** A read file held at one moment, with the position it has reached, and the search file that goes with it. */
type Snapshot = { db: Sqlite; position: number; search: SearchSnapshot | null };

const maxTries = 10;
const pauseMilliseconds = 100;
const sleeper = new Int32Array(new SharedArrayBuffer(4));

/**
 * Checks a data directory from the outside, beside a running server or without one.
 *
 * @param checkLog false: only whether the read tables equal a replay.
 */
export function verifyDirectory(directory: string, checkLog: boolean, steps: Steps): Verdict {
  try {
    return verifyFiles(directory, checkLog, steps);
  } catch (error) {
    const finding = findingOf(error);
    if (finding === null) throw error;
    return { finding, events: 0, notes: [] };
  }
}

function verifyFiles(directory: string, checkLog: boolean, steps: Steps): Verdict {
  const db = openLogToRead(logFile(directory), 64);
  const replayFile = readFileOf(directory, 'verify').replace('verify.db', `0.db.verify-${process.pid}`);
  let snapshot: Snapshot | null = null;
  try {
    const log = readLog(db);
    const witnesses = checkpointsIn(directory);
    let unread: unknown = null;
    try {
      snapshot = openSnapshot(log, directory);
    } catch (error) {
      // Told below if it is not the log that is to blame.
      unread = error;
    }
    // The log after the read file: it is always at least as far.
    db.exec('BEGIN');
    // The read file still has the payloads that were erased in between, and no replay makes them any more.
    for (let tries = 1; tries < maxTries && snapshot && isAhead(db, log, snapshot); tries += 1) {
      db.exec('COMMIT');
      closeSnapshot(snapshot);
      snapshot = null;
      Atomics.wait(sleeper, 0, 0, pauseMilliseconds);
      snapshot = openSnapshot(log, directory);
      db.exec('BEGIN');
    }
    const events = log.head().size;
    const verdict = (finding: Finding | null, notes: string[] = []): Verdict => ({ finding, events, notes });

    const times = lookAtTimes(Date.now());
    const damage = checkLog ? verifyLog(db, steps.log, times.look) : null;
    if (damage) return verdict(damage);
    checkAgainstReadFiles(witnesses, log, () => log.signedHeads(steps.keys ?? []));
    if (unread) throw unread;
    const made = projectionOf(log);
    if (!made) return verdict(null, ['the log is empty: no service has been started on it yet']);

    const { projection, schema } = made;
    const notes: string[] = [];
    if (snapshot?.search && erasedAfter(db, log, snapshot.search.position)) {
      notes.push('the search index is behind an erasure, so it was not looked at: the next start brings it up to date');
      closeSearch(snapshot);
    }
    const upTo = snapshot?.position ?? events;
    const bare = { ...projection, tables: projection.tables.map((one) => ({ ...one, indexes: [] })) };
    buildReadFile(replayFile, bare, { log, upTo: snapshot?.search?.position ?? upTo, progress: steps.replay });
    const replay = openDatabase(replayFile, { durability: 'off' });
    try {
      const goOn = (position: number) =>
        catchUp(openProjector(replay, projection.tables, projection.upcaster), { log, upTo: position });
      const searched =
        snapshot?.search && compareSearchFile(snapshot.search, { replay, schema, path: `${replayFile}-search` });
      if (snapshot) closeSearch(snapshot);
      goOn(upTo);
      const difference =
        snapshot && (checkFile(snapshot.db) ?? compareReadFiles(snapshot.db, replay, projection.tables));
      if (difference) return verdict(`read tables: ${difference}`);
      if (searched) return verdict(searched);
      // It holds both files at one moment, and the replay goes on now.
      snapshot?.db.exec('COMMIT');
      goOn(events);
      const passwords = checkLog ? passwordsOf(directory, replay) : { finding: null, notes: [] };
      notes.push(...times.notes(), ...passwords.notes);
      if (!snapshot) notes.push('there are no read tables; the next start builds them');
      return verdict(checkClaims(db, claimsIn(replay, schema)) ?? passwords.finding, notes);
    } finally {
      replay.close();
    }
  } finally {
    if (snapshot) closeSnapshot(snapshot);
    db.close();
    removeDatabase(replayFile);
  }
}

function openSnapshot(log: LogReader, directory: string): Snapshot | null {
  const made = projectionOf(log);
  const path = made && readFileOf(directory, projectionHash(made.schema, made.projection.upcaster));
  if (!path || !existsSync(path)) return null;
  // Before the read file, which then is at least as far.
  const search = openSearchSnapshot(path, made.schema);
  const db = openDatabase(path, { readonly: true, cacheMiB: 64 });
  try {
    db.exec('BEGIN');
    // A new file has no checkpoint before its first event.
    const position = db.prepare<[], number>('SELECT position FROM checkpoint').pluck().get() ?? 0;
    const snapshot = { db, position, search };
    // One that is ahead was made of other read tables, so the next start makes it anew.
    if (search && search.position > position) closeSearch(snapshot);
    return snapshot;
  } catch (error) {
    db.close();
    search?.db.close();
    throw error;
  }
}

function closeSnapshot(snapshot: Snapshot): void {
  closeSearch(snapshot);
  snapshot.db.close();
}

function closeSearch(snapshot: Snapshot): void {
  snapshot.search?.db.close();
  snapshot.search = null;
}

/** Whether something was erased that the read file or the search file still has. */
function isAhead(db: Sqlite, log: LogReader, { position, search }: Snapshot): boolean {
  return erasedAfter(db, log, Math.min(position, search?.position ?? position));
}

function erasedAfter(db: Sqlite, log: LogReader, position: number): boolean {
  return isLog(db) && log.erasures.newest() > position;
}

function checkFile(db: Sqlite): string | null {
  const answer = db.pragma('integrity_check(1)', { simple: true });
  return answer === 'ok' ? null : String(answer);
}

/** Holds the vault against the newest password of each account, as a replay of the log has it. */
function passwordsOf(directory: string, replay: Sqlite): PasswordCheck {
  const vault = join(directory, 'vault.db');
  if (!existsSync(vault)) return { finding: null, notes: [] };
  const select = replay.prepare<[], AccountPassword>(
    'SELECT stream, credential FROM accounts WHERE credential IS NOT NULL ORDER BY stream',
  );
  return checkPasswords(vault, select.iterate());
}

function checkClaims(db: Sqlite, expected: ReturnType<typeof claimsIn>): Finding | null {
  const select = db.prepare('SELECT stream FROM claims WHERE scope = ? AND value = ?').pluck();
  let count = 0;
  for (const { claim, stream } of expected) {
    count += 1;
    const { scope, value, former } = claim;
    const holder = select.get(scope, value);
    const isHeld = holder === stream || (former !== undefined && select.get(scope, former) === stream);
    if (!isHeld) return `claims: ${claim.scope} = ${claim.value} is held by ${holder ?? 'no stream'}, not by ${stream}`;
  }
  const stored = db.prepare('SELECT count(*) FROM claims').pluck().get();
  return stored === count ? null : `claims: ${stored} are stored, the documents make ${count}`;
}

/** Errors of SQLite or of our own reading over a damaged file are findings; any other error is not about the file. */
function findingOf(error: unknown): Finding | null {
  if (error instanceof BrokenLogError || error instanceof SearchDamage) return error.message;
  return isDamage(error) ? `damaged: ${messageOf(error)}` : null;
}

/**
 * Compares two read files row by row and byte by byte. Call it with `live` in a read transaction where a server may be
 * writing.
 *
 * @returns null when they are equal, else a sentence naming the first difference.
 */
function compareReadFiles(live: Sqlite, replay: Sqlite, tables: readonly Tables[]): string | null {
  // SQLite looks into both at once.
  live.prepare('ATTACH ? AS replay').run(replay.name);
  for (const { documents, texts, versions, pastTexts, linkTable, pastLinks } of tables) {
    const difference =
      compareTable(live, documents, { key: 'key' }) ??
      compareTable(live, texts, { key: 'key' }) ??
      compareTable(live, versions, { key: 'valid_to', madeBy: 'valid_from' }) ??
      compareTable(live, pastTexts, { key: 'valid_from' }) ??
      (linkTable ? (compareWhole(live, replay, linkTable) ?? compareWhole(live, replay, pastLinks)) : null);
    if (difference) return difference;
  }
  const difference = compareTable(live, auditTables.events, { key: 'position' });
  if (difference) return difference;
  const others = ['counts', 'erasures', 'checkpoint'];
  for (const table of [...accountTables, apiKeyTable, auditTables.words, auditTables.batches, ...others]) {
    const difference = compareWhole(live, replay, table);
    if (difference) return difference;
  }
  return compareSchemas(live, tables);
}

/** The column that tells rows apart, and that which names the event that made a row. */
type Columns = { key: string; madeBy?: string };

/** Inside SQLite, which compares values as the bytes they are: no row has to be made into a JavaScript one. */
function compareTable(db: Sqlite, table: string, { key, madeBy = key }: Columns): string | null {
  // Computed columns cannot differ when the document does not.
  const columns = db
    .prepare<[table: string], string>("SELECT name FROM pragma_table_info(?, 'replay')")
    .pluck()
    .all(unquoted(table));
  const differs = columns.map((name) => `found.${quote(name)} IS NOT expected.${quote(name)}`).join(' OR ');
  const first = (sql: string) => db.prepare<[], number>(sql).pluck().get();
  const wrong = first(
    `SELECT expected.${madeBy} FROM replay.${table} AS expected LEFT JOIN main.${table} AS found USING (${key})
     WHERE found.${key} IS NULL OR ${differs} ORDER BY expected.${key} LIMIT 1`,
  );
  if (wrong !== undefined) return `${name(table)}: the row made by event ${wrong} is not what the log makes of it`;
  const extra = first(
    `SELECT ${madeBy} FROM main.${table} WHERE ${key} NOT IN (SELECT ${key} FROM replay.${table}) ORDER BY ${key} LIMIT 1`,
  );
  return extra === undefined ? null : `${name(table)}: the row made by event ${extra} is not in the log`;
}

function unquoted(table: string): string {
  return table.slice(1, -1).replaceAll('""', '"');
}

/** For small tables and those with a key of several columns. */
function compareWhole(live: Sqlite, replay: Sqlite, table: string): string | null {
  const sql = `SELECT * FROM ${table}`;
  const found = live.prepare(sql).raw().iterate();
  try {
    for (const row of replay.prepare(sql).raw().iterate()) {
      const { value } = found.next();
      if (JSON.stringify(row) !== JSON.stringify(value ?? null))
        return `${name(table)} is not what the log makes of it`;
    }
    return found.next().done ? null : `${name(table)} holds more than the log makes of it`;
  } finally {
    // A file with a query still open cannot be closed.
    found.return?.();
  }
}

/** Against an empty file: the replay has no indexes, for SQLite has checked those of the live one against its tables. */
function compareSchemas(live: Sqlite, tables: readonly Tables[]): string | null {
  const sql = 'SELECT name, sql FROM sqlite_schema ORDER BY type, name';
  const empty = openDatabase(':memory:');
  createTables(empty, tables);
  createIndexes(empty, tables);
  const isSame = JSON.stringify(live.prepare(sql).all()) === JSON.stringify(empty.prepare(sql).all());
  empty.close();
  return isSame ? null : 'the tables or indexes are not those of this schema';
}

function name(table: string): string {
  return `table ${table.startsWith('"') ? table : quote(table)}`;
}
