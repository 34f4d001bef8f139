import assert from 'node:assert/strict';
import { join } from 'node:path';
import { it } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { readLog } from '../../../events/log/log-reader.ts';
import { openLogToRead } from '../../../events/store/log-file.ts';
import { describeWithServers, makeDatabase, startServers } from '../../helpers/postgres.ts';
import { runCommand, type Service } from '../../helpers/service.ts';
import { eventually } from '../../helpers/shared.ts';
import { startNode } from './node.ts';

const path = '/api/collections/posts';

/** A write of a client that does not give up: `sent` is how often it was sent. */
type Write = { title: string; id: string; sent: number };

/** Clients that each send one write after the other, to any node, until each is acknowledged. */
function startLoad(nodes: () => readonly Service[], clients: number) {
  const acknowledged: Write[] = [];
  let isOver = false;
  let count = 0;

  async function work(): Promise<void> {
    while (!isOver) {
      count += 1;
      const title = `write ${count}`;
      acknowledged.push(await send(title));
    }
  }

  async function send(title: string): Promise<Write> {
    const headers = { 'idempotency-key': title.replace(' ', '-') };
    for (let sent = 1; ; sent += 1) {
      const all = nodes();
      const node = all[(count + sent) % all.length] as Service;
      // A node that was killed gives no answer.
      const answer = await node.call('POST', path, { title }, { headers }).catch(() => null);
      if (answer?.status === 201) return { title, id: answer.body.id, sent };
      if (answer) assert.equal(answer.status, 503, JSON.stringify(answer.body));
      await wait(20);
    }
  }

  const working = Promise.all(Array.from({ length: clients }, work));
  return {
    acknowledged,
    /** Resolves when `number` further writes are acknowledged. */
    async more(number: number): Promise<void> {
      const end = acknowledged.length + number;
      await eventually(() => acknowledged.length >= end);
    },
    async end(): Promise<void> {
      isOver = true;
      await working;
    },
  };
}

async function titlesOn(node: Service): Promise<Map<string, string>> {
  const titles = new Map<string, string>();
  for (let page = 1; ; page += 1) {
    const { status, body } = await node.call('GET', `${path}?limit=100&page=${page}&sort=createdAt`);
    assert.equal(status, 200, JSON.stringify(body));
    for (const { id, title } of body.docs) {
      assert.ok(!titles.has(title), `${title} was recorded twice`);
      titles.set(title, id);
    }
    if (!body.hasNextPage) return titles;
  }
}

function headOf(data: string) {
  const db = openLogToRead(join(data, 'log.db'));
  try {
    const { size, root } = readLog(db).head();
    return { size, root: root.toString('hex') };
  } finally {
    db.close();
  }
}

describeWithServers('Nodes under load', () => {
  it('lose nothing that was acknowledged, and do nothing twice, when a node and the primary are killed', async (t) => {
    const servers = await startServers();
    t.after(servers.end);
    const { address } = await makeDatabase(servers.hosts);
    const a = await startNode(t, address, { threads: 1 });
    let b = await startNode(t, address, { threads: 1 });
    let nodes = [a, b];
    const load = startLoad(() => nodes, 8);
    await load.more(200);

    await b.kill();
    await load.more(100);
    b = await startNode(t, address, { threads: 1, data: b.data });
    nodes = [a, b];
    await load.more(100);

    await servers.kill('a');
    await wait(300);
    await servers.promote();
    await load.more(200);
    await a.kill();
    nodes = [b];
    await load.more(50);
    await load.end();

    const again = await startNode(t, address, { data: a.data });
    for (const node of [again, b]) {
      const titles = await titlesOn(node);
      for (const { title, id, sent } of load.acknowledged)
        assert.equal(titles.get(title), id, `${title}, sent ${sent} times`);
      assert.equal(titles.size, load.acknowledged.length);
    }
    assert.deepEqual(headOf(again.data), headOf(b.data));
    assert.ok(
      load.acknowledged.some(({ sent }) => sent > 1),
      'nothing was ever sent again',
    );
    for (const node of [again, b]) {
      await node.stop();
      const { stdout } = await runCommand(['verify', '--data', node.data]);
      assert.match(stdout, /sound/);
    }
  });

  it('stop if a failover lost what they have seen', async (t) => {
    const servers = await startServers();
    t.after(servers.end);
    const { address, sql } = await makeDatabase(servers.hosts);
    const node = await startNode(t, address);
    await node.call('POST', path, { title: 'on both' });
    // Commits wait for no standby any more, and this one is behind.
    await sql("ALTER SYSTEM SET synchronous_standby_names = ''", 'SELECT pg_reload_conf()');
    await servers.kill('b');
    for (let count = 0; count < 5; count += 1)
      assert.equal((await node.call('POST', path, { title: `lost ${count}` })).status, 201);
    await servers.kill('a');
    await servers.start('b');
    await servers.promote();
    await eventually(() => node.child.exitCode !== null);
    assert.equal(node.child.exitCode, 1);
    await eventually(() => /the log went back/.test(node.output().stderr));
  });
});
