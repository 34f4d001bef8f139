import assert from 'node:assert/strict';
import { statSync, truncateSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { startHere } from '../helpers/embedded.ts';
import { runHere } from '../helpers/in-process.ts';
import { runCommand, startService, writeConfig } from '../helpers/service.ts';
import { findingIn } from './directory.ts';

describe('the service', () => {
  const config = { collections: [{ slug: 'posts', fields: [{ name: 'title', type: 'text', unique: true }] }] };

  it('notices a truncated write-ahead log and goes on only when it is told to', async (t) => {
    const first = await startService(t, config);
    const { data } = first;
    const titles = Array.from({ length: 20 }, (_, index) => `post ${index}`);
    for (const title of titles) {
      assert.equal((await first.call('POST', '/api/collections/posts', { title })).status, 201);
    }
    await first.kill();
    const wal = join(data, 'log.db-wal');
    truncateSync(wal, Math.floor(statSync(wal).size / 2));

    const options = ['--config', writeConfig(data, config), '--data', data];
    const serve = ['serve', ...options, '--port', '0'];
    for (const refuse of [() => runCommand(serve), () => runHere(['rebuild', ...options]), () => runHere(serve)]) {
      const refused = await refuse();
      assert.equal(refused.code, 2, refused.stderr);
      assert.match(
        refused.stderr,
        /the log lost events: it ends at position \d+, but read-[0-9a-f]+\.db has seen position 21/,
      );
      assert.equal(refused.stderr.trim().split('\n').length, 1, `a sentence, nothing else: ${refused.stderr}`);
    }
    const found = await runHere(['verify', '--data', data]);
    assert.deepEqual(
      [found.code, /lost events: it ends at position \d+, .* seen position 21/.test(found.stdout)],
      [1, true],
      found.stdout,
    );

    const accepted = await runHere(['rebuild', ...options, '--accept-lost-events', '--reason', 'a cut log']);
    assert.equal(accepted.code, 0, accepted.stderr);
    const size = Number(/from (\d+) events/.exec(accepted.stdout)?.[1]);
    assert.ok(size > 1 && size < 21, accepted.stdout);
    assert.equal(findingIn(data), null);

    const second = await startHere(t, config, { data });
    const list = await second.call('GET', '/api/collections/posts?limit=100&sort=createdAt');
    assert.deepEqual(
      list.body.docs.map(({ title }: { title: string }) => title),
      titles.slice(0, size - 1),
    );
    assert.equal((await second.call('POST', '/api/collections/posts', { title: titles[19] })).status, 201);
    assert.equal((await second.call('POST', '/api/collections/posts', { title: titles[0] })).status, 409);
    await second.stop();
    assert.equal(findingIn(data), null);
  });
});
