import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const run = promisify(execFile);
const root = fileURLToPath(new URL('../..', import.meta.url));

/** Loads modules in a process of its own. @returns the packages whose CommonJS modules it has loaded. */
async function packagesOf(code: string): Promise<Set<string>> {
  const list = `
    const { createRequire } = await import('node:module');
    const paths = Object.keys(createRequire(process.cwd() + '/x.js').cache);
    console.log(JSON.stringify(paths.map((path) => /node_modules[/\\\\]((?:@[^/\\\\]+[/\\\\])?[^/\\\\]+)/.exec(path)?.[1])));
    process.exit();`;
  const { stdout } = await run(process.execPath, ['--input-type=module', '--eval', code + list], { cwd: root });
  return new Set(JSON.parse(stdout));
}

describe('The driver of PostgreSQL', () => {
  it('is not loaded by a service that has its log in SQLite', async () => {
    const loaded = await packagesOf(`
      await import('./server/index.ts');
      await import('./server/running/engine/engine.ts');
      await import('./events/postgres/postgres-log.ts');`);
    assert.ok(loaded.has('better-sqlite3'), [...loaded].join());
    assert.deepEqual(
      [...loaded].filter((name) => name?.startsWith('pg')),
      [],
    );
  });

  it('is loaded by a connection', async () => {
    const loaded = await packagesOf(`
      const { connect } = await import('./storage/postgres/connection.ts');
      const address = { hosts: [{ host: '127.0.0.1', port: 1 }], user: 'a', password: 'a', database: 'a', tls: false };
      await connect(address, 5000, () => {}).catch(() => {});`);
    assert.ok(loaded.has('pg'), [...loaded].join());
  });
});
