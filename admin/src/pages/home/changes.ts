import type { Actor, LogEvent } from '../../../../client/index.ts';
import type { Model } from '../../schema/model.ts';
import { client } from '../../service/client.ts';
import { readTitles } from '../../service/related-titles.ts';

/** The kinds of events that change content. */
type ChangeKind = 'created' | 'updated' | 'deleted' | 'restored' | 'erased';

/** A change of a document or global, as the page tells it. */
export type Change = {
  position: number;
  kind: ChangeKind;
  recordedAt: string;
  actor: Actor;
  reason: string | null;
  /** The fields that it set, by name. */
  fields: string[];
} & ({ collection: string; id: string; title: string } | { global: string; title: string });

/** How many of the newest events are looked through for changes of content. */
const scanned = 200;
const shown = 12;

/** Fields that each write sets, and that say nothing. */
const silent = ['updatedAt', 'createdAt', 'id'];

/** The newest changes of content that the user may see, the newest first. */
export async function readChanges(model: Model, signal: AbortSignal): Promise<Change[]> {
  const { size } = await client.audit.events({ signal, limit: 1 });
  const after = Math.max(0, size - scanned);
  const { events } = await client.audit.events({ signal, after, limit: scanned, actors: 'names' });
  const changes = events.flatMap((event) => changeOf(event, model)).reverse();
  return withTitles(changes.slice(0, shown), model, signal);
}

const kinds: Record<string, ChangeKind> = {
  'document.created': 'created',
  'document.updated': 'updated',
  'document.deleted': 'deleted',
  'document.restored': 'restored',
  'document.erased': 'erased',
  'global.updated': 'updated',
  'global.restored': 'restored',
};

function changeOf({ header, data, context }: LogEvent, model: Model): Change[] {
  const kind = kinds[header.type];
  const [first = '', second = ''] = header.stream.split('/');
  if (kind === undefined) return [];
  const set = (data?.set ?? {}) as Record<string, unknown>;
  const fact = {
    position: header.position,
    kind,
    recordedAt: header.recordedAt,
    actor: header.actor,
    reason: typeof context?.reason === 'string' ? context.reason : null,
    fields: kind === 'updated' ? Object.keys(set).filter((name) => !silent.includes(name)) : [],
  };
  if (first === 'globals') {
    const global = model.globals.get(second);
    return global ? [{ ...fact, global: second, title: global.label }] : [];
  }
  return model.collections.get(first)?.access.read ? [{ ...fact, collection: first, id: second, title: second }] : [];
}

/** The titles of today; a document that is gone keeps its id. */
async function withTitles(changes: Change[], model: Model, signal: AbortSignal): Promise<Change[]> {
  const documents = changes.flatMap((change) =>
    'collection' in change ? [{ relationTo: change.collection, id: change.id }] : [],
  );
  const titles = await readTitles(model, documents, { signal });
  return changes.map((change) =>
    'collection' in change
      ? { ...change, title: titles.get(`${change.collection}/${change.id}`) ?? change.id }
      : change,
  );
}
