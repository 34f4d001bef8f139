import { categoryOf, globalsCategory } from '../../config/schema.ts';
import { schemaStream, splitStream } from '../../events/facts/catalogue.ts';
import { payloadOf } from '../../events/facts/envelope.ts';
import type { Missed } from '../../events/log/shipped.ts';
import type { OutdatedError } from '../../events/replica/outdated.ts';
import type { SharedLog } from '../../events/replica/shared-log.ts';
import { type Declared, differenceTo, epochIn } from '../../projections/tables/epochs.ts';
import { type StateCell, setAgreement } from '../platform/state.ts';

/**
 * So many milliseconds a node answers reads as of before another configuration: what sends it requests has noticed by
 * then.
 */
const servedMilliseconds = 60_000;

/** @param isPending whether the log still has another configuration. */
type Options = {
  state: StateCell;
  shared: Pick<SharedLog, 'tail'>;
  declared: Declared;
  isPending: boolean;
  warn: (message: string) => void;
};

export type NodeAgreement = ReturnType<typeof openAgreement>;

/** How the configuration of a node agrees with that of the log, which all nodes have in common. */
export function openAgreement({ state, shared, declared, isPending, warn }: Options) {
  let isWaiting = isPending;
  let outdated: { reason: string; timer: NodeJS.Timeout; isOver: boolean } | null = null;
  let scanned = 0;
  const content = new Set(declared.schema.collections.filter(({ auth }) => !auth).map(categoryOf));
  if (isPending) setAgreement(state, 'waiting');

  /** Why a replica for this configuration may not have an event; null where it may. */
  function refuses({ stream, position, body }: Missed['events'][number]): string | null {
    if (stream !== schemaStream) return null;
    const { isChanged, hasOtherRules } = differenceTo(epochIn(position, payloadOf(body)?.data ?? null), declared);
    return isChanged || hasOtherRules
      ? `event ${position} has applied another configuration than that of this node`
      : null;
  }

  /**
   * From here on the node answers reads as of now, and for some time.
   *
   * @param reached where it is.
   * @throws Error for a node that waits.
   */
  function end(error: OutdatedError, reached: number): void {
    if (outdated) return;
    // Its read tables are those of a configuration that never was in force: the next start makes others.
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
   * Looks at what others append, which is not taken in: whether accounts are what they were. @returns how many events
   * there were.
   */
  async function scan(limit: number): Promise<number> {
    const { events } = await shared.tail({ size: scanned }, limit);
    scanned += events.length;
    const isAboutAccounts = events.some(({ stream }) => stream !== schemaStream && !isContent(stream));
    if (isAboutAccounts && outdated?.isOver === false) setAgreement(state, 'stale');
    return events.length;
  }

  function endReads(): void {
    if (outdated) outdated.isOver = true;
    setAgreement(state, 'over');
  }

  function isContent(stream: string): boolean {
    const [category] = splitStream(stream);
    return category === globalsCategory || content.has(category);
  }

  return {
    refuses,
    end,
    scan,
    /** Of a node that is outdated: the last event that it has looked at; else null. */
    scanned: () => (outdated ? scanned : null),
    isWaiting: () => isWaiting,
    mayWrite: () => !isWaiting && !outdated,
    /** The configuration is that of the log now. */
    settle(): void {
      if (!isWaiting) return;
      isWaiting = false;
      setAgreement(state, 'current');
    },
    /** Why no more can be taken; null for a node that is up to date, or waits. */
    outdated: () => outdated?.reason ?? null,
    close(): void {
      clearTimeout(outdated?.timer);
    },
  };
}
