import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, chownSync, cpSync, mkdirSync, readdirSync, rmdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { run as runVerifier } from '../../verify/annals-verify.mjs';
import { annalsWords } from '../helpers/command.ts';
import { useSmallDisk } from '../helpers/disk.ts';
import { startHere } from '../helpers/embedded.ts';
import { runHere } from '../helpers/in-process.ts';
import { temporaryFolder, writeConfig } from '../helpers/service.ts';
import { useStarted } from '../helpers/shared.ts';

const config = {
  collections: [
    { slug: 'users', auth: true, fields: [] },
    { slug: 'posts', admin: { searchFields: ['title'] }, fields: [{ name: 'title', type: 'text' as const }] },
  ],
};

const skip = process.platform === 'win32' && 'Windows has no such modes';
/** A user who owns nothing: root may write everywhere. */
const other = 65534;
const isRoot = process.getuid?.() === 0;

describe('A copy of a data directory to which nothing can be written', { skip }, () => {
  const disk = useSmallDisk(50_000_000);
  const narrow = useSmallDisk(20_000);
  const known = useStarted(async (t) => {
    const folder = temporaryFolder(t);
    chmodSync(folder, 0o755);
    const service = await startHere(t, config, { data: join(folder, 'data') });
    const { body } = await service.call('POST', '/api/collections/posts', { title: 'one' });
    await service.call('PATCH', `/api/collections/posts/${body.id}`, { title: 'two' });
    const temporary = join(folder, 'tmp');
    mkdirSync(temporary);
    if (isRoot) chownSync(temporary, other, other);
    return { ...service, id: body.id as string, folder, temporary };
  });
  /** Copies from a running service, without and with its shared memory, and from a stopped one. */
  const kinds = ['running', 'shared', 'stopped'];
  const TMPDIR = process.env.TMPDIR;

  before(async () => {
    const copy = (name: string, withShared: boolean) => {
      const filter = (path: string) => withShared || !path.endsWith('-shm');
      cpSync(known.data, join(known.folder, name), { recursive: true, filter });
      if (!disk.skip) cpSync(join(known.folder, name), join(disk.folder, name), { recursive: true });
    };
    copy('running', false);
    copy('shared', true);
    assert.ok(statSync(join(known.folder, 'running/log.db-wal')).size > 0);
    await known.stop();
    const finding = { finding: 'event 1 is not it', from: 1, to: 1, at: new Date().toISOString(), part: 'log' };
    writeFileSync(join(known.data, 'altered.json'), JSON.stringify(finding));
    copy('stopped', true);
    if (!disk.skip) assert.equal(spawnSync('mount', ['-o', 'remount,ro', disk.folder]).status, 0);
    process.env.TMPDIR = known.temporary;
  });
  after(() => {
    if (TMPDIR === undefined) delete process.env.TMPDIR;
    else process.env.TMPDIR = TMPDIR;
  });

  for (const kind of kinds) {
    it(`is verified and read on a read-only disk, of a service that was ${kind}`, { skip: disk.skip }, async () => {
      const data = join(disk.folder, kind);
      const annals = (...args: string[]) => runHere([...args, '--data', data]);
      const verified = await annals('verify');
      assert.equal(verified.code, 0, verified.stdout + verified.stderr);
      assert.match(verified.stdout, /^sound: the log is whole, and the read tables equal a replay of it \(3 events\)/m);
      const stays = /^note: altered\.json stays, which says that the log is altered: this user may not remove it$/m;
      assert.equal(stays.test(verified.stdout), kind === 'stopped', verified.stdout);
      assert.doesNotMatch(verified.stdout, /there are no read tables/);
      const checked = await annals('rebuild', '--check');
      assert.deepEqual([checked.code, checked.stderr], [0, '']);
      const history = await annals('history', `posts/${known.id}`, '--json');
      assert.equal(JSON.parse(history.stdout).document.version, 2, history.stderr);
      for (const args of [
        ['events', '--json'],
        ['log', 'tail', '--json'],
      ]) {
        const { code, stdout, stderr } = await annals(...args);
        assert.deepEqual([code, stdout.trimEnd().split('\n').length], [0, 3], stderr);
      }
      const keys = await annals('signing-key', 'history', '--json');
      assert.equal(keys.code, 0, keys.stderr);
      assert.equal((await annals('blobs', 'verify')).code, 0);
      const file = writeConfig(known.folder, config);
      const ahead = await runHere(['config', 'check', '--config', file, '--against', data]);
      assert.deepEqual([ahead.code, ahead.stderr], [0, '']);
      const health = await runHere(['doctor', '--config', file, '--data', data]);
      assert.match(health.stdout, /^ok +vault +vault\.db is that of this log$/m);
      const alone = await runVerifier(['--trust-inside', join(data, 'log.db')]);
      // The verifier makes no copies of its own.
      if (kind === 'running')
        assert.match(alone.text, /^UNDECIDED: .*; copy it and its log\.db-wal to a folder that can be written$/m);
      assert.equal(alone.exit, kind === 'running' ? 2 : 0, alone.text);
      assert.deepEqual(readdirSync(known.temporary), []);
    });
  }

  it('gets no event: what would record one is refused, and says what can be done', { skip: disk.skip }, async () => {
    const data = join(disk.folder, 'stopped');
    const file = writeConfig(known.folder, config);
    const out = join(known.folder, 'out.zip');
    const annals = (...args: string[]) => runHere([...args, '--data', data, '--config', file]);
    for (const [command, ...args] of [['export'], ['bundle', `posts/${known.id}`]] as const) {
      const { code, stderr } = await annals(command, ...args, '--out', out);
      const said = `annals ${command} records an event, and nothing can be written to ${data}: annals verify, history and events only read it; or make a copy that can be written\n`;
      assert.deepEqual([code, stderr], [2, said]);
    }
    for (const args of [['users'], ['rebuild'], ['erase', `posts/${known.id}`, '--reason', 'asked', '--yes']]) {
      const { code, stderr } = await annals(...args);
      const said = `${data} cannot be written, its file system is mounted read-only: mount it for writing, or name another data directory\n`;
      assert.deepEqual([args, code, stderr], [args, 2, said]);
    }
  });

  it('is refused with the room that is needed if a copy of its databases does not fit', {
    skip: disk.skip,
  }, async () => {
    const data = join(disk.folder, 'stopped');
    process.env.TMPDIR = narrow.folder;
    const { code, stderr } = await runHere(['log', 'tail', '--data', data]);
    process.env.TMPDIR = known.temporary;
    const said = `nothing can be written to ${data}, so it is read from a copy, for which ${narrow.folder} has no room: `;
    assert.ok(stderr.startsWith(said), stderr);
    assert.match(stderr, /: [\d.]+ KiB are needed, [\d.]+ KiB are free; TMPDIR names another folder\n$/);
    assert.equal(code, 2);
  });

  it('leaves no copy of it when a command is interrupted', { skip: disk.skip }, async () => {
    const [node, ...words] = annalsWords();
    const child = spawn(node, [...words, 'log', 'tail', '--follow', '--data', join(disk.folder, 'stopped')]);
    await once(child.stdout, 'data');
    assert.equal(readdirSync(known.temporary).length, 1);
    child.kill('SIGINT');
    assert.deepEqual(await once(child, 'exit'), [null, 'SIGINT']);
    assert.deepEqual(readdirSync(known.temporary), []);
  });

  it('removes the copies of commands that were killed, and no others', { skip: disk.skip }, async () => {
    const { pid = 0 } = spawnSync(process.execPath, ['--version']);
    const left = `annals-read-${pid}-killed`;
    const others = [`annals-read-${process.pid}-running`, `other-${pid}-killed`];
    for (const name of [left, ...others]) mkdirSync(join(known.temporary, name));
    assert.equal((await runHere(['log', 'tail', '--data', join(disk.folder, 'stopped')])).code, 0);
    assert.deepEqual(readdirSync(known.temporary).sort(), others);
    for (const name of others) rmdirSync(join(known.temporary, name));
  });

  /** Makes a copy one of a user who may only read it. */
  function closed(name: string): string {
    const data = join(known.folder, name);
    for (const entry of readdirSync(data, { recursive: true, withFileTypes: true })) {
      const path = join(entry.parentPath, entry.name);
      if (isRoot) chownSync(path, other, other);
      chmodSync(path, entry.isDirectory() ? 0o500 : 0o400);
    }
    if (isRoot) chownSync(data, other, other);
    chmodSync(data, 0o500);
    return data;
  }

  function asOther(...args: string[]) {
    const [node, ...words] = annalsWords();
    const user = isRoot ? { uid: other, gid: other } : {};
    return spawnSync(node, [...words, ...args], { encoding: 'utf8', ...user });
  }

  it('is verified by a user who may only read it, with what its write-ahead log holds', () => {
    const data = closed('running');
    const { status, stdout, stderr } = asOther('verify', '--data', data);
    assert.equal(status, 0, stdout + stderr);
    assert.match(stdout, /^sound: .* \(3 events\)/m);
    assert.deepEqual(readdirSync(known.temporary), []);
    chmodSync(data, 0o700);
  });

  it('is read by a user who may not read its vault', () => {
    const data = closed('stopped');
    chmodSync(join(data, 'vault.db'), 0);
    const { status, stdout, stderr } = asOther('history', `posts/${known.id}`, '--data', data);
    assert.equal(status, 0, stderr);
    assert.match(stdout, /^posts\/\S+: 2 versions\n/);
    chmodSync(data, 0o700);
  });
});
