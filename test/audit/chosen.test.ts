import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { before, describe, it } from 'node:test';
import { openDatabase, type Sqlite } from '../../storage/sqlite.ts';
import { useServiceHere } from '../helpers/embedded.ts';
import { recordedEvents } from '../helpers/shared.ts';

const service = useServiceHere(
  {
    audit: () => true,
    collections: [
      { slug: 'posts', fields: [{ name: 'title', type: 'text' as const }] },
      { slug: 'pages', fields: [{ name: 'title', type: 'text' as const }] },
    ],
  },
  { verifyPercent: 0 },
);

const get = (path: string) => service.call('GET', `/api/audit${path}`);
let [id, other, batch] = ['', '', ''];

before(async () => {
  const create = async (title: string) =>
    (await service.call('POST', '/api/collections/posts', { title })).body.id as string;
  id = await create('One');
  await service.call('PATCH', `/api/collections/posts/${id}`, { title: 'Two' });
  other = await create('Three');
  await service.call('PATCH', `/api/collections/posts/${other}`, { title: 'Four' });
  await service.call('DELETE', `/api/collections/posts/${await create('Five')}`);
  const docs = [{ title: 'Six' }, { title: 'Seven' }, { title: 'Eight' }];
  batch = (await service.call('POST', '/api/collections/posts/bulk', { docs })).body.batch;
});

const positionOf = (type: string) => recordedEvents(service.data).find((one) => one.type === type)?.position ?? 0;
const readFile = () => readdirSync(service.data).find((name) => /^read-\w+\.db$/.test(name)) ?? '';

/** Writes into a file of the service as an attacker with access to it, and restores the file after the test. */
async function told(file: string, lie: (db: Sqlite) => void, undo: (db: Sqlite) => void, look: () => Promise<void>) {
  const within = (run: (db: Sqlite) => void) => {
    const db = openDatabase(join(service.data, file));
    run(db);
    db.close();
  };
  within(lie);
  try {
    await look();
  } finally {
    within(undo);
  }
}

async function refuses(path: string, message: RegExp) {
  const { status, body } = await get(path);
  assert.deepEqual([status, body.code], [500, 'log_altered'], `${path}: ${JSON.stringify(body).slice(0, 300)}`);
  assert.match(body.message, message, path);
}

describe('An audit answer whose index was altered', () => {
  it('is a 500 that names the event which was not asked for, by actor, type and collection', async () => {
    const position = positionOf('document.deleted');
    const row = (db: Sqlite) => db.prepare('SELECT * FROM audit WHERE position = ?').get(position);
    let kept: unknown;
    const lie = (db: Sqlite) => {
      kept = row(db);
      // An event of the start, which the service itself has caused, in the collection of the schema.
      db.prepare(
        `UPDATE audit SET (collection, type, actor_type, actor) =
         (SELECT collection, type, actor_type, actor FROM audit WHERE position = 1) WHERE position = ?`,
      ).run(position);
    };
    const undo = (db: Sqlite) =>
      void db.prepare('REPLACE INTO audit VALUES (@position, @collection, @type, @actor_type, @actor)').run(kept);
    const said = new RegExp(
      `^event ${position} of the log is not one that was asked for: the index that gave it was altered$`,
    );
    await told(readFile(), lie, undo, async () => {
      await refuses('/events?actor=system', said);
      await refuses('/events?type=schema.changed', said);
      await refuses('/events?collection=system/schema', said);
      await refuses('/feed?actor=system', said);
      const { body } = await get('/events');
      assert.equal(body.docs.length, body.size, 'without a filter the log answers');
    });
    assert.equal((await get('/events?type=document.deleted')).body.docs.length, 1);
  });

  it('is a 500 that names the event whose row is gone', async () => {
    const position = positionOf('document.deleted');
    let kept: unknown;
    const lie = (db: Sqlite) => {
      kept = db.prepare('DELETE FROM audit WHERE position = ? RETURNING *').get(position);
    };
    const undo = (db: Sqlite) =>
      void db.prepare('INSERT INTO audit VALUES (@position, @collection, @type, @actor_type, @actor)').run(kept);
    await told(readFile(), lie, undo, async () => {
      await refuses(
        '/events?type=document.deleted,document.erased',
        new RegExp(`^event ${position} of the log is missing from the index`),
      );
    });
  });

  it('is a 500 if words of it were exchanged', async () => {
    const exchange = (db: Sqlite) => {
      const ids = ['document.created', 'document.updated'].map((word) => {
        return db.prepare('SELECT id FROM audit_words WHERE word = ?').pluck().get(word);
      });
      const set = db.prepare('UPDATE audit_words SET word = ? WHERE id = ?');
      set.run('x', ids[0]);
      set.run('document.created', ids[1]);
      set.run('document.updated', ids[0]);
    };
    await told(readFile(), exchange, exchange, async () => {
      await refuses('/events?type=document.updated', /is not one that was asked for/);
    });
  });

  it('is a 500 if a bulk call has lost its first or last event, and is not undone then', async () => {
    const set = (db: Sqlite, first: number, last: number) =>
      void db
        .prepare('UPDATE audit_batches SET first = first + ?, last = last + ? WHERE batch = ?')
        .run(first, last, batch);
    for (const [first, last, word] of [
      [1, 0, 'first'],
      [-1, 0, 'first'],
      [0, -1, 'last'],
      [0, 1, 'last'],
    ] as const) {
      const lie = (db: Sqlite) => set(db, first, last);
      const said = new RegExp(`^event \\d+ of the log is not the ${word} of the bulk call ${batch}: the index`);
      await told(
        readFile(),
        lie,
        (db) => set(db, -first, -last),
        async () => {
          await refuses(`/events?batch=${batch}`, said);
          const undo = await service.call('POST', `/api/batches/${batch}/undo`, {});
          assert.equal(undo.status, 500, JSON.stringify(undo.body));
          assert.match(undo.body.message, said);
        },
      );
    }
    assert.equal((await get(`/events?batch=${batch}`)).body.docs.length, 3);
  });

  it('is a 500 if the index of streams gives events of another document', async () => {
    const [, , version] = recordedEvents(service.data, `posts/${other}`).map(({ position }) => position);
    assert.equal(version, undefined);
    const lie = (db: Sqlite) => {
      const [mine, theirs] = [`posts/${id}`, `posts/${other}`];
      remake(db, `CASE stream WHEN '${mine}' THEN '${theirs}' WHEN '${theirs}' THEN '${mine}' ELSE stream END`);
    };
    await told(
      'log.db',
      lie,
      (db) => remake(db, 'stream'),
      async () => {
        const said = new RegExp(
          `^event \\d+ of the log is not version [12] of posts/${id}: the index that gave it was altered$`,
        );
        await refuses(`/documents/posts/${id}`, said);
        await refuses(`/documents/posts/${id}/versions/1`, said);
        await refuses(`/documents/posts/${id}/versions/2/access`, said);
        await refuses(`/documents/posts/${id}/diff`, said);
        await refuses(`/documents/posts/${id}/blame`, said);
        await refuses(`/events?stream=posts/${id}`, said);
      },
    );
    assert.equal((await get(`/documents/posts/${id}/blame`)).status, 200);
  });
});

/** Makes the index of streams anew over an expression, and has the schema say that it is over the column. */
function remake(db: Sqlite, stream: string): void {
  const usual = 'CREATE UNIQUE INDEX events_stream ON events (stream, version)';
  db.unsafeMode(true);
  db.exec('DROP INDEX events_stream');
  db.exec(usual.replace('(stream', `(${stream}`));
  db.pragma('writable_schema = ON');
  db.prepare("UPDATE sqlite_schema SET sql = ? WHERE name = 'events_stream'").run(usual);
  db.pragma('writable_schema = RESET');
}
