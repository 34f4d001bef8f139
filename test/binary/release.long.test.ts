import assert from 'node:assert/strict';
import { execFile, execFileSync, spawnSync } from 'node:child_process';
import {
  cpSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join, resolve } from 'node:path';
import { before, describe, it } from 'node:test';
import { promisify } from 'node:util';
import { patternOf } from '../example/pages.ts';
import { callerOf } from '../helpers/service.ts';
import { eventually, useFolder } from '../helpers/shared.ts';
import { buildBinary, root, whyNotBuilt } from './build.ts';
import { startBinary } from './start.ts';

const run = promisify(execFile);
const hasNo = (program: string) => (spawnSync(program, ['-?']).error === undefined ? false : `there is no ${program}`);

function filesBelow(folder: string): string[] {
  const entries = readdirSync(folder, { recursive: true, encoding: 'utf8' });
  return entries.filter((name) => statSync(join(folder, name)).isFile()).sort();
}

/** A call that has changed the file system, or opened a file to change it. */
function isWrite(line: string): boolean {
  const [, name = ''] = /^(\w+)\(/.exec(line) ?? [];
  if (name === '' || / = -1 E\w+ \(.*\)$/.test(line)) return false;
  return !name.startsWith('open') || /\bO_(WRONLY|RDWR|CREAT|TRUNC|APPEND)\b/.test(line);
}

/** The paths in a call; a relative one follows the folder that it is relative to. */
function pathsOf(line: string): string[] {
  return [...line.matchAll(/(?:<([^>]*)>, )?"((?:[^"\\]|\\.)*)"/g)].map(([, from = '/', path = '']) =>
    resolve(from, path),
  );
}

describe('A release', { skip: whyNotBuilt() }, () => {
  // A folder in which packages can be links to those of this checkout.
  const folder = useFolder(process.env.TEST_DISK);
  const out = join(folder, 'build');
  const key = join(folder, 'key');
  const withoutKeys = hasNo('ssh-keygen');
  before(() => {
    if (!withoutKeys) execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-C', '', '-f', key]);
    buildBinary(['--out', out, ...(withoutKeys ? [] : ['--sign', key])]);
  });

  it('is the same files, built of a checkout in another folder by another user in another place', {
    skip: hasNo('git'),
  }, async () => {
    const checkout = join(folder, 'elsewhere', 'and deeper');
    await run(join(root, 'test/binary/checkout.sh'), [checkout]);
    const script = 'umask 077 && exec "$0" binary/build.ts';
    const env = { ...process.env, TZ: 'Asia/Tokyo', LC_ALL: 'C', HOME: folder };
    await run('sh', ['-c', script, process.execPath], { cwd: checkout, env });
    const names = readFileSync(join(out, 'SHA256SUMS'), 'utf8')
      .trim()
      .split('\n')
      .map((line) => line.slice(66));
    assert.deepEqual(filesBelow(join(checkout, 'build')), [...names, 'SHA256SUMS'].sort());
    for (const name of [...names, 'SHA256SUMS']) {
      const isSame = readFileSync(join(out, name)).equals(readFileSync(join(checkout, 'build', name)));
      assert.ok(isSame, `${name} differs`);
    }
  });

  describe('that is signed', { skip: withoutKeys }, () => {
    const sums = join(out, 'SHA256SUMS');
    const page = readFileSync(join(root, 'docs/binary.md'), 'utf8');
    const [, commands = '', answer = ''] =
      /```sh\n(echo [^`]*ssh-keygen -Y verify[^`]*)```\n\n```\n([^`]*)```/.exec(page) ?? [];

    /** Does as docs/binary.md tells users, in a folder with the files that they have fetched. */
    function verify(text: string, publicKey: string) {
      const fetched = mkdtempSync(join(folder, 'fetched-'));
      for (const name of ['annals', 'SHA256SUMS.sig']) linkSync(join(out, name), join(fetched, name));
      writeFileSync(join(fetched, 'SHA256SUMS'), text);
      writeFileSync(join(fetched, 'annals-release.pub'), publicKey);
      return spawnSync('sh', ['-ec', commands], { cwd: fetched, encoding: 'utf8' });
    }

    it('has a signature over its sums that users verify by ssh-keygen, over nothing else and with no other key', () => {
      const text = readFileSync(sums, 'utf8');
      const publicKey = readFileSync(`${key}.pub`, 'utf8');
      const { status, stdout, stderr } = verify(text, publicKey);
      assert.deepEqual([status, stderr], [0, '']);
      assert.match(stdout, patternOf(answer));
      const changed = text.replace(/^./, (digit) => (digit === '0' ? '1' : '0'));
      assert.notEqual(verify(changed, publicKey).status, 0);
      const another = join(folder, 'another');
      execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-C', '', '-f', another]);
      assert.notEqual(verify(text, readFileSync(`${another}.pub`, 'utf8')).status, 0);
      execFileSync('sha256sum', ['--check', '--strict', '--quiet', 'SHA256SUMS'], { cwd: out });
    });

    it('is refused before it is built, without a key and with one in the checkout', () => {
      const refusal = (file: string) => {
        const { status, stderr } = spawnSync(process.execPath, [
          join(root, 'binary/build.ts'),
          '--out',
          out,
          '--sign',
          file,
        ]);
        assert.equal(status, 1);
        return stderr.toString();
      };
      const before = readFileSync(`${sums}.sig`);
      assert.match(refusal(join(folder, 'missing')), /there is no key .+missing/);
      const inside = mkdtempSync(join(root, 'build-'));
      try {
        cpSync(key, join(inside, 'key'));
        assert.match(refusal(join(inside, 'key')), /is in the checkout: keep the key elsewhere/);
      } finally {
        rmSync(inside, { recursive: true });
      }
      assert.deepEqual(readFileSync(`${sums}.sig`), before);
    });
  });

  it('opens no file for writing outside of the data directory, with the addons beside it', {
    skip: hasNo('strace'),
  }, async (t) => {
    const image = join(folder, 'image');
    const site = join(folder, 'site');
    for (const path of [image, site]) mkdirSync(path);
    cpSync(join(out, 'annals'), join(image, 'annals'));
    for (const name of readdirSync(join(out, 'addons'))) cpSync(join(out, 'addons', name), join(image, name));
    const config = {
      collections: [
        { slug: 'users', auth: true, fields: [] },
        { slug: 'files', upload: true, fields: [] },
      ],
    };
    writeFileSync(join(site, 'annals.config.json'), JSON.stringify(config));
    const trace = join(folder, 'trace', 'of');
    mkdirSync(join(folder, 'trace'));
    const data = join(site, 'data');
    const calls =
      'open,openat,openat2,creat,mkdir,mkdirat,rename,renameat,renameat2,link,linkat,symlink,symlinkat,unlink,unlinkat,truncate';
    // A file for each thread, so that no call is on two lines; and the service is our child, which gets the signal.
    const strace = [
      'strace',
      '-D',
      '-ff',
      '-y',
      '-s',
      '4096',
      '-e',
      `trace=${calls}`,
      '-e',
      'signal=none',
      '-o',
      trace,
    ];
    // As in the image, whose user has its home in the volume.
    const environment = { HOME: data, XDG_CACHE_HOME: undefined, NODE_COMPILE_CACHE: undefined };
    const started = await startBinary(t, [...strace, join(image, 'annals')], site, [], environment);
    const call = callerOf(started.url);
    const account = { email: 'ada@example.org', password: 'correct horse' };
    const setupToken = /setup\?token=(\S+)/.exec(started.output())?.[1];
    const first = await call('POST', '/api/collections/users/first-user', { setupToken, ...account }, { key: null });
    assert.equal(first.status, 201);
    const form = new FormData();
    form.set('file', new Blob(['a note']), 'note.txt');
    const headers = { 'x-api-key': started.key };
    const sent = await fetch(`${started.url}/api/collections/files`, { method: 'POST', headers, body: form });
    assert.equal(sent.status, 201, await sent.text());
    assert.equal((await call('GET', '/api/openapi.json', undefined, { key: started.key })).status, 200);
    assert.equal(await started.stop(), 0);

    const traced = () =>
      filesBelow(join(folder, 'trace')).map((name) => readFileSync(join(folder, 'trace', name), 'utf8'));
    await eventually(() => traced().every((text) => /^\+\+\+ exited with 0 \+\+\+$/m.test(text)));
    const written = traced().flatMap((text) => text.split('\n').filter(isWrite).flatMap(pathsOf));
    const outside = written.filter((path) => path !== data && !path.startsWith(`${data}/`));
    assert.deepEqual([...new Set(outside)], []);
    // The trace has those that it should have.
    for (const name of ['log.db', 'vault.db', 'lock.db']) assert.ok(written.includes(join(data, name)), name);
  });
});
