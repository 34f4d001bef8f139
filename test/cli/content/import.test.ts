import assert from 'node:assert/strict';
import { appendFileSync, existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { guarded, unguarded } from '../../../cli/content/guard.ts';
import { startHere, useServiceHere } from '../../helpers/embedded.ts';
import { runHere } from '../../helpers/in-process.ts';
import { openTcpProxy } from '../../helpers/proxies.ts';
import { assertRecorded } from '../../helpers/recorded.ts';
import { writeConfig } from '../../helpers/service.ts';
import { eventually, recordedEvents, useFolder } from '../../helpers/shared.ts';
import { importAlone } from './opening.ts';

const config = {
  bcryptCost: 4,
  collections: [
    {
      slug: 'authors',
      fields: [
        { name: 'email', type: 'email', unique: true },
        { name: 'name', type: 'text' },
      ],
    },
    {
      slug: 'notes',
      fields: [
        { name: 'title', type: 'text', required: true, maxLength: 20 },
        { name: 'slug', type: 'text', unique: true },
        { name: 'status', type: 'select', options: ['draft', 'published'], defaultValue: 'draft' },
        { name: 'count', type: 'number' },
        { name: 'tags', type: 'multiSelect', options: ['a', 'b'] },
        { name: 'more', type: 'json' },
        { name: 'author', type: 'relationship', relationTo: 'authors' },
        { name: 'readers', type: 'relationship', relationTo: 'authors', hasMany: true },
        { name: 'links', type: 'array', fields: [{ name: 'by', type: 'relationship', relationTo: 'authors' }] },
      ],
    },
    { slug: 'pictures', upload: { maxFileSize: 1000 }, fields: [{ name: 'alt', type: 'text', defaultValue: 'none' }] },
    { slug: 'users', auth: true, fields: [{ name: 'name', type: 'text' }] },
  ],
};
const service = useServiceHere(config);
const folder = useFolder();
const configFile = writeConfig(folder, config);

function written(name: string, text: string): string {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
}

const lines = (...rows: object[]) => rows.map((row) => `${JSON.stringify(row)}\n`).join('');

function annals(...args: string[]) {
  return runHere([...args, '--data', service.data, '--config', configFile]);
}

async function notes(where: object) {
  const query = encodeURIComponent(JSON.stringify(where));
  return (await service.call('GET', `/api/collections/notes?sort=id&where=${query}`)).body.docs;
}

describe('annals import', () => {
  it('creates a document for each row, with one event and its reason, and imports no row twice', async () => {
    await service.call('GET', '/api/collections/notes');
    const rows = [
      { id: 'old-1', title: 'One', slug: 'one', tags: ['a'], more: { x: [1, null] } },
      { id: 'old-2', title: 'Two', slug: 'two', status: null },
    ];
    const file = written('notes.ndjson', lines(...rows));
    const event = { type: 'document.created', actor: { type: 'system' } } as const;
    const first = await assertRecorded(service, () => annals('import', 'notes', file, '--reason', 'für Ada'), [
      event,
      event,
    ]);
    assert.deepEqual(first, { code: 0, stdout: '2 created, 0 updated, 0 unchanged, 0 refused\n', stderr: '' });
    const found = await notes({ slug: { in: ['one', 'two'] } });
    assert.deepEqual(
      found.map(({ title, status, tags, more }: Record<string, unknown>) => [title, status, tags, more]),
      [
        ['One', 'draft', ['a'], { x: [1, null] }],
        ['Two', null, [], null],
      ],
    );
    const history = await service.call('GET', `/api/audit/documents/notes/${found[0].id}`);
    assert.equal(history.body.docs[0].reason, 'für Ada');
    const again = await assertRecorded(service, () => annals('import', 'notes', file), []);
    assert.equal(again.stdout, '0 created, 0 updated, 0 unchanged, 2 imported before, 0 refused\n');
  });

  it('names each wrong field of a row, imports the others, and resumes the mended file', async () => {
    const good = { title: 'Good', slug: 'good' };
    const bad = { title: 'Far too long to be a title', status: 'drft', slug: 'bad' };
    const file = written('faults.ndjson', `${lines(good, bad)}{"title":\n[]\n${lines({ title: 'x', titel: 1 })}`);
    const { code, stdout, stderr } = await annals('import', 'notes', file);
    assert.deepEqual([code, stdout], [1, '1 created, 0 updated, 0 unchanged, 4 refused\n']);
    assert.match(stderr, /row 2: title must .*20/);
    assert.match(stderr, /row 2: status must be one of "draft", "published", got "drft"; did you mean "draft"\?/);
    assert.match(stderr, /row 3: is not JSON\n/);
    assert.match(stderr, /row 4: must be a JSON object, got a list of 0\n/);
    assert.match(stderr, /row 5: titel is not a field; did you mean "title"\?/);
    writeFileSync(file, lines(good, { title: 'Short', slug: 'bad' }));
    const mended = await annals('import', 'notes', file);
    assert.equal(mended.stdout, '1 created, 0 updated, 0 unchanged, 1 imported before, 0 refused\n');
  });

  it('refuses a row with a number too large for JSON, or nested too deeply, and imports the others', async () => {
    const deep = `{"title":"deep","more":${'['.repeat(60_000)}${']'.repeat(60_000)}}`;
    const rows = [
      '{"title":"a","count":1e999}',
      '{"title":"b","more":{"a":[-1e400]}}',
      deep,
      '{"title":"c","count":1e10}',
    ];
    for (const [name, text] of [
      ['beyond.ndjson', rows.join('\n')],
      ['beyond.json', `[${rows.join(',')}]`],
    ] as const) {
      const { code, stdout, stderr } = await annals('import', 'notes', written(name, text));
      assert.deepEqual([code, stdout], [1, '1 created, 0 updated, 0 unchanged, 3 refused\n'], stderr);
      assert.match(stderr, /row 1: count must hold only finite numbers\n/);
      assert.match(stderr, /row 2: more must hold only finite numbers\n/);
      assert.match(stderr, /row 3: more must be nested at most 500 levels deep\n/);
    }
  });

  it('loses and repeats nothing when the last line of its record was not written', async () => {
    const file = written('cut.ndjson', lines({ title: 'Cut', slug: 'cut-1' }, { title: 'Cut', slug: 'cut-2' }));
    await annals('import', 'notes', file);
    const record = readFileSync(`${file}.imported`, 'utf8');
    const kept = record.trimEnd().split('\n').slice(0, -1).join('\n');
    writeFileSync(`${file}.imported`, `${kept}\n{"key":"no`);
    const { stdout, code } = await assertRecorded(service, () => annals('import', 'notes', file), []);
    // A line is for the rows of one call: both get their first answer again.
    assert.deepEqual([code, stdout], [0, '2 created, 0 updated, 0 unchanged, 0 refused\n']);
    assert.equal(readFileSync(`${file}.imported`, 'utf8'), record);
    appendFileSync(`${file}.imported`, 'no json\n');
    assert.equal((await annals('import', 'notes', file)).code, 2);
  });

  it('updates by a unique field, records nothing of what is the same, and creates the rest', async () => {
    const file = written(
      'upsert.ndjson',
      lines({ slug: 'u1', title: 'A' }, { slug: 'u2', title: 'B' }, { title: 'C' }),
    );
    const first = await annals('import', 'notes', file, '--upsert', 'slug');
    assert.equal(first.stdout, '2 created, 0 updated, 0 unchanged, 1 refused\n');
    assert.match(first.stderr, /row 3: slug is missing: --upsert finds the document by it/);
    assert.ok(!existsSync(`${file}.imported`));
    writeFileSync(file, lines({ slug: 'u1', title: 'A' }, { slug: 'u2', title: 'Changed' }));
    const dry = await assertRecorded(
      service,
      () => annals('import', 'notes', file, '--upsert', 'slug', '--dry-run'),
      [],
    );
    assert.equal(dry.stdout, '0 to create, 1 to update, 1 unchanged, 0 refused\n');
    const second = await assertRecorded(service, () => annals('import', 'notes', file, '--upsert', 'slug'), [
      { type: 'document.updated', actor: { type: 'system' } },
    ]);
    assert.equal(second.stdout, '0 created, 1 updated, 1 unchanged, 0 refused\n');
    const wrong = await annals('import', 'notes', file, '--upsert', 'slg');
    assert.match(wrong.stderr, /--upsert must be a unique field of notes, got "slg"; did you mean "slug"\?/);
  });

  it('finds in a dry run what a write would refuse, and writes neither document nor record', async () => {
    await annals('import', 'notes', written('taken.ndjson', lines({ slug: 'taken', title: 'T' })));
    const file = written(
      'dry.ndjson',
      lines({ slug: 'taken', title: 'T' }, { slug: 'free' }, { slug: 'free', title: 'F' }),
    );
    const { code, stdout, stderr } = await assertRecorded(
      service,
      () => annals('import', 'notes', file, '--dry-run'),
      [],
    );
    assert.deepEqual([code, stdout], [1, '1 to create, 0 to update, 0 unchanged, 2 refused\n']);
    assert.match(stderr, /row 1: slug is taken by another document, got "taken"/);
    assert.match(stderr, /row 2: title is required/);
    assert.ok(!existsSync(`${file}.imported`));
  });

  it('finds related documents by a unique field, and by the ids of an import under the same record', async () => {
    const state = join(folder, 'shared.record');
    const authors = written('authors.ndjson', lines({ id: 'a1', email: 'ada@example.org', name: 'Ada' }));
    assert.equal((await annals('import', 'authors', authors, '--state', state)).code, 0);
    const ada = { email: 'ada@example.org' };
    const rows = [
      { title: 'R', slug: 'r1', author: ada, readers: ['a1', ada], links: [{ by: 'a1' }, { by: ada }] },
      { title: 'R', slug: 'r2', author: { email: 'bob@example.org' } },
      { title: 'R', slug: 'r3', author: { name: 'Ada' } },
    ];
    const { stdout, stderr } = await annals('import', 'notes', written('r.ndjson', lines(...rows)), '--state', state);
    assert.equal(stdout, '1 created, 0 updated, 0 unchanged, 2 refused\n');
    assert.match(stderr, /row 2: author: there is no document of authors with the email "bob@example.org"/);
    assert.match(stderr, /row 3: author must be the id of a document of authors, or an object with one of "email"/);
    const [{ author, readers, links }] = await notes({ slug: { equals: 'r1' } });
    assert.deepEqual(
      [readers, links],
      [
        [author, author],
        [{ by: author }, { by: author }],
      ],
    );
    const { body } = await service.call('GET', `/api/collections/authors/${author}`);
    assert.equal(body.name, 'Ada');
  });

  it('reads CSV by the types of the fields, and takes the guard against formulas off', async () => {
    const text =
      '\ufefftitle,slug,status,count,tags,author.email,more\r\n' +
      '"\'=1+1",c1,published,-2.5,"[""b""]",ada@example.org,"{""a"":1}"\r\n' +
      '"O\'Brien, ""x""",c2,,,,,\r\nT,c3,,many,b,,\r\nT,c4\r\n';
    const { code, stdout, stderr } = await annals('import', 'notes', written('notes.csv', text));
    assert.deepEqual([code, stdout], [1, '2 created, 0 updated, 0 unchanged, 2 refused\n']);
    assert.match(stderr, /row 4: count must be a number, got "many"; tags must be a list in JSON, for example/);
    assert.match(stderr, /row 5: has 2 cells, and the line of titles 7/);
    const found = await notes({ slug: { in: ['c1', 'c2'] } });
    assert.deepEqual(
      found.map(({ title, status, count, tags, more }: Record<string, unknown>) => [title, status, count, tags, more]),
      [
        ['=1+1', 'published', -2.5, ['b'], { a: 1 }],
        ['O\'Brien, "x"', null, null, [], null],
      ],
    );
    const wrong = await annals('import', 'notes', written('wrong.csv', 'titel,title,title\r\n'));
    assert.equal(wrong.code, 2);
    assert.match(wrong.stderr, /column 1, "titel", is not a field of notes; did you mean "title"\?/);
    assert.match(wrong.stderr, /column 3, "title", is there twice/);
  });

  it('reads a JSON list, and refuses what is not one', async () => {
    const rows = [{ title: 'J', slug: 'j1' }, 3];
    const { stdout, stderr } = await annals('import', 'notes', written('notes.json', JSON.stringify(rows)));
    assert.equal(stdout, '1 created, 0 updated, 0 unchanged, 1 refused\n');
    assert.match(stderr, /row 2: must be a JSON object, got 3/);
    for (const text of ['{}', '[', '\xff']) {
      const { code } = await annals('import', 'notes', written('wrong.json', text));
      assert.equal(code, 2, text);
    }
  });

  it('sends files from below the folder that is named, and from nowhere else', async () => {
    const files = join(folder, 'files');
    mkdirSync(files);
    writeFileSync(join(files, 'a.txt'), 'hello');
    writeFileSync(join(folder, 'secret.txt'), 'secret');
    symlinkSync(join(folder, 'secret.txt'), join(files, 'link.txt'));
    const paths = [
      'a.txt',
      '../secret.txt',
      join(folder, 'secret.txt'),
      'link.txt',
      'https://example.org/a',
      '.',
      'no',
    ];
    const rows = paths.map((file) => ({ file, alt: null }));
    const file = written('pictures.ndjson', lines(...rows));
    const { stdout, stderr } = await annals('import', 'pictures', file, '--files', files);
    assert.equal(stdout, '1 created, 0 updated, 0 unchanged, 6 refused\n');
    assert.match(stderr, /row 2: file must be the path of a file below .*, got "\.\.\/secret\.txt"/);
    const { body } = await service.call('GET', '/api/collections/pictures');
    assert.deepEqual([body.total, body.docs[0].filename, body.docs[0].alt], [1, 'a.txt', null]);
  });

  it('makes accounts without a password, and takes none', async () => {
    const rows = [
      { email: 'eve@example.org', name: 'Eve' },
      { email: 'mal@example.org', password: 'correct horse' },
    ];
    const { stdout, stderr } = await annals('import', 'users', written('users.ndjson', lines(...rows)));
    assert.equal(stdout, '1 created, 0 updated, 0 unchanged, 1 refused\n');
    assert.match(stderr, /row 2: password is not imported/);
    assert.ok(!recordedEvents(service.data).some(({ type }) => type === 'password.changed'));
  });

  it('opens the directory itself if no service runs, but not for a dry run without a directory', async () => {
    const file = await importAlone(folder, configFile, runHere);
    const elsewhere = await annals('import', 'notes', file);
    assert.match(elsewhere.stderr, /is the record of an import into another log/);
  });

  it('refuses wrong words before it reads a row', async () => {
    const file = written('words.txt', '');
    assert.match((await annals('import', 'notes', file)).stderr, /--format must say what it is/);
    assert.match((await annals('import', 'notes', file, '--format', 'cvs')).stderr, /did you mean "csv"\?/);
    assert.match((await annals('import', 'note', file, '--format', 'csv')).stderr, /did you mean "notes"\?/);
    assert.match((await annals('import', 'notes', join(folder, 'none.csv'))).stderr, /there is no file/);
  });
});

describe('The guard against formulas', () => {
  it('is taken off again, whatever the text', () => {
    const text = fc.string({ unit: fc.constantFrom(...'=+-@\t\r\n"\',; aé1'), maxLength: 12 });
    fc.assert(
      fc.property(text, (one) => {
        assert.equal(unguarded(guarded(one)), one);
      }),
      { numRuns: 10_000 },
    );
  });
});

describe('annals import over a network that breaks', () => {
  it('sends again what was broken off, and records each row once', async (t) => {
    const broken = await startHere(t, config);
    const { hostname, port } = new URL(broken.url);
    const proxy = await openTcpProxy({ host: hostname, port: Number(port) });
    t.after(proxy.close);
    // Commands find it there.
    await broken.call('GET', '/health');
    const holder = join(broken.data, 'lock.json');
    writeFileSync(holder, JSON.stringify({ ...JSON.parse(readFileSync(holder, 'utf8')), address: proxy.url }));
    const rows = Array.from({ length: 150 }, (_, at) => ({ title: `row ${at}`, slug: `row-${at}` }));
    const file = written('broken.ndjson', lines(...rows));
    // The proxy breaks off kept connections and each new one; then all of that once more, in the middle of the work.
    proxy.refuse();
    const run = runHere(['import', 'notes', file, '--data', broken.data, '--config', configFile]);
    await eventually(() => proxy.refused() > 1);
    proxy.pass();
    await eventually(() => recordedEvents(broken.data).length > 1);
    proxy.cut();
    const { code, stdout, stderr } = await run;
    assert.equal(code, 0, stdout + stderr);
    assert.ok(proxy.bytes() > 0);
    assert.equal((await broken.call('GET', '/api/collections/notes')).body.total, rows.length);
    assert.equal(recordedEvents(broken.data).filter(({ type }) => type === 'document.created').length, rows.length);
  });
});
