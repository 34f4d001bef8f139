import Joi from 'joi';
import { ifMatch, type Operation } from '../../openapi/operation.ts';
import {
  type Answer,
  type Answers,
  header,
  json,
  refusals,
  refusalsForNow,
  unavailable,
} from '../../openapi/responses.ts';
import { unsavedDays, usualQuotas } from './keeping.ts';

const tag = 'system';
const caller = { kind: 'user' } as const;
const headers = Joi.object({ 'If-Match': ifMatch });
const slug = (of: string) => Joi.string().required().description(`The slug of the ${of}.`);
const ofGlobal = Joi.object({ slug: slug('global') });
const ofDocument = Joi.object({
  slug: slug('collection'),
  id: Joi.string().required().description('The id of the document; `new-` and a UUID for one that is not there yet.'),
});
const stale: Answers = { 412: json('The draft is not the one that `If-Match` names.', 'Error') };
const mebibytes = usualQuotas.user.bytes / 1024 / 1024;

/** `GET /api/drafts` */
export function listDraftsOperation(): Operation {
  return {
    id: 'listDrafts',
    tag,
    summary: 'List the drafts of the user',
    description: "Lists the user's own drafts without their data, newest first: those of what they may read.",
    answers: { 200: json('The drafts.', 'OwnDrafts'), ...refusals([400, 500]) },
    caller,
  };
}

/** `GET /api/drafts/{slug}/{id}` and `GET /api/drafts/globals/{slug}` */
export function readDraftOperation(isGlobal: boolean): Operation {
  return {
    ...about('readDraft', isGlobal),
    summary: `Read the draft of a ${nameOf(isGlobal)}`,
    description: `Gives what the user has typed. It takes the right to read the ${nameOf(isGlobal)}.`,
    answers: {
      200: withTag(json('The draft, with its data.', 'OwnDraftWithData')),
      403: json(`The user may not read the ${nameOf(isGlobal)}.`, 'Error'),
      404: json('There is no such draft, or nothing that it is of.', 'Error'),
      ...refusals([400, 500]),
    },
  };
}

/** `PUT /api/drafts/{slug}/{id}` and `PUT /api/drafts/globals/{slug}` */
export function keepDraftOperation(isGlobal: boolean): Operation {
  return {
    ...about('keepDraft', isGlobal),
    summary: `Keep a draft of a ${nameOf(isGlobal)}`,
    description:
      `Keeps what the user has typed for ${unsavedDays} days, in the place of what was kept before. It takes the right to write it; nothing else ` +
      `of it is checked or recorded. A member \`password\`, at any depth, is refused. A user keeps at most ${usualQuotas.user.count} drafts, of ` +
      `${mebibytes} MiB in all.`,
    headers,
    body: 'NewOwnDraft',
    answers: {
      200: withTag(json('The draft, without its data.', 'OwnDraft')),
      403: json(
        `The user may not write the ${nameOf(isGlobal)}, or a write under a cookie came from another origin.`,
        'Error',
      ),
      404: json('There is nothing that the draft could be of.', 'Error'),
      ...stale,
      ...refusals([400, 408, 413, 415, 500]),
      ...unavailable(
        'There is no room on the disk, too many drafts wait to be kept, or all users together, or all who are not of the admin ' +
          'collection, keep as many as there may be.',
      ),
    },
  };
}

/** `DELETE /api/drafts/{slug}/{id}` and `DELETE /api/drafts/globals/{slug}` */
export function dropDraftOperation(isGlobal: boolean): Operation {
  return {
    ...about('dropDraft', isGlobal),
    summary: `Drop the draft of a ${nameOf(isGlobal)}`,
    description: "Deletes the user's own draft. It takes no right.",
    headers,
    answers: {
      200: json('The draft that was dropped, without its data.', 'OwnDraft'),
      403: json('A write under a cookie came from another origin.', 'Error'),
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

function withTag(answer: Answer): Answer {
  return {
    ...answer,
    headers: { ETag: header('Stands for the draft: another each time that it is kept.', { type: 'string' }) },
  };
}
