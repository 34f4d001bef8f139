import type { Model } from '../../../config/model.ts';
import type { Operation } from '../../openapi/operation.ts';
import { json, refusalOfSearch, refusals } from '../../openapi/responses.ts';
import { searchParameters } from './parameters.ts';

/** `GET /api/search` */
export function searchOperation(model: Model): Operation {
  const collections = [...model.collections.values()];
  return {
    id: 'search',
    tag: 'system',
    summary: 'Search in all collections',
    description:
      'Returns the documents whose texts hold each word of `q`, those that fit best first; of the newest 500 of each collection. It ' +
      'looks into fields that the caller may read, of documents that the caller may read. `title` is the field that the ' +
      'configuration names for it, else the first text, the name of the file, or the id. `excerpt` is HTML: text, escaped, with ' +
      '`<mark>` around the words; empty where no text may be shown by itself.',
    query: searchParameters,
    answers: {
      200: json('The documents that were found.', 'Found'),
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
