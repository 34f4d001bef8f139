import { categoryOf, globalsCategory } from '../../config/schema.ts';
import { schemaStream, splitStream } from '../../events/facts/catalogue.ts';
import { payloadOf } from '../../events/facts/envelope.ts';
import type { MissingRows } from '../../events/log/shipment.ts';
import type { OutdatedError } from '../../events/replica/outdated.ts';
import type { SharedLog } from '../../events/replica/shared-log.ts';
import { type Declaration, differenceTo, epochIn } from '../../projections/tables/epochs.ts';
import { type StateCell, setAgreement } from '../platform/state.ts';

/**
 * The milliseconds for which an outdated node still answers reads, as of before the other configuration: by then the
 * load balancer has noticed.
 */
const servedMilliseconds = 60_000;

type Options = {
  state: StateCell;
  shared: Pick<SharedLog, 'tail'>;
  declared: Declaration;
  /** Whether the log still has another configuration. */
  isPending: boolean;
  warn: (message: string) => void;
};

export type NodeAgreement = ReturnType<typeof openAgreement>;

/** Opens the agreement between the configuration of a node and that of the log, which all nodes share. */
export function openAgreement({ state, shared, declared, isPending, warn }: Options) {
  let isWaiting = isPending;
  let outdated: { reason: string; timer: NodeJS.Timeout; isOver: boolean } | null = null;
  let scanned = 0;
  const content = new Set(declared.schema.collections.filter(({ auth }) => !auth).map(categoryOf));
  if (isPending) setAgreement(state, 'waiting');

  /** Why a replica for this configuration may not have an event; null if it may. */
  function refuses({ stream, position, body }: MissingRows['events'][number]): string | null {
    if (stream !== schemaStream) return null;
    const { isChanged, hasOtherRules } = differenceTo(epochIn(position, payloadOf(body)?.data ?? null), declared);
    return isChanged || hasOtherRules
      ? `event ${position} has applied another configuration than that of this node`
      : null;
  }

  /**
   * Makes the node outdated: for some time it answers reads as of now.
   *
   * @param reached the position of its read tables.
   * @throws Error if the node waits.
   */
  function end(error: OutdatedError, reached: number): void {
    if (outdated) return;
    // Its read tables have a configuration that never was in force: the next start builds others.
    if (isWaiting) throw new Error(`this node cannot wait any more, and is to be started again: ${error.message}`);
    setAgreement(state, 'outdated');
    const timer = setTimeout(endReads, servedMilliseconds);
    outdated = { reason: error.message, timer, isOver: false };
    scanned = reached;
    const seconds = servedMilliseconds / 1000;
    warn(
      `${error.message}: it takes no writes any more, answers reads as of position ${reached} for ${seconds} s, and is to be ended`,
    );
  }

  /**
   * Looks whether other nodes have changed accounts, in events that this node does not take in.
   *
   * @returns the number of events.
   */
  async function scan(limit: number): Promise<number> {
    const { events } = await shared.tail({ size: scanned }, limit);
    scanned += events.length;
    const isAboutAccounts = events.some(({ stream }) => stream !== schemaStream && !isContent(stream));
    if (isAboutAccounts && outdated?.isOver === false) setAgreement(state, 'accounts-changed');
    return events.length;
  }

  function endReads(): void {
    if (outdated) outdated.isOver = true;
    setAgreement(state, 'expired');
  }

  function isContent(stream: string): boolean {
    const [category] = splitStream(stream);
    return category === globalsCategory || content.has(category);
  }

  return {
    refuses,
    end,
    scan,
    /** The last position that {@link scan} has reached; null if the node is not outdated. */
    scanned: () => (outdated ? scanned : null),
    isWaiting: () => isWaiting,
    mayWrite: () => !isWaiting && !outdated,
    /** Notes that the log has the configuration of the node. */
    settle(): void {
      if (!isWaiting) return;
      isWaiting = false;
      setAgreement(state, 'current');
    },
    /** Why the node is outdated; null if it is not. */
    outdated: () => outdated?.reason ?? null,
    close(): void {
      clearTimeout(outdated?.timer);
    },
  };
}
