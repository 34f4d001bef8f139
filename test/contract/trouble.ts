import assert from 'node:assert/strict';
import { once } from 'node:events';
import { globSync, rmSync, statfsSync, writeFileSync } from 'node:fs';
import { request as open } from 'node:http';
import { dirname, join } from 'node:path';
import Database from 'better-sqlite3';
import { openLog } from '../../events/log/sqlite-log.ts';
import { createIds } from '../../events/store/ids.ts';
import { codeOf } from '../../storage/errors.ts';
import { emptyWal } from '../../storage/scrub.ts';
import { openDatabase, withDatabase } from '../../storage/sqlite.ts';
import { sealsIn } from '../events/logs.ts';
import { type Answer, apiKey } from '../helpers/service.ts';
import { acceptance, type Operation, rightCall } from './calls.ts';
import { type Call, password, type World } from './world.ts';

/** A call that is made when the service is in trouble, prepared before. */
export type Prepared = Operation & { call: Call };

/** Prepares calls that would succeed, with the tokens of mails. */
export async function prepare(world: World, operations: readonly Operation[]): Promise<Prepared[]> {
  const prepared: Prepared[] = [];
  for (const operation of operations) {
    const { kind, slug } = operation;
    const call = await rightCall(world, operation);
    if (kind === 'acceptInvite') call.body = acceptance(slug, await world.inviteToken(slug));
    if (kind === 'resetPassword') call.body = { token: await world.resetToken(slug), password };
    prepared.push({ ...operation, call });
  }
  return prepared;
}

/** Makes prepared calls one after the other, each of which must have this answer. */
export async function expectAll(world: World, status: number, prepared: readonly Prepared[]): Promise<void> {
  for (const { name, call } of prepared) {
    const answer = await world.send(name, call);
    assert.equal(answer.status, status, `${name}: ${JSON.stringify(answer.body)}`);
  }
}

/**
 * Begins calls whose bodies never come whole; gives what waits until they are answered, and gives what asserts that
 * they are so.
 */
export function stall(world: World, prepared: readonly Prepared[]): () => Promise<() => void> {
  const calls = prepared.map(async ({ name, call }) => ({ name, answer: await begin(world, name, call) }));
  const all = Promise.all(calls);
  all.catch(() => {});
  return async () => {
    const answers = await all;
    return () => {
      for (const { name, answer } of answers) {
        assert.equal(answer.status, 408, `${name}: ${JSON.stringify(answer.body)}`);
        world.contract.check(name, answer);
      }
    };
  };
}

async function begin(world: World, name: string, { path, body, key = apiKey, headers }: Call): Promise<Answer> {
  const [method = ''] = name.split(' ');
  const type = body instanceof FormData ? 'multipart/form-data; boundary=x' : 'application/json';
  const call = open(world.url + path, {
    method,
    agent: false,
    headers: {
      ...world.needed(name),
      'content-type': type,
      'content-length': '100',
      ...(key === null ? {} : { 'x-api-key': key }),
      ...headers,
    },
  });
  call.on('error', () => {});
  call.write(body instanceof FormData ? '--x\r\n' : '{');
  const [response] = await once(call, 'response');
  const text = await new Response(response).text();
  call.destroy();
  return { status: response.statusCode, headers: new Headers(response.headers), body: JSON.parse(text) };
}

/** Writes a file that takes all the room of its disk. */
export function takeRoom(path: string): void {
  const { bavail, bsize } = statfsSync(dirname(path));
  try {
    writeFileSync(path, Buffer.alloc(Number(bavail) * Number(bsize)));
  } catch (error) {
    // Full all the same: the service has taken some of the room in between.
    if (codeOf(error) !== 'ENOSPC') throw error;
  }
}

/** Fills a disk until the service has no room for the smallest write, and gets none; gives what makes room again. */
export async function fill(world: Pick<World, 'send'>, folder: string): Promise<() => Promise<void>> {
  const data = join(folder, 'data');
  // A write-ahead log that was longer once has room for small writes.
  withDatabase(join(data, 'vault.db'), { durability: 'full', cacheMiB: 1 }, emptyWal);
  // lock.db is read by the service alone.
  const readers = globSync('!(lock).db', { cwd: data }).map((name) => readOn(join(data, name)));
  const ballasts: string[] = [];
  const keys = await makeKeys(world);
  do {
    const ballast = join(folder, `ballast-${ballasts.length}`);
    ballasts.push(ballast);
    takeRoom(ballast);
  } while ((await useUp(world)) || (await revoke(world, keys)));
  return async () => {
    for (const ballast of ballasts) rmSync(ballast);
    for (const reader of readers) reader.close();
    for (const id of keys) await world.send('DELETE /api/keys/{id}', { path: `/api/keys/${id}` });
  };
}

async function makeKeys({ send }: Pick<World, 'send'>): Promise<string[]> {
  const ids: string[] = [];
  for (let made = 0; made < 12; made += 1) {
    const { body } = await send('POST /api/keys', { path: '/api/keys', body: { name: 'of a full disk' } });
    ids.push(body.id);
  }
  return ids;
}

/**
 * Revokes keys until that is refused: a document that does not fit leaves a longer write-ahead log, in which a smaller
 * event has room. @returns whether one was revoked.
 */
async function revoke({ send }: Pick<World, 'send'>, keys: string[]): Promise<boolean> {
  for (let revoked = 0; ; revoked += 1) {
    const id = keys.pop();
    assert.ok(id !== undefined, 'there is room still');
    const { status } = await send('DELETE /api/keys/{id}', { path: `/api/keys/${id}` });
    if (status === 503) return revoked > 0;
  }
}

/** Reads on: the write-ahead log of a database is neither begun anew nor cut until the reader closes. */
function readOn(path: string): Database.Database {
  const reader = new Database(path, { readonly: true });
  reader.exec('BEGIN');
  reader.prepare('SELECT count(*) FROM sqlite_schema').get();
  return reader;
}

/**
 * Writes until writes are refused, to use up the free pages inside the files of the log. @returns whether one was
 * accepted.
 */
async function useUp(world: Pick<World, 'send'>): Promise<boolean> {
  const path = '/api/collections/hooked';
  let written = 0;
  for (let refused = 0; refused < 3; ) {
    assert.ok(written < 20_000, 'there is room still');
    const text = refused > 0 ? 'x' : 'x'.repeat(40_000);
    const { status } = await world.send(`POST ${path}`, { path, body: { text } });
    refused = status === 503 ? refused + 1 : 0;
    if (refused === 0) written += 1;
  }
  return written > 0;
}

/** Locks the search file, so that it stays behind the log. @returns a function that unlocks it. */
export function holdSearch(data: string): () => void {
  const [file = ''] = globSync('search-*.db', { cwd: data });
  const db = openDatabase(join(data, file));
  db.exec('BEGIN IMMEDIATE');
  return () => {
    db.exec('ROLLBACK');
    db.close();
  };
}

/**
 * Has the log say what the read tables do not show, and never will: that everything that there is has been changed
 * since. To whom changes something, it is as if others always came first.
 *
 * @returns a position that the read tables do not come up to.
 */
export function overtake(data: string): number {
  const db = openDatabase(join(data, 'log.db'), { durability: 'full' });
  const log = openLog(db, {
    ids: createIds(new BigInt64Array(new SharedArrayBuffer(8)), Date.now),
    now: Date.now,
    seals: sealsIn(data),
  });
  const ofOthers = "stream NOT LIKE 'system/%' OR stream = 'system/api-keys'";
  const streams = db.prepare(`SELECT DISTINCT stream FROM events WHERE ${ofOthers}`).pluck().all();
  // Writes as a second writer would, which the lock of the directory keeps out: the log is whole, and the first one
  // does not know of it.
  const rivals = (streams as string[]).map((stream) => ({
    stream,
    expectedVersion: null,
    events: [{ type: 'document.updated' as const, data: { set: {}, unset: [] } }],
    claims: [],
    releases: [],
    actor: { type: 'system' as const },
    correlationId: 'rival',
    context: {},
  }));
  log.append(rivals);
  const { size } = log.head();
  db.close();
  return size;
}

/** Takes away all that the service reads. */
export function damage(data: string): void {
  const [file = ''] = globSync('read-*.db', { cwd: data });
  const db = new Database(join(data, file));
  const tables = db.prepare("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite%'").pluck();
  db.pragma('foreign_keys = off');
  for (const name of tables.all()) db.exec(`DROP TABLE "${name}"`);
  db.close();
}
