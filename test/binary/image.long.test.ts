import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { promisify } from 'node:util';
import { callerOf, temporaryFolder } from '../helpers/service.ts';

const run = promisify(execFile);

/** The mounted root of the image, and what buildah says of it: .ci/image gives both. */
const { IMAGE_ROOT: image = '', IMAGE_CONFIG: description = 'null' } = process.env;
const skip = image === '' ? 'there is no image: .ci/image makes one' : false;
const config = JSON.parse(description)?.Docker.config;

const configuration = `import { defineConfig } from 'annals';
export default defineConfig({
  bcryptCost: 4,
  collections: [
    { slug: 'users', auth: true, fields: [] },
    { slug: 'pictures', upload: true, fields: [] },
    { slug: 'notes', fields: [{ name: 'text', type: 'text', unique: true }] },
  ],
});
`;

/** Runs the image in namespaces of its own, with a read-only root, and without the right to execute files in /tmp. */
const script = `
  mount --make-rprivate /
  mount --bind "$1" "$1"
  mount --bind "$2/data" "$1/data"
  mount --bind "$2/annals.config.ts" "$1/app/annals.config.ts"
  mount -t tmpfs -o noexec,nosuid,nodev tmpfs "$1/tmp"
  mount -t proc proc "$1/proc"
  mount -o remount,bind,ro "$1"
  root=$1; shift 2
  exec chroot --userspec=10001:10001 "$root" "$@"`;

const environment: Record<string, string> = {
  ...Object.fromEntries((config?.Env ?? []).map((pair: string) => pair.split('='))),
  ANNALS_CONFIG: '/app/annals.config.ts',
  ANNALS_PORT: '0',
};

/** The folder that is mounted: the user of the image owns the data. */
function siteFolder(t: TestContext): string {
  const folder = temporaryFolder(t);
  chmodSync(folder, 0o755);
  mkdirSync(join(folder, 'data'), { mode: 0o700 });
  chownSync(join(folder, 'data'), 10001, 10001);
  writeFileSync(join(folder, 'annals.config.ts'), configuration);
  return folder;
}

/** The service as PID 1 of the image, and a way to run a command beside it. */
async function startImage(t: TestContext, site: string, more: readonly string[] = []) {
  const program = `/usr/local/bin/${config.Entrypoint[0]}`;
  const words = ['--mount', '--pid', '--fork', '--kill-child', 'sh', '-ec', script, 'sh', image, site];
  const child = spawn('unshare', [...words, program, ...config.Cmd, ...more], {
    env: { ...environment, PATH: `${process.env.PATH}` },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  // A process that has changed its user outlives unshare.
  t.after(() => {
    for (const pid of childrenOf(child.pid)) process.kill(pid, 'SIGKILL');
    child.kill('SIGKILL');
  });
  const exited = new Promise<number | null>((resolve) => child.once('exit', resolve));
  let printed = '';
  child.stderr.setEncoding('utf8').on('data', (text) => {
    printed += text;
  });
  const url = await new Promise<string>((resolve, reject) => {
    child.stdout.setEncoding('utf8').on('data', (text) => {
      printed += text;
      const found = /^listening on http:\/\/\S+:(\d+)$/m.exec(printed);
      if (found) resolve(`http://127.0.0.1:${found[1]}`);
    });
    exited.then((code) => reject(new Error(`it ended with ${code}: ${printed}`)));
  });
  const [first = 0] = childrenOf(child.pid);
  return {
    url,
    token: /setup\?token=(\S+)/.exec(printed)?.[1],
    key: /API key +(\S+)/.exec(printed)?.[1] ?? '',
    /** Runs a command in the container as `docker exec` does. */
    execute: (...args: string[]) =>
      run(
        'nsenter',
        ['--target', String(first), '--mount', '--pid', 'chroot', '--userspec=10001:10001', image, program, ...args],
        {
          env: { ...environment, PATH: `${process.env.PATH}` },
        },
      ),
    /** The only folder beside the data that could be written to. */
    temporary: () => readdirSync(`/proc/${first}/root/tmp`),
    /** Stops the container as `docker stop` does: the signal goes to PID 1. */
    stop: () => {
      process.kill(first, 'SIGTERM');
      return exited;
    },
  };
}

function childrenOf(pid: number | undefined): number[] {
  const file = `/proc/${pid}/task/${pid}/children`;
  return existsSync(file) ? readFileSync(file, 'utf8').trim().split(' ').filter(Boolean).map(Number) : [];
}

function filesBelow(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) =>
    lstatSync(join(folder, name)).isFile(),
  );
}

describe('The image', { skip }, () => {
  it('has at most 137 MB: the service with its admin application, no shell, and a user other than root', () => {
    const files = filesBelow(image);
    const size = files.reduce((sum, name) => sum + statSync(join(image, name)).size, 0);
    assert.ok(size <= 137e6, `${size} bytes`);
    const programs = files.filter((name) => /bin\//.test(name) && !/\.(node|json|txt)$/.test(name));
    assert.deepEqual(programs, ['usr/local/bin/annals']);
    assert.deepEqual(
      [config.User, config.Entrypoint, config.Cmd, Object.keys(config.Volumes), config.Healthcheck.Test],
      ['10001:10001', ['annals'], ['serve'], ['/data'], ['CMD', 'annals', 'health']],
    );
    const { uid, mode } = statSync(join(image, 'data'));
    assert.deepEqual([uid, mode & 0o777], [10001, 0o700]);
  });

  it('serves with a read-only root as PID 1 and another user: documents, logins, uploads, commands beside it', async (t) => {
    const site = siteFolder(t);
    const { url, key, token, execute, temporary, stop } = await startImage(t, site);
    const call = callerOf(url);
    const account = { email: 'ada@example.org', password: 'correct horse' };
    const first = { setupToken: token, ...account };
    assert.equal((await call('POST', '/api/collections/users/first-user', first, { key: null })).status, 201);
    assert.equal((await call('POST', '/api/collections/users/login', account, { key: null })).status, 200);
    const form = new FormData();
    form.set('file', new Blob(['a note']), 'note.txt');
    const sent = await fetch(`${url}/api/collections/pictures`, {
      method: 'POST',
      headers: { 'x-api-key': key },
      body: form,
    });
    assert.equal(sent.status, 201, await sent.text());
    assert.match((await execute('verify')).stdout, /^sound: the log is whole/m);
    await execute('health');
    // Nothing is written but to the volume, where compiled code is kept for the next start.
    assert.deepEqual(temporary(), []);
    assert.equal(await stop(), 0);
    assert.ok(readdirSync(join(site, 'data', '.cache', 'annals')).length > 0);
  });

  it('ends with 0 on SIGTERM under load, and loses nothing that it has acknowledged', async (t) => {
    const site = siteFolder(t);
    const { url, key, stop } = await startImage(t, site);
    const acknowledged: string[] = [];
    let isOver = false;
    const clients = Array.from({ length: 4 }, async (_, client) => {
      for (let index = 0; !isOver; index += 1) {
        const text = `${client}-${index}`;
        const answer = await callerOf(url)('POST', '/api/collections/notes', { text }, { key }).catch(() => null);
        if (answer === null) return;
        if (answer.status === 201) acknowledged.push(text);
      }
    });
    while (acknowledged.length < 100)
      await Promise.race([Promise.all(clients), new Promise((resolve) => setTimeout(resolve, 10))]);
    assert.equal(await stop(), 0);
    isOver = true;
    await Promise.all(clients);

    const again = await startImage(t, site);
    const found = new Set<string>();
    for (let page = 1, isMore = true; isMore; page += 1) {
      const path = `/api/collections/notes?limit=100&page=${page}`;
      const { body } = await callerOf(again.url)('GET', path, undefined, { key: again.key });
      for (const { text } of body.docs) found.add(text);
      isMore = body.hasNextPage;
    }
    assert.deepEqual(
      acknowledged.filter((text) => !found.has(text)),
      [],
    );
    assert.equal(await again.stop(), 0);
  });

  it('starts with the configuration of annals init, if none is mounted', async (t) => {
    const site = siteFolder(t);
    writeFileSync(join(site, 'annals.config.ts'), readFileSync(join(image, 'app/annals.config.ts')));
    const { url, key, stop } = await startImage(t, site);
    assert.equal((await callerOf(url)('POST', '/api/collections/notes', { text: 'first' }, { key })).status, 201);
    assert.equal(await stop(), 0);
  });
});
