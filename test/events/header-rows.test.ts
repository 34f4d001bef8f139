import assert from 'node:assert/strict';
import { it } from 'node:test';
import fc from 'fast-check';
import { encodeHeader, type Header } from '../../events/facts/envelope.ts';
import { openHeaderRows } from '../../events/log/header-rows.ts';
import { runsOf } from '../helpers/runs.ts';
import { openTestLog } from './logs.ts';

const log = 'annals/test';
const hex = (length: number) =>
  fc.array(fc.constantFrom(...'0123456789abcdef'), { minLength: length, maxLength: length }).map((all) => all.join(''));
const uuid = fc.tuple(hex(8), hex(4), hex(4), hex(4), hex(12)).map((parts) => parts.join('-'));
const text = fc.oneof(fc.constantFrom('posts/é', 'a"b\\c', '', 'x\u0000\u2028'), fc.string());
const odd = (usual: fc.Arbitrary<unknown>, other: fc.Arbitrary<unknown> = text) =>
  fc.oneof({ weight: 12, arbitrary: usual }, { weight: 1, arbitrary: other });
const time = (least: number, most: number) =>
  fc.integer({ min: least, max: most }).map((ms) => new Date(ms).toISOString());

/** Most are such as the log records, and the others in one or two members not. */
const header = fc.record({
  v: fc.constantFrom(1, 2),
  log: odd(fc.constant(log)),
  id: odd(uuid),
  type: odd(fc.constant('document.created')),
  schemaVersion: fc.nat(),
  recordedAt: odd(
    time(0, 4_102_444_800_000),
    fc.oneof(time(-5, 5), time(253_402_300_799_990, 253_402_300_800_010), text),
  ),
  actor: odd(fc.record({ type: fc.constant('apiKey'), id: hex(16) }), fc.record({ type: text })),
  correlationId: fc.oneof(uuid, odd(fc.constant('request-1'))),
  batch: fc.oneof(fc.constant(undefined), odd(uuid)),
  payload: odd(hex(64).map((digits) => `sha256:${digits}`)),
});

it('every header is read as the text that it was written as, also one that was made elsewhere', (t) => {
  const { db } = openTestLog(t);
  const rows = openHeaderRows(db, () => log);
  const read = db.prepare<[number], { id: string; header: string }>(
    'SELECT id, header FROM headers WHERE position = ?',
  );
  const isWhole = db.prepare<[number], number>('SELECT whole IS NOT NULL FROM events WHERE position = ?').pluck();
  const empty = db.prepare('DELETE FROM events');
  db.exec('DROP TRIGGER events_delete');
  const found = { members: 0, whole: 0 };
  fc.assert(
    fc.property(header, (made) => {
      empty.run();
      const ours = { ...made, position: 1, stream: 'posts/1', version: 1 } as Header;
      rows.put(ours, encodeHeader(ours));
      const theirs = { ...ours, id: `${made.id}+`, position: 2, version: 2 };
      const text = encodeHeader(theirs);
      rows.putText(theirs, text);
      assert.deepEqual(read.get(1), { id: ours.id, header: encodeHeader(ours) });
      assert.deepEqual(read.get(2), { id: theirs.id, header: text });
      found[isWhole.get(1) === 1 ? 'whole' : 'members'] += 1;
    }),
    { numRuns: runsOf(400) },
  );
  assert.ok(found.members > 0 && found.whole > 0, JSON.stringify(found));
});

it('a header whose text differs from its members or its columns is kept as it is', (t) => {
  const { db, log: opened } = openTestLog(t);
  const rows = openHeaderRows(db, () => log);
  const base: Header = {
    ...{ v: 2, log, position: 1, id: '019a0000-0000-7000-8000-000000000000', stream: 'posts/1', version: 1 },
    ...{ type: 'document.created', schemaVersion: 1, recordedAt: '2026-11-20T12:00:00.000Z' },
    ...{ actor: { type: 'system' }, correlationId: 'x', payload: `sha256:${'0'.repeat(64)}` },
  };
  const rowAt = (position: number) => ({ position, id: `id ${position}`, stream: 'posts/1', version: position });
  const textAt = (position: number, row = rowAt(position)) => encodeHeader({ ...base, ...row });
  const texts = [
    textAt(1).replace('{', '{ '),
    textAt(2).replace('"v":2', '"unknown":1,"v":2'),
    textAt(3, rowAt(9)),
    'no JSON',
  ];
  for (const [index, text] of texts.entries()) rows.putText(rowAt(index + 1), text);
  assert.deepEqual(db.prepare('SELECT header FROM headers ORDER BY position').pluck().all(), texts);
  assert.equal(opened.head().size, 0);
});
