import { codeOf, messageOf } from '../../storage/errors.ts';
import {
  connectToHost,
  type Host,
  type HostConnection,
  hostName,
  type PostgresAddress,
} from '../../storage/postgres/connection.ts';
import { connectMilliseconds } from '../../storage/postgres/durations.ts';
import { type Instance, lateStandbys, readInstance, unnamedStandbys } from './standbys.ts';
import { hastenWal, passWal, readWal, unknownWal, type WalFiles, type WalProgress, walNumber } from './wal.ts';

/** A checkpoint of a large server may take this long. */
const lookMilliseconds = 60_000;

/** An unnamed standby that has disconnected is waited for during this time: it may connect again. */
const memoryMilliseconds = 60_000;

/**
 * The knowledge of a server of an address. `progress`: for the place `lsn`; null when nothing up to the place is left.
 */
type KnownServer = { lsn: string; progress: WalProgress | null; instance: Instance };

/**
 * The outcome of a look at a server: `words` say what is left, null for nothing; `hasFiles`: its files may have
 * something; `instance` is null if it was never reached.
 */
type ServerLook = { words: string | null; hasFiles: boolean; instance: Instance | null };

/**
 * The servers of an address, as the watch knows them. `unnamed`: the standbys that the address does not name, and when
 * each was seen last, by `performance.now()`.
 */
type WatchState = {
  address: PostgresAddress;
  known: Map<string, KnownServer>;
  unnamed: Map<string, number>;
  isClosed: boolean;
};

export type WalWatch = ReturnType<typeof openWalWatch>;

/** Watches the write-ahead logs of all servers of an address, and whether there are standbys that it does not name. */
export function openWalWatch(address: PostgresAddress) {
  const watched: WatchState = { address, known: new Map(), unnamed: new Map(), isClosed: false };
  return {
    /**
     * Looks whether a server still has something that was written up to a place, and has the servers go on.
     *
     * @returns null when none has; `gone back` when the log ends before the place, as after a failover that has lost
     * it; else a description of what is left.
     */
    look: (lsn: string): Promise<string | null> => look(watched, lsn),
    close(): void {
      watched.isClosed = true;
    },
  };
}

async function look(watched: WatchState, lsn: string): Promise<string | null> {
  const { hosts } = watched.address;
  const looks = await Promise.all(hosts.map((host) => lookAt(watched, host, lsn)));
  if (looks.some(({ words }) => words === 'gone back')) return 'gone back';
  // Standbys go on with what the primary writes.
  if (looks.some(({ hasFiles }) => hasFiles))
    await Promise.all(hosts.map(async (host, at) => looks[at]?.words === null && (await hasten(watched, host))));
  const left = [
    ...looks.flatMap(({ words }) => words ?? []),
    ...wordsOfUnnamed(
      watched,
      looks.map(({ instance }) => instance),
    ),
  ];
  return left.length === 0 ? null : left.join('; ');
}

async function hasten(watched: WatchState, host: Host): Promise<void> {
  await withHost(watched, host, async ({ connection, isStandby }) => {
    if (!isStandby && !watched.isClosed) await hastenWal(connection, { isStandby, isLettingGo: true });
  }).catch(() => {
    // Only to save time: the server goes on by itself.
  });
}

async function withHost<T>(
  { address }: WatchState,
  host: Host,
  run: (server: HostConnection) => Promise<T>,
): Promise<T> {
  const server = await connectToHost(address, host, connectMilliseconds.longest);
  const timer = setTimeout(server.connection.destroy, lookMilliseconds);
  try {
    return await run(server);
  } finally {
    clearTimeout(timer);
    server.connection.destroy();
  }
}

async function lookAt(watched: WatchState, host: Host, lsn: string): Promise<ServerLook> {
  const name = hostName(host);
  const before = watched.known.get(name);
  try {
    return await withHost(watched, host, (server) => lookNow(watched, server, { name, lsn }));
  } catch (error) {
    const unseen = { hasFiles: false, instance: before?.instance ?? null };
    if (codeOf(error) === '42501') {
      const right = `GRANT pg_monitor TO ${JSON.stringify(watched.address.user)}`;
      return { ...unseen, words: `the role may not look at the write-ahead log of ${name}: ${right}` };
    }
    if (before?.lsn === lsn && before.progress === null) return { ...unseen, words: null };
    return { ...unseen, words: `${name} does not answer, and its files may have it (${messageOf(error)})` };
  }
}

async function lookNow(
  watched: WatchState,
  { connection, isStandby }: HostConnection,
  { name, lsn }: { name: string; lsn: string },
): Promise<ServerLook> {
  const { known } = watched;
  const instance = await readInstance(connection);
  const before = known.get(name);
  // A name may lead to another server than before.
  const progress = before?.lsn === lsn && before.instance.id === instance.id ? before.progress : unknownWal;
  if (progress === null) {
    known.set(name, { lsn, progress, instance });
    return { words: null, hasFiles: false, instance };
  }
  const found = await readWal(connection, isStandby);
  const place = walNumber(lsn, found.segmentBytes);
  if (!isStandby && found.current < place) return { words: 'gone back', hasFiles: false, instance };
  const passed = passWal(found, place, progress);
  const late = passed === null && !isStandby ? await lateStandbys(connection, lsn) : [];
  if (late.length > 0)
    return { words: `the standby ${late.join(', ')} has not come so far`, hasFiles: false, instance };
  known.set(name, { lsn, progress: passed, instance });
  if (passed === null) return { words: null, hasFiles: false, instance };
  if (!watched.isClosed) await hastenWal(connection, { isStandby, isLettingGo: passed.last === null });
  return { words: wordsOf(name, found, { place, progress: passed }), hasFiles: true, instance };
}

function wordsOfUnnamed({ unnamed }: WatchState, instances: readonly (Instance | null)[]): string[] {
  // A server that does not answer may be that standby.
  const reached = instances.filter((one) => one !== null);
  if (reached.length < instances.length) return [];
  const now = performance.now();
  for (const name of unnamedStandbys(reached)) unnamed.set(name, now);
  const recent = [...unnamed].filter(([, seen]) => now - seen < memoryMilliseconds).map(([name]) => name);
  return recent.map(
    (name) => `the standby ${name} may have it in its write-ahead log: ANNALS_POSTGRES_URL does not name it`,
  );
}

function wordsOf(
  name: string,
  { current, files }: WalFiles,
  { place, progress: { last } }: { place: number; progress: WalProgress },
): string {
  if (last !== null) return `the write-ahead log of ${name} has ${last - current + 1} files to be written over`;
  const former = files.filter(({ number }) => number <= place).length;
  return `the write-ahead log of ${name} still has ${former} former files`;
}
