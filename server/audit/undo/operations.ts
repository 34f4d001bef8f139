import Joi from 'joi';
import { forAuditors, unknownToLog } from '../../openapi/audit/responses.ts';
import { type ApiOperation, headersOfAnyWrite } from '../../openapi/operation.ts';
import { json, ofHooks, refusalForNow, refusals, replayable } from '../../openapi/responses.ts';
import { dryRunParameter } from '../../queries/query.ts';

/** `POST /api/batches/{batch}/undo` */
export function undoOperation(): ApiOperation {
  return forAuditors({
    id: 'undoBatch',
    tag: 'system',
    summary: 'Undo a bulk call',
    description:
      'Deletes the documents that the call created, restores the documents that it deleted, and sets the fields that it ' +
      'changed to their former values: all of it or nothing, as a bulk call of its own. Needs the scope `payloads`, and the ' +
      'right to each of these steps. Documents that have changed since are a 409 that names them, unless `force` is set. ' +
      'With `dryRun` nothing is done, and the answer shows what the undoing would change.',
    params: Joi.object({ batch: Joi.string().guid().required().description('The id of the bulk call.') }),
    query: dryRunParameter,
    headers: headersOfAnyWrite,
    body: 'Undo',
    isBodyOptional: true,
    answers: {
      200: replayable(json('The result of each document.', 'Undone')),
      ...unknownToLog('There is no bulk call with this id.'),
      ...refusals([408, 413, 415]),
      403: json(
        'A scope is missing, a rule refused a step, or a request with a cookie came from another origin.',
        'Error',
      ),
      409: json('Documents have changed since, or were erased; or unique values are taken.', 'Error'),
      422: json('The `Idempotency-Key` was used before, for another request.', 'Error'),
      ...refusalForNow,
      ...ofHooks(true),
    },
  });
}
