import assert from 'node:assert/strict';
import { execFile, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, describe, it } from 'node:test';
import { promisify } from 'node:util';
import { callerOf } from '../helpers/service.ts';
import { useFolder } from '../helpers/shared.ts';
import { buildBinary, whyNotBuilt } from './build.ts';
import { startBinary } from './start.ts';

const run = promisify(execFile);

/**
 * The libraries that the binary needs, as Debian's packages for cross compilers have them: libstdc++6-arm64-cross,
 * libatomic1-arm64-cross.
 */
const libraries = '/usr/aarch64-linux-gnu';
const emulator = ['qemu-aarch64-static', '-L', libraries];
const skip = whyNotBuilt() || whyNotRun();

function whyNotRun(): string | false {
  if (spawnSync('qemu-aarch64-static', ['--version']).status !== 0) return 'there is no qemu-aarch64-static';
  const hasLibraries = ['libstdc++.so.6', 'libatomic.so.1'].every((name) => existsSync(join(libraries, 'lib', name)));
  return hasLibraries ? false : `the libraries of arm64 are not in ${libraries}`;
}

const config = `import { defineConfig } from 'annals';
export default defineConfig({
  // Each step of the emulated processor costs ten of ours.
  bcryptCost: 4,
  collections: [
    { slug: 'users', auth: true, fields: [] },
    { slug: 'notes', access: { read: () => true }, fields: [{ name: 'text', type: 'text' }] },
  ],
});
`;

describe('The binary for arm64', { skip }, () => {
  const folder = useFolder();
  const out = join(folder, 'build');
  const file = join(out, 'annals-arm64');
  const site = join(folder, 'site');
  before(() => {
    buildBinary(['--arch', 'arm64', '--out', out]);
    mkdirSync(site);
    writeFileSync(join(site, 'annals.config.ts'), config);
  });

  it('is an executable of that architecture, with its own native addons', () => {
    // The machine of an ELF header, little endian: EM_AARCH64.
    assert.equal(readFileSync(file).readUInt16LE(18), 183);
    const sums = readFileSync(join(out, 'SHA256SUMS'), 'utf8');
    assert.match(sums, /^[0-9a-f]{64} {2}addons-arm64\/better-sqlite3-/m);
  });

  it('creates, reads, logs in and verifies', async (t) => {
    // The addons go there, as they do on the first start of a user.
    const environment = { XDG_CACHE_HOME: join(folder, 'cache') };
    const { url, key, output, stop } = await startBinary(t, [...emulator, file], site, ['--threads', '0'], environment);
    const call = callerOf(url);
    const created = await call('POST', '/api/collections/notes', { text: 'a note' }, { key });
    assert.equal(created.status, 201, JSON.stringify(created.body));
    const read = await call('GET', `/api/collections/notes/${created.body.id}`, undefined, { key: null });
    assert.deepEqual([read.status, read.body.text], [200, 'a note']);
    const account = { email: 'ada@example.org', password: 'correct horse' };
    const setupToken = /setup\?token=(\S+)/.exec(output())?.[1];
    const first = { setupToken, ...account };
    assert.equal((await call('POST', '/api/collections/users/first-user', first, { key: null })).status, 201);
    const login = (password: string) =>
      call('POST', '/api/collections/users/login', { ...account, password }, { key: null });
    assert.equal((await login(account.password)).status, 200);
    assert.equal((await login('wrong')).status, 401);
    assert.equal(await stop(), 0);
    const [program = '', ...words] = emulator;
    const { stdout } = await run(program, [...words, file, 'verify'], {
      cwd: site,
      env: { ...process.env, ...environment },
    });
    assert.match(stdout, /^sound: the log is whole/m);
  });
});
