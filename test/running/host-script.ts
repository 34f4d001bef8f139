import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import type { TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import { type TestConfig, temporaryFolder, writeConfig } from '../helpers/service.ts';

/**
 * Runs a script whose hapi server has the service for one request, and checks that it ends by itself once that server
 * has stopped, with the environment that it had.
 *
 * @param path what is asked, below the service.
 * @param told an expression of JavaScript, of the `result` of the answer.
 * @param expected its value.
 */
export async function assertEnds(
  t: TestContext,
  config: TestConfig,
  { path, told, expected }: { path: string; told: string; expected: string },
): Promise<void> {
  const folder = temporaryFolder(t);
  const file = writeConfig(folder, `export default ${JSON.stringify(config)}; export const seed = async () => {};`);
  const script = join(folder, 'host.ts');
  const module = new URL('../../server/index.ts', import.meta.url).href;
  writeFileSync(
    script,
    `import Hapi from '${import.meta.resolve('@hapi/hapi')}';
    import { annals } from '${module}';
    const server = Hapi.server();
    const options = { config: '${file}', data: '${join(folder, 'data')}', baseUrl: 'http://example.org/cms' };
    const before = JSON.stringify(process.env);
    await server.register({ plugin: annals, options, routes: { prefix: '/cms' } });
    const { statusCode, result } = await server.inject('/cms${path}');
    await server.stop();
    console.log(statusCode, ${told}, before === JSON.stringify(process.env));`,
  );
  const child = spawn(process.execPath, [script], { cwd: fileURLToPath(new URL('../..', import.meta.url)) });
  t.after(() => child.kill());
  const [stdout, stderr, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'exit')]);
  assert.deepEqual([code, stdout], [0, `200 ${expected} true\n`], stderr);
  assert.match(stderr, /a seed, which only annals serve runs/);
}
