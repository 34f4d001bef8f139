import type { Logger } from 'pino';
import type { Model, Webhook } from '../../config/model.ts';
import { readLog } from '../../events/log/log-reader.ts';
import { namesOf } from '../../events/service-events/categories.ts';
import { withDatabase } from '../../storage/sqlite.ts';
import type { WebhookPort } from '../ports.ts';
import { type Conditions, readConditions } from './conditions.ts';
import { type Deliveries, deliveriesIn } from './deliveries.ts';
import { openWebhooks, type Webhooks, type WebhookTurn } from './webhooks.ts';

/** The webhooks of a service, by the configuration in force. */
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

/** The files of a service that webhooks are driven by, and that of their deliveries, which nodes have elsewhere. */
type Feed = { log: string; logFile: string; readFile: string; path: string };

/** The queue that nodes have together, and the turn of this one. */
export type NodeWebhooks = { deliveries: () => Deliveries; openTurn: () => WebhookTurn };

type Options = {
  model: Model;
  /** Those of `model`. */
  conditions: Conditions;
  isProduction: boolean;
  log: Logger;
  /** Milliseconds since the epoch. */
  now: () => number;
  /** Absent where the queue is in a file of this process. */
  node?: NodeWebhooks | null;
};

/** Creates the service; nothing is opened before `start`, nor without a webhook. */
export function createWebhookService(options: Options): WebhookService {
  const { model, conditions, isProduction, log, now, node = null } = options;
  let configured = { model, conditions };
  let feed: Feed | null = null;
  let opened: Promise<Webhooks | null> = Promise.resolve(null);

  /** A new webhook begins at the end that the log has now. */
  function open(released: readonly string[]): () => Promise<Webhooks | null> {
    const { webhooks } = configured.model;
    if (!feed || webhooks.length === 0) return async () => null;
    const { log: logId, path, ...files } = feed;
    const size = withDatabase(files.logFile, { readonly: true, cacheMiB: 1 }, (db) => readLog(db).head().size);
    const { conditions, model } = configured;
    const names = namesOf(model.schema.collections);
    return async () => {
      const deliveries = node ? node.deliveries() : deliveriesIn(path, { id: logId, size }, now());
      const turn = node?.openTurn() ?? null;
      const feed = { log: logId, size, ...files };
      return await openWebhooks({ webhooks, conditions, names, deliveries, released, turn, feed, log, now });
    };
  }

  /** One after the other, for both have the same file. */
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
      all: async () => (await opened)?.all() ?? [],
      deliveries: async (name, query) => (await opened)?.deliveries(name, query) ?? null,
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

/** All that deliveries depend on: conditions also on the fields. */
function asText({ webhooks, schema }: Model): string {
  return JSON.stringify([webhooks, schema]);
}
