import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { once } from 'node:events';
import { cpSync, existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type ServerResponse } from 'node:http';
import { join } from 'node:path';
import { before, describe, it, type TestContext } from 'node:test';
import Database from 'better-sqlite3';
import type { JsonObject } from '../../config/schema.ts';
import { openLog } from '../../events/log/sqlite-log.ts';
import { createIds } from '../../events/store/ids.ts';
import { readSecret } from '../../events/vault/vault.ts';
import { lockDirectory } from '../../storage/lock.ts';
import { command, sealsIn } from '../events/logs.ts';
import { runHere } from '../helpers/in-process.ts';
import { assertRecorded } from '../helpers/recorded.ts';
import { type Answer, apiKey, temporaryFolder, writeConfig } from '../helpers/service.ts';
import { fieldsOf, recordedData, recordedEvents, useFolder, useService } from '../helpers/shared.ts';
import { unzip } from '../helpers/unzip.ts';

const config = {
  collections: [
    { slug: 'media', upload: true, fields: [{ name: 'alt', type: 'text', unique: true }] },
    { slug: 'posts', fields: [{ name: 'sha256', type: 'text' }] },
  ],
};
const media = '/api/collections/media';
const folder = 'the folder "blobs" of the data directory';
const service = useService(config, { ANNALS_THREADS: '1' });
const configFile = writeConfig(useFolder(), config);
const sha = (text: string) => hash('sha256', text);

/** Sends a form with a file of this text. */
function send(method: string, path: string, text: string, alt = ''): Promise<Answer> {
  const part = (name: string, value: string) =>
    `--b\r\ncontent-disposition: form-data; name=${name}\r\n\r\n${value}\r\n`;
  const body = `${alt && part('alt', alt)}${part('file; filename=file.txt', text)}--b--\r\n`;
  return service.call(method, path, body, { headers: { 'content-type': 'multipart/form-data; boundary=b' } });
}

async function upload(text: string, alt?: string): Promise<string> {
  const { status, body } = await send('POST', media, text, alt);
  assert.equal(status, 201, JSON.stringify(body));
  return body.id;
}

const blobs = (command: string, data = service.data) => runHere(['blobs', ...command.split(' '), '--data', data]);
const pathOf = (data: string, text: string) => join(data, 'blobs', sha(text).slice(0, 2), sha(text));
const isStored = (text: string, data = service.data) => existsSync(pathOf(data, text));

function store(data: string, text: string, bytes = text): void {
  mkdirSync(join(pathOf(data, text), '..'), { recursive: true });
  writeFileSync(pathOf(data, text), bytes);
}

before(async () => {
  await upload('the first', 'taken');
});

describe('annals blobs gc beside a running service', () => {
  it('removes what is left over, and keeps what any version needs', async () => {
    const replaced = await upload('replaced');
    await send('PATCH', `${media}/${replaced}`, 'in its place');
    const deleted = await upload('deleted');
    await service.call('DELETE', `${media}/${deleted}`);
    // The bytes of an upload that was broken off after they were stored.
    store(service.data, 'left over');
    store(service.data, 'another');

    const dry = await blobs('gc --dry-run');
    const names = [sha('left over'), sha('another')].sort();
    assert.deepEqual([dry.code, dry.stderr], [0, '']);
    assert.deepEqual(dry.stdout.split('\n').slice(0, 2).sort(), names);
    assert.equal(dry.stdout.split('\n')[2], `would remove 2 files (16 bytes) from ${folder}`);
    assert.ok(isStored('left over'));

    const removed = await blobs('gc --names');
    assert.deepEqual([removed.code, removed.stderr], [0, '']);
    assert.deepEqual(removed.stdout.split('\n').slice(0, 2).sort(), names);
    assert.equal(removed.stdout.split('\n')[2], `removed 2 files (16 bytes) from ${folder}`);
    for (const text of ['left over', 'another']) assert.ok(!isStored(text));
    for (const text of ['the first', 'replaced', 'in its place', 'deleted']) assert.ok(isStored(text), text);
    assert.equal((await blobs('gc')).stdout, `removed 0 files (0 bytes) from ${folder}\n`);
  });

  it('takes nothing that uploads need which begin while it is at work', async () => {
    let isOver = false;
    let removed = 0;

    async function sweep(): Promise<void> {
      while (!isOver) {
        const { code, stdout, stderr } = await blobs('gc');
        assert.deepEqual([code, stderr], [0, '']);
        removed += Number(/^removed (\d+)/.exec(stdout)?.[1]);
      }
    }

    async function uploadAll(texts: string[]): Promise<void> {
      for (const text of texts) {
        store(service.data, text);
        store(service.data, `${text}, left over`);
        await upload(text);
      }
    }

    const texts = [0, 1, 2, 3].map((client) => Array.from({ length: 15 }, (_, round) => `${client}: ${round}`));
    const sweeping = sweep();
    await Promise.all(texts.map(uploadAll));
    isOver = true;
    await sweeping;
    await blobs('gc');
    for (const text of texts.flat()) assert.deepEqual([isStored(text), isStored(`${text}, left over`)], [true, false]);
    assert.ok(removed > 0);
    const { code, stdout } = await blobs('verify');
    assert.equal(code, 0, stdout);
  });

  it('puts on record which files are lost, why, and which are there again', async () => {
    const id = await upload('to be lost');
    const path = `/api/collections/media/${id}`;
    const record = (...more: string[]) =>
      runHere(['blobs', 'verify', '--data', service.data, '--config', configFile, '--record', ...more]);
    const etag = (await service.call('GET', path)).headers.get('etag');
    rmSync(pathOf(service.data, 'to be lost'));
    const told = await blobs('verify');
    assert.match(told.stdout, /^note: the log does not say that what is missing is lost: --record .*$/m);
    const first = await assertRecorded(service, () => record('--reason', 'the disk failed – both copies'), [
      { type: 'file.lost', stream: 'system/files', data: { stream: `media/${id}`, version: 1 } },
    ]);
    assert.equal(first.code, 1, first.stderr);
    assert.match(first.stdout, /^recorded 1 file as lost$/m);
    assert.match(first.stdout, /^NOT SOUND: \w+ is missing; named by media\/[\w-]+ version 1$/m);
    const again = await assertRecorded(service, () => record('--reason', 'once more'), []);
    assert.match(again.stdout, /^recorded 0 files as lost$/m);
    assert.doesNotMatch((await blobs('verify')).stdout, /--record/);

    // The document is unchanged, and can be changed.
    assert.equal((await service.call('GET', path)).headers.get('etag'), etag);
    assert.equal((await service.call('GET', `/api/media/media/${id}/file.txt`)).status, 500);
    const { docs: events } = (await service.call('GET', '/api/audit/events?stream=system/files')).body;
    assert.deepEqual(
      events.map(({ header, data, context }: Record<string, Record<string, unknown>>) => [
        [header?.type, header?.actor],
        [data, context?.reason],
      ]),
      [
        [
          ['file.lost', { type: 'system' }],
          [{ stream: `media/${id}`, version: 1 }, 'the disk failed – both copies'],
        ],
      ],
    );
    const pack = await fetch(`${service.url}/api/audit/bundles/media/${id}`, { headers: { 'x-api-key': apiKey } });
    const { losses, files } = JSON.parse(String(unzip(Buffer.from(await pack.arrayBuffer())).get('bundle.json')));
    assert.deepEqual([losses.length, files[0].missing], [1, true]);

    store(service.data, 'to be lost');
    const back = await assertRecorded(service, () => record('--reason', 'from the backup'), [
      { type: 'file.found', stream: 'system/files', data: { stream: `media/${id}`, version: 1 } },
    ]);
    assert.equal(back.code, 0, back.stdout);
    assert.match(back.stdout, /^recorded 0 files as lost and 1 file as found again$/m);
    assert.match((await record()).stderr, /^--reason is missing: the log keeps why files are lost/);
    assert.match((await blobs('verify --reason x')).stderr, /^--reason goes with --record/);
    // Also if there is nothing to record.
    const unsaid = await record('--reason', ' ');
    assert.deepEqual(
      [unsaid.code, unsaid.stderr.split('\n')[0]],
      [2, '--reason must be a text of 1 to 500 characters that says why'],
    );
    const { code, stderr } = await blobs(`verify --accept-clock --config ${configFile}`);
    assert.deepEqual(
      [code, stderr.split('\n').slice(0, 2)],
      [
        2,
        [
          '--config goes with --record: without it nothing is written, and the configuration is not read',
          '--accept-clock goes with --record: without it nothing is written, whatever the clock says',
        ],
      ],
    );
  });

  it('takes from its operator alone what became of files, and looks itself', async () => {
    const path = '/api/operator/blobs/losses';
    const id = await upload('not lost');
    const order = { store: folder, reason: 'none', files: [{ stream: `media/${id}`, version: 1 }] };
    for (const key of [apiKey, null]) assert.equal((await service.call('POST', path, order, { key })).status, 404);
    const authorization = `Annals-Operator ${readSecret(join(service.data, 'vault.db'), 'operator')}`;
    const asOperator = (body: unknown) => service.call('POST', path, body, { key: null, headers: { authorization } });
    assert.deepEqual((await asOperator(order)).body, { lost: 0, found: 0, erased: 0 });
    const elsewhere = await asOperator({ ...order, store: 'the bucket "files"' });
    assert.equal(elsewhere.body.message, `the service keeps its files in ${folder}, not in the bucket "files"`);
    assert.deepEqual(fieldsOf(await asOperator({ ...order, files: [{ stream: `media/${id}`, version: 2 }] })), [
      'files.0',
    ]);
    assert.deepEqual(fieldsOf(await asOperator({ ...order, files: [{ stream: 'system/schema', version: 1 }] })), [
      'files.0',
    ]);
    assert.deepEqual(fieldsOf(await asOperator({ ...order, files: [{ stream: `media/${id}` }] })), ['files.0.version']);
    assert.deepEqual(fieldsOf(await asOperator({ ...order, reason: ' ' })), ['reason']);
  });

  it('records each lost file once, however often it is named, and no file that is erased by now', async () => {
    const [lost, erased] = [await upload('lost but once'), await upload('erased meanwhile')];
    for (const text of ['lost but once', 'erased meanwhile']) rmSync(pathOf(service.data, text));
    const where = ['--data', service.data, '--config', configFile];
    const erase = (id: string) => runHere(['erase', `media/${id}`, '--reason', 'asked for', ...where]);
    assert.equal((await erase(erased)).code, 0);
    const authorization = `Annals-Operator ${readSecret(join(service.data, 'vault.db'), 'operator')}`;
    const files = [erased, lost, lost, erased].map((id) => ({ stream: `media/${id}`, version: 1 }));
    const record = () =>
      service.call(
        'POST',
        '/api/operator/blobs/losses',
        { store: folder, reason: 'the disk failed', files },
        { key: null, headers: { authorization } },
      );
    const answers = await Promise.all([record(), record(), record(), record(), record()]);
    assert.deepEqual(
      answers.map(({ status, body }) => [status, body.found, body.erased]),
      answers.map(() => [200, 0, 1]),
    );
    assert.deepEqual(answers.map(({ body }) => body.lost).sort(), [0, 0, 0, 0, 1]);
    const recorded = recordedData(service.data, 'system/files').filter((data) => data?.stream === `media/${lost}`);
    assert.equal(recorded.length, 1);
    assert.equal((await erase(lost)).code, 0);
  });

  it('is done by the service for its operator alone, who names its store, a position there is, and files', async () => {
    const path = '/api/operator/blobs/collect';
    const order = { store: folder, position: 1, sha256: [sha('unnamed')] };
    for (const key of [apiKey, null]) assert.equal((await service.call('POST', path, order, { key })).status, 404);
    const authorization = `Annals-Operator ${readSecret(join(service.data, 'vault.db'), 'operator')}`;
    const asOperator = (body: unknown) => service.call('POST', path, body, { key: null, headers: { authorization } });
    assert.deepEqual((await asOperator(order)).body, { removed: [sha('unnamed')], held: [] });
    assert.deepEqual((await asOperator({ ...order, sha256: [sha('the first')] })).body, { removed: [], held: [] });
    const elsewhere = await asOperator({ ...order, store: 'the bucket "files"' });
    assert.equal(elsewhere.status, 409);
    assert.equal(elsewhere.body.message, `the service keeps its files in ${folder}, not in the bucket "files"`);
    assert.equal((await asOperator({ ...order, position: 1e9 })).status, 400);
    assert.deepEqual(fieldsOf(await asOperator({ ...order, sha256: ['../log.db'] })), ['sha256.0']);
  });
});

describe('annals blobs without a service', () => {
  const original = join(useFolder(), 'data');
  before(async () => {
    await service.call('POST', '/api/collections/posts', { sha256: sha('a name in a text field') });
    await service.stop();
    cpSync(service.data, original, { recursive: true });
  });

  function copy(t: TestContext): string {
    const data = join(temporaryFolder(t), 'data');
    cpSync(original, data, { recursive: true });
    return data;
  }

  it('gc does the same alone, leaving what is being received, and what only has the looks of a file', async (t) => {
    const data = copy(t);
    store(data, 'left over');
    store(data, 'a name in a text field');
    writeFileSync(join(data, 'blobs', 'incoming', 'part'), 'x');
    writeFileSync(join(data, 'blobs', 'readme'), 'x');
    const { code, stdout } = await blobs('gc', data);
    assert.deepEqual([code, stdout], [0, `removed 1 file (9 bytes) from ${folder}\n`]);
    assert.ok(!isStored('left over', data) && isStored('a name in a text field', data));
    assert.ok(existsSync(join(data, 'blobs', 'incoming', 'part')) && existsSync(join(data, 'blobs', 'readme')));
    assert.ok(!existsSync(join(data, 'lock.json')));
    assert.equal((await blobs('verify', data)).code, 0);
  });

  it('gc shows at most 20 unknown names', async (t) => {
    const data = copy(t);
    for (let n = 0; n < 22; n += 1) store(data, `left over ${n}`);
    const lines = (await blobs('gc --dry-run', data)).stdout.split('\n');
    assert.deepEqual([lines.length, lines[20]], [23, 'and 2 more, which --names shows']);
    assert.equal((await blobs('gc --dry-run --names', data)).stdout.split('\n').length, 24);
  });

  it('gc leaves everything if another command works, or the log has lost events or cannot be read', async (t) => {
    const data = copy(t);
    store(data, 'left over');
    const lock = lockDirectory(data, 'annals rebuild');
    const busy = await blobs('gc', data);
    lock.release();
    assert.equal(busy.code, 2);
    assert.match(busy.stderr, /^the data directory .* is in use by annals rebuild, process \d+ .*\n$/);

    const db = new Database(join(data, 'log.db'));
    for (const trigger of ['payloads_update', 'payloads_delete', 'events_delete']) db.exec(`DROP TRIGGER ${trigger}`);
    const { size } = db.prepare('SELECT size FROM head').get() as { size: number };
    db.exec("UPDATE payloads SET body = substr(body, 1, 100) WHERE body LIKE '%sha256%'");
    const damaged = await blobs('gc', data);
    assert.equal(damaged.code, 2);
    assert.match(damaged.stderr, /^.*; annals verify says more about the log\n$/);
    db.exec(`DELETE FROM payloads WHERE position = ${size}; DELETE FROM events WHERE position = ${size};
             UPDATE head SET size = ${size - 1}`);
    db.close();
    const short = await blobs('gc', data);
    assert.equal(short.code, 2);
    assert.match(short.stderr, /^the log lost events: .*\n$/);
    assert.ok(isStored('left over', data));
  });

  it('gc leaves everything of another log', async (t) => {
    const data = copy(t);
    store(data, 'left over');
    writeFileSync(join(data, 'blobs', 'annals-log'), 'annals/another');
    const { code, stderr } = await blobs('gc', data);
    assert.equal(code, 2);
    assert.match(stderr, /^the folder .* holds the files of another log[^\n]*\n$/);
    assert.ok(isStored('left over', data));
  });

  it('verify names what is missing or altered, and who needs it, and changes nothing', async (t) => {
    const data = copy(t);
    const sound = await blobs('verify', data);
    assert.equal(sound.code, 0);
    assert.match(
      sound.stdout,
      /^checked 66 files \(\d+ bytes\) in .*\nsound: every file is what it was, and none of the 66 that the log needs is missing\n$/,
    );

    rmSync(pathOf(data, 'the first'));
    store(data, 'replaced', 'replace!');
    store(data, 'left over', 'altered too');
    const { code, stdout, stderr } = await blobs('verify', data);
    assert.deepEqual([code, stderr], [1, '']);
    const [last = '', ...lines] = stdout.trimEnd().split('\n').reverse();
    const line = (text: string) => lines.find((one) => one.startsWith(sha(text))) ?? '';
    assert.match(line('the first'), /^\w+ is missing; named by media\/[\w-]+ version 1$/);
    assert.match(
      line('replaced'),
      /^\w+ is altered: the SHA-256 of its bytes is \w{64}; named by media\/[\w-]+ version 1$/,
    );
    assert.ok(line('replaced').includes(sha('replace!')));
    assert.match(line('left over'), /^\w+ is altered: the SHA-256 of its bytes is \w{64}$/);
    // The verdict names one of the two files that a document needs, not the one that was left over.
    assert.match(last, /^NOT SOUND: .* version 1; 2 more files are missing or altered$/);
    assert.ok(
      [line('the first'), line('replaced')].some((needed) => last.startsWith(`NOT SOUND: ${needed}`)),
      last,
    );
    assert.ok(!isStored('the first', data));
    store(data, 'the first');
    store(data, 'replaced');
    const alone = (await blobs('verify', data)).stdout.trimEnd().split('\n').at(-1);
    assert.equal(alone, `NOT SOUND: ${line('left over')}`);
    assert.ok(lines.includes('note: no event names 1 file (11 bytes); annals blobs gc removes such files'));
  });

  it('verify records alone what is lost', async (t) => {
    const data = copy(t);
    rmSync(pathOf(data, 'the first'));
    const flags = ['--data', data, '--config', configFile, '--record', '--reason', 'lost with the disk'];
    const { code, stdout } = await runHere(['blobs', 'verify', ...flags]);
    assert.match(stdout, /^recorded 1 file as lost$/m);
    assert.equal(code, 1);
    assert.equal(recordedEvents(data, 'system/files').at(-1)?.type, 'file.lost');
    assert.equal((await runHere(['verify', '--data', data, '--config', configFile])).code, 0);
  });

  it('verify says what was recorded before the service refused the rest, or was gone', async (t) => {
    const data = copy(t);
    rmSync(pathOf(data, 'the first'));
    const db = new Database(join(data, 'log.db'));
    const upload = recordedEvents(data).find(({ type }) => type === 'document.created');
    const [first = {}] = recordedData(data, upload?.stream ?? '') as JsonObject[];
    const ids = createIds(new BigInt64Array(new SharedArrayBuffer(8)), Date.now);
    const documents = Array.from({ length: 200 }, () => {
      const events = [{ type: 'document.created' as const, data: first }];
      return command(`media/${ids.next().id}`, 0, { events });
    });
    const { outcomes } = openLog(db, { ids, now: Date.now, seals: sealsIn(data) }).append(documents);
    db.close();
    assert.ok(outcomes.every((outcome) => !(outcome instanceof Error) && outcome.ok));

    const lock = lockDirectory(data, 'annals serve');
    let calls = 0;
    let answer = (response: ServerResponse) => void response.writeHead(409).end('{"message":"it is full"}');
    const server = createServer((_, response) => {
      calls += 1;
      if (calls % 2 === 0) answer(response);
      else response.end('{"lost":199,"found":0,"erased":1}');
    }).listen(0, '127.0.0.1');
    t.after(() => {
      server.closeAllConnections();
      server.close();
      lock.release();
    });
    await once(server, 'listening');
    lock.describe(`http://127.0.0.1:${(server.address() as { port: number }).port}`);
    const record = () =>
      runHere([
        'blobs',
        'verify',
        '--data',
        data,
        '--config',
        configFile,
        '--record',
        '--reason',
        'lost with the disk',
      ]);
    const told = /^recorded 199 files as lost before this; 1 file is erased by now$/m;
    const refused = await record();
    assert.deepEqual([refused.code, refused.stderr], [1, 'it is full\n']);
    assert.match(refused.stdout, told);
    answer = (response) => void response.destroy();
    const gone = await record();
    assert.equal(gone.code, 2);
    assert.match(gone.stdout, told);
    assert.match(gone.stderr, /did not answer, and may have done what was asked/);
  });

  it('verify wonders when there is nothing at all, and works without leave to write', async (t) => {
    const data = copy(t);
    rmSync(join(data, 'blobs'), { recursive: true });
    const { code, stdout } = await blobs('verify', data);
    assert.equal(code, 1);
    assert.match(
      stdout,
      /^note: the folder "blobs" of the data directory holds no file at all: is it the right one\?$/m,
    );
    assert.ok(!readdirSync(data).includes('blobs'));
  });

  it('both say in one line what they were not given', async (t) => {
    const empty = temporaryFolder(t);
    for (const command of ['gc', 'verify']) {
      const { code, stderr } = await blobs(command, empty);
      assert.equal(code, 2);
      assert.match(stderr, /there is no log in /);
      const { stderr: unknown } = await runHere(['blobs', command, '--dryrun']);
      assert.match(unknown, /unknown flag --dryrun/);
    }
    assert.deepEqual(readdirSync(empty), []);
  });

  it('annals verify points to it when the log names files', async (t) => {
    const { code, stdout } = await runHere(['verify', '--data', copy(t)]);
    assert.equal(code, 0);
    assert.match(stdout, /^sound: .*; the uploaded files were not looked at, annals blobs verify does that$/m);
  });

  it('a service whose folder cannot be written does not start, and says so in one line', async (t) => {
    const data = join(temporaryFolder(t), 'data');
    mkdirSync(data, { mode: 0o700 });
    writeFileSync(join(data, 'blobs'), 'a file');
    const serve = ['serve', '--config', writeConfig(temporaryFolder(t), config), '--data', data, '--port', '0'];
    const { code, stderr } = await runHere(serve, { environment: { ANNALS_THREADS: '0' } });
    assert.equal(code, 2);
    assert.match(stderr, /^[^\n]*blobs[^\n]*\n$/);
  });
});
