import type { Webhook } from '../../config/model.ts';
import { isDraftOnly } from '../../events/facts/catalogue.ts';
import { type Header, headerOf } from '../../events/facts/envelope.ts';
import { type LogReader, readLog } from '../../events/log/log-reader.ts';
import type { CollectionNames } from '../../events/service-events/categories.ts';
import { openPast } from '../../projections/past/past.ts';
import { openDatabase } from '../../storage/sqlite.ts';
import { yieldToEventLoop } from '../platform/yield.ts';
import { type Conditions, includes } from './conditions.ts';
import type { Deliveries, NewDelivery } from './deliveries.ts';
import { type DeliverySubject, deliveryIdOf, subjectOf, type ToldEvent } from './messages.ts';

/** The change feed that drives webhooks. */
type Scanner = {
  /** The position of the last event that the read tables have. */
  end: () => number;
  /** The header of one event, and whether its document was public before it. */
  told: (position: number) => Header & ToldEvent;
  /** Keeps the deliveries of all events up to the end. */
  scan: (signal: AbortSignal) => Promise<void>;
  close: () => Promise<void>;
};

type Options = {
  webhooks: readonly Webhook[];
  conditions: Conditions;
  names: CollectionNames;
  deliveries: Deliveries;
  logFile: string;
  readFile: string;
  now: () => number;
};

const eventsAtOnce = 200;

/** Opens the log and the read tables, to find the events that webhooks are to be told of. */
export function openScanner({
  webhooks,
  conditions,
  deliveries,
  logFile,
  readFile,
  now,
  ...options
}: Options): Scanner {
  const db = openDatabase(logFile, { readonly: true, cacheMiB: 1 });
  const log = readLog(db);
  const read = openDatabase(readFile, { readonly: true, cacheMiB: 1 });
  const selectPosition = read.prepare<[], number>('SELECT position FROM checkpoint').pluck();
  const past = openPast(readFile);
  const all = webhooks.map(({ name }) => name);
  let seen = new Map<string, number>();

  function end(): number {
    return Math.min(log.head().size, selectPosition.get() ?? 0);
  }

  async function remember(): Promise<void> {
    const positions = all.map(async (name) => [name, await deliveries.position(name)] as const);
    seen = new Map(await Promise.all(positions));
  }

  async function scan(signal: AbortSignal): Promise<void> {
    // Another node may have scanned the log since.
    if (seen.size === 0 || end() > Math.min(...seen.values())) await remember();
    while (!signal.aborted) {
      const from = Math.min(...seen.values());
      const upTo = Math.min(end(), from + eventsAtOnce);
      if (upTo <= from) return;
      const found: NewDelivery[] = [];
      for (const text of log.headers(from, upTo)) found.push(...(await deliveriesOf(headerOf(text))));
      if (signal.aborted) return;
      await deliveries.enqueue(all, upTo, found, now());
      for (const [name, position] of seen) seen.set(name, Math.max(position, upTo));
      await yieldToEventLoop();
    }
  }

  /** Whether it was public is asked only where it says how an event is told. */
  function toldOf(header: Header): Header & ToldEvent {
    const isAsked = header.type === 'document.published' || header.type === 'document.deleted';
    return { ...header, wasPublic: isAsked && wasPublic(log, header) };
  }

  async function deliveriesOf(header: Header): Promise<NewDelivery[]> {
    const { id, type, stream, position } = header;
    const told = toldOf(header);
    const subject = subjectOf(told, options.names);
    if (!subject) return [];
    // For readers there was nothing that could end.
    const isForDrafts = type === 'document.deleted' && !told.wasPublic;
    const found: NewDelivery[] = [];
    for (const webhook of webhooks) {
      const { name } = webhook;
      if (position <= (seen.get(name) ?? 0) || !isFor(webhook, subject)) continue;
      if (isForDrafts && !webhook.events.some(isDraftOnly)) continue;
      // The content that the condition could be asked of is erased.
      const isMet = type === 'document.erased' || (await meets(webhook, subject, position));
      if (isMet) found.push({ webhook: name, id: deliveryIdOf(id, name), stream, position });
    }
    return found;
  }

  /** Whether the document met the condition before the event, or meets it after the event. */
  async function meets(
    { name, where }: Webhook,
    { target, key, id }: DeliverySubject,
    position: number,
  ): Promise<boolean> {
    // A condition is about documents.
    if (where === null || target.kind === 'release') return true;
    const condition = conditions.get(name)?.get(key);
    // The target is no longer configured.
    if (!condition) return false;
    const isMetAt = (at: number) => past.matches(at, condition.tables, { id, where: condition.where });
    return (await isMetAt(position)) || (await isMetAt(position - 1));
  }

  return {
    end,
    told(position) {
      const [text] = log.headers(position - 1, position);
      if (text === undefined) throw new Error(`the log has no event ${position}`);
      return toldOf(headerOf(text));
    },
    scan,
    async close() {
      await past.close();
      read.close();
      db.close();
    },
  };
}

function isFor(webhook: Webhook, { target: { kind, slug }, event }: DeliverySubject): boolean {
  if (!webhook.events.includes(event)) return false;
  return kind === 'release' || includes(kind === 'global' ? webhook.globals : webhook.collections, slug);
}

/** How many headers of a stream are read at a time. */
const headersAtOnce = 100;
const ends: ReadonlySet<string> = new Set(['document.unpublished', 'document.deleted', 'document.erased']);

/** Whether a document was public before an event: the types of earlier events say so, which outlive an erasure. */
function wasPublic(log: LogReader, { stream, version }: Header): boolean {
  for (let upTo = version - 1; upTo > 0; upTo -= headersAtOnce) {
    const positions = log.positionsOf(stream, Math.max(0, upTo - headersAtOnce), upTo);
    for (const position of positions.toReversed()) {
      const [text] = log.headers(position - 1, position);
      if (text === undefined) throw new Error(`the log has no event ${position}`);
      const { type } = headerOf(text);
      if (!isDraftOnly(type)) return !ends.has(type);
    }
  }
  return false;
}
