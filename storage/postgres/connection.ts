import { Socket } from 'node:net';
import type { ConnectionOptions } from 'node:tls';
import type { Client, QueryResult } from 'pg';
import { messageOf } from '../errors.ts';
import { UnfitServerError, UnreachableError } from './errors.ts';
import { refuseUnfit, type SettingRow, settingsQuery } from './fitness.ts';

export type Host = PostgresAddress['hosts'][number];

type Driver = typeof import('pg')['default'];

/** The servers of one database. One of them takes writes; which one can change at any time. `tls` is false for none. */
export type PostgresAddress = {
  hosts: { host: string; port: number }[];
  user: string;
  password: string;
  database: string;
  tls: ConnectionOptions | false;
};

/** A statement. With a name it is parsed once for each connection. */
export type Statement = { text: string; name?: string; values?: unknown[] };

/** The result of a statement. `command` is the word that the server says it with. */
export type Result = Pick<QueryResult, 'rows' | 'rowCount' | 'command'>;

/** A connection to the server that takes writes. */
export type Connection = {
  /**
   * Sends statements in one go, and tells what became of each. All are carried out, one after the other, also those
   * behind one that was refused.
   */
  send: (...statements: Statement[]) => Promise<PromiseSettledResult<Result>[]>;
  /** The same, for statements that all have to succeed. @throws what the first that failed was refused with. */
  run: (...statements: Statement[]) => Promise<Result[]>;
  /** Warnings of the server since the last call. */
  warnings: () => string[];
  isOpen: () => boolean;
  /** Ends the connection at once, whatever is under way: its outcome stays unknown. */
  destroy: () => void;
  /** Ends it in order. */
  close: () => Promise<void>;
};

/**
 * The session that all statements run in. A commit waits for the standby; a session that is left alone under a lock
 * loses it. Nothing below warnings is sent, since any that comes with a commit is taken for a doubt.
 */
const sessionSettings = [
  'SET synchronous_commit = on',
  "SET idle_in_transaction_session_timeout = '2s'",
  "SET lock_timeout = '5s'",
  'SET client_min_messages = warning',
  'SET statement_timeout = 0',
];

/**
 * The server ends a session whose client was not heard of for some 5 seconds, and with it the lock that it holds: it
 * waits for the rest of a message without any other limit. Where a server has no such setting, it goes by its own.
 */
const keepAliveSettings = `SELECT set_config(name, value, false) FROM (VALUES ('tcp_keepalives_idle', '2'), ('tcp_keepalives_interval', '1'),
  ('tcp_keepalives_count', '3'), ('tcp_user_timeout', '5000')) AS wanted (name, value) WHERE name IN (SELECT name FROM pg_settings)`;

/** The name of a session in the lists of the server. */
export const applicationName = 'annals';

const int8 = 20;

/**
 * Connects to the server that takes writes: asks all at the same time, for one that is gone may not answer at all.
 *
 * @param within the milliseconds that this may take.
 * @param warn is told what the operator should know about the server.
 * @throws UnreachableError, UnfitServerError.
 */
export async function connect(
  address: PostgresAddress,
  within: number,
  warn: (message: string) => void,
): Promise<Connection> {
  // Loaded here alone: a service without PostgreSQL does not pay for it.
  const { default: driver } = await import('pg');
  const attempts = address.hosts.map((host) => connectTo(driver, address, host, within));
  try {
    const { connection, warning } = await Promise.any(attempts);
    // Where two say that they are the primary, one of them is enough.
    for (const attempt of attempts)
      attempt.then((other) => other.connection === connection || other.connection.destroy()).catch(() => {});
    if (warning !== null) warn(warning);
    return connection;
  } catch (thrown) {
    const errors: unknown[] = thrown instanceof AggregateError ? thrown.errors : [thrown];
    const unfit = errors.find((error) => error instanceof UnfitServerError);
    if (unfit) throw unfit;
    const reasons = errors.map((error, at) => `${hostName(address.hosts[at])}: ${messageOf(error)}`);
    throw new UnreachableError(`no server of PostgreSQL takes writes (${reasons.join('; ')})`, { cause: thrown });
  }
}

export function hostName(host: Host | undefined): string {
  return host ? `${host.host}:${host.port}` : '';
}

async function connectTo(
  pg: Driver,
  address: PostgresAddress,
  host: Host,
  within: number,
): Promise<{ connection: Connection; warning: string | null }> {
  const { connection, isStandby, settings } = await connectToAny(pg, address, host, within);
  try {
    if (isStandby) throw new Error('it is a standby');
    return { connection, warning: refuseUnfit(settings) };
  } catch (error) {
    connection.destroy();
    throw error;
  }
}

/** A connection to a server, whatever it is. */
export type Reached = { connection: Connection; isStandby: boolean; settings: SettingRow[] };

/** Connects to one server of a database, to look at it. @throws why it cannot be reached. */
export async function connectToHost(address: PostgresAddress, host: Host, within: number): Promise<Reached> {
  const { default: driver } = await import('pg');
  return connectToAny(driver, address, host, within);
}

async function connectToAny(
  pg: Driver,
  { user, password, database, tls }: PostgresAddress,
  { host, port }: Host,
  within: number,
): Promise<Reached> {
  const socket = new Socket();
  const client = new pg.Client({
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
    // Positions, sizes and times in milliseconds, all far below 2^53.
    types: {
      getTypeParser: ((oid: number, format?: 'text') =>
        oid === int8 ? Number : pg.types.getTypeParser(oid, format)) as typeof pg.types.getTypeParser,
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
  // Without a listener the error of an idle connection would end the process; those under way are told by their
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

  function send(...statements: Statement[]): Promise<PromiseSettledResult<Result>[]> {
    socket.cork();
    const running = statements.map((statement) => client.query(statement));
    socket.uncork();
    return Promise.allSettled(running);
  }

  async function run(...statements: Statement[]): Promise<Result[]> {
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
