import assert from 'node:assert/strict';
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import type { Header } from '../../events/facts/envelope.ts';
import { openDatabase, type Sqlite } from '../../storage/sqlite.ts';
import { run } from '../../verify/annals-verify.mjs';
import { altering, bringBack } from '../events/logs.ts';
import { useFolder } from '../helpers/shared.ts';
import { answerOf, createSigner, type Entry, noteOf, rewritten, signNote, writeLog, writeNote } from './forger.ts';
import { erased, fileBytes, lively, mediumNow, person, verdictOf } from './histories.ts';

const folder = useFolder();
const signer = createSigner();
const stranger = createSigner();
/** Before anything was erased. */
const whole = lively();
const log = erased(whole);
const notes = [6, 15].map((size) => noteOf(log, [signer], size));
const kept = writeNote(join(folder, 'kept.txt'), noteOf(log, [signer], 6));
const pinned = ['--key', signer.verifierKey, '--checkpoint', kept];
let count = 0;

type Made = {
  entries?: readonly Entry[];
  notes?: readonly string[];
  change?: (db: Sqlite) => void;
};

function logOf({ entries = log, notes: held = notes, change }: Made = {}): string {
  count += 1;
  const path = join(folder, `log-${count}.db`);
  writeLog(path, entries, held);
  if (change) {
    const db = openDatabase(path, { durability: 'full' });
    change(db);
    db.pragma('journal_mode = DELETE');
    db.close();
  }
  return path;
}

/** The head as formats 1 and 2 have it. */
const formerHead = `
  CREATE TEMP TABLE kept AS SELECT log, size, root, recorded_at FROM head;
  DROP TABLE head;
  CREATE TABLE head (
    log TEXT PRIMARY KEY,
    size INTEGER NOT NULL,
    root BLOB NOT NULL CHECK (length(root) = 32),
    recorded_at TEXT NOT NULL
  ) STRICT;
  INSERT INTO head SELECT * FROM kept`;

function at(position: number, change: (entry: Entry) => Entry, entries = log): Entry[] {
  return entries.map((entry, index) => (index === position - 1 ? change(entry) : entry));
}

describe('annals-verify on a copy of log.db', () => {
  it('finds an honest one sound, and puts nothing beside it', async () => {
    const alone = join(folder, 'alone');
    mkdirSync(alone);
    writeLog(join(alone, 'log.db'), log, notes);
    const { exit, text } = await run([...pinned, join(alone, 'log.db')]);
    assert.equal(exit, 0, text);
    assert.match(text, /16 events from the first to the last/);
    assert.match(text, /14 payloads are those that their headers commit to/);
    assert.match(text, /2 payloads are gone, as events of the log declare/);
    assert.match(text, /3 checkpoints signed by the pinned key, the newest of 15 events/);
    assert.match(text, /open +the origin of the events 16 to 16/);
    assert.match(text, /open +the bytes of 1 uploaded file:/);
    assert.deepEqual(readdirSync(alone), ['log.db']);
  });

  it('compares uploaded files with the events', async () => {
    const blobs = join(folder, 'blobs');
    const file = join(blobs, mediumNow.sha256.slice(0, 2), mediumNow.sha256);
    mkdirSync(join(file, '..'), { recursive: true });
    assert.match(
      await verdictOf(...pinned, '--files', blobs, logOf()),
      /^2 UNDECIDED: event 10 .*names the file \w+, and it is not/,
    );
    writeFileSync(file, fileBytes);
    assert.match(
      (await run([...pinned, '--files', blobs, logOf()])).text,
      /1 file is, byte for byte, the one that the events name/,
    );
    writeFileSync(file, 'altered');
    assert.match(
      await verdictOf(...pinned, '--files', blobs, logOf()),
      /^1 NOT SOUND: the file \w+ of event 10 .*was altered/,
    );
  });

  it('holds it against all anchored checkpoints of a folder', async () => {
    const anchors = join(folder, 'anchors');
    mkdirSync(anchors);
    for (const size of [0, 1, 7, 16]) writeNote(join(anchors, `${size}`), noteOf(log, [signer], size));
    assert.match(await verdictOf('--key', signer.verifierKey, '--checkpoints', anchors, logOf()), /^0 SOUND/);
    const cut = logOf({ entries: log.slice(0, 15) });
    assert.match(
      await verdictOf('--key', signer.verifierKey, '--checkpoints', anchors, cut),
      /^2 UNDECIDED: the kept checkpoint 16 is of 16 events, what is shown ends at 15: it is older/,
    );
    writeFileSync(join(anchors, '3'), 'damaged');
    assert.match(
      await verdictOf('--key', signer.verifierKey, '--checkpoints', anchors, logOf()),
      /^2 UNDECIDED: the kept checkpoint 3 is not a signed note/,
    );
  });

  it('takes an older copy with a proof that the log continues it, and finds alterations before that', async () => {
    const [five, newer] = [at(3, (entry) => rewritten(entry, { correlationId: 'x' })), noteOf(log, [signer])];
    const since = writeNote(join(folder, 'since.txt'), newer);
    const args = ['--key', signer.verifierKey, '--checkpoint', since];
    const copy = { entries: log.slice(0, 15), notes: [noteOf(log, [signer], 15)] };
    const older = logOf(copy);
    const proof = (entries: readonly Entry[]) => {
      const path = join(folder, 'since.json');
      writeFileSync(path, JSON.stringify(answerOf(entries, 15, 16)));
      return ['--proof', path];
    };
    assert.match(await verdictOf(...args, older), /^2 UNDECIDED: .*what is shown ends at 15: it is older/);
    assert.match(await verdictOf(...args, ...proof(log), older), /^0 SOUND/);
    assert.match(await verdictOf(...args, ...proof(five), older), /^2 UNDECIDED: the proof does not lead from what/);
    const change = sql("UPDATE payloads SET body = replace(body, 'Two', 'Too') WHERE position = 4");
    assert.match(await verdictOf(...args, logOf({ ...copy, change })), /^1 NOT SOUND: event 4/);
  });

  it('goes by the key that is pinned, and is not content without', async () => {
    assert.match(await verdictOf(logOf()), /^2 UNDECIDED: it is sound in itself/);
    assert.match(await verdictOf('--trust-inside', logOf()), /^0 SOUND/);
    assert.match(
      await verdictOf('--key', stranger.verifierKey, logOf()),
      /^2 UNDECIDED: the checkpoint of 6 events in the log is signed by another key/,
    );
    assert.match(
      await verdictOf('--key', signer.verifierKey, logOf({ notes: [] })),
      /^2 UNDECIDED: no checkpoint of this key is in the log/,
    );
  });

  it('holds it against kept checkpoints of the same log only, also if no key is known', async () => {
    const other = writeNote(join(folder, 'other.txt'), noteOf(log, [stranger], 6, 'annals/other'));
    assert.match(
      await verdictOf('--trust-inside', '--checkpoint', other, logOf()),
      /^2 UNDECIDED: the kept checkpoint other\.txt is of another log, annals\/other/,
    );
  });

  it('reads logs of formats 1 and 2, and refuses what it does not know', async () => {
    const former = (format: number) => (db: Sqlite) => {
      bringBack(db, 4);
      db.exec(formerHead);
      if (format === 1) db.exec('DROP TABLE commands; DROP TABLE erasures; DROP TABLE checkpoints');
      db.pragma(`user_version = ${format}`);
    };
    const oldest = logOf({ entries: log.slice(0, 2), notes: [], change: former(1) });
    assert.match(await verdictOf('--trust-inside', oldest), /^0 SOUND/);
    assert.match(await verdictOf(...pinned, logOf({ change: former(2) })), /^0 SOUND/);
    const newer = logOf({ change: (db) => db.pragma('user_version = 6') });
    assert.match(await verdictOf(...pinned, newer), /^2 UNDECIDED: this log has format 6/);
    const other = logOf({ change: (db) => db.pragma('application_id = 1') });
    assert.match(await verdictOf(...pinned, other), /^2 UNDECIDED: this database is no log/);
  });
});

describe('annals-verify on headers of both versions', () => {
  const batch = '019a0000-0000-7000-8000-00000000000b';
  const since = (position: number, change: Partial<Header>) =>
    log.map((entry) => (entry.header.position < position ? entry : rewritten(entry, change)));
  const signed = (entries: readonly Entry[]) => ({ entries, notes: [noteOf(entries, [signer], 6)] });

  it('takes those of version 2 behind those of version 1, of bulk calls too', async () => {
    assert.match(await verdictOf(...pinned, logOf(signed(since(8, { v: 2 })))), /^0 SOUND/);
    assert.match(await verdictOf(...pinned, logOf(signed(since(8, { v: 2, batch })))), /^0 SOUND/);
  });

  it('rejects version 1 behind version 2, and version 2 in a log of format 2', async () => {
    const entries = at(9, (entry) => rewritten(entry, { v: 1 }), since(8, { v: 2 }));
    assert.match(
      await verdictOf(...pinned, logOf(signed(entries))),
      /^1 NOT SOUND: event 9 .*version 1, the one before it/,
    );
    const change = (db: Sqlite) => {
      bringBack(db, 4);
      db.exec(`${formerHead}; PRAGMA user_version = 2`);
    };
    const former = logOf({ ...signed(since(8, { v: 2 })), change });
    assert.match(await verdictOf(...pinned, former), /^1 NOT SOUND: event 8 .*version 2, in a log of format 2/);
  });
});

const sql =
  (text: string) =>
  (db: Sqlite): void => {
    db.exec(text);
  };

const lies: Record<string, { made: () => Made; says: RegExp }> = {
  'a document rewritten with all that follows from it, signed anew': {
    made: () => {
      const entries = at(4, (entry) => rewritten(entry, {}, { set: { title: 'Never said' } }));
      return { entries, notes: [noteOf(entries, [signer])] };
    },
    says: /^1 NOT SOUND: this is another log than that of the kept checkpoint kept\.txt: at 6 events their roots differ/,
  },
  'the same, with the checkpoints of before': {
    made: () => ({ entries: at(8, (entry) => rewritten(entry, {}, { set: { title: 'Never said' } })) }),
    says: /^1 NOT SOUND: this is another log than that of the checkpoint of 15 events in the log/,
  },
  'a truncated tail': {
    made: () => ({ entries: whole.slice(0, 5), notes: [] }),
    says: /^2 UNDECIDED: the kept checkpoint kept\.txt is of 6 events, what is shown ends at 5: .*from=5&to=6 as --proof/,
  },
  'a tail cut off after a checkpoint of its own': {
    made: () => ({ entries: log.slice(0, 14) }),
    says: /^1 NOT SOUND: the checkpoint of 15 events in the log is of 15 events, the log ends at 14: it was cut off/,
  },
  'a swapped payload': {
    made: () => ({ change: sql("UPDATE payloads SET body = replace(body, 'Two', 'Too') WHERE position = 4") }),
    says: /^1 NOT SOUND: event 4 \(posts\/\S+, version 2, document\.updated\): its payload is not the one/,
  },
  'a payload erased without a declaration': {
    made: () => ({ change: sql('DELETE FROM payloads WHERE position = 4') }),
    says: /^1 NOT SOUND: event 4 .*its payload is missing, and no document\.erased declares it/,
  },
  'an erasure that is declared and has not happened': {
    made: () => ({ entries: whole }),
    says: /^1 NOT SOUND: event 14 says that version 1 of users\/\S+ was erased, and it is there/,
  },
  'an erasure that was erased': {
    made: () => ({
      entries: at(16, (entry) =>
        rewritten(entry, { type: 'document.erased' }, { streams: [{ stream: person, versions: 2 }] }),
      ).map((entry) => (entry.header.position === 14 ? { ...entry, body: null } : entry)),
    }),
    says: /^1 NOT SOUND: event 14 .*its payload is missing, and no document\.erased declares it/,
  },
  'an event in the middle dropped': {
    made: () => ({ change: sql('DELETE FROM payloads WHERE position = 8; DELETE FROM events WHERE position = 8') }),
    says: /^1 NOT SOUND: event 8 is missing: the next one is at position 9/,
  },
  'reordered events': {
    made: () => {
      const entries = [...log];
      [entries[7], entries[8]] = [entries[8] as Entry, entries[7] as Entry];
      return { entries };
    },
    says: /^1 NOT SOUND: event 8: its row says position 8, its header 9/,
  },
  'two events that change places, numbers and all': {
    made: () => {
      const entries = [...log];
      entries[3] = rewritten(log[7] as Entry, {
        position: 4,
        version: 2,
        recordedAt: (log[3] as Entry).header.recordedAt,
      });
      entries[7] = rewritten(log[3] as Entry, {
        position: 8,
        version: 3,
        recordedAt: (log[7] as Entry).header.recordedAt,
      });
      return { entries };
    },
    says: /^1 NOT SOUND: this is another log than that of the checkpoint of 6 events/,
  },
  'a row that says something else than its header': {
    made: () => ({ change: sql(`${altering(6, 'header')}; UPDATE events SET stream = 'posts/3' WHERE position = 6`) }),
    says: /^1 NOT SOUND: event 6: its row says stream posts\/3, its header posts\/2/,
  },
  'a version twice': {
    made: () => ({
      entries: at(8, (entry) => rewritten(entry, { version: 4 }), whole).slice(0, 8),
      notes: [],
    }),
    says: /^1 NOT SOUND: event 8 .*version 3 of posts\/\S+ is missing before it/,
  },
  'a time that goes back': {
    made: () => ({
      entries: at(9, (entry) => rewritten(entry, { recordedAt: '2026-11-20T12:00:07.999Z' }), whole).slice(0, 9),
      notes: [],
    }),
    says: /^1 NOT SOUND: event 9 .*was recorded at 2026-11-20T12:00:07\.999Z, before/,
  },
  'an event of a foreign log': {
    made: () => ({ entries: at(8, (entry) => rewritten(entry, { log: 'annals/other' })) }),
    says: /^1 NOT SOUND: event 8 belongs to another log, annals\/other/,
  },
  'the id of another event': {
    made: () => ({ entries: at(16, (entry) => rewritten(entry, { id: (log[14] as Entry).header.id })) }),
    says: /^1 NOT SOUND: event 16 has the id of another one/,
  },
  'a header that is too long to be read': {
    made: () => ({ entries: at(16, (entry) => rewritten(entry, { correlationId: 'x'.repeat(66_000) })) }),
    says: /^1 NOT SOUND: event 16: its header is too long/,
  },
  'a head of more events': {
    made: () => ({ change: sql('UPDATE head SET size = 17') }),
    says: /^1 NOT SOUND: the log ends at event 16, its head says 17/,
  },
  'a head with another root': {
    made: () => ({ change: sql('UPDATE head SET root = zeroblob(32)') }),
    says: /^1 NOT SOUND: the tree over all events does not give the root of the head/,
  },
  'a head of another time': {
    made: () => ({ change: sql("UPDATE head SET recorded_at = '2026-11-20T12:00:00.000Z'") }),
    says: /^1 NOT SOUND: the head names another time/,
  },
  'a head of another log': {
    made: () => ({ change: sql("UPDATE head SET log = 'annals/other'") }),
    says: /^1 NOT SOUND: the checkpoint of 6 events in the log is of another log, annals\/019a/,
  },
  'two heads': {
    made: () => ({ change: sql("INSERT INTO head SELECT 'other', size, root, recorded_at, mac FROM head") }),
    says: /^1 NOT SOUND: the log has no head, or more than one/,
  },
  'a payload of no event': {
    made: () => ({ change: sql("PRAGMA foreign_keys = OFF; INSERT INTO payloads VALUES (99, 0, '{}')") }),
    says: /^1 NOT SOUND: there is a payload of event 99, which there is not/,
  },
  'a payload in an unknown encoding': {
    made: () => ({ change: sql('UPDATE payloads SET enc = 1 WHERE position = 4') }),
    says: /^2 UNDECIDED: event 4 .*encoded in a way/,
  },
  'a view in place of a table': {
    made: () => ({ change: sql('ALTER TABLE events RENAME TO kept; CREATE VIEW events AS SELECT * FROM kept') }),
    says: /^1 NOT SOUND: the table events is not that of a log/,
  },
  'a view that shows something else than the rows': {
    made: () => ({
      change: sql(
        'DROP VIEW headers; CREATE VIEW headers AS SELECT position, id, stream, version, whole AS header FROM events',
      ),
    }),
    says: /^1 NOT SOUND: the view headers is not that of a log/,
  },
  'a checkpoint of the log that somebody else signed': {
    made: () => ({ notes: [noteOf(log, [stranger], 6)] }),
    says: /^2 UNDECIDED: the checkpoint of 6 events in the log is signed by another key/,
  },
  'a checkpoint of the log of another size than its row': {
    made: () => ({ change: sql('UPDATE checkpoints SET size = 5 WHERE size = 6') }),
    says: /^1 NOT SOUND: the checkpoint of 5 events in the log is of 6 events/,
  },
  'a checkpoint of the log over other events': {
    made: () => ({ notes: [signNote(noteOf(log, [], 5).replace('\n5\n', '\n6\n').slice(0, -1), [signer])] }),
    says: /^1 NOT SOUND: this is another log than that of the checkpoint of 6 events in the log/,
  },
};

describe('annals-verify and a lying server: log.db', () => {
  for (const [lie, { made, says }] of Object.entries(lies)) {
    it(`rejects ${lie}`, async () => {
      assert.match(await verdictOf(...pinned, logOf(made())), says);
    });
  }
});
