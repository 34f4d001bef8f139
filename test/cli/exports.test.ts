import assert from 'node:assert/strict';
import { cpSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { before, describe, it } from 'node:test';
import { lockDirectory } from '../../storage/lock.ts';
import { run as verify } from '../../verify/annals-verify.mjs';
import { useServiceHere } from '../helpers/embedded.ts';
import { runHere } from '../helpers/in-process.ts';
import { assertRecorded } from '../helpers/recorded.ts';
import { writeConfig } from '../helpers/service.ts';
import { recordedData, recordedEvents, useFolder } from '../helpers/shared.ts';
import { unzip } from '../helpers/unzip.ts';

const config = { collections: [{ slug: 'posts', fields: [{ name: 'title', type: 'text' }] }] };
const service = useServiceHere(config);
const folder = useFolder();
const configFile = writeConfig(folder, config);
let post = '';

const annals = (command: string, data = service.data) =>
  runHere([...command.split(' '), '--data', data, '--config', configFile]);
const pathOf = (name: string) => join(folder, name);

async function verified(file: string): Promise<string> {
  const files = unzip(readFileSync(file));
  const { verifierKey } = JSON.parse(String(files.get('bundle.json') ?? files.get('manifest.json')));
  const { exit, text } = await verify(['--key', verifierKey, file]);
  assert.equal(exit, 0, text);
  return text;
}

before(async () => {
  post = (await service.call('POST', '/api/collections/posts', { title: 'Hello' })).body.id;
  await service.call('PATCH', `/api/collections/posts/${post}`, { title: 'Hello again' });
});

describe('annals export', () => {
  it('saves what the running service exports, put on record as the operator, with a reason', async () => {
    const file = pathOf('all.zip');
    const size = recordedEvents(service.data).length;
    const reason = 'für die Prüfung';
    const where = ['--data', service.data, '--config', configFile];
    const { code, stdout, stderr } = await assertRecorded(
      service,
      () => runHere(['export', '--out', file, '--reason', reason, '--since', '2', ...where]),
      [{ type: 'log.exported', actor: { type: 'system' } }],
    );
    assert.deepEqual([code, stderr], [0, '']);
    const [first, second, third] = stdout.split('\n');
    const { size: bytes, mode } = statSync(file);
    assert.equal(first, `saved ${size} events of the positions 1 to ${size} as ndjson in ${file} (${bytes} bytes)`);
    assert.match(second ?? '', /^SHA-256 of the file [0-9a-f]{64}$/);
    assert.match(third ?? '', new RegExp(`^signed: size ${size}, root \\S{44}$`));
    assert.equal(mode & 0o777, 0o600);
    await verified(file);
    const again = pathOf('record.zip');
    assert.equal((await annals(`export --out ${again} --type log.exported`)).code, 0);
    const [line = ''] = String(unzip(readFileSync(again)).get('events.ndjson')).split('\n');
    assert.equal(JSON.parse(line).payload.context.reason, reason);
  });

  it('takes a range, a format and filters, and says why not if they are wrong', async () => {
    const file = pathOf('part.zip');
    const { code, stdout } = await annals(`export --from 2 --to 3 --format csv --out ${file}`);
    assert.equal(code, 0);
    assert.match(stdout, /^saved 2 events of the positions 2 to 3 as csv/);
    assert.ok(unzip(readFileSync(file)).has('events.csv'));
    const wrong = await annals(`export --from 9999 --format cvs --out ${pathOf('wrong.zip')}`);
    assert.equal(wrong.code, 1);
    assert.match(wrong.stderr, /^from must be a position from 1 to \d+, where the log ends, got "9999"\n/);
    assert.match(wrong.stderr, /did you mean "csv"\?\n$/);
  });

  it('overwrites nothing unasked, and leaves nothing behind', async () => {
    const file = pathOf('there.zip');
    writeFileSync(file, 'kept');
    const refused = await annals(`export --out ${file}`);
    assert.deepEqual([refused.code, readFileSync(file, 'utf8')], [2, 'kept']);
    assert.match(refused.stderr, /is there; --force overwrites it/);
    assert.equal((await annals(`export --out ${file} --force`)).code, 0);
    await verified(file);
    const nowhere = await annals(`export --out ${pathOf('none/x.zip')}`);
    assert.deepEqual([nowhere.code, /there is no folder/.test(nowhere.stderr)], [2, true]);
    assert.match((await annals('export')).stderr, /--out is missing/);
    assert.deepEqual(
      readdirSync(folder).filter((name) => name.includes('partial')),
      [],
    );
  });

  it('removes what has come when the service breaks off', async () => {
    const data = pathOf('broken');
    cpSync(service.data, data, { recursive: true, filter: (path) => !path.includes('lock') });
    const server = createServer((_request, response) => {
      response.writeHead(200, { 'annals-range': '1-3' }).write('PK');
      setTimeout(() => response.destroy(), 50);
    }).listen(0, '127.0.0.1');
    await new Promise((resolve) => server.once('listening', resolve));
    const lock = lockDirectory(data, 'annals serve');
    try {
      lock.describe(`http://127.0.0.1:${(server.address() as { port: number }).port}`);
      const { code, stderr } = await annals(`export --out ${pathOf('broken.zip')}`, data);
      assert.equal(code, 2, stderr);
      assert.match(stderr, /did not send all of it/);
      assert.deepEqual(
        readdirSync(folder).filter((name) => name.includes('broken.zip')),
        [],
      );
    } finally {
      lock.release();
      server.close();
    }
  });
});

describe('annals bundle', () => {
  it('saves the evidence pack of a document', async () => {
    const file = pathOf('post.zip');
    const { code, stdout, stderr } = await assertRecorded(
      service,
      () => annals(`bundle posts/${post} --complete --no-files --reason audit --out ${file}`),
      [{ type: 'log.exported', actor: { type: 'system' } }],
    );
    assert.deepEqual([code, stderr], [0, '']);
    assert.match(stdout, new RegExp(`^saved the evidence pack of posts/${post} in ${file}`));
    assert.match(await verified(file), new RegExp(post));
    const record = pathOf('pack-record.zip');
    assert.equal((await annals(`export --out ${record} --type log.exported`)).code, 0);
    const last =
      String(unzip(readFileSync(record)).get('events.ndjson'))
        .trim()
        .split('\n')
        .at(-1) ?? '';
    const { payload } = JSON.parse(last);
    assert.deepEqual([payload.data.format, payload.context.reason], ['bundle', 'audit']);
  });

  it('exits with 1 for a document that never was, with 2 for what names none', async () => {
    const missing = await annals(`bundle posts/nothing --out ${pathOf('no.zip')}`);
    assert.deepEqual([missing.code, missing.stderr], [1, 'the log has no stream "posts/nothing"\n']);
    assert.equal((await annals(`bundle posts --out ${pathOf('no.zip')}`)).code, 2);
  });
});

describe('annals export without a running service', () => {
  before(() => service.stop());

  it('opens the directory for as long as it takes, and records nothing but the export', async () => {
    const size = recordedEvents(service.data).length;
    const file = pathOf('alone.zip');
    const { code, stderr } = await annals(`export --out ${file}`);
    assert.deepEqual([code, stderr], [0, '']);
    await verified(file);
    assert.deepEqual(
      recordedEvents(service.data)
        .slice(size)
        .map(({ type }) => type),
      ['log.exported'],
    );
    assert.equal(recordedData(service.data, 'system/audit').at(-1)?.to, size);
  });

  it('refuses a configuration that is not the one the log ends with: to start it would record it', async () => {
    const other = writeConfig(folder, { collections: [{ slug: 'others', fields: [] }] });
    const args = ['export', '--out', pathOf('other.zip'), '--data', service.data, '--config', other];
    const { code, stderr } = await assertRecorded(service, () => runHere(args), []);
    assert.equal(code, 2);
    assert.match(stderr, /is not the configuration that the log ends with/);
  });
});
