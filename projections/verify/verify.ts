import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { type Header, headerOf } from '../../events/facts/envelope.ts';
import { type LogReader, readLog } from '../../events/log/log-reader.ts';
import type { Finding } from '../../events/proof/seen-heads.ts';
import { lookAtTimes } from '../../events/store/clock-notes.ts';
import { BrokenLogError, isLog, openLogToRead } from '../../events/store/log-file.ts';
import { type AccountPassword, checkPasswords, type PasswordCheck } from '../../events/vault/passwords.ts';
import { verifyBesideEvents, verifyLog } from '../../events/verify/verify.ts';
import { makeTheLog, rangesOf } from '../../events/verify/verify-ranges.ts';
import { messageOf } from '../../storage/errors.ts';
import { isDamage, openDatabase, type Sqlite } from '../../storage/sqlite.ts';
import type { Helpers } from '../start/helpers.ts';
import { beginParallelBuild } from '../start/parallel-build.ts';
import { buildReadFile, catchUp, type EventSource, type Progress } from '../start/rebuild.ts';
import { checkClaims, claimsIn } from '../start/schema-fit.ts';
import { projectionOf } from '../tables/epochs.ts';
import { logFile, readFileOf, removeDatabase } from '../tables/files.ts';
import type { Projection } from '../tables/projection.ts';
import { openProjector } from '../tables/projector.ts';
import { checkAgainstReadFiles, checkpointsIn } from '../tables/read-file-checks.ts';
import { projectionHash } from '../tables/tables.ts';
import { compareReadFiles } from './compare.ts';
import { compareSearchFile, openSearchSnapshot, SearchDamage, type SearchSnapshot } from './verify-search.ts';

/** The result of a check: `finding` names the first fault, null if all is sound. */
export type VerifyResult = { finding: Finding | null; events: number; notes: string[] };

/**
 * `log` and `replay` are called with the progress; `keys` are the verifier keys of the log, whose checkpoints narrow
 * down where it was altered; `helpers` are other threads.
 */
type Steps = { log: Progress; replay: Progress; keys?: readonly string[]; helpers?: Helpers | null };

/** A read file held at one moment, with its position, and its search file. */
type ReadSnapshot = { db: Sqlite; position: number; search: SearchSnapshot | null };

const maxTries = 10;
const pauseMilliseconds = 100;
const sleeper = new Int32Array(new SharedArrayBuffer(4));

/**
 * Checks a data directory from the outside, beside a running server or without one.
 *
 * @param checkLog false: only whether the read tables equal a replay.
 */
export function verifyDirectory(directory: string, checkLog: boolean, steps: Steps): VerifyResult {
  const { helpers } = steps;
  // Several threads see the log at several moments, and each stops at its first finding: they are only believed if all
  // is sound.
  const verdict = helpers ? verdictWithHelpers(directory, checkLog, steps) : null;
  if (verdict && (verdict.finding === null || verdict.events < (helpers?.fewest ?? 0))) return verdict;
  try {
    return verifyFiles(directory, checkLog, { ...steps, helpers: null });
  } catch (error) {
    const finding = findingOf(error);
    if (finding === null) throw error;
    return { finding, events: 0, notes: [] };
  }
}

/** The verdict of several threads; null if anything failed. */
function verdictWithHelpers(directory: string, checkLog: boolean, steps: Steps): VerifyResult | null {
  try {
    return verifyFiles(directory, checkLog, steps);
  } catch {
    return null;
  }
}

/** A check under way; `snapshot` is closed at its end. */
type Check = {
  directory: string;
  checkLog: boolean;
  steps: Steps;
  db: Sqlite;
  log: LogReader;
  /** The path of the read file that the log is replayed into. */
  replayFile: string;
  snapshot: ReadSnapshot | null;
  notes: string[];
};

function verifyFiles(directory: string, checkLog: boolean, steps: Steps): VerifyResult {
  const db = openLogToRead(logFile(directory), 64);
  const replayFile = readFileOf(directory, 'verify').replace('verify.db', `0.db.verify-${process.pid}`);
  let check: Check | null = null;
  try {
    check = { directory, checkLog, steps, db, log: readLog(db), replayFile, snapshot: null, notes: [] };
    return verdictOf(check);
  } finally {
    if (check?.snapshot) closeSnapshot(check.snapshot);
    db.close();
    removeDatabase(replayFile);
  }
}

function verdictOf(check: Check): VerifyResult {
  const { directory, checkLog, steps, db, log, replayFile } = check;
  const witnesses = checkpointsIn(directory);
  const unread = holdSnapshot(check);
  const events = log.head().size;
  const verdict = (finding: Finding | null, notes: string[] = []): VerifyResult => ({ finding, events, notes });
  const isBehind = leaveOutErased(check);
  const { snapshot } = check;
  const upTo = snapshot?.position ?? events;
  const times = lookAtTimes(Date.now());
  const source = { log, upTo: snapshot?.search?.position ?? upTo, progress: steps.replay };
  const isReplayed =
    steps.helpers &&
    replayInParallel({ db, read: snapshot?.db, path: replayFile, checkLog, look: times.look }, source, steps.helpers);
  const damage = checkLog && !isReplayed ? verifyLog(db, steps.log, times.look) : null;
  if (damage) return verdict(damage);
  checkAgainstReadFiles(witnesses, log, () => log.signedHeads(steps.keys ?? []));
  // The log is not to blame.
  if (unread) throw unread;
  const made = projectionOf(log);
  if (!made) return verdict(null, ['the log is empty: no service has been started on it yet']);

  if (!isReplayed) buildReadFile(replayFile, withoutIndexes(made.projection), source);
  const replay = openDatabase(replayFile, { durability: 'off' });
  try {
    const replayTo = (position: number) => catchUp(openProjector(replay, made.projection), { log, upTo: position });
    const searched =
      snapshot?.search &&
      compareSearchFile(snapshot.search, { replay, schema: made.schema, path: `${replayFile}-search` });
    if (snapshot) closeSearch(snapshot);
    replayTo(upTo);
    const difference =
      snapshot &&
      ((isReplayed ? null : checkFile(snapshot.db)) ?? compareReadFiles(snapshot.db, replay, made.projection.tables));
    if (difference) return verdict(`read tables: ${difference}`);
    if (searched) return verdict(searched);
    // It holds both files at one moment, and the replay continues now.
    snapshot?.db.exec('COMMIT');
    replayTo(events);
    const passwords = checkLog ? passwordsOf(directory, replay) : { finding: null, notes: [] };
    check.notes.push(...times.notes(), ...passwords.notes);
    if (!snapshot && !isBehind) check.notes.push('there are no read tables; the next start builds them');
    return verdict(checkClaims(db, claimsIn(replay, made.schema)) ?? passwords.finding, check.notes);
  } finally {
    replay.close();
  }
}

/**
 * Holds the read file and then the log at one moment each, so the log is always at least as far.
 *
 * @returns the error for which the read file could not be held; null for none.
 */
function holdSnapshot(check: Check): unknown {
  const { db, log, directory } = check;
  let unread: unknown = null;
  try {
    check.snapshot = openSnapshot(log, directory);
  } catch (error) {
    unread = error;
  }
  db.exec('BEGIN');
  // The read file still has payloads that were erased between the two moments, and no replay makes them any more.
  for (let tries = 1; tries < maxTries && check.snapshot && isAhead(db, log, check.snapshot); tries += 1) {
    db.exec('COMMIT');
    closeSnapshot(check.snapshot);
    check.snapshot = null;
    Atomics.wait(sleeper, 0, 0, pauseMilliseconds);
    check.snapshot = openSnapshot(log, directory);
    db.exec('BEGIN');
  }
  return unread;
}

/**
 * Leaves out files that are behind an erasure, for their process was killed in between: a replay up to there lacks what
 * was erased.
 *
 * @returns whether the read tables are left out.
 */
function leaveOutErased(check: Check): boolean {
  const { db, log, notes, snapshot } = check;
  if (snapshot?.search && erasedAfter(db, log, snapshot.search.position)) {
    notes.push('the search index is behind an erasure, so it was not looked at: the next start brings it up to date');
    closeSearch(snapshot);
  }
  if (!snapshot || !erasedAfter(db, log, snapshot.position)) return false;
  notes.push(
    'the read tables are behind an erasure, so they were not looked at: the next start brings them up to date',
  );
  closeSnapshot(snapshot);
  check.snapshot = null;
  return true;
}

/** The time to check the structure of the log's file and of the read file, as a share of replaying the log. */
const structureShare = { log: 0.08, read: 0.05 };

type Files = { db: Sqlite; read: Sqlite | undefined; path: string; checkLog: boolean; look: (header: Header) => void };

/**
 * Checks the log, if `checkLog`, and the structure of the read tables, and replays the log, with other threads. False
 * if that is not worth it.
 *
 * @throws Error if anything is not sound.
 */
function replayInParallel(
  { db, read, path, checkLog, look }: Files,
  source: EventSource & { upTo: number },
  helpers: Helpers,
): boolean {
  const { log, upTo, progress } = source;
  const head = log.head();
  if (head.size < helpers.fewest) return false;
  const made = projectionOf(log);
  const threads = helpers.threads - 1;
  const ranges = checkLog ? rangesOf(db.name, head.size, threads).map((range) => [range]) : [];
  const alsoOwn = (checkLog ? structureShare.log : 0) + (read ? structureShare.read : 0);
  const making =
    made &&
    beginParallelBuild({
      path,
      made: withoutIndexes(made.projection),
      db,
      log,
      upTo,
      helpers,
      ranges,
      alsoOwn,
      progress,
    });
  if (!making) return false;
  try {
    const finding = (checkLog ? verifyBesideEvents(db) : null) ?? (read ? checkFile(read) : null);
    if (finding !== null) throw new Error(finding);
    const found = making.finish(look);
    if (!found || (checkLog && !makeTheLog(db, head, found))) throw new Error('not all is sound');
    for (let position = upTo; position < head.size; position += headersAtOnce)
      for (const text of log.headers(position, Math.min(position + headersAtOnce, head.size))) look(headerOf(text));
    return true;
  } finally {
    making.end();
  }
}

const headersAtOnce = 1000;

/**
 * A projection without indexes. Only rows are compared: SQLite has checked the indexes of the live file against its
 * tables.
 */
function withoutIndexes(projection: Projection): Projection {
  return { ...projection, tables: projection.tables.map((one) => ({ ...one, indexes: [] })) };
}

function openSnapshot(log: LogReader, directory: string): ReadSnapshot | null {
  const made = projectionOf(log);
  const path = made && readFileOf(directory, projectionHash(made.schema, made.projection.upcaster));
  if (!path || !existsSync(path)) return null;
  // Held before the read file, which then is at least as far.
  const search = openSearchSnapshot(path, made.schema);
  const db = openDatabase(path, { readonly: true, cacheMiB: 64 });
  try {
    db.exec('BEGIN');
    // A new file has no checkpoint before its first event.
    const position = db.prepare<[], number>('SELECT position FROM checkpoint').pluck().get() ?? 0;
    const snapshot = { db, position, search };
    // A search file that is ahead was made from other read tables, so the next start makes it anew.
    if (search && search.position > position) closeSearch(snapshot);
    return snapshot;
  } catch (error) {
    db.close();
    search?.db.close();
    throw error;
  }
}

function closeSnapshot(snapshot: ReadSnapshot): void {
  closeSearch(snapshot);
  snapshot.db.close();
}

function closeSearch(snapshot: ReadSnapshot): void {
  snapshot.search?.db.close();
  snapshot.search = null;
}

/** Whether something was erased that the read file or the search file still has. */
function isAhead(db: Sqlite, log: LogReader, { position, search }: ReadSnapshot): boolean {
  return erasedAfter(db, log, Math.min(position, search?.position ?? position));
}

function erasedAfter(db: Sqlite, log: LogReader, position: number): boolean {
  return isLog(db) && log.erasures.newest() > position;
}

function checkFile(db: Sqlite): string | null {
  const answer = db.pragma('integrity_check(1)', { simple: true });
  return answer === 'ok' ? null : String(answer);
}

/** Compares the vault with the newest password of each account in a replay of the log. */
function passwordsOf(directory: string, replay: Sqlite): PasswordCheck {
  const vault = join(directory, 'vault.db');
  if (!existsSync(vault)) return { finding: null, notes: [] };
  const select = replay.prepare<[], AccountPassword>(
    'SELECT stream, credential FROM accounts WHERE credential IS NOT NULL ORDER BY stream',
  );
  return checkPasswords(vault, select.iterate());
}

/** Errors of SQLite or of our own reading over a damaged file are findings; any other error is not about the file. */
function findingOf(error: unknown): Finding | null {
  if (error instanceof BrokenLogError || error instanceof SearchDamage) return error.message;
  return isDamage(error) ? `damaged: ${messageOf(error)}` : null;
}
