import Joi from 'joi';
import { type ApiOperation, ifMatch } from '../../openapi/operation.ts';
import {
  type DescribedAnswer,
  type DescribedAnswers,
  header,
  json,
  refusals,
  refusalsForNow,
  unavailable,
} from '../../openapi/responses.ts';
import { pageParameters } from '../../queries/pages.ts';
import { unsavedDays, usualQuotas } from './keeping.ts';

const tag = 'system';
const caller = { kind: 'user' } as const;
const headers = Joi.object({ 'If-Match': ifMatch });
const slug = (of: string) => Joi.string().required().description(`The slug of the ${of}.`);
const ofGlobal = Joi.object({ slug: slug('global') });
const ofDocument = Joi.object({
  slug: slug('collection'),
  id: Joi.string()
    .required()
    .description('The id of the document; `new-` and a UUID for a document that does not exist yet.'),
});
const stale: DescribedAnswers = { 412: json('The draft is not the one that `If-Match` names.', 'Error') };
const mebibytes = usualQuotas.user.bytes / 1024 / 1024;

/** `GET /api/drafts` */
export function listDraftsOperation(): ApiOperation {
  return {
    id: 'listDrafts',
    tag,
    summary: 'List the unsaved changes of the user',
    description:
      "Returns a page of the user's own unsaved changes (drafts) without their data, newest first, for the documents and " +
      'globals that the user may read.',
    query: pageParameters,
    answers: { 200: json('A page of drafts.', 'OwnDrafts'), ...refusals([400, 500]) },
    caller,
  };
}

/** `GET /api/drafts/{slug}/{id}` and `GET /api/drafts/globals/{slug}` */
export function readDraftOperation(isGlobal: boolean): ApiOperation {
  return {
    ...about('readDraft', isGlobal),
    summary: `Read the unsaved changes of a ${nameOf(isGlobal)}`,
    description: `Returns the values that the user has typed and not saved. Needs the right to read the ${nameOf(isGlobal)}.`,
    answers: {
      200: withTag(json('The draft, with its data.', 'OwnDraftWithData')),
      403: json(`The user may not read the ${nameOf(isGlobal)}.`, 'Error'),
      404: json('There is no such draft, or its document or global does not exist.', 'Error'),
      ...refusals([400, 500]),
    },
  };
}

/** `PUT /api/drafts/{slug}/{id}` and `PUT /api/drafts/globals/{slug}` */
export function keepDraftOperation(isGlobal: boolean): ApiOperation {
  return {
    ...about('keepDraft', isGlobal),
    summary: `Store unsaved changes of a ${nameOf(isGlobal)}`,
    description:
      `Stores the values that the user has typed for ${unsavedDays} days, in place of an earlier draft. Needs the right to ` +
      `write the ${nameOf(isGlobal)}; nothing else is checked, and nothing is recorded in the log. A member \`password\`, at ` +
      `any depth, is refused. A user may have ${usualQuotas.user.count} drafts, of ${mebibytes} MiB in all.`,
    headers,
    body: 'NewOwnDraft',
    answers: {
      200: withTag(json('The draft, without its data.', 'OwnDraft')),
      403: json(
        `The user may not write the ${nameOf(isGlobal)}, or a write with a cookie came from another origin.`,
        'Error',
      ),
      404: json('There is no such document, collection or global.', 'Error'),
      ...stale,
      ...refusals([400, 408, 413, 415, 500]),
      ...unavailable(
        'The disk is full, too many drafts are queued, or the total of all users, or of all users outside of the admin ' +
          'collection, is at its limit.',
      ),
    },
  };
}

/** `DELETE /api/drafts/{slug}/{id}` and `DELETE /api/drafts/globals/{slug}` */
export function dropDraftOperation(isGlobal: boolean): ApiOperation {
  return {
    ...about('dropDraft', isGlobal),
    summary: `Delete the unsaved changes of a ${nameOf(isGlobal)}`,
    description: "Deletes the user's own draft. Needs no right.",
    headers,
    answers: {
      200: json('The draft that was deleted, without its data.', 'OwnDraft'),
      403: json('A write with a cookie came from another origin.', 'Error'),
      404: json('There is no such draft.', 'Error'),
      ...stale,
      ...refusals([400, 500]),
      ...refusalsForNow([503]),
    },
  };
}

function about(action: string, isGlobal: boolean) {
  return { id: isGlobal ? `${action}OfGlobal` : action, tag, params: isGlobal ? ofGlobal : ofDocument, caller };
}

function nameOf(isGlobal: boolean): string {
  return isGlobal ? 'global' : 'document';
}

function withTag(answer: DescribedAnswer): DescribedAnswer {
  return {
    ...answer,
    headers: { ETag: header('Changes each time that the draft is stored.', { type: 'string' }) },
  };
}
