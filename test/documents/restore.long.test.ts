import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Config } from '../../config/define.ts';
import { startHere } from '../helpers/embedded.ts';
import { runHere } from '../helpers/in-process.ts';
import { startService } from '../helpers/service.ts';
import { recordedEvents } from '../helpers/shared.ts';

const posts = '/api/collections/posts';
const config: Config = {
  collections: [
    {
      slug: 'posts',
      fields: [
        { name: 'title', type: 'text' },
        { name: 'code', type: 'text', unique: true },
      ],
    },
  ],
};

describe('Restoring a document', () => {
  it('is there wholly or not at all after a crash, and every table is that of a replay', async (t) => {
    const crashed = await startService(t, config, { environment: { ANNALS_THREADS: '1' } });
    const call = crashed.call;
    const ids = await Promise.all(
      Array.from({ length: 20 }, async (_, n) => {
        const { body } = await call('POST', posts, { title: 'a', code: `c${n}` });
        await call('PATCH', `${posts}/${body.id}`, { title: 'b' });
        if (n % 2 === 0) await call('DELETE', `${posts}/${body.id}`);
        return body.id as string;
      }),
    );
    const sent = ids.map((id) => call('POST', `${posts}/${id}/restore`, { version: 1 }).catch(() => null));
    await Promise.race(sent);
    await crashed.kill();
    const answers = await Promise.all(sent);
    const next = await startHere(t, config, { data: crashed.data });
    for (const [n, id] of ids.entries()) {
      const isRestored = recordedEvents(crashed.data, `posts/${id}`).at(-1)?.type === 'document.restored';
      if (answers[n]) assert.ok(isRestored);
      const { status, body } = await next.call('GET', `${posts}/${id}`);
      assert.deepEqual([status, body.title], isRestored ? [200, 'a'] : n % 2 === 0 ? [404, undefined] : [200, 'b']);
      assert.equal((await next.call('POST', `${posts}/${id}/restore`, { version: 1 })).status, 200);
    }
    await next.stop();
    const { code, stdout } = await runHere(['verify', '--data', crashed.data]);
    assert.equal(code, 0, stdout);
  });
});
