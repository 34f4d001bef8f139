import type { Logger } from 'pino';
import { messageOf } from '../../storage/errors.ts';
import type { Deliveries, Delivery } from './deliveries.ts';

/** The attempts of one webhook. Each has its own dispatcher, so that a slow receiver holds up no other one. */
type Dispatcher = {
  /** Starts attempts that are due, up to four at the same time. */
  fill: () => Promise<void>;
  /** Starts no more, and resolves when those under way have ended. */
  close: () => Promise<void>;
};

type Options = {
  name: string;
  deliveries: Deliveries;
  /** Makes one attempt. @throws Error with the reason of a failure, which is shown. */
  send: (delivery: Delivery) => Promise<void>;
  /** The lease of this node; null if there are no other nodes. `isOurs` is asked before each attempt. */
  lease?: { isHeld: () => boolean; isOurs: (delivery: Delivery) => Promise<boolean> } | null;
  retrySeconds: readonly [number, ...number[]];
  log: Logger;
  now: () => number;
};

/** How many attempts are made at the same time, each about another document. */
const atOnce = 4;
/** Pauses vary by up to a quarter, so that a receiver that was down does not get all deliveries at once. */
const spread = 0.25;
/**
 * The pause of a document after the outcome of an attempt could not be kept: a full disk must not become a storm of
 * deliveries.
 */
const troubleMilliseconds = 10_000;
/**
 * How often a success makes all waiting deliveries due, also those that an earlier success has made due: a receiver
 * that refuses some documents and takes others must not get the refused ones again with each of the others.
 */
const releaseMilliseconds = 10 * 60 * 1000;

/** Opens the dispatcher of a webhook. */
export function openDispatcher(options: Options): Dispatcher {
  const { name, deliveries, lease = null, log, now } = options;
  const attempts = createAttempts(options);
  const busy = new Set<string>();
  const running = new Set<Promise<void>>();
  let isClosing = false;
  let filling = Promise.resolve();
  let isAsked = false;

  /** One look after the other: each sees the documents that the one before has made busy. */
  function fill(): Promise<void> {
    if (!isAsked) filling = filling.then(look);
    isAsked = true;
    return filling;
  }

  async function look(): Promise<void> {
    isAsked = false;
    if (isClosing || running.size >= atOnce || lease?.isHeld() === false) return;
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
    const run = attempts
      .make(delivery)
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

  return {
    fill,
    async close() {
      isClosing = true;
      attempts.end();
      await filling;
      await Promise.all(running);
    },
  };
}

/** Makes attempts, and keeps how each ended. After `end`, a failure is not kept: the next service tries again. */
function createAttempts({ name, deliveries, send, lease = null, retrySeconds, log, now }: Options) {
  let isEnding = false;
  let isFailing = false;
  // An earlier process, or another node, may have left some.
  let mayWait = true;
  let releasedAt = Number.NEGATIVE_INFINITY;
  let allReleasedAt = Number.NEGATIVE_INFINITY;

  async function make(delivery: Delivery): Promise<void> {
    if (lease && !(await lease.isOurs(delivery))) return;
    try {
      await send(delivery);
    } catch (error) {
      if (!isEnding) await failed(delivery, messageOf(error));
      return;
    }
    await deliveries.succeed(delivery, now());
    if (mayWait) await release();
    if (isFailing) log.info({ webhook: name }, `the webhook ${name} takes deliveries again`);
    isFailing = false;
  }

  /** The receiver answers again: makes the deliveries due that wait for it. */
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
    const dueAt = at >= giveUpAt ? null : Math.min(at + pauseAfter(attempts, retrySeconds), giveUpAt);
    await deliveries.fail(delivery, { at, failure, dueAt });
    if (dueAt === null)
      log.error({ webhook: name, delivery: id }, `a delivery to the webhook ${name} is parked: ${failure}`);
    else if (!isFailing)
      log.warn({ webhook: name }, `the webhook ${name} takes no delivery: ${failure}; it is retried`);
    isFailing = true;
    mayWait = true;
  }

  return {
    make,
    end() {
      isEnding = true;
    },
  };
}

/** The pause after a number of failures, in milliseconds. */
function pauseAfter(failures: number, retrySeconds: Options['retrySeconds']): number {
  const seconds = retrySeconds[Math.min(failures, retrySeconds.length - 1)] as number;
  return Math.round(seconds * 1000 * (1 - spread + 2 * spread * Math.random()));
}
