import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import type { Config } from '../../config/define.ts';
import { usualSizes } from '../../events/segments/segment-writer.ts';
import { segmentsOf } from '../../events/segments/segments.ts';
import { withDatabase } from '../../storage/sqlite.ts';
import { type HereService, startHere, useServiceHere } from '../helpers/embedded.ts';
import { runHere } from '../helpers/in-process.ts';
import { remainsIn } from '../helpers/leftovers.ts';
import { eventually, useFolder } from '../helpers/shared.ts';
import { findingIn } from '../projections/directory.ts';

// Sizes for the whole process, with which few events make a segment.
Object.assign(usualSizes, { events: 20, hot: 5 });

const config: Config = { collections: [{ slug: 'posts', fields: [{ name: 'title', type: 'text' }] }] };

describe('a service that archives its log', () => {
  const service = useServiceHere(config);
  const folder = useFolder();
  const inLog = <T>(sql: string) =>
    withDatabase(join(service.data, 'log.db'), { readonly: true }, (db) => db.prepare<[], T>(sql).pluck().get());
  const segments = () => withDatabase(join(service.data, 'log.db'), { readonly: true }, segmentsOf);

  async function post(title: string): Promise<string> {
    const { status, body } = await service.call('POST', '/api/collections/posts', { title });
    assert.equal(status, 201);
    return body.id;
  }

  it('moves payloads into segments beside its writes, and answers what it answered before', async () => {
    const ids: string[] = [];
    for (let at = 0; at < 65; at += 1) ids.push(await post(`Bilby-${at}`));
    await eventually(() => segments().length === 3 && Number(inLog('SELECT min(position) FROM payloads')) > 60);
    const history = await service.call('GET', `/api/audit/documents/posts/${ids[3]}`);
    assert.deepEqual([history.status, history.body.docs?.length], [200, 1]);
    const events = await service.call('GET', '/api/audit/events?limit=20');
    assert.equal(events.status, 200);
    assert.equal(findingIn(service.data), null);
  });

  it('erases from segments, while it goes on, and leaves nothing in any file', async () => {
    const id = await post('Numbat-old');
    await Promise.all(Array.from({ length: 30 }, (_, at) => post(`Wombat-${at}`)));
    await eventually(() => Number(inLog('SELECT min(position) FROM payloads')) > 80);
    assert.notDeepEqual(remainsIn(service.data, ['Numbat-old']), []);
    const before = new Set(readdirSync(join(service.data, 'segments')));
    const [answer] = await Promise.all([
      service.call('POST', '/api/audit/erasures', { collection: 'posts', id, reason: 'asked to' }),
      ...Array.from({ length: 30 }, (_, at) => post(`Quokka-${at}`)),
    ]);
    assert.ok([200, 201, 202].includes(answer.status), JSON.stringify(answer.body));
    await eventually(() => inLog('SELECT min(done) FROM erasures') === 1);
    assert.deepEqual(remainsIn(service.data, ['Numbat-old']), []);
    const { data } = service;
    const left = readdirSync(join(data, 'segments')).filter((name) => before.has(name));
    assert.equal(left.length, before.size - 1, 'only one segment was written anew');
    assert.equal(findingIn(data), null);
  });

  it('is saved and restored with its segments, also up to an earlier event', async () => {
    await eventually(() => segments().length > 4);
    const { data } = service;
    const file = join(folder, 'saved.annals');
    const made = await runHere(['backup', '--out', file, '--data', data]);
    assert.equal(made.code, 0, made.stdout + made.stderr);
    const verified = await runHere(['verify', file]);
    assert.match(verified.stdout, /^sound: the backup is whole/m, verified.stderr);
    const restored = join(folder, 'restored');
    const put = await runHere(['restore', file, '--data', restored]);
    assert.equal(put.code, 0, put.stdout + put.stderr);
    assert.deepEqual(readdirSync(join(restored, 'segments')), segmentsIn(restored));
    assert.ok(segmentsIn(restored).length > 4);
    assert.equal(findingIn(restored), null);
    const cut = join(folder, 'cut');
    const back = await runHere(['restore', file, '--data', cut, '--to', '50']);
    assert.equal(back.code, 0, back.stdout + back.stderr);
    assert.equal(findingIn(cut), null);
    assert.deepEqual(remainsIn(cut, ['Bilby-60']), []);
    assert.notDeepEqual(remainsIn(cut, ['Bilby-20']), []);
  });

  it('is read from outside with the folder of its segments, and altered ones are told', async () => {
    const copy = join(folder, 'copy');
    cpSync(join(folder, 'restored'), copy, { recursive: true });
    const [first = ''] = segmentsIn(copy);
    const path = join(copy, 'segments', first);
    const bytes = readFileSync(path);
    const verdicts = () => outsiders.map((command) => outside(command, join(copy, 'log.db')));
    for (const { text } of verdicts()) assert.match(text, /SOUND|sound in itself/, text);
    const flipped = Buffer.from(bytes);
    flipped[bytes.length - 5] = (flipped[bytes.length - 5] ?? 0) ^ 64;
    writeFileSync(path, flipped);
    for (const { exit, text } of verdicts()) assert.equal(exit, 1, text);
    rmSync(path);
    for (const { exit, text } of verdicts()) {
      assert.equal(exit, 2, text);
      assert.match(text, new RegExp(`the segment ${first} is not there`));
    }
    const own = await runHere(['verify', '--data', copy]);
    assert.match(
      own.stdout,
      new RegExp(`^UNDECIDED: the segment of events 1 to 20 of the log is missing: segments/${first}`, 'm'),
    );
    assert.equal(own.code, 2);
  });
});

describe('a service whose segments are on another disk', () => {
  const own = useFolder();
  // The temporary files of the tests are in memory.
  const other = useFolder(existsSync('/var/tmp') ? '/var/tmp' : own);
  const data = join(own, 'data');
  const inLog = <T>(sql: string) =>
    withDatabase(join(data, 'log.db'), { readonly: true }, (db) => db.prepare<[], T>(sql).pluck().get());
  const [segments, there] = [join(data, 'segments'), join(other, 'segments')];

  it('archives there, reads and erases from there', async (t) => {
    const post = async (service: HereService, title: string): Promise<string> => {
      const { status, body } = await service.call('POST', '/api/collections/posts', { title });
      assert.equal(status, 201);
      return body.id;
    };
    const first = await startHere(t, config, { data });
    const id = await post(first, 'Numbat-old');
    await Promise.all(Array.from({ length: 25 }, (_, at) => post(first, `Bilby-${at}`)));
    await eventually(() => Number(inLog('SELECT min(position) FROM payloads')) > 20);
    await first.stop();
    cpSync(segments, there, { recursive: true });
    rmSync(segments, { recursive: true });
    symlinkSync(there, segments);

    const second = await startHere(t, config, { data });
    await Promise.all(Array.from({ length: 25 }, (_, at) => post(second, `Wombat-${at}`)));
    await eventually(() => Number(inLog('SELECT min(position) FROM payloads')) > 40);
    const history = await second.call('GET', `/api/audit/documents/posts/${id}`);
    assert.deepEqual([history.status, history.body.docs?.length], [200, 1]);
    assert.notDeepEqual(remainsIn(there, ['Numbat-old']), []);
    await second.call('POST', '/api/audit/erasures', { collection: 'posts', id, reason: 'asked to' });
    await eventually(() => inLog('SELECT min(done) FROM erasures') === 1);
    assert.deepEqual(remainsIn(there, ['Numbat-old']), []);
    assert.deepEqual(readdirSync(there), segmentsIn(data));
    assert.equal(findingIn(data), null);
  });

  it('saves from there, and is refused without it', async (t) => {
    const service = await startHere(t, config, { data });
    const file = join(own, 'b.annals');
    for (const flags of [[], ['--force']]) {
      const made = await runHere(['backup', '--out', file, ...flags, '--data', data]);
      assert.equal(made.code, 0, made.stdout + made.stderr);
      assert.match((await runHere(['verify', file])).stdout, /^sound: the backup is whole/m);
      // Once more from a folder on the same disk, where files are linked.
      rmSync(join(data, 'backup'), { recursive: true });
      mkdirSync(join(other, 'backup'), { recursive: true });
      symlinkSync(join(other, 'backup'), join(data, 'backup'));
    }
    assert.equal((await service.call('GET', '/api/audit/events?limit=100')).status, 200);
    await service.stop();
    renameSync(there, `${there}.unmounted`);
    await assert.rejects(startHere(t, config, { data }), /the segment of events 1 to 20 of the log is missing/);
    assert.ok(lstatSync(segments).isSymbolicLink());
  });
});

const python = spawnSync('python3', ['-c', 'import cryptography, zstandard']).status === 0;
const outsiders = [
  [process.execPath, 'verify/annals-verify.mjs', '--trust-inside'],
  ...(python ? [['python3', 'docs/verify.py']] : []),
];

function outside([program = '', ...args]: readonly string[], log: string): { exit: number | null; text: string } {
  const { status, stdout, stderr } = spawnSync(program, [...args, log], { encoding: 'utf8' });
  return { exit: status, text: stdout + stderr };
}

function segmentsIn(data: string): string[] {
  return withDatabase(join(data, 'log.db'), { readonly: true }, segmentsOf).map(({ file }) => file);
}
