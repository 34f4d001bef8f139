import assert from 'node:assert/strict';
import { readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import fc from 'fast-check';
import { eventOf, readLog } from '../../events/log/log-reader.ts';
import { upgradeLog } from '../../events/log/upgrading.ts';
import { rewriteSegment, writeSegment } from '../../events/segments/segment-writer.ts';
import { archivedUpTo, segmentFolder, segmentsOf } from '../../events/segments/segments.ts';
import { openLogToRead } from '../../events/store/log-file.ts';
import { expectedSchema, schemaOf } from '../../events/store/log-tables.ts';
import { verifyLog } from '../../events/verify/verify.ts';
import { openDatabase, type Sqlite } from '../../storage/sqlite.ts';
import { runsOf } from '../helpers/runs.ts';
import { bringBack, command, contentOf, type Opened, openTestLog, seals } from './logs.ts';

const sizes = { events: 10, hot: 5 };

/** Archives all payloads that can be, and takes them out of the table. */
function archive({ db, log }: Opened): void {
  for (let pending = writeSegment(db, sizes); pending; pending = writeSegment(db, sizes))
    assert.ok(log.segments.keep(pending));
  while (log.segments.shed(3));
}

function appendMany({ log }: Opened, count: number): void {
  for (let at = 0; at < count; at += 1) {
    const stream = `posts/${at % 7}`;
    const data = { set: { text: `the ${at}th of ${stream}, Grüße \uFFFD` } };
    log.append([command(stream, null, { events: [{ type: 'document.updated', data }] })]);
  }
}

function erase({ log }: Opened, stream: string): void {
  const versions = log.versionOf(stream);
  const data = { streams: [{ stream, versions }] };
  const [outcome] = log.append([
    command(stream, versions, { events: [{ type: 'document.erased', data }], erases: [stream] }),
  ]).outcomes;
  assert.ok(outcome && !(outcome instanceof Error) && outcome.ok);
}

const verdict = (db: Sqlite) => verifyLog(db, () => {});

function archivedLog(t: TestContext, count = 38): Opened {
  const opened = openTestLog(t);
  appendMany(opened, count);
  archive(opened);
  return opened;
}

function firstFile({ db, path }: Opened): string {
  return join(segmentFolder(path), segmentsOf(db)[0]?.file ?? '');
}

describe('a log in segments', () => {
  it('gives every payload as it was, with no archived one left in the table', (t) => {
    const opened = openTestLog(t);
    appendMany(opened, 38);
    const before = opened.log.texts(0, 38);
    archive(opened);
    const reader = openDatabase(opened.path, { readonly: true });
    t.after(() => reader.close());
    assert.deepEqual(
      segmentsOf(reader).map(({ first, last }) => [first, last]),
      [
        [1, 10],
        [11, 20],
        [21, 30],
      ],
    );
    assert.equal(reader.prepare('SELECT min(position) FROM payloads').pluck().get(), 31);
    assert.deepEqual(opened.log.texts(0, 38), before);
    assert.deepEqual(
      opened.log.textsWithin(4, 38, 10).map(({ body }) => body),
      [before[4]?.body],
    );
    assert.equal(verdict(opened.db), null);
    for (const { file } of segmentsOf(reader))
      assert.equal(statSync(join(segmentFolder(opened.path), file)).mode & 0o777, 0o600);
    assert.throws(() => opened.db.exec('DELETE FROM payloads WHERE position = 31'), /append-only/);
  });

  it('returns the pages that payloads have left, except for those that the next payloads need', (t) => {
    const opened = openTestLog(t);
    const { db, log } = opened;
    const data = { set: { text: 'x'.repeat(30_000) } };
    log.append(
      Array.from({ length: 400 }, (_, at) =>
        command(`posts/${at}`, 0, { events: [{ type: 'document.updated', data }] }),
      ),
    );
    const pages = (name: string) => Number(db.pragma(name, { simple: true }));
    const before = pages('page_count');
    assert.equal(log.segments.shrink(10), false);
    archive(opened);
    assert.ok(pages('freelist_count') > 2500);
    assert.equal(log.segments.shrink(100), true);
    while (log.segments.shrink(100));
    assert.equal(pages('freelist_count'), 2048);
    assert.ok(pages('page_count') < before - 400);
    assert.equal(verdict(db), null);
    assert.equal(log.texts(0, 400).length, 400);
  });

  it('takes an erased payload from no segment, and has it in none once that is written anew', (t) => {
    const opened = archivedLog(t);
    const { db, log, path } = opened;
    erase(opened, 'posts/3');
    const erased = () =>
      log.stream('posts/3').map(({ data, header }) => (header.type === 'document.erased' ? 1 : data));
    assert.deepEqual(erased(), [null, null, null, null, null, 1]);
    assert.equal(verdict(db), null);
    assert.ok(log.segments.hasRemovals());
    const before = new Map(segmentsOf(db).map(({ first, file }) => [first, file]));
    log.segments.rewriteNow();
    assert.ok(!log.segments.hasRemovals());
    assert.deepEqual(erased(), [null, null, null, null, null, 1]);
    assert.equal(verdict(db), null);
    assert.equal(readdirSync(segmentFolder(path)).length, 6, 'readers of before still have the old ones');
    log.segments.removeStrays();
    assert.deepEqual(
      readdirSync(segmentFolder(path)),
      segmentsOf(db).map(({ file }) => file),
    );
    assert.ok(segmentsOf(db).every(({ first, file }) => before.get(first) !== file));
  });

  it('drops a draft that an erasure has overtaken', (t) => {
    const opened = openTestLog(t);
    appendMany(opened, 20);
    const pending = writeSegment(opened.db, sizes);
    assert.ok(pending);
    erase(opened, 'posts/3');
    assert.equal(opened.log.segments.keep(pending), false);
    assert.equal(archivedUpTo(opened.db), 0);
    archive(opened);
    assert.equal(verdict(opened.db), null);
    erase(opened, 'posts/2');
    const rewriting = rewriteSegment(opened.db);
    opened.log.segments.rewriteNow();
    assert.equal(rewriting && opened.log.segments.keep(rewriting), false, 'it was written anew by another');
  });

  it('is not archived if a payload is not the one that was recorded', (t) => {
    const opened = openTestLog(t);
    appendMany(opened, 20);
    opened.db.exec(`DROP TRIGGER payloads_update; UPDATE payloads SET body = 'x' WHERE position = 7`);
    assert.throws(() => writeSegment(opened.db, sizes), /event 7 .* not the one committed to/);
  });

  it('is found out if a segment is missing, was altered, or is another one, and says which', (t) => {
    const opened = archivedLog(t);
    const { db, log } = opened;
    const [file, other] = [firstFile(opened), join(dirname(firstFile(opened)), segmentsOf(db)[1]?.file ?? '')];
    const bytes = readFileSync(file);
    for (const at of [0, 9, 30, 60, bytes.length - 1]) {
      const flipped = Buffer.from(bytes);
      flipped[at] = (flipped[at] ?? 0) ^ 1;
      writeFileSync(file, flipped);
      assert.match(String(verdict(db)), /^the segment of events 1 to 10 was altered/, `byte ${at}`);
    }
    writeFileSync(file, readFileSync(other));
    assert.match(String(verdict(db)), /^the segment of events 1 to 10 was altered/);
    rmSync(file);
    assert.match(String(verdict(db)), /^the segment of events 1 to 10 of the log is missing: segments\/0000000001-/);
    const fresh = openDatabase(opened.path, { readonly: true });
    t.after(() => fresh.close());
    writeFileSync(file, bytes);
    assert.equal(verdict(db), null);
    assert.equal(log.texts(0, 38).length, 38);
  });

  it('does not take the word of the table for what is in a segment', (t) => {
    const opened = archivedLog(t);
    const [kept] = segmentsOf(opened.db);
    assert.ok(kept);
    erase(opened, 'posts/0');
    const old = readFileSync(firstFile(opened));
    opened.log.segments.rewriteNow();
    // The file of before, with a row that fits: as one who can write both.
    writeFileSync(join(segmentFolder(opened.path), kept.file), old);
    opened.db
      .prepare('UPDATE segments SET file = ?, sha256 = ?, bytes = ?, raw = ? WHERE first = 1')
      .run(kept.file, kept.sha256, kept.bytes, kept.raw);
    assert.equal(verdict(opened.db), 'event 1 (posts/0): its payload was erased, and is there');
    assert.throws(() => opened.log.texts(0, 1), /its payload was erased, and is there/);
  });

  it('goes on with a log of format 3, which a reader takes as it is, and changes no event', (t) => {
    const opened = openTestLog(t);
    const { db, path, reopen } = opened;
    appendMany(opened, 20);
    const content = () => JSON.stringify(contentOf(db));
    const before = content();
    bringBack(db, 3);
    const reader = openLogToRead(path);
    t.after(() => reader.close());
    assert.equal(verdict(reader), null);
    assert.equal(readLog(reader).texts(0, 20).length, 20);
    assert.equal(upgradeLog(db, seals), 3);
    assert.deepEqual(schemaOf(db), expectedSchema(5));
    assert.equal(content(), before);
    assert.equal(upgradeLog(db, seals), null);
    const log = reopen();
    archive({ ...opened, log });
    assert.equal(archivedUpTo(db), 10);
    assert.equal(verdict(db), null);
    // The seal of its head is the one that it had.
    db.prepare('UPDATE head SET mac = zeroblob(32)').run();
    assert.throws(() => reopen(), /not sealed by the key/);
  });

  it('says which segment cannot be read', (t) => {
    const opened = archivedLog(t);
    const file = firstFile(opened);
    renameSync(file, `${file}.away`);
    assert.throws(() => opened.log.texts(3, 4), { message: 'the segment of events 1 to 10 of the log is missing' });
    assert.equal(opened.log.texts(30, 38).length, 8);
  });

  it('has the payloads of a simple model after whatever was done to it', (t) => {
    const step = fc.oneof(
      {
        weight: 4,
        arbitrary: fc.record({ kind: fc.constant('append' as const), count: fc.integer({ min: 1, max: 12 }) }),
      },
      {
        weight: 2,
        arbitrary: fc.record({ kind: fc.constant('archive' as const), isKept: fc.boolean(), shed: fc.nat(3) }),
      },
      { weight: 2, arbitrary: fc.record({ kind: fc.constant('erase' as const), stream: fc.nat(6) }) },
      { weight: 1, arbitrary: fc.record({ kind: fc.constant('rewrite' as const), isKept: fc.boolean() }) },
      { weight: 1, arbitrary: fc.record({ kind: fc.constant('clean' as const) }) },
      { weight: 1, arbitrary: fc.record({ kind: fc.constant('reopen' as const) }) },
    );
    fc.assert(
      fc.property(fc.array(step, { maxLength: 25 }), (steps) => {
        const opened = openTestLog(t);
        let { log } = opened;
        const { db } = opened;
        const model: { stream: string; text: string | null }[] = [];
        for (const one of steps) {
          if (one.kind === 'append') {
            for (let at = 0; at < one.count; at += 1) {
              const stream = `posts/${(model.length * 3) % 7}`;
              const text = `${stream} at ${model.length} ${'x'.repeat((model.length % 5) * 9000)}`;
              log.append([command(stream, null, { events: [{ type: 'document.updated', data: { set: { text } } }] })]);
              model.push({ stream, text });
            }
          } else if (one.kind === 'erase') {
            const stream = `posts/${one.stream}`;
            if (log.versionOf(stream) === 0) continue;
            erase({ ...opened, log }, stream);
            for (const event of model) if (event.stream === stream && event.text !== 'erasure') event.text = null;
            model.push({ stream, text: 'erasure' });
          } else if (one.kind === 'archive') {
            const pending = writeSegment(db, sizes);
            // A process that is killed in between leaves a draft.
            if (pending && one.isKept) log.segments.keep(pending);
            if (one.shed > 0) log.segments.shed(one.shed);
          } else if (one.kind === 'rewrite') {
            const pending = rewriteSegment(db);
            if (pending && one.isKept) log.segments.keep(pending);
          } else if (one.kind === 'clean') log.segments.removeStrays();
          else log = opened.reopen();
          const found = log.texts(0, model.length).map((text) => {
            const { header, data } = eventOf(text);
            return header.type === 'document.erased'
              ? 'erasure'
              : ((data?.set as { text: string } | undefined)?.text ?? null);
          });
          assert.deepEqual(
            found,
            model.map(({ text }) => text),
          );
        }
        assert.equal(verdict(db), null);
        log.segments.rewriteNow();
        log.segments.removeStrays();
        assert.equal(verdict(db), null);
      }),
      { numRuns: runsOf(30) },
    );
  });
});
