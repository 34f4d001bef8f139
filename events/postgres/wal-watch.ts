import { codeOf, messageOf } from '../../storage/errors.ts';
import {
  type Connection,
  connectToHost,
  type Host,
  hostName,
  type PostgresAddress,
  type Reached,
} from '../../storage/postgres/connection.ts';
import { hastenWal, passWal, readWal, unknownWal, type WalFiles, type WalProgress, walNumber } from './wal.ts';

const connectMilliseconds = 2000;

/** A checkpoint of a large server takes its time. */
const lookMilliseconds = 60_000;

/** The standbys that a primary knows and that have not applied all up to a place. */
async function lateStandbys(connection: Connection, lsn: string): Promise<string[]> {
  const [found] = await connection.run({
    text: `SELECT application_name AS name FROM pg_stat_replication WHERE replay_lsn IS NULL OR replay_lsn < $1::pg_lsn`,
    values: [lsn],
  });
  return (found?.rows ?? []).map(({ name }) => name);
}

/** Watches the write-ahead logs of all servers of an address. */
export function openWalWatch(address: PostgresAddress) {
  /** The knowledge of each server, of which place. */
  const known = new Map<string, { lsn: string; progress: WalProgress | null }>();
  let isClosed = false;

  /**
   * Looks whether a server still has something that was written up to a place, and has them go on.
   *
   * @returns null when none has; `gone back` when the place is not reached, as after a failover that has lost it; else what is left, in
   *   words.
   */
  async function look(lsn: string): Promise<string | null> {
    const left = await Promise.all(address.hosts.map((host) => lookAt(host, lsn)));
    if (left.includes('gone back')) return 'gone back';
    const found = left.filter((one) => one !== null);
    if (found.length === 0) return null;
    // Standbys go on with what the primary writes.
    await Promise.all(address.hosts.map(async (host, at) => left[at] === null && (await hasten(host))));
    return found.join('; ');
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

  async function lookAt(host: Host, lsn: string): Promise<string | null> {
    const name = hostName(host);
    const before = known.get(name);
    const progress: WalProgress | null = before?.lsn === lsn ? before.progress : unknownWal;
    if (progress === null) return null;
    try {
      const { passed, words } = await lookNow(host, lsn, progress);
      known.set(name, { lsn, progress: passed });
      return words;
    } catch (error) {
      if (codeOf(error) === '42501') {
        return `the role may not look at the write-ahead log of ${name}: GRANT pg_monitor TO ${JSON.stringify(address.user)}`;
      }
      return `${name} does not answer, and its files may have it (${messageOf(error)})`;
    }
  }

  async function lookNow(
    host: Host,
    lsn: string,
    progress: WalProgress,
  ): Promise<{ passed: WalProgress | null; words: string | null }> {
    return await at(host, async ({ connection, isStandby }) => {
      const found = await readWal(connection, isStandby);
      const place = walNumber(lsn, found.segmentBytes);
      if (!isStandby && found.current < place) return { passed: progress, words: 'gone back' };
      const passed = passWal(found, place, progress);
      if (passed === null) {
        const late = isStandby ? [] : await lateStandbys(connection, lsn);
        if (late.length === 0) return { passed, words: null };
        return { passed: progress, words: `the standby ${late.join(', ')} has not come so far` };
      }
      if (!isClosed) await hastenWal(connection, { isStandby, isLettingGo: passed.last === null });
      return { passed, words: wordsOf(hostName(host), found, place, passed) };
    });
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
