import assert from 'node:assert/strict';
import { cpSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import fc from 'fast-check';
import type { Config } from '../../config/define.ts';
import { decideLogin, decidePassword } from '../../events/facts/accounts.ts';
import { documentStream } from '../../events/facts/catalogue.ts';
import { writeSegment } from '../../events/segments/segment-writer.ts';
import type { Helpers, PieceResult } from '../../projections/start/helpers.ts';
import { verifyDirectory } from '../../projections/verify/verify.ts';
import { openHelpers } from '../../server/writer/helpers.ts';
import { openDatabase, type Sqlite, withDatabase } from '../../storage/sqlite.ts';
import { altering } from '../events/logs.ts';
import { category } from '../helpers/category.ts';
import { casesOf, runsOf } from '../helpers/runs.ts';
import { type Directory, dumpFile, findingIn, openDirectory, quickFolder } from './directory.ts';

const config: Config = {
  collections: [
    {
      slug: 'posts',
      fields: [
        { name: 'title', type: 'text', unique: true },
        { name: 'body', type: 'textarea' },
        { name: 'related', type: 'relationship', relationTo: 'posts', hasMany: true },
      ],
    },
    { slug: 'notes', fields: [{ name: 'about', type: 'relationship', relationTo: 'posts' }] },
    { slug: 'users', auth: true, fields: [{ name: 'name', type: 'text' }] },
  ],
  globals: [{ slug: 'site', fields: [{ name: 'name', type: 'text' }] }],
};

/** Three helper threads for any number of events, and the results that they gave; null if a piece failed. */
function watched(): { helpers: Helpers; given: (PieceResult[][] | null)[] } {
  const opened = openHelpers(3, 1);
  assert.ok(opened);
  const given: (PieceResult[][] | null)[] = [];
  const helpers: Helpers = {
    ...opened,
    begin(pieces, told) {
      const work = opened.begin(pieces, told);
      const finish = () => {
        const results = work.finish();
        given.push(results);
        return results;
      };
      return { ...work, finish };
    },
  };
  return { helpers, given };
}

type Step = {
  do: 'post' | 'note' | 'user' | 'site' | 'update' | 'remove' | 'erase' | 'login' | 'review';
  pick: number;
};

const step: fc.Arbitrary<Step> = fc.record({
  do: fc.oneof(
    { weight: 5, arbitrary: fc.constantFrom('post', 'note', 'user', 'site', 'login', 'review') },
    { weight: 6, arbitrary: fc.constant('update') },
    { weight: 1, arbitrary: fc.constantFrom('remove', 'erase') },
  ) as fc.Arbitrary<Step['do']>,
  pick: fc.nat({ max: 50 }),
});

/** Random writes, most of them on posts; some of their payloads are archived. */
function play(directory: Directory, steps: readonly Step[]): void {
  const posts: string[] = [];
  const users: string[] = [];
  for (const [index, { do: what, pick }] of steps.entries()) {
    const post = posts[pick % Math.max(1, posts.length)];
    const user = users[pick % Math.max(1, users.length)];
    const values = { title: `t${index}`, body: 'x'.repeat(pick * 20), related: posts.slice(pick % 7, (pick % 7) + 3) };
    if (what === 'post' || !post) posts.push(directory.create('posts', values));
    else if (what === 'note') directory.create('notes', { about: post });
    else if (what === 'user') users.push(directory.create('users', { email: `m${index}@x.org`, name: `n${index}` }));
    else if (what === 'site') directory.setGlobal('site', { name: `s${index}` });
    else if (what === 'update') directory.update('posts', post, values);
    else if (what === 'login' && user) {
      const account = { category: category('users'), id: user };
      directory.record(decidePassword(account, 'key'));
      const session = { sid: `sid-${index}`, credential: 'key', expiresAt: new Date('2030-01-01') };
      directory.record(decideLogin(account, session));
    } else if (what === 'review' && user) {
      const data = { version: 1, to: [`users/${user}`, 'users/other'] };
      const stream = documentStream(category('posts'), post);
      const events = [{ type: 'review.requested' as const, data }];
      directory.record({ stream, expectedVersion: null, events, claims: [], releases: [] });
    } else if (what === 'remove' || what === 'erase') {
      posts.splice(posts.indexOf(post), 1);
      if (what === 'remove') directory.remove('posts', post);
      else erase(directory, post);
    }
    if (index % 20 === 19) archive(directory);
  }
}

function erase({ log, record }: Directory, id: string): void {
  const stream = documentStream(category('posts'), id);
  const versions = log.versionOf(stream);
  const event = { type: 'document.erased' as const, data: { streams: [{ stream, versions }] } };
  const change = { stream, expectedVersion: versions, events: [event], claims: [], releases: [] };
  record(change, { erases: [stream], context: { reason: 'asked to' } });
}

function archive({ log, readFile }: Directory): void {
  withDatabase(join(dirname(readFile), 'log.db'), { readonly: true }, (db) => {
    const pending = writeSegment(db, { events: 12, hot: 4 });
    if (pending) log.segments.keep(pending);
  });
  log.segments.shed(7);
}

let folder: string;
before(() => {
  folder = quickFolder();
  const directory = openDirectory(folder, config);
  const posts = Array.from({ length: 400 }, (_, index) => directory.create('posts', { title: `t${index}` }));
  for (const id of posts.slice(0, 200)) directory.update('posts', id, { body: 'changed' });
  archive(directory);
  directory.close();
});
after(() => rmSync(folder, { recursive: true, force: true }));

describe('several threads', () => {
  it('make the same read tables as one, and find them sound, whatever was recorded', () => {
    fc.assert(
      fc.property(fc.array(step, { minLength: 30, maxLength: 120, size: 'max' }), (steps) => {
        const [one, other] = [quickFolder(), quickFolder()];
        const directory = openDirectory(one, config);
        try {
          play(directory, steps);
          const { helpers, given } = watched();
          let isAlone = false;
          const alone = () => {
            isAlone = true;
          };
          const { finding } = verifyDirectory(one, true, { log: alone, replay: () => {}, helpers });
          assert.equal(finding, null);
          assert.equal(isAlone, false);
          for (const name of readdirSync(one))
            if (name.startsWith('log.db') || name === 'segments')
              cpSync(join(one, name), join(other, name), { recursive: true });
          const rebuilt = openDirectory(other, config, { helpers });
          rebuilt.close();
          assert.deepEqual(
            given.map((results) => results?.length),
            [2, 2],
          );
          assert.equal(dumpFile(rebuilt.readFile), dumpFile(directory.readFile));
          assert.deepEqual(
            readdirSync(other).filter((name) => /\.db-\d|building|verify/.test(name)),
            [],
          );
        } finally {
          directory.close();
          for (const path of [one, other]) rmSync(path, { recursive: true, force: true });
        }
      }),
      { numRuns: runsOf(4), endOnFailure: true },
    );
  });

  /** Each changes another part of a log or its read tables. */
  const changes: Record<string, (log: Sqlite, read: Sqlite) => void> = {
    'the header of an event': (log) =>
      log.exec(altering(500, `replace(header, '"type":"document.updated"', '"type":"document.deleted"')`)),
    'the last header': (log) => log.exec(altering('(SELECT size FROM head)', "header || ' '")),
    'a payload': (log) =>
      log.exec(`UPDATE payloads SET body = replace(body, 'changed', 'CHANGED') WHERE position = 550`),
    'a payload that is gone': (log) => log.exec('DELETE FROM payloads WHERE position = 300'),
    'an event that is gone': (log) => log.exec('PRAGMA foreign_keys = OFF; DELETE FROM events WHERE position = 257'),
    'a stream that is another in its row': (log) =>
      log.exec("UPDATE events SET stream = 'posts/x' WHERE position = 40"),
    'a tile of leaves': (log) => log.exec('UPDATE tiles SET hashes = zeroblob(8192) WHERE level = 0 AND idx = 1'),
    'a tile of tiles': (log) => log.exec('UPDATE tiles SET hashes = zeroblob(64) WHERE level = 1'),
    'the root': (log) => log.exec('UPDATE head SET root = zeroblob(32)'),
    'the time of the head': (log) => log.exec("UPDATE head SET recorded_at = '2026-01-01T00:00:00.000Z'"),
    'a trigger that is gone': (log) => log.exec('DROP TRIGGER events_update'),
    'a text in the read tables': (_, read) => read.exec(`UPDATE "texts posts" SET doc = replace(doc, 't7', 'T7')`),
    'a row of the read tables': (_, read) => read.exec('DELETE FROM "versions posts" WHERE valid_to = 450'),
    'a claim': (log) => log.exec(`DELETE FROM claims WHERE value = '"t9"'`),
  };

  for (const [name, change] of casesOf(Object.entries(changes))) {
    it(`find what one finds: ${name}`, () => {
      const copy = quickFolder();
      try {
        cpSync(folder, copy, { recursive: true });
        tamper(copy, change);
        const before = filesIn(copy);
        const found = verifyDirectory(copy, true, { log: () => {}, replay: () => {}, helpers: watched().helpers });
        assert.equal(found.finding, findingIn(copy));
        assert.notEqual(found.finding, null);
        assert.deepEqual(filesIn(copy), before);
      } finally {
        rmSync(copy, { recursive: true, force: true });
      }
    });
  }

  it('find what one finds: a segment', () => {
    const copy = quickFolder();
    try {
      cpSync(folder, copy, { recursive: true });
      const [segment = ''] = readdirSync(join(copy, 'segments'));
      writeFileSync(join(copy, 'segments', segment), 'nothing of it');
      const found = verifyDirectory(copy, true, { log: () => {}, replay: () => {}, helpers: watched().helpers });
      assert.match(String(found.finding), /^the segment of events 1 to 12 was altered/);
      assert.equal(found.finding, findingIn(copy));
    } finally {
      rmSync(copy, { recursive: true, force: true });
    }
  });

  it('leave nothing behind that the next start does not remove', () => {
    const copy = quickFolder();
    try {
      cpSync(folder, copy, { recursive: true });
      const before = filesIn(copy);
      const left = ['read-0123456789abcdef.db.building-1', 'read-0.db.verify-4711-0'];
      for (const name of left) writeFileSync(join(copy, name), 'of a killed process');
      openDirectory(copy, config).close();
      assert.deepEqual(filesIn(copy), before);
    } finally {
      rmSync(copy, { recursive: true, force: true });
    }
  });

  it('leave it to one thread if there is one core', () => {
    assert.equal(openHelpers(1), null);
    assert.equal(openHelpers(2)?.threads, 2);
    assert.equal(openHelpers(64)?.threads, 8);
  });
});

/** Without those that SQLite keeps beside them. */
function filesIn(path: string): string[] {
  return readdirSync(path).filter((name) => !/-(wal|shm)$/.test(name));
}

/** Without its triggers, which are there again afterwards. */
function tamper(directory: string, change: (log: Sqlite, read: Sqlite) => void): void {
  const [readFile = ''] = readdirSync(directory).filter((file) => /^read-\w+\.db$/.test(file));
  const [log, read] = ['log.db', readFile].map((file) => openDatabase(join(directory, file))) as [Sqlite, Sqlite];
  const triggers = log
    .prepare<[], { name: string; sql: string }>("SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'")
    .all();
  const dropped = triggers.filter(({ name }) => !/update$/.test(name) || !change.toString().includes('DROP TRIGGER'));
  for (const { name } of dropped) log.exec(`DROP TRIGGER ${name}`);
  change(log, read);
  for (const { sql } of dropped) log.exec(sql);
  log.close();
  read.close();
}
