import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { Header } from '../../events/facts/envelope.ts';
import { readLog } from '../../events/log/log-reader.ts';
import { verifyLog } from '../../events/verify/verify.ts';
import type { PostgresAddress } from '../../storage/postgres/connection.ts';
import { openDatabase, type Sqlite } from '../../storage/sqlite.ts';
import { startWait } from '../helpers/patience.ts';
import { asAdmin, makeDatabase, type Servers, startServers } from '../helpers/postgres.ts';
import { type Answer, type Load, startLoad } from './clients.ts';
import { checkHistory, type Entry, type Read, type Verdict, type Write } from './history.ts';
import { bare, type NodeKind, type RunningNode, startNode } from './nodes.ts';

/** Servers of PostgreSQL with a log, nodes that share it, and all that clients have seen of them. */
export type World = Awaited<ReturnType<typeof openWorld<Servers>>>;

/**
 * The outcome of a round. `pause`: the longest time in which no write was acknowledged, in milliseconds. `measured`:
 * how long what took, in milliseconds.
 */
export type Figures = Omit<Verdict, 'problems'> & { pause: number; measured: Record<string, number>; notes: string[] };

/**
 * Opens a world, with a log of its own; `close` is to be called after it.
 *
 * @param given servers that are there; without them it has its own.
 * @param kinds one for each node.
 * @param headers of each request.
 */
export async function openWorld<S extends Pick<Servers, 'hosts'> = Servers>(
  given: S | undefined,
  kinds: readonly NodeKind[],
  headers: Record<string, string>,
) {
  const folder = mkdtempSync(join(tmpdir(), 'annals-faults-'));
  const servers = given ?? ((await startServers()) as Servers & S);
  const { address } = await makeDatabase(servers.hosts);
  const end = async () => {
    if (!given) await (servers as Servers & S).end();
    rmSync(folder, { recursive: true, force: true });
  };
  const starts = await Promise.allSettled(
    kinds.map((kind, at) => startNode(kind, { address, folder, name: `n${at}` })),
  );
  const nodes = starts.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
  const failed = starts.find((one) => one.status === 'rejected');
  if (failed) {
    await Promise.all(nodes.map((node) => node.close()));
    await end();
    throw failed.reason;
  }
  const seen: (Write | Read)[] = [];
  const surprises: string[] = [];
  const loads: Load[] = [];

  /** Starts sessions; without nodes they use all of them. */
  function load(count: number, those: readonly RunningNode[] = nodes): Load {
    const names = Array.from({ length: count }, (_, at) => `s${loads.length}x${at}`);
    const started = startLoad({ urls: () => those.map(({ url }) => url), seen, surprises, headers }, names);
    loads.push(started);
    return started;
  }

  /** Waits until `more` further writes are acknowledged. */
  async function untilMore(more: number, of: Load): Promise<void> {
    const goal = of.count() + more;
    await until(() => of.count() >= goal || nodes.every((node) => node.ended() !== undefined), `${more} writes`, 3);
  }

  /**
   * The history so far, held against the log as a node has it that comes now; it is there at the end of each scenario.
   */
  async function check({ mayLose = false } = {}): Promise<Figures> {
    await Promise.all(loads.map((one) => one.stop()));
    const log = await readAnew(address, folder);
    const { problems, ...verdict } = checkHistory({ seen, log: log.entries });
    if (!mayLose) {
      assert.deepEqual(problems.slice(0, 5), [], `${problems.length} problems`);
      assert.deepEqual(surprises.slice(0, 5), [], `${surprises.length} surprises`);
      for (const node of nodes) checkReplica(node, log.headers);
    }
    return { ...verdict, pause: Math.round(longestPause(seen)), measured: {}, notes: [] };
  }

  /** Notes a write that was sent once. */
  function saw({ answer, ...rest }: Pick<Write, 'session' | 'tag' | 'began' | 'expected'> & { answer: Answer }): void {
    const fate = answer === null ? 'unknown' : answer.status < 300 ? 'acknowledged' : 'refused';
    const isDone = fate === 'acknowledged';
    seen.push({
      kind: 'write',
      ...rest,
      ended: performance.now(),
      fate,
      ...(isDone && answer?.id ? { stream: `things/${answer.id}` } : {}),
      ...(isDone && answer?.version ? { version: answer.version } : {}),
    });
  }

  return {
    servers,
    address,
    headers,
    nodes,
    seen,
    saw,
    load,
    untilMore,
    check,
    headersOfLog: async () => (await readAnew(address, folder)).headers.map((text) => JSON.parse(text) as Header),
    sql: (...statements: string[]) => asAdmin(servers.hosts, address.database, ...statements),
    async close(): Promise<void> {
      await Promise.all(nodes.map((node) => node.close()));
      await end();
    },
  };
}

export async function until(isSo: () => unknown, what: string, minutes = 1): Promise<void> {
  for (const wait = startWait(minutes); !(await isSo()); await pause(20))
    if (wait.isOver()) throw new Error(`it did not come to ${what}: ${wait.report()}`);
}

/** The longest time between two acknowledged writes. @param from the moment before which it may not have ended. */
export function longestPause(seen: readonly (Write | Read)[], from = Number.NEGATIVE_INFINITY): number {
  const moments = seen
    .filter((one) => one.kind === 'write' && one.fate === 'acknowledged')
    .map(({ ended }) => ended)
    .sort((one, other) => one - other);
  const pauses = moments.slice(1).map((moment, at) => (moment < from ? 0 : moment - (moments[at] as number)));
  return pauses.reduce((longest, one) => Math.max(longest, one), 0);
}

/** The log as a new node gets it from PostgreSQL alone, whose tree then gives the root of the head. */
async function readAnew(address: PostgresAddress, folder: string) {
  const node = await startNode(bare, { address, folder, name: `late-${process.hrtime.bigint()}` });
  try {
    // Linear: it has all that is there.
    await until(async () => (await fetch(`${node.url}/api/collections/things/none`)).status === 404, 'all of the log');
    return read(node.data);
  } finally {
    await node.close();
  }
}

function read(data: string): { entries: Entry[]; headers: string[] } {
  const db = openDatabase(join(data, 'log.db'), { readonly: true });
  try {
    const { size } = readLog(db).head();
    return { entries: entriesOf(db, size), headers: headersOf(db) };
  } finally {
    db.close();
  }
}

function headersOf(db: Sqlite): string[] {
  return db.prepare('SELECT header FROM headers ORDER BY position').pluck().all() as string[];
}

/** The events as the checker wants them: the documents of clients have their tag in what was set last. */
function entriesOf(db: Sqlite, size: number): Entry[] {
  return readLog(db)
    .range(0, size)
    .map(({ header: { position, stream, version, type }, data }) => {
      const set = (data?.set ?? data ?? {}) as { note?: string; marker?: string; name?: string };
      const isOurs = stream.startsWith('things/');
      return {
        position,
        stream,
        version,
        tag: isOurs ? (set.note ?? set.marker ?? null) : null,
        isEnd: type === 'document.deleted',
        takes: isOurs && set.name !== undefined ? [set.name] : [],
      };
    });
}

/** A replica is sound, and a beginning of the log: a node may have been killed, or cut off. */
function checkReplica({ name, data }: RunningNode, headers: readonly string[]): void {
  const db = openDatabase(join(data, 'log.db'), { readonly: true });
  try {
    const own = headersOf(db);
    assert.deepEqual(own, headers.slice(0, own.length), `${name} has another log`);
    assert.equal(
      verifyLog(db, () => {}),
      null,
      name,
    );
  } finally {
    db.close();
  }
}
