import type { LeaseRows } from '../../../events/postgres/vault/leases.ts';
import { leaseLooks, leaseMilliseconds } from '../../../storage/postgres/durations.ts';

/** The right to do something that only one node does at a time. */
export type Lease = {
  /** Whether this node holds the lease, as of its last look: a lease ends by itself. */
  isHeld: () => boolean;
  /** Takes the lease if it is free, or renews it. False also if PostgreSQL does not answer. */
  look: () => Promise<boolean>;
  /** Lets another node have the lease. */
  close: () => Promise<void>;
};

type Options = {
  rows: Pick<LeaseRows, 'take' | 'release'>;
  name: string;
  /** The name of this node. */
  holder: string;
  /** Called when this node gets the lease. */
  onGained: () => void;
  /** Whether this node may hold the lease now; always by default. A node that may not gives it up. */
  mayTake?: () => boolean;
  milliseconds?: number;
};

/**
 * The options of a lease for work that follows from the log. `mayTake`: a node with another configuration than the log
 * records nothing. `upToDate` resolves when this node has all that was recorded before the call.
 */
export type LogLeaseOptions = Pick<Options, 'name' | 'onGained' | 'mayTake'> & { upToDate: () => Promise<void> };

/**
 * The same as a lease, for work that follows from the log: the holder has all that the holder before it has recorded.
 */
export function openLogLease(rows: LeaseRows, holder: string, { upToDate, ...options }: LogLeaseOptions): Lease {
  const lease = openLease({ rows, holder, ...options });
  return {
    ...lease,
    async look() {
      if (!(await lease.look())) return false;
      return await upToDate().then(
        () => true,
        () => false,
      );
    },
  };
}

/** Takes a lease whenever it is free, and renews it until it is closed. */
export function openLease({
  rows,
  name,
  holder,
  onGained,
  mayTake = () => true,
  milliseconds = leaseMilliseconds,
}: Options): Lease {
  let heldUntil = 0;
  let isClosed = false;
  let last: Promise<unknown> = Promise.resolve();
  const isHeld = () => !isClosed && performance.now() < heldUntil;

  function look(): Promise<boolean> {
    const looked = last.then(take);
    last = looked;
    return looked;
  }

  async function take(): Promise<boolean> {
    if (isClosed) return false;
    if (!mayTake()) return await giveUp();
    const wasHeld = isHeld();
    // The server counts from a later moment: no other node gets the lease before this node takes it for lost.
    const asked = performance.now();
    try {
      heldUntil = (await rows.take(name, holder, milliseconds)) === null ? 0 : asked + milliseconds;
    } catch {
      // The vault reports the error; the lease holds until its end.
      return false;
    }
    if (isHeld() && !wasHeld) onGained();
    return isHeld();
  }

  async function giveUp(): Promise<false> {
    const wasHeld = isHeld();
    heldUntil = 0;
    if (wasHeld) await release();
    return false;
  }

  /** Without an answer the lease ends by itself. */
  async function release(): Promise<void> {
    await rows.release(name, holder).catch(() => {});
  }

  const timer = setInterval(look, milliseconds / leaseLooks).unref();
  look();

  return {
    isHeld,
    look,
    async close() {
      clearInterval(timer);
      await last;
      isClosed = true;
      if (heldUntil > 0) await release();
    },
  };
}
