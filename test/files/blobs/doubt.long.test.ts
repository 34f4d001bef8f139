import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { copyFileSync, existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import type { Config } from '../../../config/define.ts';
import { readLog } from '../../../events/log/log-reader.ts';
import { logFile } from '../../../projections/tables/files.ts';
import { openDatabase } from '../../../storage/sqlite.ts';
import { sealsIn } from '../../events/logs.ts';
import { commitUnseen, failingSync } from '../../helpers/failing-sync.ts';
import { runHere } from '../../helpers/in-process.ts';
import { type Answer, apiKey, type Service, startService, temporaryFolder } from '../../helpers/service.ts';
import { logLines } from '../../helpers/shared.ts';
import { type Directory, openDirectory } from '../../projections/directory.ts';

const config: Config = { collections: [{ slug: 'media', upload: true, fields: [{ name: 'alt', type: 'text' }] }] };
const media = '/api/collections/media';
const pathOf = (data: string, text: string) => {
  const sha256 = hash('sha256', text);
  return join(data, 'blobs', sha256.slice(0, 2), sha256);
};

/** Uploads a text under an Idempotency-Key of its own. */
async function upload({ url }: Service, text: string): Promise<Answer> {
  const form = new FormData();
  form.append('alt', text);
  form.append('file', new Blob([text]), 'file.txt');
  const headers = { 'x-api-key': apiKey, 'idempotency-key': hash('sha256', text) };
  const response = await fetch(url + media, { method: 'POST', body: form, headers });
  return { status: response.status, headers: response.headers, body: await response.json() };
}

function store(data: string, text: string): void {
  const path = pathOf(data, text);
  mkdirSync(join(path, '..'), { recursive: true });
  writeFileSync(path, text);
}

/** Opens a data directory whose vault seals its log, as a service does. */
function openSealed(data: string): Directory {
  return openDirectory(data, config, { seals: sealsIn(data) });
}

/** A data directory whose last commit failed in its sync, while somebody reads the log who goes on with that. */
function unsettled(t: TestContext, text: string) {
  const data = join(temporaryFolder(t), 'data');
  const directory = openSealed(data);
  directory.create('media', { alt: 'before' });
  store(data, text);
  writeFileSync(join(data, 'blobs', 'annals-log'), directory.log.head().log);
  const reader = openDatabase(logFile(data), { readonly: true });
  const size = () => readLog(reader).head().size;
  const before = size();
  const at = new Date().toISOString();
  const created = { id: '1', createdAt: at, updatedAt: at, sha256: hash('sha256', text) };
  const events = [{ type: 'document.created' as const, data: created }];
  commitUnseen(logFile(data), () => {
    directory.append({ stream: 'media/1', expectedVersion: 0, events, claims: [], releases: [] });
  });
  directory.close();
  assert.equal(size(), before);
  return { data, close: () => reader.close() };
}

describe('A log whose last sync failed, while somebody goes on reading it', () => {
  it('is settled by a start: what that does not see never comes back', (t) => {
    const { data, close } = unsettled(t, 'in doubt');
    const started = openSealed(data);
    const { size } = started.log.head();
    // As after the end of all who have it open.
    const copy = join(temporaryFolder(t), 'data');
    mkdirSync(copy);
    for (const name of ['log.db', 'log.db-wal']) copyFileSync(join(data, name), join(copy, name));
    started.close();
    close();
    const found = openDirectory(copy, config, { seals: sealsIn(data) });
    assert.equal(found.log.head().size, size);
    found.close();
  });

  it('is settled by annals blobs gc before that removes anything', async (t) => {
    const { data, close } = unsettled(t, 'in doubt');
    const { code, stdout } = await runHere(['blobs', 'gc', '--data', data]);
    assert.deepEqual([code, stdout.split(' ').slice(0, 3).join(' ')], [0, 'removed 1 file']);
    close();
    openSealed(data).close();
    const verified = await runHere(['blobs', 'verify', '--data', data]);
    assert.equal(verified.code, 0, verified.stdout);
  });

  it('is found whole by who opens it alone, with the file of what was recorded', async (t) => {
    const { data, close } = unsettled(t, 'in doubt');
    close();
    const { code, stdout } = await runHere(['blobs', 'gc', '--data', data]);
    assert.deepEqual([code, stdout.split(' ').slice(0, 3).join(' ')], [0, 'removed 0 files']);
    const { log, close: closeAll } = openSealed(data);
    assert.equal(log.versionOf('media/1'), 1);
    closeAll();
    assert.equal((await runHere(['blobs', 'verify', '--data', data])).code, 0);
  });
});

describe('An upload with an unknown outcome', () => {
  for (const threads of ['0', '1']) {
    it(`keeps its bytes, and is told of by the next start (with ${threads} threads)`, async (t) => {
      const folder = temporaryFolder(t);
      const when = join(folder, 'failing');
      const failing = { ANNALS_THREADS: threads, ...failingSync(when) };
      const service = await startService(t, config, { environment: failing });
      const exited = new Promise((resolve) => service.child.once('exit', resolve));
      assert.equal((await upload(service, 'before')).status, 201);
      writeFileSync(when, '');
      const texts = ['one', 'two', 'three'];
      // An upload that comes when the service is about to end finds no writer; its outcome is as unknown as that of the
      // others.
      const answers = await Promise.all(texts.map((text) => upload(service, text).catch(() => null)));
      const statuses = answers.flatMap((answer) => answer?.status ?? []);
      assert.ok(statuses.length > 0 && statuses.every((status) => status === 503), `${statuses}`);
      assert.equal(await exited, 1);
      const { data } = service;
      const received = texts.filter((_, index) => answers[index]);
      for (const text of received) assert.ok(existsSync(pathOf(data, text)), text);

      const again = await startService(t, config, { data });
      const { body } = await again.call('GET', `${media}?sort=createdAt`);
      assert.ok(body.total > 1, 'nothing is there that the client was not told of');
      for (const { alt, url } of body.docs) {
        const file = await fetch(again.url + url, { headers: { 'x-api-key': apiKey } });
        assert.deepEqual([file.status, await file.text()], [200, alt]);
      }
      for (const text of texts) {
        const repeated = await upload(again, text);
        const file = await fetch(again.url + repeated.body.url, { headers: { 'x-api-key': apiKey } });
        assert.deepEqual([repeated.status, await file.text()], [201, text]);
      }
      assert.equal((await again.call('GET', media)).body.total, 1 + texts.length);
      await again.stop();
      assert.deepEqual(await runHere(['blobs', 'verify', '--data', data]).then(({ code }) => code), 0);
      const fatal = logLines(service).filter(({ level }) => level === 60);
      assert.deepEqual(
        fatal.map(({ err }) => err.code),
        ['SQLITE_IOERR_FSYNC'],
      );
    });
  }
});
