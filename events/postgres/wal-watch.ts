import { codeOf, messageOf } from '../../storage/errors.ts';
import {
  connectToHost,
  type Host,
  hostName,
  type PostgresAddress,
  type Reached,
} from '../../storage/postgres/connection.ts';
import { type Instance, lateStandbys, readInstance, unnamedStandbys } from './standbys.ts';
import { hastenWal, passWal, readWal, unknownWal, type WalFiles, type WalProgress, walNumber } from './wal.ts';

const connectMilliseconds = 2000;

/** A checkpoint of a large server takes its time. */
const lookMilliseconds = 60_000;

/** An unnamed standby that is not connected counts for so long as if it were: it may connect again. */
const memoryMilliseconds = 60_000;

/**
 * The knowledge of the server of an address. `progress` is that up to the place `lsn`, null when nothing of it is left.
 */
type Known = { lsn: string; progress: WalProgress | null; instance: Instance };

/**
 * The outcome of a look at one. `hasFiles`: files of the server may have it; `instance` is null where it was never
 * reached.
 */
type Found = { words: string | null; hasFiles: boolean; instance: Instance | null };

/** Watches the write-ahead logs of all servers of an address, and whether there are standbys that it does not name. */
export function openWalWatch(address: PostgresAddress) {
  const known = new Map<string, Known>();
  /** When each was seen last. */
  const unnamed = new Map<string, number>();
  let isClosed = false;

  /**
   * Looks whether a server still has something that was written up to a place, and has them go on.
   *
   * @returns null when none has; `gone back` when the place is not reached, as after a failover that has lost it; else
   * what is left, in words.
   */
  async function look(lsn: string): Promise<string | null> {
    const found = await Promise.all(address.hosts.map((host) => lookAt(host, lsn)));
    if (found.some(({ words }) => words === 'gone back')) return 'gone back';
    // Standbys go on with what the primary writes.
    if (found.some(({ hasFiles }) => hasFiles))
      await Promise.all(address.hosts.map(async (host, at) => found[at]?.words === null && (await hasten(host))));
    const left = [
      ...found.flatMap(({ words }) => words ?? []),
      ...wordsOfUnnamed(found.map(({ instance }) => instance)),
    ];
    return left.length === 0 ? null : left.join('; ');
  }

  async function hasten(host: Host): Promise<void> {
    await at(host, async ({ connection, isStandby }) => {
      if (!isStandby && !isClosed) await hastenWal(connection, { isStandby, isLettingGo: true });
    }).catch(() => {});
  }

  async function at<T>(host: Host, run: (reached: Reached) => Promise<T>): Promise<T> {
    const reached = await connectToHost(address, host, connectMilliseconds);
    const timer = setTimeout(reached.connection.destroy, lookMilliseconds);
    try {
      return await run(reached);
    } finally {
      clearTimeout(timer);
      reached.connection.destroy();
    }
  }

  async function lookAt(host: Host, lsn: string): Promise<Found> {
    const name = hostName(host);
    const before = known.get(name);
    try {
      return await at(host, (reached) => lookNow(reached, host, lsn));
    } catch (error) {
      const instance = before?.instance ?? null;
      if (codeOf(error) === '42501') {
        const right = `GRANT pg_monitor TO ${JSON.stringify(address.user)}`;
        return {
          words: `the role may not look at the write-ahead log of ${name}: ${right}`,
          hasFiles: false,
          instance,
        };
      }
      if (before?.lsn === lsn && before.progress === null) return { words: null, hasFiles: false, instance };
      const words = `${name} does not answer, and its files may have it (${messageOf(error)})`;
      return { words, hasFiles: false, instance };
    }
  }

  async function lookNow({ connection, isStandby }: Reached, host: Host, lsn: string): Promise<Found> {
    const name = hostName(host);
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
    if (!isClosed) await hastenWal(connection, { isStandby, isLettingGo: passed.last === null });
    return { words: wordsOf(name, found, place, passed), hasFiles: true, instance };
  }

  function wordsOfUnnamed(instances: readonly (Instance | null)[]): string[] {
    // One that does not answer may be that standby.
    const reached = instances.filter((one) => one !== null);
    if (reached.length < instances.length) return [];
    const now = performance.now();
    for (const name of unnamedStandbys(reached)) unnamed.set(name, now);
    const recent = [...unnamed].filter(([, seen]) => now - seen < memoryMilliseconds).map(([name]) => name);
    return recent.map(
      (name) => `the standby ${name} may have it in its write-ahead log: ANNALS_POSTGRES_URL does not name it`,
    );
  }

  return {
    look,
    close(): void {
      isClosed = true;
    },
  };
}

function wordsOf(name: string, { current, files }: WalFiles, place: number, { last }: WalProgress): string {
  if (last !== null) return `the write-ahead log of ${name} has ${last - current + 1} files to be written over`;
  const former = files.filter(({ number }) => number <= place).length;
  return `the write-ahead log of ${name} still has ${former} former files`;
}
