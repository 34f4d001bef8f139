import assert from 'node:assert/strict';
import { chmodSync, cpSync, readdirSync, rmSync, statfsSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { before, describe, it, type TestContext } from 'node:test';
import Database from 'better-sqlite3';
import { mountOf } from '../../cli/doctor/disk.ts';
import { checkNames, type DoctorFinding } from '../../cli/doctor/findings.ts';
import { checkLog } from '../../cli/doctor/log.ts';
import { checkLock } from '../../cli/doctor/log-lock.ts';
import { useSmallDisk } from '../helpers/disk.ts';
import { startHere, useServiceHere } from '../helpers/embedded.ts';
import { runHere } from '../helpers/in-process.ts';
import { useMailbox } from '../helpers/mail.ts';
import { temporaryFolder, writeConfig } from '../helpers/service.ts';
import { useFolder } from '../helpers/shared.ts';

const config = {
  bcryptCost: 10,
  collections: [
    { slug: 'posts', fields: [{ name: 'title', type: 'text' }] },
    { slug: 'users', auth: true, fields: [] },
  ],
};
const configFile = writeConfig(useFolder(), config);
const mailbox = await useMailbox();
const service = useServiceHere(config);
const disk = useSmallDisk(24_000_000);
/** Checks that depend on the machine of the tests. */
const ofMachine = new Set(['disk room', 'fsync', 'file system', 'open files']);
const healthy = {
  ANNALS_BASE_URL: 'http://127.0.0.1:4000',
  ANNALS_SMTP_URL: mailbox.url,
  ANNALS_MAIL_FROM: 'a@example.org',
};

before(async () => {
  await service.call('POST', '/api/collections/posts', { title: 'x' });
  await service.stop();
});

function copy(t: TestContext): string {
  const data = join(temporaryFolder(t), 'data');
  cpSync(service.data, data, { recursive: true });
  // A copy of a folder has the mode of a new one.
  for (const folder of [data, join(data, 'blobs'), join(data, 'blobs', 'checkpoints')]) chmodSync(folder, 0o700);
  return data;
}

async function examine(data: string, environment: Record<string, string> = healthy) {
  const { code, stdout, stderr } = await runHere(['doctor', '--config', configFile, '--data', data, '--json'], {
    environment,
  });
  assert.equal(stderr, '');
  const { isHealthy, findings } = JSON.parse(stdout) as { isHealthy: boolean; findings: DoctorFinding[] };
  assert.deepEqual([code, isHealthy], findings.some(({ status }) => status === 'trouble') ? [1, false] : [0, true]);
  return { code, of: (name: string) => findings.find(({ check }) => check === name), findings };
}

describe('annals doctor', () => {
  it('finds nothing wrong with a healthy directory, and leaves nothing there', async (t) => {
    const data = copy(t);
    const before = readdirSync(data);
    const { findings } = await examine(data);
    assert.deepEqual(
      findings.map(({ check }) => check),
      checkNames,
    );
    const bad = findings.filter(({ check, status }) => status === 'trouble' && !ofMachine.has(check));
    assert.deepEqual(bad, []);
    // SQLite leaves its own files beside a log that no service has open.
    assert.deepEqual(
      readdirSync(data).filter((name) => !/-(shm|wal)$/.test(name)),
      before,
    );
    assert.equal(mailbox.received.length, 0);
    const { stdout } = await runHere(['doctor', '--config', configFile, '--data', data], { environment: healthy });
    assert.match(stdout, /^ok {7}vault {8}vault\.db is that of this log$/m);
    assert.match(stdout, /^ok {7}mail {9}the mail server takes the login$/m);
    assert.equal(stdout.trimEnd().split('\n').length, checkNames.length);
  });

  it('works beside a running service, to which the base URL must lead', async (t) => {
    const running = await startHere(t, config);
    await running.call('GET', '/ready');
    const right = await examine(running.data, { ...healthy, ANNALS_BASE_URL: running.url });
    assert.equal(right.of('base URL')?.status, 'ok');
    const wrong = await examine(running.data, { ...healthy, ANNALS_BASE_URL: 'http://127.0.0.1:1' });
    assert.match(wrong.of('base URL')?.message ?? '', /does not lead to the service/);
    assert.equal(wrong.code, 1);
  });

  it('names the vault of another log, and a missing one', async (t) => {
    const data = copy(t);
    const other = await startHere(t, config);
    await other.stop();
    cpSync(join(other.data, 'vault.db'), join(data, 'vault.db'));
    const { code, of } = await examine(data);
    assert.deepEqual([code, of('vault')?.status, /another one/.test(of('vault')?.message ?? '')], [1, 'trouble', true]);
    rmSync(join(data, 'vault.db'));
    assert.match((await examine(data)).of('vault')?.message ?? '', /vault\.db is missing/);
    writeFileSync(join(data, 'vault.db'), 'not a database at all, but long enough to be read as one');
    assert.equal((await examine(data)).of('vault')?.status, 'trouble');
  });

  it('names files that other users may reach, short secrets, and a base URL without encryption', {
    skip: process.platform === 'win32' && 'Windows has no such modes',
  }, async (t) => {
    const data = copy(t);
    chmodSync(join(data, 'vault.db'), 0o644);
    const { code, of } = await examine(data, {
      ...healthy,
      ANNALS_SECRET: 'short',
      ANNALS_API_KEY: 'key',
      ANNALS_BASE_URL: 'http://cms.example.org',
    });
    assert.equal(code, 1);
    assert.match(of('file modes')?.message ?? '', /vault\.db: chmod/);
    assert.match(of('secrets')?.message ?? '', /a secret is shorter than 32 characters and an API key/);
    assert.doesNotMatch(JSON.stringify(of('secrets')), /"short"|short,/);
    assert.match(of('base URL')?.message ?? '', /not https/);
  });

  it('names the indexes that are missing, as long as they are', async (t) => {
    const data = copy(t);
    const listed = ['title', 'gone'].map((field) => {
      return { collection: 'posts', field, reads: 320, slowest: 24, lastAt: new Date().toISOString() };
    });
    writeFileSync(join(data, 'missing-indexes.json'), JSON.stringify(listed), { mode: 0o600 });
    const { findings } = await examine(data);
    const found = findings.filter(({ check }) => check === 'indexes');
    const told = '320 reads took up to 24 ms by posts.title, which has no index: set index: true of that field';
    assert.deepEqual(found, [{ check: 'indexes', status: 'note', message: told }]);
  });

  it('names a mail server that refuses, without its password', async (t) => {
    const refusing = createServer((socket) => socket.end('554 no\r\n')).listen(0, '127.0.0.1');
    t.after(() => refusing.close());
    await new Promise((go) => refusing.once('listening', go));
    const { port } = refusing.address() as { port: number };
    const { code, of } = await examine(copy(t), {
      ...healthy,
      ANNALS_SMTP_URL: `smtp://ada:top-secret@127.0.0.1:${port}`,
    });
    assert.deepEqual([code, of('mail')?.status], [1, 'trouble']);
    assert.doesNotMatch(JSON.stringify(of('mail')), /top-secret/);
    assert.equal((await examine(copy(t), {})).of('mail')?.status, 'note');
  });

  it('names a clock that is behind the log, and a checkpoint of which no copy was made', (t) => {
    const data = copy(t);
    const at = (now: number, name: string) => checkLog(data, now).find(({ check }) => check === name);
    assert.equal(at(Date.now(), 'clock')?.status, 'ok');
    assert.match(at(Date.now() - 86_400_000, 'clock')?.message ?? '', /recorded 1 day later/);
    assert.match(at(0, 'clock')?.message ?? '', /which is in the past/);
    assert.equal(at(Date.now() + 3_600_000, 'checkpoints')?.status, 'ok');
    const db = new Database(join(data, 'log.db'));
    db.exec('UPDATE checkpoints SET stored = 0');
    db.close();
    assert.equal(at(Date.now(), 'checkpoints')?.status, 'note');
    assert.equal(at(Date.now() + 3_600_000, 'checkpoints')?.status, 'trouble');
  });

  it('names too little room for the largest file', { skip: disk.skip }, async () => {
    const data = join(disk.folder, 'data');
    cpSync(service.data, data, { recursive: true });
    const { bavail, bsize } = statfsSync(disk.folder);
    writeFileSync(join(disk.folder, 'ballast'), Buffer.alloc(bavail * bsize - 40_000));
    const { code, of } = await examine(data);
    assert.deepEqual([code, of('disk room')?.status], [1, 'trouble']);
    assert.match(
      of('disk room')?.message ?? '',
      /KiB free, and the largest data file, \S+, has .*need 2 times as much/,
    );
    assert.match(of('file system')?.message ?? '', /tmpfs, in memory/);
  });

  it('finds the file system of a folder as the kernel tells it, the last of those at one place', () => {
    const mounts = [
      '22 1 254:1 / / rw,relatime shared:1 - ext4 /dev/vda1 rw',
      '30 22 0:40 / /srv rw shared:2 - xfs /dev/vdb rw',
      '31 30 0:41 /exports/a /srv/with\\040blank rw,nosuid shared:3 - nfs4 store:/exports/a rw,vers=4.2',
      '32 30 0:42 / /srv/twice rw - ext4 /dev/vdc rw',
      '33 30 0:43 / /srv/twice rw - fuse.sshfs store:/ rw',
    ].join('\n');
    for (const [folder, type] of [
      ['/var/data', 'ext4'],
      ['/srv', 'xfs'],
      ['/srvs', 'ext4'],
      ['/srv/with blank/data', 'nfs4'],
      ['/srv/twice/x', 'fuse.sshfs'],
    ] as const)
      assert.equal(mountOf(folder, mounts), type);
    assert.equal(mountOf('/var', ''), null);
  });

  it('cannot run without a data directory', async (t) => {
    const { code, stderr } = await runHere(['doctor', '--data', join(temporaryFolder(t), 'none')]);
    assert.equal(code, 2);
    assert.match(stderr, /^there is no data directory at /);
  });
});

describe('The lock of a log in PostgreSQL, as annals doctor sees it', () => {
  const holder = { pid: 7, application: 'annals', address: '10.0.0.1', seconds: 0.1, waitsForStandby: false };

  it('is sound if writes wait for a moment, and the one that has it goes on', () => {
    const { status, message } = checkLock({ waiting: [0.04, 1.5], holders: [{ ...holder, state: 'active' }] });
    assert.deepEqual([status, message], ['ok', '2 writes wait for it, the longest for 1.5 seconds']);
  });

  it('is not ended if a commit waits for a standby', () => {
    const commit = { ...holder, state: 'active', seconds: 61, waitsForStandby: true };
    const { status, message } = checkLock({ waiting: [4], holders: [commit] });
    assert.equal(status, 'trouble');
    assert.match(
      message,
      /^1 write waits for it, .*; the session 7 \(annals, 10\.0\.0\.1\) has it, and its commit waits/,
    );
    assert.doesNotMatch(message, /terminate/);
  });

  it('is had by a session of which a role without pg_monitor sees no more', () => {
    const hidden = { ...holder, application: '', address: null, state: null, seconds: null };
    const { message } = checkLock({ waiting: [3], holders: [hidden] });
    assert.match(message, /; the session 7 has it; the role may not see what it does$/);
  });

  it('is not looked at on a server that does not tell', () => {
    assert.equal(checkLock(null).status, 'note');
  });
});
