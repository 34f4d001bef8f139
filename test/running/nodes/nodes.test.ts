import assert from 'node:assert/strict';
import { it } from 'node:test';
import { describeWithPostgres, useDatabase } from '../../helpers/postgres.ts';
import { startNode } from './node.ts';

describeWithPostgres('Two nodes with one log in PostgreSQL', () => {
  const make = useDatabase();

  it('answers reads of what the other has acknowledged', async (t) => {
    const { address } = await make();
    const a = await startNode(t, address);
    const b = await startNode(t, address, { threads: 2 });
    for (let round = 0; round < 10; round += 1) {
      const [to, from] = round % 2 === 0 ? [a, b] : [b, a];
      const made = await to.call('POST', '/api/collections/posts', { title: `post ${round}` });
      assert.equal(made.status, 201, JSON.stringify(made.body));
      const read = await from.call('GET', `/api/collections/posts/${made.body.id}`);
      assert.equal(read.status, 200);
      assert.deepEqual(read.body, made.body);
    }
    await Promise.all([a.stop(), b.stop()]);
  });
});
