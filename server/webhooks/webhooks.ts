import { setTimeout as wait } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { Webhook } from '../../config/model.ts';
import type { CollectionNames } from '../../events/service-events/categories.ts';
import { postTo } from '../platform/posting.ts';
import { every } from '../platform/ticks.ts';
import type { WebhookPort } from '../ports.ts';
import type { Conditions } from './conditions.ts';
import type { Deliveries, Delivery } from './deliveries.ts';
import { openDispatcher } from './dispatcher.ts';
import { messageOf, signedHeaders } from './messages.ts';
import { openScanner } from './scanning.ts';
import { openViews } from './views.ts';

/** The deliveries of the webhooks of a service, in the main thread. */
export type Webhooks = WebhookPort & {
  /** Starts no more attempts, and waits a few seconds for those under way. */
  close: () => Promise<void>;
};

type Options = {
  webhooks: readonly Webhook[];
  conditions: Conditions;
  names: CollectionNames;
  /** The queue of the webhooks, which is closed with them. */
  deliveries: Deliveries;
  /** The names of webhooks whose waiting deliveries are due at once. */
  released: readonly string[];
  /** The lease of this node, if several nodes have the same webhooks; absent if it is the only one. */
  lease?: WebhookLease | null;
  /** The log that drives the webhooks, how many events it has, and its read tables. */
  feed: { log: string; size: number; logFile: string; readFile: string };
  log: Logger;
  /** Milliseconds since the epoch. */
  now: () => number;
  /** The pauses after the first failure, the second and so on; the last holds for all that follow. */
  retrySeconds?: readonly [number, ...number[]];
  /** How often the log is scanned: while events come, and after 10 s without an event. */
  pollMilliseconds?: { busy: number; quiet: number };
  closeSeconds?: number;
};

/** The lease under which one node delivers. */
export type WebhookLease = {
  /** Whether this node holds the lease, as far as it knows. */
  isHeld: () => boolean;
  /** Whether this node holds the lease; asks PostgreSQL. */
  look: () => Promise<boolean>;
  close: () => Promise<void>;
};

const usualPoll = { busy: 200, quiet: 1000 };
const quietMilliseconds = 10_000;

const minute = 60;
const hour = 60 * minute;
const retryDelays = [12, minute, 5 * minute, 20 * minute, hour, 2 * hour, 4 * hour, 8 * hour] as const;

/** Starts to deliver. A new webhook is told of events from now on, others of all events they missed. */
export async function openWebhooks(options: Options): Promise<Webhooks> {
  const { webhooks, deliveries, feed, log, now, names, lease = null, closeSeconds = 5 } = options;
  const { retrySeconds = retryDelays, pollMilliseconds = usualPoll } = options;
  for (const { name } of webhooks) await deliveries.begin(name, feed.size);
  for (const name of options.released) await deliveries.release(name, now(), 0);
  const scanner = openScanner({ ...options, ...feed, deliveries });
  const closing = new AbortController();
  const post = posting(scanner, options, closing.signal);
  const dispatchers = webhooks.map((webhook) => {
    const send = (one: Delivery) => post(webhook, one);
    const isOurs = async (one: Delivery) => lease !== null && (await lease.look()) && (await deliveries.isDue(one));
    const ofNode = lease && { isHeld: lease.isHeld, isOurs };
    return openDispatcher({ name: webhook.name, deliveries, send, lease: ofNode, retrySeconds, log, now });
  });
  const polling = startPolling({
    scanner,
    signal: closing.signal,
    mayScan: () => lease === null || lease.isHeld(),
    onScanned() {
      for (const dispatcher of dispatchers) dispatcher.fill();
    },
    pollMilliseconds,
    log,
  });

  return {
    ...openViews({ webhooks, deliveries, told: scanner.told, names, now }),
    async close() {
      polling.end();
      const late = new AbortController();
      const ended = Promise.all(dispatchers.map((dispatcher) => dispatcher.close()));
      const patience = wait(closeSeconds * 1000, null, { signal: late.signal }).catch(() => {});
      await Promise.race([ended, patience]);
      late.abort();
      closing.abort();
      await ended;
      await polling.scanned();
      await scanner.close();
      await lease?.close();
      await deliveries.close();
    },
  };
}

type Scanner = ReturnType<typeof openScanner>;

/** Gives the function that makes one attempt. */
function posting(scanner: Scanner, { log, now, names }: Options, signal: AbortSignal) {
  function bodyOf(position: number): string {
    try {
      return JSON.stringify(messageOf(scanner.told(position), names));
    } catch (err) {
      log.error({ err, position }, 'an event cannot be read for a webhook');
      // Callers see why a delivery failed.
      throw new Error('its event cannot be read');
    }
  }

  return async (webhook: Webhook, { id, position }: Delivery): Promise<void> => {
    const { url, allowPrivate } = webhook;
    const body = bodyOf(position);
    const headers = signedHeaders(webhook, { id, body, at: now() });
    const status = await postTo({ url, headers, body, allowPrivate }, signal);
    if (status < 200 || status > 299) throw new Error(`it answered ${status}`);
  };
}

type Polling = Required<Pick<Options, 'log' | 'pollMilliseconds'>> & {
  scanner: Scanner;
  /** Aborts a scan; then no scan is reported. */
  signal: AbortSignal;
  mayScan: () => boolean;
  /** Called after each scan, also after one that failed. */
  onScanned: () => void;
};

/** Scans the log again and again, rarely while no events come: each scan wakes the process. */
function startPolling({ scanner, signal, mayScan, onScanned, pollMilliseconds, log }: Polling) {
  let scanning: Promise<void> | null = null;
  let isInTrouble = false;
  /** The end of the log at the last scan, and when another end was seen. */
  let [end, cameAt] = [-1, 0];
  let endOften: (() => void) | null = null;
  let isEnded = false;

  function look(): void {
    if (!mayScan()) return;
    scanning ??= scan().finally(() => {
      scanning = null;
      if (!signal.aborted) onScanned();
    });
  }

  async function scan(): Promise<void> {
    try {
      await scanner.scan(signal);
      isInTrouble = false;
      lookAsOftenAsNeeded();
    } catch (err) {
      if (!isInTrouble) log.error({ err }, 'the log cannot be looked through for webhooks; it is tried again');
      isInTrouble = true;
    }
  }

  function lookAsOftenAsNeeded(): void {
    if (isEnded) return;
    const now = performance.now();
    if (scanner.end() !== end) [end, cameAt] = [scanner.end(), now];
    if (now - cameAt < quietMilliseconds) endOften ??= every(pollMilliseconds.busy, look);
    else if (endOften) {
      endOften();
      endOften = null;
    }
  }

  const endLooking = every(pollMilliseconds.quiet, look);
  look();
  return {
    /** Resolves when the scan under way is over. */
    scanned: async () => scanning,
    end() {
      isEnded = true;
      endLooking();
      endOften?.();
    },
  };
}
