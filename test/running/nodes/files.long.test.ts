import assert from 'node:assert/strict';
import { it } from 'node:test';
import { describeWithPostgres, useDatabase } from '../../helpers/postgres.ts';
import { request } from '../../helpers/requests.ts';
import { bucketEnvironment, openClient, s3Skip, useBucket } from '../../helpers/s3.ts';
import { runCommand, type Service, temporaryFolder, writeConfig } from '../../helpers/service.ts';
import { askUntil, useStarted } from '../../helpers/shared.ts';
import { nodeEnvironment, startNode } from './node.ts';

const config = {
  collections: [{ slug: 'files', upload: true, access: {}, fields: [{ name: 'alt', type: 'text' }] }],
};

function formOf(content: string): FormData {
  const form = new FormData();
  form.append('file', new Blob([content], { type: 'text/plain' }), 'a file.txt');
  return form;
}

describeWithPostgres('Files of two nodes', () => {
  const make = useDatabase();

  it('that have no bucket are refused', async (t) => {
    const { address } = await make();
    const { code, stderr } = await runCommand(
      [
        'serve',
        '--port',
        '0',
        '--data',
        `${temporaryFolder(t)}/data`,
        '--config',
        writeConfig(temporaryFolder(t), config),
      ],
      { environment: nodeEnvironment(address) },
    );
    assert.equal(code, 2);
    assert.match(
      stderr,
      /the collection files has upload, and ANNALS_S3_ENDPOINT is missing: with ANNALS_POSTGRES_URL files are kept in a bucket/,
    );
  });

  if (s3Skip) {
    it('in a bucket', { skip: s3Skip });
    return;
  }
  const bucket = useBucket();
  let environment: Record<string, string> = {};
  const two = useStarted(async (t) => {
    const { address } = await make();
    await openClient(bucket).makeBucket(bucket.name);
    environment = { ...nodeEnvironment(address), ...bucketEnvironment(bucket) };
    const [a, b] = await Promise.all([
      startNode(t, address, { config, environment }),
      startNode(t, address, { config, environment, threads: 1 }),
    ]);
    return { a, b, call: a.call };
  });

  async function upload({ url }: Service, content: string): Promise<{ id: string; url: string }> {
    const { status, body } = await request(url, 'POST', '/api/collections/files', { body: formOf(content) });
    assert.equal(status, 201, JSON.stringify(body));
    return body;
  }

  const erase = ({ url }: Service, { id }: { id: string }) =>
    request(url, 'POST', '/api/audit/erasures', { body: { collection: 'files', id, reason: 'a test' } });

  async function download({ url }: Service, file: { url: string }): Promise<string> {
    const { status, body } = await request(url, 'GET', file.url.replace(/^https?:\/\/[^/]+/, ''));
    assert.equal(status, 200, `${file.url}: ${status} ${body}`);
    return String(body);
  }

  it('are uploaded to one and downloaded from the other', async () => {
    for (const [to, from] of [
      [two.a, two.b],
      [two.b, two.a],
    ] as const) {
      const file = await upload(to, `uploaded to ${to.url}`);
      assert.equal(await download(from, file), `uploaded to ${to.url}`);
    }
  });

  it('stay while any document of any node has them, whatever is erased and collected meanwhile', async () => {
    const nodes = [two.a, two.b];
    const content = 'the same bytes everywhere';
    const collect = async (node: Service) => {
      const { code, stderr } = await runCommand(['blobs', 'gc', '--data', node.data], { environment });
      assert.equal(code, 0, stderr);
    };
    const kept: { id: string; url: string }[] = [];
    const collecting = (async () => {
      for (const node of [...nodes, ...nodes]) await collect(node);
    })();
    await Promise.all(
      nodes.map(async (node, at) => {
        for (let round = 0; round < 6; round += 1) {
          const file = await upload(node, content);
          const other = nodes[1 - at] as Service;
          if (round === 5) kept.push(file);
          else {
            const erased = await erase(other, file);
            assert.ok(erased.status < 300, JSON.stringify(erased.body));
          }
        }
      }),
    );
    await collecting;
    for (const node of nodes) for (const file of kept) assert.equal(await download(node, file), content);
  });

  it('of no document are removed with its erasure, by whichever node', async () => {
    const file = await upload(two.a, 'to be erased everywhere');
    const names = async () => {
      const found: string[] = [];
      for await (const { name = '' } of openClient(bucket).listObjects(bucket.name, '', true)) found.push(name);
      return found;
    };
    const before = await names();
    const erased = await erase(two.b, file);
    assert.ok(erased.status < 300, JSON.stringify(erased.body));
    const path = file.url.replace(/^https?:\/\/[^/]+/, '');
    assert.equal((await request(two.a.url, 'GET', path)).status, 404);
    await askUntil(names, ({ length }) => length < before.length);
  });
});
