import Joi from 'joi';
import type { ApiOperation } from '../../openapi/operation.ts';
import { json, refusals, unavailable } from '../../openapi/responses.ts';
import { batchParameters } from './parameters.ts';

/** `GET /api/batches/{batch}` */
export function batchOperation(): ApiOperation {
  return {
    id: 'readBatch',
    tag: 'system',
    summary: 'Read what a bulk call did',
    description:
      'Returns who made the call, when and why, how many documents it created, updated, deleted or restored, whether it ' +
      'was undone, and a page of its documents that the caller may read, in their order. Erased documents are counted, ' +
      'and not listed. For callers with the audit scope `headers`, and for those who may read one of its documents: to ' +
      'these, only documents that they may read are counted.',
    params: Joi.object({ batch: Joi.string().guid().required().description('The id of the bulk call.') }),
    query: batchParameters,
    answers: {
      200: json('The call, and a page of its documents.', 'Batch'),
      404: json('There is no bulk call with this id, or the caller may not know of it.', 'Error'),
      ...refusals([400, 500]),
      ...unavailable('The read tables are behind the log, or the rules took too long; try again later.'),
    },
    caller: { kind: 'known', orAnybody: true },
  };
}
