import type { Logger } from 'pino';
import type { Model, Webhook } from '../../config/model.ts';
import { readLog } from '../../events/log/log-reader.ts';
import { namesOf } from '../../events/service-events/categories.ts';
import { withDatabase } from '../../storage/sqlite.ts';
import type { WebhookPort } from '../ports.ts';
import { type Conditions, readConditions } from './conditions.ts';
import { type Deliveries, deliveriesIn } from './deliveries.ts';
import { openWebhooks, type WebhookLease, type Webhooks } from './webhooks.ts';

/** The webhooks of a service under the configuration in force. */
export type WebhookService = {
  port: WebhookPort;
  /** Begins to deliver. */
  start: (feed: Feed) => void;
  /**
   * Makes ready to go on with another configuration.
   *
   * @throws ConfigError for webhooks that are wrong.
   */
  prepare: (next: Model) => Promise<{ begin: () => void }>;
  close: () => Promise<void>;
};

/** The log and the read file that drive webhooks, and the file of their deliveries, which nodes keep in PostgreSQL. */
type Feed = { log: string; logFile: string; readFile: string; path: string };

/** The queue that nodes share, and the lease of this node. */
export type NodeWebhooks = { deliveries: () => Deliveries; openLease: () => WebhookLease };

type Options = {
  model: Model;
  /** The conditions of the webhooks of `model`. */
  conditions: Conditions;
  isProduction: boolean;
  log: Logger;
  /** Milliseconds since the epoch. */
  now: () => number;
  /** Absent if the queue is in a file of this process. */
  node?: NodeWebhooks | null;
};

/** Creates the service. Nothing is opened before `start`, or if there is no webhook. */
export function createWebhookService(options: Options): WebhookService {
  const { model, conditions, isProduction, log, now, node = null } = options;
  let configured = { model, conditions };
  let feed: Feed | null = null;
  let opened: Promise<Webhooks | null> = Promise.resolve(null);

  /** A new webhook begins at the present end of the log. */
  function open(released: readonly string[]): () => Promise<Webhooks | null> {
    const { webhooks } = configured.model;
    if (!feed || webhooks.length === 0) return async () => null;
    const { log: logId, path, ...files } = feed;
    const size = withDatabase(files.logFile, { readonly: true, cacheMiB: 1 }, (db) => readLog(db).head().size);
    const { conditions, model } = configured;
    const names = namesOf(model.schema.collections);
    return async () => {
      const deliveries = node ? node.deliveries() : deliveriesIn(path, { id: logId, size }, now());
      const lease = node?.openLease() ?? null;
      const feed = { log: logId, size, ...files };
      return await openWebhooks({ webhooks, conditions, names, deliveries, released, lease, feed, log, now });
    };
  }

  /** Opens the webhooks after the former ones are closed, which have the same file. */
  function follow(released: readonly string[]): void {
    const next = open(released);
    opened = opened
      .then(async (former) => {
        await former?.close();
        return next();
      })
      .catch((err) => {
        log.error({ err }, 'webhooks cannot be delivered until the next start');
        return null;
      });
  }

  return {
    port: {
      page: async (asked) => (await opened)?.page(asked) ?? { webhooks: [], total: 0 },
      find: async (name) => (await opened)?.find(name) ?? null,
      deliveries: async (name, query) => (await opened)?.deliveries(name, query) ?? null,
      delivery: async (name, id) => (await opened)?.delivery(name, id) ?? null,
      retryAll: async (name) => (await opened)?.retryAll(name) ?? null,
      retry: async (name, id) => (await opened)?.retry(name, id) ?? null,
    },
    start(given) {
      feed = given;
      follow(configured.model.webhooks.map(({ name }) => name));
    },
    async prepare(next) {
      const conditions = await readConditions(next, isProduction);
      return {
        begin() {
          const isSame = asText(configured.model) === asText(next);
          const released = readdressed(configured.model, next);
          configured = { model: next, conditions };
          if (!isSame) follow(released);
        },
      };
    },
    close: async () => (await opened)?.close(),
  };
}

/** The names of webhooks that reach their receiver in another way than before. */
function readdressed(former: Model, next: Model): string[] {
  const wayOf = ({ url, secret, allowPrivate }: Webhook) => JSON.stringify([url, secret, allowPrivate]);
  const ways = new Map(former.webhooks.map((webhook) => [webhook.name, wayOf(webhook)]));
  return next.webhooks.filter((webhook) => ways.get(webhook.name) !== wayOf(webhook)).map(({ name }) => name);
}

/** All that deliveries depend on: conditions depend on the fields too. */
function asText({ webhooks, schema }: Model): string {
  return JSON.stringify([webhooks, schema]);
}
