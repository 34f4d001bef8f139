import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { after, describe, it } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import pg from 'pg';
import type { PostgresAddress } from '../../storage/postgres/connection.ts';

const { TEST_POSTGRES_HOSTS, TEST_POSTGRES_USER = '', TEST_POSTGRES_PASSWORD = '', TEST_POSTGRES_FOLDER } = process.env;

const run = promisify(execFile);
const script = fileURLToPath(new URL('../postgres/servers.sh', import.meta.url));

type Host = PostgresAddress['hosts'][number];

/** A `describe` with PostgreSQL, skipped without it. */
export function describeWithPostgres(name: string, tests: () => void): void {
  // The skip is on a test inside: the runner does not count a `describe` that is skipped.
  if (TEST_POSTGRES_HOSTS === undefined)
    it(name, { skip: 'no PostgreSQL was given by TEST_POSTGRES_HOSTS; see CONTRIBUTING.md' }, () => {});
  else describe(name, tests);
}

/** A `describe` for tests that start and kill PostgreSQL servers of their own, skipped without PostgreSQL. */
export function describeWithServers(name: string, tests: () => void, options: { concurrency?: number } = {}): void {
  if (TEST_POSTGRES_FOLDER === undefined)
    it(name, {
      skip: 'PostgreSQL is not installed here: there is no TEST_POSTGRES_FOLDER; see CONTRIBUTING.md',
    }, () => {});
  else describe(name, options, tests);
}

function hostsOf(text: string): Host[] {
  return text.split(',').map((one) => {
    const [host = '', port] = one.split(':');
    return { host, port: Number(port) };
  });
}

/** Runs SQL as the superuser on the first of some hosts that takes writes. */
export async function asAdmin(
  hosts: readonly Host[],
  database: string,
  ...statements: string[]
): Promise<pg.QueryResult[]> {
  for (const { host, port } of hosts) {
    const client = new pg.Client({ host, port, database, user: TEST_POSTGRES_USER, password: TEST_POSTGRES_PASSWORD });
    client.on('error', () => {});
    try {
      await client.connect();
      const { rows } = await client.query('SELECT pg_is_in_recovery() AS is_standby');
      if (hosts.length > 1 && rows[0].is_standby) continue;
      const results: pg.QueryResult[] = [];
      for (const text of statements) results.push(await client.query(text));
      return results;
    } catch (error) {
      if (hosts.length === 1 || !(error instanceof Error && 'code' in error && error.code === 'ECONNREFUSED'))
        throw error;
    } finally {
      await client.end().catch(() => {});
    }
  }
  throw new Error('no server takes writes');
}

/**
 * A session of the role of a database, on the first of its hosts; `application` names the session. The test must end
 * it.
 */
export async function openClient(address: PostgresAddress, application: string) {
  const [{ host, port } = { host: '', port: 0 }] = address.hosts;
  const { user, password, database } = address;
  const client = new pg.Client({ host, port, user, password, database, application_name: application });
  client.on('error', () => {});
  await client.connect();
  return {
    run: async (text: string) => (await client.query(text)).rows,
    end: () => client.end(),
  };
}

/** A database of a test; `sql` runs statements in it as the superuser. */
export type TestDatabase = { address: PostgresAddress; sql: (...statements: string[]) => Promise<pg.QueryResult[]> };

/**
 * An empty database whose owner is a role of its own; removed after the tests of the file or `describe` that calls
 * this.
 */
export async function makeDatabase(hosts: readonly Host[] = hostsOf(TEST_POSTGRES_HOSTS ?? '')): Promise<TestDatabase> {
  const name = `annals_${randomBytes(6).toString('hex')}`;
  const password = 'writes';
  await asAdmin(
    hosts,
    'postgres',
    `CREATE ROLE ${name} LOGIN PASSWORD '${password}'`,
    `CREATE DATABASE ${name} OWNER ${name}`,
    // The grants of the documentation: without them no erasure is finished, or not soon.
    `GRANT pg_monitor, pg_checkpoint TO ${name}`,
  );
  await asAdmin(hosts, name, `GRANT EXECUTE ON FUNCTION pg_switch_wal() TO ${name}`);
  return {
    address: { hosts: [...hosts], user: name, password, database: name, tls: false },
    sql: (...statements) => asAdmin(hosts, name, ...statements),
  };
}

/** As {@link makeDatabase}, on the servers that all tests share; the database is made when a test first asks for it. */
export function useDatabase(): () => Promise<TestDatabase> {
  const made: TestDatabase[] = [];
  after(async () => {
    for (const { address } of made) {
      await asAdmin(
        address.hosts,
        'postgres',
        `DROP DATABASE ${address.database} WITH (FORCE)`,
        `DROP ROLE ${address.user}`,
      );
    }
  });
  return async () => {
    const database = await makeDatabase();
    made.push(database);
    return database;
  };
}

/** A primary and a standby that belong to one test. */
export type Servers = {
  /** Has a folder `a` and a folder `b`, one for each server. */
  folder: string;
  hosts: Host[];
  /** Ends a server and all processes that it has started, as a power cut would. */
  kill: (name: 'a' | 'b') => Promise<void>;
  /** Starts a killed server again. */
  start: (name: 'a' | 'b') => Promise<void>;
  /** Stops a server without ending it, and lets it go on. */
  freeze: (name: 'a' | 'b') => void;
  thaw: (name: 'a' | 'b') => void;
  /** Has the standby `b` get the write-ahead log from another address, as that of a proxy in front of `a`. */
  follow: (host: Host) => Promise<void>;
  /** Makes the standby `b` the primary; the new primary waits for no standby. */
  promote: () => Promise<void>;
  end: () => Promise<void>;
};

/** Starts servers that belong to one test or file. The caller must call `end` after it. */
export async function startServers(): Promise<Servers> {
  const folder = `${TEST_POSTGRES_FOLDER}/own-${randomBytes(4).toString('hex')}`;
  const { stdout } = await run(script, ['up', folder]);
  const hosts = hostsOf(/TEST_POSTGRES_HOSTS=(\S+)/.exec(stdout)?.[1] ?? '');
  const frozen = new Set<'a' | 'b'>();

  function processesOf(name: 'a' | 'b'): number[] {
    const postmaster = Number(readFileSync(`${folder}/${name}/postmaster.pid`, 'utf8').split('\n')[0]);
    const children = readFileSync(`/proc/${postmaster}/task/${postmaster}/children`, 'utf8').trim();
    // The postmaster first: it would start others.
    return [postmaster, ...children.split(' ').filter(Boolean).map(Number)];
  }

  function signal(name: 'a' | 'b', kind: NodeJS.Signals): void {
    for (const pid of processesOf(name)) {
      try {
        process.kill(pid, kind);
      } catch (error) {
        if (!(error instanceof Error && 'code' in error && error.code === 'ESRCH')) throw error;
      }
    }
  }

  return {
    folder,
    hosts,
    async kill(name) {
      signal(name, 'SIGKILL');
      frozen.delete(name);
      await pause(50);
    },
    async start(name) {
      await run(script, ['start', folder, name]);
    },
    freeze(name) {
      signal(name, 'SIGSTOP');
      frozen.add(name);
    },
    thaw(name) {
      signal(name, 'SIGCONT');
      frozen.delete(name);
    },
    async end() {
      for (const name of frozen) signal(name, 'SIGCONT');
      await run(script, ['down', folder]);
    },
    async follow({ host, port }) {
      const [, b] = hosts as [Host, Host];
      const [found] = await asAdmin([b], 'postgres', 'SHOW primary_conninfo');
      const former = String(found?.rows[0].primary_conninfo);
      const next = former.replace(/host=\S+/, `host=${host}`).replace(/port=\d+/, `port=${port}`);
      await asAdmin([b], 'postgres', `ALTER SYSTEM SET primary_conninfo = '${next}'`, 'SELECT pg_reload_conf()');
    },
    async promote() {
      const [, b] = hosts as [Host, Host];
      await asAdmin([b], 'postgres', "ALTER SYSTEM SET synchronous_standby_names = ''", 'SELECT pg_promote()');
    },
  };
}
