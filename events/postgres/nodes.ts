import type { JsonObject } from '../../config/schema.ts';
import type {
  Connection,
  PostgresAddress,
  PostgresStatement,
  StatementResult,
} from '../../storage/postgres/connection.ts';
import { callMilliseconds, reportMilliseconds } from '../../storage/postgres/durations.ts';
import { openSession } from '../../storage/postgres/session.ts';
import type { LogTables } from './parts.ts';
import { type Replication, readReplication } from './standbys.ts';
import type { NodeReport, NodeRow, Standing } from './standing.ts';

/** Thrown when another process reports under the name of this node: a data directory was copied with its name. */
export class NodeNameTakenError extends Error {
  override name = 'NodeNameTakenError';
}

export type Registry = ReturnType<typeof openRegistry>;

/** A node that ends waits for this time, in milliseconds, to be taken off the list; otherwise it stays on it. */
const leaveMilliseconds = 1500;

const now = 'floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint';

/**
 * Opens the table of the nodes of a log, for one of them.
 *
 * @param instance tells this process from all others.
 */
export function openRegistry(options: { address: PostgresAddress; tables: LogTables; node: string; instance: string }) {
  const { address, tables, node, instance } = options;
  const { log } = tables;
  const session = openSession(address, () => {});

  async function run(statements: readonly PostgresStatement[], within = callMilliseconds): Promise<StatementResult[]> {
    return await session.retried(performance.now() + within, (connection) => connection.run(...statements));
  }

  /**
   * Reports, and gives the standing of all nodes.
   *
   * @throws NodeNameTakenError; UnreachableError.
   */
  async function report(own: NodeReport): Promise<Standing> {
    const [written, ...found] = await run([reportStatement(log, { ...own, node, instance }), ...standingQueries(log)]);
    if (written?.rowCount !== 1) {
      throw new NodeNameTakenError(
        `another node reports under the name ${node}: its data directory was copied with the file "node"; ` +
          'remove that file in one of the two, or set ANNALS_NODE',
      );
    }
    return standingOf(found);
  }

  /**
   * Takes this node off the list when it ends in order. It stays on the list if its files have something of an erasure.
   *
   * @param scrubbed as in a report.
   */
  async function leave(scrubbed: number): Promise<void> {
    const leaving = {
      text: `DELETE FROM annals.nodes WHERE log = $1 AND node = $2 AND instance = $3
             AND $4::bigint >= (SELECT coalesce(max(position), 0) FROM annals.erasures WHERE log = $1)`,
      values: [log, node, instance, scrubbed],
    };
    await run([leaving], leaveMilliseconds);
  }

  /** The standbys of the primary; null if they cannot be known. @throws UnreachableError. */
  async function replication(): Promise<Replication | null> {
    return await session.retried(performance.now() + callMilliseconds, readReplication);
  }

  return { report, leave, replication, close: session.close };
}

/**
 * A node that begins with an empty directory never gets content that is erased by then. The files of a node stay
 * scrubbed unless they are older than at its last report, or may be other files: those of another process of this name,
 * as after the restore of a backup.
 */
function reportStatement(log: number, own: NodeReport & { node: string; instance: string }): PostgresStatement {
  const { node, instance, version, schema, state, applied, scrubbed } = own;
  return {
    name: 'report',
    text: `INSERT INTO annals.nodes AS old (log, node, version, schema, instance, state, applied, scrubbed, seen)
           SELECT $1::int, $2, $3, $4, $5, $6, $7::bigint, CASE WHEN $7::bigint = 0
             THEN (SELECT coalesce(max(position), 0) FROM annals.erasures WHERE log = $1) ELSE $8::bigint END, ${now}
           ON CONFLICT (log, node) DO UPDATE SET version = excluded.version, schema = excluded.schema,
             instance = excluded.instance, state = excluded.state, applied = excluded.applied, seen = excluded.seen,
             scrubbed = CASE WHEN excluded.applied < old.applied OR excluded.instance <> old.instance THEN excluded.scrubbed
                             ELSE greatest(old.scrubbed, excluded.scrubbed) END
           WHERE old.instance = excluded.instance OR old.seen < excluded.seen - ${reportMilliseconds.absent}`,
    values: [log, node, version, schema, instance, state, applied, scrubbed],
  };
}

function standingQueries(log: number): PostgresStatement[] {
  return [
    {
      name: 'nodes',
      text: `SELECT node, version, schema, state, applied, scrubbed, seen FROM annals.nodes WHERE log = $1 ORDER BY node`,
      values: [log],
    },
    {
      name: 'standing',
      text: `SELECT ${now} AS now, h.size, coalesce(c.cleaned, 0) AS cleaned, coalesce(c.stage, '') AS stage,
               (SELECT coalesce(max(position), 0) FROM annals.erasures WHERE log = $1) AS erased
             FROM annals.heads AS h LEFT JOIN annals.cleanings AS c ON c.log = h.log WHERE h.log = $1`,
      values: [log],
    },
  ];
}

function standingOf([nodes, standing]: StatementResult[]): Standing {
  const row: Omit<Standing, 'nodes'> | undefined = standing?.rows[0];
  if (!row) throw new Error('PostgreSQL has no such log any more');
  return { ...row, nodes: nodes?.rows ?? [] };
}

/** Reads the standing of the nodes of a log, for a process that is not a node. */
export async function readStanding(connection: Connection, log: number): Promise<Standing> {
  return standingOf(await connection.run(...standingQueries(log)));
}

/** The time of the first event that each node lacks, in milliseconds since the epoch, by the name of the node. */
export async function readLateness(
  connection: Connection,
  log: number,
  nodes: readonly NodeRow[],
): Promise<Map<string, number>> {
  const [found] = await connection.run({
    text: 'SELECT position, header FROM annals.events WHERE log = $1 AND position = ANY($2::bigint[])',
    values: [log, nodes.map(({ applied }) => applied + 1)],
  });
  const times = new Map<number, number>();
  for (const { position, header } of (found?.rows ?? []) as { position: number; header: string }[])
    times.set(position, Date.parse(String((JSON.parse(header) as JsonObject).recordedAt)));
  return new Map(
    nodes.flatMap(({ node, applied }) => {
      const time = times.get(applied + 1);
      return time === undefined ? [] : [[node, time]];
    }),
  );
}

/**
 * Forgets a node whose files are gone: erasures no longer wait for them.
 *
 * @returns `seen` if it was seen too recently and this is not forced.
 */
export async function forgetNode(
  connection: Connection,
  { log, node, isForced }: { log: number; node: string; isForced: boolean },
): Promise<'forgotten' | 'unknown' | 'seen'> {
  const [gone, left] = await connection.run(
    {
      text: `DELETE FROM annals.nodes WHERE log = $1 AND node = $2 AND ($3::boolean OR seen < ${now} - ${reportMilliseconds.forgettable})`,
      values: [log, node, isForced],
    },
    { text: 'SELECT 1 FROM annals.nodes WHERE log = $1 AND node = $2', values: [log, node] },
  );
  if (gone?.rowCount === 1) return 'forgotten';
  return left?.rowCount === 1 ? 'seen' : 'unknown';
}

/** The numbers of the logs of a database, by their sites. */
export async function readLogs(connection: Connection): Promise<Map<string, number>> {
  const [found] = await connection.run({ text: 'SELECT site, log FROM annals.heads ORDER BY site' });
  return new Map((found?.rows ?? []).map(({ site, log }) => [site, log]));
}
