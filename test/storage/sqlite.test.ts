import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { emptyCaches, isDamage, isDiskFull, isFailure, openDatabase, type Sqlite } from '../../storage/sqlite.ts';
import { temporaryFolder } from '../helpers/service.ts';

function thrownBy(run: () => unknown): unknown {
  try {
    run();
  } catch (error) {
    return error;
  }
  return assert.fail('nothing was thrown');
}

function setting(db: Sqlite, name: string): unknown {
  return db.pragma(name, { simple: true });
}

describe('emptying the page caches of a thread', () => {
  it('disturbs no query that is under way, no transaction, and no table that is in memory', (t) => {
    const folder = temporaryFolder(t);
    const db = openDatabase(join(folder, 'a.db'));
    const other = openDatabase(join(folder, 'b.db'));
    openDatabase(join(folder, 'c.db')).close();
    db.exec('CREATE TABLE t (n); CREATE TEMP TABLE m (n)');
    other.exec('CREATE TABLE t (n)');
    for (const table of ['t', 'm']) {
      db.exec(
        `INSERT INTO ${table} SELECT value FROM json_each('${JSON.stringify(Array.from({ length: 5000 }, (_, n) => n))}')`,
      );
    }
    const seen: unknown[] = [];
    other.exec('BEGIN; INSERT INTO t VALUES (1)');
    for (const row of db.prepare('SELECT n FROM t JOIN m USING (n)').pluck().iterate()) {
      if (seen.push(row) === 2500) emptyCaches();
    }
    emptyCaches();
    other.exec('COMMIT');
    assert.equal(seen.length, 5000);
    assert.equal(db.prepare('SELECT count(*) FROM m').pluck().get(), 5000);
    assert.equal(other.prepare('SELECT count(*) FROM t').pluck().get(), 1);
    db.close();
    other.close();
    emptyCaches();
  });
});

describe('opening a SQLite file', () => {
  it('sets how hard a commit is pressed on the disk, which better-sqlite3 alone would make NORMAL', (t) => {
    const folder = temporaryFolder(t);
    const expected = { full: [2, 'wal'], normal: [1, 'wal'], off: [0, 'memory'] } as const;
    for (const durability of ['full', 'normal', 'off'] as const) {
      const db = openDatabase(join(folder, `${durability}.db`), { durability });
      assert.deepEqual([setting(db, 'synchronous'), setting(db, 'journal_mode')], expected[durability], durability);
      db.close();
    }
  });

  it('sets what every file of the service relies on', (t) => {
    const db = openDatabase(join(temporaryFolder(t), 'a.db'), { cacheMiB: 3 });
    t.after(() => db.close());
    for (const [name, value] of Object.entries({
      foreign_keys: 1,
      recursive_triggers: 1,
      trusted_schema: 0,
      cell_size_check: 1,
      cache_size: -3072,
      secure_delete: 0,
    })) {
      assert.equal(setting(db, name), value, name);
    }
    assert.ok(!setting(db, 'mmap_size'));
  });

  it('keeps what a large transaction changes in memory, beyond a small cache', (t) => {
    const sizes = [undefined, 16].map((changedMiB) => {
      const path = join(temporaryFolder(t), 'a.db');
      const db = openDatabase(path, { cacheMiB: 1, ...(changedMiB === undefined ? {} : { changedMiB }) });
      t.after(() => db.close());
      db.exec('CREATE TABLE t (v BLOB); BEGIN');
      for (let count = 0; count < 1000; count += 1) db.exec('INSERT INTO t VALUES (zeroblob(4000))');
      const written = statSync(`${path}-wal`).size;
      db.exec('COMMIT');
      return written;
    });
    const [spilt = 0, kept = 0] = sizes;
    assert.ok(spilt > 2e6, `${spilt} bytes before the commit`);
    assert.ok(kept < 100_000, `${kept} bytes before the commit`);
  });

  it('overwrites deleted secrets with zeros if that is asked for', (t) => {
    const path = join(temporaryFolder(t), 'vault.db');
    const db = openDatabase(path, { durability: 'full', secureDelete: true });
    db.exec(`CREATE TABLE s (v TEXT); INSERT INTO s VALUES ('a-secret-to-forget')`);
    db.pragma('wal_checkpoint(TRUNCATE)');
    assert.ok(readFileSync(path).includes('a-secret-to-forget'));
    db.exec('DELETE FROM s');
    db.close();
    assert.ok(!readFileSync(path).includes('a-secret-to-forget'));
  });

  it('writes nothing to a file that is opened for reading, and makes none', (t) => {
    const folder = temporaryFolder(t);
    assert.throws(() => openDatabase(join(folder, 'none.db'), { readonly: true }));
    assert.ok(!existsSync(join(folder, 'none.db')));
    openDatabase(join(folder, 'a.db')).close();
    const db = openDatabase(join(folder, 'a.db'), { readonly: true });
    t.after(() => db.close());
    assert.throws(() => db.exec('CREATE TABLE t (a)'), /readonly/);
  });
});

describe('errors of SQLite', () => {
  it('name too many open files, which SQLite itself does not', { skip: process.platform === 'win32' }, (t) => {
    const source = `
      import { closeSync, openSync } from 'node:fs';
      import { devNull } from 'node:os';
      import { openDatabase } from ${JSON.stringify(new URL('../../storage/sqlite.ts', import.meta.url).href)};
      import { hindranceOf, openCleaner } from ${JSON.stringify(new URL('../../storage/scrub.ts', import.meta.url).href)};
      const path = ${JSON.stringify(join(temporaryFolder(t), 'a.db'))};
      const db = openDatabase(path);
      db.exec('CREATE TABLE t (a); INSERT INTO t VALUES (zeroblob(30000))');
      const cleaner = openCleaner(db);
      const told = [];
      const open = [];
      try { for (;;) open.push(openSync(devNull)); } catch {}
      // With none to spare, with one, and so on, until there are enough.
      while (told.at(-1) !== 'done') {
        try { told.push(cleaner.step()); } catch (error) { told.push(hindranceOf(error)); cleaner.end(); }
        closeSync(open.pop());
      }
      console.log(JSON.stringify(told));`;
    const node = [process.execPath, '--input-type=module', '-e', source];
    const { stdout, stderr } = spawnSync('sh', ['-c', 'ulimit -n 100 && exec "$@"', 'sh', ...node], {
      encoding: 'utf8',
    });
    assert.notEqual(stdout, '', stderr);
    const told: string[] = JSON.parse(stdout);
    // The file, its write-ahead log, and the reader beside it.
    assert.ok(told.length > 3, stdout);
    assert.deepEqual(new Set(told.slice(0, -1)), new Set(['files']));
  });

  it('are told apart: no room, a damaged file, a refused statement', (t) => {
    const folder = temporaryFolder(t);
    const db = openDatabase(join(folder, 'a.db'));
    t.after(() => db.close());
    db.exec('CREATE TABLE t (a INTEGER PRIMARY KEY, b BLOB) STRICT; INSERT INTO t VALUES (1, NULL)');
    const refused = thrownBy(() => db.exec('INSERT INTO t VALUES (1, NULL)'));
    db.pragma('max_page_count = 2');
    const full = thrownBy(() => db.exec('INSERT INTO t VALUES (2, zeroblob(100000))'));
    const noTable = thrownBy(() => db.exec('SELECT * FROM u'));
    writeFileSync(
      join(folder, 'text.db'),
      'this is no database, and longer than a header of one would have to be. '.repeat(9),
    );
    const noDatabase = thrownBy(() => openDatabase(join(folder, 'text.db')));
    const noFile = thrownBy(() => openDatabase(join(folder, 'none.db'), { readonly: true }));
    const noJson = thrownBy(() => JSON.parse('{'));

    const told = (error: unknown) => [isDiskFull(error), isFailure(error), isDamage(error)];
    assert.deepEqual(told(full), [true, true, false]);
    assert.deepEqual(told(refused), [false, false, true]);
    assert.deepEqual(told(noTable), [false, true, true]);
    assert.deepEqual(told(noDatabase), [false, true, true]);
    assert.deepEqual(told(noFile), [false, true, false]);
    assert.deepEqual(told(noJson), [false, false, true]);
    assert.deepEqual(told(new Error('other')), [false, false, false]);
    assert.deepEqual(told(Object.assign(new Error('no room'), { code: 'ENOSPC' })), [true, false, false]);
  });
});
