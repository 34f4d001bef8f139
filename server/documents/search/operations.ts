import type { Model } from '../../../config/model.ts';
import type { ApiOperation } from '../../openapi/operation.ts';
import { json, refusalOfSearch, refusals } from '../../openapi/responses.ts';
import { draftViewOf } from '../../queries/query.ts';
import { searchParameters } from './parameters.ts';

/** `GET /api/search` */
export function searchOperation(model: Model): ApiOperation {
  const collections = [...model.collections.values()];
  return {
    id: 'search',
    tag: 'system',
    summary: 'Search in all collections',
    description:
      'Returns the documents whose texts contain each word of `q`, the best matches first; of each collection, only the ' +
      'newest 500 are ranked. The search covers fields that the caller may read, in documents that the caller may read. ' +
      '`title` is the field that the configuration names as title, else the first text, the name of the file, or the id. ' +
      '`excerpt` is HTML: escaped text with `<mark>` around the words; empty if no text may be shown outside of its document.',
    query: { ...searchParameters, ...draftViewOf(...collections) },
    answers: {
      200: json('The documents that match.', 'Found'),
      ...refusals([400, 500]),
      ...(collections.some(({ access, auth }) => access.read || auth) ? refusals([403]) : {}),
      ...(collections.some(({ schema }) => schema.admin?.searchFields) ? refusalOfSearch : {}),
    },
    caller: {
      kind: 'known',
      orAnybody: collections.some(({ access }) => access.read !== undefined),
    },
  };
}
