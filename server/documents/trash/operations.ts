import type { Collection, Model } from '../../../config/model.ts';
import { type ApiOperation, queryRefusals } from '../../openapi/operation.ts';
import { asOfThen, json } from '../../openapi/responses.ts';
import { trashParameters } from './parameters.ts';

const which =
  'Returns the deleted documents that the caller may read and delete, the last deleted first, but not those that were ' +
  'restored or erased. The rules get each document as it was before its deletion, and with `asOf` also as it is now.';

/** `GET /api/collections/<slug>/trash` */
export function trashOperation(target: Collection): ApiOperation {
  const { slug } = target;
  return {
    id: `listTrash_${slug}`,
    tag: slug,
    summary: `List the deleted documents of ${slug}`,
    description: which,
    query: trashParameters,
    answers: { 200: asOfThen(json('A page of deleted documents.', 'Trash')), ...queryRefusals(target) },
    // Of the two rules, the missing one admits fewer callers.
    caller: { kind: 'admitted', target, right: target.access.read ? 'delete' : 'read' },
  };
}

/** `GET /api/trash` */
export function allTrashOperation({ collections }: Model): ApiOperation {
  return {
    id: 'listAllTrash',
    tag: 'system',
    summary: 'List the deleted documents of all collections',
    description: which,
    query: trashParameters,
    answers: {
      200: asOfThen(json('A page of deleted documents.', 'Trash')),
      ...queryRefusals(...collections.values()),
    },
    caller: { kind: 'known', orAnybody: [...collections.values()].some(isForAnybody) },
  };
}

/** Whether a rule may admit a caller without a credential. */
function isForAnybody({ access }: Collection): boolean {
  return access.read !== undefined && access.delete !== undefined;
}
