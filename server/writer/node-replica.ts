import type { RecordedEvent } from '../../events/facts/log.ts';
import { OutdatedError } from '../../events/replica/outdated.ts';
import { SharedLogUnavailableError } from '../../events/replica/shared-log.ts';
import { openFollower } from '../../events/replica/shared-reads.ts';
import { openSharedWriter, page, type SharedWriter } from '../../events/replica/shared-writer.ts';
import type { RowMarks } from '../../projections/tables/row-marks.ts';
import { messageOf } from '../../storage/errors.ts';
import { writeMilliseconds } from '../../storage/postgres/durations.ts';
import { isDiskFull } from '../../storage/sqlite.ts';
import { setFull } from '../platform/state.ts';
import type { NodeConfiguration } from './applying.ts';
import type { NodeLog } from './joining.ts';
import { type Lag, openLag } from './lag.ts';
import { type Maintenance, openMaintenance } from './maintenance.ts';
import { type NodeReadTables, openReadTables } from './read-tables.ts';
import { type NodeAgreement, openAgreement } from './schema-agreement.ts';
import { type Refusals, refusalsOf, type ThreadParts, type WriterDirectory } from './thread-parts.ts';

/** The surroundings of a node's writer: its thread, and the configuration of the node. */
export type NodeParts = ThreadParts & {
  configured: NodeConfiguration;
  /** Whether the node applies a new configuration without being told. */
  appliesSchema: boolean;
  marks: RowMarks;
};

/** The parts of a replica that its functions share. */
type Parts = Pick<WriterDirectory, 'log'> &
  Pick<NodeParts, 'say' | 'state'> & {
    refusals: Refusals;
    agreement: NodeAgreement;
    tables: NodeReadTables;
    shared: SharedWriter;
    maintenance: Maintenance;
    lag: Lag;
  };

/** The replica of a log on this node: log and read tables, and what keeps both level with the log of all nodes. */
export type Replica = ReturnType<typeof openReplica>;

/** Opens the replica of a node, which begins to follow the other nodes. */
export function openReplica({ scrubber, ...started }: WriterDirectory, node: NodeLog, parts: NodeParts) {
  const { say, state, configured, marks } = parts;
  const { log, isPending } = started;
  const refusals = refusalsOf(state);
  const warn = (message: string) => say({ kind: 'warning', message });
  /** Tells the main thread that this node cannot go on: its files differ from the log, or cannot be trusted. */
  const fail = (error: unknown) => say({ kind: 'failed', message: messageOf(error) });
  const agreement = openAgreement({ state, shared: node.shared, declared: configured, isPending, warn });
  const tables = openReadTables({ started, schema: configured.schema, marks, onApplied: agreement.settle });
  const shared = openSharedWriter({
    replica: log,
    shared: node.shared,
    clock: node.clock,
    apply: (recorded) => apply(replica, recorded),
    patience: writeMilliseconds.usual,
    refuses: agreement.refuses,
  });
  const between = (run: () => void) => void shared.between(run).catch(fail);
  const maintenance = openMaintenance({ log, scrubber }, { parts, refusals, between });
  const lag = openLag(state, say);
  const replica: Parts = { log, say, state, refusals, agreement, tables, shared, maintenance, lag };
  // The last part, because it begins to follow at once.
  const follower = openFollower({
    shared: node.shared,
    reached: () => agreement.scanned() ?? tables.position(),
    follow: (isExpected) => follow(replica, isExpected),
    fail,
  });
  return {
    ...replica,
    follower,
    warn,
    fail,
    async close(): Promise<void> {
      lag.close();
      agreement.close();
      maintenance.close();
      await follower.close();
      await shared.close();
    },
  };
}

/** Applies to the read tables the events that the replica has taken in, from whichever node. */
function apply({ say, refusals, tables, maintenance }: Parts, recorded: readonly RecordedEvent[]): void {
  try {
    tables.apply(recorded);
  } catch (error) {
    refusals.throwUnlessPassing(error);
  }
  if (recorded.some(({ header }) => header.type === 'document.erased')) say({ kind: 'erased' });
  maintenance.noteEvents();
}

/** Takes in a page of what other nodes have appended. @returns the number of events. */
async function follow(replica: Parts, isExpected: boolean): Promise<number> {
  const { log, state, agreement, tables, shared, lag } = replica;
  if (agreement.outdated() !== null) return await agreement.scan(page);
  try {
    const count = await shared.follow(isExpected);
    if (tables.position() < log.head().size) await shared.between(() => apply(replica, []));
    if (shared.isLevel()) lag.noteLevel();
    return count;
  } catch (error) {
    if (error instanceof OutdatedError) {
      agreement.end(error, tables.position());
      return 0;
    }
    if (isDiskFull(error)) {
      setFull(state, true);
      throw new SharedLogUnavailableError('there is no room on the disk of this node', { cause: error });
    }
    if (error instanceof SharedLogUnavailableError) lag.noteBehind(error);
    throw error;
  }
}
