import { Socket } from 'node:net';
import type { ConnectionOptions } from 'node:tls';
import type { Client, QueryResult } from 'pg';
import { messageOf } from '../errors.ts';
import { holdMilliseconds, keepAlive, lockMilliseconds } from './durations.ts';
import { UnfitServerError, UnreachableError } from './errors.ts';
import { refuseUnfit, type SettingRow, settingsQuery } from './fitness.ts';

export type Host = PostgresAddress['hosts'][number];

type Driver = typeof import('pg')['default'];

/** The servers of one database. One of them takes writes; which one can change at any time. `tls`: false for no TLS. */
export type PostgresAddress = {
  hosts: { host: string; port: number }[];
  user: string;
  password: string;
  database: string;
  tls: ConnectionOptions | false;
};

/** A statement. With a name it is parsed once for each connection. */
export type PostgresStatement = { text: string; name?: string; values?: unknown[] };

/** The result of a statement. `command`: its first word, as the server answers it. */
export type StatementResult = Pick<QueryResult, 'rows' | 'rowCount' | 'command'>;

/** A connection to the server that takes writes. */
export type Connection = {
  /**
   * Sends statements together, and returns the result of each. They are executed in order; a refused statement does not
   * stop the ones after it.
   */
  send: (...statements: PostgresStatement[]) => Promise<PromiseSettledResult<StatementResult>[]>;
  /** As `send`, for statements that all have to succeed. @throws the error of the first statement that failed. */
  run: (...statements: PostgresStatement[]) => Promise<StatementResult[]>;
  /** Warnings of the server since the last call. */
  warnings: () => string[];
  isOpen: () => boolean;
  /** Ends the connection at once. The outcome of a statement that is under way stays unknown. */
  destroy: () => void;
  /** Ends the connection gracefully. */
  close: () => Promise<void>;
};

/**
 * The settings of each session. A commit waits for the standby. A session whose client is silent while it holds a lock
 * loses the lock. The server sends only warnings, no notices, because any message that comes with a commit makes its
 * outcome doubtful.
 */
const sessionSettings = [
  'SET synchronous_commit = on',
  `SET idle_in_transaction_session_timeout = ${holdMilliseconds}`,
  `SET lock_timeout = ${lockMilliseconds}`,
  'SET client_min_messages = warning',
  'SET statement_timeout = 0',
];

/**
 * Makes the server end a session whose client has vanished, and release its lock: without these limits the server would
 * wait for the rest of a message indefinitely. A server that lacks one of these settings uses its own limits.
 */
const keepAliveSettings = `SELECT set_config(name, value, false) FROM (VALUES
  ('tcp_keepalives_idle', '${keepAlive.idle / 1000}'), ('tcp_keepalives_interval', '${keepAlive.interval / 1000}'),
  ('tcp_keepalives_count', '${keepAlive.count}'), ('tcp_user_timeout', '${keepAlive.user}')
) AS wanted (name, value) WHERE name IN (SELECT name FROM pg_settings)`;

/** The name of the sessions in the server's lists. */
export const applicationName = 'annals';

const int8 = 20;

/**
 * Connects to the server that takes writes. It tries all servers at the same time, because a server that is gone may
 * never answer.
 *
 * @param within the time limit in milliseconds.
 * @param warn is called with warnings for the operator about the server.
 * @throws UnreachableError, UnfitServerError.
 */
export async function connect(
  address: PostgresAddress,
  within: number,
  warn: (message: string) => void,
): Promise<Connection> {
  // The driver is loaded here, so that a service without PostgreSQL does not load it.
  const { default: driver } = await import('pg');
  const connecting = address.hosts.map((host) => connectToPrimary({ driver, address, host, within }));
  try {
    const { connection, warning } = await Promise.any(connecting);
    // If two servers claim to be the primary, the first connection is used.
    for (const one of connecting)
      one.then((other) => other.connection === connection || other.connection.destroy()).catch(() => {});
    if (warning !== null) warn(warning);
    return connection;
  } catch (thrown) {
    const errors: unknown[] = thrown instanceof AggregateError ? thrown.errors : [thrown];
    const unfit = errors.find((error) => error instanceof UnfitServerError);
    if (unfit) throw unfit;
    const reasons = errors.map((error, at) => `${hostName(address.hosts[at])}: ${messageOf(error)}`);
    throw new UnreachableError(`no PostgreSQL server takes writes (${reasons.join('; ')})`, { cause: thrown });
  }
}

export function hostName(host: Host | undefined): string {
  return host ? `${host.host}:${host.port}` : '';
}

/** A server to connect to; `within` is the time limit in milliseconds. */
type Target = { driver: Driver; address: PostgresAddress; host: Host; within: number };

async function connectToPrimary(target: Target): Promise<{ connection: Connection; warning: string | null }> {
  const { connection, isStandby, settings } = await connectToAny(target);
  try {
    if (isStandby) throw new Error('it is a standby');
    return { connection, warning: refuseUnfit(settings) };
  } catch (error) {
    connection.destroy();
    throw error;
  }
}

/** A connection to a server, primary or standby. */
export type HostConnection = { connection: Connection; isStandby: boolean; settings: SettingRow[] };

/** Connects to one server of a database, to inspect it. @throws the reason why the server cannot be reached. */
export async function connectToHost(address: PostgresAddress, host: Host, within: number): Promise<HostConnection> {
  const { default: driver } = await import('pg');
  return connectToAny({ driver, address, host, within });
}

async function connectToAny({ driver, address, host: { host, port }, within }: Target): Promise<HostConnection> {
  const { user, password, database, tls } = address;
  const socket = new Socket();
  const client = new driver.Client({
    host,
    port,
    user,
    password,
    database,
    ssl: tls,
    stream: () => socket,
    application_name: applicationName,
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000,
    pipeline: true,
    // The columns of type int8 are positions, sizes and times in milliseconds, all far below 2^53.
    types: {
      getTypeParser: ((oid: number, format?: 'text') =>
        oid === int8 ? Number : driver.types.getTypeParser(oid, format)) as typeof driver.types.getTypeParser,
    },
  });
  const connection = connectionOf(client, socket);
  const timer = setTimeout(() => socket.destroy(new Error(`no answer within ${Math.round(within)} ms`)), within);
  try {
    await client.connect();
    const results = await connection.run(
      { text: 'SELECT pg_is_in_recovery() AS is_standby' },
      { text: settingsQuery },
      ...[...sessionSettings, keepAliveSettings].map((text) => ({ text })),
    );
    const [standby, settings] = results;
    return {
      connection,
      isStandby: standby?.rows[0]?.is_standby !== false,
      settings: (settings?.rows ?? []) as SettingRow[],
    };
  } catch (error) {
    connection.destroy();
    throw error;
  } finally {
    clearTimeout(timer);
  }
}

function connectionOf(client: Client, socket: Socket): Connection {
  let isOpen = true;
  const warnings: string[] = [];
  // Without a listener, the error of an idle connection would end the process. Other errors are reported by their
  // queries.
  client.on('error', () => {
    isOpen = false;
  });
  client.on('end', () => {
    isOpen = false;
  });
  client.on('notice', ({ message }) => {
    warnings.push(message ?? '');
  });

  function send(...statements: PostgresStatement[]): Promise<PromiseSettledResult<StatementResult>[]> {
    socket.cork();
    const running = statements.map((statement) => client.query(statement));
    socket.uncork();
    return Promise.allSettled(running);
  }

  async function run(...statements: PostgresStatement[]): Promise<StatementResult[]> {
    const results = await send(...statements);
    const failed = results.find((result) => result.status === 'rejected');
    if (failed) throw failed.reason;
    return results.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []));
  }

  return {
    send,
    run,
    warnings: () => warnings.splice(0),
    isOpen: () => isOpen && !socket.destroyed,
    destroy: () => {
      isOpen = false;
      socket.destroy();
    },
    close: async () => {
      isOpen = false;
      await client.end();
    },
  };
}
