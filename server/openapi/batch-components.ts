import type { BulkKind } from '../../events/facts/envelope.ts';
import {
  choice,
  closed,
  count,
  described,
  flag,
  listOf,
  membersOfPage,
  orNull,
  place,
  type Shape,
  text,
  time,
} from './basics.ts';
import { actor } from './pointing-components.ts';

/** The kinds of bulk calls. */
export const bulkKind: Shape<BulkKind> = choice([
  'create',
  'upsert',
  'update',
  'delete',
  'publish',
  'unpublish',
  'discard',
  'undo',
  'release',
]);

const outcomes = {
  created: count,
  updated: count,
  deleted: count,
  restored: count,
  published: count,
  unpublished: count,
};

const ofBatch = {
  batch: described(text, 'The id of the call.'),
  call: bulkKind,
  recordedAt: time,
  actor: described(orNull(actor), 'The caller; `null` without the audit scope `headers`.'),
  reason: described(orNull(text), '`null` if there is no reason, or without the audit scope `payloads`.'),
  collections: described(listOf(text), 'The slugs of the collections of its documents.'),
  outcomes: described(
    closed(outcomes, ['created', 'updated', 'deleted', 'restored']),
    'The number of documents by what became of them; `published` and `unpublished` only if there are some. Without the audit scope `headers`, only of those that the caller may read.',
  ),
  undoes: described(orNull(text), 'The call that this call undid.'),
  undoneBy: described(orNull(text), 'The first call that undid this call.'),
};

const documentOfBatch = closed({
  collection: described(text, 'The slug of the collection.'),
  id: text,
  title: described(orNull(text), 'Today, or the last one; `null` for a deleted document without the scope `payloads`.'),
  version: described(place, 'The version after the call.'),
  outcome: choice(['created', 'updated', 'deleted', 'restored', 'published', 'unpublished']),
});

const undone = {
  collection: described(text, 'The slug of a collection, current or former.'),
  index: described(count, 'The index of the document in the call, from 0.'),
  id: text,
  version: described(place, 'The version after the call.'),
  outcome: choice(['deleted', 'restored', 'updated', 'unchanged']),
};

/** The schemas of the routes of bulk calls that were made. */
export const batchSchemas = {
  Batch: closed({ ...ofBatch, ...membersOfPage(documentOfBatch) }),
  Undo: closed(
    {
      force: described(flag, 'True: also undoes the call if documents have changed since.'),
    },
    [],
  ),
  Undone: closed({
    matched: described(count, 'The number of documents of the bulk call.'),
    changed: described(count, 'The number of documents that were changed back; with `dryRun`, that would be.'),
    results: listOf(closed(undone)),
    batch: described(orNull(text), 'The id in each event of this call; null if nothing was recorded.'),
  }),
};
