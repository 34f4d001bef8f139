import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { describe, it } from 'node:test';
import type { JsonObject } from '../../config/schema.ts';
import type { EventType } from '../../events/facts/catalogue.ts';
import type { SqliteLog } from '../../events/log/sqlite-log.ts';
import { namesFiles, openTail, readNamings } from '../../events/service-events/blobs.ts';
import { BrokenLogError } from '../../events/store/log-file.ts';
import { openDatabase } from '../../storage/sqlite.ts';
import { command, openTestLog } from './logs.ts';

const sha = (text: string) => hash('sha256', text);

function record(log: SqliteLog, stream: string, data: JsonObject, type: EventType = 'document.created'): void {
  const { outcomes } = log.append([command(stream, null, { events: [{ type, data }] })]);
  assert.ok(outcomes[0] && 'ok' in outcomes[0] && outcomes[0].ok);
}

describe('The files that a log names', () => {
  it('are those of documents made and changed, with the version that does, in any collection', (t) => {
    const { db, log } = openTestLog(t);
    record(log, 'media/1', { id: '1', sha256: sha('a'), alt: '"sha256":"' });
    record(log, 'media/1', { set: { sha256: sha('b'), filesize: 1 } }, 'document.updated');
    record(log, 'media/1', {}, 'document.deleted');
    record(log, 'gone/2', { sha256: sha('a') });
    record(log, 'media/1', { source: { version: 1 }, document: { sha256: sha('a') } }, 'document.restored');
    assert.deepEqual(
      [...readNamings(db, 0, 5)],
      [
        { sha256: sha('a'), position: 1, stream: 'media/1', version: 1 },
        { sha256: sha('b'), position: 2, stream: 'media/1', version: 2 },
        { sha256: sha('a'), position: 4, stream: 'gone/2', version: 1 },
        { sha256: sha('a'), position: 5, stream: 'media/1', version: 4 },
      ],
    );
    assert.deepEqual(
      [...readNamings(db, 1, 3)].map(({ position }) => position),
      [2],
    );
    assert.equal(namesFiles(db), true);
  });

  it('are not what only looks like one: in texts, nested, of another form, of another kind of event', (t) => {
    const { db, log } = openTestLog(t);
    record(log, 'posts/1', { text: `{"sha256":"${sha('a')}"}`, json: { sha256: sha('a') } });
    record(log, 'posts/2', { sha256: sha('a').toUpperCase() });
    record(log, 'posts/3', { sha256: sha('a').slice(1), set: [{ sha256: sha('a') }] });
    record(log, 'posts/4', { sha256: null, set: null });
    record(log, 'globals/site', { set: { sha256: sha('a') } }, 'global.updated');
    assert.deepEqual([...readNamings(db, 0, 5)], []);
    assert.equal(namesFiles(db), false);
  });

  it('are none if the payload was erased, and not known if it cannot be read', (t) => {
    const { db, log } = openTestLog(t);
    record(log, 'media/1', { sha256: sha('a') });
    record(log, 'media/2', { sha256: sha('b') });
    db.exec('DROP TRIGGER payloads_delete; DROP TRIGGER payloads_update; DELETE FROM payloads WHERE position = 1');
    assert.deepEqual(
      [...readNamings(db, 0, 2)].map(({ stream }) => stream),
      ['media/2'],
    );
    db.exec("UPDATE payloads SET enc = 1, body = 'secret'");
    assert.throws(() => [...readNamings(db, 0, 2)], BrokenLogError);
  });

  it('are all found in a log of several chunks, with the progress told', (t) => {
    const { db, log } = openTestLog(t);
    const commands = Array.from({ length: 4500 }, (_, index) => {
      const data: JsonObject = index % 1499 === 0 ? { sha256: sha(String(index)) } : { title: `no ${index}` };
      return command(`posts/${index}`, 0, { events: [{ type: 'document.created', data }] });
    });
    log.append(commands);
    const told: string[] = [];
    const found = [...readNamings(db, 100, 4500, (done, total) => told.push(`${done}/${total}`))];
    assert.deepEqual(
      found.map(({ position }) => position),
      [1500, 2999, 4498],
    );
    assert.deepEqual(told, ['2000/4400', '4000/4400', '4400/4400']);
  });
});

describe('The tail of a log', () => {
  it('names what was recorded after a position, as of now, through a connection of its own', (t) => {
    const { log, path } = openTestLog(t);
    const db = openDatabase(path, { readonly: true });
    t.after(() => db.close());
    record(log, 'media/1', { sha256: sha('a') });
    const isNamed = openTail(db);
    assert.deepEqual([isNamed(0, sha('a')), isNamed(1, sha('a')), isNamed(1, sha('b'))], [true, false, false]);
    record(log, 'media/2', { sha256: sha('b') });
    assert.deepEqual([isNamed(1, sha('b')), isNamed(1, sha('a')), isNamed(2, sha('b'))], [true, false, false]);
    assert.throws(() => isNamed(3, sha('b')), {
      code: 'validation_failed',
      message: 'the log ends at position 2, got 3',
    });
  });
});
