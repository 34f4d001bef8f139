import type { Model } from '../../../config/model.ts';
import { type Category, categoryOf } from '../../../config/schema.ts';
import { readIdempotencyRecords } from '../../../events/facts/idempotency.ts';
import { compileUpcaster } from '../../../events/facts/upcasters.ts';
import { readLog } from '../../../events/log/log-reader.ts';
import { parseVerifierKey } from '../../../events/proof/notes.ts';
import { formerSlugs } from '../../../events/service-events/categories.ts';
import { epochsOf } from '../../../projections/tables/epochs.ts';
import { openDatabase } from '../../../storage/sqlite.ts';
import type { App, RouteParts } from '../../app.ts';
import { keyHistory } from '../../audit/notary/keys.ts';
import type { Parts } from '../../platform/parts.ts';
import { findSegmentsOf } from '../../writer/segment-store.ts';
import type { ThreadData } from '../thread-data.ts';

/** The members of {@link App} that read the log itself. */
type LogViews = Pick<
  App & RouteParts,
  'events' | 'idempotencyRecords' | 'upcaster' | 'formerSlugs' | 'removedAuthCollections' | 'keyHistory'
>;

type Options = { model: Model; threadData: Pick<ThreadData, 'logFile' | 'blobs'>; notary: App['notary'] };

/** Opens the log for reading. */
export function openLogViews(parts: Parts, { model, threadData, notary }: Options): LogViews {
  const { logFile, blobs } = threadData;
  const db = parts.add(openDatabase(logFile, { readonly: true }), (opened) => opened.close());
  findSegmentsOf(logFile, blobs, false);
  const events = readLog(db);
  // All three are needed rarely, and there may be many schemas.
  const upcaster = made(() => compileUpcaster(epochsOf(events)));
  const former = made(() => formerSlugs(epochsOf(events), model.schema));
  const removed = made(() => removedAuthCollections(model, epochsOf(events)));
  return {
    events,
    idempotencyRecords: readIdempotencyRecords(db),
    upcaster,
    formerSlugs: former,
    removedAuthCollections: removed,
    async keyHistory() {
      const verifierKey = await notary.verifierKey();
      return keyHistory(db, { id: parseVerifierKey(verifierKey).id, verifierKey });
    },
  };
}

/** Makes a value when it is asked for first, and keeps it. */
function made<T extends object>(make: () => T): () => T {
  let value: T | null = null;
  return () => {
    value ??= make();
    return value;
  };
}

/** The categories of auth collections that the log has, and the configuration no longer. */
function removedAuthCollections(model: Model, epochs: ReturnType<typeof epochsOf>): ReadonlySet<Category> {
  const declared = new Set(model.schema.collections.map(categoryOf));
  const known = epochs.flatMap(({ schema }) => schema.collections.filter(({ auth }) => auth));
  return new Set(known.map(categoryOf)).difference(declared);
}
