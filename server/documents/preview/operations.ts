import Joi from 'joi';
import type { Model } from '../../../config/model.ts';
import { hasDrafts } from '../../../config/traits.ts';
import { type ApiOperation, headersOfKept } from '../../openapi/operation.ts';
import { json, refusals, refusalsOfKept, replayable, retryAfter } from '../../openapi/responses.ts';
import { pageParameters } from '../../queries/pages.ts';
import { text } from '../../queries/parameters.ts';

const ofViews =
  ' With `view` in its place, the token shows the site as a release would make it, or the newest state of what anybody ' +
  'could read if it were public. It shows no more drafts than its maker may read, and nothing that the rule `read` hides ' +
  'from a caller without a credential.';

/** `POST /api/preview-token` */
export function previewTokenOperation(model: Model): ApiOperation {
  const { collections } = model;
  const showsViews = hasDrafts(model);
  const hasUsers = [...collections.values()].some(({ auth }) => auth);
  return {
    id: 'createPreviewToken',
    tag: 'system',
    summary: 'Store a draft of a document, which a token shows',
    description:
      'Stores the values that a document is to get for 15 minutes, so that a front end can show them. The document stays as ' +
      'it is; the draft is not validated, and not recorded in the log. Needs the right to update the document.' +
      (showsViews ? ofViews : ''),
    headers: headersOfKept,
    body: showsViews ? 'NewPreview' : 'Preview',
    answers: {
      200: replayable(json('The token.', showsViews ? 'ViewToken' : 'PreviewToken')),
      ...refusals([400, 404, 408, 413, 415, 500]),
      // A key that is let in nowhere, or may not change the accounts of some collection.
      ...(hasUsers || showsViews ? refusals([403]) : {}),
      ...refusalsOfKept,
      503: { ...json('There is no space for the draft.', 'Error'), headers: retryAfter },
    },
    caller: { kind: 'known', orAnybody: false },
  };
}

const known = { kind: 'known', orAnybody: false } as const;

/** `GET /api/preview-tokens` */
export function previewTokensOperation(): ApiOperation {
  return {
    id: 'listPreviewTokens',
    tag: 'system',
    summary: 'List the tokens that show views of the site',
    description:
      'Returns a page of the tokens that the caller has made, the newest first, without the tokens themselves; to an API ' +
      'key of the settings those of all callers.',
    query: pageParameters,
    answers: { 200: json('A page of tokens.', 'PreviewTokens'), ...refusals([400, 403, 500]) },
    caller: known,
  };
}

/** `DELETE /api/preview-tokens/{id}` */
export function revokePreviewTokenOperation(): ApiOperation {
  return {
    id: 'revokePreviewToken',
    tag: 'system',
    summary: 'Take a preview token away',
    description: 'Ends a token that the caller has made: from then on it is a 401.',
    params: Joi.object({ id: Joi.string().guid().required().description('The id of the token.') }),
    answers: {
      200: json('The token as it was.', 'KeptPreviewToken'),
      ...refusals([400, 403, 500]),
      404: json('The caller has made no such token.', 'Error'),
    },
    caller: known,
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
