import type { Model } from '../../../config/model.ts';
import { type ApiOperation, headersOfKept } from '../../openapi/operation.ts';
import { json, refusals, refusalsOfKept, replayable, retryAfter } from '../../openapi/responses.ts';
import { text } from '../../queries/parameters.ts';

/** `POST /api/preview-token` */
export function previewTokenOperation({ collections }: Model): ApiOperation {
  const hasUsers = [...collections.values()].some(({ auth }) => auth);
  return {
    id: 'createPreviewToken',
    tag: 'system',
    summary: 'Store a draft of a document, which a token shows',
    description:
      'Stores the values that a document is to get for 15 minutes, so that a front end can show them. The document stays as ' +
      'it is; the draft is not validated, and not recorded in the log. Needs the right to update the document.',
    headers: headersOfKept,
    body: 'Preview',
    answers: {
      200: replayable(json('The token.', 'PreviewToken')),
      ...refusals([400, 404, 408, 413, 415, 500]),
      // A key that is let in nowhere, or may not change the accounts of some collection.
      ...(hasUsers ? refusals([403]) : {}),
      ...refusalsOfKept,
      503: { ...json('There is no space for the draft.', 'Error'), headers: retryAfter },
    },
    caller: { kind: 'known', orAnybody: false },
  };
}

/** The query of a draft that is shown. */
export const previewParameters = {
  token: text('The token of the draft.', { must: 'be that of a preview', isRequired: true }),
};

/** `GET /api/preview-data` */
export function previewDataOperation(): ApiOperation {
  return {
    id: 'readPreviewData',
    tag: 'system',
    summary: 'Read a draft by its token',
    description:
      'Returns the draft of a token, without a credential. A token that is wrong or older than 15 minutes is a 401.',
    query: previewParameters,
    answers: { 200: json('The draft.', 'Preview'), ...refusals([400, 401, 500]) },
    caller: { kind: 'anybody' },
  };
}
