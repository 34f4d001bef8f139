import assert from 'node:assert/strict';
import { join } from 'node:path';
import { before, describe, it } from 'node:test';
import { startHere, useServiceHere } from '../helpers/embedded.ts';
import { runHere } from '../helpers/in-process.ts';
import { assertRecorded } from '../helpers/recorded.ts';
import { apiKey, temporaryFolder, writeConfig } from '../helpers/service.ts';
import { useFolder } from '../helpers/shared.ts';

const config = {
  collections: [{ slug: 'posts', fields: [] }],
  globals: [{ slug: 'site', fields: [] }],
};
const file = writeConfig(useFolder(), config);
const service = useServiceHere(config);
before(async () => {
  // The service learns its address from its first request.
  await service.call('GET', '/health');
});

/** Runs a command on the service, unless a directory is named. */
function keys(words: readonly string[], data = service.data) {
  return runHere(['api-keys', ...words, '--config', file, '--data', data], { environment: {} });
}

const lists = async (key: string, path = '/api/collections/posts') =>
  (await service.call('GET', path, undefined, { key })).status;

describe('annals api-keys', () => {
  it('makes, lists, renews and revokes an API key, by the service that runs', async () => {
    const words = ['--name', 'A script', '--scope', 'read:posts,globals/*', '--audit', 'headers,payloads'];
    const made = await assertRecorded(
      service,
      () => keys(['create', ...words, '--scope', 'update:*', '--expires', '2999-01-01T00:00:00Z']),
      [{ type: 'apikey.created', stream: 'system/api-keys', actor: { type: 'system' } }],
    );
    const secret = made.stdout.trim();
    const [, id = ''] = /^annals_([\da-f]{16})_[\w-]{43}$/.exec(secret) ?? [];
    const told = `API key ${id}, A script: its secret is shown this once\n`;
    assert.deepEqual([made.code, made.stderr], [0, told]);
    assert.deepEqual([await lists(secret), await lists(secret, '/api/globals/site')], [200, 200]);
    const { stdout } = await keys(['list', '--json']);
    const [key, ...others] = JSON.parse(stdout).keys;
    assert.deepEqual([others, key.id, key.createdBy], [[], id, { type: 'system' }]);
    assert.deepEqual(key.scopes, [
      { collections: ['posts'], globals: '*', operations: ['read'] },
      { collections: '*', globals: [], operations: ['update'] },
    ]);
    const shown = await keys(['list']);
    const [head, row, count] = shown.stdout.split('\n');
    assert.match(head ?? '', /^ID +NAME +LAST USED +EXPIRES +RIGHTS$/);
    const rights = 'read:posts,globals/\\*  update:\\*  audit headers,payloads';
    assert.match(row ?? '', new RegExp(`^${id}  A script  \\S+:00\\.000Z  2999-01-01T00:00:00\\.000Z  ${rights}$`));
    assert.equal(count, '1 key');
    const second = (await keys(['rotate', id, '--overlap', '60'])).stdout.trim();
    assert.deepEqual([await lists(secret), await lists(second)], [200, 200]);
    const third = (await keys(['rotate', id])).stdout.trim();
    assert.deepEqual([await lists(second), await lists(third)], [401, 200]);
    const revoked = await keys(['revoke', id]);
    assert.deepEqual([revoked.code, revoked.stdout], [0, `revoked ${id}, A script\n`]);
    assert.equal(await lists(third), 401);
    assert.equal((await keys(['list'])).stdout, 'there are no API keys but those of the environment\n');
    for (const words of [
      ['revoke', id],
      ['rotate', id],
    ]) {
      const { code, stderr } = await keys(words);
      assert.deepEqual([code, stderr], [1, `there is no API key "${id}"\n`]);
    }
  });

  it('works on a data directory that no service has', async (t) => {
    const data = join(temporaryFolder(t), 'data');
    const missing = await keys(['create', '--name', 'x'], data);
    assert.equal(missing.code, 2, 'it may be the wrong directory');
    const first = await startHere(t, config, { data });
    await first.stop();
    const made = await keys(['create', '--name', 'x', '--scope', 'read:posts'], data);
    assert.equal(made.code, 0, made.stderr);
    const second = await startHere(t, config, { data });
    const key = made.stdout.trim();
    assert.equal((await second.call('GET', '/api/collections/posts', undefined, { key })).status, 200);
    assert.equal((await second.call('GET', '/api/collections/posts', undefined, { key: apiKey })).status, 200);
  });

  it('says what is wrong with a command', async () => {
    const cases: [words: string[], code: number, message: RegExp][] = [
      [['create'], 2, /^--name is missing\n/],
      [
        ['create', '--name', 'x', '--scope', 'posts'],
        2,
        /--scope must have the form OPERATIONS:TARGETS such as read:posts, got "posts"/,
      ],
      [
        ['create', '--name', 'x', '--scope', 'read:post'],
        1,
        /^scopes\.0\.collections must name collections.*did you mean "posts"/,
      ],
      [['create', '--name', 'x', '--scope', 'write:posts'], 1, /^scopes\.0\.operations\.0 must be one of "read"/],
      [['create', '--name', 'x', '--audit', 'all'], 1, /^audit\.0 must be one of "headers"/],
      [['create', '--name', 'x', '--expires', 'soon'], 1, /^expiresAt must be a date and time/],
      [
        ['rotate', '0', '--overlap', '8 days'],
        2,
        /--overlap must be a whole number of seconds from 0 to 604800, got "8 days"/,
      ],
      [['revoke'], 2, /ID is missing/],
      [['history'], 2, /^unknown command "api-keys history"/],
    ];
    for (const [words, code, message] of cases) {
      const found = await assertRecorded(service, () => keys(words), []);
      assert.equal(found.code, code, found.stderr);
      assert.match(found.stderr, message);
    }
  });
});
