import type { JsonObject, Rules } from '../../config/schema.ts';
import { schemaStream } from '../../events/facts/catalogue.ts';
import type { Header } from '../../events/facts/envelope.ts';
import type { RecordedEvent } from '../../events/facts/log.ts';
import { eventOf, type LogReader, textAt } from '../../events/log/log-reader.ts';
import { requireVersion } from '../../events/store/altered.ts';
import type { SeenEvent, Sight } from '../access/sight.ts';
import type { openHistory } from './history.ts';

/**
 * A rule that admitted a write: its fingerprint and its author's words at that time, and the position of the
 * `schema.changed` that has them. Both are null if that event does not name the rule: a default, an API key, an early
 * log.
 */
type AdmittingRule = { name: string; sha256: string | null; description: string | null; schema: number };

/** A user right before something they did, in the names and fields of that time. */
type ActingUser = Pick<Header, 'stream' | 'version' | 'position'> & {
  document: JsonObject | null;
  erased?: true;
  withheld?: true;
};

/** The author of a version, and the rule that admitted it. */
type Admission = Pick<Header, 'stream' | 'version' | 'position' | 'type' | 'recordedAt' | 'actor'> & {
  /** Null if the event names no rule. */
  rule: AdmittingRule | null;
  /** Null if the actor is not a user, or became a user by this event. */
  user: ActingUser | null;
  erased?: true;
  withheld?: true;
};

/** A log, the histories of its streams, and what the caller sees of those. */
type Source = {
  log: LogReader;
  histories: ReturnType<typeof openHistory>;
  sightOf: (stream: string) => Promise<Sight>;
};

/**
 * Says who was allowed to cause an event: the user as they were then, and the rule as it was then.
 */
export async function admissionOf(source: Source, event: SeenEvent): Promise<Admission> {
  const { stream, version, position, type, recordedAt, actor } = event.header;
  const name = event.context?.rule;
  const rule = name === undefined ? null : ruleThen(source.log, name, position);
  const user = await userThen(source, event);
  const isErased = event.data === null && !event.isWithheld;
  return {
    stream,
    version,
    position,
    type,
    recordedAt,
    actor,
    rule,
    user,
    ...(isErased && { erased: true }),
    ...(event.isWithheld && { withheld: true }),
  };
}

function ruleThen(log: LogReader, name: string, position: number): AdmittingRule {
  const last = log.lastOf(schemaStream, position);
  const schema = last?.position ?? 0;
  const [recorded] = log.range(schema - 1, schema);
  if (last && recorded) requireVersion(recorded.header, schemaStream, last.version);
  const known = recorded?.data?.rules as Rules | undefined;
  const { sha256 = null, description = null } = known && Object.hasOwn(known, name) ? (known[name] ?? {}) : {};
  return { name, sha256, description, schema };
}

async function userThen(
  { log, histories, sightOf }: Source,
  { header: { actor, position: at } }: RecordedEvent,
): Promise<ActingUser | null> {
  const stream = actor.type === 'user' ? actor.id : undefined;
  const last = stream === undefined ? null : log.lastOf(stream, at - 1);
  if (stream === undefined || !last) return null;
  const found = { stream, ...last };
  const sight = await sightOf(stream);
  if (sight.extent === 'none') return { ...found, document: null, withheld: true };
  const event = eventOf(textAt(log, last.position));
  requireVersion(event.header, stream, last.version);
  const { document } = await histories.as(sight).documentAt(event, at);
  return { ...found, document, ...(event.data === null && { erased: true }) };
}
