import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { runHere } from '../../helpers/in-process.ts';
import {
  type Answer,
  apiKey,
  type Service,
  startService,
  temporaryFolder,
  writeConfig,
} from '../../helpers/service.ts';
import { eventually, launch, logLines, recordedEvents, sendRaw, useService } from '../../helpers/shared.ts';

const config = `
import { threadId } from 'node:worker_threads';
let state = 'fresh';
export default { collections: [{
  slug: 'posts',
  access: { read: () => true },
  fields: [{ name: 'title', type: 'text' }, { name: 'n', type: 'number', index: true }, { name: 'thread', type: 'number' },
    { name: 'code', type: 'text', unique: true }],
  hooks: {
    beforeChange: [async ({ data }) => {
      if (data.title === 'throw later') setTimeout(() => { throw new Error('no handler catches this'); }, 20);
      if (data.title === 'throw text later') setTimeout(() => { throw 'only a text'; }, 20);
      if (data.title === 'reject later') Promise.reject(new Error('no caller waits for this'));
      if (data.title === 'exit') process.exit(7);
      if (data.title?.endsWith(' later')) await new Promise(() => {});
      return data;
    }],
    afterRead: [({ data }) => ({ ...data, thread: threadId })],
  },
}] };`;
const posts = '/api/collections/posts';
const threads = (count: number) => ({ ANNALS_THREADS: String(count) });

/** A call on a connection of its own: whichever thread gets it. */
async function fresh(service: Service, method: string, path: string, body?: object): Promise<Answer> {
  const text = body ? JSON.stringify(body) : '';
  const head = `${method} ${path} HTTP/1.1\r\nhost: x\r\nx-api-key: ${apiKey}\r\nconnection: close\r\n`;
  const rest = body
    ? `content-type: application/json\r\ncontent-length: ${Buffer.byteLength(text)}\r\n\r\n${text}`
    : '\r\n';
  return sendRaw(service.url, head + rest);
}

describe('Several threads', () => {
  const service = useService(config, threads(3));

  it('say once that a page is refused', async () => {
    const origin = 'https://app.example.org';
    for (let n = 0; n < 20; n += 1) {
      const line = `GET ${posts} HTTP/1.1\r\nhost: x\r\norigin: ${origin}\r\nconnection: close\r\n\r\n`;
      assert.equal((await sendRaw(service.url, line)).status, 200);
    }
    await eventually(() => logLines(service).filter(({ path }) => path === posts).length === 20);
    assert.equal(logLines(service).filter(({ msg }) => msg?.includes(`cors: ['${origin}']`)).length, 1);
  });

  it('answer on one port, and what one has written every one reads', async () => {
    const answering = new Set<number>();
    for (let n = 0; n < 60; n += 1) {
      const { body } = await fresh(service, 'POST', posts, { title: `t${n}`, n });
      const read = await fresh(service, 'GET', `${posts}/${body.id}`);
      assert.deepEqual([read.status, read.body.title], [200, `t${n}`]);
      const changed = await fresh(service, 'PATCH', `${posts}/${body.id}`, { n: n + 1000 });
      assert.equal(changed.status, 200);
      const list = await fresh(service, 'GET', `${posts}?where[n][equals]=${n + 1000}`);
      assert.deepEqual([list.body.total, list.body.docs[0]?.id], [1, body.id]);
      for (const { thread } of [body, read.body, changed.body, list.body.docs[0]]) answering.add(thread);
    }
    assert.equal((await fresh(service, 'GET', `${posts}?limit=1`)).body.total, 60);
    assert.equal(answering.size, 3);
  });

  it('make ids that only go up, and one of rivals gets a unique value', async () => {
    const answers = await Promise.all(
      Array.from({ length: 60 }, (_, n) => fresh(service, 'POST', posts, { title: `r${n}`, code: `c${n % 20}` })),
    );
    const statuses = answers.map(({ status }) => status).sort();
    assert.deepEqual(statuses, [...Array(20).fill(201), ...Array(40).fill(409)]);
    const { body } = await fresh(service, 'POST', posts, { title: 'last' });
    for (const answer of answers) if (answer.status === 201) assert.ok(answer.body.id < body.id);
  });

  it('change one document at the same time and lose no change', async () => {
    const { body } = await fresh(service, 'POST', posts, { title: 'shared', n: 0 });
    const answers = await Promise.all(
      Array.from({ length: 60 }, (_, n) => fresh(service, 'PATCH', `${posts}/${body.id}`, { n: n + 1 })),
    );
    for (const { status } of answers) assert.equal(status, 200);
    assert.equal(recordedEvents(service.data, `posts/${body.id}`).length, 61);
  });

  it('log whole lines, one for each request', async () => {
    const count = 300;
    await Promise.all(Array.from({ length: count }, (_, n) => service.call('GET', `${posts}/seen-${n}`)));
    // Parsed once all are there: that costs more than to wait for them.
    await eventually(() => service.output().stderr.split('/seen-').length > count);
    const seen = await eventually(() => {
      const found = logLines(service).filter(({ path }) => path?.includes('/seen-'));
      return found.length >= count && found.map(({ path }) => path);
    });
    assert.equal(new Set(seen).size, count);
  });

  it('do not share their port with another service', async (t) => {
    const { port } = new URL(service.url);
    const folder = temporaryFolder(t);
    const args = ['serve', '--config', writeConfig(folder, config), '--data', folder, '--port', port];
    for (const count of ['1', '2']) {
      const { code, stderr } = await runHere([...args, '--threads', count]);
      assert.deepEqual([code, /port is in use/.test(stderr)], [2, true], stderr);
    }
  });
});

describe('A thread that dies', () => {
  for (const count of [1, 2]) {
    it(`is replaced (of ${count}): its requests fail once, and what was acknowledged is there`, async (t) => {
      const service = await startService(t, config, { environment: threads(count) });
      const { pid } = service.child;
      const acknowledged = new Map<string, string>();
      let isOver = false;
      // Otherwise a test that fails before their end would never end.
      t.after(() => {
        isOver = true;
      });
      const writers = Array.from({ length: 8 }, async (_, writer) => {
        for (let n = 0; !isOver; n += 1) {
          const title = `w${writer}-${n}`;
          const answer = await fresh(service, 'POST', posts, { title }).catch(() => null);
          if (answer?.status === 201) acknowledged.set(answer.body.id, title);
          await sleep(answer?.status === 201 ? 5 : 20);
        }
      });
      const replaced = () => service.output().stderr.split('another one takes its place').length - 1;
      const tenMore = () => {
        const wanted = acknowledged.size + 10;
        return eventually(() => acknowledged.size >= wanted);
      };
      for (const [index, title] of ['throw later', 'exit', 'throw text later', 'reject later'].entries()) {
        await tenMore();
        await assert.rejects(service.call('POST', posts, { title }, { headers: { connection: 'close' } }), title);
        await eventually(() => replaced() === index + 1);
      }
      await tenMore();
      isOver = true;
      await Promise.all(writers);
      assert.deepEqual([service.child.pid, service.child.exitCode], [pid, null]);
      for (const [id, title] of acknowledged) {
        const { status, body } = await service.call('GET', `${posts}/${id}`);
        assert.deepEqual([status, body.title], [200, title]);
      }
      assert.equal(logLines(service).filter(({ msg }) => /another one takes its place/.test(msg)).length, 4);
      const said = service.output().stderr;
      for (const reason of [
        'no handler catches this',
        'no caller waits for this',
        'only a text',
        'the thread exited with 7',
      ]) {
        assert.ok(said.includes(reason), reason);
      }
      assert.equal(await service.stop(), 0);
      assert.equal((await runHere(['verify', '--data', service.data])).code, 0);
    });
  }
});

describe('--threads', () => {
  it('is a whole number', async (t) => {
    const file = writeConfig(temporaryFolder(t), config);
    for (const value of ['-1', 'two', '1.5', '257', '']) {
      const { code, stderr } = await runHere(['serve', '--config', file, `--threads=${value}`]);
      assert.equal(code, 2);
      assert.match(stderr, /^--threads must be a whole number from 0 to 256, got "/m);
    }
  });

  it('is at least 1 if there are several sites', async (t) => {
    const folder = temporaryFolder(t);
    const sites = join(folder, 'sites.json');
    writeFileSync(
      sites,
      JSON.stringify([{ id: 'one', config: writeConfig(folder, config), data: join(folder, 'one') }]),
    );
    const { code, stderr } = await runHere(['serve', '--threads=0'], { environment: { ANNALS_SITES: sites } });
    assert.equal(code, 2);
    assert.match(stderr, /^--threads must be 1 at least where there are several sites, got "0"$/m);
  });

  it('takes a port that is free', async (t) => {
    const other = createServer().listen(0, '127.0.0.1');
    await new Promise((resolve) => other.once('listening', resolve));
    const { port } = other.address() as { port: number };
    await new Promise((resolve) => other.close(resolve));
    const folder = temporaryFolder(t);
    const file = writeConfig(folder, config);
    const args = ['serve', '--config', file, '--data', folder, '--port', String(port), '--threads', '2'];
    assert.equal(await launch(t, args).listening, `http://127.0.0.1:${port}`);
  });

  it('whose configuration fails in a thread is a start that is refused in words', async (t) => {
    const source = `import { isMainThread } from 'node:worker_threads';
      if (!isMainThread) throw new Error('not in a thread');
      export default { collections: [{ slug: 'posts', fields: [{ name: 'title', type: 'text' }] }] };`;
    const folder = temporaryFolder(t);
    const args = ['serve', '--config', writeConfig(folder, source), '--data', folder, '--port', '0'];
    const { code, stderr } = await runHere(args, { environment: threads(1) });
    assert.equal(code, 2);
    assert.match(stderr, /^a thread could not start: .* cannot be loaded: not in a thread, at .*:\d+:\d+$/m);
    assert.doesNotMatch(stderr, /^\s+at /m);
  });
});
