import type { Collection, Model } from '../../../config/model.ts';
import { hasChangeHooks } from '../../../config/traits.ts';
import { uniqueNames } from '../../openapi/bulk-components.ts';
import { ofCreateMany, ofDeleteMany, ofUpdateMany } from '../../openapi/descriptions.ts';
import { ofLinesOfMany } from '../../openapi/draft-descriptions.ts';
import { type ApiOperation, headersOfWrite } from '../../openapi/operation.ts';
import {
  type DescribedAnswers,
  json,
  ofHooks,
  refusalForNow,
  refusalOfLarge,
  refusalOfOther,
  refusals,
  refusalsForNow,
  replayable,
} from '../../openapi/responses.ts';
import { draftParameter, dryRunParameter } from '../../queries/query.ts';

/** The refusals of every write of many documents with a body of at most this size, without those for missing rights. */
function refusalsOfMany(mostBytes: number, isHooked: boolean): DescribedAnswers {
  return {
    ...refusalOfOther,
    ...refusals([400, 408, 415, 500]),
    ...refusalOfLarge(mostBytes),
    ...refusalForNow,
    ...ofHooks(isHooked),
  };
}

function queryOf({ drafts }: Collection) {
  return { ...dryRunParameter, ...(drafts ? draftParameter : {}) };
}

/** `POST /api/collections/<slug>/bulk` */
export function createManyOperation(model: Model, target: Collection): ApiOperation {
  const { slug, auth, access } = target;
  const isUnique = uniqueNames(target).length > 0;
  return {
    id: `createMany_${slug}`,
    tag: slug,
    summary: `Create many documents of ${slug}`,
    description: ofCreateMany(model, target, isUnique),
    query: queryOf(target),
    headers: headersOfWrite(target),
    body: `collections.${slug}.bulk`,
    answers: {
      201: replayable(json('The ids of the documents, in the order in which they came.', 'BulkCreated')),
      // A dry run takes no idempotency key.
      200: isUnique
        ? replayable(json('With `upsertBy` or `dryRun`: the result of each document.', 'BulkUpserted'))
        : json('With `dryRun`: the result of each document.', 'BulkUpserted'),
      ...(isUnique ? refusals([409]) : {}),
      ...refusalsOfMany(model.limits.bulkBody, hasChangeHooks(target)),
      ...(auth && access.create && model.rateLimit ? refusalsForNow([429]) : {}),
    },
    caller: { kind: 'admitted', target, right: 'create' },
  };
}

/** `POST /api/collections/<slug>/bulk/update` */
export function updateManyOperation(model: Model, target: Collection): ApiOperation {
  return changeOperation(model, target, 'update');
}

/** `POST /api/collections/<slug>/bulk/delete` */
export function deleteManyOperation(model: Model, target: Collection): ApiOperation {
  return changeOperation(model, target, 'delete');
}

function changeOperation({ limits }: Model, target: Collection, right: 'update' | 'delete'): ApiOperation {
  const { slug, hooks } = target;
  const isHooked = right === 'update' ? hasChangeHooks(target) : Boolean(hooks.beforeDelete);
  return {
    id: `${right}Many_${slug}`,
    tag: slug,
    summary: `${right === 'update' ? 'Change' : 'Delete'} many documents of ${slug}`,
    description: right === 'update' ? ofUpdateMany(target) : ofDeleteMany(target),
    query: queryOf(target),
    headers: headersOfWrite(target),
    body: `collections.${slug}.bulk.${right}`,
    answers: {
      200: replayable(json('The result of each document.', right === 'update' ? 'BulkUpdated' : 'BulkDeleted')),
      ...refusals([404, 409]),
      ...refusalsOfMany(limits.body, isHooked),
    },
    caller: { kind: 'admitted', target, right },
  };
}

/** `POST /api/collections/<slug>/bulk/publish` */
export function publishManyOperation(model: Model, target: Collection): ApiOperation {
  return ofLines(model, target, {
    kind: 'publish',
    right: 'publish',
    summary: 'Publish the drafts of many documents of',
  });
}

/** `POST /api/collections/<slug>/bulk/unpublish` */
export function unpublishManyOperation(model: Model, target: Collection): ApiOperation {
  return ofLines(model, target, {
    kind: 'unpublish',
    right: 'publish',
    summary: 'Take out of what is public many documents of',
  });
}

/** `POST /api/collections/<slug>/bulk/discard` */
export function discardManyOperation(model: Model, target: Collection): ApiOperation {
  return ofLines(model, target, {
    kind: 'discard',
    right: 'readDrafts',
    summary: 'Discard the drafts of many documents of',
  });
}

const answersOfLines = { publish: 'BulkPublished', unpublish: 'BulkUnpublished', discard: 'BulkDiscarded' } as const;

type LineKind = { kind: keyof typeof answersOfLines; right: 'publish' | 'readDrafts'; summary: string };

function ofLines({ limits }: Model, target: Collection, { kind, right, summary }: LineKind): ApiOperation {
  const { slug, hooks } = target;
  return {
    id: `${kind}Many_${slug}`,
    tag: slug,
    summary: `${summary} ${slug}`,
    description: ofLinesOfMany(kind),
    query: dryRunParameter,
    headers: headersOfWrite(target),
    body: `collections.${slug}.bulk.delete`,
    answers: {
      200: replayable(json('The result of each document.', answersOfLines[kind])),
      ...refusals([403, 404, 409]),
      ...refusalsOfMany(limits.body, kind === 'publish' && Boolean(hooks.beforePublish)),
    },
    caller: { kind: 'admitted', target, right },
  };
}
