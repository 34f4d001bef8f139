import { counted } from '../../config/counted.ts';
import { readAddress } from '../../events/postgres/address.ts';
import { forgetNode, readLateness, readLogs, readStanding } from '../../events/postgres/nodes.ts';
import { type NodeRow, obstacleOf, type Standing } from '../../events/postgres/standing.ts';
import type { CommandLine } from '../../server/settings/command.ts';
import { UsageError } from '../../server/settings/settings.ts';
import { codeOf, messageOf } from '../../storage/errors.ts';
import { type Connection, connect } from '../../storage/postgres/connection.ts';
import { reportMilliseconds } from '../../storage/postgres/durations.ts';
import { CallError } from '../errors.ts';
import { printLine, refused, row, terminalOf, widthOf } from '../terminal.ts';

const connectMilliseconds = 5000;

/** A node as it is shown. `state` is from its last report, or `absent`. */
type ShownNode = Omit<NodeRow, 'state' | 'seen'> & {
  state: string;
  lagEvents: number;
  lagSeconds: number;
  seen: string;
};

/** `annals nodes`: exit 0 shown, 2 could not run. */
export async function listNodes(
  { settings, flags }: CommandLine<{ json: 'boolean' }>,
  environment: NodeJS.ProcessEnv,
): Promise<number> {
  const { standing, nodes } = await withLog(settings.log, async (connection, log) => {
    const standing = await readStanding(connection, log);
    const late = await readLateness(connection, log, standing.nodes);
    return { standing, nodes: standing.nodes.map((node) => shown(node, standing, late.get(node.node))) };
  });
  const obstacle = obstacleOf(standing, standing.erased);
  const { size, erased, cleaned } = standing;
  if (flags.json) return printLine(JSON.stringify({ size, erasures: { newest: erased, cleaned, obstacle }, nodes }));
  for (const line of table(nodes, environment)) printLine(line);
  printLine(`the log has ${counted(size, 'event', 'events')}`);
  if (obstacle !== null) printLine(`the newest erasure, event ${erased}, is not finished: ${obstacle}`);
  return 0;
}

/** `annals nodes forget NODE`: exit 0 done, 1 refused, 2 could not run. */
export async function forget({ settings, flags, words }: CommandLine<{ force: 'boolean' }>): Promise<number> {
  const [node = ''] = words;
  const isForced = flags.force === true;
  const outcome = await withLog(settings.log, (connection, log) => forgetNode(connection, { log, node, isForced }));
  if (outcome === 'forgotten') return printLine(`forgot ${node}: no erasure waits for its files any more`);
  if (outcome === 'unknown') return refused(`there is no node ${JSON.stringify(node)}; annals nodes lists them`);
  return refused(
    `${node} was seen within the last ${reportMilliseconds.forgettable / 1000} seconds, and comes back while it runs: stop it, or wait; ` +
      '--force does not wait',
  );
}

/** Connects to the server that takes writes, for the log of this service. @throws UsageError, CallError. */
async function withLog<T>(
  address: string | undefined,
  run: (connection: Connection, log: number) => Promise<T>,
): Promise<T> {
  if (address === undefined) throw new UsageError('ANNALS_POSTGRES_URL is not set: only a log in PostgreSQL has nodes');
  const warn = (message: string) => process.stderr.write(`${message}\n`);
  let connection: Connection | null = null;
  try {
    connection = await connect(readAddress(address), connectMilliseconds, warn);
    const log = (await readLogs(connection)).get('');
    if (log === undefined) throw new CallError('there is no log in this database yet: the first node makes it');
    return await run(connection, log);
  } catch (error) {
    // No such table.
    if (codeOf(error) === '42P01') throw new CallError('there is no log in this database yet: the first node makes it');
    if (error instanceof CallError) throw error;
    throw new CallError(messageOf(error));
  } finally {
    connection?.destroy();
  }
}

function shown(node: NodeRow, { now, size }: Standing, since: number | undefined): ShownNode {
  return {
    ...node,
    state: now - node.seen > reportMilliseconds.absent ? 'absent' : node.state,
    seen: new Date(node.seen).toISOString(),
    lagEvents: Math.max(size - node.applied, 0),
    lagSeconds: since === undefined ? 0 : Math.max(Math.round((now - since) / 1000), 0),
  };
}

function table(nodes: readonly ShownNode[], environment: NodeJS.ProcessEnv): string[] {
  const { columns, bold } = terminalOf(process.stdout, environment);
  if (nodes.length === 0) return ['no node is on the list'];
  const head = ['NODE', 'STATE', 'VERSION', 'SCHEMA', 'APPLIED', 'BEHIND', 'SCRUBBED', 'LAST SEEN'];
  const cells = nodes.map(({ node, state, version, schema, applied, lagEvents, lagSeconds, scrubbed, seen }) => {
    const behind = lagEvents === 0 ? '0' : `${lagEvents}, ${lagSeconds} s`;
    return [node, state, version, schema, String(applied), behind, String(scrubbed), seen];
  });
  const widths = head.map((title, at) => Math.max(...[title, ...cells.map((cell) => cell[at] ?? '')].map(widthOf)));
  return [bold(row(head, widths, columns)), ...cells.map((one) => row(one, widths, columns))];
}
