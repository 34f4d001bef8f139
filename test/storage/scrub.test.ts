import assert from 'node:assert/strict';
import { closeSync, openSync, readFileSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { DamagedPageError } from '../../storage/pages.ts';
import { type Cleaner, openCleaner } from '../../storage/scrub.ts';
import { giveBackPages, openDatabase, type Sqlite } from '../../storage/sqlite.ts';
import { remainsIn } from '../helpers/leftovers.ts';
import { runsOf } from '../helpers/runs.ts';
import { temporaryFolder } from '../helpers/service.ts';
import { quickFolder } from '../projections/directory.ts';

/** A number of rows that a transaction changes, by keys that follow from a seed, and how long their texts are. */
type Change = { kind: 'put' | 'remove'; seed: number; rows: number; length: number };

const tables = `
CREATE TABLE texts (key INTEGER PRIMARY KEY, text TEXT NOT NULL) STRICT;
CREATE INDEX texts_text ON texts (text);
CREATE TABLE claims (scope TEXT NOT NULL, value TEXT NOT NULL, PRIMARY KEY (scope, value)) STRICT, WITHOUT ROWID;
CREATE TABLE plain (key INTEGER PRIMARY KEY, body ANY NOT NULL) STRICT;
`;
const keys = 400;

/** Files of fewer pages are cleaned in fewer steps: `npm test` makes small ones. */
const most = runsOf(30) === 30 ? { changes: 50, rows: 60 } : { changes: 12, rows: 15 };

const change = fc.record<Change>({
  kind: fc.constantFrom('put', 'put', 'put', 'remove'),
  seed: fc.nat(),
  rows: fc.integer({ min: 1, max: most.rows }),
  // From rows of which a page holds a hundred to those that take ten pages.
  length: fc.oneof(
    fc.integer({ min: 0, max: 40 }),
    fc.integer({ min: 0, max: 3000 }),
    fc.integer({ min: 900, max: 40_000 }),
  ),
});

const changes = fc.array(change, { minLength: 10, maxLength: most.changes, size: 'max' });

/** Rows of a tag are those that can be searched for, and taken out. */
function openTables(db: Sqlite) {
  db.exec(tables);
  const put = ['texts', 'plain'].map((table) => db.prepare(`INSERT OR REPLACE INTO ${table} VALUES (?, ?)`));
  const claim = db.prepare('INSERT OR REPLACE INTO claims VALUES (?, ?)');
  const remove = ['texts', 'plain'].map((table) => db.prepare(`DELETE FROM ${table} WHERE key = ?`));
  const release = db.prepare('DELETE FROM claims WHERE scope = ?');

  /** All rows of a change in one transaction, so that pages are freed and taken again within it. */
  function run({ kind, seed, rows, length }: Change, tag: string): void {
    db.transaction(() => {
      for (let index = 0; index < rows; index += 1) {
        const key = (seed + index * (1 + (seed % 7))) % keys;
        const text = `${tag}-${key}-${index} `.repeat(1 + Math.floor(length / 20));
        for (const statement of kind === 'put' ? put : remove) statement.run(...(kind === 'put' ? [key, text] : [key]));
        if (kind === 'put') claim.run(`scope ${key % 50}`, text);
        else release.run(`scope ${key % 50}`);
      }
    })();
  }

  function takeOut(tag: string): void {
    for (const sql of ['texts WHERE text', 'plain WHERE body', 'claims WHERE value'])
      db.prepare(`DELETE FROM ${sql} LIKE ?`).run(`${tag}%`);
  }

  const dump = () => ['texts', 'plain', 'claims'].map((table) => db.prepare(`SELECT * FROM ${table}`).raw().all());
  return { run, takeOut, dump };
}

function cleanAll(cleaner: Cleaner, between: () => void = () => {}): void {
  for (;;) {
    const result = cleaner.step();
    assert.notEqual(result, 'busy');
    if (result === 'done') break;
    between();
  }
  cleaner.end();
}

describe('cleaning a SQLite file', () => {
  it('leaves nothing of deleted rows after any history, and every row, while others are written', () => {
    fc.assert(
      fc.property(changes, changes, fc.integer({ min: 1, max: 40 }), (before, meanwhile, pagesAtOnce) => {
        const folder = quickFolder();
        // Every other one gives back pages between its steps.
        const db = openDatabase(join(folder, 'a.db'), { shrinks: pagesAtOnce % 2 === 0 });
        const cleaner = openCleaner(db, { milliseconds: 0, pagesAtOnce });
        try {
          const { run, takeOut, dump } = openTables(db);
          for (const [index, one] of before.entries()) run(one, index % 3 === 0 ? 'quoll' : 'numbat');
          takeOut('quoll');
          const kept = dump();
          cleanAll(cleaner);
          assert.deepEqual(remainsIn(folder, ['quoll']), []);
          assert.deepEqual(dump(), kept);
          const rest = [...meanwhile];
          run(rest[0] as Change, 'bilby');
          takeOut('numbat');
          cleanAll(cleaner, () => {
            const next = rest.pop();
            if (next) run(next, 'wombat');
            giveBackPages(db, 5, 0);
          });
          assert.deepEqual(remainsIn(folder, ['numbat']), []);
          assert.deepEqual(db.pragma('integrity_check'), [{ integrity_check: 'ok' }]);
        } finally {
          db.close();
          cleaner.close();
          rmSync(folder, { recursive: true });
        }
      }),
      { numRuns: runsOf(30) },
    );
  });

  it('cleans pages again that are changed between its steps', (t) => {
    const folder = temporaryFolder(t);
    const db = openDatabase(join(folder, 'a.db'), { durability: 'off', shrinks: true });
    db.pragma('journal_mode = wal');
    t.after(() => db.close());
    const { run, takeOut } = openTables(db);
    // Some thousand pages, of which each step cleans a part.
    for (let seed = 0; seed < 200; seed += 1) {
      run(
        { kind: 'put', seed: seed * 31, rows: 40, length: seed % 2 === 0 ? 60 : 2500 },
        seed % 2 === 0 ? 'quoll' : 'numbat',
      );
    }
    takeOut('quoll');
    const cleaner = openCleaner(db);
    let steps = 0;
    cleanAll(cleaner, () => {
      steps += 1;
      for (const length of [30, 700]) run({ kind: 'put', seed: steps * 7, rows: 20, length }, 'numbat');
      run({ kind: 'remove', seed: steps * 13, rows: 20, length: 0 }, '');
      giveBackPages(db, 50, 0);
    });
    assert.ok(steps > 1, `${steps} steps`);
    assert.deepEqual(remainsIn(folder, ['quoll']), []);
    assert.deepEqual(db.pragma('integrity_check'), [{ integrity_check: 'ok' }]);
  });

  it('waits while somebody reads from before, and goes on after that', (t) => {
    const folder = temporaryFolder(t);
    const path = join(folder, 'a.db');
    const db = openDatabase(path);
    t.after(() => db.close());
    const { run, takeOut } = openTables(db);
    run({ kind: 'put', seed: 1, rows: 30, length: 200 }, 'quoll');
    const reader = openDatabase(path, { readonly: true });
    t.after(() => reader.close());
    reader.exec('BEGIN; SELECT count(*) FROM texts');
    takeOut('quoll');
    const cleaner = openCleaner(db);
    assert.equal(cleaner.step(), 'busy');
    assert.notDeepEqual(remainsIn(folder, ['quoll']), []);
    run({ kind: 'put', seed: 2, rows: 30, length: 200 }, 'numbat');
    reader.exec('COMMIT');
    cleanAll(cleaner);
    assert.deepEqual(remainsIn(folder, ['quoll']), []);
  });

  it('changes nothing of a page that is not as the format says', (t) => {
    const path = join(temporaryFolder(t), 'a.db');
    const first = openDatabase(path);
    const { run, takeOut } = openTables(first);
    for (let seed = 0; seed < 20; seed += 1) run({ kind: 'put', seed, rows: 40, length: 300 }, 'quoll');
    takeOut('quoll-3');
    const [root] = first.prepare("SELECT rootpage FROM sqlite_schema WHERE name = 'plain'").pluck().all() as number[];
    first.close();
    const at = ((root as number) - 1) * 4096;
    // The kind, the first free block, the number of rows, the start of the rows; each to something that cannot be.
    for (const [offset, bytes] of [
      [0, [3]],
      [1, [0xff, 0xfe]],
      [3, [0x7f, 0xff]],
      [5, [0xff, 0xff]],
      [5, [0, 1]],
    ] as const) {
      const sound = readFileSync(path);
      const descriptor = openSync(path, 'r+');
      writeSync(descriptor, Buffer.from(bytes), 0, bytes.length, at + offset);
      closeSync(descriptor);
      const damaged = readFileSync(path);
      const db = openDatabase(path);
      const cleaner = openCleaner(db);
      assert.throws(() => cleanAll(cleaner), DamagedPageError, `${offset}: ${bytes}`);
      cleaner.end();
      db.close();
      cleaner.close();
      assert.ok(
        readFileSync(path)
          .subarray(at, at + 4096)
          .equals(damaged.subarray(at, at + 4096)),
      );
      const mending = openSync(path, 'r+');
      writeSync(mending, sound);
      closeSync(mending);
    }
  });
});
