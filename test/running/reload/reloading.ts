import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import Database from 'better-sqlite3';
import { schemaStream } from '../../../events/facts/catalogue.ts';
import { runHere } from '../../helpers/in-process.ts';
import { apiKey, callerOf, temporaryFolder } from '../../helpers/service.ts';
import { launch, recordedData, recordedEvents } from '../../helpers/shared.ts';

/** The collection whose documents have the mark of the configuration. */
export const posts = '/api/collections/posts';

/** The texts of files by their names. */
export type Files = Record<string, string>;

/** The configuration in four modules: TypeScript, CommonJS, JSON. Its hooks write `mark`. */
export function filesOf(mark: string, more: Files = {}): Files {
  return {
    'annals.config.ts': `import { existsSync } from 'node:fs';
      import { canRead } from './rules.ts';
      import { stamp } from './hooks.cjs';
      import limits from './limits.json' with { type: 'json' };
      export default { bcryptCost: 4, collections: [
        { slug: 'posts', access: { read: canRead, create: () => true },
          hooks: { beforeChange: [({ data }) => ({ ...data, mark: stamp(data) })] },
          fields: [{ name: 'title', type: 'text', maxLength: limits.title }, { name: 'mark', type: 'text' }] },
        { slug: 'slow', access: { create: async () => {
            console.error('asked');
            while (!existsSync(new URL('./go', import.meta.url))) await new Promise((go) => setTimeout(go, 20));
            return true; } },
          fields: [{ name: 'title', type: 'text' }] },
        { slug: 'users', auth: true, fields: [] } ],
        email: { templates: { passwordReset: { subject: () => 'Reset ${mark}' } } } };`,
    'rules.ts': 'export const canRead = (): boolean => true;',
    'hooks.cjs': `exports.stamp = ({ title }) => {
      if (title === 'throw') setTimeout(() => { throw new Error('no handler catches this'); });
      return '${mark}'; };`,
    'limits.json': '{ "title": 10 }',
    ...more,
  };
}

/** Saves files of a configuration. */
export function write(folder: string, files: Files): void {
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
}

/** Starts a service by a configuration of several files. */
export async function begin(t: TestContext, command: 'serve' | 'dev', environment: Record<string, string> = {}) {
  const folder = temporaryFolder(t);
  write(folder, filesOf('one'));
  const data = join(folder, 'data');
  const args = [command, '--config', join(folder, 'annals.config.ts'), '--data', data, '--port', '0'];
  const launched = launch(t, args, { ANNALS_API_KEY: apiKey, ANNALS_THREADS: '2', ...environment });
  const url = await launched.listening;
  const reload = (...flags: string[]) => runHere(['reload', '--data', data, ...flags]);
  return { ...launched, folder, data, url, reload, call: callerOf(url) };
}

/** A started service. */
export type Begun = Awaited<ReturnType<typeof begin>>;

/** The mark that a new document gets: that of the configuration in force. */
export const markOf = async ({ call }: Begun) => (await call('POST', posts, { title: 'x' })).body.mark;

/**
 * Reads and writes until it is told to end, on connections that are kept and on new ones; gives all that was not as it
 * should.
 */
export function hammer({ url }: Begun): () => Promise<{ failures: string[]; count: number }> {
  let isOver = false;
  let count = 0;
  const failures: string[] = [];
  const kept = new Agent({ keepAlive: true, maxSockets: 4 });
  function once(method: string, agent: Agent | false): Promise<void> {
    return new Promise((resolve) => {
      const failed = (why: string) => {
        failures.push(`${method} ${agent ? 'kept' : 'new'}: ${why}`);
        resolve();
      };
      const headers = { 'x-api-key': apiKey, 'content-type': 'application/json' };
      const outgoing = request(`${url}${posts}${method === 'GET' ? '?limit=1' : ''}`, { method, agent, headers });
      outgoing.on('error', (error) => failed(error.message));
      outgoing.on('response', (response) => {
        response.on('error', (error) => failed(error.message)).resume();
        response.on('end', () => {
          count += 1;
          if (response.statusCode === (method === 'GET' ? 200 : 201)) resolve();
          else failed(`answered with ${response.statusCode}`);
        });
      });
      outgoing.end(method === 'GET' ? undefined : '{"title":"h"}');
    });
  }
  const clients = [kept, kept, kept, false as const, false as const].flatMap((agent) =>
    ['GET', 'POST'].map(async (method) => {
      while (!isOver) await once(method, agent);
    }),
  );
  return async () => {
    isOver = true;
    await Promise.all(clients);
    kept.destroy();
    return { failures, count };
  };
}

/**
 * Reloads a service under load, marked as `one`, and checks that no client noticed, and that the log has each write
 * beside its rules.
 */
export async function reloadUnderLoad(service: Begun): Promise<void> {
  const { folder, data, reload, call } = service;
  const end = hammer(service);
  await sleep(300);
  for (const mark of ['two', 'three', 'four']) {
    write(folder, filesOf(mark));
    const { code, stdout, stderr } = await reload();
    assert.deepEqual([code, stdout, stderr], [0, 'reloaded\nemail.templates.passwordReset.subject was changed\n', '']);
    assert.equal(await markOf(service), mark);
  }
  write(folder, filesOf('five', { 'rules.ts': 'export const canRead = ({ user }): boolean => user !== null;' }));
  assert.match((await reload()).stdout, /^collections\.posts\.access\.read was changed$/m);
  assert.equal((await call('GET', posts, undefined, { key: null })).status, 401);
  const { failures, count } = await end();
  assert.deepEqual(failures, []);
  assert.ok(count > 100, `${count} requests`);

  // In the log, each write is on the side of the rules that admitted it.
  const schemas = recordedEvents(data, schemaStream);
  assert.equal(schemas.length, 2);
  const [before, after] = recordedData(data, schemaStream).map(
    ({ rules }) => rules as Record<string, { sha256: string }>,
  );
  assert.notEqual(before?.['posts.read']?.sha256, after?.['posts.read']?.sha256);
  const changed = schemas[1]?.position ?? 0;
  for (const { position, mark } of marksIn(data))
    assert.equal(mark === 'five', position > changed, `${position}: ${mark}`);
}

function marksIn(data: string): { position: number; mark: string }[] {
  const db = new Database(join(data, 'log.db'), { readonly: true });
  try {
    return db
      .prepare<[], { position: number; mark: string }>(
        `SELECT position, body ->> '$.data.mark' AS mark FROM events JOIN payloads USING (position)
         WHERE stream LIKE 'posts/%' ORDER BY position`,
      )
      .all();
  } finally {
    db.close();
  }
}
