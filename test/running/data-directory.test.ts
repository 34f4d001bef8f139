import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { useSmallDisk } from '../helpers/disk.ts';
import { type HereService, startHere } from '../helpers/embedded.ts';
import { runHere } from '../helpers/in-process.ts';
import { apiKey, temporaryFolder, writeConfig } from '../helpers/service.ts';
import { eventually } from '../helpers/shared.ts';

const skip = process.platform === 'win32' && 'Windows has no such modes';
const config = {
  collections: [
    { slug: 'posts', fields: [{ name: 'title', type: 'text' }] },
    { slug: 'media', upload: true, fields: [] },
    { slug: 'users', auth: true, fields: [] },
  ],
};

const modeOf = (path: string) => (statSync(path).mode & 0o777).toString(8);

/** All entries below a folder whose mode is not private, with their modes. */
function openIn(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .map((entry) => ({ path: join(entry.parentPath, entry.name), wanted: entry.isDirectory() ? '700' : '600' }))
    .filter(({ path, wanted }) => modeOf(path) !== wanted)
    .map(({ path }) => `${modeOf(path)} ${path}`);
}

/** Files are made for everybody while a test runs, as far as who makes them lets it be. */
function withoutMask(t: TestContext): void {
  const mask = process.umask(0);
  t.after(() => process.umask(mask));
}

async function use({ call, url }: HereService): Promise<void> {
  const { body } = await call('POST', '/api/collections/posts', { title: 'one' });
  await call('PATCH', `/api/collections/posts/${body.id}`, { title: 'two' });
  const form = new FormData();
  form.append('file', new Blob(['text']), 'file.txt');
  const sent = await fetch(`${url}/api/collections/media`, {
    method: 'POST',
    body: form,
    headers: { 'x-api-key': apiKey },
  });
  assert.equal(sent.status, 201);
  // Both data files are written anew.
  const erasure = { collection: 'posts', id: body.id, reason: 'asked to' };
  assert.equal((await call('POST', '/api/audit/erasures', erasure)).status, 201);
  // A copy of it is beside the files.
  assert.equal((await fetch(`${url}/api/audit/checkpoint`, { headers: { 'x-api-key': apiKey } })).status, 200);
}

describe('A data directory', { skip }, () => {
  it('that was there before holds nothing that others may read, whatever the umask, which stays as it is', async (t) => {
    withoutMask(t);
    const data = join(temporaryFolder(t), 'data');
    mkdirSync(data, { mode: 0o755 });
    const service = await startHere(t, config, { data });
    await use(service);
    await eventually(() => readdirSync(join(data, 'blobs')).includes('checkpoints'));
    assert.deepEqual(openIn(data), []);
    const [warning] = service.lines().filter(({ level }) => level === 40);
    assert.equal(warning.msg, `the data directory ${data} is open to others (mode 0755): chmod 700 ${data}`);
    await service.stop();
    const rebuilt = await runHere(['rebuild', '--config', writeConfig(temporaryFolder(t), config), '--data', data]);
    assert.deepEqual([rebuilt.code, openIn(data)], [0, []]);
    assert.equal((await runHere(['verify', '--data', data])).code, 0);
    assert.equal(process.umask(), 0);
  });

  it('is made for its owner alone, and not warned of', async (t) => {
    withoutMask(t);
    const service = await startHere(t, config);
    assert.deepEqual([modeOf(service.data), openIn(service.data)], ['700', []]);
    assert.deepEqual(
      service.lines().filter(({ level }) => level >= 40),
      [],
    );
  });

  it('of an earlier version has its files closed by the start, and no other file is touched', async (t) => {
    const data = join(temporaryFolder(t), 'data');
    const first = await startHere(t, config, { data });
    await use(first);
    await first.stop();
    const files = readdirSync(data).filter((name) => statSync(join(data, name)).isFile());
    const left = ['log.db-wal', 'log.db-shm', 'lock.json', 'seeded'];
    for (const name of left) writeFileSync(join(data, name), '');
    const own = [...files, ...left].map((name) => join(data, name));
    const foreign = join(data, 'notes.db');
    writeFileSync(foreign, '');
    for (const path of [...own, foreign]) chmodSync(path, 0o644);
    const again = await startHere(t, config, { data });
    assert.deepEqual(openIn(data), [`644 ${foreign}`]);
    assert.equal((await again.call('GET', '/api/collections/media')).body.total, 1);
  });
});

describe('A data directory that cannot be worked on', { skip }, () => {
  const disk = useSmallDisk(1_000_000);

  async function refusalOf(t: TestContext, data: string): Promise<string> {
    const args = ['serve', '--config', writeConfig(temporaryFolder(t), config), '--data', data, '--port', '0'];
    const { code, stdout, stderr } = await runHere(args);
    assert.deepEqual([code, stdout], [2, '']);
    return stderr;
  }

  /** The message of a start to a user who owns nothing: root may do everything, so it becomes another user. */
  function refusalToOthers(data: string): string {
    const module = new URL('../../storage/data-directory.ts', import.meta.url).href;
    const source = `
      import { prepareDirectory } from ${JSON.stringify(module)};
      if (process.getuid() === 0) process.setuid(65534);
      try { console.log(prepareDirectory(${JSON.stringify(data)}).join()) } catch ({ name, message }) { console.log(name, message) }`;
    const { stdout } = spawnSync(process.execPath, ['--input-type=module', '-e', source], { encoding: 'utf8' });
    return stdout;
  }

  it('refuses the start in one line if its disk is read-only, whether it is there or not', {
    skip: disk.skip,
  }, async (t) => {
    const there = join(disk.folder, 'there');
    mkdirSync(there, { mode: 0o700 });
    assert.equal(spawnSync('mount', ['-o', 'remount,ro', disk.folder]).status, 0);
    for (const [data, named] of [
      [there, there],
      [join(disk.folder, 'not/there'), disk.folder],
    ] as const) {
      assert.equal(
        await refusalOf(t, data),
        `${named} cannot be written, its file system is mounted read-only: mount it for writing, or name another data directory\n`,
      );
    }
  });

  it('refuses the start in one line if something else has its name', async (t) => {
    const file = join(temporaryFolder(t), 'file');
    writeFileSync(file, '');
    assert.equal(await refusalOf(t, file), `${file} is not a folder: name another data directory\n`);
    const below = join(file, 'data');
    const said = `${below} is below something that is not a folder: name another data directory\n`;
    assert.equal(await refusalOf(t, below), said);
  });

  it('refuses the start in one line if no folder can be made', { skip: process.platform !== 'linux' }, async (t) => {
    const said = '/proc/none/data cannot be made, because nothing can be made in /proc: name another data directory\n';
    assert.equal(await refusalOf(t, '/proc/none/data'), said);
  });

  it('names what this user may not read or write, the folder or a file in it', (t) => {
    const folder = temporaryFolder(t);
    chmodSync(folder, 0o755);
    const data = join(folder, 'data');
    mkdirSync(data, { mode: 0o500 });
    const denied = (path: string) =>
      new RegExp(
        `^UnwritableError ${path} cannot be read and written by the user that runs this \\(uid [1-9]\\d*\\): give it to`,
      );
    assert.match(refusalToOthers(data), denied(data));
    chmodSync(data, 0o777);
    assert.match(refusalToOthers(data), /is open to others \(mode 0777\)/);
    const log = join(data, 'log.db');
    writeFileSync(log, '', { mode: 0o400 });
    assert.match(refusalToOthers(data), denied(log));
  });
});

describe('A log that its disk has changed', () => {
  const advice =
    'the disk fails, or what was written to it has been changed: look at the disk, and run "annals verify" and "annals blobs verify"';
  const pageBytes = 4096;

  /** Overwrites the pages of the log that hold a text, as a failing disk does. */
  function spoil(data: string, text: string): void {
    const path = join(data, 'log.db');
    const bytes = readFileSync(path);
    let count = 0;
    for (let at = bytes.indexOf(text); at !== -1; at = bytes.indexOf(text, at + 1), count += 1) {
      const page = at - (at % pageBytes);
      bytes.fill(0xff, page, page + pageBytes);
    }
    assert.ok(count > 0);
    writeFileSync(path, bytes);
  }

  it('gets a bare 500; the logged line says what to do, as a command and a start do', async (t) => {
    const data = join(temporaryFolder(t), 'data');
    const first = await startHere(t, config, { data });
    const ids: string[] = [];
    // More than a start reads.
    for (let count = 0; count < 40; count += 1) {
      const title = `${count}: ${'long '.repeat(300)}`;
      ids.push((await first.call('POST', '/api/collections/posts', { title })).body.id);
    }
    await first.stop();
    spoil(data, '"title":"7: long');
    const service = await startHere(t, config, { data });
    const { status, body } = await service.call('GET', `/api/audit/documents/posts/${ids[7]}/versions/1`);
    assert.deepEqual(
      [status, body],
      [
        500,
        {
          statusCode: 500,
          error: 'Internal Server Error',
          code: 'internal',
          message: 'An internal server error occurred',
        },
      ],
    );
    const line = await eventually(() => service.lines().find(({ err }) => err));
    assert.deepEqual([line.msg, line.err.code, line.err.advice], ['a request failed', 'SQLITE_CORRUPT', advice]);
    await service.stop();

    const told = await runHere(['diff', `posts/${ids[7]}`, '--from', '0', '--data', data]);
    assert.deepEqual([told.code, told.stderr], [2, `database disk image is malformed; ${advice}\n`]);

    spoil(data, `posts/${ids[39]}`);
    const args = ['serve', '--config', writeConfig(temporaryFolder(t), config), '--data', data, '--port', '0'];
    const refused = await runHere(args, { environment: { ANNALS_THREADS: '0' } });
    assert.deepEqual([refused.code, refused.stderr], [2, `database disk image is malformed; ${advice}\n`]);
  });
});
