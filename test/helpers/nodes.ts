import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { openBalancer } from './balancer.ts';
import { asAdmin, makeDatabase } from './postgres.ts';
import { bucketEnvironment, openClient, s3Skip } from './s3.ts';
import { callerOf, type Service, startService, type TestConfig } from './service.ts';

const { TEST_S3_ENDPOINT = '', TEST_S3_ACCESS_KEY = '', TEST_S3_SECRET_KEY = '' } = process.env;

/**
 * Starts a service of two nodes behind a balancer that gives each request to the next one. `data` and `child` are those
 * of the first node; `output` has what both have printed.
 */
export async function startNodes(
  t: TestContext,
  config: TestConfig,
  { data, environment = {} }: { data?: string; environment?: Record<string, string> } = {},
): Promise<Service> {
  const { address } = await makeDatabase();
  t.after(() =>
    asAdmin(address.hosts, 'postgres', `DROP DATABASE ${address.database} WITH (FORCE)`, `DROP ROLE ${address.user}`),
  );
  const { user, password, hosts, database } = address;
  const servers = hosts.map(({ host, port }) => `${host}:${port}`).join(',');
  const shared = {
    ...environment,
    ...(s3Skip === false && (await newBucket())),
    ANNALS_POSTGRES_URL: `postgres://${user}:${password}@${servers}/${database}`,
  };
  const nodes = await Promise.all(
    ['a', 'b'].map((name) =>
      startService(t, config, { ...(data !== undefined && { data: join(data, name) }), environment: shared }),
    ),
  );
  const balancer = await openBalancer(nodes.map(({ url }) => url));
  t.after(balancer.close);
  const [first] = nodes as [Service];
  const both = (stream: 'stdout' | 'stderr') => nodes.map((node) => node.output()[stream]).join('');
  return {
    ...first,
    url: balancer.url,
    output: () => ({ stdout: both('stdout'), stderr: both('stderr') }),
    call: callerOf(balancer.url),
    stop: async () => {
      const codes = await Promise.all(nodes.map((node) => node.stop()));
      await balancer.close();
      return codes.find((code) => code !== 0) ?? 0;
    },
    kill: async () => {
      await Promise.all(nodes.map((node) => node.kill()));
      await balancer.close();
    },
  };
}

/** A new bucket; it is lost when the S3 server of the tests ends. */
async function newBucket(): Promise<Record<string, string>> {
  const bucket = {
    endpoint: TEST_S3_ENDPOINT,
    name: `annals-nodes-${randomBytes(8).toString('hex')}`,
    region: 'us-east-1',
    accessKey: TEST_S3_ACCESS_KEY,
    secretKey: TEST_S3_SECRET_KEY,
    pathStyle: true,
  };
  await openClient(bucket).makeBucket(bucket.name);
  return bucketEnvironment(bucket);
}
