import assert from 'node:assert/strict';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { openLog } from '../../../events/log/sqlite-log.ts';
import type { CheckpointChange } from '../../../events/proof/checkpoints.ts';
import { emptyRoot } from '../../../events/proof/merkle.ts';
import { openNote, parseCheckpoint, parseVerifierKey } from '../../../events/proof/notes.ts';
import { consistencyProof } from '../../../events/proof/proofs.ts';
import { createIds } from '../../../events/store/ids.ts';
import { createLog as createLogFile } from '../../../events/store/log-file.ts';
import { openVault } from '../../../events/vault/vault.ts';
import { portOf } from '../../../events/vault/vault-port.ts';
import { openNotary } from '../../../server/audit/notary/signing.ts';
import { createLog } from '../../../server/platform/logging.ts';
import type { LogCheckpoint } from '../../../server/ports.ts';
import { openDatabase, type Sqlite } from '../../../storage/sqlite.ts';
import { sealAnew, seals } from '../../events/logs.ts';
import { verifyConsistency } from '../../helpers/proofs.ts';
import { temporaryFolder } from '../../helpers/service.ts';

/** A log with a vault and a notary, in a folder of its own. */
function start(t: TestContext, folder = temporaryFolder(t)) {
  const file = join(folder, 'log.db');
  const db = openDatabase(file);
  if (db.prepare('SELECT count(*) FROM sqlite_schema').pluck().get() === 0) createLogFile(db, 'annals/test', seals.key);
  const counter = new BigInt64Array(new SharedArrayBuffer(8));
  const log = openLog(db, { ids: createIds(counter, Date.now), now: Date.now, seals });
  const vault = openVault(join(folder, 'vault.db'));
  const keys = portOf(vault).logKeys;
  const lines: string[] = [];
  const kept: CheckpointChange[] = [];
  const notary = openNotary({
    file,
    keys,
    sealKey: seals.key,
    keep: async (change) => {
      kept.push(change);
      log.keepCheckpoint(change);
    },
    onSigned: () => {},
    log: createLog('info', { write: (line) => lines.push(line) }),
    now: Date.now,
    milliseconds: 5,
  });
  notary.begin();
  t.after(() => {
    db.close();
    vault.close();
  });
  const append = (count: number) =>
    log.append(
      Array.from({ length: count }, () => ({
        stream: 'system/test',
        expectedVersion: null,
        events: [{ type: 'log.exported' as const, data: {} }],
        claims: [],
        releases: [],
        actor: { type: 'system' as const },
        correlationId: 'test',
        context: {},
      })),
    );
  return { folder, db, log, vault, keys, notary, append, lines, kept };
}

function headOf({ note }: LogCheckpoint, verifierKey: string) {
  const opened = openNote(note, [parseVerifierKey(verifierKey)]);
  const head = parseCheckpoint(opened?.text ?? '');
  return head ?? assert.fail(`not to be believed: ${note}`);
}

/** Takes a log back to before its first event. */
function empty(db: Sqlite): void {
  db.exec('DROP TRIGGER payloads_delete; DROP TRIGGER events_delete; DELETE FROM payloads; DELETE FROM events');
  setHead(db);
}

/** Sets the head to an empty log, sealed with the key of the operator. */
function setHead(db: Sqlite): void {
  db.prepare('UPDATE head SET size = 0, root = ?').run(Buffer.from(emptyRoot));
  sealAnew(db, seals.key);
}

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((resolve) => setTimeout(resolve, 5));
}

describe('the notary', () => {
  it('signs the log as it is, once for each size, and what it signs is consistent', async (t) => {
    const { notary, append, log, kept } = start(t);
    append(3);
    const first = await notary.checkpoint();
    assert.deepEqual(await notary.checkpoint(), first);
    append(300);
    const [second, same] = await Promise.all([notary.checkpoint(), notary.checkpoint()]);
    assert.deepEqual(second, same);
    assert.deepEqual(
      kept.map(({ size }) => size),
      [3, 303],
    );
    const key = await notary.verifierKey();
    const [before, now] = [first, second].map((checkpoint) => headOf(checkpoint, key));
    assert.ok(before && now);
    assert.deepEqual([before.origin, now.size, now.root], ['annals/test', 303, log.head().root]);
    assert.equal(second.root, now.root.toString('base64'));
    for (const [{ signedAt }, { time }] of [
      [first, before],
      [second, now],
    ] as const)
      assert.equal(time, signedAt);
    assert.ok(verifyConsistency(before, now, consistencyProof(before.size, now.size, log.hashes)));
    assert.deepEqual(
      (await notary.recent(5)).map(({ size }) => size),
      [303, 3],
    );
    await notary.close();
  });

  it('signs by itself when the log grew, at the end too, and nothing twice', async (t) => {
    const { folder, notary, append, kept } = start(t);
    append(1);
    await until(() => kept.length === 1);
    append(1);
    await notary.close();
    assert.deepEqual(
      kept.map(({ size }) => size),
      [1, 2],
    );
    const again = start(t, folder);
    assert.equal((await again.notary.checkpoint()).size, 2);
    await again.notary.close();
    assert.deepEqual(again.kept, []);
  });

  it('refuses to sign for now while there is no room for it', async (t) => {
    const { log, keys, notary, append } = start(t);
    append(1);
    const full = async () => {
      throw Object.assign(new Error('database or disk is full'), { code: 'SQLITE_FULL' });
    };
    const { sign } = keys;
    keys.sign = full;
    await assert.rejects(notary.checkpoint(), { name: 'DomainError', code: 'disk_full' });
    keys.sign = sign;
    assert.equal((await notary.checkpoint()).size, log.head().size);
  });

  it('never signs against what its key has signed, and says so once', async (t) => {
    const { folder, db, notary, append } = start(t);
    append(5);
    await notary.checkpoint();
    await notary.close();
    // Only the log is taken back, with its own record of signatures.
    db.exec('DROP TRIGGER payloads_delete; DROP TRIGGER events_delete');
    db.exec('DELETE FROM checkpoints; DELETE FROM payloads; DELETE FROM events');
    setHead(db);
    const { notary: other, append: appendOther, lines, kept } = start(t, folder);
    appendOther(4);
    await assert.rejects(other.checkpoint(), /the log was altered: it ends at position 4, and at position 5/);
    appendOther(2);
    await assert.rejects(other.checkpoint(), /the log was altered: it ends at position 6, and at position 5/);
    await until(() => lines.length > 0);
    await other.close();
    assert.deepEqual(kept, []);
    assert.equal(lines.length, 1);
    assert.match(lines[0] ?? '', /no checkpoint could be signed.*/);
    assert.equal(JSON.parse(lines[0] ?? '').level, 60);
  });

  it('never signs against what the log knows to be signed, if the vault has forgotten it', async (t) => {
    const { folder, db, vault, notary, append } = start(t);
    append(5);
    await notary.checkpoint();
    await notary.close();
    const [key] = vault.logKeys.known('annals/test');
    vault.logKeys.sign(
      'annals/test',
      key?.id ?? '',
      { size: 0, root: emptyRoot },
      vault.logKeys.current('annals/test').signed,
    );
    empty(db);
    const { notary: other, append: appendOther } = start(t, folder);
    for (const count of [5, 1]) {
      appendOther(count);
      await assert.rejects(
        other.checkpoint(),
        /the log was altered: .* at position 5 it is not the log that was signed/,
      );
    }
    await other.close();
  });

  it('signs nothing again of which an older vault has forgotten that it did, and remembers it', async (t) => {
    const { folder, db, log, vault, notary, append } = start(t);
    append(5);
    const { size } = await notary.checkpoint();
    log.keepCheckpoint({ kind: 'stored', size });
    const [{ note } = assert.fail('nothing is kept')] = await notary.recent(1);
    const said = { authority: 'tsa', token: Buffer.of(1), receivedAt: '2026-01-01T00:00:00.000Z' };
    log.keepCheckpoint({ kind: 'timestamped', size, signed: note, ...said });
    await notary.close();
    const [key] = vault.logKeys.known('annals/test');
    vault.logKeys.sign(
      'annals/test',
      key?.id ?? '',
      { size: 0, root: emptyRoot },
      vault.logKeys.current('annals/test').signed,
    );
    const { notary: other, kept } = start(t, folder);
    await until(() => vault.logKeys.current('annals/test').signed?.size === size);
    assert.equal((await other.checkpoint()).note, note);
    assert.deepEqual(kept, []);
    await other.close();
    assert.equal(db.prepare('SELECT count(*) FROM timestamps').pluck().get(), 1);
    assert.equal(db.prepare('SELECT stored FROM checkpoints').pluck().get(), 1);
  });

  it('signs nothing once the log has turned out to be another one', async (t) => {
    const { notary, append, kept } = start(t);
    notary.refuse(new Error('it is another one'));
    append(1);
    await assert.rejects(notary.checkpoint(), /it is another one/);
    await notary.close();
    assert.deepEqual(kept, []);
  });

  it('has a key that outlives a restart, and signs under a new one once that takes its place', async (t) => {
    const { folder, notary, append, vault } = start(t);
    append(2);
    const first = await notary.checkpoint();
    const key = await notary.verifierKey();
    await notary.close();
    const again = start(t, folder);
    assert.equal(await again.notary.verifierKey(), key);
    again.vault.logKeys.replace('annals/test', { disowned: [{ id: key.split('+')[1] ?? '' }], reason: 'a test' });
    const newKey = await again.notary.verifierKey();
    assert.notEqual(newKey, key);
    const second = await again.notary.checkpoint();
    assert.equal(second.size, first.size);
    assert.deepEqual(
      [headOf(second, newKey).root, openNote(second.note, [parseVerifierKey(key)])],
      [headOf(first, key).root, null],
    );
    assert.deepEqual(
      vault.logKeys.known('annals/test').map(({ verifierKey, isDisowned }) => [verifierKey, isDisowned]),
      [
        [key, true],
        [newKey, false],
      ],
    );
    await again.notary.close();
  });

  it('keeps the newest checkpoints, and of older ones the last of each hour', (t) => {
    const { log, db, notary } = start(t);
    for (let size = 1; size <= 1400; size += 1) {
      const signedAt = new Date(Date.UTC(2026, 0, 1) + size * 600_000).toISOString();
      log.keepCheckpoint({ kind: 'signed', size, note: `note ${size}`, signedAt });
    }
    const sizes = db.prepare('SELECT size FROM checkpoints ORDER BY size').pluck().all() as number[];
    assert.deepEqual(
      sizes.slice(-1000),
      Array.from({ length: 1000 }, (_, index) => index + 401),
    );
    // The sixth of ten minutes each is the first of the next hour.
    assert.deepEqual(sizes.slice(0, 3), [5, 11, 17]);
    return notary.close();
  });

  it('keeps rather those for which somebody outside vouched, and nothing of those that go', (t) => {
    const { log, db, notary } = start(t);
    const stamp = (size: number, signed = `note ${size}`) => {
      const said = { authority: 'tsa', token: Buffer.of(size % 256), receivedAt: '2026-01-01T00:00:00.000Z' };
      log.keepCheckpoint({ kind: 'timestamped', size, signed, ...said });
    };
    for (let size = 1; size <= 1400; size += 1) {
      const signedAt = new Date(Date.UTC(2026, 0, 1) + size * 600_000).toISOString();
      log.keepCheckpoint({ kind: 'signed', size, note: `note ${size}\n\n— log x\n`, signedAt });
      if (size === 7) log.keepCheckpoint({ kind: 'cosigned', size, text: `note ${size}\n`, line: '— w x\n' });
      if ([2, 3, 1399].includes(size)) stamp(size);
    }
    const sizes = db.prepare('SELECT size FROM checkpoints ORDER BY size').pluck().all() as number[];
    assert.deepEqual(sizes.slice(0, 4), [3, 7, 17, 23]);
    const stamped = db.prepare('SELECT size FROM timestamps ORDER BY size').pluck();
    assert.deepEqual(stamped.all(), [3, 1399]);
    // A stamp over another note is not kept, and goes with the note that it was over.
    stamp(1400, 'another');
    assert.deepEqual(stamped.all(), [3, 1399]);
    log.keepCheckpoint({ kind: 'signed', size: 1399, note: 'by another key', signedAt: '2026-01-11T00:00:00.000Z' });
    assert.deepEqual(stamped.all(), [3]);
    log.keepCheckpoint({ kind: 'cosigned', size: 1399, text: 'note 1399\n', line: '— w x\n' });
    const note = db.prepare('SELECT note FROM checkpoints WHERE size = ?').pluck();
    assert.equal(note.get(1399), 'by another key');
    assert.equal(note.get(7), 'note 7\n\n— log x\n— w x\n');
    return notary.close();
  });
});
