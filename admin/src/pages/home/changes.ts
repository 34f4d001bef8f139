import type { Actor, LogEvent } from '../../../../client/index.ts';
import { collectionRecordedAs, type Model } from '../../schema/model.ts';
import { positionOf } from '../../service/as-of-position.ts';
import { client } from '../../service/client.ts';
import { kindsOfChanges, readNewestChanges } from '../../service/newest-changes.ts';
import type { Reading } from '../../service/queries.ts';
import { readTitles } from '../../service/related-titles.ts';

/** A change of a document or global, as the page shows it. */
export type Change = {
  position: number;
  kind: (typeof kindsOfChanges)[keyof typeof kindsOfChanges];
  recordedAt: string;
  actor: Actor;
  reason: string | null;
  /** The names of the fields that were set. */
  fields: string[];
} & ({ collection: string; id: string; title: string } | { global: string; title: string });

const shown = 12;

/** Fields that every write sets, and that are not listed. */
const silent = ['updatedAt', 'createdAt', 'id'];

/**
 * The newest changes of content that the user may see, the newest first; as of a moment, the changes until that moment,
 * with the titles of that moment.
 */
export async function readChanges(model: Model, reading: Reading): Promise<Change[]> {
  const { signal, asOf } = reading;
  const upTo =
    asOf === undefined ? (await client.audit.events({ signal, limit: 1 })).size : await positionAt(asOf, signal);
  const events = await readNewestChanges(upTo, signal);
  const changes = events.flatMap((event) => changeOf(event, model)).reverse();
  return withTitles(changes.slice(0, shown), model, reading);
}

/** The position of the log at a moment. */
async function positionAt(asOf: string, signal: AbortSignal): Promise<number> {
  if (positionOf(asOf) === undefined) await client.schemas({ asOf, signal });
  return positionOf(asOf) ?? 0;
}

function changeOf({ header, data, context }: LogEvent, model: Model): Change[] {
  const kind = kindOf(header.type);
  const [first = '', second = ''] = header.stream.split('/');
  if (kind === null) return [];
  const set = (data?.set ?? {}) as Record<string, unknown>;
  const fact = {
    position: header.position,
    kind,
    recordedAt: header.recordedAt,
    actor: header.actor,
    reason: typeof context?.reason === 'string' ? context.reason : null,
    fields:
      kind === 'updated' || kind === 'savedDraft' ? Object.keys(set).filter((name) => !silent.includes(name)) : [],
  };
  if (first === 'globals') {
    const global = model.globals.get(second);
    return global ? [{ ...fact, global: second, title: global.label }] : [];
  }
  const collection = collectionRecordedAs(model, first);
  return collection?.access.read ? [{ ...fact, collection: collection.slug, id: second, title: second }] : [];
}

function kindOf(type: string): Change['kind'] | null {
  return Object.hasOwn(kindsOfChanges, type) ? kindsOfChanges[type as keyof typeof kindsOfChanges] : null;
}

/** Changes with the titles of the moment that is read; a document that is gone keeps its id. */
async function withTitles(changes: Change[], model: Model, reading: Reading): Promise<Change[]> {
  const documents = changes.flatMap((change) =>
    'collection' in change ? [{ relationTo: change.collection, id: change.id }] : [],
  );
  const titles = await readTitles(model, documents, reading);
  return changes.map((change) =>
    'collection' in change
      ? { ...change, title: titles.get(`${change.collection}/${change.id}`) ?? change.id }
      : change,
  );
}
