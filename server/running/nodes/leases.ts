import type { LeaseRows } from '../../../events/postgres/vault/leases.ts';

/** The right to do what one node alone does. */
export type Lease = {
  /** Whether this node had it when it last looked, and for as long as it was given then. */
  isHeld: () => boolean;
  /** Looks where it is kept whether this node has it, and renews it; false also where that does not answer. */
  look: () => Promise<boolean>;
  /** Lets another node have it. */
  close: () => Promise<void>;
};

type Options = {
  rows: Pick<LeaseRows, 'take' | 'release'>;
  name: string;
  /** The name of this node. */
  holder: string;
  /** Called when this node gets it from another one, or at first. */
  onGained: () => void;
  /** Whether this node may have it now; always by default. One that may not gives it up. */
  mayTake?: () => boolean;
  milliseconds?: number;
};

/**
 * `mayTake` says whether this node may do it at all: one whose configuration is not that of the log records nothing.
 * `upToDate` resolves when this node has all that was recorded before the call.
 */
export type TurnOptions = Pick<Options, 'name' | 'onGained' | 'mayTake'> & { upToDate: () => Promise<void> };

/** The same, for what follows from the log: whose turn it is has all that the node before it has recorded. */
export function openTurn(rows: LeaseRows, holder: string, { upToDate, ...options }: TurnOptions): Lease {
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

/** A node that stops without a word is followed by another one after so many milliseconds. */
const usual = 15_000;
const looksInTime = 3;

/** Takes part in a lease: takes it whenever it is free, and renews it as long as this node runs. */
export function openLease({
  rows,
  name,
  holder,
  onGained,
  mayTake = () => true,
  milliseconds = usual,
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
    // The server counts from a later moment, so it gives it to no other node before this one takes it for lost.
    const asked = performance.now();
    try {
      heldUntil = (await rows.take(name, holder, milliseconds)) === null ? 0 : asked + milliseconds;
    } catch {
      // The vault tells what is wrong; the lease goes on until it has passed.
      return false;
    }
    if (isHeld() && !wasHeld) onGained();
    return isHeld();
  }

  async function giveUp(): Promise<false> {
    const wasHeld = isHeld();
    heldUntil = 0;
    if (wasHeld) await rows.release(name, holder).catch(() => {});
    return false;
  }

  const timer = setInterval(look, milliseconds / looksInTime).unref();
  look();

  return {
    isHeld,
    look,
    async close() {
      clearInterval(timer);
      await last;
      isClosed = true;
      if (heldUntil > 0) await rows.release(name, holder).catch(() => {});
    },
  };
}
