import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { before, describe, it } from 'node:test';
import type { Alteration } from '../../../server/ports.ts';
import { openDatabase, type Sqlite } from '../../../storage/sqlite.ts';
import { startHere, useServiceHere } from '../../helpers/embedded.ts';
import { runHere } from '../../helpers/in-process.ts';
import { apiKey, temporaryFolder, writeConfig } from '../../helpers/service.ts';
import { eventually } from '../../helpers/shared.ts';

const service = useServiceHere(
  {
    audit: () => true,
    collections: [
      {
        slug: 'posts',
        fields: [
          { name: 'code', type: 'text' as const, unique: true },
          { name: 'n', type: 'number' as const },
          { name: 'related', type: 'relationship' as const, relationTo: 'posts', hasMany: true },
        ],
      },
    ],
  },
  { verifyPercent: 100 },
);
let [one, other] = ['', ''];

before(async () => {
  const create = async (body: object) => (await service.call('POST', '/api/collections/posts', body)).body.id as string;
  one = await create({ code: 'a', n: 1 });
  other = await create({ code: 'b', n: 1, related: [one] });
  await service.call('PATCH', `/api/collections/posts/${one}`, { n: 2 });
  await service.call('POST', '/api/collections/posts/bulk', { docs: [{ code: 'c' }, { code: 'd' }] });
  await service.call('DELETE', `/api/collections/posts/${await create({ code: 'e' })}`);
});

const logNow = async () => (await service.call('GET', '/api/audit/log')).body;
const files = {
  log: () => 'log.db',
  read: () => readdirSync(service.data).find((name) => /^read-\w+\.db$/.test(name)) ?? '',
};

/** A change of one row. `found` names no value. */
type Lie = { name: string; file: keyof typeof files; tell: string; found: () => RegExp };

const rows = '^read tables: the rows of posts/';
const lies: Lie[] = [
  {
    name: 'an event that the audit tables show as of another actor',
    file: 'read',
    tell: 'UPDATE audit SET actor = (SELECT actor FROM audit WHERE position = 1) WHERE position = 3',
    found: () => /^read tables: what the audit tables say of event 3 is not what its header says$/,
  },
  {
    name: 'an event that the audit tables do not have',
    file: 'read',
    tell: 'DELETE FROM audit WHERE position = 4',
    found: () => /^read tables: event 4 is missing from table "audit"$/,
  },
  {
    name: 'a bulk call that has lost its last event',
    file: 'read',
    tell: 'UPDATE audit_batches SET last = last - 1',
    found: () => /^read tables: what the audit tables say of event \d+ is not what its header says$/,
  },
  {
    name: 'a unique value that no document holds',
    file: 'log',
    tell: `DELETE FROM claims WHERE value = '"b"'`,
    found: () => new RegExp(`^claims: the value of posts.code that posts/${other} has is not held by it$`),
  },
  {
    name: 'a unique value that another document holds',
    file: 'log',
    tell: `UPDATE claims SET stream = (SELECT stream FROM claims WHERE value = '"a"') WHERE value = '"c"'`,
    found: () => /^claims: the value of posts.code that posts\/\S+ has is not held by it$/,
  },
  {
    name: 'a unique value that is held, and that no document has',
    file: 'log',
    tell: `INSERT INTO claims VALUES ('posts.code', '"z"', 'posts/none')`,
    found: () => /^claims: 5 are stored, the documents make 4$/,
  },
  {
    name: 'a document of today',
    file: 'read',
    tell: `UPDATE "texts posts" SET doc = replace(doc, '"n":2', '"n":3')`,
    found: () => new RegExp(`${rows}${one} are not what its events make$`),
  },
  {
    name: 'the column by which a document is found',
    file: 'read',
    tell: 'UPDATE "documents posts" SET "f.n" = 7 WHERE "f.n" = 1',
    found: () => new RegExp(`${rows}${other} are not`),
  },
  {
    name: 'a document of the past',
    file: 'read',
    tell: `UPDATE "past texts posts" SET doc = replace(doc, '"code":"e"', '"code":"f"')`,
    found: () => new RegExp(`${rows}\\S+ are not`),
  },
  {
    name: 'a link between documents',
    file: 'read',
    tell: 'UPDATE "links posts" SET target = \'x\'',
    found: () => new RegExp(`${rows}${other} are not`),
  },
];

/** A table with all its rows, to be put back. */
function keep(db: Sqlite): () => void {
  const tables = [
    'audit',
    'audit_batches',
    'claims',
    'texts posts',
    'documents posts',
    'past texts posts',
    'links posts',
  ];
  const there = tables.filter((name) => db.prepare('SELECT 1 FROM sqlite_schema WHERE name = ?').get(name));
  const kept = there.map((name) => [name, db.prepare(`SELECT * FROM "${name}"`).all() as object[]] as const);
  return () => {
    const columnsOf = db.prepare<[table: string], string>('SELECT name FROM pragma_table_info(?)').pluck();
    db.transaction(() => {
      for (const [name, rows] of kept) {
        db.exec(`DELETE FROM "${name}"`);
        const columns = columnsOf.all(name);
        const insert = db.prepare(`INSERT INTO "${name}" VALUES (${columns.map(() => '?').join(', ')})`);
        for (const row of rows) insert.run(...columns.map((column) => Reflect.get(row, column)));
      }
    })();
  };
}

async function when(
  isThere: (log: { verified: { at: string } | null; altered?: Alteration }) => boolean,
): Promise<Alteration> {
  return eventually(async () => {
    const log = await logNow();
    return isThere(log) && log.altered;
  });
}

describe('Claims that are not those of the documents', () => {
  it('are made anew by annals rebuild, after which annals verify finds all sound', async (t) => {
    const folder = temporaryFolder(t);
    const data = join(folder, 'data');
    const source =
      "export default { collections: [{ slug: 'posts', fields: [{ name: 'code', type: 'text', unique: true }] }] };";
    const path = writeConfig(folder, source);
    const begun = await startHere(t, source, { data, verifyPercent: 0 });
    for (const code of ['a', 'b']) await begun.call('POST', '/api/collections/posts', { code });
    await begun.stop();
    const db = openDatabase(join(data, 'log.db'));
    db.exec(`DELETE FROM claims WHERE value = '"b"'`);
    db.close();
    const settings = ['--config', path, '--data', data];
    assert.deepEqual((await runHere(['verify', ...settings])).code, 1);
    const rebuilt = await runHere(['rebuild', ...settings]);
    assert.equal(rebuilt.code, 0, rebuilt.stdout + rebuilt.stderr);
    const verified = await runHere(['verify', ...settings]);
    assert.match(verified.stdout, /^sound: /m, verified.stdout + verified.stderr);
    const again = await startHere(t, source, { data, verifyPercent: 0 });
    assert.equal((await again.call('POST', '/api/collections/posts', { code: 'b' })).status, 409);
  });
});

describe('A service that compares what follows from its log', () => {
  for (const { name, file, tell, found } of lies) {
    it(`finds ${name}, says so until "annals verify" finds all sound, and goes on signing`, async () => {
      const db = openDatabase(join(service.data, files[file]()));
      const undo = keep(db);
      try {
        db.exec(tell);
        const altered = await when((log) => found().test(log.altered?.finding ?? ''));
        assert.deepEqual([altered.part, altered.from, altered.to], ['tables', null, null]);
        const line = service.lines().findLast(({ level }) => level === 60);
        assert.match(
          line.msg,
          /^what follows from the log was altered: .*; stop the service, run "annals rebuild", then "annals verify"$/,
        );
        const signed = await fetch(`${service.url}/api/audit/checkpoint`, { headers: { 'x-api-key': apiKey } });
        assert.equal(signed.status, 200);
      } finally {
        undo();
        db.close();
      }
      await when((log) => (log.verified?.at ?? '') > (log.altered?.at ?? ''));
      const { code, stdout } = await runHere(['verify', '--data', service.data]);
      assert.equal(code, 0, stdout);
      assert.equal((await logNow()).altered, undefined);
    });
  }
});
