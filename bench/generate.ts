import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { checkConfig } from '../config/check.ts';
import type { JsonObject } from '../config/schema.ts';
import { documentStream } from '../events/facts/catalogue.ts';
import type { Command, NewEvent } from '../events/facts/log.ts';
import { usualSizes, writeSegment } from '../events/segments/segment-writer.ts';
import { createIds, type Ids } from '../events/store/ids.ts';
import { openVault } from '../events/vault/vault.ts';
import { type BootOptions, boot } from '../projections/start/boot.ts';
import { category } from '../test/helpers/category.ts';
import config from './annals.config.ts';
import { authors, createRandom, post } from './content.ts';

/** The shares of creates and updates in all events. `first` is the number of creates at the beginning. */
export type Mix = { creates: number; updates: number; first?: number };

type Live = { id: string; slug: string; version: number };

const batch = 1000;
/**
 * From this number of events on, the read tables are built from the whole log at the end, which is faster than event by
 * event.
 */
const many = 200_000;

/**
 * Makes a data directory with `events` events on posts, after those of their authors, in process and in batches: the
 * log, archived as by a service, and the read tables. The handles stay open until the process ends, so run this in a
 * process of its own.
 */
export function generate(directory: string, events: number, mix: Mix): void {
  mkdirSync(directory, { recursive: true });
  const { schema, rules } = checkConfig(config);
  const ids = createIds(new BigInt64Array(new SharedArrayBuffer(8)), Date.now);
  const logId = `annals/${ids.next().id}`;
  // The sealing key stays in the vault, for the service that will be started on the directory.
  const vault = openVault(join(directory, 'vault.db'));
  const seals = vault.seals();
  vault.close();
  const options: BootOptions = { directory, schema, rules, ids, now: Date.now, logId, seals };
  const booted = boot(options);
  const { log, projector, databases } = booted;
  const [db] = databases;
  // Durability does not matter, because an incomplete directory is thrown away.
  for (const one of databases) for (const setting of fast) one.pragma(setting);
  const authorIds = Array.from({ length: authors }, () => ids.next());
  append(authorIds.map(({ id, at }, index) => createAuthor(ids, id, at, index)));
  const next = commandMaker(
    ids,
    authorIds.map(({ id }) => id),
    mix,
  );
  const size = log.head().size + events;
  while (log.head().size < size) append(Array.from({ length: Math.min(batch, size - log.head().size) }, next));
  if (events < many) return;
  booted.close();
  boot({ ...options, isRebuild: true });

  function append(commands: Command[]): void {
    const { outcomes, recorded } = log.append(commands);
    if (!outcomes.every((outcome) => 'ok' in outcome && outcome.ok)) throw new Error('a generated command was refused');
    if (events < many) projector.apply(recorded, log.head().root);
    while (log.head().size >= log.segments.dueAt(usualSizes)) archive();
  }

  function archive(): void {
    const pending = writeSegment(db, usualSizes);
    if (!pending || !log.segments.keep(pending)) throw new Error('the generated log could not be archived');
    while (log.segments.shed(usualSizes.events));
  }
}

/** With these settings only a power cut loses data, and a page is written once for many batches. */
const fast = ['synchronous = off', 'cache_size = -1000000', 'cache_spill = off', 'wal_autocheckpoint = 100000'];

function createAuthor(ids: Ids, id: string, at: number, index: number): Command {
  const time = new Date(at).toISOString();
  const data = { id, createdAt: time, updatedAt: time, name: `Author ${index}` };
  return commandOn(ids, documentStream(category('authors'), id), 0, { type: 'document.created', data });
}

function commandOn(
  ids: Ids,
  stream: string,
  expectedVersion: number,
  event: NewEvent,
  claims: Pick<Command, 'claims' | 'releases'> = { claims: [], releases: [] },
): Command {
  return {
    stream,
    expectedVersion,
    events: [event],
    ...claims,
    actor: { type: 'apiKey', id: '0123456789abcdef' },
    correlationId: ids.next().id,
    context: { ip: '127.0.0.1', userAgent: 'bench' },
  };
}

/** Makes commands on posts, one after the other, for a log to which only these commands are appended. */
export function commandMaker(
  ids: Ids,
  authorIds: readonly string[],
  { creates, updates, first = 1 }: Mix,
): () => Command {
  const random = createRandom(1);
  const live: Live[] = [];
  let created = 0;

  return () => {
    const kind = live.length === 0 || created < first ? -1 : random();
    if (kind < creates) return create();
    const index = Math.floor(random() * live.length);
    const document = live[index] as Live;
    return kind < creates + updates ? update(document) : remove(document, index);
  };

  function create(): Command {
    const { id, at } = ids.next();
    const values = post(created);
    created += 1;
    live.push({ id, slug: values.slug, version: 1 });
    const time = new Date(at).toISOString();
    const author = authorIds[values.author] as string;
    const data = { id, createdAt: time, updatedAt: time, ...values, author };
    return command(id, 0, { type: 'document.created', data }, { claims: [claimOf(values.slug)], releases: [] });
  }

  /** One half of the updates counts views, the other half rewrites the text. */
  function update(document: Live): Command {
    const { body, title, views } = post(Math.floor(random() * 1e6));
    const set: JsonObject = random() < 0.5 ? { views } : { title, body };
    set.updatedAt = new Date(ids.next().at).toISOString();
    document.version += 1;
    return command(document.id, document.version - 1, { type: 'document.updated', data: { set } });
  }

  function remove({ id, slug, version }: Live, index: number): Command {
    live[index] = live.at(-1) as Live;
    live.pop();
    return command(id, version, { type: 'document.deleted', data: {} }, { claims: [], releases: [claimOf(slug)] });
  }

  function command(
    id: string,
    expectedVersion: number,
    event: NewEvent,
    claims?: Pick<Command, 'claims' | 'releases'>,
  ) {
    return commandOn(ids, documentStream(category('posts'), id), expectedVersion, event, claims);
  }
}

function claimOf(slug: string) {
  return { scope: 'posts.slug', value: JSON.stringify(slug) };
}

if (import.meta.main) {
  const [directory = '', events = '0', creates = '0.7', updates = '0.25', first = '1'] = process.argv.slice(2);
  generate(directory, Number(events), { creates: Number(creates), updates: Number(updates), first: Number(first) });
}
