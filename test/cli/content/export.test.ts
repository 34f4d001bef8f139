import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { before, describe, it } from 'node:test';
import { typeFacts } from '../../../config/field-types.ts';
import { useServiceHere } from '../../helpers/embedded.ts';
import { runHere } from '../../helpers/in-process.ts';
import { assertRecorded } from '../../helpers/recorded.ts';
import { writeConfig } from '../../helpers/service.ts';
import { recordedEvents, useFolder } from '../../helpers/shared.ts';
import { fill } from './filled.ts';
import { config } from './rich.ts';

const original = useServiceHere(config);
const folder = useFolder();
const exported = join(folder, 'exported');
const configFile = writeConfig(folder, config);

function exportTo(out: string, ...args: string[]) {
  return runHere(['export', 'content', ...args, '--out', out, '--data', original.data]);
}

function withoutJoin({ works: _join, ...document }: Record<string, unknown>) {
  return document;
}

before(async () => {
  await fill(original);
  const done = await assertRecorded(original, () => exportTo(exported), []);
  assert.deepEqual([done.code, done.stderr], [0, '']);
});

describe('annals export content', () => {
  it('writes documents, globals and files with a manifest, and no password', async () => {
    const manifest = JSON.parse(readFileSync(join(exported, 'manifest.json'), 'utf8'));
    const { annals, log, exportedAt, ...rest } = manifest;
    assert.deepEqual(rest, {
      annalsExport: 1,
      position: recordedEvents(original.data).length,
      format: 'ndjson',
      collections: [
        { slug: 'people', documents: 5 },
        { slug: 'works', documents: 24 },
        { slug: 'pictures', documents: 3 },
        { slug: 'users', documents: 1 },
      ],
      globals: ['site'],
      // Two of the three have the same bytes.
      files: 2,
    });
    assert.ok(annals && exportedAt && log.startsWith('annals/'));
    const files = readdirSync(join(exported, 'files'));
    for (const name of files) {
      const bytes = readFileSync(join(exported, 'files', name));
      assert.equal(createHash('sha256').update(bytes).digest('hex'), name);
    }
    assert.deepEqual(readdirSync(join(exported, 'globals')), ['site.json']);
    const [users = ''] = readFileSync(join(exported, 'collections/users.ndjson'), 'utf8').split('\n');
    const names = ['id', 'createdAt', 'updatedAt', 'email', 'key', 'picture', 'role'];
    assert.deepEqual(Object.keys(JSON.parse(users)), names);
  });

  it('has a field of every type to carry over', () => {
    const types = new Set([...JSON.stringify(config).matchAll(/"type":"(\w+)"/g)].map(([, type]) => type));
    assert.deepEqual([...types].sort(), Object.keys(typeFacts).sort());
  });

  it('writes one collection to a file or to standard output, and documents as they were', async () => {
    const file = join(folder, 'people.json');
    assert.deepEqual(await exportTo(file, 'people'), {
      code: 0,
      stdout: '',
      stderr: `exported 5 documents as of position ${recordedEvents(original.data).length}\n`,
    });
    const stored = (await original.call('GET', '/api/collections/people?sort=id')).body.docs.map(withoutJoin);
    assert.deepEqual(JSON.parse(readFileSync(file, 'utf8')), stored);
    const second = stored.find(({ key }: { key: string }) => key === 'p1');
    const history = await original.call('GET', `/api/audit/documents/people/${second?.id}`);
    const { position } = history.body.docs[0];
    const { code, stdout } = await exportTo('-', 'people', '--as-of', String(position));
    const rows = stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line));
    assert.deepEqual(
      [code, rows.map(({ key, best }) => [key, best])],
      [
        0,
        [
          ['p0', null],
          ['p1', null],
        ],
      ],
    );
  });

  it('writes the documents that meet a filter, and chosen fields', async () => {
    const where = JSON.stringify({ key: { in: ['p1', 'p3', 'gone'] } });
    const args = ['people', '--where', where, '--config', configFile, '--fields', 'key,boss', '--format', 'csv'];
    const { code, stdout, stderr } = await assertRecorded(original, () => exportTo('-', ...args), []);
    assert.deepEqual([code, stdout.split('\r\n')[0]], [0, '\ufeff"id","key","boss"'], stderr);
    assert.deepEqual(
      [...stdout.matchAll(/,"(\w+)",/g)].map(([, key]) => key),
      ['key', 'p1', 'p3'],
    );
    const all = JSON.stringify({ key: { not_equals: 'w00' } });
    const then = await exportTo('-', 'works', '--where', all, '--config', configFile, '--as-of', '12');
    assert.equal(then.code, 0, then.stderr);
    const before = await exportTo('-', 'works', '--as-of', '12');
    const lines = before.stdout.split('\n').filter((line) => !line.includes('"key":"w00"'));
    assert.ok(lines.length > 1);
    assert.equal(then.stdout, lines.join('\n'));
  });

  it('guards CSV against formulas', async () => {
    const { stdout } = await exportTo('-', 'pictures', '--format', 'csv');
    const [titles = '', , second = ''] = stdout.split('\r\n');
    assert.equal(
      titles,
      '\ufeff"id","createdAt","updatedAt","filename","mimeType","filesize","width","height","sha256","key","alt","by"',
    );
    assert.match(second, /,"i1\.txt","text\/plain",4,,,"[\da-f]{64}","i1","'=two","[\da-f-]{36}"$/);
  });

  it('refuses what it cannot write, and leaves nothing behind', async () => {
    const cases: [string[], RegExp][] = [
      [['--out', exported], /exists, and an export replaces nothing/],
      [['peple', '--out', join(folder, 'x')], /there is no collection "peple"; did you mean "people"\?/],
      [
        ['people', 'works', '--out', '-'],
        /--out is for the documents of one collection: name it, or a folder for more/,
      ],
      [['people', '--out', join(folder, 'x'), '--format', 'cvs'], /did you mean "csv"\?/],
      [['--out', join(folder, 'none', 'x')], /there is no folder/],
      [['people'], /--out is missing/],
      [['people', '--out', '-', '--no-files'], /--no-files goes with a folder/],
      [['people', '--out', join(folder, 'x'), '--fields', 'key'], /--fields goes with a file or standard output/],
      [['people', '--out', '-', '--fields', 'kye'], /--fields: "kye" is not a field of people; did you mean "key"\?/],
      [['people', '--out', '-', '--config', configFile], /--config goes with --where/],
      [
        ['--out', join(folder, 'x'), '--where', '{}', '--config', configFile],
        /--where is for the documents of one collection/,
      ],
      [['people', '--out', '-', '--where', '{', '--config', configFile], /--where must be JSON/],
      [
        ['people', '--out', '-', '--where', '{"kye":{"equals":1}}', '--config', configFile],
        /--where\[kye\]: "kye" is not a field to filter or sort by; did you mean "key"\?/,
      ],
    ];
    for (const [args, message] of cases) {
      const { code, stderr } = await runHere(['export', 'content', ...args, '--data', original.data]);
      assert.equal(code, 2, stderr);
      assert.match(stderr, message);
    }
    assert.ok(!readdirSync(folder).some((name) => name.includes('partial') || name === 'x'));
  });

  it('names a file that the store does not have, and exports the rest', async () => {
    const [name = ''] = readdirSync(join(exported, 'files'));
    const found = readdirSync(join(original.data, 'blobs'), { recursive: true })
      .map(String)
      .find((path) => path.endsWith(name));
    const path = join(original.data, 'blobs', String(found));
    renameSync(path, `${path}.away`);
    const { code, stdout, stderr } = await exportTo(join(folder, 'lossy'), 'pictures');
    renameSync(`${path}.away`, path);
    assert.deepEqual([code, stderr], [1, `the file ${name} is missing in the store, and is not in the export\n`]);
    assert.match(stdout, /^exported 3 documents, 0 globals, 1 file as of/);
  });
});
