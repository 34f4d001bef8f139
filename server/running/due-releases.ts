import { type Clock, jumpMilliseconds } from '../../events/store/clock.ts';
import { openReleases } from '../../projections/tables/releases.ts';
import { openDatabase } from '../../storage/sqlite.ts';
import type { DuePublisher } from '../documents/releases/due.ts';
import type { Log } from '../platform/logging.ts';
import { every } from '../platform/ticks.ts';
import type { Lease } from './nodes/leases.ts';

type Options = {
  /** The path of the read tables. */
  readFile: string;
  /** Opens a publisher by the configuration in force. */
  openPublisher: () => { publish: DuePublisher; close: () => Promise<void> };
  clock: Pick<Clock, 'lead'>;
  /** The time that is believed, in milliseconds since the epoch. */
  now: () => number;
  /** Opens the lease of the node that publishes; null if there are no other nodes. */
  openLease: ((onGained: () => void) => Lease) | null;
  log: Pick<Log, 'error'>;
};

/** The releases that wait for their time. */
export type DueReleases = {
  /** Begins to publish them, those first whose time came while no service ran. */
  begin: () => void;
  /** Publishes those that are due. */
  look: () => void;
  /** Waits for the one that is being published. */
  close: () => Promise<void>;
};

const lookMilliseconds = 1000;
/** How long to wait if the service cannot record anything. */
const restMilliseconds = 5000;

/**
 * Publishes releases when they are due, in the order of their times. It looks each second, together with the check of
 * the clock: a timer would have to be told of what other threads and nodes record, and to follow the clock when it is
 * set. A look is one search in an index.
 */
export function openDueReleases({ readFile, openPublisher, clock, now, openLease, log }: Options): DueReleases {
  const db = openDatabase(readFile, { readonly: true, cacheMiB: 1 });
  const { next } = openReleases(db);
  let end: (() => void) | null = null;
  let lease: Lease | null = null;
  let running: Promise<void> | null = null;
  let restsUntil = 0;
  let isClosing = false;

  /** The release whose time has come; null while the clock is not trusted. */
  function due(): string | null {
    const first = next();
    if (!first || first.at > now() || clock.lead() > jumpMilliseconds) return null;
    return first.id;
  }

  function look(): void {
    if (running || isClosing || performance.now() < restsUntil) return;
    if (lease && !lease.isHeld()) return;
    if (due() === null) return;
    running = run()
      .catch((err) => {
        log.error({ err }, 'the releases that are due could not be published; it is tried again');
        rest();
      })
      .finally(() => {
        running = null;
      });
  }

  async function run(): Promise<void> {
    const { publish, close } = openPublisher();
    try {
      while (!isClosing && (await publishNext(publish)));
    } finally {
      await close();
    }
  }

  /** Publishes the next release that is due. @returns whether to go on. */
  async function publishNext(publish: DuePublisher): Promise<boolean> {
    // Another node may have taken over, and published it.
    if (lease && !(await lease.look())) return false;
    const id = due();
    if (id === null) return false;
    const outcome = await publish(id);
    if (outcome === 'later') rest();
    return outcome !== 'later';
  }

  function rest(): void {
    restsUntil = performance.now() + restMilliseconds;
  }

  return {
    look,
    begin() {
      if (end) return;
      lease = openLease?.(look) ?? null;
      end = every(lookMilliseconds, look);
      look();
    },
    async close() {
      isClosing = true;
      end?.();
      await running;
      await lease?.close();
      db.close();
    },
  };
}
