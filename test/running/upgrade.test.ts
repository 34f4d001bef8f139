import assert from 'node:assert/strict';
import {
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import Database from 'better-sqlite3';
import { useSmallDisk } from '../helpers/disk.ts';
import { startHere } from '../helpers/embedded.ts';
import { runHere } from '../helpers/in-process.ts';
import { temporaryFolder, writeConfig } from '../helpers/service.ts';

/** A data directory of an earlier version, whose log had format 2: see test/events/formats.long.test.ts. */
const fixture = fileURLToPath(new URL('../fixtures/format-2', import.meta.url));
const config = {
  collections: [
    {
      slug: 'posts',
      fields: [
        { name: 'title', type: 'text' as const, required: true },
        { name: 'slug', type: 'text' as const, unique: true },
      ],
    },
    { slug: 'people', auth: true, fields: [{ name: 'name', type: 'text' as const }] },
  ],
  globals: [{ slug: 'site', fields: [{ name: 'motto', type: 'text' as const }] }],
};
const name = 'before-upgrade-format-2-events-9-f3fe438e';
const change = 'log.db has format 2 and is brought to format 5, which the version of Annals that wrote it cannot read';

/** The data directory of an earlier version, with an uploaded file and one that was being received. */
function former(folder: string): string {
  const data = join(folder, 'data');
  mkdirSync(join(data, 'blobs/ab'), { recursive: true });
  mkdirSync(join(data, 'blobs/incoming'));
  for (const file of ['log.db', 'vault.db']) copyFileSync(join(fixture, file), join(data, file));
  writeFileSync(join(data, 'blobs/ab/abcd'), 'the bytes');
  writeFileSync(join(data, 'blobs/incoming/1'), 'half');
  writeFileSync(join(data, 'seeded'), '2026\n');
  return data;
}

function formatIn(folder: string): unknown {
  const db = new Database(join(folder, 'log.db'), { readonly: true });
  const format = db.pragma('user_version', { simple: true });
  db.close();
  return format;
}

const backupsIn = (data: string) => readdirSync(data).filter((entry) => entry.startsWith('before-upgrade'));

async function refusal(t: TestContext, data: string, ...more: string[]): Promise<string> {
  const args = ['serve', '--port', '0', '--config', writeConfig(temporaryFolder(t), config), '--data', data, ...more];
  const { code, stderr } = await runHere(args, { environment: { ANNALS_THREADS: '0', ANNALS_LOG_LEVEL: 'error' } });
  assert.equal(code, 2, stderr);
  return stderr;
}

describe('A start that changes the format of the log', () => {
  const disk = useSmallDisk(2_000_000);

  it('says so, and makes a backup before, with which the earlier version can go on', async (t) => {
    const data = former(temporaryFolder(t));
    const service = await startHere(t, config, { data });
    const folder = join(data, name);
    const wayBack = `to go back, stop the service and start the earlier version with --data ${folder}: it has 9 events, and not those that come now; delete the folder when it is not needed any more, for what is erased from now on is still in it`;
    const told = service.lines().filter(({ msg }) => /format|backup/.test(msg));
    assert.deepEqual(
      told.map(({ level, msg }) => [level, msg]),
      [
        [40, `${change}; a backup is made first in ${folder}`],
        [40, `the backup is verified; ${wayBack}`],
      ],
    );
    assert.deepEqual(backupsIn(data), [name]);
    assert.deepEqual([formatIn(data), formatIn(folder)], [5, 2]);
    assert.deepEqual(readdirSync(folder).sort(), ['blobs', 'log.db', 'seeded', 'vault.db']);
    assert.deepEqual(readdirSync(join(folder, 'blobs')), ['ab']);
    assert.equal(readFileSync(join(folder, 'blobs/ab/abcd'), 'utf8'), 'the bytes');
    assert.equal(statSync(join(folder, 'blobs/ab/abcd')).nlink, 2);
    if (process.platform !== 'win32')
      assert.deepEqual(
        [folder, join(folder, 'log.db'), join(folder, 'vault.db')].map((path) => statSync(path).mode & 0o777),
        [0o700, 0o600, 0o600],
      );
    await service.call('POST', '/api/collections/posts', { title: 'Later', slug: 'later' });
    await service.stop();

    const verified = await runHere(['verify', '--data', folder]);
    assert.equal(verified.code, 0, verified.stdout);
    assert.match(verified.stdout, /^sound: .* \(9 events\); 9 of 9 events are signed/m);
    const again = await startHere(t, config, { data });
    assert.deepEqual(
      again.lines().filter(({ msg }) => /backup/.test(msg)),
      [],
    );
    assert.equal((await again.call('GET', '/api/collections/posts')).body.total, 3);
    await again.stop();
    // The earlier version finds the directory as it was.
    const back = await startHere(t, config, { data: folder, noBackup: true });
    assert.equal((await back.call('GET', '/api/collections/posts')).body.total, 2);
  });

  it('takes the backup of a start that ended after it', async (t) => {
    const data = former(temporaryFolder(t));
    const kept = former(temporaryFolder(t));
    await (await startHere(t, config, { data: kept })).stop();
    cpSync(join(kept, name), join(data, name), { recursive: true });
    const { ino } = statSync(join(data, name));
    const service = await startHere(t, config, { data });
    const [told] = service.lines().filter(({ msg }) => msg.startsWith(change));
    assert.match(told.msg, /; there is a backup already; to go back, stop the service/);
    assert.equal(statSync(join(data, name)).ino, ino);
  });

  it('makes none with --no-backup, and says that', async (t) => {
    const data = former(temporaryFolder(t));
    const service = await startHere(t, config, { data, noBackup: true });
    const told = service.lines().filter(({ msg }) => /backup/.test(msg));
    assert.deepEqual(
      told.map(({ msg }) => msg),
      [`${change}; no backup is made (--no-backup)`],
    );
    assert.deepEqual([backupsIn(data), formatIn(data)], [[], 5]);
  });

  it('is refused if there is no room for it, with what is needed and what there is', {
    skip: disk.skip,
  }, async (t) => {
    const data = former(disk.folder);
    writeFileSync(join(data, 'webhooks.db'), Buffer.alloc(1_200_000));
    const stderr = await refusal(t, data);
    const words =
      /^there is no room in (\S+) for the backup before the upgrade of log\.db, and nothing was changed: 1\.\d MiB are needed, [\d.]+ KiB are free; make room, or save a backup elsewhere \(annals backup\) and start with --no-backup$/m;
    assert.match(stderr, words);
    assert.deepEqual([backupsIn(data), formatIn(data)], [[], 2]);
  });

  it('is refused if the log is not sound, and leaves it as it is', async (t) => {
    const data = former(temporaryFolder(t));
    const db = new Database(join(data, 'log.db'));
    db.exec(`DROP TRIGGER payloads_update; UPDATE payloads SET body = replace(body, 'One', 'Two') WHERE position = 3`);
    db.close();
    const stderr = await refusal(t, data);
    assert.match(
      stderr,
      /^the backup before the upgrade of log\.db is not sound: .*; nothing was changed: annals verify says more$/m,
    );
    assert.deepEqual([backupsIn(data), formatIn(data)], [[], 2]);
  });

  it('is announced by a command that brings the log to it, too', async (t) => {
    const folder = temporaryFolder(t);
    const [data, other, plain] = ['a', 'b', 'c'].map((part) => {
      mkdirSync(join(folder, part));
      return former(join(folder, part));
    }) as [string, string, string];
    const file = writeConfig(folder, config);
    const users = await runHere(['users', '--config', file, '--data', data]);
    const replaced = await runHere(['signing-key', 'replace', '--reason', 'old', '--data', other]);
    for (const [{ code, stderr }, at] of [
      [users, data],
      [replaced, other],
    ] as const) {
      assert.equal(code, 0, stderr);
      assert.ok(
        stderr.startsWith(`${change}; a backup is made first in ${join(at, name)}\nthe backup is verified; to go back`),
        stderr,
      );
      assert.deepEqual([backupsIn(at), formatIn(at)], [[name], 5]);
    }
    const rebuilt = await runHere(['rebuild', '--no-backup', '--config', file, '--data', plain]);
    assert.deepEqual([rebuilt.code, rebuilt.stderr], [0, `${change}; no backup is made (--no-backup)\n`]);
    assert.ok(!existsSync(join(plain, name)));
  });
});
