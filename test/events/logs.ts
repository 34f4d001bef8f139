import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import type { Header } from '../../events/facts/envelope.ts';
import type { Change, Claim, Command, Outcome } from '../../events/facts/log.ts';
import { readLog } from '../../events/log/log-reader.ts';
import { openLog, type SqliteLog } from '../../events/log/sqlite-log.ts';
import { macOf, type Seals, sealKeyOf } from '../../events/proof/seals.ts';
import { createIds, type Ids } from '../../events/store/ids.ts';
import { createLog } from '../../events/store/log-file.ts';
import { deleteGuard, eventGuards, eventIndexes, formerEvents } from '../../events/store/log-tables.ts';
import { openVault } from '../../events/vault/vault.ts';
import { openDatabase, type Sqlite } from '../../storage/sqlite.ts';
import { temporaryFolder } from '../helpers/service.ts';

export const noon = Date.parse('2026-11-20T12:00:00.000Z');

/** The key that seals the heads of logs in tests. */
export const seals: Seals = { key: Buffer.alloc(32, 7).toString('base64url'), sealed: [], known: [] };

/** The key in the vault of a folder, made if it is missing: a service can be started there. */
export function sealsIn(folder: string): Seals {
  mkdirSync(folder, { recursive: true });
  const vault = openVault(join(folder, 'vault.db'));
  const found = vault.seals();
  vault.close();
  return found;
}

/** Seals the present head of a log, as an owner of the key can. */
export function sealAnew(db: Sqlite, key: string): void {
  const head = readLog(db).head();
  db.prepare('UPDATE head SET mac = ?').run(macOf(sealKeyOf(key), head));
}

/** A log, with the parts from which it was made. */
export type Opened = { db: Sqlite; log: SqliteLog; clock: { now: number }; path: string; reopen: () => SqliteLog };

/** A log in a file of its own, with a clock that stands still until it is set. */
export function openTestLog(t: TestContext, makeIds?: (now: () => number) => Ids): Opened {
  const path = join(temporaryFolder(t), 'log.db');
  const clock = { now: noon };
  const now = () => clock.now;
  const ids = makeIds?.(now) ?? createIds(new BigInt64Array(new SharedArrayBuffer(8)), now);
  const db = openDatabase(path, { durability: 'full', shrinks: true });
  createLog(db, 'annals/test', seals.key);
  t.after(() => db.close());
  return { db, log: openLog(db, { ids, now, seals }), clock, path, reopen: () => openLog(db, { ids, now, seals }) };
}

export function change(stream: string, expectedVersion: number | null, rest: Partial<Change> = {}): Change {
  return {
    stream,
    expectedVersion,
    events: [{ type: 'document.updated', data: { set: { title: `${stream} after ${expectedVersion}` } } }],
    claims: [],
    releases: [],
    ...rest,
  };
}

export function command(stream: string, expectedVersion: number | null, rest: Partial<Command> = {}): Command {
  return { ...change(stream, expectedVersion), actor: { type: 'system' }, correlationId: 'test', context: {}, ...rest };
}

export function claim(value: string, scope = 'posts.slug'): Claim {
  return { scope, value: JSON.stringify(value) };
}

/** SQL that gives an event another header: that of an expression of its `header`. */
export function altering(position: number | string, expression: string): string {
  return `UPDATE events SET whole = (SELECT ${expression} FROM headers WHERE headers.position = events.position) WHERE position = ${position}`;
}

/** Brings the tables of a log back to an earlier format, as the version had them that made it. */
export function bringBack(db: Sqlite, format: 3 | 4): void {
  const rows = db.prepare<[], unknown[]>('SELECT position, id, stream, version, header FROM headers').raw().all();
  db.pragma('foreign_keys = 0');
  db.exec(`DROP VIEW headers; DROP TABLE events; ${formerEvents}`);
  const insert = db.prepare('INSERT INTO events VALUES (?, ?, ?, ?, ?)');
  for (const row of rows) insert.run(...row);
  db.exec(eventIndexes + eventGuards);
  if (format === 3) db.exec(`DROP TRIGGER payloads_delete; DROP TABLE segments; DROP TABLE removals; ${deleteGuard}`);
  db.pragma('foreign_keys = 1');
  db.pragma(`user_version = ${format}`);
}

/** The contents of every table, so that "leaves no trace" is a comparison. */
export function contentOf(db: Sqlite): Record<string, unknown[]> {
  const tables = ['head', 'events', 'payloads', 'claims', 'tiles'];
  return Object.fromEntries(tables.map((table) => [table, db.prepare(`SELECT * FROM ${table} ORDER BY 1, 2`).all()]));
}

export function headersOf(db: Sqlite): Header[] {
  const texts = db.prepare('SELECT header FROM headers ORDER BY position').pluck().all() as string[];
  return texts.map((text) => JSON.parse(text) as Header);
}

export function positionsOf(outcomes: readonly (Outcome | Error)[]): (number | string)[] {
  return outcomes.map((outcome) => {
    if (outcome instanceof Error) return outcome.message;
    return outcome.ok ? outcome.position : outcome.conflict;
  });
}
