import assert from 'node:assert/strict';
import { randomInt } from 'node:crypto';
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import type { Config } from '../../config/define.ts';
import { commitmentOf, encodeHeader, type Header } from '../../events/facts/envelope.ts';
import { appendLeaf, leafHash, rootOf, type Tree } from '../../events/proof/merkle.ts';
import { verifyLog } from '../../events/verify/verify.ts';
import { verifyDirectory } from '../../projections/verify/verify.ts';
import { openDatabase, type Sqlite } from '../../storage/sqlite.ts';
import { altering } from '../events/logs.ts';
import { casesOf, runsOf } from '../helpers/runs.ts';
import { findingIn, openDirectory, quickFolder } from './directory.ts';

const config: Config = {
  collections: [
    { slug: 'posts', fields: [{ name: 'title', type: 'text', unique: true }] },
    { slug: 'notes', fields: [{ name: 'tags', type: 'relationship', relationTo: 'posts', hasMany: true }] },
  ],
};

/** A data directory that can be tampered with and put back, with the log and the read file open beside the check. */
type Target = {
  folder: string;
  log: Sqlite;
  read: Sqlite;
  /**
   * Changes the log as an attacker with access to the file does: without its triggers, which are put back afterwards.
   * If only one trigger is in the way, its name is enough.
   */
  tamper: (change: () => void, trigger?: string) => void;
  set: (table: string, column: string, rowid: number, value: unknown) => void;
};

let root: string;
before(() => {
  root = quickFolder();
});
after(() => rmSync(root, { recursive: true, force: true }));

/** Twenty events: documents of two collections, created, updated and deleted. */
function fillSmall(folder: string): void {
  const directory = openDirectory(folder, config);
  const ids = Array.from({ length: 11 }, (_, index) => {
    return directory.create('posts', { title: index < 4 ? `t${index}` : null });
  });
  const note = directory.create('notes', { tags: ids.slice(0, 3) });
  directory.create('notes', { tags: [] });
  for (const [index, id] of ids.slice(0, 3).entries()) directory.update('posts', id, { title: `new ${index}` });
  directory.update('notes', note, { tags: ids.slice(2, 4) });
  directory.remove('posts', ids[5] as string);
  directory.remove('posts', ids[6] as string);
  directory.close();
}

/** Three hundred events, so that there are a full tile, one above it, and a right edge. */
function fillLarge(folder: string): void {
  const directory = openDirectory(folder, config);
  for (let index = 0; index < 299; index += 1) directory.create('posts', { title: `t${index}` });
  directory.close();
}

function makeTarget(name: string, fill: (folder: string) => void): Target {
  const folder = join(root, name);
  fill(folder);
  assert.equal(findingIn(folder), null, 'sound before anything is done to it');
  return openTarget(folder);
}

function openTarget(folder: string): Target {
  const [readFile = ''] = readdirSync(folder).filter((file) => /^read-\w+\.db$/.test(file));
  const [log, read] = ['log.db', readFile].map((file) => {
    const db = openDatabase(join(folder, file));
    // Nothing here has to survive a power cut.
    db.pragma('synchronous = OFF');
    db.pragma('foreign_keys = OFF');
    return db;
  }) as [Sqlite, Sqlite];
  const triggers = log.prepare("SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'").all() as {
    name: string;
    sql: string;
  }[];

  function tamper(change: () => void, trigger?: string): void {
    const inTheWay = triggers.filter(({ name }) => trigger === undefined || name === trigger);
    log.exec('BEGIN');
    for (const { name } of inTheWay) log.exec(`DROP TRIGGER ${name}`);
    change();
    for (const { sql } of inTheWay) log.exec(sql);
    log.exec('COMMIT');
  }

  function set(table: string, column: string, rowid: number, value: unknown): void {
    const db = table === 'checkpoint' ? read : log;
    const write = () => db.prepare(`UPDATE ${table} SET ${column} = ? WHERE rowid = ?`).run(value, rowid);
    if (db === log) tamper(write);
    else write();
  }

  return { folder, log, read, tamper, set };
}

function close({ log, read }: Target): void {
  log.close();
  read.close();
}

/** A copy of its own, for a change that is not taken back. */
function copyOf({ folder, log, read }: Target): Target {
  log.pragma('wal_checkpoint(TRUNCATE)');
  read.pragma('wal_checkpoint(TRUNCATE)');
  const copy = mkdtempSync(join(root, 'copy-'));
  for (const file of readdirSync(folder)) {
    if (file.endsWith('.db')) cpSync(join(folder, file), join(copy, file));
  }
  return openTarget(copy);
}

/** The findings after a change that is not taken back. */
function findingAfter(target: Target, change: (copy: Target) => void): string {
  const copy = copyOf(target);
  try {
    change(copy);
    return findingIn(copy.folder) ?? 'nothing';
  } finally {
    close(copy);
  }
}

type Value = string | Buffer | number;

function bytesOf(value: Value): Buffer {
  if (typeof value === 'string') return Buffer.from(value, 'utf8');
  if (typeof value !== 'number') return value;
  const bytes = Buffer.alloc(8);
  bytes.writeBigInt64BE(BigInt(value));
  return bytes;
}

const seed = Number(process.env.TEST_SEED ?? randomInt(2 ** 31));
const isExhaustive = process.env.TEST_FLIPS === 'all';
const random = randomFrom(seed);

/**
 * Which bytes to flip: one at random of each part of a value whose bytes all mean the same, of a sixth of the parts by
 * `npm test`, or all of them with TEST_FLIPS=all. Parts of a text are its names and values and what stands between
 * them, those of the hashes of a tile are the hashes.
 */
function offsetsIn(value: Value): number[] {
  const bytes = bytesOf(value);
  if (isExhaustive || typeof value === 'number') return [...bytes.keys()];
  const length = (at: number) => Math.min(32, bytes.length - at);
  const parts: [number, number][] =
    typeof value === 'string'
      ? Array.from(bytes.toString('latin1').matchAll(/[^{}[\]",:/]+|[{}[\]",:/]+/g), (part) => [
          part.index,
          part[0].length,
        ])
      : Array.from({ length: Math.ceil(bytes.length / 32) }, (_, index) => [index * 32, length(index * 32)]);
  return casesOf(parts).map(([start, size]) => start + random(size));
}

describe(`any single flipped byte (TEST_SEED=${seed})`, () => {
  let small: Target;
  let large: Target;
  before(() => {
    small = makeTarget('small', fillSmall);
    large = makeTarget('large', fillLarge);
  });
  after(() => {
    close(small);
    close(large);
  });

  /**
   * Flips bytes of a column of a row, one at a time, and gives what each came to. Most are put before the check of the
   * log alone, which is the first that `annals verify` makes; the first event, with the schema, is what it reads
   * before.
   */
  function flipAll(target: Target, table: string, column: string, rowid: number): string[] {
    const db = table === 'checkpoint' ? target.read : target.log;
    const value = db.prepare(`SELECT ${column} FROM ${table} WHERE rowid = ?`).pluck().get(rowid) as Value;
    const isText = typeof value === 'string';
    const isWhole = table === 'checkpoint' || table === 'head' || (rowid === 1 && table !== 'tiles');
    const write = (bytes: Buffer) => {
      const stored = isText ? bytes : typeof value === 'number' ? bytes.readBigInt64BE() : bytes;
      const sql = `UPDATE ${table} SET ${column} = ${isText ? 'CAST(? AS TEXT)' : '?'} WHERE rowid = ?`;
      const run = () => db.prepare(sql).run(stored, rowid);
      if (db === target.log) target.tamper(run, `${table}_update`);
      else run();
    };
    const findings: string[] = [];
    const original = bytesOf(value);
    for (const [index, at] of offsetsIn(value).entries()) {
      const bytes = Buffer.from(original);
      bytes[at] = (bytes[at] as number) ^ (1 << (at % 8));
      write(bytes);
      const label = `${table}.${column}, row ${rowid}, byte ${at}: ${bytes.subarray(Math.max(0, at - 20), at + 20)}`;
      const finding = index % 16 === 0 || isWhole ? findingIn(target.folder) : verifyLog(target.log, () => {});
      assert.ok(finding !== null, `not found: ${label}`);
      findings.push(finding);
    }
    write(original);
    return findings;
  }

  function flipHeader(target: Target, position: number): string[] {
    const texts = ['stream', 'type', 'actor_type', 'actor_id', 'correlation'];
    const columns = ['id', ...texts, 'v', 'schema_version', 'recorded_at', 'payload'].filter(
      (column) => target.log.prepare(`SELECT ${column} FROM events WHERE position = ?`).pluck().get(position) !== null,
    );
    // Other columns for each event.
    const chosen = columns.filter((_, index) => isExhaustive || (index + position) % 4 === 0);
    return chosen.flatMap((column) => flipAll(target, 'events', column, position));
  }

  function sizeOf({ log }: Target): number {
    return log.prepare('SELECT size FROM head').pluck().get() as number;
  }

  it('of a header is found, and the finding names the event or says among which it is', () => {
    const size = sizeOf(small);
    assert.equal(size, 20);
    for (let position = 1; position <= size; position += 1) {
      for (const finding of flipHeader(small, position)) {
        const isNamed = new RegExp(`\\bevent ${position}\\b`).test(finding);
        assert.ok(isNamed || finding.startsWith('one of the events 1 to 20 was altered'), `${position}: ${finding}`);
      }
    }
    assert.equal(findingIn(small.folder), null);
  });

  it('of a payload is found, and the finding names the event', () => {
    for (let position = 1; position <= sizeOf(small); position += 1) {
      for (const finding of flipAll(small, 'payloads', 'body', position)) {
        assert.match(finding, new RegExp(`^event ${position}\\b`));
      }
    }
    assert.equal(findingIn(small.folder), null);
  });

  it('of the other columns of events and payloads is found', () => {
    for (const position of [1, 7, 20]) {
      for (const finding of flipAll(small, 'payloads', 'enc', position))
        assert.match(finding, new RegExp(`event ${position}\\b`));
    }
    const version = (value: number) => small.set('events', 'version', 7, value);
    for (const bit of casesOf([...Array(40).keys()])) {
      version(1 + 2 ** (bit + 1));
      assert.match(findingIn(small.folder) ?? '', /^one of the events 1 to 20 was altered/);
    }
    version(1);
    assert.equal(findingIn(small.folder), null);
  });

  it('of the head is found', () => {
    for (const column of ['log', 'root', 'recorded_at', 'size']) flipAll(small, 'head', column, 1);
    assert.equal(findingIn(small.folder), null);
  });

  it('of a claim is found', () => {
    const rows = small.log.prepare('SELECT scope, value, stream FROM claims ORDER BY 1, 2').raw().all() as string[][];
    assert.equal(rows.length, 4);
    // A forged value may be one that another stream holds.
    const values = 'CAST(? AS TEXT), CAST(? AS TEXT), CAST(? AS TEXT)';
    const insert = small.log.prepare(`INSERT INTO claims VALUES (${values}) ON CONFLICT DO NOTHING`);
    for (const row of rows) {
      for (const [column, text] of row.entries()) {
        const original = Buffer.from(text);
        for (const at of offsetsIn(text)) {
          const bytes = Buffer.from(original);
          bytes[at] = (bytes[at] as number) ^ (1 << (at % 8));
          const forged = row.map((other, index) => (index === column ? bytes : Buffer.from(other)));
          small.log.exec('BEGIN; DELETE FROM claims');
          for (const other of rows) insert.run(...(other === row ? forged : other.map((text) => Buffer.from(text))));
          small.log.exec('COMMIT');
          assert.match(findingIn(small.folder) ?? 'nothing', /^claims: /, `${row}, column ${column}, byte ${at}`);
        }
      }
    }
    small.log.exec('DELETE FROM claims');
    for (const row of rows) insert.run(...row);
    assert.equal(findingIn(small.folder), null);
  });

  it("of the read file's checkpoint is found", () => {
    assert.equal(flipAll(small, 'checkpoint', 'position', 1).length, 8);
    assert.equal(flipAll(small, 'checkpoint', 'root', 1).length, isExhaustive ? 32 : 1);
    assert.equal(findingIn(small.folder), null);
  });

  it('of a tile is found', () => {
    assert.equal(
      flipAll(large, 'tiles', 'hashes', 1).length,
      isExhaustive ? 8192 : casesOf([...Array(256).keys()]).length,
    );
    const [level] = large.log.prepare('SELECT level, idx, length(hashes) FROM tiles WHERE rowid = 2').raw().all();
    assert.deepEqual(level, [1, 0, 32]);
    assert.equal(flipAll(large, 'tiles', 'hashes', 2).length, isExhaustive ? 32 : 1);
    for (const column of ['level', 'idx']) flipAll(large, 'tiles', column, 1);
    assert.equal(findingIn(large.folder), null);
  });

  it('of a header under a full tile is found, and the finding names the event, whatever the byte', () => {
    for (const position of [1, 100, 255, 256]) {
      for (const finding of flipHeader(large, position)) {
        assert.match(finding, new RegExp(`\\bevent ${position}\\b`));
      }
    }
    for (const finding of flipHeader(large, 290)) {
      assert.match(finding, /\bevent 290\b|^one of the events 257 to 300 was altered/);
    }
    assert.equal(findingIn(large.folder), null);
  });

  it('of the file is found by verify or SQLite, or every event, tile, head and claim reads as before', () => {
    // A quarter of those in the small file is found: of 75, by chance, now and then fewer than the sixth that is asked
    // for.
    const [few, many] = isExhaustive ? [1000, 1000] : [Math.max(30, runsOf(300)), runsOf(75)];
    const found = [flipFile(small, few), flipFile(large, many)] as const;
    // Among a few turns in one file there may be none.
    const isEnough = few < 300 ? found[0] + found[1] > 0 : found[0] > few / 6 && found[1] > many / 4;
    assert.ok(isEnough, `${found} of ${few} and ${many} were found`);

    function flipFile(original: Target, turns: number): number {
      const target = copyOf(original);
      close(target);
      const path = join(target.folder, 'log.db');
      const intact = readFileSync(path);
      const expected = contentOf(path);
      let count = 0;
      for (let turn = 0; turn < turns; turn += 1) {
        // Each page has its turn; every other time it is its head that is hit, by which SQLite finds everything else
        // there.
        const start = (turn % (intact.length / 4096)) * 4096;
        const at = start + random(random(2) === 0 ? 64 : 4096);
        const bytes = Buffer.from(intact);
        bytes[at] = (bytes[at] as number) ^ (1 << random(8));
        for (const suffix of ['-wal', '-shm']) rmSync(path + suffix, { force: true });
        writeFileSync(path, bytes);
        const finding = verdictOn(target.folder);
        if (finding !== null) count += 1;
        else
          assert.equal(contentOf(path), expected, `byte ${at} of ${intact.length}, in page ${Math.floor(at / 4096)}`);
      }
      for (const suffix of ['-wal', '-shm']) rmSync(path + suffix, { force: true });
      writeFileSync(path, intact);
      assert.equal(findingIn(target.folder), null);
      return count;
    }
  });
});

/** The finding of verify or SQLite, and nothing else: a fault of our own is not a finding. */
function verdictOn(folder: string): string | null {
  try {
    return findingIn(folder);
  } catch (error) {
    if (error instanceof Error && 'code' in error && String(error.code).startsWith('SQLITE_')) return error.message;
    throw error;
  }
}

/** The whole content of the log, in bytes. */
function contentOf(path: string): string {
  const db = openDatabase(path, { readonly: true });
  try {
    const queries = [
      'SELECT position, id, stream, version, CAST(header AS BLOB) FROM headers ORDER BY position',
      'SELECT position, enc, CAST(body AS BLOB) FROM payloads ORDER BY position',
      'SELECT level, idx, hashes FROM tiles ORDER BY level, idx',
      'SELECT log, size, root, recorded_at FROM head',
      'SELECT CAST(scope AS BLOB), CAST(value AS BLOB), CAST(stream AS BLOB) FROM claims ORDER BY scope, value',
    ];
    return JSON.stringify(queries.map((sql) => db.prepare(sql).raw().all()));
  } finally {
    db.close();
  }
}

/** A small generator with a seed (mulberry32), so that the same offsets can be tried again. */
function randomFrom(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below;
  };
}

describe('tampering that is more than one byte', () => {
  let small: Target;
  before(() => {
    small = makeTarget('tampered', fillSmall);
  });
  after(() => close(small));

  /** Makes head and tree agree with the events again, as one does who knows how the log is made. */
  function repairHead({ log }: Target): void {
    const tree: Tree = { size: 0, nodes: [] };
    const headers = log.prepare('SELECT header FROM headers ORDER BY position').pluck().all() as string[];
    for (const header of headers) appendLeaf(tree, leafHash(header), () => {});
    const { recordedAt } = JSON.parse(headers.at(-1) as string) as Header;
    log.prepare('UPDATE head SET size = ?, root = ?, recorded_at = ?').run(tree.size, rootOf(tree), recordedAt);
  }

  function removeLast(copy: Target): void {
    copy.log.exec('DELETE FROM payloads WHERE position = 20; DELETE FROM events WHERE position = 20');
  }

  it('is found when the last event is deleted, with the head put right or not', () => {
    const deleted = findingAfter(small, (copy) => copy.tamper(() => removeLast(copy)));
    assert.equal(deleted, 'the log ends at position 19, its head says 20');
    const repaired = findingAfter(small, (copy) => {
      copy.tamper(() => {
        removeLast(copy);
        repairHead(copy);
      });
    });
    assert.match(repaired, /^the log lost events: it ends at position 19, but read-\w+\.db has seen position 20$/);
  });

  it('is found by the newer read file if the log is put back behind a change of the schema', () => {
    const folder = join(root, 'put-back');
    fillSmall(folder);
    cpSync(join(folder, 'log.db'), join(folder, 'backup'));
    openDirectory(folder, { collections: [{ slug: 'posts', fields: [{ name: 'body', type: 'text' }] }] }).close();
    assert.equal(findingIn(folder), null);
    cpSync(join(folder, 'backup'), join(folder, 'log.db'));
    assert.match(findingIn(folder) ?? 'nothing', /^the log lost events: it ends at position 20, .* position 21$/);
  });

  it('is found when an event in the middle is deleted, and named', () => {
    const finding = findingAfter(small, (copy) => {
      copy.tamper(() =>
        copy.log.exec('DELETE FROM payloads WHERE position = 8; DELETE FROM events WHERE position = 8'),
      );
    });
    assert.equal(finding, 'event 8 is missing: the next one is at position 9');
  });

  it('is found when two payloads are swapped, and the first is named', () => {
    const finding = findingAfter(small, (copy) => {
      copy.tamper(() => {
        copy.log.exec(`UPDATE payloads SET position = 1000 WHERE position = 4;
                       UPDATE payloads SET position = 4 WHERE position = 9;
                       UPDATE payloads SET position = 9 WHERE position = 1000`);
      });
    });
    assert.match(finding, /^event 4 \(posts\/[\w-]+\): its payload is not the one committed to$/);
  });

  it('is found when a payload is gone, added, made a number or marked as encrypted', () => {
    const after = (sql: string) => findingAfter(small, (copy) => copy.tamper(() => copy.log.exec(sql)));
    assert.equal(after('DELETE FROM payloads WHERE position = 6'), 'event 6: its payload is missing');
    assert.equal(
      after("INSERT INTO payloads VALUES (21, 0, '{}')"),
      'there is a payload of event 21, which there is not',
    );
    assert.match(
      after('UPDATE payloads SET body = 6.5 WHERE position = 6'),
      /^event 6 \(.*\): its payload is not the one committed to$/,
    );
    assert.match(after('UPDATE payloads SET enc = 1 WHERE position = 6'), /^event 6: .* unknown encoding 1/);
  });

  it('is found when events are reordered, by their rows alone or with their positions forged in the headers', () => {
    const swap = `UPDATE payloads SET position = 1000 WHERE position = 4; UPDATE events SET position = 1000 WHERE position = 4;
                  UPDATE payloads SET position = 4 WHERE position = 9; UPDATE events SET position = 4 WHERE position = 9;
                  UPDATE payloads SET position = 9 WHERE position = 1000; UPDATE events SET position = 9 WHERE position = 1000`;
    const rows = findingAfter(small, (copy) => copy.tamper(() => copy.log.exec(swap)));
    assert.equal(rows, 'event 5 was recorded before event 4');

    const forgePositions = (copy: Target, isHeadRepaired: boolean) => {
      copy.tamper(() => {
        copy.log.exec(swap);
        for (const position of [4, 9]) {
          const select = copy.log.prepare('SELECT header FROM headers WHERE position = ?').pluck();
          const header = { ...(JSON.parse(select.get(position) as string) as Header), position };
          // Times are exchanged too, because they must not decrease.
          header.recordedAt = (JSON.parse(select.get(position - 1) as string) as Header).recordedAt;
          copy.log.prepare('UPDATE events SET whole = ? WHERE position = ?').run(encodeHeader(header), position);
        }
        if (isHeadRepaired) repairHead(copy);
      });
    };
    assert.match(
      findingAfter(small, (copy) => forgePositions(copy, false)),
      /^one of the events 1 to 20 was altered: .* root of the head/,
    );
    assert.match(
      findingAfter(small, (copy) => forgePositions(copy, true)),
      /^the log was altered: at position 20 it is not the log that read-/,
    );
  });

  it('is found when an event is forged with its commitment and the head put right', () => {
    const finding = findingAfter(small, (copy) => {
      copy.tamper(() => {
        const row = copy.log
          .prepare('SELECT header, body FROM headers JOIN payloads USING (position) WHERE position = 5')
          .get();
        const { header, body } = row as { header: string; body: string };
        const forged = body.replace('"t3"', '"t?"');
        assert.notEqual(forged, body);
        const changed = encodeHeader({ ...(JSON.parse(header) as Header), payload: commitmentOf(forged) });
        copy.log.prepare('UPDATE payloads SET body = ? WHERE position = 5').run(forged);
        copy.log.prepare('UPDATE events SET whole = ? WHERE position = 5').run(changed);
        repairHead(copy);
      });
    });
    assert.match(finding, /^the log was altered: at position 20 it is not the log that read-/);
  });

  it('is found if a time goes back or a version is missing, though the head was put right', () => {
    const forge = (position: number, change: (header: Header) => Partial<Header>, sql = '') => {
      return findingAfter(small, (copy) => {
        copy.tamper(() => {
          const text = copy.log
            .prepare('SELECT header FROM headers WHERE position = ?')
            .pluck()
            .get(position) as string;
          const header = JSON.parse(text) as Header;
          const changed = encodeHeader({ ...header, ...change(header) });
          copy.log.prepare(`UPDATE events SET whole = ?${sql} WHERE position = ?`).run(changed, position);
          repairHead(copy);
        });
      });
    };
    const early = forge(9, () => ({ recordedAt: '2000-01-01T00:00:00.000Z' }));
    assert.equal(early, 'event 9 was recorded before event 8');
    const gap = forge(15, ({ version }) => ({ version: version + 1 }), ', version = version + 1');
    assert.match(gap, /^event 15 is version 3 of posts\/[\w-]+, which is not the next one there$/);
    const order = findingAfter(small, (copy) => {
      copy.tamper(() => {
        // The second version of a document before its first.
        const select = copy.log.prepare('SELECT header FROM headers WHERE position = ?').pluck();
        const [first, second] = [2, 15].map((position) => JSON.parse(select.get(position) as string) as Header);
        assert.equal(first?.stream, second?.stream);
        copy.log.exec(`UPDATE events SET version = 3 WHERE position = 2; UPDATE events SET version = 1 WHERE position = 15;
                       UPDATE events SET version = 2 WHERE position = 2`);
        for (const [position, header] of [
          [2, { ...first, version: 2 }],
          [15, { ...second, version: 1 }],
        ] as const) {
          const text = encodeHeader(header as Header);
          copy.log.prepare('UPDATE events SET whole = ? WHERE position = ?').run(text, position);
        }
        repairHead(copy);
      });
    });
    assert.match(order, /^event 15 is version 1 of|^event 2 is version 2 of/);
  });

  it('is found when a header is not in canonical form, though it says the same', () => {
    const finding = findingAfter(small, (copy) => {
      copy.tamper(() => {
        copy.log.exec(altering(12, `replace(header, '"v":2', '"v": 2')`));
        repairHead(copy);
      });
    });
    assert.equal(finding, 'event 12: its header is not one of canonical JSON');
  });

  it('is found when a trigger is dropped or weakened, or a table or index is added', () => {
    for (const sql of [
      'DROP TRIGGER events_update',
      'DROP TRIGGER payloads_insert',
      "DROP TRIGGER events_delete; CREATE TRIGGER events_delete BEFORE DELETE ON events WHEN 0 BEGIN SELECT RAISE(ABORT, 'events are append-only'); END",
      'CREATE TABLE more (a)',
      'CREATE INDEX more ON events (type)',
      'CREATE TRIGGER more AFTER INSERT ON events BEGIN DELETE FROM claims; END',
    ]) {
      const finding = findingAfter(small, (copy) => copy.log.exec(sql));
      assert.equal(finding, 'the tables or triggers of log.db are not those of an Annals log', sql);
    }
  });

  it('is found when the head is gone or doubled, or the file says that it is another', () => {
    const after = (sql: string) => findingAfter(small, (copy) => copy.log.exec(sql));
    assert.equal(after('DELETE FROM head'), 'log.db has 0 heads');
    assert.equal(
      after("INSERT INTO head SELECT 'other', size, root, recorded_at, mac FROM head"),
      'log.db has 2 heads',
    );
    assert.equal(after('ALTER TABLE head RENAME COLUMN root TO Root'), 'the head of log.db is damaged');
    assert.equal(after('PRAGMA application_id = 1'), 'log.db is not an Annals log');
    assert.match(after('PRAGMA user_version = 6'), /format 6/);
  });

  it('is found when a claim is added, deleted or given to another stream', () => {
    const after = (sql: string) => findingAfter(small, (copy) => copy.log.exec(sql));
    assert.equal(
      after(`INSERT INTO claims VALUES ('posts.title', '"x"', 'posts/1')`),
      'claims: 5 are stored, the documents make 4',
    );
    assert.match(
      after(`DELETE FROM claims WHERE value = '"t3"'`),
      /^claims: posts\.title = "t3" is held by no stream, not by posts\//,
    );
    assert.match(
      after(`UPDATE claims SET stream = 'posts/1' WHERE value = '"t3"'`),
      /^claims: posts\.title = "t3" is held by posts\/1/,
    );
  });

  it('is found if a row of a read table is forged, deleted or added, and its event is named', () => {
    const after = (sql: string) => findingAfter(small, (copy) => copy.read.exec(sql));
    const documents = '"documents posts"';
    const texts = '"texts posts"';
    const columns = `version, created_at, updated_at, "f.title", "k.title"`;
    assert.match(
      after(`UPDATE ${texts} SET doc = replace(doc, '"t3"', '"t?"') WHERE key = 5`),
      /^read tables: .* event 5 /,
    );
    assert.match(after(`DELETE FROM ${texts} WHERE key = 5`), /^read tables: .* event 5 /);
    assert.match(after(`INSERT INTO ${texts} VALUES (1000, '{}')`), /^read tables: .* event 1000 is not in the log/);
    assert.match(after(`UPDATE ${documents} SET "f.title" = 'forged' WHERE key = 5`), /^read tables: .* event 5 /);
    assert.match(after(`UPDATE ${documents} SET "k.title" = 'FORGED' WHERE key = 5`), /^read tables: .* event 5 /);
    assert.match(after(`UPDATE ${documents} SET version = 2 WHERE key = 5`), /^read tables: .* event 5 /);
    assert.match(after(`UPDATE ${documents} SET valid_from = 6 WHERE key = 5`), /^read tables: .* event 5 /);
    assert.match(after(`DELETE FROM ${documents} WHERE key = 5`), /^read tables: .* event 5 /);
    assert.match(
      after(`UPDATE "versions posts" SET valid_to = 1000 WHERE valid_from = 2`),
      /^read tables: .* event 2 /,
    );
    assert.match(after(`UPDATE "versions posts" SET "f.title" = '' WHERE valid_from = 2`), /^read tables: .* event 2 /);
    assert.match(after(`UPDATE "past texts posts" SET doc = '{}' WHERE valid_from = 2`), /^read tables: .* event 2 /);
    for (const key of ['1000', '0', '-1', '-2', '-9223372036854775808', '9223372036854775807']) {
      const forged = `INSERT INTO ${documents} (id, key, valid_from, ${columns})
                      SELECT 'forged', ${key}, valid_from, ${columns} FROM ${documents} WHERE key = 5`;
      assert.match(after(forged), /^read tables: table "documents posts": the row made by event/, `key ${key}`);
    }
    assert.match(after(`INSERT INTO "links notes" VALUES ('tags', 'x', 'y', 1)`), /^read tables: table "links notes"/);
    assert.match(after('DELETE FROM "links notes"'), /links notes/);
    assert.match(after(`INSERT INTO "past links notes" VALUES ('tags', 'x', 'y', 1, 2)`), /table "past links notes"/);
    assert.match(after('UPDATE erasures SET count = 1'), /table "erasures"/);
    for (const sql of [
      `UPDATE counts SET documents = documents + 1 WHERE key = 'posts'`,
      `UPDATE counts SET key = 'others' WHERE key = 'notes'`,
      `DELETE FROM counts WHERE key = 'notes'`,
      'DELETE FROM counts',
    ]) {
      assert.equal(after(sql), 'read tables: table "counts" is not what the log makes of it', sql);
    }
    assert.match(after(`INSERT INTO counts VALUES ('zebras', 1)`), /^read tables: table "counts" holds more/);
    assert.match(after(`DROP INDEX "documents posts f.title"`), /^read tables: the tables or indexes/);
    assert.match(after(`CREATE TABLE more (a)`), /^read tables: the tables or indexes/);
  });

  it("is found when the read file's checkpoint is gone, doubled or put back", () => {
    const after = (sql: string) => findingAfter(small, (copy) => copy.read.exec(sql));
    assert.match(after('DELETE FROM checkpoint'), /^read tables: /);
    assert.match(after('INSERT INTO checkpoint SELECT * FROM checkpoint'), /^read tables: table "checkpoint"/);
    assert.match(after('UPDATE checkpoint SET position = 19'), /altered: at position 19 it is not the log/);
    assert.match(after('UPDATE checkpoint SET position = -1'), /altered: at position -1 /);
    const rewound = findingAfter(small, (copy) => {
      const tree: Tree = { size: 0, nodes: [] };
      const headers = copy.log
        .prepare('SELECT header FROM headers WHERE position <= 19 ORDER BY position')
        .pluck()
        .all();
      for (const header of headers as string[]) appendLeaf(tree, leafHash(header), () => {});
      copy.read.prepare('UPDATE checkpoint SET position = 19, root = ?').run(rootOf(tree));
    });
    assert.match(rewound, /^read tables: /);
  });

  it('is found when a file is no database, and when the log is cut off', () => {
    const [readFile = ''] = readdirSync(small.folder).filter((file) => /^read-\w+\.db$/.test(file));
    for (const file of ['log.db', readFile]) {
      const copy = copyOf(small);
      close(copy);
      const path = join(copy.folder, file);
      const intact = readFileSync(path);
      for (const content of [Buffer.alloc(0), Buffer.from('this is no database'), intact.subarray(0, 8192)]) {
        for (const suffix of ['-wal', '-shm']) rmSync(path + suffix, { force: true });
        writeFileSync(path, content);
        assert.notEqual(findingIn(copy.folder), null, `${file} of ${content.length} bytes`);
      }
    }
  });
});

describe('a check', () => {
  it('changes nothing, leaves no file behind, and works beside a writer', () => {
    const folder = join(root, 'beside');
    const directory = openDirectory(folder, config);
    directory.create('posts', { title: 'a' });
    const files = readdirSync(folder);
    const log = contentOf(join(folder, 'log.db'));
    assert.equal(findingIn(folder), null);
    assert.deepEqual(readdirSync(folder), files);
    assert.equal(contentOf(join(folder, 'log.db')), log);
    directory.create('posts', { title: 'b' });
    assert.equal(findingIn(folder), null);
    directory.close();
  });

  it('takes a read file that is behind the log, or none, for sound', () => {
    const folder = join(root, 'behind');
    const directory = openDirectory(folder, config);
    directory.create('posts', { title: 'a' });
    const outcome = directory.append({
      stream: 'posts/late',
      expectedVersion: 0,
      events: [
        { type: 'document.created', data: { id: 'late', createdAt: '2026-11-20T12:00:00.000Z', title: 'late' } },
      ],
      claims: [{ scope: 'posts.title', value: '"late"' }],
      releases: [],
    });
    assert.ok(outcome.ok);
    assert.equal(findingIn(folder), null);
    directory.close();
    for (const suffix of ['', '-wal', '-shm']) rmSync(directory.readFile + suffix, { force: true });
    assert.equal(findingIn(folder), null);
  });

  it('leaves read tables out that are behind an erasure, as after a kill, and says so', () => {
    const folder = join(root, 'behind-erasure');
    const directory = openDirectory(folder, config);
    directory.create('posts', { title: 'a' }, 'one');
    directory.create('posts', { title: 'b' });
    assert.equal(findingIn(folder), null);
    const stream = 'posts/one';
    const data = { streams: [{ stream, versions: 1 }] };
    const change = { stream, expectedVersion: 1, events: [{ type: 'document.erased' as const, data }] };
    const outcome = directory.append(
      { ...change, claims: [], releases: [] },
      { erases: [stream], context: { reason: 'asked to' } },
    );
    assert.ok(outcome.ok);
    directory.close();
    const { finding, notes } = verifyDirectory(folder, true, { log: () => {}, replay: () => {} });
    assert.deepEqual(
      [finding, notes.filter((note) => /^the read tables are behind an erasure/.test(note)).length],
      [null, 1],
    );
    openDirectory(folder, config).close();
    assert.equal(findingIn(folder), null);
  });
});
