import assert from 'node:assert/strict';
import { cpSync, existsSync, readdirSync, renameSync, rmSync, truncateSync } from 'node:fs';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { documentStream } from '../../events/facts/catalogue.ts';
import { openDocuments } from '../../projections/query/documents.ts';
import type { IndexedSearch } from '../../projections/query/found.ts';
import type { Where } from '../../projections/query/where.ts';
import { openSearchFile } from '../../projections/tables/search-file.ts';
import { searchFileOf, searchTablesOf } from '../../projections/tables/search-tables.ts';
import {
  foldedWords,
  holds,
  offsetsIn,
  offsetsOf,
  readTerms,
  type SearchTerm,
  scorerOf,
} from '../../projections/tables/words.ts';
import { verifyDirectory } from '../../projections/verify/verify.ts';
import { openSearchReader } from '../../server/queries/search-index.ts';
import { announceFile, createSearchCell, publish } from '../../server/writer/search-cell.ts';
import { openDatabase } from '../../storage/sqlite.ts';
import { category } from '../helpers/category.ts';
import { remainsIn } from '../helpers/leftovers.ts';
import { runsOf } from '../helpers/runs.ts';
import { type Directory, findingIn, openDirectory, quickFolder } from './directory.ts';

const config = {
  collections: [
    {
      slug: 'notes',
      admin: { searchFields: ['title', 'seo.text', 'body'] },
      fields: [
        { name: 'title', type: 'text', index: true },
        { name: 'body', type: 'richText' },
        { name: 'seo', type: 'object', fields: [{ name: 'text', type: 'textarea', index: true }] },
      ],
    },
    {
      slug: 'others',
      fields: [
        { name: 'title', type: 'text' },
        { name: 'note', type: 'relationship', relationTo: 'notes' },
      ],
    },
  ],
} as const;

const word = fc.constantFrom(
  'stone',
  'Stone',
  'stön',
  'river',
  'riverbed',
  'a',
  'ab',
  'straße',
  'И',
  '日本',
  '-',
  '"',
  '\0',
  '😀x',
);
const text = fc.array(word, { maxLength: 5 }).map((words) => words.join(' '));
const action = fc.record({
  what: fc.constantFrom('create', 'create', 'update', 'update', 'remove', 'erase', 'fold', 'reopen'),
  which: fc.nat({ max: 50 }),
  texts: fc.tuple(text, text, text),
});
type Action = { what: string; which: number; texts: [string, string, string] };

const valuesOf = ([title, body, seo]: Action['texts']) => ({
  title,
  body: { type: 'doc', content: [{ type: 'paragraph', content: [{ type: 'text', text: body }] }] },
  seo: { text: seo },
});

function searchFileIn({ readFile, schema }: Directory): string {
  return searchFileOf(readFile, schema) ?? assert.fail('nothing is indexed');
}

function openIndex(directory: Directory) {
  const { readFile, schema } = directory;
  const file = openSearchFile({ readFile, schema, searchFile: searchFileIn(directory) });
  if (!file.isBuilt()) for (const _ of file.fold.build());
  file.fold.step();
  return file;
}

/** Every entry of the indexes of a file. */
function entriesOf(path: string, { schema }: Directory): unknown[] {
  const db = openDatabase(path, { readonly: true });
  try {
    return searchTablesOf(schema).flatMap(({ words, trigrams, ids }) => {
      const entries = [words, trigrams].flatMap((index) => {
        if (!index) return [];
        db.exec(`CREATE VIRTUAL TABLE temp.vocab USING fts5vocab(main, ${index.name}, instance)`);
        const rows = db.prepare('SELECT term, doc, col, offset FROM temp.vocab ORDER BY 1, 2, 3, 4').raw().all();
        db.exec('DROP TABLE temp.vocab');
        return [index.name, ...rows];
      });
      return [...entries, ...db.prepare(`SELECT * FROM ${ids} ORDER BY id`).raw().all()];
    });
  } finally {
    db.close();
  }
}

/** The same for a file that is made anew of the read tables. */
function rebuiltEntriesOf(directory: Directory): unknown[] {
  const path = `${searchFileIn(directory)}.anew`;
  const { readFile, schema } = directory;
  const file = openSearchFile({ readFile, schema, searchFile: path });
  try {
    for (const _ of file.fold.build());
    file.fold.step();
  } finally {
    file.close();
  }
  const entries = entriesOf(path, directory);
  for (const suffix of ['', '-wal', '-shm']) rmSync(path + suffix, { force: true });
  return entries;
}

function erase({ log, record }: Directory, id: string): void {
  const stream = documentStream(category('notes'), id);
  const streams = [{ stream, versions: log.versionOf(stream) }];
  const event = { type: 'document.erased' as const, data: { streams } };
  const change = { stream, expectedVersion: log.versionOf(stream), events: [event], claims: [], releases: [] };
  record(change, { erases: [stream], context: { reason: 'asked to' } });
}

describe('the words of a text', () => {
  it('are found at the places where looking at each of them finds them, in short texts and long ones', () => {
    const some = fc.constantFrom('a', 'ab', 'abc', 'b', 'ba');
    const texts = fc.record({ words: fc.array(some, { maxLength: 12 }), times: fc.constantFrom(1, 1000) });
    const terms = fc.array(
      fc.record({ words: fc.array(some, { minLength: 1, maxLength: 3 }), isPrefix: fc.boolean() }),
    );
    const startsAt = ({ words: wanted, isPrefix }: SearchTerm, words: readonly string[]) =>
      wanted.every((word, index) => {
        const found = words[index] ?? '';
        return isPrefix && index === wanted.length - 1 ? found.startsWith(word) : found === word;
      });
    const property = fc.property(texts, terms, ({ words, times }, asked) => {
      const text = [...Array.from({ length: times }, () => words.join(' ')), 'end'].join(' ');
      const folded = foldedWords(text);
      const places = offsetsIn(folded);
      for (const term of asked.map((one) => ({ ...one, words: one.words.map((word) => word.toUpperCase()) }))) {
        const wanted = [...folded.keys()].filter((at) => startsAt(term, folded.slice(at, at + 3)));
        assert.deepEqual(offsetsOf(term, places), wanted);
        assert.equal(holds(text, term), wanted.length > 0);
      }
    });
    fc.assert(property, { numRuns: runsOf(60) });
  });

  it('are counted alike in texts of ASCII and of any script, for how well they fit', () => {
    const long = 'l'.repeat(64);
    const some = fc.constantFrom(
      'stone',
      'STONES',
      'stön',
      'ston',
      'e',
      'straße',
      '日本',
      '😀x',
      long,
      `${long}er`,
      'K',
    );
    const gap = fc.constantFrom(' ', '-', '\0', '…', ' \u0301 ');
    const texts = fc.array(fc.tuple(some, gap), { maxLength: 9 }).map((parts) => parts.flat().join(''));
    const asked = fc.oneof(
      some,
      fc.tuple(some, some).map((two) => two.join(' ')),
      fc.constant('"stone e"'),
    );
    const property = fc.property(fc.tuple(texts, texts), asked, (document, q) => {
      const terms = readTerms(q);
      let expected = 0;
      for (const [index, one] of document.entries()) {
        const words = foldedWords(one);
        for (const { words: wanted, isPrefix } of terms) {
          let times = 0;
          for (const at of words.keys()) {
            const run = words.slice(at, at + wanted.length).join(' ');
            if (run === wanted.join(' ')) times += 1;
            else if (isPrefix && run.startsWith(wanted.join(' '))) times += 0.5;
          }
          if (times > 0) expected += times / (times + 0.5 + one.length / 300) / (1 + index);
        }
      }
      assert.ok(Math.abs(scorerOf(terms)(document) - expected) < 1e-9, JSON.stringify({ document, q }));
    });
    fc.assert(property, { numRuns: runsOf(200) });
  });
});

describe('the search file', () => {
  it('holds after any history what one has that is made anew', () => {
    fc.assert(
      fc.property(fc.array(action, { minLength: 5, maxLength: 40 }), (actions) => {
        const directory = openDirectory(quickFolder(), config);
        let file = openIndex(directory);
        const living: string[] = [];
        try {
          for (const { what, which, texts } of actions) {
            const id = living[which % Math.max(1, living.length)];
            if (what === 'create') living.push(directory.create('notes', valuesOf(texts)));
            else if (what === 'fold') file.fold.step();
            else if (what === 'reopen') {
              file.close();
              file = openIndex(directory);
            } else if (id === undefined) continue;
            else if (what === 'update') directory.update('notes', id, valuesOf(texts));
            else {
              if (what === 'remove') directory.remove('notes', id);
              else erase(directory, id);
              living.splice(living.indexOf(id), 1);
            }
          }
          file.fold.step();
          assert.deepEqual(entriesOf(searchFileIn(directory), directory), rebuiltEntriesOf(directory));
        } finally {
          file.close();
          directory.close();
        }
      }),
      { numRuns: 15 },
    );
  });

  it('finds the same documents as SQLite does that looks at every text', async () => {
    const directory = openDirectory(quickFolder(), config);
    for (const texts of fc.sample(fc.tuple(text, text, text), { numRuns: 80, seed: 3 })) {
      const note = directory.create('notes', valuesOf(texts));
      directory.create('others', { title: 'x', note });
    }
    const file = openIndex(directory);
    const { reader, schema } = directory;
    const [notes, others] = ['notes', 'others'].map((slug) => {
      const described = searchTablesOf(schema);
      const tables = described.find(({ tables }) => tables.key === slug)?.tables;
      return tables ?? null;
    });
    assert.ok(notes && !others);
    const cell = createSearchCell();
    announceFile(cell);
    publish(cell, file.fold.step().position);
    const index = openSearchReader(reader, schema, { file: searchFileIn(directory), cell });
    assert.ok(await index.ready());
    const documents = openDocuments(reader, notes);
    const find = (where: Where) => documents.list({ where, sort: [], limit: -1, page: 1 }).texts;
    const like = (name: string, value: string): Where => ({
      steps: name === 'text' ? [{ kind: 'member', name: 'seo' }] : [],
      leaf: { name, kind: 'text' },
      operator: 'like',
      values: [value],
    });
    const fields = searchTablesOf(schema)[0]?.words?.fields ?? [];
    const part = fc.oneof(
      text,
      fc.constantFrom('ton', 'öne', 'STR', 'straSSe', '😀x', 'r r', '" -', 'ne\0', 'x" OR "y'),
    );
    let served = 0;
    await fc.assert(
      fc.asyncProperty(part, fc.constantFrom('title', 'text'), async (value, name) => {
        const where = like(name, value);
        const marked = (await index.served(where, notes)) ?? assert.fail();
        if (marked !== where) served += 1;
        assert.deepEqual(find(marked), find(where), value);
        for (const some of [fields, fields.slice(1, 2)]) {
          const terms = readTerms(value);
          const plain = find({ search: { terms, fields: some, index: null } });
          assert.deepEqual(find({ search: { terms, fields: some, index: index.wordsOf(notes, some) } }), plain, value);
        }
      }),
      { numRuns: 200 },
    );
    assert.ok(served > 50, 'conditions are served');
    // By pages, the newest first, as SQLite sorts the rows that match in every text.
    const sort = [{ steps: [], leaf: { name: 'createdAt', kind: 'number' as const }, isDescending: true }];
    for (const q of ['stone', '"stone"', 'sto', 'r', 'stone river', '"riverbed"', 'nowhere']) {
      const search = { terms: readTerms(q), fields };
      const byIndex: IndexedSearch['search'] = { ...search, index: index.wordsOf(notes, fields) ?? assert.fail() };
      for (const where of [null, like('title', 'b')]) {
        const plain: Where = { and: [{ search: { ...search, index: null } }, ...(where ? [where] : [])] };
        assert.equal(
          documents.count({ and: [{ search: byIndex }, ...(where ? [where] : [])] }),
          documents.count(plain),
        );
        for (const page of [1, 2, 5]) {
          const { texts, total, hasNext } = documents.list({ where: plain, sort, limit: 3, page });
          for (const count of ['exact', 'none'] as const) {
            const found = documents.found({ search: byIndex, where, limit: 3, page, count });
            assert.deepEqual([found.texts, found.hasNext], [texts, hasNext], q);
            if (count === 'exact') assert.equal(found.total, total);
          }
        }
      }
    }
    // A total is brought forward without the index, which may not have come so far.
    const stones = like('title', 'stone');
    const marked = (await index.served(stones, notes)) ?? assert.fail();
    const before = documents.count(marked);
    directory.create('notes', valuesOf(['another stone', '', '']));
    assert.deepEqual([documents.count(marked), documents.count(stones)], [before + 1, before + 1]);
    // Behind the documents, a search is given up after a while, and a filter looks at every text.
    publish(cell, 0);
    const behind = like('title', 'stone');
    assert.deepEqual([await index.ready(), await index.served(behind, notes)], [false, behind]);
    file.close();
    directory.close();
  });

  it('keeps no word of an erased document, and is rebuilt if it is damaged, unfinished, or of another log', () => {
    const folder = quickFolder();
    const directory = openDirectory(folder, config);
    const id = directory.create('notes', valuesOf(['quokkaburra', 'wombatish', 'platypusses']));
    directory.create('notes', valuesOf(['stays', 'here', 'evermore']));
    let file = openIndex(directory);
    const inSearch = () =>
      remainsIn(folder, ['quokkaburra', 'wombatish', 'evermore']).filter((one) => one.startsWith('search-'));
    assert.ok(inSearch().length > 1);
    erase(directory, id);
    file.fold.step();
    assert.ok(file.isUnclean());
    assert.ok(file.clean());
    assert.deepEqual([...new Set(inSearch().map((one) => one.split(': ')[1]))], ['evermore']);
    assert.equal(file.isUnclean(), false);
    file.close();

    const expected = entriesOf(searchFileIn(directory), directory);
    truncateSync(searchFileIn(directory), 5000);
    file = openIndex(directory);
    file.close();
    assert.deepEqual(entriesOf(searchFileIn(directory), directory), expected);

    const db = openDatabase(searchFileIn(directory));
    db.exec('UPDATE state SET position = 1000000');
    db.close();
    openIndex(directory).close();
    assert.deepEqual(entriesOf(searchFileIn(directory), directory), expected);
    directory.close();

    const searchFile = searchFileIn(directory);
    const started = (how: object) => {
      openDirectory(folder, config, how).close();
      return existsSync(searchFile);
    };
    assert.deepEqual(
      [started({}), started({ isRebuild: true })],
      [true, false],
      'a rebuild is one of the search file too',
    );
  });

  it('is compared with one that is made anew by annals verify, as far as it has come', () => {
    const folder = quickFolder();
    const directory = openDirectory(folder, config);
    const first = directory.create('notes', valuesOf(['stone', 'river', 'bed']));
    directory.create('notes', valuesOf(['stone again', '', 'bed']));
    const file = openIndex(directory);
    directory.update('notes', first, valuesOf(['another', 'river', 'bed']));
    const gone = directory.create('notes', valuesOf(['quokkaburra', '', '']));
    assert.equal(findingIn(folder), null, 'behind the documents');
    file.fold.step();
    directory.remove('notes', gone);
    file.fold.step();
    assert.equal(findingIn(folder), null);
    file.close();

    const path = searchFileIn(directory);
    const [described] = searchTablesOf(directory.schema);
    const { ids, words, trigrams } = described ?? assert.fail();
    const kept = `${path}.kept`;
    const findingAfter = (sql: string) => {
      cpSync(path, kept);
      const db = openDatabase(path);
      db.unsafeMode();
      db.exec(sql);
      db.close();
      const finding = findingIn(folder);
      for (const suffix of ['-wal', '-shm']) rmSync(path + suffix, { force: true });
      renameSync(kept, path);
      return finding;
    };
    const wordsName = words?.name ?? assert.fail();
    const isWrong = (table: string) => `search index: table ${table} is not what the documents make of it`;
    assert.equal(findingAfter(`INSERT INTO ${wordsName} (rowid, c0) VALUES (9000, 'zebra')`), isMore(wordsName));
    assert.equal(findingAfter(`INSERT INTO ${wordsName} (rowid, c0) VALUES (9000, 'aardvark')`), isWrong(wordsName));
    assert.equal(
      findingAfter(`DELETE FROM ${trigrams?.name} WHERE rowid = (SELECT min(key) FROM ${ids})`),
      isWrong(trigrams?.name ?? ''),
    );
    assert.equal(findingAfter(`UPDATE ${ids} SET key = key + 1`), isWrong(ids));
    assert.equal(findingAfter('DROP TABLE state'), 'search index: damaged: no such table: state');
    assert.match(findingAfter(`DELETE FROM "${wordsName.slice(1, -1)}_data" WHERE id > 1`) ?? '', /^search index: /);
    // Unfinished, or ahead of the documents: the next start makes it anew.
    assert.equal(findingAfter('UPDATE state SET root = NULL'), null);
    assert.equal(findingAfter('UPDATE state SET position = 1000000'), null);
    assert.equal(findingIn(folder), null);

    // A replay makes no more words of a document that was erased since.
    erase(directory, first);
    directory.close();
    const { finding, notes } = verifyDirectory(folder, true, { log: () => {}, replay: () => {} });
    assert.deepEqual(
      [finding, notes.filter((note) => /^the search index is behind an erasure/.test(note)).length],
      [null, 1],
    );
    assert.deepEqual(
      readdirSync(folder).filter((name) => name.includes('verify')),
      [],
    );
  });
});

const isMore = (table: string) => `search index: table ${table} holds more than the documents make of it`;
