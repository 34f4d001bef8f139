import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import { median } from './report.ts';

/**
 * A primary with its synchronous standby. `makeDatabase` makes an empty database with a role of its own, as the
 * documentation describes.
 */
export type Postgres = { makeDatabase: () => Promise<Database>; stop: () => void };

/**
 * `address` is as in `ANNALS_POSTGRES_URL`. `sql` runs a statement as the superuser. `drop` removes the database and
 * its role.
 */
export type Database = {
  address: string;
  sql: <R extends pg.QueryResultRow>(text: string, values?: unknown[]) => Promise<R[]>;
  drop: () => Promise<void>;
};

const script = fileURLToPath(new URL('../test/postgres/servers.sh', import.meta.url));

/** The settings of the tests are too small for a log of some hundred thousand events. */
const settings = 'shared_buffers = 256MB\nmax_wal_size = 1GB\nmax_connections = 100';

type Admin = { hosts: string[]; user: string; password: string };

/** The servers that `TEST_POSTGRES_…` name, else two that are started here; a text with the reason if that fails. */
export function startPostgres(): Postgres | string {
  if (process.env.TEST_POSTGRES_HOSTS) return postgresOf(adminOf(process.env), () => {});
  // The user postgres cannot enter the folder of the benchmark.
  const folder = join(tmpdir(), `annals-bench-postgres-${randomBytes(4).toString('hex')}`);
  const { status, stdout, stderr } = spawnSync('bash', [script, 'up', folder], {
    encoding: 'utf8',
    env: { ...process.env, POSTGRES_SETTINGS: settings },
  });
  if (status !== 0) return `test/postgres/servers.sh could not start PostgreSQL: ${stderr.trim().split('\n').at(-1)}`;
  // The output has lines for a shell: export NAME=VALUE
  const printed = Object.fromEntries([...stdout.matchAll(/^export (\w+)=(.*)$/gm)].map(([, name, is]) => [name, is]));
  return postgresOf(adminOf(printed), () => spawnSync('bash', [script, 'down', folder]));
}

function adminOf(from: Record<string, string | undefined>): Admin {
  return {
    hosts: String(from.TEST_POSTGRES_HOSTS).split(','),
    user: String(from.TEST_POSTGRES_USER),
    password: String(from.TEST_POSTGRES_PASSWORD),
  };
}

function postgresOf(admin: Admin, stop: () => void): Postgres {
  async function makeDatabase(): Promise<Database> {
    const name = `annals_bench_${randomBytes(4).toString('hex')}`;
    const at = await connectToPrimary(admin, 'postgres');
    await at.query(`CREATE ROLE ${name} LOGIN PASSWORD 'writes'`);
    await at.query(`CREATE DATABASE ${name} OWNER ${name}`);
    await at.query(`GRANT pg_monitor, pg_checkpoint TO ${name}`);
    const client = await connectToPrimary(admin, name);
    await client.query(`GRANT EXECUTE ON FUNCTION pg_switch_wal() TO ${name}`);
    return {
      address: `postgres://${name}:writes@${admin.hosts.join(',')}/${name}`,
      sql: async (text, values) => (await client.query(text, values)).rows,
      async drop() {
        await client.end();
        await at.query(`DROP DATABASE ${name} WITH (FORCE)`);
        await at.query(`DROP ROLE ${name}`);
        await at.end();
      },
    };
  }

  return { makeDatabase, stop };
}

async function connectToPrimary({ hosts, user, password }: Admin, database: string): Promise<pg.Client> {
  for (const one of hosts) {
    const [host = '', port] = one.split(':');
    const client = new pg.Client({ host, port: Number(port), user, password, database });
    await client.connect();
    const { rows } = await client.query<{ standby: boolean }>('SELECT pg_is_in_recovery() AS standby');
    if (rows[0]?.standby === false) return client;
    await client.end();
  }
  throw new Error('no PostgreSQL server takes writes');
}

/** The median round trip to PostgreSQL in milliseconds, of sequential `SELECT 1`. */
export async function tripTo({ sql }: Database): Promise<number> {
  const times: number[] = [];
  while (times.length < 300) {
    const begun = performance.now();
    await sql('SELECT 1');
    times.push(performance.now() - begun);
  }
  return median(times);
}
