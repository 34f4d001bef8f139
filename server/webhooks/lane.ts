import type { Logger } from 'pino';
import { messageOf } from '../../storage/errors.ts';
import type { Deliveries, Delivery } from './deliveries.ts';

/** The attempts of one webhook. Each has its own lane, so that a slow receiver holds up no other one. */
export type Lane = {
  /** Starts attempts that are due, as many as there is room for. */
  fill: () => Promise<void>;
  /** Starts no more, and resolves when those under way have ended. */
  close: () => Promise<void>;
};

type Options = {
  name: string;
  deliveries: Deliveries;
  /** Makes one attempt. @throws Error saying why it failed, which is shown. */
  send: (delivery: Delivery) => Promise<void>;
  /** The turn of this node; absent where there are no others. `isOurs` is asked before each attempt. */
  turn?: { isHeld: () => boolean; isOurs: (delivery: Delivery) => Promise<boolean> } | null;
  retrySeconds: readonly [number, ...number[]];
  log: Logger;
  now: () => number;
};

/** Attempts at the same time, each about another document. */
const atOnce = 4;
/** Pauses are shortened or lengthened by up to a quarter, so that a receiver that was away does not get all at once. */
const spread = 0.25;
/** How long a document rests whose outcome could not be kept: a full disk must not become a storm of deliveries. */
const troubleMilliseconds = 10_000;
/**
 * How often successes make due what had its turn by an earlier one: a receiver that refuses some documents and takes
 * others must not get the former again with each of the latter.
 */
const releaseMilliseconds = 10 * 60 * 1000;

/** Opens the lane of a webhook. */
export function openLane({ name, deliveries, send, turn = null, retrySeconds, log, now }: Options): Lane {
  const busy = new Set<string>();
  const running = new Set<Promise<void>>();
  let isClosing = false;
  let isFailing = false;
  // By an earlier process, or by another node.
  let mayWait = true;
  let releasedAt = Number.NEGATIVE_INFINITY;
  let allReleasedAt = Number.NEGATIVE_INFINITY;
  let filling = Promise.resolve();
  let isAsked = false;

  /** One after the other: what the one before has begun is busy. */
  function fill(): Promise<void> {
    if (!isAsked) filling = filling.then(look);
    isAsked = true;
    return filling;
  }

  async function look(): Promise<void> {
    isAsked = false;
    if (isClosing || running.size >= atOnce || turn?.isHeld() === false) return;
    try {
      // Of those that are due, as many may be under way already as are busy.
      const due = await deliveries.due(name, now(), atOnce + busy.size);
      for (const delivery of due) {
        if (isClosing || running.size >= atOnce) return;
        if (!busy.has(delivery.stream)) begin(delivery);
      }
    } catch (err) {
      log.error({ err, webhook: name }, 'the deliveries that are due cannot be read');
    }
  }

  function begin(delivery: Delivery): void {
    const { stream } = delivery;
    busy.add(stream);
    const run = attempt(delivery)
      .then(
        () => void busy.delete(stream),
        (err) => {
          log.error({ err, webhook: name }, 'what became of a delivery could not be kept; it is made again');
          setTimeout(() => busy.delete(stream), troubleMilliseconds).unref();
        },
      )
      .finally(() => {
        running.delete(run);
        fill();
      });
    running.add(run);
  }

  async function attempt(delivery: Delivery): Promise<void> {
    if (turn && !(await turn.isOurs(delivery))) return;
    try {
      await send(delivery);
    } catch (error) {
      // One that was cut short by the end of the service is made again by the next.
      if (!isClosing) await failed(delivery, messageOf(error));
      return;
    }
    await deliveries.succeed(delivery, now());
    if (mayWait) await release();
    if (isFailing) log.info({ webhook: name }, `the webhook ${name} takes deliveries again`);
    isFailing = false;
  }

  /** The receiver answers again: it gets what waits for it. */
  async function release(): Promise<void> {
    const at = now();
    const isAll = at - allReleasedAt >= releaseMilliseconds;
    // A failure from now on sets it again.
    if (isAll) mayWait = false;
    await deliveries.release(name, at, isAll ? 0 : releasedAt);
    releasedAt = at;
    if (isAll) allReleasedAt = at;
  }

  async function failed(delivery: Delivery, failure: string): Promise<void> {
    const { id, attempts, giveUpAt } = delivery;
    const at = now();
    const dueAt = at >= giveUpAt ? null : Math.min(at + pauseAfter(attempts), giveUpAt);
    await deliveries.fail(delivery, { at, failure, dueAt });
    if (dueAt === null)
      log.error({ webhook: name, delivery: id }, `a delivery to the webhook ${name} is parked: ${failure}`);
    else if (!isFailing)
      log.warn({ webhook: name }, `the webhook ${name} takes no delivery: ${failure}; it is retried`);
    isFailing = true;
    mayWait = true;
  }

  function pauseAfter(failures: number): number {
    const seconds = retrySeconds[Math.min(failures, retrySeconds.length - 1)] as number;
    return Math.round(seconds * 1000 * (1 - spread + 2 * spread * Math.random()));
  }

  return {
    fill,
    async close() {
      isClosing = true;
      await filling;
      await Promise.all(running);
    },
  };
}
