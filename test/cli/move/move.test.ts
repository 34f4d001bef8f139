import assert from 'node:assert/strict';
import { it } from 'node:test';
import { describeWithPostgres, useDatabase } from '../../helpers/postgres.ts';
import { startService } from '../../helpers/service.ts';
import { config, secret, startNode } from '../../running/nodes/node.ts';
import { move, writeTo } from './moving.ts';

describeWithPostgres('annals log move', () => {
  const make = useDatabase();

  it('moves the log of a service that is written to, and loses no acknowledged write', async (t) => {
    const database = await make();
    const service = await startService(t, config, { environment: { ANNALS_SECRET: secret } });
    const writing = writeTo(service);
    const moved = await move(service.data, database);
    assert.equal(moved.code, 0, moved.stderr);
    assert.match(moved.stdout, /^the log is in PostgreSQL now, with \d+ events; writes waited for \d+ ms/);
    await writing.ended;
    assert.deepEqual(
      new Set(writing.refused.map(({ status, message }) => `${status} ${message}`)),
      new Set(['503 the log has moved to PostgreSQL: restart with ANNALS_LOG']),
    );
    assert.equal(await service.stop(), 0);
    const node = await startNode(t, database.address, { data: service.data });
    for (const { id, title } of writing.acknowledged) {
      const read = await node.call('GET', `/api/collections/posts/${id}`);
      assert.equal(read.body?.title, title);
    }
    const more = await node.call('POST', '/api/collections/posts', { title: 'after' });
    assert.equal(more.status, 201, JSON.stringify(more.body));
    await node.stop();
  });
});
