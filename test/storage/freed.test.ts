import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { temporaryFolder } from '../helpers/service.ts';

const of = (name: string) => JSON.stringify(new URL(`../../storage/${name}.ts`, import.meta.url).href);
const { glibcVersionRuntime: glibc } = (process.report.getReport() as { header: { glibcVersionRuntime?: string } })
  .header;

/**
 * Memory of a process (proc(5), `smaps_rollup`) that had tables in memory in two threads, and closed them: before and
 * after, in bytes.
 */
const text = `
  import { readFileSync } from 'node:fs';
  import { parentPort, Worker, isMainThread } from 'node:worker_threads';
  import { openDatabase } from ${of('sqlite')};
  import { giveBackFreed, isFreedNoted, noteFreed } from ${of('freed')};
  const anonymous = () => Number(/^Anonymous: +(\\d+)/m.exec(readFileSync('/proc/self/smaps_rollup', 'utf8'))[1]) * 1024;
  const open = () => {
    const db = openDatabase(':memory:');
    db.exec('CREATE TABLE t (n, text); BEGIN');
    return db;
  };
  const [held, freed] = [open(), open()];
  // In turn, so that what stays lies among what goes.
  for (let n = 0; n < 4000; n += 1) {
    for (const db of n % 100 === 0 ? [held, freed] : [freed]) db.exec('INSERT INTO t VALUES (' + n + ', randomblob(8000))');
  }
  held.exec('COMMIT');
  freed.close();
  if (isMainThread) {
    await new Promise((resolve) => new Worker(new URL(import.meta.url)).once('message', resolve));
    noteFreed();
    const [noted, before] = [isFreedNoted(), anonymous()];
    giveBackFreed();
    const after = anonymous();
    giveBackFreed();
    const rows = held.prepare('SELECT count(*) FROM t WHERE length(text) = 8000').pluck().get();
    console.log(JSON.stringify({ before, after, rows, noted, isFreedNoted: isFreedNoted() }));
    process.exit();
  } else {
    parentPort.postMessage('done');
    setInterval(() => {}, 1000);
  }
`;

describe('giving back freed memory of SQLite', () => {
  const skip = glibc === undefined ? 'needs glibc, whose memory it is' : false;
  it('returns to the system what lies below memory in use, in all threads, and leaves that in use alone', {
    skip,
  }, (t) => {
    const file = join(temporaryFolder(t), 'frees.mjs');
    writeFileSync(file, text);
    const { before, after, ...rest } = JSON.parse(execFileSync(process.execPath, [file], { encoding: 'utf8' }));
    assert.ok(before - after > 50e6, `${before} before, ${after} after`);
    assert.deepEqual(rest, { rows: 40, noted: true, isFreedNoted: false });
  });
});
