import type { Collection } from '../../config/model.ts';
import { type UniqueField, uniqueFields } from '../../events/facts/claims.ts';
import { choice, closed, count, described, listOf, orNull, place, text, uuid } from './basics.ts';
import { type ApiSchema, schemaRef } from './fields.ts';

const most = 1000;
const index = described(count, 'The index of the document in the call, from 0.');
const version = described(place, 'The version after the call.');
const batch = described(
  orNull(uuid),
  'The id in each event of the call; null if nothing was recorded. With it the audit API lists the events and undoes the call.',
);

/** The result of one document: one of these outcomes. */
function resultOf<const Outcome extends string>(outcomes: readonly Outcome[]) {
  return closed({ index, id: uuid, version, outcome: choice(outcomes) });
}

/** The answer about documents that were chosen. */
function changedOf<const Outcome extends string>(outcomes: readonly Outcome[]) {
  const matched = described(count, 'The number of documents that were chosen.');
  const changed = described(count, 'The number of documents that were changed; with `dryRun`, that would be.');
  return closed({ matched, changed, results: listOf(resultOf(outcomes)), batch });
}

const upserted = described(
  resultOf(['created', 'updated', 'unchanged']),
  'With `dryRun`, a document that would be created has another id than the call would give it.',
);

/** The answers of calls about many documents. */
export const bulkAnswers = {
  BulkCreated: closed({ results: listOf(closed({ index, id: uuid, version })), batch }),
  BulkUpserted: closed({ results: listOf(upserted), batch }),
  BulkUpdated: changedOf(['updated', 'unchanged']),
  BulkDeleted: changedOf(['deleted']),
};

/** The answers of calls about many drafts. */
export const bulkLineAnswers = {
  BulkPublished: changedOf(['published', 'unchanged']),
  BulkUnpublished: changedOf(['unpublished']),
  BulkDiscarded: changedOf(['discarded', 'unchanged']),
};

/** The answers of calls about many documents of these collections. */
export function bulkSchemas(collections: readonly Collection[]): Record<string, ApiSchema> {
  const open = collections.filter(({ upload }) => !upload);
  if (open.length === 0) return {};
  const lines = open.some(({ drafts }) => drafts) ? bulkLineAnswers : {};
  return { ...bulkAnswers, ...lines, Ids: { ...listOf(text), maxItems: most, uniqueItems: true } };
}

/** The bodies of calls about many documents of a collection. */
export function bulkBodies(collection: Collection): Record<string, ApiSchema> {
  const { slug, upload } = collection;
  const name = `collections.${slug}`;
  if (upload) return {};
  const docsOf = (use: 'create' | 'update') => ({ ...listOf(schemaRef(`${name}.${use}`)), maxItems: most });
  const created = closed({ docs: docsOf('create') });
  const keys = uniqueNames(collection);
  const upsertBy = described(
    { ...text, enum: keys },
    'A unique field: documents that have its value are changed, which needs the right to read and to update them; the others are created.',
  );
  const upserted = closed({ docs: docsOf('update'), upsertBy });
  const selections: Record<string, ApiSchema>[] = [{ where: schemaRef(`${name}.where`) }, { ids: schemaRef('Ids') }];
  const changeOf = (more: Record<string, ApiSchema>) => ({
    oneOf: selections.map((one) => closed<Record<string, ApiSchema>>({ ...one, ...more })),
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
