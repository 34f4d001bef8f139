import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import bcrypt from 'bcrypt';
import { hashThreads } from '../../server/accounts/hash.ts';
import { temporaryFolder } from '../helpers/service.ts';

function start(t: TestContext, count: number, module?: URL) {
  const threads = hashThreads({ count, ...(module ? { module } : {}) });
  t.after(threads.close);
  return threads;
}

/** A thread that ends at the password "always", and the first time at "once", else answers with the password. */
function fragileModule(t: TestContext): URL {
  const folder = temporaryFolder(t);
  const file = join(folder, 'thread.mjs');
  writeFileSync(
    file,
    `import { existsSync, writeFileSync } from 'node:fs';
     import { parentPort } from 'node:worker_threads';
     const marker = ${JSON.stringify(join(folder, 'ended'))};
     parentPort.on('message', ({ password }) => {
       if (password === 'always') process.exit(1);
       if (password === 'once' && !existsSync(marker)) {
         writeFileSync(marker, '');
         throw new Error('out of memory');
       }
       parentPort.postMessage({ value: password });
     });`,
  );
  return pathToFileURL(file);
}

describe('the threads that hash passwords', () => {
  it('make hashes that bcrypt knows, of the cost that is asked for, and compare with them', async (t) => {
    const threads = start(t, 2);
    const hash = await threads.hash('correct horse', 5);
    assert.equal(bcrypt.getRounds(hash), 5);
    assert.ok(bcrypt.compareSync('correct horse', hash));
    assert.equal(await threads.compare('correct horse', hash, 5), true);
    assert.equal(await threads.compare('wrong horse', hash, 5), false);
  });

  it('compare with a hash of another cost than is usual now', async (t) => {
    const threads = start(t, 1);
    for (const cost of [4, 7]) {
      const hash = bcrypt.hashSync('correct horse', cost);
      assert.deepEqual(
        [await threads.compare('correct horse', hash, 6), await threads.compare('wrong horse', hash, 6)],
        [true, false],
      );
    }
  });

  it('end after an idle time if they are told to, and begin again', async (t) => {
    const file = join(temporaryFolder(t), 'thread.mjs');
    writeFileSync(
      file,
      `import { parentPort, threadId } from 'node:worker_threads';
       parentPort.on('message', () => parentPort.postMessage({ value: threadId }));`,
    );
    const threads = hashThreads({ count: 1, restMilliseconds: 20, module: pathToFileURL(file) });
    t.after(threads.close);
    const first = await threads.hash('a', 4);
    assert.equal(await threads.hash('b', 4), first);
    await sleep(100);
    assert.notEqual(await threads.hash('c', 4), first);
  });

  it('do more than there are threads of them, each to its own caller', async (t) => {
    const threads = start(t, 2);
    const words = Array.from({ length: 20 }, (_, index) => `word ${index}`);
    const hashes = await Promise.all(words.map((word) => threads.hash(word, 4)));
    for (const [index, word] of words.entries()) assert.ok(bcrypt.compareSync(word, hashes[index] as string));
  });

  it('refuse to compare with a text that is not a hash, and go on', async (t) => {
    const threads = start(t, 1);
    await assert.rejects(threads.compare('correct horse', '$2b$04$short', 4), /not a bcrypt hash/);
    assert.match(await threads.hash('correct horse', 4), /^\$2b\$04\$/);
  });

  it('are replaced when one ends, and what it was doing is done again', async (t) => {
    const threads = start(t, 1, fragileModule(t));
    const all = await Promise.all(['before', 'once', 'after'].map((word) => threads.hash(word, 4)));
    assert.deepEqual(all, ['before', 'once', 'after']);
  });

  it('say so when one ends at the same again, and do the rest', async (t) => {
    const threads = start(t, 1, fragileModule(t));
    const [bad, good] = await Promise.allSettled([threads.hash('always', 4), threads.hash('after', 4)]);
    assert.match(String((bad as PromiseRejectedResult).reason), /a worker that hashes passwords ended/);
    assert.deepEqual(good, { status: 'fulfilled', value: 'after' });
  });

  it('end when they are closed, and leave no call waiting', async (t) => {
    const threads = start(t, 1);
    const results = Promise.allSettled([threads.hash('running', 12), threads.hash('waiting', 4)]);
    await threads.close();
    assert.deepEqual(
      (await results).map(({ status }) => status),
      ['rejected', 'rejected'],
    );
    await assert.rejects(threads.hash('too late', 4), /ending/);
  });

  it('keep a process from ending only while they have something to do', (t) => {
    const file = join(temporaryFolder(t), 'script.mjs');
    const module = new URL('../../server/accounts/hash.ts', import.meta.url).href;
    writeFileSync(
      file,
      `import { hashThreads } from ${JSON.stringify(module)};
       hashThreads({ count: 2 }).hash('a word', 4).then((hash) => console.log(hash.slice(0, 7)));`,
    );
    const { stdout, stderr, status } = spawnSync(process.execPath, [file], { encoding: 'utf8', timeout: 60_000 });
    assert.deepEqual([stdout, stderr, status], ['$2b$04$\n', '', 0]);
  });
});
