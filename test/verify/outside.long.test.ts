import assert from 'node:assert/strict';
import { execFile, spawnSync } from 'node:child_process';
import { copyFileSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { before, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import Database from 'better-sqlite3';
import type { JsonObject } from '../../config/schema.ts';
import { run } from '../../verify/annals-verify.mjs';
import { altering } from '../events/logs.ts';
import { useServiceHere } from '../helpers/embedded.ts';
import { apiKey } from '../helpers/service.ts';
import { useFolder } from '../helpers/shared.ts';
import { unzip } from '../helpers/unzip.ts';
import { altered, type Files, forged, restated, useArchives } from './archives.ts';
import {
  answerOf,
  bundleOf,
  createHistory,
  createSigner,
  type Entry,
  handoverOf,
  hexOf,
  noteOf,
  origin,
  rewritten,
  type Signer,
  type Thing,
  writeLog,
  writeNote,
  zipOf,
} from './forger.ts';
import { erased, lively, medium, person, post } from './histories.ts';

const script = fileURLToPath(new URL('../../docs/verify.py', import.meta.url));
const hasPython = spawnSync('python3', ['-c', 'import cryptography']).status === 0;
const skip = hasPython ? false : 'there is no python3 with the package cryptography';
const folder = useFolder();

/** The inputs of both verifiers, and their expected results: their exit codes differ only if docs/verify.py says so. */
type Case = { says: string; path: string; exit: number; outside: number };
const cases: Case[] = [];
let made = 0;

function add(says: string, exit: number, content: Files | Buffer | string, outside = exit): void {
  made += 1;
  const path = join(folder, `thing-${made}`);
  if (Buffer.isBuffer(content)) writeFileSync(path, content);
  else if (typeof content === 'string') copyFileSync(content, path);
  else
    for (const [name, bytes] of Object.entries(content)) {
      mkdirSync(dirname(join(path, name)), { recursive: true });
      writeFileSync(join(path, name), bytes);
    }
  cases.push({ says, path, exit, outside });
}

/**
 * Runs the script once for many things. Gives exit code and verdict of each, by its path, and the exit code of the run.
 */
async function outside(...args: string[]): Promise<{ exit: number; of: Map<string, string>; text: string }> {
  const { exit, text } = await new Promise<{ exit: number; text: string }>((resolve) => {
    execFile('python3', ['-X', 'utf8', '-B', script, ...args], { maxBuffer: 2 ** 24 }, (error, stdout, stderr) => {
      resolve({ exit: error ? Number(error.code) : 0, text: stdout + stderr });
    });
  });
  const lines = text.split('\n').filter((line) => /: (SOUND|NOT SOUND|UNDECIDED)/.test(line));
  return { exit, text, of: new Map(lines.map((line) => [line.slice(0, line.indexOf(': ')), line])) };
}

function exitIn(line = ''): number {
  return [/: SOUND/, /: NOT SOUND/, /: UNDECIDED/].findIndex((verdict) => verdict.test(line));
}

async function agree(args: readonly string[]): Promise<void> {
  const { exit, of, text } = await outside(...args, ...cases.map(({ path }) => path));
  const found = await Promise.all(
    cases.map(async ({ says, path }) => {
      const own = await run([...args, path]);
      return `${own.exit} ${exitIn(of.get(path))} ${says}`;
    }),
  );
  const shown = cases.splice(0);
  const expected = shown.map((one) => `${one.exit} ${one.outside} ${one.says}`);
  assert.deepEqual(found, expected, text);
  const exits = shown.map((one) => one.outside);
  assert.equal(exit, exits.includes(1) ? 1 : Math.max(...exits));
}

/** Not the whole describe is skipped: the runner does not count one. */
function describeWithPython(name: string, tests: () => void): void {
  if (skip) it(name, { skip });
  else describe(name, tests);
}

describeWithPython('a verifier that was written from the documents alone', () => {
  const service = useServiceHere({
    bcryptCost: 4,
    collections: [
      {
        slug: 'posts',
        fields: [
          { name: 'title', type: 'text' },
          { name: 'size', type: 'number' },
          { name: 'data', type: 'json' },
        ],
      },
      { slug: 'media', upload: true, fields: [] },
      { slug: 'users', auth: true, fields: [{ name: 'name', type: 'text' }] },
    ],
    globals: [{ slug: 'site', fields: [{ name: 'name', type: 'text' }] }],
  });
  const given: string[] = [];
  const log = join(folder, 'log.db');
  let [id, file, gone] = ['', '', ''];

  const get = async (path: string) => fetch(service.url + path, { headers: { 'x-api-key': apiKey } });

  async function archive(path: string): Promise<Buffer> {
    const answer = await get(`/api/audit/${path}`);
    const bytes = Buffer.from(await answer.arrayBuffer());
    assert.equal(answer.status, 200, String(bytes));
    return bytes;
  }

  const filesOf = async (path: string): Promise<Files> => Object.fromEntries(unzip(await archive(path)));

  before(async () => {
    const posts = '/api/collections/posts';
    const odd = { a: [1e21, -0.5, 5e-324, 123456789012345680000], '\u2028;=x': '";\t=1', b: { '': null } };
    ({ id } = (await service.call('POST', posts, { title: 'Grüße 🌍', size: 1e-7, data: odd })).body);
    const kept = writeNote(join(folder, 'kept.txt'), await (await get('/api/audit/checkpoint')).text());
    const reasons = [
      '=1+1;-2',
      "'quoted",
      '＝2',
      ' \u200b"@x',
      'plain; text',
      "a;'+1",
      'tab\t=1',
      '−3',
      '«= »',
      "';'x",
    ];
    for (const [index, reason] of reasons.entries()) {
      const headers = { 'x-change-reason': `UTF-8''${encodeURIComponent(reason)}` };
      await service.call('PATCH', `${posts}/${id}`, { title: `=${reason}`, size: index / 3 }, { headers });
    }
    await service.call('PATCH', '/api/globals/site', { name: 'Annals' });
    const form = new FormData();
    form.append('file', new Blob(['the bytes of a file']), 'a.txt');
    file = (
      await (
        await fetch(`${service.url}/api/collections/media`, {
          method: 'POST',
          headers: { 'x-api-key': apiKey },
          body: form,
        })
      ).json()
    ).id;
    gone = (await service.call('POST', posts, { title: 'Ada' })).body.id;
    await service.call('POST', '/api/audit/erasures', { collection: 'posts', id: gone, reason: 'asked for' });
    await service.call('DELETE', `${posts}/${id}`);
    await service.call('POST', `${posts}/${id}/restore`, { version: 3 });
    // Enough that the log has tiles.
    await Promise.all(Array.from({ length: 250 }, (_, count) => service.call('POST', posts, { title: `${count}` })));
    const { body } = await service.call('GET', '/api/audit/log');
    given.push('--key', body.verifierKey, '--checkpoint', kept);
    await get('/api/audit/checkpoint');
    const db = new Database(join(service.data, 'log.db'), { readonly: true });
    db.prepare('VACUUM INTO ?').run(log);
    db.close();
  });

  it('agrees with annals-verify about what a service made', async () => {
    add('log.db', 0, log);
    const since = 'since=2';
    for (const path of [
      `bundles/posts/${id}?${since}`,
      `bundles/posts/${id}?${since}&complete=true`,
      `bundles/posts/${gone}?${since}`,
      `bundles/media/${file}?${since}`,
      `bundles/media/${file}?${since}&files=false`,
      `bundles/globals/site?${since}`,
      ...['ndjson', 'csv', 'cloudevents'].flatMap((format) => [
        `export?format=${format}`,
        `export?format=${format}&from=3&to=9&${since}`,
        `export?format=${format}&collection=posts&${since}`,
        `export?format=${format}&actor=system&${since}`,
      ]),
    ]) {
      add(path, 0, await archive(path));
    }
    await agree(given);
  });

  it('agrees with it about lies in a log', async () => {
    const guards =
      'DROP TRIGGER events_update; DROP TRIGGER events_delete; DROP TRIGGER payloads_update; DROP TRIGGER payloads_delete;';
    const lie = (says: string, sql: string, exit = 1, theirs = exit) => {
      const path = join(folder, 'lie.db');
      copyFileSync(log, path);
      const db = new Database(path);
      db.pragma('journal_mode = DELETE');
      db.exec(`${guards} ${sql}`);
      db.close();
      add(says, exit, path, theirs);
    };
    lie('a payload changed', "UPDATE payloads SET body = replace(body, 'asked for', 'told to do')");
    lie('an actor changed', altering(5, `replace(header, '"apiKey"', '"system"')`));
    lie(
      'two payloads swapped',
      'UPDATE payloads SET body = (SELECT body FROM payloads p WHERE p.position = 9 - payloads.position) WHERE position IN (4, 5)',
    );
    lie('a payload deleted', 'DELETE FROM payloads WHERE position = 4');
    lie(
      'an erased payload put back',
      `INSERT INTO payloads SELECT position, 0, '{"salt":"","data":{},"context":{}}' FROM events WHERE stream = 'posts/${gone}' AND version = 1`,
    );
    lie('the events cut off', 'DELETE FROM payloads WHERE position > 260; DELETE FROM events WHERE position > 260');
    lie('an event taken out', 'DELETE FROM payloads WHERE position = 7; DELETE FROM events WHERE position = 7');
    lie('a column that differs from its header', "UPDATE events SET stream = 'posts/x' WHERE position = 2");
    lie('a time in a header', altering(9, `replace(header, '"recordedAt":"20', '"recordedAt":"19')`));
    lie('the root of the head', 'UPDATE head SET root = zeroblob(32)');
    lie('the time of the head', "UPDATE head SET recorded_at = '2020-01-01T00:00:00.000Z'");
    lie('the root in a checkpoint', "UPDATE checkpoints SET note = replace(note, 'A', 'B')");
    lie('no checkpoint at all', 'DELETE FROM checkpoints', 0);
    // Annals-verify does not look at tiles.
    lie('a tile zeroed', 'UPDATE tiles SET hashes = zeroblob(length(hashes)) WHERE level = 1', 0, 1);
    lie('another format', 'PRAGMA user_version = 99', 2);
    await agree(given);
  });

  it('agrees with it about lies in an evidence pack', async () => {
    const [pack, picture] = await Promise.all([
      filesOf(`bundles/posts/${id}?since=2`),
      filesOf(`bundles/media/${file}?since=2`),
    ]);
    const lie = (says: string, change: (bundle: Thing) => void, exit = 1) =>
      add(says, exit, restated(pack, 'bundle.json', change));
    const inFile = `files/${hexOf('the bytes of a file')}`;
    lie('a letter of the document', (bundle) => {
      bundle.document.title += '!';
    });
    lie('a letter of a payload', (bundle) => {
      bundle.events[1].payload = bundle.events[1].payload.replace('plain', 'plane').replace('=1', '=2');
    });
    lie('an author', (bundle) => {
      bundle.events[1].header = bundle.events[1].header.replace('"apiKey"', '"system"');
    });
    lie('a version left out', (bundle) => bundle.events.splice(2, 1));
    lie('the last version left out', (bundle) => {
      bundle.events.pop();
      bundle.versions[bundle.stream] -= 1;
    });
    const hidden = restated(pack, 'bundle.json', (bundle) => {
      bundle.events.pop();
      Object.assign(bundle, { document: null, rest: undefined });
      bundle.versions[bundle.stream] -= 1;
    });
    const { 'summary.html': _, 'README.txt': __, ...untold } = hidden;
    add('the last version left out, and what comes after it', 0, untold);
    lie('a payload hidden as erased', (bundle) => {
      Object.assign(bundle.events[1], { payload: null, erased: true });
    });
    lie('a proof of another event', (bundle) => {
      bundle.events[1].proof = bundle.events[2].proof;
    });
    lie('the first schema left out', (bundle) => bundle.schemas.shift());
    lie('a file that was never there', (bundle) =>
      bundle.files.push({ sha256: hexOf('x'), bytes: 1, version: 1, included: false }),
    );
    lie('a header of the rest', (bundle) => {
      bundle.rest.headers[0] = bundle.rest.headers[0].replace('Z"', 'Z "');
    });
    lie('another root', (bundle) => {
      bundle.checkpoint = bundle.checkpoint.replace(/\n(.)/, '\n9$1');
    });
    lie(
      'another key',
      (bundle) => {
        bundle.verifierKey = createSigner(bundle.origin).verifierKey;
      },
      2,
    );
    lie(
      'another format',
      (bundle) => {
        bundle.format = 'annals-bundle/9';
      },
      2,
    );
    lie(
      'texts of a newer form',
      (bundle) => {
        bundle.texts = 9;
      },
      2,
    );
    lie(
      'no proof from what was kept',
      (bundle) => {
        bundle.earlier = [];
      },
      2,
    );
    add('a file altered', 1, { ...picture, [inFile]: 'the bites of a file' });
    add('a file left out', 1, Object.fromEntries(Object.entries(picture).filter(([name]) => name !== inFile)));
    add('a file that belongs to nothing', 2, { ...picture, 'more.txt': '' });
    // Made again by annals-verify alone, as the last line of the other says.
    add(
      'another page to read',
      1,
      altered(pack, 'summary.html', (page) => page.replace('Gr', 'Gl')),
      0,
    );
    await agree(given);
  });

  it('agrees with it about hand-overs', async () => {
    const [old, now, thief] = [createSigner(), createSigner(), createSigner()];
    const { entries, record } = createHistory(origin, lively().slice(0, 3));
    const signed = handoverOf(entries, [old, now]);
    const [from, to] = [old, now].map(({ verifierKey }) => ({ id: verifierKey.split('+')[1] ?? '', verifierKey }));
    record('system/keys', 'log.key.replaced', { from, to, handover: signed } as JsonObject);
    record(post, 'document.updated', { set: { title: 'Two' } });
    const document = { id: post.slice(6), title: 'Two', tags: [], old: 1 };
    const show = (handovers: string[], by = now, earlier = [2, 3]): Files => {
      const bundle = bundleOf(entries, by, post, document, { earlier });
      return { 'bundle.json': JSON.stringify({ ...bundle, handovers }) };
    };
    const log = join(folder, 'handed.db');
    writeLog(log, entries, [noteOf(entries, [old], 2), noteOf(entries, [now])]);
    const addAll = () => {
      add('the hand-over', 0, show([signed]));
      add('two in another order', 0, show([handoverOf(entries, [now, thief], { size: 5 }), signed]));
      add('no proof from it', 2, show([signed], now, [2]));
      add('not one', 2, show([]));
      add('one that one key alone signed', 2, show([handoverOf(entries, [old, now], { signers: [now] })]));
      add('one of another size', 1, show([signed.replace('\n3\n', '\n4\n')]));
      add('one of a stranger', 2, show([handoverOf(entries, [thief, createSigner()])]));
      add('the old key after it', 1, show([signed], old));
      add('a checkpoint that names no keys', 1, show([noteOf(entries, [old, now], 3)]));
      add('two of one key', 1, show([signed, handoverOf(entries, [old, thief], { size: 2 })]));
      add('the log', 0, log);
    };
    const kept = ['--checkpoint', writeNote(join(folder, 'of-old.txt'), noteOf(entries, [old], 2))];
    for (const signer of [old, now]) {
      addAll();
      await agree(['--key', signer.verifierKey, ...kept]);
    }
  });

  it('agrees with it about lies in an export', async () => {
    // One after the other: a caller makes two at once.
    const exported = (format: string) => filesOf(`export?format=${format}&to=20&since=2`);
    const range = await exported('ndjson&from=2');
    const wanted = await exported('ndjson&collection=posts');
    const csv = await exported('csv');
    const cloud = await exported('cloudevents');
    const line = (number: number) => (text: string) => text.split('\n').toSpliced(number, 1).join('\n');
    const lines = 'events.ndjson';
    const fewer = (manifest: Thing) => {
      manifest.events -= 1;
    };
    add(
      'a letter of an event',
      1,
      forged(range, lines, (text) => text.replace('plain', 'plane')),
    );
    add(
      'an author in an event',
      1,
      forged(range, lines, (text) => text.replace('"apiKey"', '"system"')),
    );
    add('an event left out', 1, restated(forged(range, lines, line(4)), 'manifest.json', fewer));
    add('the last event left out', 1, restated(forged(range, lines, line(18)), 'manifest.json', fewer));
    add(
      'an event more',
      1,
      forged(range, lines, (text) => `${text + text.split('\n')[3]}\n`),
    );
    add(
      'the range moved',
      1,
      restated(range, 'manifest.json', (manifest) => {
        manifest.from += 1;
      }),
    );
    add(
      'bytes that the manifest does not know',
      1,
      altered(range, lines, (text) => text.replace('plain', 'plane')),
    );
    add('an event left out that fits the filters', 0, restated(forged(wanted, lines, line(4)), 'manifest.json', fewer));
    add(
      'a proof of another event',
      1,
      forged(wanted, lines, (text) => text.replace(/"proof":\["[^"]*"/, `"proof":["${'A'.repeat(43)}="`)),
    );
    add(
      'an event that does not fit',
      1,
      restated(wanted, 'manifest.json', (manifest) => {
        manifest.filters = { collection: 'media' };
      }),
    );
    add(
      'a reason in a cell',
      1,
      forged(csv, 'events.csv', (text) => text.replace('plain; text', 'plane; text')),
    );
    add(
      'a formula in a cell',
      1,
      forged(csv, 'events.csv', (text) => text.replace(`"'=1+1;'-2"`, '"=1+1;-2"')),
    );
    add(
      'an author in a cell',
      1,
      forged(csv, 'events.csv', (text) => text.replace('"apiKey"', '"system"')),
    );
    add(
      'a row more',
      1,
      forged(csv, 'events.csv', (text) => `${text + text.split('\r\n')[3]}\r\n`),
    );
    add(
      'what a CloudEvent says',
      1,
      forged(cloud, 'events.cloudevents.ndjson', (text) => text.replace('Grüße', 'Füße')),
    );
    add(
      'no proof from what was kept',
      2,
      restated(wanted, 'manifest.json', (manifest) => {
        manifest.earlier = [];
      }),
    );
    add(
      'another format',
      2,
      restated(range, 'manifest.json', (manifest) => {
        manifest.format = 'annals-export/9';
      }),
    );
    add('the export as a ZIP', 0, await zipOf(range));
    add('no archive', 2, Buffer.from('PK nothing'));
    add('half an archive', 2, (await zipOf(range)).subarray(0, 3000));
    await agree(given);
  });

  it('agrees with it about keys, forks, erasures and clocks', async () => {
    const signer = createSigner();
    const entries = erased(lively());
    const keys = ['--key', signer.verifierKey];
    const write = (says: string, exit: number, of: readonly Entry[], by: readonly Signer[] = [signer]) => {
      const path = join(folder, 'forged.db');
      rmSync(path, { force: true });
      writeLog(path, of, by.length > 0 ? [noteOf(of, by)] : []);
      add(says, exit, path);
    };
    const archives = useArchives(folder, signer);
    const replace = (at: number, changes: Partial<Entry['header']>) =>
      entries.map((one, index) => (index === at ? rewritten(one, changes) : one));
    const kept = (name: string, of: readonly Entry[], size: number, by = signer) => [
      '--checkpoint',
      writeNote(join(folder, name), noteOf(of, [by], size)),
    ];
    const things = async () => {
      write('a log', 0, entries);
      for (const stream of [post, person]) add(stream, 0, await archives.bundle(entries, stream));
      for (const format of ['ndjson', 'csv', 'cloudevents'] as const)
        add(format, 0, await archives.range(entries, format, 1, entries.length));
    };
    await things();
    add('headers only', 0, await archives.range(entries, 'csv', 1, entries.length, { withPayloads: false }));
    const clock = createHistory(undefined, [...entries]);
    const early = { recordedAt: '2026-11-20T12:00:02.000Z' };
    clock.record('system/clock', 'clock.corrected', { from: 3, before: '2026-11-20T12:00:16.000Z' }, early);
    clock.record(post, 'document.updated', { set: { title: 'After it' } }, { recordedAt: '2026-11-20T12:00:03.000Z' });
    const losing = createHistory(undefined, [...entries]);
    losing.record('system/files', 'file.lost', { stream: medium, version: 1 }, {}, { reason: 'the disk failed' });
    add('a pack of which a file is lost', 0, await archives.bundle(losing.entries, medium));
    add('a pack of which a file is called lost', 0, await archives.bundle(entries, medium));
    write('times that a correction lets go back', 0, clock.entries);
    add('a pack with a correction', 0, await archives.bundle(clock.entries, post));
    add(
      'an export with a correction',
      0,
      await archives.range(clock.entries, 'ndjson', 1, 18, { filters: { collection: 'posts' } }),
    );
    write('signed by two', 0, entries, [signer, createSigner('witness')]);
    write('time goes back', 1, replace(5, { recordedAt: '2026-11-20T12:00:01.000Z' }));
    write('a version twice', 1, replace(5, { version: 2 }));
    write('a position twice', 1, replace(5, { position: 5 }));
    write(
      'a member more',
      1,
      entries.map((one, index) =>
        index === 5 ? { ...one, text: one.text.replace('"payload"', '"more":1,"payload"') } : one,
      ),
    );
    write('an event of another log', 1, replace(5, { log: 'annals/019a0000-0000-7000-8000-000000000002' }));
    write('an actor of an unknown kind', 1, replace(5, { actor: { type: 'robot' } } as object));
    write(
      'an erasure that was not declared',
      1,
      entries.map((one, index) => (index === 5 ? { ...one, body: null } : one)),
    );
    write('an erased payload that is there', 1, lively());
    write('signed by a stranger', 2, entries, [createSigner()]);
    write('a type of tomorrow', 0, replace(5, { type: 'document.dreamt' } as object));
    write('not signed', 2, entries, []);
    await agree(keys);

    const none = ['--files', join(folder, 'no-blobs')];
    write('a log of which a file is lost', 0, losing.entries);
    write('a log of which a file is not there', 2, entries);
    await agree([...keys, ...none]);

    await things();
    for (const one of cases) Object.assign(one, { exit: 2, outside: 2 });
    await agree([]);
    await things();
    for (const one of cases) Object.assign(one, { exit: 2, outside: 2 });
    await agree(['--key', createSigner().verifierKey]);

    const fork = createHistory(undefined, [...entries.slice(0, 14)]);
    for (let count = 14; count < entries.length; count += 1)
      fork.record(post, 'document.updated', { set: { title: `${count}` } });
    write('the kept log itself', 0, entries);
    write('a log that went another way', 1, fork.entries);
    write('a log that was cut off, or an old copy', 2, entries.slice(0, 14));
    add('an export of the other way', 1, await archives.range(fork.entries, 'ndjson', 1, fork.entries.length));
    await agree([...keys, ...kept('fork.txt', entries, 15)]);
    const older = async () => {
      write('an old copy', 0, entries.slice(0, 14));
      add('an old export', 0, await archives.range(entries.slice(0, 14), 'ndjson', 1, 14));
      add('an old checkpoint', 0, Buffer.from(noteOf(entries, [signer], 14)));
      write('an old copy of another log', 2, replace(5, { correlationId: 'other' }).slice(0, 14));
      write('another log', 1, fork.entries);
      add('a checkpoint of another log', 1, Buffer.from(noteOf(fork.entries, [signer], 15)));
      add('a checkpoint of a stranger', 2, Buffer.from(noteOf(entries, [createSigner()], 15)));
    };
    const proof = ['--proof', writeNote(join(folder, 'proof.json'), JSON.stringify(answerOf(entries, 14, 15)))];
    await older();
    await agree([...keys, ...kept('newer.txt', entries, 15), ...proof]);
    await older();
    for (const one of cases) if (one.exit === 0) Object.assign(one, { exit: 2, outside: 2 });
    await agree([...keys, ...kept('newer.txt', entries, 15)]);
    write('a kept checkpoint of a stranger', 2, entries);
    await agree([...keys, ...kept('strange.txt', entries, 15, createSigner())]);
  });
});
