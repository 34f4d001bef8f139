import { segment } from './address.ts';
import type { Call, Caller } from './calls.ts';
import { isPage } from './documents.ts';
import type { Bulk, ReadBatch, Undo } from './types/collections.ts';
import type { AnyConfig } from './types/config.ts';

/** The calls about many documents of a collection. */
export function bulkOf({ bodyOf }: Caller, slug: string) {
  const path = `/api/collections/${slug}/bulk`;
  return {
    createMany: (docs: readonly object[], options?: object) => bodyOf(callOf(path, { docs }, options)),
    upsertMany: (upsertBy: string, docs: readonly object[], options?: object) =>
      bodyOf(callOf(path, { docs, upsertBy }, options)),
    updateMany: (selection: object, data: object, options?: object) =>
      bodyOf(callOf(`${path}/update`, { ...selection, data }, options)),
    deleteMany: (selection: object, options?: object) => bodyOf(callOf(`${path}/delete`, { ...selection }, options)),
    publishMany: (selection: object, options?: object) => bodyOf(callOf(`${path}/publish`, { ...selection }, options)),
    unpublishMany: (selection: object, options?: object) =>
      bodyOf(callOf(`${path}/unpublish`, { ...selection }, options)),
    discardMany: (selection: object, options?: object) => bodyOf(callOf(`${path}/discard`, { ...selection }, options)),
  } satisfies Record<keyof Bulk<AnyConfig, string>, unknown>;
}

/** The call that reads a bulk call. */
export function batchOf({ bodyOf }: Caller): ReadBatch {
  return async (batch, options) => {
    const path = `/api/batches/${segment('batch', batch)}`;
    return bodyOf({ method: 'GET', path, options, gives: isPage });
  };
}

/** The call that undoes a bulk call. */
export function undoOf({ bodyOf }: Caller): Undo {
  return async (batch, { force, ...options } = {}) => {
    const path = `/api/batches/${segment('batch', batch)}/undo`;
    return bodyOf(callOf(path, force === undefined ? {} : { force }, options));
  };
}

/** A bulk call. An idempotency key makes it safe to repeat; a dry run is safe without a key. */
function callOf(path: string, body: object, options: { dryRun?: boolean | undefined } = {}): Call {
  const isDry = options.dryRun === true;
  return { method: 'POST', path, data: body, options, isKeyed: !isDry, isRepeatable: isDry };
}
