import type { Collection } from '../../config/model.ts';
import { type UniqueField, uniqueFields } from '../../events/facts/claims.ts';
import { closed, count, described, flag, listOf, orNull, place, text } from './basics.ts';
import { type Schema, schemaRef } from './fields.ts';

const most = 1000;
const uuid: Schema = { type: 'string', format: 'uuid' };
const index = described(count, 'Its place in the call, from 0.');
const version = described(place, 'The version after the call.');
const batch = described(orNull(uuid), 'The id in each event of the call; null where nothing was recorded.');
const outcomes = ['created', 'updated', 'deleted', 'restored', 'unchanged'] as const;

/** The result of one document: one of these outcomes. */
export function resultOf(names: readonly (typeof outcomes)[number][], more: Record<string, Schema> = {}): Schema {
  const outcome = { type: 'string', enum: [...names] };
  return closed({ index, ...more, id: uuid, version, outcome });
}

/** The answer about documents that were chosen. */
function changedOf(names: Parameters<typeof resultOf>[0]): Schema {
  const matched = described(count, 'How many documents it is about.');
  const changed = described(count, 'How many of them are not as they were; with `dryRun`: would not be.');
  return closed({ matched, changed, results: listOf(resultOf(names)), batch });
}

/** The answers of calls about many documents of these collections. */
export function bulkSchemas(collections: readonly Collection[]): Record<string, Schema> {
  const open = collections.filter(({ upload }) => !upload);
  if (open.length === 0) return {};
  const upserted = closed({ results: listOf(resultOf(['created', 'updated', 'unchanged'])), batch });
  return {
    BulkCreated: closed({ results: listOf(closed({ index, id: uuid, version })), batch }),
    ...(open.some((one) => uniqueNames(one).length > 0) ? { BulkUpserted: upserted } : {}),
    BulkUpdated: changedOf(['updated', 'unchanged']),
    BulkDeleted: changedOf(['deleted']),
  };
}

/** The bodies of calls about many documents of a collection. */
export function bulkBodies(collection: Collection): Record<string, Schema> {
  const { slug, upload } = collection;
  const name = `collections.${slug}`;
  if (upload) return {};
  const docsOf = (use: 'create' | 'update') => ({ ...listOf(schemaRef(`${name}.${use}`)), maxItems: most });
  const created = closed({ docs: docsOf('create') });
  const keys = uniqueNames(collection);
  const upsertBy = described({ ...text, enum: keys }, 'Documents that have its value are changed, the others created.');
  const upserted = closed({ docs: docsOf('update'), upsertBy });
  const dryRun = described(flag, 'True: nothing is done, and the answer tells what would be.');
  const selections = [
    { where: schemaRef(`${name}.where`) },
    { ids: { ...listOf(text), maxItems: most, uniqueItems: true } },
  ];
  const changeOf = (more: Record<string, Schema>) => ({
    oneOf: selections.map((one) => closed({ ...one, ...more, dryRun }, [...Object.keys(one), ...Object.keys(more)])),
  });
  return {
    [`${name}.bulk`]: keys.length > 0 ? { anyOf: [created, upserted] } : created,
    [`${name}.bulk.update`]: changeOf({ data: schemaRef(`${name}.update`) }),
    [`${name}.bulk.delete`]: changeOf({}),
  };
}

/** The dotted names of the unique fields of a collection. */
export function uniqueNames({ category, schema }: Collection): string[] {
  return uniqueFields(category, schema.fields).map(({ path }: UniqueField) => path.join('.'));
}
