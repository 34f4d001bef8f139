import assert from 'node:assert/strict';
import { rmSync } from 'node:fs';
import { after, describe, it } from 'node:test';
import { decideLogin } from '../../events/facts/accounts.ts';
import type { Actor, Header } from '../../events/facts/envelope.ts';
import type { RecordedEvent } from '../../events/facts/log.ts';
import { collectionOf, type EventFilter, openAuditFold, openAuditIndex } from '../../projections/tables/audit.ts';
import { createTables } from '../../projections/tables/tables.ts';
import { openDatabase } from '../../storage/sqlite.ts';
import { category } from '../helpers/category.ts';
import { findingIn, openDirectory, quickFolder } from './directory.ts';

const config = {
  collections: [
    { slug: 'posts', fields: [{ name: 'title', type: 'text' as const }] },
    { slug: 'users', auth: true, fields: [] },
  ],
  globals: [{ slug: 'site', fields: [{ name: 'motto', type: 'text' as const }] }],
};
const folder = quickFolder();
after(() => rmSync(folder, { recursive: true, force: true }));

/** Finds all events page by page, as a client does. */
function findAll(index: ReturnType<typeof openAuditIndex>, filter: EventFilter, upTo: number, limit: number): number[] {
  const all: number[] = [];
  for (let at = 0; at < upTo; ) {
    const { positions, reached } = index.find(filter, { after: at, upTo, limit });
    assert.ok(reached > at && positions.length <= limit);
    all.push(...positions);
    at = reached;
  }
  return all;
}

describe('The audit projection', () => {
  it('finds the events that a filter over all headers finds, and is part of what verify compares', () => {
    const directory = openDirectory(folder, config);
    const id = directory.create('posts', { title: 'a' });
    const ada: Actor = { type: 'user', id: `users/${directory.create('users', { email: 'ada@example.com' })}` };
    directory.update('posts', id, { title: 'b' });
    directory.setGlobal('site', { motto: 'x' });
    const session = { sid: 's', credential: 'c', expiresAt: new Date('2030-01-01') };
    directory.record(decideLogin({ category: category('users'), id: String(ada.id).slice(6) }, session), {
      actor: ada,
    });
    directory.record(decideLogin({ category: category('users'), id: 'x' }, session), {
      actor: { type: 'apiKey', id: '0123456789abcdef' },
    });
    directory.remove('posts', id);
    const { size } = directory.log.head();
    const headers = directory.log.range(0, size).map(({ header }) => header);
    const index = openAuditIndex(directory.reader);
    assert.equal(index.reached(), size);
    assert.deepEqual(index.collections(), ['system/schema', 'posts', 'users', 'globals/site', 'accounts/users']);

    const names = (stream: string) => [collectionOf(stream), stream.split('/')[0]];
    const matches = ({ collection, type, actor }: EventFilter) =>
      headers
        .filter((header) => collection === undefined || names(header.stream).includes(collection))
        .filter((header) => type === undefined || type.split(',').includes(header.type))
        .filter(({ actor: { type, id } }) => actor === undefined || type === actor || id === actor)
        .map(({ position }) => position);
    const filters: EventFilter[] = [
      {},
      ...[...index.collections(), 'globals', 'accounts', 'system', 'nothing', '*'].map((collection) => ({
        collection,
      })),
      ...['document.updated', 'login.succeeded', 'log.exported', 'document.created,log.exported,schema.changed'].map(
        (type) => ({ type }),
      ),
      ...['user', 'apiKey', 'system', String(ada.id), '0123456789abcdef'].map((actor) => ({ actor })),
      { collection: 'accounts/users', type: 'session.started', actor: 'user' },
    ];
    for (const filter of filters) {
      for (const limit of [1, 2, 100]) {
        assert.deepEqual(findAll(index, filter, size, limit), matches(filter), JSON.stringify(filter));
      }
    }
    assert.equal(matches(filters.at(-1) as EventFilter).length, 1);

    assert.equal(findingIn(folder), null);
    const read = openDatabase(directory.readFile);
    read.exec('UPDATE audit SET actor = 1 WHERE position = 7');
    read.close();
    directory.close();
    assert.match(findingIn(folder) ?? '', /table "audit": the row made by event 7 is not what the log makes of it/);
  });

  it('looks at no more than some rows at once, and says how far it came', () => {
    const db = openDatabase(':memory:');
    createTables(db, []);
    db.exec(`INSERT INTO audit_words VALUES (1, 1, 'document.created'), (2, 1, 'document.deleted');
      WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 120000)
      INSERT INTO audit SELECT i, 1, CASE i WHEN 110000 THEN 2 ELSE 1 END, 1, 1 FROM n`);
    const index = openAuditIndex(db);
    const filter: EventFilter = { type: 'document.deleted' };
    assert.deepEqual(index.find(filter, { after: 0, upTo: 120_000, limit: 10 }), { positions: [], reached: 50_000 });
    assert.deepEqual(findAll(index, filter, 120_000, 10), [110_000]);
    assert.deepEqual(index.find({ type: 'log.exported' }, { after: 0, upTo: 120_000, limit: 10 }), {
      positions: [],
      reached: 120_000,
    });
    db.close();
  });

  it('knows no words any longer that were rolled back', () => {
    const db = openDatabase(':memory:');
    createTables(db, []);
    const fold = openAuditFold(db);
    const event = (position: number, stream: string): RecordedEvent => {
      const header = { position, stream, type: 'document.created', actor: { type: 'system' } } as Header;
      return { header, data: null, context: null };
    };
    db.exec('BEGIN');
    fold.apply(event(1, 'posts/1'));
    db.exec('ROLLBACK');
    fold.forget();
    fold.apply(event(1, 'pages/1'));
    fold.apply(event(2, 'posts/1'));
    assert.deepEqual(openAuditIndex(db).find({ collection: 'posts' }, { after: 0, upTo: 2, limit: 10 }).positions, [2]);
    db.close();
  });
});
