import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, writeFileSync } from 'node:fs';
import { Agent, type ClientRequest, type IncomingMessage, request } from 'node:http';
import { connect } from 'node:net';
import { join } from 'node:path';
import { json } from 'node:stream/consumers';
import { describe, it } from 'node:test';
import { codeOf } from '../../storage/errors.ts';
import { annalsWords } from '../helpers/command.ts';
import { startHere } from '../helpers/embedded.ts';
import {
  apiKey,
  inherited,
  runCommand,
  type Service,
  startService,
  temporaryFolder,
  writeConfig,
} from '../helpers/service.ts';
import { eventually, launch, recordedEvents, useFolder } from '../helpers/shared.ts';
import { config, isTaken, noThreads, posts, slowConfig } from './serving.ts';

const shared = useFolder();
const configFile = writeConfig(shared, config);

const hasTerminals = process.platform === 'linux' && spawnSync('script', ['--version']).status === 0;

/** Writes without a pause, each writer over one connection as long as that is kept, until none can be made. */
function writeOverKept(service: Service, count: number) {
  const agent = new Agent({ keepAlive: true, maxSockets: count });
  const ids: string[] = [];
  const lines = { closed: 0, broken: [] as string[] };
  const headers = { 'x-api-key': apiKey, 'content-type': 'application/json' };

  async function write(asked: ClientRequest): Promise<void> {
    const [answer] = (await once(asked, 'response')) as [IncomingMessage];
    const { id } = (await json(answer)) as { id: string };
    assert.equal(answer.statusCode, 201);
    ids.push(id);
    if (answer.headers.connection === 'close') lines.closed += 1;
  }

  async function work(): Promise<void> {
    for (;;) {
      const asked = request(service.url + posts, { method: 'POST', agent, headers }).end('{"title":"Bilby"}');
      try {
        await write(asked);
      } catch (error) {
        // A new connection that the service has not accepted yet is reset when its listener closes.
        const isNew = !asked.reusedSocket && codeOf(error) === 'ECONNRESET';
        if (codeOf(error) !== 'ECONNREFUSED' && !isNew) lines.broken.push(String(error));
        return;
      }
    }
  }

  return { ids, lines, over: Promise.all(Array.from({ length: count }, work)).finally(() => agent.destroy()) };
}

describe('The end of a service', () => {
  it('at a signal lets the requests in flight finish, takes no new ones, and exits with 0', async (t) => {
    const endBy = async (signal: NodeJS.Signals) => {
      const gate = join(temporaryFolder(t), 'gate');
      const service = await startService(t, slowConfig(gate));
      let isAnswered = false;
      const slow = service.call('POST', posts, { title: 'slow' }, { key: null });
      slow.finally(() => {
        isAnswered = true;
      });
      await eventually(() => service.output().stderr.includes('asked'));
      // Twice, as Ctrl-C under npm sends it.
      service.child.kill(signal);
      setTimeout(() => service.child.kill(signal), 50);
      while (await isTaken(service.url)) await new Promise((resolve) => setTimeout(resolve, 10));
      assert.ok(!isAnswered);
      writeFileSync(gate, '');
      const answer = await slow;
      assert.deepEqual([answer.status, answer.body.title], [201, 'slow']);
      assert.equal(await service.stop(), 0);
      assert.equal(recordedEvents(service.data, `posts/${answer.body.id}`).length, 1);
    };
    await Promise.all([endBy('SIGTERM'), endBy('SIGINT')]);
  });
});

describe('The end of a service that was interrupted', () => {
  it('comes after the line of each request is written', async (t) => {
    const environment = { ANNALS_LOG_LEVEL: 'info', ANNALS_THREADS: '2' };
    const service = await startService(t, config, { environment });
    // More than a thread gathers before it hands lines on, and a rest.
    const asked = Array.from({ length: 700 }, (_, index) => `/none/${index}`);
    const ids: (string | null)[] = [];
    for (let from = 0; from < asked.length; from += 20) {
      const some = await Promise.all(asked.slice(from, from + 20).map((path) => fetch(service.url + path)));
      ids.push(...some.map(({ headers }) => headers.get('x-request-id')));
    }
    assert.equal(await service.stop(), 0);
    const lines = service
      .output()
      .stderr.split('\n')
      .filter((line) => line.includes('"path":"/none/'));
    const written: { path: string; requestId: string }[] = lines.map((line) => JSON.parse(line));
    assert.deepEqual(
      new Map(written.map(({ path, requestId }) => [path, requestId])),
      new Map(asked.map((path, at) => [path, ids[at] ?? ''])),
    );
    assert.equal(lines.length, asked.length);
  });

  it('answers what it has said it takes, and does nothing that it has not', async (t) => {
    const service = await startService(t, config, { environment: noThreads });
    const { hostname, port } = new URL(service.url);
    const ask = (title: string) => {
      const body = JSON.stringify({ title });
      const socket = connect(Number(port), hostname);
      let said = '';
      socket
        .on('error', () => {})
        .on('data', (chunk) => {
          said += chunk;
        });
      const head = `POST ${posts} HTTP/1.1\r\nhost: ${hostname}\r\nx-api-key: ${apiKey}\r\nexpect: 100-continue\r\n`;
      const rest = `content-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n`;
      return { socket, begin: () => socket.write(head + rest), go: () => socket.write(body), said: () => said };
    };
    const [taken, late] = [ask('taken'), ask('late')];
    const isOver = once(late.socket, 'end');
    taken.begin();
    await eventually(() => taken.said().startsWith('HTTP/1.1 100 Continue'));
    service.child.kill('SIGTERM');
    // The service ends the connections over which nothing has come: so it has begun to stop.
    await isOver;
    late.begin();
    late.go();
    taken.go();
    await eventually(() => taken.said().includes('HTTP/1.1 201 Created'));
    assert.equal(await service.stop(), 0);
    assert.equal(late.said(), '');
    assert.equal(recordedEvents(service.data).filter(({ type }) => type === 'document.created').length, 1);
  });

  for (const [threads, drain] of [
    ['0', '0'],
    ['2', '0'],
    ['2', '1'],
  ] as const) {
    it(`breaks off no kept connection of 32 writers (${threads} threads, drained for ${drain} s)`, async (t) => {
      const environment = { ANNALS_THREADS: threads, ANNALS_DRAIN_SECONDS: drain };
      const service = await startService(t, config, { environment });
      const { ids, lines, over } = writeOverKept(service, 32);
      await eventually(() => ids.length > 300);
      service.child.kill('SIGTERM');
      assert.equal(await service.stop(), 0);
      await over;
      const recorded = recordedEvents(service.data).filter(({ type }) => type === 'document.created');
      const known = new Set(recorded.map(({ stream }) => stream));
      assert.deepEqual([lines.broken, ids.filter((id) => !known.has(`posts/${id}`))], [[], []]);
      // The client knows of everything that was done.
      assert.equal(known.size, ids.length);
      assert.ok(lines.closed >= 32, `${lines.closed} answers said that their connection ends`);
    });
  }

  it('does not come at SIGHUP, which reloads the configuration, nor by what that interrupts', async (t) => {
    for (const threads of ['0', '1']) {
      const gate = join(temporaryFolder(t), 'gate');
      const service = await startService(t, slowConfig(gate), { environment: { ANNALS_THREADS: threads } });
      const slow = service.call('POST', posts, { title: 'slow' }, { key: null });
      const said = () => service.output().stderr;
      await eventually(() => said().includes('asked'));
      const loads = said().split('loaded').length;
      service.child.kill('SIGHUP');
      // A reload waits for the writes that have begun.
      await eventually(() => said().split('loaded').length > loads);
      writeFileSync(gate, '');
      assert.equal((await slow).status, 201);
      await eventually(() => said().includes('"msg":"the configuration was reloaded: nothing in it has changed"'));
      assert.equal((await service.call('GET', posts)).body.total, 1);
      assert.equal(await service.stop(), 0);
    }
  });

  it('comes at once when the terminal goes that it was started at', { skip: !hasTerminals }, async (t) => {
    const data = join(temporaryFolder(t), 'data');
    const command = [...annalsWords(), 'serve', '--config', configFile, '--data', data, '--port', '0'];
    const words = command.map((word) => `'${word}'`).join(' ');
    const environment = { ...inherited(), ...noThreads };
    const terminal = spawn('script', ['-qec', words, '/dev/null'], {
      env: environment,
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    t.after(() => terminal.kill('SIGKILL'));
    let shown = '';
    terminal.stdout.setEncoding('utf8').on('data', (text) => {
      shown += text;
    });
    const [, url = ''] = await eventually(() => /listening on (\S+)\r/.exec(shown));
    terminal.kill('SIGKILL');
    while (await isTaken(url)) await new Promise((resolve) => setTimeout(resolve, 10));
    await startHere(t, config, { data });
  });

  it('does not wait for what the configuration left running', async (t) => {
    const folder = temporaryFolder(t);
    const source = `setInterval(() => {}, 1000); export default ${JSON.stringify(config)};`;
    assert.equal((await runCommand(['config', 'check', '--config', writeConfig(folder, source)])).code, 0);
    const service = await startService(t, source);
    assert.equal(await service.stop(), 0);
  });

  it('comes at once in the middle of a start, and leaves the directory to the next one', async (t) => {
    const data = temporaryFolder(t);
    const slow = `import { isMainThread } from 'node:worker_threads';
      if (!isMainThread) await new Promise((go) => setTimeout(go, 60_000));
      export default ${JSON.stringify(config)};`;
    const args = ['serve', '--config', writeConfig(shared, slow), '--data', data, '--port', '0'];
    const { child, exited, output } = launch(t, args, { ANNALS_THREADS: '1' });
    await eventually(() => existsSync(join(data, 'log.db')));
    child.kill('SIGTERM');
    assert.deepEqual([await exited, output().stdout], [0, '']);
    const next = await startHere(t, config, { data });
    assert.equal((await next.call('GET', posts)).status, 200);
  });
});
