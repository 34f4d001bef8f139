/** Every type of event. `docs/events.md` says what each one's `data` holds. */
export type EventType =
  | 'document.created'
  | 'document.updated'
  | 'document.deleted'
  | 'global.updated'
  | 'schema.changed';

/** The `schemaVersion` that is written today, per type. A reader meets every version up to it. */
export const schemaVersionOf: Record<EventType, number> = {
  'document.created': 1,
  'document.updated': 1,
  'document.deleted': 1,
  'global.updated': 1,
  'schema.changed': 1,
};

/** The stream of one document. */
export function documentStream(slug: string, id: string): string {
  return `${slug}/${id}`;
}

/** The stream of one global. */
export function globalStream(slug: string): string {
  return `globals/${slug}`;
}

/** The stream of the schema's own history. */
export const schemaStream = 'system/schema';

/** Takes a stream's name apart: `posts/0198…` → `['posts', '0198…']`. */
export function splitStream(stream: string): [category: string, id: string] {
  const slash = stream.indexOf('/');
  return [stream.slice(0, slash), stream.slice(slash + 1)];
}
