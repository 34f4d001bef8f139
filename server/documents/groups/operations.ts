import type { Collection } from '../../../config/model.ts';
import { type ApiOperation, queryRefusals } from '../../openapi/operation.ts';
import { asOfThen, json } from '../../openapi/responses.ts';
import { aggregateParameters, distinctParameters } from '../../queries/groups.ts';
import { draftViewOf } from '../../queries/query.ts';
import { whereQueryOf } from '../operations.ts';

/** `GET /api/collections/<slug>/aggregate` */
export function aggregateOperation(target: Collection): ApiOperation {
  const { slug } = target;
  return {
    id: `aggregate_${slug}`,
    tag: slug,
    summary: `Group the documents of ${slug}`,
    description:
      'Groups the documents that the caller may read by the values of fields, and returns the number of documents in each ' +
      'group, with sums, minimums, maximums and means.',
    query: { ...aggregateParameters, ...draftViewOf(target), ...whereQueryOf(target) },
    answers: {
      200: asOfThen(json('The first groups, and the number of all groups.', 'Groups')),
      ...queryRefusals(target),
    },
    caller: { kind: 'admitted', target, right: 'read' },
  };
}

/** `GET /api/collections/<slug>/distinct` */
export function distinctOperation(target: Collection): ApiOperation {
  const { slug } = target;
  return {
    id: `distinct_${slug}`,
    tag: slug,
    summary: `List the values of a field of ${slug}`,
    description:
      'Returns each value of a field in the documents that the caller may read, with the number of documents that have it, ' +
      'the most frequent first.',
    query: { ...distinctParameters, ...draftViewOf(target), ...whereQueryOf(target) },
    answers: {
      200: asOfThen(json('The first values, and the number of all values.', 'Values')),
      ...queryRefusals(target),
    },
    caller: { kind: 'admitted', target, right: 'read' },
  };
}
