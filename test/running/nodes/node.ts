import type { TestContext } from 'node:test';
import type { PostgresAddress } from '../../../storage/postgres/connection.ts';
import { type Service, startService, type TestConfig } from '../../helpers/service.ts';

export const secret = 'one-secret-that-all-nodes-have-in-common';

/** A collection with all that conditions are about, and a global. */
export const config = {
  collections: [
    {
      slug: 'posts',
      history: 'public',
      fields: [
        { name: 'title', type: 'text', required: true },
        { name: 'slug', type: 'text', unique: true },
        { name: 'count', type: 'number' },
      ],
    },
  ],
  globals: [{ slug: 'site', fields: [{ name: 'name', type: 'text' }] }],
};

/** The address of a database, as `ANNALS_POSTGRES_URL` has it. */
export function urlOf({ hosts, user, password, database }: PostgresAddress): string {
  return `postgres://${user}:${password}@${hosts.map(({ host, port }) => `${host}:${port}`).join(',')}/${database}`;
}

type Options = { data?: string; config?: TestConfig; environment?: Record<string, string>; threads?: number };

/** The environment of a node. */
export function nodeEnvironment(address: PostgresAddress): Record<string, string> {
  return { ANNALS_POSTGRES_URL: urlOf(address), ANNALS_SECRET: secret };
}

/** Starts a node, a process of its own, which is ended after the test. */
export async function startNode(t: TestContext, address: PostgresAddress, options: Options = {}): Promise<Service> {
  const { data, environment, threads = 0 } = options;
  return await startService(t, options.config ?? config, {
    ...(data !== undefined && { data }),
    environment: { ...nodeEnvironment(address), ANNALS_THREADS: String(threads), ...environment },
  });
}
