import { setTimeout as wait } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { Webhook } from '../../config/model.ts';
import type { Names } from '../../events/service-events/categories.ts';
import { postTo } from '../platform/posting.ts';
import { every } from '../platform/ticks.ts';
import type { WebhookPort } from '../ports.ts';
import type { Conditions } from './conditions.ts';
import type { Deliveries, Delivery } from './deliveries.ts';
import { openLane } from './lane.ts';
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
  names: Names;
  /** Their queue, which is closed with them. */
  deliveries: Deliveries;
  /** Names of those whose deliveries are due at once, however long they would have to wait. */
  released: readonly string[];
  /** The turn of this node, where several have the same webhooks; absent where it is the only one. */
  turn?: WebhookTurn | null;
  /** The log that drives them, how many events it has, and its read tables. */
  feed: { log: string; size: number; logFile: string; readFile: string };
  log: Logger;
  /** Milliseconds since the epoch. */
  now: () => number;
  /** The pauses after the first failure, the second and so on; the last holds for all that follow. */
  retrySeconds?: readonly [number, ...number[]];
  /** How often the log is looked at: while events come, and when none has come for 10 s. */
  pollMilliseconds?: { busy: number; quiet: number };
  closeSeconds?: number;
};

/** The turn of a node to deliver. */
export type WebhookTurn = {
  /** Whether it is this one's, as far as is known here. */
  isHeld: () => boolean;
  /** The same, asked where it is kept. */
  look: () => Promise<boolean>;
  close: () => Promise<void>;
};

const usualPoll = { busy: 200, quiet: 1000 };
const quietMilliseconds = 10_000;

const minute = 60;
const hour = 60 * minute;
const retryDelays = [12, minute, 5 * minute, 20 * minute, hour, 2 * hour, 4 * hour, 8 * hour] as const;

/** Starts to deliver. A webhook that is new is told of events from now on, another one goes on where it was. */
export async function openWebhooks(options: Options): Promise<Webhooks> {
  const { webhooks, deliveries, feed, log, now, turn = null, pollMilliseconds = usualPoll, closeSeconds = 5 } = options;
  for (const { name } of webhooks) await deliveries.begin(name, feed.size);
  for (const name of options.released) await deliveries.release(name, now(), 0);
  const scanner = openScanner({ ...options, ...feed, deliveries });
  const closing = new AbortController();
  const retrySeconds = options.retrySeconds ?? retryDelays;
  const lanes = webhooks.map((webhook) => {
    const send = (one: Delivery) => post(webhook, one);
    const isOurs = async (one: Delivery) => turn !== null && (await turn.look()) && (await deliveries.isDue(one));
    const ofNode = turn && { isHeld: turn.isHeld, isOurs };
    return openLane({ name: webhook.name, deliveries, send, turn: ofNode, retrySeconds, log, now });
  });
  let scanning: Promise<void> | null = null;
  let isInTrouble = false;
  /** The end of the log at the last look, and when another one was seen. */
  let [end, cameAt] = [-1, 0];
  let endOften: (() => void) | null = null;
  let isClosed = false;

  async function post(webhook: Webhook, { id, position }: { id: string; position: number }): Promise<void> {
    const { url, allowPrivate } = webhook;
    const body = bodyOf(position);
    const headers = signedHeaders(webhook, { id, body, at: now() });
    const status = await postTo({ url, headers, body, allowPrivate }, closing.signal);
    if (status < 200 || status > 299) throw new Error(`it answered ${status}`);
  }

  function bodyOf(position: number): string {
    try {
      return JSON.stringify(messageOf(scanner.header(position), options.names));
    } catch (err) {
      log.error({ err, position }, 'an event cannot be read for a webhook');
      // Callers see why a delivery failed.
      throw new Error('its event cannot be read');
    }
  }

  function look(): void {
    if (turn && !turn.isHeld()) return;
    scanning ??= scan().finally(() => {
      scanning = null;
      if (!closing.signal.aborted) for (const lane of lanes) lane.fill();
    });
  }

  async function scan(): Promise<void> {
    try {
      await scanner.scan(closing.signal);
      isInTrouble = false;
      lookAsOftenAsNeeded();
    } catch (err) {
      if (!isInTrouble) log.error({ err }, 'the log cannot be looked through for webhooks; it is tried again');
      isInTrouble = true;
    }
  }

  /** At rest the process would wake up for it. */
  function lookAsOftenAsNeeded(): void {
    if (isClosed) return;
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
    ...openViews({ webhooks, deliveries, header: scanner.header, names: options.names, now }),
    async close() {
      isClosed = true;
      endLooking();
      endOften?.();
      const late = new AbortController();
      const ended = Promise.all(lanes.map((lane) => lane.close()));
      const patience = wait(closeSeconds * 1000, null, { signal: late.signal }).catch(() => {});
      await Promise.race([ended, patience]);
      late.abort();
      closing.abort();
      await ended;
      await scanning;
      await scanner.close();
      await turn?.close();
      await deliveries.close();
    },
  };
}
