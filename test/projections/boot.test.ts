import assert from 'node:assert/strict';
import {
  copyFileSync,
  cpSync,
  existsSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { before, describe, it, type TestContext } from 'node:test';
import Database from 'better-sqlite3';
import type { Config } from '../../config/define.ts';
import { decideDelete, decideUpdate } from '../../events/facts/documents.ts';
import { openDocuments } from '../../projections/query/documents.ts';
import { catchUp } from '../../projections/start/rebuild.ts';
import { accountTables } from '../../projections/tables/account-fold.ts';
import { type Tables, tablesOf } from '../../projections/tables/tables.ts';
import { openDatabase } from '../../storage/sqlite.ts';
import { category } from '../helpers/category.ts';
import { startHere, useServiceHere } from '../helpers/embedded.ts';
import { runHere } from '../helpers/in-process.ts';
import { type Answer, writeConfig } from '../helpers/service.ts';
import { useFolder } from '../helpers/shared.ts';
import { dumpFile, findingIn, openDirectory } from './directory.ts';
import { body, brokenLog, configOf, logOf, posts, query, readFilesIn, startable, title, typesIn } from './starts.ts';

describe('the first start and those after it', () => {
  it('records the schema once, at position 1, and nothing more while it stays the same', (t) => {
    const { folder, start } = startable(t);
    const first = start(configOf(posts(title)));
    assert.equal(first.rebuilt, true);
    const { readFile } = first;
    const again = start(configOf(posts(title)));
    assert.equal(again.rebuilt, false);
    assert.equal(again.readFile, readFile);
    const third = start(configOf(posts(title)));
    assert.deepEqual(typesIn(folder), ['schema.changed']);
    const [event] = third.log.stream('system/schema');
    assert.deepEqual(event?.data, { schema: third.schema, rules: {} });
    assert.deepEqual(event?.header.actor, { type: 'system' });
    assert.equal(findingIn(folder), null);
  });

  it('brings a read file that was left behind up to date without building it anew', (t) => {
    const { folder, start } = startable(t);
    const first = start(configOf(posts(title)));
    const id = first.create('posts', { title: 'a' });
    const current = { version: 1, document: first.document('posts', id) ?? {} };
    const target = { category: category('posts'), unique: [] };
    const decision = decideUpdate(target, id, { current, values: { title: 'b' }, at: Date.now() });
    assert.ok(decision && first.append(decision).ok);
    assert.equal(first.document('posts', id)?.title, 'a');
    const second = start(configOf(posts(title)));
    assert.equal(second.rebuilt, false);
    assert.equal(second.document('posts', id)?.title, 'b');
    assert.equal(findingIn(folder), null);
  });

  it('builds a deleted read file anew, byte for byte as it was', (t) => {
    const { folder, start, stop } = startable(t);
    const config: Config = {
      ...configOf(
        posts({ ...title, unique: true }, { name: 'tags', type: 'relationship', relationTo: 'others', hasMany: true }),
      ),
      globals: [{ slug: 'site', fields: [title] }],
    };
    const first = start(config);
    const other = first.create('others', { title: 'x' });
    const ids = ['a', 'b', 'c'].map((value) => first.create('posts', { title: value, tags: [other] }));
    first.update('posts', ids[0] as string, { title: 'd' });
    first.remove('posts', ids[1] as string);
    first.setGlobal('site', { title: 'Site' });
    stop();
    const before = dumpFile(first.readFile);
    const log = logOf(folder);
    for (const suffix of ['', '-wal', '-shm']) rmSync(first.readFile + suffix, { force: true });
    const second = start(config);
    assert.equal(second.rebuilt, true);
    assert.equal(second.readFile, first.readFile);
    stop();
    assert.equal(dumpFile(first.readFile), before);
    assert.equal(logOf(folder), log);
    const third = start(config, true);
    assert.equal(third.rebuilt, true, 'asked for');
    stop();
    assert.equal(dumpFile(first.readFile), before);
    assert.equal(findingIn(folder), null);
  });
});

describe('a start after a crash', () => {
  const before = configOf(posts(title));
  const after = configOf(posts(title, { ...body, unique: true }));

  /**
   * A data directory as a crash leaves it after `schema.changed` was recorded and before the switch to the new read
   * file.
   */
  function crashBeforeSwitch(t: TestContext, building: 'whole' | 'half' | 'none') {
    const { folder, start, stop } = startable(t);
    const first = start(before);
    const id = first.create('posts', { title: 'a' });
    stop();
    copyFileSync(first.readFile, join(folder, 'kept'));
    const { readFile } = start(after);
    stop();
    renameSync(join(folder, 'kept'), first.readFile);
    if (building === 'none') rmSync(readFile);
    else renameSync(readFile, `${readFile}.building`);
    if (building === 'half') truncateSync(`${readFile}.building`, statSync(`${readFile}.building`).size / 2);
    return { folder, start, stop, id, oldFile: first.readFile, newFile: readFile };
  }

  it('between schema.changed and the switch goes on with the new read file, and records no second change', (t) => {
    for (const building of ['whole', 'half', 'none'] as const) {
      const { folder, start, stop, id, newFile } = crashBeforeSwitch(t, building);
      const log = logOf(folder);
      const again = start(after);
      assert.equal(again.rebuilt, true);
      assert.equal(again.readFile, newFile);
      assert.equal(logOf(folder), log);
      assert.deepEqual(again.document('posts', id)?.title, 'a');
      assert.equal(readFilesIn(folder).length, 1, building);
      stop();
      assert.equal(findingIn(folder), null);
    }
  });

  it('between schema.changed and the switch goes back to the old configuration as well', (t) => {
    const { folder, start, stop, id, oldFile } = crashBeforeSwitch(t, 'whole');
    const again = start(before);
    assert.equal(again.readFile, oldFile);
    assert.deepEqual(typesIn(folder), ['schema.changed', 'document.created', 'schema.changed', 'schema.changed']);
    again.update('posts', id, { title: 'b' });
    assert.equal(again.document('posts', id)?.title, 'b');
    assert.equal(readFilesIn(folder).length, 1);
    stop();
    assert.equal(findingIn(folder), null);
  });

  it('removes unfinished read files, of this schema and of others, whatever is in them', (t) => {
    const { folder, start, stop } = startable(t);
    const { readFile } = start(before);
    stop();
    const leftovers = [`${readFile}.building`, join(folder, 'read-0123456789abcdef.db.building')];
    for (const path of leftovers) {
      writeFileSync(path, 'garbage');
      writeFileSync(`${path}-wal`, 'garbage');
    }
    const next = start(after);
    const again = start(before);
    assert.equal(next.rebuilt && again.rebuilt, true);
    stop();
    assert.deepEqual(readFilesIn(folder), [again.readFile.slice(folder.length + 1)]);
    assert.deepEqual(
      readdirSync(folder).filter((name) => name.includes('building')),
      [],
    );
    assert.equal(findingIn(folder), null);
  });

  it('rebuilds a damaged read file, because it is disposable', (t) => {
    const { folder, start, stop } = startable(t);
    const config = configOf(posts({ ...title, unique: true }));
    const first = start(config);
    for (let index = 0; index < 50; index += 1) first.create('posts', { title: `${index}` });
    stop();
    const before = dumpFile(first.readFile);
    const log = logOf(folder);
    const edit = (sql: string) => (path: string) => {
      const db = openDatabase(path);
      db.exec(sql);
      db.close();
    };
    const damages: { [name: string]: (path: string) => void } = {
      'random bytes': (path) =>
        writeFileSync(path, Buffer.from(Array.from({ length: 20_000 }, (_, i) => (i * 7919) % 251))),
      'a text': (path) => writeFileSync(path, 'this is no database'),
      'an empty file': (path) => writeFileSync(path, ''),
      'an empty database': (path) => {
        rmSync(path);
        edit('CREATE TABLE t (a); DROP TABLE t')(path);
      },
      'another database': (path) => {
        rmSync(path);
        edit('CREATE TABLE checkpoint (position INTEGER, other TEXT)')(path);
      },
      'half of it': (path) => truncateSync(path, Math.floor(statSync(path).size / 8192) * 4096),
      'its first page only': (path) => truncateSync(path, 4096),
      'no checkpoint row': edit('DELETE FROM checkpoint'),
      'two checkpoint rows': edit('INSERT INTO checkpoint SELECT position - 1, root FROM checkpoint'),
      'no checkpoint table': edit('DROP TABLE checkpoint'),
      'a table missing': edit('DROP TABLE "versions posts"'),
      'a table about accounts missing': edit('DROP TABLE sessions'),
      'no tables about accounts, as before there were any': edit(
        accountTables.map((table) => `DROP TABLE ${table};`).join(' '),
      ),
      'no table of counts': edit('DROP TABLE counts'),
      'no counts': edit('DELETE FROM counts'),
      'a count missing': edit("DELETE FROM counts WHERE key = 'others'"),
    };
    for (const [name, damage] of Object.entries(damages)) {
      damage(first.readFile);
      const next = start(config);
      assert.equal(next.rebuilt, true, name);
      stop();
      assert.equal(dumpFile(first.readFile), before, name);
    }
    writeFileSync(join(folder, 'read-0123456789abcdef.db'), 'this is no database');
    assert.equal(start(config).rebuilt, false, 'a damaged read file of another schema');
    stop();
    assert.deepEqual(readFilesIn(folder).length, 1);
    assert.equal(logOf(folder), log);
    assert.equal(findingIn(folder), null);
  });

  it('builds a read file anew that a power cut has left with the journal of a change', (t) => {
    const { folder, start, stop } = startable(t);
    const config = configOf(posts(title));
    const { readFile } = start(config);
    stop();
    const copy = join(folder, 'copy');
    const db = new Database(readFile);
    // More than the cache holds, so that a part of the change is in the file, and what was there in a journal that is
    // whole.
    db.pragma('journal_mode = DELETE');
    db.pragma('cache_size = 1');
    db.exec(
      'BEGIN; CREATE TABLE large (bytes); INSERT INTO large SELECT randomblob(4000) FROM pragma_function_list LIMIT 40',
    );
    for (const suffix of ['', '-journal']) copyFileSync(readFile + suffix, copy + suffix);
    db.close();
    for (const suffix of ['', '-journal']) renameSync(copy + suffix, readFile + suffix);
    assert.throws(() => openDatabase(readFile, { readonly: true }).prepare('SELECT * FROM checkpoint').all(), {
      code: 'SQLITE_READONLY_ROLLBACK',
    });
    assert.equal(start(config).rebuilt, true);
    stop();
    assert.equal(findingIn(folder), null);
  });

  it('builds a read file anew that lost the text of a document, when it meets that document', (t) => {
    const { folder, start } = startable(t);
    const config = configOf(posts(title));
    for (const isDeletion of [false, true]) {
      const first = start(config);
      const id = first.create('posts', { title: 'a' });
      const current = { version: 1, document: first.document('posts', id) ?? {} };
      const file = openDatabase(first.readFile);
      file.exec('DELETE FROM "texts posts" WHERE key = (SELECT max(key) FROM "texts posts")');
      file.close();

      const lost = { name: 'DamagedReadFileError', message: new RegExp(`"texts posts" lost its row of ${id}`) };
      const documents = openDocuments(first.reader, tablesOf(first.schema)[0] as Tables);
      assert.throws(() => documents.text(id), lost);
      assert.throws(() => documents.current(id), lost);
      assert.deepEqual([documents.text('none'), documents.current('none')], [null, null]);

      // Decided by somebody who had read it before it was lost.
      const target = { category: category('posts'), unique: [] };
      const decision = isDeletion
        ? decideDelete(target, id, current)
        : decideUpdate(target, id, { current, values: { title: 'b' }, at: Date.now() });
      assert.ok(decision && first.append(decision).ok);
      const { size } = first.log.head();
      assert.throws(() => catchUp(first.projector, { log: first.log, upTo: size }), lost);

      const second = start(config);
      assert.equal(second.rebuilt, true);
      assert.equal(second.document('posts', id)?.title, isDeletion ? undefined : 'b');
      assert.equal(findingIn(folder), null);
    }
  });
});

describe('a log that lost events', () => {
  const config = configOf(posts(title));

  it('is noticed when log.db is an older copy, and nothing is changed', (t) => {
    const { folder, start, stop } = startable(t);
    start(config).create('posts', { title: 'a' });
    stop();
    copyFileSync(join(folder, 'log.db'), join(folder, 'backup'));
    const second = start(config);
    second.create('posts', { title: 'b' });
    stop();
    const reads = dumpFile(second.readFile);
    copyFileSync(join(folder, 'backup'), join(folder, 'log.db'));
    const log = logOf(folder);
    for (const isRebuild of [false, true]) {
      assert.throws(
        () => start(config, isRebuild),
        brokenLog(/lost events: it ends at position 2, .* seen position 3/),
      );
      assert.throws(() => start(configOf(posts(title, body)), isRebuild), brokenLog(/lost events/));
    }
    assert.equal(logOf(folder), log);
    assert.equal(dumpFile(second.readFile), reads);
    assert.match(findingIn(folder) ?? '', /lost events: it ends at position 2, .* seen position 3/);
  });

  it('is noticed when others were recorded since on the older copy', (t) => {
    const { folder, start, stop } = startable(t);
    start(config).create('posts', { title: 'a' });
    stop();
    cpSync(folder, `${folder}-elsewhere`, { recursive: true });
    const { readFile } = start(config);
    start(config).create('posts', { title: 'b' });
    stop();
    const elsewhere = openDirectory(`${folder}-elsewhere`, config);
    elsewhere.create('posts', { title: 'c' });
    elsewhere.create('posts', { title: 'd' });
    elsewhere.close();
    copyFileSync(join(`${folder}-elsewhere`, 'log.db'), join(folder, 'log.db'));
    assert.throws(() => start(config), brokenLog(/altered: at position 3 it is not the log that read-/));
    assert.match(findingIn(folder) ?? '', /altered: at position 3 it is not the log that read-/);
    assert.ok(existsSync(readFile));
  });

  it('is noticed when log.db is gone altogether, on every start, and no new log takes its place', (t) => {
    const { folder, start, stop } = startable(t);
    start(config).create('posts', { title: 'a' });
    stop();
    for (const suffix of ['', '-wal', '-shm']) rmSync(join(folder, `log.db${suffix}`), { force: true });
    for (let turn = 0; turn < 2; turn += 1)
      assert.throws(() => start(config), brokenLog(/lost events: it ends at position 0/));
  });

  it('is noticed through the read file of a schema before', (t) => {
    const { folder, start, stop } = startable(t);
    start(config).create('posts', { title: 'a' });
    stop();
    copyFileSync(join(folder, 'log.db'), join(folder, 'backup'));
    const second = start(config);
    second.create('posts', { title: 'b' });
    stop();
    copyFileSync(join(folder, 'backup'), join(folder, 'log.db'));
    assert.throws(() => start(configOf(posts(title, body))), brokenLog(/lost events/));
  });
});

describe('the service', () => {
  const config = {
    collections: [
      { slug: 'posts', fields: [{ name: 'title', type: 'text', unique: true }] },
      { slug: 'others', fields: [{ name: 'title', type: 'text' }] },
    ],
  };

  describe('from which a collection is removed', () => {
    const data = join(useFolder(), 'data');
    const title = 'a';
    const first = useServiceHere(config, { data });
    let created: Answer;
    let path: string;
    before(async () => {
      created = await first.call('POST', '/api/collections/posts', { title });
      assert.equal(created.status, 201);
      path = `/api/collections/posts/${created.body.id}`;
      await first.stop();
    });

    it('answers 404 for a removed collection', async (t) => {
      const second = await startHere(t, { collections: config.collections.slice(1) }, { data, acceptLoss: true });
      assert.equal((await second.call('GET', path)).status, 404);
      assert.equal((await second.call('GET', '/api/collections/posts')).status, 404);
      assert.equal((await second.call('POST', '/api/collections/posts', { title: 'b' })).status, 404);
      await second.stop();
    });

    it('has its documents again when it is back', async (t) => {
      const third = await startHere(t, config, { data });
      const back = await third.call('GET', path);
      assert.equal(back.status, 200);
      assert.deepEqual(back.body, created.body);
      assert.equal((await third.call('POST', '/api/collections/posts', { title })).status, 409);
      await third.stop();
      assert.equal(findingIn(data), null);
    });
  });

  it('names the log anew, not nothing, when the whole log is lost and that is accepted', async (t) => {
    const first = await startHere(t, config);
    const { data } = first;
    await first.call('POST', '/api/collections/posts', { title: 'a' });
    const [[before]] = query(data, 'SELECT log FROM head') as [[string]];
    await first.stop();
    // Everything that a young service wrote may still be in its write-ahead log.
    for (const suffix of ['-wal', '-shm']) rmSync(join(data, `log.db${suffix}`), { force: true });
    truncateSync(join(data, 'log.db'), 0);
    const options = ['--config', writeConfig(data, config), '--data', data];
    const accepted = await runHere(['rebuild', ...options, '--accept-lost-events', '--reason', 'a cut log']);
    assert.equal(accepted.code, 0, accepted.stderr);
    const [[after]] = query(data, 'SELECT log FROM head') as [[string]];
    assert.match(after, /^annals\/[0-9a-f-]{36}$/);
    assert.notEqual(after, before);
  });

  it('tells in sentences, without a stack, which documents stand against a new schema', async (t) => {
    const loose = { collections: [{ slug: 'posts', fields: [{ name: 'title', type: 'text' }] }] };
    const first = await startHere(t, loose);
    const answers = [];
    for (let index = 0; index < 2; index += 1) {
      answers.push(await first.call('POST', '/api/collections/posts', { title: 'same' }));
    }
    await first.stop();
    const file = writeConfig(first.data, config);
    const refused = await runHere(['serve', '--config', file, '--data', first.data, '--port', '0']);
    assert.equal(refused.code, 2);
    for (const { body: document } of answers) assert.ok(refused.stderr.includes(document.id), refused.stderr);
    assert.match(refused.stderr, /posts\.title is unique now/);
    assert.doesNotMatch(refused.stderr, /\n\s+at /);
    assert.equal(query(first.data, "SELECT count(*) FROM events WHERE stream = 'system/schema'")[0]?.[0], 1);
  });
});
