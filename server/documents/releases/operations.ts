import Joi from 'joi';
import type { AdmittedCallers } from '../../openapi/callers.ts';
import { type ApiOperation, headersOfAnyWrite, ifMatch } from '../../openapi/operation.ts';
import {
  created,
  type DescribedAnswers,
  document,
  json,
  refusalForNow,
  refusalOfOther,
  refusalOfStale,
  refusals,
  replayable,
} from '../../openapi/responses.ts';
import { releaseParameters } from './parameters.ts';

const tag = 'system';
const caller: AdmittedCallers = { kind: 'releaser' };
const id = Joi.string().guid({ version: 'uuidv7' }).required().description('The id of the release.');
const params = Joi.object({ id });
const headers = headersOfAnyWrite.keys({ 'If-Match': ifMatch });
const noRelease: DescribedAnswers = { 404: json('There is no such release.', 'Error') };
const shown = document('The release, with its `ETag`.', 'Release');
const ofWrites: DescribedAnswers = { ...refusalOfStale, ...refusalOfOther, ...refusalForNow };
const closedRelease: DescribedAnswers = {
  409: json('The release is published or archived, or other writers keep changing it.', 'Error'),
};
const ofBodies = refusals([400, 408, 413, 415, 500]);

const pinning =
  'Each item names a document with drafts, and the version whose draft becomes public: by default the newest, which is ' +
  'recorded as its number. The rule `publish` is asked about each document.';

/** `GET /api/releases` */
export function listReleasesOperation(): ApiOperation {
  return {
    id: 'listReleases',
    tag,
    summary: 'List the releases',
    description:
      'Returns a page of releases without their items, latest time first; a release without a time has the time at ' +
      'which it was made. `from` and `to` leave out releases without a time.',
    query: releaseParameters,
    answers: { 200: json('A page of releases.', 'Releases'), ...refusals([400, 500]) },
    caller,
  };
}

/** `POST /api/releases` */
export function createReleaseOperation(): ApiOperation {
  return {
    id: 'createRelease',
    tag,
    summary: 'Make a release',
    description: `Makes a release of up to 1,000 items. ${pinning} With \`at\` it is published at that time, with \`publish\` at once.`,
    headers: headersOfAnyWrite,
    body: 'NewRelease',
    answers: {
      201: replayable(created(shown)),
      ...ofBodies,
      409: json('With `publish`: unique values are taken, or other writers keep changing the documents.', 'Error'),
      ...refusalOfOther,
      ...refusalForNow,
    },
    caller,
  };
}

/** `GET /api/releases/{id}` */
export function readReleaseOperation(): ApiOperation {
  return {
    id: 'readRelease',
    tag,
    summary: 'Read a release',
    description: 'Returns a release with its items, the newest version of each and what would be wrong with it.',
    params,
    answers: { 200: shown, ...noRelease, ...refusals([400, 500]) },
    caller,
  };
}

type Change = Pick<ApiOperation, 'id' | 'summary' | 'description'> & Partial<Pick<ApiOperation, 'body' | 'params'>>;

function changeOf({ body, params: own = params, ...told }: Change): ApiOperation {
  const failing = body === undefined ? refusals([400, 500]) : ofBodies;
  return {
    ...told,
    tag,
    params: own,
    headers,
    ...(body !== undefined && { body }),
    answers: { 200: replayable(shown), ...noRelease, ...failing, ...closedRelease, ...ofWrites },
    caller,
  };
}

/** `PATCH /api/releases/{id}` */
export function changeReleaseOperation(): ApiOperation {
  return changeOf({
    id: 'updateRelease',
    summary: 'Change the texts of a release',
    description: 'Changes the title and the description of a release that is not published.',
    body: 'ReleaseChange',
  });
}

/** `DELETE /api/releases/{id}` */
export function archiveReleaseOperation(): ApiOperation {
  return changeOf({
    id: 'archiveRelease',
    summary: 'Archive a release',
    description: 'Archives a release that is not published: it stays readable, and is never published.',
  });
}

/** `POST /api/releases/{id}/items` */
export function setItemsOperation(): ApiOperation {
  return changeOf({
    id: 'setReleaseItems',
    summary: 'Set items of a release',
    description: `Adds items to a release, or replaces those about the same documents. ${pinning}`,
    body: 'ReleaseItems',
  });
}

/** `DELETE /api/releases/{id}/items/{slug}/{document}` */
export function removeItemOperation(): ApiOperation {
  return changeOf({
    id: 'removeReleaseItem',
    summary: 'Remove an item from a release',
    description: 'Removes the item about a document: `posts/<id>`, or about a global: `globals/<slug>`.',
    params: Joi.object({
      id,
      slug: Joi.string().required().description('The slug of the collection, or `globals`.'),
      document: Joi.string().required().description('The id of the document, or the slug of the global.'),
    }),
  });
}

/** `POST /api/releases/{id}/schedule` */
export function scheduleOperation(): ApiOperation {
  return changeOf({
    id: 'scheduleRelease',
    summary: 'Plan a release for a time',
    description:
      'Plans a release for a time at most 5 years ahead. The rule `publish` is asked about each item now: at that time ' +
      'no rule is asked. A release that failed can be planned again.',
    body: 'Schedule',
  });
}

/** `POST /api/releases/{id}/unschedule` */
export function unscheduleOperation(): ApiOperation {
  return changeOf({
    id: 'unscheduleRelease',
    summary: 'Take the time of a release away',
    description: 'The release stays as it is, without a time: it is published by hand only.',
  });
}

/** `POST /api/releases/{id}/check` */
export function checkOperation(): ApiOperation {
  return {
    id: 'checkRelease',
    tag,
    summary: 'Check a release',
    description:
      'Tells what would be wrong if the release were published now. It runs no hooks and records nothing. Only of ' +
      'documents whose drafts the caller may read.',
    params,
    answers: {
      200: json('The problems, and what else to know.', 'ReleaseCheck'),
      ...noRelease,
      ...refusals([400, 500]),
      409: json('The release is published or archived.', 'Error'),
    },
    caller,
  };
}

/** `POST /api/releases/{id}/publish` */
export function publishReleaseOperation(): ApiOperation {
  return {
    id: 'publishRelease',
    tag,
    summary: 'Publish a release now',
    description:
      'Publishes and unpublishes the documents of a release in one append, all or none; errors name `items.3.title`. ' +
      'Unique values that one document gives up are free for the others. Undo it as a bulk call, by its `batch`.',
    params,
    headers,
    answers: {
      200: replayable(shown),
      ...noRelease,
      ...refusals([400, 500]),
      409: json('Unique values are taken, or the release is published or archived.', 'Error'),
      413: json('The documents have more than 64 MiB together.', 'Error'),
      ...ofWrites,
    },
    caller,
  };
}
