import { ConfigError, type Problem } from '../../config/check.ts';
import { DomainError } from '../../config/errors.ts';
import type { Collection, Global, Model, Webhook } from '../../config/model.ts';
import { globalStream } from '../../events/facts/catalogue.ts';
import type { Where } from '../../projections/query/where.ts';
import { type Tables, tablesOf } from '../../projections/tables/tables.ts';
import type { SearchReach } from '../queries/paths.ts';
import { readWhereObject } from '../queries/where.ts';

/** The condition of a webhook on the documents of one collection, or on one global. */
type Condition = { tables: Tables; where: Where };

/**
 * The conditions of webhooks, by the name of the webhook and the category of the streams: `posts`, or `globals/site`.
 */
export type Conditions = ReadonlyMap<string, ReadonlyMap<string, Condition>>;

/**
 * Checks what the check of the configuration leaves open: the conditions of webhooks, which name fields, and that URLs
 * are https in production.
 *
 * @throws ConfigError naming every problem.
 */
export async function readConditions(model: Model, isProduction: boolean): Promise<Conditions> {
  if (model.webhooks.length === 0) return new Map();
  const problems: Problem[] = [];
  const tables = new Map(tablesOf(model.schema).map((one) => [one.key, one]));
  const conditions = new Map<string, ReadonlyMap<string, Condition>>();
  for (const webhook of model.webhooks) {
    const path = `webhooks.${webhook.name}`;
    if (isProduction && !webhook.url.startsWith('https:'))
      problems.push({ path: `${path}.url`, message: 'must be https in production' });
    if (webhook.where === null) continue;
    const found = new Map<string, Condition>();
    for (const target of targetsOf(model, webhook)) {
      const key = keyOf(target);
      const own = tables.get(key) as Tables;
      const where = await read(webhook.where, reachOf(model, tables, target)).catch((error: unknown) => {
        for (const message of messagesOf(error))
          problems.push({ path: `${path}.where`, message: `in ${own.name}: ${message}` });
        return null;
      });
      if (where) found.set(key, { tables: own, where });
    }
    conditions.set(webhook.name, found);
  }
  if (problems.length > 0) throw new ConfigError(problems);
  return conditions;
}

function targetsOf({ collections, globals }: Model, webhook: Webhook): (Collection | Global)[] {
  return [
    ...[...collections.values()].filter(({ slug }) => includes(webhook.collections, slug)),
    ...[...globals.values()].filter(({ slug }) => includes(webhook.globals, slug)),
  ];
}

/** Whether a list of slugs, or `*`, includes one. */
export function includes(slugs: readonly string[] | '*', slug: string): boolean {
  return slugs === '*' || slugs.includes(slug);
}

function keyOf({ kind, slug, category }: Collection | Global): string {
  return kind === 'global' ? globalStream(slug) : category;
}

/** A condition may use every field: it is the author's. */
function reachOf(model: Model, tables: ReadonlyMap<string, Tables>, target: Collection | Global): SearchReach {
  return {
    tables: tables.get(keyOf(target)) as Tables,
    fields: target.fields,
    related: async (slug) => {
      const other = model.collections.get(slug);
      return other ? { reach: reachOf(model, tables, other), filter: null } : null;
    },
  };
}

function read(where: object, reach: SearchReach): Promise<Where> {
  return readWhereObject(where, reach);
}

function messagesOf(error: unknown): string[] {
  if (!(error instanceof DomainError && error.code === 'validation_failed')) throw error;
  return error.errors.map(({ message }) => message);
}
