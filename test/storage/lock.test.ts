import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { describe, it } from 'node:test';
import { LockedError, lockDirectory } from '../../storage/lock.ts';
import { temporaryFolder } from '../helpers/service.ts';

describe('the lock of a data directory', () => {
  it('lets one holder in, tells a second one who that is and where, and is free after it', (t) => {
    const folder = temporaryFolder(t);
    const lock = lockDirectory(folder, 'annals serve');
    const isRefused = (message: RegExp) => (error: unknown) =>
      error instanceof LockedError && message.test(error.message);
    assert.throws(
      () => lockDirectory(folder, 'annals rebuild'),
      isRefused(new RegExp(`annals serve, process ${process.pid} on`)),
    );
    lock.describe('http://127.0.0.1:4000');
    assert.throws(() => lockDirectory(folder, 'annals rebuild'), isRefused(/since .* \(http:\/\/127\.0\.0\.1:4000\)$/));
    lock.release();
    lockDirectory(folder, 'annals rebuild').release();
  });

  it('ends with the process that holds it, however that ends', async (t) => {
    const folder = temporaryFolder(t);
    const module = new URL('../../storage/lock.ts', import.meta.url).href;
    // The process drops the returned lock, and has no garbage left.
    const source = `
      import { lockDirectory } from ${JSON.stringify(module)};
      lockDirectory(${JSON.stringify(folder)}, 'another');
      gc();
      console.log('held');
      setInterval(() => {}, 1000);`;
    const child = spawn(process.execPath, ['--expose-gc', '--input-type=module', '-e', source], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    t.after(() => child.kill('SIGKILL'));
    await once(child.stdout, 'data');
    assert.throws(() => lockDirectory(folder, 'annals serve'), new RegExp(`another, process ${child.pid} on`));
    child.kill('SIGKILL');
    await once(child, 'exit');
    lockDirectory(folder, 'annals serve').release();
  });
});
