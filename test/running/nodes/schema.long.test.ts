import assert from 'node:assert/strict';
import { once } from 'node:events';
import { it } from 'node:test';
import type { Shipment } from '../../../events/log/shipment.ts';
import { openPostgresLog } from '../../../events/postgres/postgres-log.ts';
import { shipmentAfter } from '../../events/postgres/node.ts';
import { describeWithPostgres, useDatabase } from '../../helpers/postgres.ts';
import { wholeOnly } from '../../helpers/rounds.ts';
import { apiKey, startService } from '../../helpers/service.ts';
import { eventually } from '../../helpers/shared.ts';
import { assertClaims, comes, isReady, readyOf } from './claims.ts';
import { config, startNode } from './node.ts';
import { apply, next, path } from './schemas.ts';

describeWithPostgres('A schema of a node', () => {
  const make = useDatabase();

  it('goes on with the read tables that were made while it waited', wholeOnly, async (t) => {
    const { address } = await make();
    const old = await startNode(t, address);
    await old.call('POST', path, { title: 'one', slug: 'one' });
    const node = await startNode(t, address, { config: next });
    assert.equal((await apply(node)).code, 0);
    const { body } = await node.call('GET', path);
    await node.stop();
    const again = await startNode(t, address, { config: next, data: node.data });
    assert.ok(await isReady(again));
    assert.deepEqual((await again.call('GET', path)).body, body);
    assert.doesNotMatch(again.output().stderr, /building the read tables/);
  });

  it('is refused if it changes documents and may not, also what was written while it waited', async (t) => {
    const { address } = await make();
    const environment = { ANNALS_STRICT_SCHEMA: 'true' };
    const [posts] = config.collections as [(typeof config.collections)[number]];
    const fewer = { ...config, collections: [{ ...posts, fields: posts.fields.slice(0, 2) }] };
    const old = await startNode(t, address);
    const waiting = await startNode(t, address, { config: fewer, environment });
    await old.call('POST', path, { title: 'one', count: 1 });
    const refused = await apply(waiting);
    assert.equal(refused.code, 1);
    assert.match(
      refused.stderr,
      /strictSchema .* refuses what the configuration changes for documents; nothing was recorded/,
    );
    assert.match(refused.stderr, /posts\.count/);
    await assert.rejects(startNode(t, address, { config: fewer, environment }), /posts\.count/);
    assert.ok(await isReady(old));
  });

  it('is refused if documents would show less, until that is accepted', async (t) => {
    const { address } = await make();
    const [posts] = config.collections as [(typeof config.collections)[number]];
    const fewer = { ...config, collections: [{ ...posts, fields: posts.fields.slice(0, 2) }] };
    const old = await startNode(t, address);
    await old.call('POST', path, { title: 'one', count: 1 });
    const waiting = await startNode(t, address, { config: fewer });
    await eventually(() => /posts\.count is gone: 1 document had a value of it/.test(waiting.output().stderr));
    const refused = await apply(waiting);
    assert.equal(refused.code, 1);
    assert.match(refused.stderr, /documents would show less .*\n?.*posts\.count is gone: 1 document/);
    assert.ok(await isReady(old));
    assert.equal((await apply(waiting, '--accept-loss')).code, 0);
    await comes(() => isReady(waiting));
  });

  it('may rename a collection, whose documents, values and history are under the new name then', async (t) => {
    const { address } = await make();
    const [posts] = config.collections as [(typeof config.collections)[number]];
    const renamed = { ...config, collections: [{ ...posts, slug: 'articles', renamedFrom: 'posts' }] };
    const articles = '/api/collections/articles';
    const old = await startNode(t, address);
    const { body: one } = await old.call('POST', path, { title: 'one', slug: 'one' });
    const waiting = await startNode(t, address, { config: renamed });
    assert.equal((await readyOf(waiting))[1].status, 'waiting');
    await old.call('PATCH', `${path}/${one.id}`, { title: 'two' });
    assert.equal((await apply(waiting)).code, 0);
    await comes(() => isReady(waiting));
    assert.deepEqual((await waiting.call('GET', `${articles}/${one.id}`)).body.title, 'two');
    assert.equal((await waiting.call('POST', articles, { title: 'other', slug: 'one' })).status, 409);
    assert.equal((await waiting.call('PATCH', `${articles}/${one.id}`, { title: 'three' })).status, 200);
    const { body: history } = await waiting.call('GET', `/api/audit/documents/articles/${one.id}`);
    assert.deepEqual(
      history.docs?.map(({ version }: { version: number }) => version),
      [1, 2, 3],
    );
    await comes(async () => (await readyOf(old))[1].status === 'outdated');
    const fresh = await startNode(t, address, { config: renamed });
    assert.deepEqual((await fresh.call('GET', articles)).body, (await waiting.call('GET', articles)).body);
  });

  it('that waits ends if another one is applied meanwhile, and waits again after a start', wholeOnly, async (t) => {
    const { address } = await make();
    await startNode(t, address);
    const third = { ...config, globals: [] };
    const [one, other] = await Promise.all([
      startNode(t, address, { config: next }),
      startNode(t, address, { config: third }),
    ]);
    const [exited] = await Promise.all([once(other.child, 'exit'), apply(one)]);
    assert.equal(exited[0], 1);
    const told = /is to be started again: event 2 has applied another configuration/;
    await eventually(() => told.test(other.output().stderr));
    const again = await startNode(t, address, { config: third, data: other.data });
    assert.equal((await readyOf(again))[1].status, 'waiting');
    assert.equal((await apply(again)).code, 0);
    await comes(() => isReady(again));
    await comes(async () => (await readyOf(one))[1].status === 'outdated');
  });

  it('of before refuses callers whose credentials may have ended since', wholeOnly, async (t) => {
    const { address } = await make();
    const old = await startNode(t, address, { environment: { ANNALS_READS: 'eventual' } });
    const fresh = await startNode(t, address, { config: next });
    assert.equal((await apply(fresh)).code, 0);
    await comes(async () => (await readyOf(old))[1].status === 'outdated');
    const withCookie = () => old.call('GET', path, undefined, { headers: { cookie: 'other=1' } });
    assert.equal((await fresh.call('POST', path, { title: 'one' })).status, 201);
    assert.equal((await withCookie()).status, 200);
    // An export records an event that is about no document.
    await fetch(`${fresh.url}/api/audit/export`, { headers: { 'x-api-key': apiKey } }).then((answer) => answer.bytes());
    assert.equal((await withCookie()).status, 503);
    assert.equal((await old.call('GET', path)).status, 200);
  });

  it('that a newer version has written is refused, with its event', async (t) => {
    const { address } = await make();
    const old = await startNode(t, address);
    const { body: made } = await old.call('POST', path, { title: 'one' });
    const log = await openPostgresLog({ address, site: '', makeName: () => '', warn: () => {} });
    t.after(() => log.close());
    const head = await log.head();
    const shipment = shipmentAfter(head, { stream: 'posts/pinned' });
    const [event] = shipment.events as [Shipment['events'][number]];
    const header = { ...event, actor: { type: 'system' }, type: 'document.pinned', schemaVersion: 1 };
    const taken = await log.take(head);
    await taken.ship({ ...shipment, events: [{ ...event, header: JSON.stringify(header) }] });

    const message = /event 3 of the log, "document.pinned" in version 1, was written by a newer version of Annals/;
    await comes(async () => (await readyOf(old))[1].status === 'outdated');
    await eventually(() => /event 3 .* was written by a newer version of Annals/.test(old.output().stderr));
    assert.equal((await old.call('GET', `${path}/${made.id}`)).status, 200);
    assert.equal((await old.call('PATCH', `${path}/${made.id}`, { title: 'two' })).status, 503);
    await assert.rejects(startNode(t, address), message);
    assert.equal(await old.stop(), 0);
  });

  it('is refused if documents stand against it, with their ids, at the start and when it is applied', async (t) => {
    const { address } = await make();
    const old = await startNode(t, address);
    const { body: one } = await old.call('POST', path, { title: 'same' });
    const waiting = await startNode(t, address, { config: next });
    const { body: two } = await old.call('POST', path, { title: 'same' });
    const shared = new RegExp(`posts\\.title is unique now, but these documents share "same": ${one.id}, ${two.id}`);
    const refused = await apply(waiting);
    assert.equal(refused.code, 1);
    assert.match(refused.stderr, shared);
    await assert.rejects(startNode(t, address, { config: next }), shared);
    // Nothing was recorded, and no node is outdated.
    assert.ok(await isReady(old));
    assert.equal((await old.call('PATCH', `${path}/${two.id}`, { title: 'other' })).status, 200);
    assert.equal((await apply(waiting)).code, 0);
    assert.equal((await waiting.call('POST', path, { title: 'other' })).status, 409);
  });

  it('is applied by the node itself with --apply-schema, unless the log had it before', async (t) => {
    const { address } = await make();
    const environment = { ANNALS_APPLY_SCHEMA: 'true' };
    const old = await startNode(t, address, { environment });
    await old.call('POST', path, { title: 'one', slug: 'one' });
    const fresh = await startNode(t, address, { config: next, environment });
    await comes(() => isReady(fresh));
    assert.equal((await old.call('POST', path, { title: 'two' })).status, 503);
    await old.stop();
    // As an orchestrator restarts a node that it has not upgraded yet.
    const back = await startNode(t, address, { environment, data: old.data });
    assert.deepEqual(await readyOf(back), [503, { status: 'waiting' }]);
    await eventually(() => /the log in PostgreSQL had this configuration before/.test(back.output().stderr));
    assert.ok(await isReady(fresh));
    const refused = await apply(back);
    assert.deepEqual([refused.code, /renamedFrom: 'address' in posts\.slug/.test(refused.stderr)], [1, true]);
    assert.equal((await apply(back, '--accept-loss')).code, 0);
    await comes(async () => (await readyOf(fresh))[1].status === 'outdated');
    // Titles are not unique any more.
    assert.equal((await back.call('POST', path, { title: 'one', slug: 'one' })).status, 201);
    assert.equal((await back.call('POST', path, { title: 'one', slug: 'one' })).status, 409);
  });

  it('is applied if only rules differ', wholeOnly, async (t) => {
    const { address } = await make();
    const old = await startNode(t, address);
    const source = `const all = ${JSON.stringify(config)};\nall.collections[0].access = { read: () => true };\nexport default all;`;
    const fresh = await startNode(t, address, { config: source });
    assert.equal((await apply(fresh)).code, 0);
    assert.ok(await isReady(fresh));
    assert.equal((await old.call('POST', path, { title: 'one' })).status, 503);
    assert.equal((await fresh.call('POST', path, { title: 'one' })).status, 201);
  });

  it('has no command on a service with a log of its own', wholeOnly, async (t) => {
    const alone = await startService(t, config);
    const { code, stderr } = await apply(alone);
    assert.equal(code, 1);
    assert.match(stderr, /has its log to itself/);
    const environment = { ANNALS_APPLY_SCHEMA: 'true' };
    await assert.rejects(
      startService(t, config, { environment }),
      /ANNALS_APPLY_SCHEMA is set, and ANNALS_POSTGRES_URL is not/,
    );
  });
});

describeWithPostgres('Another schema for nodes that serve', () => {
  const make = useDatabase();

  it('is applied by a command, once, without a pause in reads', async (t) => {
    const database = await make();
    const { address } = database;
    const old = await startNode(t, address);
    const made = await old.call('POST', path, { title: 'one', slug: 'one' });
    const [a, b] = await Promise.all([
      startNode(t, address, { config: next }),
      startNode(t, address, { config: next, threads: 2 }),
    ]);
    for (const node of [a, b]) {
      assert.deepEqual(await readyOf(node), [503, { status: 'waiting' }]);
      for (const method of ['GET', 'POST']) {
        const { status, headers, body } = await node.call(method, path, method === 'POST' ? { title: 'x' } : undefined);
        assert.equal(status, 503);
        assert.equal(headers.get('retry-after'), '1');
        assert.match(body.message, /waits for its configuration to be applied/);
      }
    }
    // Writes of nodes with the former one are there as well.
    const late = await old.call('POST', path, { title: 'two', slug: 'two' });
    const before = await old.call('GET', `${path}?sort=title`);

    const [one, other] = await Promise.all([apply(a), apply(b)]);
    assert.deepEqual([one.code, other.code], [0, 0], one.stderr + other.stderr);
    assert.match(one.stdout + other.stdout, /applied, at position 4 of the log/);
    assert.match((await apply(a)).stdout, /the log has this configuration already/);
    for (const node of [a, b]) await comes(() => isReady(node));

    await comes(async () => (await readyOf(old))[1].status === 'outdated');
    assert.deepEqual(await readyOf(old), [503, { status: 'outdated', reads: 'served', writes: 'refused' }]);
    const asBefore = await old.call('GET', `${path}?sort=title`);
    assert.deepEqual([asBefore.status, asBefore.body], [200, before.body]);
    assert.equal(asBefore.headers.get('annals-position'), '3');
    const write = await old.call('PATCH', `${path}/${made.body.id}`, { title: 'three' });
    assert.equal(write.status, 503);
    assert.equal(write.headers.get('retry-after'), '1');
    await eventually(() => /has applied another configuration than that of this node/.test(old.output().stderr));
    const read = await b.call('GET', `${path}/${late.body.id}`);
    assert.deepEqual([read.body.title, read.body.address], ['two', 'two']);
    assert.equal((await b.call('POST', path, { title: 'one' })).status, 409);
    assert.equal((await a.call('POST', path, { title: 'three', address: 'two' })).status, 201);
    assert.equal((await b.call('PATCH', `${path}/${made.body.id}`, { address: 'two' })).status, 200);
    await assertClaims(database, [a, b], { posts: ['title'] });
    // A client that names what it has written is not answered as of before.
    const named = await old.call('GET', path, undefined, { headers: { 'annals-position': '5' } });
    assert.equal(named.status, 503);
  });
});
