import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import { temporaryFolder } from '../helpers/service.ts';
import { eventually } from '../helpers/shared.ts';
import { lacks, oldCheckout, works } from './checkout.ts';
import { type Running, run } from './running.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const needsUnix = { skip: process.platform === 'win32' && 'a shell script cannot stand for a Node here' };

/** A checkout whose server only waits until something ends it, and says which signals come. */
function waitingCheckout(t: TestContext): string {
  const folder = oldCheckout(t, works);
  writeFileSync(
    join(folder, 'cli/main.js'),
    `for (const signal of ['SIGHUP', 'SIGINT', 'SIGTERM']) process.on(signal, () => {
      console.log(signal);
      setTimeout(() => process.exit(3), 200);
    });
    setInterval(() => {}, 1000);
    console.log('runs as ' + process.pid);`,
  );
  return folder;
}

async function pidOf({ output }: Running): Promise<number> {
  return eventually(() => Number(/^runs as (\d+)$/m.exec(output().stdout)?.[1]));
}

const signalsOf = ({ output }: Running) => output().stdout.trim().split('\n').slice(1);

describe('On a Node that is new enough', () => {
  it('runtime/annals.js is annals, and there is no other process', needsUnix, async (t) => {
    const running = run(t, waitingCheckout(t), ['runtime/annals.js', 'serve'], { IS_NEW_ENOUGH: 'yes' });
    assert.equal(await pidOf(running), running.child.pid);
    const command = run(t, root, ['runtime/annals.js', 'verify', '--help']);
    assert.deepEqual(await command.ended, [0, null], command.output().stderr);
    assert.match(command.output().stdout, /^annals verify \[--config FILE\]/);
  });

  it('runtime/run.js is Node itself, with its arguments', async (t) => {
    const folder = temporaryFolder(t);
    writeFileSync(
      join(folder, 'script.mjs'),
      `if (import.meta.main) console.log(JSON.stringify([process.pid, ...process.execArgv, ...process.argv]));`,
    );
    const args = ['--no-warnings', 'script.mjs', '--flag', 'a b', ''];
    const running = run(t, folder, [join(root, 'runtime/run.js'), ...args]);
    assert.deepEqual(await running.ended, [0, null], running.output().stderr);
    const [pid, ...told] = JSON.parse(running.output().stdout);
    assert.deepEqual(told, ['--no-warnings', process.execPath, join(folder, 'script.mjs'), '--flag', 'a b', '']);
    if (process.platform !== 'win32') assert.equal(pid, running.child.pid);
  });

  it('the service ends when the shell ends that npm has put before it', needsUnix, async (t) => {
    const folder = waitingCheckout(t);
    const words = [process.execPath, 'runtime/annals.js', 'serve'];
    const running = run(t, folder, ['-c', '"$@"; exit', 'sh', ...words], { IS_NEW_ENOUGH: 'yes' }, 'sh');
    const pid = await pidOf(running);
    assert.notEqual(pid, running.child.pid);
    running.child.kill('SIGTERM');
    await running.ended;
    assert.deepEqual(signalsOf(running), ['SIGTERM']);
  });
});

/** A Node that is too old cannot become another one either. */
const asOlder = ['--import', 'data:text/javascript,process.execve = undefined'];

describe('On a Node that is too old', needsUnix, () => {
  it('runtime/run.js is the one that came along: it has the arguments, what comes in, and says how it ends', async (t) => {
    const folder = oldCheckout(t, works);
    writeFileSync(
      join(folder, 'script.js'),
      `process.stdin.on('data', (text) => process.stderr.write(text)).on('end', () => process.exit(7));
      console.log(JSON.stringify(process.argv.slice(1)));`,
    );
    const running = run(t, folder, [...asOlder, 'runtime/run.js', 'script.js', '--flag', 'a b', '']);
    running.child.stdin?.end('typed');
    assert.deepEqual(await running.ended, [7, null]);
    const { stdout, stderr } = running.output();
    assert.deepEqual([JSON.parse(stdout), stderr], [[join(folder, 'script.js'), '--flag', 'a b', ''], 'typed']);
  });

  for (const signal of ['SIGHUP', 'SIGINT', 'SIGTERM'] as const) {
    it(`the service gets ${signal}, once, and its launcher ends as it ends`, async (t) => {
      const running = run(t, waitingCheckout(t), [...asOlder, 'runtime/annals.js', 'serve']);
      assert.notEqual(await pidOf(running), running.child.pid);
      running.child.kill(signal);
      assert.deepEqual(await running.ended, [3, null], running.output().stderr);
      assert.deepEqual(signalsOf(running), [signal]);
    });
  }

  it('the launcher is ended by the signal that has ended the service', async (t) => {
    const running = run(t, waitingCheckout(t), [...asOlder, 'runtime/annals.js', 'serve']);
    process.kill(await pidOf(running), 'SIGKILL');
    assert.deepEqual(await running.ended, [null, 'SIGKILL']);
  });

  it('the service ends when its launcher is killed', async (t) => {
    const running = run(t, waitingCheckout(t), [...asOlder, 'runtime/annals.js', 'serve']);
    await pidOf(running);
    running.child.kill('SIGKILL');
    // Both processes have the same standard output.
    await running.ended;
    assert.deepEqual(signalsOf(running), ['SIGTERM']);
  });

  it('both end when the shell ends that npm has put before them', async (t) => {
    const words = [process.execPath, ...asOlder, 'runtime/annals.js', 'serve'];
    const running = run(t, waitingCheckout(t), ['-c', '"$@"; exit', 'sh', ...words], {}, 'sh');
    await pidOf(running);
    running.child.kill('SIGTERM');
    await running.ended;
    assert.deepEqual(signalsOf(running), ['SIGTERM']);
  });

  const told = `Annals needs Node 99 or newer; this is ${process.version}, and`;
  const cases: Record<string, [string | undefined, string]> = {
    'lacks a library': [
      lacks('libatomic.so.1'),
      'Node 99.1.0, which npm ci installed, lacks libatomic.so.1: apt-get install libatomic1',
    ],
    'lacks another library': [
      lacks('libexotic.so.2'),
      'Node 99.1.0, which npm ci installed, lacks libexotic.so.2: install the package that has it',
    ],
    'does not start': [
      'printf "version GLIBC_9.9 not found\\nand more\\n" >&2; exit 1',
      'Node 99.1.0, which npm ci installed, does not start: version GLIBC_9.9 not found',
    ],
    'is killed': ['kill -ILL $$', 'Node 99.1.0, which npm ci installed, does not start: it ended with SIGILL'],
    'is not there': [
      undefined,
      `npm ci has installed none for ${process.platform}-${process.arch}: run npm ci again, or install such a Node`,
    ],
  };
  for (const [what, [brought, words]] of Object.entries(cases)) {
    it(`says so in one line when that which came along ${what}`, async (t) => {
      const folder = oldCheckout(t, brought);
      const running = run(t, folder, [...asOlder, 'runtime/annals.js', 'serve']);
      assert.deepEqual(await running.ended, [2, null]);
      assert.deepEqual(running.output(), { stdout: '', stderr: `${told} ${words}\n` });
    });
  }
});
