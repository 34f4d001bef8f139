import type { Collection, Model } from '../../config/model.ts';
import { ofCount } from '../openapi/descriptions.ts';
import { type ApiOperation, queryRefusals } from '../openapi/operation.ts';
import { asOfThen, json, refusalsOfThenOrSearch } from '../openapi/responses.ts';
import { countParameters, momentParameter, viewsOf } from '../queries/query.ts';
import { whereQueryOf } from './operations.ts';

/** `GET /api/collections/<slug>/count` */
export function countOperation(model: Model, target: Collection): ApiOperation {
  const { slug } = target;
  return {
    id: `count_${slug}`,
    tag: slug,
    summary: `Count the documents of ${slug}`,
    description: ofCount(model, target),
    query: { ...countParameters, ...viewsOf(model, target), ...whereQueryOf(target) },
    answers: {
      200: asOfThen(json('The number of documents that match.', 'Count')),
      ...queryRefusals(target),
      ...(target.schema.admin?.searchFields ? refusalsOfThenOrSearch : {}),
    },
    caller: { kind: 'admitted', target, right: 'read' },
  };
}

/** `GET /api/counts` */
export function countsOperation(model: Model): ApiOperation {
  return {
    id: 'readCounts',
    tag: 'system',
    summary: 'Count the documents of every collection',
    description:
      'Returns the number of documents of each collection that the caller may read. A collection of which the caller may ' +
      'read nothing is left out.',
    query: { ...momentParameter, ...viewsOf(model, ...model.collections.values()) },
    answers: {
      200: asOfThen(json('The numbers by collection.', 'Counts')),
      ...queryRefusals(...model.collections.values()),
    },
    caller: { kind: 'known', orAnybody: true },
  };
}
