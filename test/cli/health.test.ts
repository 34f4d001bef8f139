import assert from 'node:assert/strict';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { lockDirectory } from '../../storage/lock.ts';
import { startHere } from '../helpers/embedded.ts';
import { runHere } from '../helpers/in-process.ts';
import { runCommand, startService, temporaryFolder } from '../helpers/service.ts';

const config = { collections: [{ slug: 'posts', fields: [{ name: 'title', type: 'text' }] }] };

const health = (data: string) => runHere(['health', '--data', data]);

/** Holds a data directory as a service does, which answers /ready like this. */
async function holder(t: TestContext, status: number, body: string): Promise<string> {
  const data = temporaryFolder(t);
  const lock = lockDirectory(data, 'annals serve');
  const server = createServer((_request, response) => response.writeHead(status).end(body));
  await new Promise<void>((go) => server.listen(0, '127.0.0.1', go));
  t.after(() => {
    lock.release();
    server.close();
  });
  lock.describe(`http://127.0.0.1:${(server.address() as { port: number }).port}`);
  return data;
}

describe('annals health', () => {
  it('finds the service of a data directory, and is done when that is ready', async (t) => {
    const service = await startService(t, config, { environment: { ANNALS_THREADS: '0' } });
    const { code, stdout, stderr } = await runHere(['health'], { environment: { ANNALS_DATA: service.data } });
    assert.deepEqual([code, stdout, stderr], [0, `ready at ${service.url}\n`, '']);
    await service.kill();
    assert.ok(existsSync(join(service.data, 'lock.json')));
    const killed = await health(service.data);
    assert.deepEqual([killed.code, killed.stdout], [1, '']);
    assert.match(killed.stderr, /^annals serve, process \d+ on \S+, does not answer at http:\/\/127\.0\.0\.1:\d+\n$/);
  });

  it('finds a service below a path of another server, once that knows where it is called', async (t) => {
    const service = await startHere(t, config, { path: '/cms' });
    assert.match((await health(service.data)).stderr, /does not answer requests yet/);
    await service.call('GET', '/ready');
    assert.deepEqual(await health(service.data), { code: 0, stdout: `ready at ${service.url}\n`, stderr: '' });
  });

  it('fails if no service runs, and makes nothing', async (t) => {
    const data = join(temporaryFolder(t), 'none');
    assert.deepEqual(await health(data), { code: 1, stdout: '', stderr: `no service works on ${data}\n` });
    assert.ok(!existsSync(data));
  });

  it('fails while the service starts, stops or refuses writes, and says which', async (t) => {
    for (const status of ['starting', 'stopping', 'full']) {
      const { code, stderr } = await health(await holder(t, 503, JSON.stringify({ status })));
      assert.equal(code, 1);
      assert.match(stderr, new RegExp(`^not ready at http://127\\.0\\.0\\.1:\\d+: ${status}\n$`));
    }
  });

  it('fails if another program answers at the address', async (t) => {
    const { code, stderr } = await health(await holder(t, 404, '<html>'));
    assert.equal(code, 1);
    assert.match(stderr, /its answer is not that of a service/);
  });

  it('does not ask an address of another machine', async (t) => {
    const data = temporaryFolder(t);
    const held = { pid: 7, host: `not-${hostname()}`, since: '', what: 'annals serve', address: 'http://127.0.0.1:1' };
    writeFileSync(join(data, 'lock.json'), JSON.stringify(held));
    const { code, stderr } = await health(data);
    assert.deepEqual([code, /another machine/.test(stderr)], [1, true]);
  });

  it('asks the process of several sites by any of them', async (t) => {
    const [first, second] = [temporaryFolder(t), await holder(t, 200, '{"status":"ready"}')];
    const file = join(first, 'sites.json');
    mkdirSync(join(first, 'data'));
    const site = { config: 'annals.config.ts', baseUrl: 'https://cms.example.org' };
    writeFileSync(
      file,
      JSON.stringify([
        { id: 'one', data: join(first, 'data'), ...site, apiKeys: ['first-key-000000000'], secrets: ['a'.repeat(32)] },
        { id: 'two', data: second, ...site, apiKeys: ['other-key-000000000'], secrets: ['b'.repeat(32)] },
      ]),
    );
    const { code, stdout, stderr } = await runHere(['health'], { environment: { ANNALS_SITES: file } });
    assert.deepEqual([code, stderr], [0, '']);
    assert.match(stdout, /^ready at /);
  });

  it('refuses a wrong command line with exit code 2, as other commands do', async () => {
    const { code, stderr } = await runHere(['health', '--port', '1'], { environment: { ANNALS_PROT: '1' } });
    assert.equal(code, 2);
    assert.match(stderr, /^unknown flag --port; .*\n(.*\n)*unknown environment variable ANNALS_PROT/);
    assert.match((await runCommand(['health', '--help'])).stdout, /^annals health \[--data DIR\]/);
  });
});
