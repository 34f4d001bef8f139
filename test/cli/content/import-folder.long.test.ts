import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { before, describe, it } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { annalsWords } from '../../helpers/command.ts';
import { useServiceHere } from '../../helpers/embedded.ts';
import { runHere } from '../../helpers/in-process.ts';
import { assertRecorded } from '../../helpers/recorded.ts';
import { inherited, runCommand, type Service, writeConfig } from '../../helpers/service.ts';
import { recordedEvents, useFolder, useService } from '../../helpers/shared.ts';
import { fill, seed } from './filled.ts';
import { config } from './rich.ts';

type Target = Pick<Service, 'data' | 'call'>;
type Document = Record<string, unknown> & { id: string };

const original = useServiceHere(config);
const ndjson = useService(config);
const [csv, json, spare] = [useServiceHere(config), useServiceHere(config), useServiceHere(config)];
const folder = useFolder();
const configFile = writeConfig(folder, config);
const exported = join(folder, 'exported');

const slugs = config.collections.map(({ slug }) => slug);

async function documentsOf(service: Target, slug: string): Promise<Document[]> {
  const { body } = await service.call('GET', `/api/collections/${slug}?limit=100&sort=key`);
  assert.equal(body.total, body.docs.length);
  return body.docs;
}

/** All content of a service, with the keys of documents in place of their ids, and without times. */
async function contentOf(service: Target): Promise<unknown> {
  const all = await Promise.all(slugs.map(async (slug) => ({ slug, docs: await documentsOf(service, slug) })));
  const globals = await Promise.all(
    config.globals.map(async ({ slug }) => (await service.call('GET', `/api/globals/${slug}`)).body),
  );
  const names = new Map(all.flatMap(({ slug, docs }) => docs.map((one) => [one.id, `${slug}/${one.key}`] as const)));
  const text = JSON.stringify({ all, globals }, (name, value) => {
    if (name === 'createdAt' || name === 'updatedAt') return value === null ? null : 'a time';
    return value;
  });
  return JSON.parse(text.replace(/[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}/g, (id) => names.get(id) ?? id));
}

/**
 * The content without the order of joins, which is the order in which documents were created: mended rows have another.
 */
function inAnyOrder(content: unknown): unknown {
  return JSON.parse(JSON.stringify(content), (name, value) => (name === 'works' ? value.sort() : value));
}

function command(service: Pick<Target, 'data'>, ...args: string[]): string[] {
  return ['import', ...args, '--data', service.data, '--config', configFile];
}

function exportTo(out: string, ...args: string[]) {
  return runHere(['export', 'content', ...args, '--out', out, '--data', original.data]);
}

/** A copy of the export, changed. */
function altered(name: string, change: (copy: string) => void): string {
  const copy = join(folder, name);
  cpSync(exported, copy, { recursive: true });
  change(copy);
  return copy;
}

function changeManifest(copy: string, change: object): void {
  const path = join(copy, 'manifest.json');
  writeFileSync(path, JSON.stringify({ ...JSON.parse(readFileSync(path, 'utf8')), ...change }));
}

before(async () => {
  await fill(original);
  // Commands learn the address of an embedded service from its first request.
  for (const { call } of [csv, json, spare]) await call('GET', '/api/collections/works');
  assert.equal((await exportTo(exported)).code, 0);
});

describe('annals import of an export', () => {
  it('gives the original but for ids and times, though it was killed on the way, and repeats nothing', async () => {
    const [file = '', ...words] = annalsWords();
    const record = `${exported}.imported`;
    const lines = () => (existsSync(record) ? readFileSync(record, 'utf8').split('\n').length : 0);
    // While a call for many is made, and while relationships are written.
    for (const moment of [() => existsSync(`${record}.sending`) || lines() >= 4, () => lines() >= 8]) {
      const child = spawn(file, [...words, ...command(ndjson, exported)], { env: inherited(), stdio: 'ignore' });
      const ended = new Promise((resolve) => child.once('close', resolve));
      while (!moment() && child.exitCode === null) await wait(1);
      child.kill('SIGKILL');
      await ended;
      assert.equal(child.signalCode, 'SIGKILL');
    }
    const { code, stdout, stderr } = await runCommand(command(ndjson, exported));
    assert.equal(code, 0, stderr);
    assert.match(stdout, /^\d+ created, 1 updated, 0 unchanged, \d+ imported before, 0 refused\n/);
    assert.match(stdout, /the accounts of users have no passwords: .*\/api\/collections\/users\/forgot-password/);
    assert.deepEqual(await contentOf(ndjson), await contentOf(original), `TEST_SEED=${seed}`);
    const events = recordedEvents(ndjson.data);
    assert.equal(events.filter(({ type }) => type === 'document.created').length, 33);
    assert.ok(!events.some(({ type }) => type === 'password.changed'));
    await assertRecorded(
      ndjson,
      () => ndjson.call('POST', '/api/collections/users/forgot-password', { email: 'ada@example.org' }),
      ['password.reset.requested'],
    );
    const again = await assertRecorded(ndjson, () => runHere(command(ndjson, exported)), []);
    assert.match(again.stdout, /^0 created, 0 updated, 0 unchanged, 34 imported before, 0 refused\n/);
  });

  for (const [format, service] of [
    ['csv', csv],
    ['json', json],
  ] as const) {
    it(`gives the original from ${format} as well`, async () => {
      const out = join(folder, `as-${format}`);
      assert.equal((await exportTo(out, '--format', format)).code, 0);
      const { code, stdout, stderr } = await runHere(command(service, out));
      assert.equal(code, 0, stderr);
      assert.match(stdout, /^33 created, 1 updated, 0 unchanged, 0 refused\n/);
      assert.deepEqual(await contentOf(service), await contentOf(original), `TEST_SEED=${seed}`);
    });
  }

  it('writes nothing twice wherever its record was cut off', async () => {
    const out = join(folder, 'as-csv');
    const lines = readFileSync(`${out}.imported`, 'utf8').split('\n').slice(0, -1);
    for (const part of [0.15, 0.4, 0.6, 0.85]) {
      const kept = lines.slice(0, Math.ceil(part * lines.length));
      writeFileSync(`${out}.imported`, `${kept.join('\n')}\n{"key":`);
      const { code, stderr } = await assertRecorded(csv, () => runHere(command(csv, out)), []);
      assert.deepEqual([code, stderr], [0, ''], `${kept.length} of ${lines.length} lines`);
    }
  });

  it('opens the directory itself if no service runs, with the files', async () => {
    const own = { data: join(folder, 'alone') };
    const { code, stdout, stderr } = await runHere(command(own, exported, '--state', join(folder, 'alone.record')));
    assert.deepEqual([code, stderr], [0, '']);
    assert.match(stdout, /^33 created, 1 updated, 0 unchanged, 0 refused\n/);
    const again = join(folder, 'exported-again');
    const done = await runHere(['export', 'content', '--out', again, '--data', own.data]);
    assert.equal(done.stdout.replace(/ as of .*/s, ''), 'exported 33 documents, 1 global, 2 files');
    assert.deepEqual(readdirSync(join(again, 'files')).sort(), readdirSync(join(exported, 'files')).sort());
    const where = ['--where', '{"key":{"equals":"p3"}}', '--fields', 'key', '--config', configFile];
    const found = await runHere(['export', 'content', 'people', '--out', '-', '--data', own.data, ...where]);
    assert.match(found.stdout, /^\{"id":"[\da-f-]{36}","key":"p3"\}\n$/);
  });

  it('checks all of it in a dry run, and writes nothing', async () => {
    const dry = await assertRecorded(
      spare,
      () => runHere(command(spare, exported, '--dry-run', '--state', join(folder, 'dry'))),
      [],
    );
    assert.deepEqual(dry, { code: 0, stdout: '33 to create, 1 to update, 0 unchanged, 0 refused\n', stderr: '' });
    assert.ok(!existsSync(join(folder, 'dry')));
  });

  it('refuses a row with a file of other bytes or another place, and accepts it once it is mended', async () => {
    const [one = '', two = ''] = readdirSync(join(exported, 'files'));
    const secret = join(folder, 'secret');
    writeFileSync(secret, 'secret');
    const copy = altered('tampered', (path) => {
      writeFileSync(join(path, 'files', one), 'other bytes');
      rmSync(join(path, 'files', two));
      symlinkSync(secret, join(path, 'files', two));
    });
    const { code, stdout, stderr } = await runHere(command(spare, copy));
    assert.equal(code, 1);
    // Rows that name a picture wait for it, and are named as well.
    assert.match(stdout, /^\d+ created, \d updated, 0 unchanged, \d+ refused\n/);
    assert.match(
      stderr,
      /pictures\.ndjson: row \d: sha256 is not that of files\/[\da-f]{64}, whose bytes have [\da-f]{64}\n/,
    );
    assert.match(
      stderr,
      /pictures\.ndjson: row \d: sha256 must be that of a file of the export, and there is no files\//,
    );
    assert.match(stderr, /works\.ndjson: row 1: picture names a document of pictures that is not imported/);
    for (const name of [one, two]) {
      rmSync(join(copy, 'files', name));
      cpSync(join(exported, 'files', name), join(copy, 'files', name));
    }
    const mended = await runHere(command(spare, copy));
    assert.deepEqual([mended.code, mended.stderr], [0, '']);
    assert.deepEqual(inAnyOrder(await contentOf(spare)), inAnyOrder(await contentOf(original)), `TEST_SEED=${seed}`);
  });

  it('refuses a relationship to a document that is nowhere, unless told to leave it out', async () => {
    const person = { id: 'x', key: 'new', boss: '01a20890-0e06-7000-8f22-6f73bb3afc4e' };
    const copy = altered('dangling', (path) => {
      writeFileSync(join(path, 'collections/people.ndjson'), `${JSON.stringify(person)}\n`);
      changeManifest(path, { collections: [{ slug: 'people', documents: 1 }], globals: [] });
    });
    const { code, stderr } = await assertRecorded(spare, () => runHere(command(spare, copy)), []);
    assert.equal(code, 1);
    const missing =
      /people\.ndjson: row 1: boss names a document of people that neither the export nor the service has, "01a2.*"; /;
    assert.match(stderr, new RegExp(`${missing.source}--drop-missing leaves it out\n`));
    const dropped = await runHere(command(spare, copy, '--drop-missing'));
    assert.deepEqual([dropped.code, dropped.stdout], [0, '1 created, 0 updated, 0 unchanged, 0 refused\n']);
    assert.match(dropped.stderr, new RegExp(`${missing.source}it is left out\n`));
    const [found] = (await spare.call('GET', '/api/collections/people?where[key][equals]=new')).body.docs;
    assert.equal(found.boss, null);
  });

  it('refuses rows that require each other', async () => {
    const circle = {
      collections: [
        { slug: 'items', fields: [{ name: 'to', type: 'relationship', relationTo: 'items', required: true }] },
      ],
    };
    const copy = altered('circle', (path) => {
      rmSync(join(path, 'collections'), { recursive: true });
      mkdirSync(join(path, 'collections'));
      const rows = [
        { id: 'a', to: 'b' },
        { id: 'b', to: 'a' },
      ];
      writeFileSync(join(path, 'collections/items.ndjson'), rows.map((row) => `${JSON.stringify(row)}\n`).join(''));
      changeManifest(path, { collections: [{ slug: 'items', documents: 2 }], globals: [] });
    });
    const other = join(folder, 'circle-config');
    mkdirSync(other);
    const args = ['import', copy, '--data', join(other, 'data'), '--config', writeConfig(other, circle)];
    const { code, stdout, stderr } = await runHere(args);
    assert.deepEqual([code, stdout], [1, '0 created, 0 updated, 0 unchanged, 2 refused\n']);
    assert.match(
      stderr,
      /row 1: to names a document of items that is not imported: it was refused, or waits for this one\n/,
    );
  });

  it('refuses a folder that is no whole export of what the configuration has, before it writes', async () => {
    const cases: [string, (copy: string) => void, RegExp][] = [
      [
        'newer',
        (copy) => changeManifest(copy, { annalsExport: 2, annals: '9.0.0' }),
        /annalsExport must be 1, which this Annals reads, got 2; a newer Annals made it, "9\.0\.0"/,
      ],
      [
        'unknown',
        (copy) => changeManifest(copy, { collections: [{ slug: 'work', documents: 1 }] }),
        /the export has the collection "work", which the configuration has not; did you mean "works"\?/,
      ],
      [
        'global',
        (copy) => changeManifest(copy, { globals: ['sites'] }),
        /the export has the global "sites".*did you mean "site"\?/,
      ],
      [
        'up',
        (copy) => changeManifest(copy, { collections: [{ slug: '../collections/people', documents: 1 }] }),
        /which the configuration has not/,
      ],
      [
        'format',
        (copy) => changeManifest(copy, { format: 'ndjsn' }),
        /format must be one of "ndjson", "csv", "json", got "ndjsn"; did you mean "ndjson"\?/,
      ],
      ['bare', (copy) => rmSync(join(copy, 'manifest.json')), /is not a whole export: it has no manifest\.json/],
      ['foreign', (copy) => writeFileSync(join(copy, 'manifest.json'), '[]'), /is not the manifest of an export/],
      ['gone', (copy) => rmSync(join(copy, 'collections/people.ndjson')), /has no file collections\/people\.ndjson/],
      [
        'cut',
        (copy) => writeFileSync(join(copy, 'collections/people.ndjson'), ''),
        /has 0 rows, and the manifest says 5: the export is not whole/,
      ],
      [
        'outside',
        (copy) => {
          renameSync(join(copy, 'collections'), join(folder, 'elsewhere'));
          symlinkSync(join(folder, 'elsewhere'), join(copy, 'collections'));
        },
        /has no file collections\//,
      ],
      [
        'twice',
        (copy) => {
          const path = join(copy, 'collections/people.ndjson');
          const [first] = readFileSync(path, 'utf8').split('\n');
          writeFileSync(path, `${first}\n`.repeat(5));
        },
        /row 2: the id ".*" is there twice/,
      ],
    ];
    for (const [name, change, message] of cases) {
      const { code, stderr } = await assertRecorded(spare, () => runHere(command(spare, altered(name, change))), []);
      assert.equal(code, 2, name);
      assert.match(stderr, message, name);
    }
    const wrong: [string[], RegExp][] = [
      [[exported, '--upsert', 'key'], /--upsert goes with COLLECTION FILE/],
      [['people'], /FILE is missing/],
      [['people', exported, '--drop-missing'], /--drop-missing goes with the folder of an export/],
      [
        [exported, '--state', `${join(folder, 'tampered')}.imported`, '--data', ndjson.data],
        /is the record of an import into another log/,
      ],
    ];
    for (const [args, message] of wrong) {
      const { code, stderr } = await runHere([
        ...command(spare, ...args.filter((arg) => arg !== '--data' && arg !== ndjson.data)),
        ...(args.includes('--data') ? ['--data', ndjson.data] : []),
      ]);
      assert.equal(code, 2);
      assert.match(stderr, message);
    }
  });
});
