import { counted, inBytes } from '../../config/counted.ts';
import { readAddress } from '../../events/postgres/address.ts';
import { readLockWaits } from '../../events/postgres/lock-waits.ts';
import { readLogs, readStanding } from '../../events/postgres/nodes.ts';
import {
  type Instance,
  type Replication,
  readInstance,
  readReplication,
  unnamedStandbys,
} from '../../events/postgres/standbys.ts';
import { obstacleOf, type Standing } from '../../events/postgres/standing.ts';
import { refuseTooManyRights } from '../../events/postgres/tables.ts';
import { messageOf } from '../../storage/errors.ts';
import {
  type Connection,
  connectToHost,
  type Host,
  type HostConnection,
  hostName,
  type PostgresAddress,
} from '../../storage/postgres/connection.ts';
import { reportMilliseconds } from '../../storage/postgres/durations.ts';
import { refuseUnfit } from '../../storage/postgres/fitness.ts';
import { type DoctorFinding, note, ok, trouble } from './findings.ts';
import { checkLock } from './log-lock.ts';

const patienceMilliseconds = 3000;

/** Checks the log in PostgreSQL, its servers and its nodes. */
export async function checkPostgres(log: string): Promise<DoctorFinding[]> {
  const address = readAddress(log);
  const tried = await Promise.all(address.hosts.map((host) => tryHost(address, host)));
  try {
    const primary = tried.find(({ reached }) => reached && !reached.isStandby)?.reached ?? null;
    return [checkServers(tried), ...(primary ? await checkPrimary(primary, address) : [])];
  } finally {
    for (const { reached } of tried) reached?.connection.destroy();
  }
}

/** An address that was tried. `instance` is null if the server was not reached, or is not PostgreSQL. */
type ServerProbe = { name: string; reached: HostConnection | null; instance: Instance | null; reason?: string };

async function tryHost(address: PostgresAddress, host: Host): Promise<ServerProbe> {
  const name = hostName(host);
  try {
    const reached = await connectToHost(address, host, patienceMilliseconds);
    return { name, reached, instance: await readInstance(reached.connection).catch(() => null) };
  } catch (error) {
    return { name, reached: null, instance: null, reason: messageOf(error) };
  }
}

function checkServers(tried: readonly ServerProbe[]): DoctorFinding {
  const told = tried
    .map(({ name, reached, reason }) =>
      reached
        ? `${name} is ${reached.isStandby ? 'a standby' : 'the primary'}`
        : `${name} cannot be reached (${reason})`,
    )
    .join(', ');
  // Several addresses may lead to one server.
  const primaries = new Set(
    tried.filter(({ reached }) => reached && !reached.isStandby).map(({ name, instance }) => instance?.id ?? name),
  ).size;
  if (primaries === 0) return trouble('log servers', `${told}: no server takes writes`);
  if (primaries > 1)
    return trouble('log servers', `${told}: only one may take writes, and the others must be stopped at once`);
  if (tried.some(({ reached }) => reached === null)) return trouble('log servers', told);
  const instances = tried.flatMap(({ instance }) => instance ?? []);
  const unnamed = instances.length < tried.length ? [] : unnamedStandbys(instances);
  if (unnamed.length > 0) {
    return trouble(
      'log servers',
      `${told}; ANNALS_POSTGRES_URL does not name the standby ${unnamed.join(', ')}, so its write-ahead log is not looked at and no erasure is ever finished`,
    );
  }
  return ok('log servers', told);
}

async function checkPrimary(
  { connection, settings }: HostConnection,
  { user }: PostgresAddress,
): Promise<DoctorFinding[]> {
  const standing = await standingOf(connection);
  return [
    checkFitness(settings),
    checkStandbys(await readReplication(connection), user),
    await checkRole(connection, { user, hasTables: standing !== null }),
    await checkClocks(connection),
    ...(standing
      ? [checkNodes(standing), await checkSize(connection, standing), checkLock(await readLockWaits(connection))]
      : []),
  ];
}

/** Null before the first node has made the log. */
async function standingOf(connection: Connection): Promise<Standing | null> {
  try {
    const log = (await readLogs(connection)).get('');
    return log === undefined ? null : await readStanding(connection, log);
  } catch {
    return null;
  }
}

function checkFitness(settings: HostConnection['settings']): DoctorFinding {
  try {
    refuseUnfit(settings);
    return ok('log settings', 'fsync and full_page_writes are on, and the encoding is UTF8');
  } catch (error) {
    return trouble('log settings', messageOf(error));
  }
}

/** A standby that lags by more than four files of the write-ahead log takes a while to take over. */
const lagBytes = 64 * 1024 * 1024;

function checkStandbys(found: Replication | null, user: string): DoctorFinding {
  const name = 'log standbys';
  if (!found) return note(name, `the role may not see them: GRANT pg_monitor TO "${user}"`);
  const { isSynchronous, standbys } = found;
  const told = standbys.map((one) => `${one.name} (${one.sync}, ${inBytes(one.lagBytes)} behind)`).join(', ');
  if (!isSynchronous) {
    return trouble(
      name,
      `synchronous_standby_names is empty${told === '' ? '' : `; standbys: ${told}`}: when the primary fails, the newest acknowledged writes can be lost`,
    );
  }
  const synchronous = standbys.filter(({ sync }) => sync === 'sync' || sync === 'quorum');
  if (synchronous.length === 0)
    return trouble(name, `no synchronous standby is connected${told === '' ? '' : `, only ${told}`}: no write ends`);
  if (standbys.some((one) => one.lagBytes > lagBytes)) return trouble(name, `${told}: a standby is far behind`);
  if (synchronous.length === 1 && standbys.length === 1)
    return note(name, `${told}: when it fails, no write ends until it is back; with two of them, one may fail`);
  return ok(name, told);
}

async function checkRole(
  connection: Connection,
  { user, hasTables }: { user: string; hasTables: boolean },
): Promise<DoctorFinding> {
  const name = 'log role';
  try {
    if (hasTables) await refuseTooManyRights(connection);
  } catch (error) {
    return trouble(name, messageOf(error));
  }
  const has = async (text: string) => {
    const [result] = await connection.send({ text: `SELECT ${text} AS has` });
    // A server that does not know it: CockroachDB, for one, has no such files.
    return result?.status === 'fulfilled' ? result.value.rows[0]?.has === true : true;
  };
  if (!(await has("pg_has_role(current_user, 'pg_monitor', 'USAGE')")))
    return trouble(
      name,
      `it may not look at the write-ahead log, so no erasure is ever finished: GRANT pg_monitor TO "${user}"`,
    );
  const missing = [
    ...((await has("pg_has_role(current_user, 'pg_checkpoint', 'USAGE')")) ? [] : [`GRANT pg_checkpoint TO "${user}"`]),
    ...((await has("has_function_privilege('pg_switch_wal()', 'EXECUTE')"))
      ? []
      : [`GRANT EXECUTE ON FUNCTION pg_switch_wal() TO "${user}"`]),
  ];
  if (missing.length > 0) {
    return note(
      name,
      `an erasure waits until PostgreSQL writes over its write-ahead log by itself, for hours where little is written; ${missing.join(' and ')} lets it be done at once`,
    );
  }
  return ok(name, `${user} may append and erase, and not change what is recorded`);
}

/** Events are dated by the clock of PostgreSQL, but ids and tokens are made by nodes. */
const clockMilliseconds = { note: 1000, trouble: 60_000 };

async function checkClocks(connection: Connection): Promise<DoctorFinding> {
  const before = Date.now();
  const [found] = await connection.run({
    text: 'SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint AS now',
  });
  const after = Date.now();
  const difference = Number(found?.rows[0]?.now) - (before + after) / 2;
  const seconds = (Math.abs(difference) / 1000).toFixed(1);
  const told = `the clock of PostgreSQL is ${seconds} seconds ${difference < 0 ? 'behind' : 'ahead of'} that of this machine`;
  const off = Math.abs(difference) - (after - before) / 2;
  if (off > clockMilliseconds.trouble)
    return trouble('log clock', `${told}: events are dated by it; set both by a time service`);
  if (off > clockMilliseconds.note) return note('log clock', told);
  return ok('log clock', told);
}

/** A node that lacks more than this does not only follow at a distance. */
const manyEvents = 10_000;

function checkNodes(standing: Standing): DoctorFinding {
  const { nodes, now, size, erased } = standing;
  const absent = nodes.filter(({ seen }) => now - seen > reportMilliseconds.absent);
  const late = nodes.filter((node) => !absent.includes(node) && size - node.applied > manyEvents);
  const versions = new Set(nodes.map(({ version }) => version));
  const obstacle = obstacleOf(standing, erased);
  const told = [
    `${counted(nodes.length - absent.length, 'node', 'nodes')} of ${nodes.length} on the list ${nodes.length - absent.length === 1 ? 'is' : 'are'} there`,
    ...late.map(({ node, applied }) => `${node} lacks ${size - applied} events`),
    ...absent.map(({ node, seen }) => `${node} was last seen ${new Date(seen).toISOString()}`),
    ...(versions.size > 1 ? [`they have the versions ${[...versions].sort().join(', ')}`] : []),
    ...(obstacle === null ? [] : [`the newest erasure is not finished: ${obstacle}`]),
  ].join('; ');
  if (absent.length > 0) return trouble('nodes', `${told}; start it, or annals nodes forget it when its disk is gone`);
  return late.length > 0 || versions.size > 1 || obstacle !== null ? note('nodes', told) : ok('nodes', told);
}

async function checkSize(connection: Connection, { size }: Standing): Promise<DoctorFinding> {
  const [found] = await connection.send({
    text: `SELECT coalesce(sum(pg_total_relation_size(c.oid)), 0)::bigint AS bytes
           FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace WHERE n.nspname = 'annals' AND c.relkind = 'r'`,
  });
  const bytes =
    found?.status === 'fulfilled' ? `, and its tables have ${inBytes(Number(found.value.rows[0]?.bytes))}` : '';
  return ok('log size', `the log has ${counted(size, 'event', 'events')}${bytes}`);
}
